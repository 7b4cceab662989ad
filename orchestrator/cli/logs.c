/* `paddock logs`: what the commands of a candidate printed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/path.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "orchestrator/cli/follow.h"

bool pdk_follow_is_live(const struct pdk_cli *cli, const char *run)
{
    struct pdk_err err = PDK_ERR_INIT;
    bool live = false;

    return pdk_state_run_is_live(&cli->paths, run, &live, &err) == 0 && live;
}

void pdk_follow_wait(void)
{
    (void)poll(NULL, 0, 200);
}

/* How far each file has been printed: new files join as they appear. */
struct tail {
    char *path;
    off_t at;
};

struct tails {
    struct tail *items;
    size_t len;
    const char *last; /* whose heading stands above */
};

static void tails_fini(struct tails *t)
{
    for (size_t i = 0; i < t->len; i++)
        free(t->items[i].path);
    free(t->items);
}

static bool known(const struct tails *t, const char *path)
{
    for (size_t i = 0; i < t->len; i++)
        if (strcmp(t->items[i].path, path) == 0)
            return true;
    return false;
}

static int add_tail(struct tails *t, const char *path, struct pdk_err *err)
{
    struct tail *grown;

    if (known(t, path))
        return 0;
    grown = reallocarray(t->items, t->len + 1, sizeof(*grown));
    if (!grown)
        return pdk_fail_nomem(err);
    t->items = grown;
    grown[t->len] = (struct tail){ strdup(path), 0 };
    return grown[t->len++].path ? 0 : pdk_fail_nomem(err);
}

/* "mission" wants mission.stdout and mission.stderr; no stage wants every output file. */
static bool wanted(const char *name, const char *stage)
{
    size_t len = stage ? strlen(stage) : 0;

    if (!pdk_ends_with(name, ".stdout") && !pdk_ends_with(name, ".stderr"))
        return false;
    return !stage ||
            (strncmp(name, stage, len) == 0 && (name[len] == '.' || name[len] == '-'));
}

static int find_files(
        struct tails *t, const char *dir, const char *stage, struct pdk_err *err)
{
    PDK_AUTO_DIR DIR *d = opendir(dir);
    PDK_AUTO_STRV struct pdk_strv names = PDK_STRV_INIT;
    const struct dirent *entry;

    if (!d)
        return errno == ENOENT ? 0
                               : pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", dir);
    while ((entry = readdir(d)))
        if (wanted(entry->d_name, stage))
            pdk_strv_add(&names, entry->d_name);
    pdk_strv_sort(&names);
    for (size_t i = 0; i < names.len; i++) {
        PDK_AUTO_FREE char *path = pdk_path_join(dir, names.items[i]);

        if (!path || add_tail(t, path, err) < 0)
            return pdk_fail_nomem(err);
    }
    return pdk_strv_ok(&names, err);
}

static int print_new(struct tails *t, struct tail *tail, struct pdk_err *err)
{
    PDK_AUTO_FD int fd = open(tail->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char chunk[8192];
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT
                ? 0
                : pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", tail->path);
    while ((n = pread(fd, chunk, sizeof(chunk), tail->at)) > 0) {
        if (t->last != tail->path)
            printf("==> %s <==\n", pdk_path_basename(tail->path));
        t->last = tail->path;
        tail->at += n;
        if (fwrite(chunk, 1, (size_t)n, stdout) != (size_t)n)
            return pdk_fail(err, PDK_EIO, errno, "cannot write");
    }
    return n < 0 ? pdk_fail(err, PDK_EIO, errno, "cannot read '%s'", tail->path) : 0;
}

static int print_all(
        struct tails *t, const char *dir, const char *stage, struct pdk_err *err)
{
    if (find_files(t, dir, stage, err) < 0)
        return err->code;
    for (size_t i = 0; i < t->len; i++)
        if (print_new(t, &t->items[i], err) < 0)
            return err->code;
    (void)fflush(stdout); /* reported at the end */
    return 0;
}

/* The logs of the candidate's latest attempt. */
static int logs_dir(struct pdk_cli *cli, const struct pdk_run_row *run,
        const struct pdk_run_name *name, char **out, struct pdk_err *err)
{
    PDK_AUTO_CANDIDATE_ROW struct pdk_candidate_row row = { 0 };
    PDK_AUTO_FREE char *attempt = NULL;
    bool fleet = strcmp(run->kind, "fleet") == 0;
    int index = pdk_run_name_index(name, err);
    int rc;

    if (index < 0)
        return index;
    rc = pdk_store_candidate(cli->store, run->id, name->task, index, &row, err);
    if (rc < 0)
        return rc;
    attempt = pdk_strf("%s%s%s.c%d.a%lld", run->id, fleet ? "." : "",
            fleet ? row.task : "", index, (long long)row.attempt);
    *out = attempt ? pdk_path_join(cli->paths.logs, attempt) : NULL;
    return *out ? 0 : pdk_fail_nomem(err);
}

int pdk_command_logs(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_RUN_NAME struct pdk_run_name name = { NULL, NULL, NULL };
    PDK_AUTO_RUN_ROW struct pdk_run_row row = { 0 };
    PDK_AUTO_FREE char *dir = NULL;
    struct tails tails = { NULL, 0, NULL };
    struct pdk_err err = PDK_ERR_INIT;
    bool live = pdk_args_has(args, "follow");
    int rc;

    if (pdk_run_name_parse(args->words[0], &name, &err) < 0 ||
            pdk_cli_open_store_ro(cli, &err) < 0 ||
            pdk_store_run(cli->store, name.run, &row, &err) < 0 ||
            logs_dir(cli, &row, &name, &dir, &err) < 0)
        return pdk_cli_fail(cli, &err);
    do {
        live = live && pdk_follow_is_live(cli, row.id);
        rc = print_all(&tails, dir, args->words_len > 1 ? args->words[1] : NULL, &err);
        if (live && rc == 0)
            pdk_follow_wait();
    } while (live && rc == 0);
    tails_fini(&tails);
    return rc < 0 ? pdk_cli_fail(cli, &err) : 0;
}
