/*
 * Working copies, by the backends themselves: what making, looking at, capturing and removing them costs.
 *
 *     bench_sandbox life BACKEND REPO STATE COPIES LOOKED [hold] <changes
 *     bench_sandbox copy FROM TO
 *
 * "life" opens the template of HEAD, makes COPIES sandboxes, edits LOOKED of them as standard input says (lines
 * "M path", "A path", "D path"), asks each of these for its dirt and captures it, and removes them all. With
 * "hold" it says "ready" after the captures and waits for its standard input to end: `du` has its time then.
 * "copy" is the bare loop that a copy cannot beat by much: mkdir, open, read, write, close.
 * Each sample is a line of JSON on standard output.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backends/backend.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "trees/template.h"
#include "trees/vault.h"

enum { DEEPEST = 64, CHANGES_MAX = 1000 };

struct stamp {
    double wall_ms, cpu_ms;
};

struct bench {
    const struct pdk_backend *backend;
    const char *state;
    char *lock;
    struct pdk_repo *repo;
    struct pdk_vault *vault;
    struct pdk_template *template;
    struct pdk_base base;
    struct pdk_sandbox **copies;
    size_t count, looked;
    struct pdk_strv changes;
};

static double ms_of(const struct timeval *tv)
{
    return (double)tv->tv_sec * 1e3 + (double)tv->tv_usec / 1e3;
}

static struct stamp now(void)
{
    struct timespec ts = { 0 };
    struct rusage own = { 0 }, children = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &ts); /* both cannot fail */
    (void)getrusage(RUSAGE_SELF, &own);
    (void)getrusage(RUSAGE_CHILDREN, &children);
    return (struct stamp){
        .wall_ms = (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6,
        .cpu_ms = ms_of(&own.ru_utime) + ms_of(&own.ru_stime) +
                ms_of(&children.ru_utime) + ms_of(&children.ru_stime),
    };
}

static void report(const char *measure, const struct stamp *since)
{
    struct stamp end = now();

    (void)printf("{\"measure\": \"%s\", \"wall_ms\": %.3f, \"cpu_ms\": %.3f}\n", measure,
            end.wall_ms - since->wall_ms, end.cpu_ms - since->cpu_ms);
    (void)fflush(stdout); /* who reads it may wait for it */
}

/* ---- the bare copy loop ---- */

static int copy_bytes(int from, int to, struct pdk_err *err)
{
    static char buffer[1U << 17];

    for (;;) {
        ssize_t got = read(from, buffer, sizeof(buffer));

        if (got <= 0)
            return got == 0 ? 0 : pdk_fail(err, PDK_EIO, errno, "cannot read");
        if (pdk_fs_write_fd(to, buffer, (size_t)got, err) < 0)
            return err->code;
    }
}

static int copy_file(int from_dir, int to_dir, const char *name, struct pdk_err *err)
{
    PDK_AUTO_FD int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    PDK_AUTO_FD int to =
            openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (from < 0 || to < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot copy '%s'", name);
    return copy_bytes(from, to, err);
}

/* Entries of one directory: files are copied, the names of directories kept for later. */
static int copy_entries(int from, int to, struct pdk_strv *below, struct pdk_err *err)
{
    PDK_AUTO_FD int own = fcntl(from, F_DUPFD_CLOEXEC, 0);
    PDK_AUTO_DIR DIR *dir = own < 0 ? NULL : fdopendir(own);
    const struct dirent *entry = NULL;

    if (!dir)
        return pdk_fail(err, PDK_EIO, errno, "cannot list");
    own = -1; /* the stream's now */
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            pdk_strv_add(below, entry->d_name);
        else if (entry->d_type == DT_REG && copy_file(from, to, entry->d_name, err) < 0)
            return err->code;
    }
    return pdk_strv_ok(below, err);
}

/* The bench's own repositories are as deep as it makes them. NOLINTNEXTLINE(misc-no-recursion) */
static int copy_tree(
        int from_dir, int to_dir, const char *name, int depth, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv below = { 0 };
    PDK_AUTO_FD int from = openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    PDK_AUTO_FD int to = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (from < 0 || to < 0 || depth > DEEPEST)
        return pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", name);
    if (copy_entries(from, to, &below, err) < 0)
        return err->code;
    for (size_t i = 0; i < below.len; i++) {
        if (mkdirat(to, below.items[i], 0755) < 0)
            return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", below.items[i]);
        if (copy_tree(from, to, below.items[i], depth + 1, err) < 0)
            return err->code;
    }
    return 0;
}

static int run_copy(const char *from, const char *to, struct pdk_err *err)
{
    struct stamp since = now();
    PDK_AUTO_FD int from_fd = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (from_fd < 0 || mkdir(to, 0755) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot copy '%s' to '%s'", from, to);
    PDK_AUTO_FD int to_fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (copy_tree(from_fd, to_fd, ".", 0, err) < 0)
        return err->code;
    report("copy", &since);
    return 0;
}

/* ---- the life of sandboxes ---- */

static int bench_open(struct bench *b, const char *backend, const char *repo,
        const char *state, struct pdk_err *err)
{
    PDK_AUTO_FREE char *vault = pdk_path_join(state, "vault.git");
    PDK_AUTO_FREE char *templates = pdk_path_join(state, "templates");

    b->state = state;
    b->lock = pdk_path_join(state, "registry.lock");
    if (!vault || !templates || !b->lock)
        return pdk_fail_nomem(err);
    if (pdk_fs_mkdirs(templates, 0700, err) < 0 ||
            pdk_backend_find(backend, &b->backend, err) < 0 ||
            pdk_backend_probe(b->backend, state, NULL, err) < 0 ||
            pdk_repo_open(repo, &b->repo, err) < 0 ||
            pdk_vault_open(vault, b->repo->objects, &b->vault, err) < 0 ||
            pdk_repo_resolve(b->repo, "HEAD", &b->base, err) < 0)
        return err->code;
    struct stamp since = now();

    if (pdk_template_open(
                b->vault, b->repo, templates, &b->base.tree, 0, &b->template, err) < 0)
        return err->code;
    report("template", &since);
    return 0;
}

static void bench_close(struct bench *b)
{
    for (size_t i = 0; b->copies && i < b->count; i++)
        pdk_sandbox_close(b->copies[i]);
    free(b->copies);
    pdk_strv_fini(&b->changes);
    pdk_template_close(b->template);
    pdk_vault_close(b->vault);
    pdk_repo_free(b->repo);
    free(b->lock);
}

static int make_one(struct bench *b, size_t number, struct pdk_err *err)
{
    PDK_AUTO_FREE char *id = pdk_strf("s%zu", number);
    PDK_AUTO_FREE char *dir = id ? pdk_strf("%s/sandboxes/%s", b->state, id) : NULL;
    struct pdk_sandbox_spec spec = {
        .id = id,
        .dir = dir,
        .lock = b->lock,
        .repo = b->repo,
        .vault = b->vault,
        .base = b->base,
        .tree = b->base.tree,
        .template = b->base.tree,
    };

    if (!dir)
        return pdk_fail_nomem(err);
    return pdk_sandbox_materialize(b->backend, &spec, &b->copies[number], NULL, err);
}

static int make_all(struct bench *b, struct pdk_err *err)
{
    struct stamp since = now();

    for (size_t i = 0; i < b->count; i++) {
        if (make_one(b, i, err) < 0)
            return err->code;
    }
    report("materialize", &since);
    return 0;
}

/* One line of the changes, done to a working copy. */
static int change(int root, const char *line, size_t number, struct pdk_err *err)
{
    const char *path = line + 2;

    if (strlen(line) < 3 || line[1] != ' ')
        return pdk_fail(err, PDK_EINVAL, 0, "not a change: '%s'", line);
    if (line[0] == 'D')
        return unlinkat(root, path, 0) == 0
                ? 0
                : pdk_fail(err, PDK_EIO, errno, "cannot remove '%s'", path);
    PDK_AUTO_FD int fd = openat(root, path,
            O_WRONLY | O_APPEND | O_CLOEXEC | (line[0] == 'A' ? O_CREAT : 0), 0644);

    if (fd < 0 || dprintf(fd, "changed in copy %zu\n", number) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot change '%s'", path);
    return 0;
}

static int change_all(struct bench *b, struct pdk_err *err)
{
    for (size_t i = 0; i < b->looked; i++) {
        PDK_AUTO_FD int root =
                open(pdk_sandbox_root(b->copies[i]), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (root < 0)
            return pdk_fail(err, PDK_EIO, errno, "cannot open sandbox %zu", i);
        for (size_t k = 0; k < b->changes.len; k++) {
            if (change(root, b->changes.items[k], i, err) < 0)
                return err->code;
        }
    }
    return 0;
}

static int look(struct bench *b, size_t number, const char *measure, struct pdk_err *err)
{
    PDK_AUTO_DIRT struct pdk_dirt dirt = { 0 };
    struct stamp since = now();

    if (pdk_sandbox_collect_dirt(b->copies[number], b->vault, &dirt, err) < 0)
        return err->code;
    report(measure, &since);
    if (dirt.len != b->changes.len)
        return pdk_fail(err, PDK_EBUG, 0, "%zu changes found, %zu made", dirt.len,
                b->changes.len);
    return 0;
}

static int capture(struct bench *b, size_t number, struct pdk_err *err)
{
    PDK_AUTO_CAPTURE struct pdk_capture captured = { 0 };
    struct stamp since = now();

    if (pdk_sandbox_capture(b->copies[number], b->vault, &captured, err) < 0)
        return err->code;
    report("capture", &since);
    return 0;
}

/* First out of the way, handles and all, which is what a run waits for; then to the last file. */
static int remove_all(struct bench *b, struct pdk_err *err)
{
    struct stamp since = now();

    for (size_t i = 0; i < b->count; i++) {
        if (pdk_sandbox_teardown(
                    pdk_sandbox_get_record(b->copies[i]), b->repo, b->lock, 0, err) < 0)
            return err->code;
        pdk_sandbox_close(pdk_take_ptr(&b->copies[i]));
    }
    report("release", &since);
    if (pdk_sandbox_clean(b->lock, 0, NULL, NULL, err) < 0)
        return err->code;
    report("remove", &since);
    return 0;
}

static void hold(void)
{
    (void)puts("{\"measure\": \"ready\"}");
    (void)fflush(stdout);
    while (getchar() != EOF)
        ;
}

static int live(struct bench *b, bool held, struct pdk_err *err)
{
    b->copies = calloc(b->count, sizeof(struct pdk_sandbox *));
    if (!b->copies)
        return pdk_fail_nomem(err);
    if (make_all(b, err) < 0 || change_all(b, err) < 0)
        return err->code;
    for (size_t i = 0; i < b->looked; i++) {
        if (look(b, i, "dirt_first", err) < 0 || look(b, i, "dirt", err) < 0 ||
                capture(b, i, err) < 0)
            return err->code;
    }
    if (held)
        hold();
    return remove_all(b, err);
}

/* Up to an empty line: what follows belongs to hold(). */
static int read_changes(struct pdk_strv *changes, struct pdk_err *err)
{
    char line[4096];

    while (changes->len < CHANGES_MAX && fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (!line[0])
            break;
        pdk_strv_add(changes, line);
    }
    return pdk_strv_ok(changes, err);
}

static int run_life(int argc, char **argv, struct pdk_err *err)
{
    struct bench b = { 0 };
    size_t count = strtoul(argv[5], NULL, 10), looked = strtoul(argv[6], NULL, 10);

    if (count == 0 || looked > count)
        return pdk_fail(err, PDK_EINVAL, 0, "COPIES is at least 1, LOOKED at most that");
    b.count = count;
    b.looked = looked;
    int rc = read_changes(&b.changes, err);

    if (rc == 0)
        rc = bench_open(&b, argv[2], argv[3], argv[4], err);
    if (rc == 0)
        rc = live(&b, argc == 8, err);
    bench_close(&b);
    return rc;
}

int main(int argc, char **argv)
{
    struct pdk_err err = PDK_ERR_INIT;
    int rc = 0;

    if (argc == 4 && strcmp(argv[1], "copy") == 0)
        rc = run_copy(argv[2], argv[3], &err);
    else if ((argc == 7 || argc == 8) && strcmp(argv[1], "life") == 0)
        rc = run_life(argc, argv, &err);
    else
        rc = pdk_fail(&err, PDK_EINVAL, 0,
                "usage: life BACKEND REPO STATE COPIES LOOKED [hold] | copy FROM TO");
    if (rc < 0)
        (void)fprintf(stderr, "bench_sandbox: %s\n", err.msg);
    return rc < 0 ? 1 : 0;
}
