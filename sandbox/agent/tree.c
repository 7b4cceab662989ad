/*
 * fingerprint: a digest over what every entry of the tree looks like (name, kind, mode, size, times,
 * inode), .git left out. It reads no content, so it is cheap, and it changes with every write.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json.h"
#include "base/str.h"
#include "sandbox/agent/agent.h"

/* Directories still to be read, as paths below the root: no recursion, one open at a time. */
struct walk {
    const struct agent *agent;
    struct pdk_strv todo;
    struct pdk_digest *digest;
    int64_t entries;
};

static void add_entry(struct walk *w, const char *path, const struct stat *st)
{
    int64_t facts[] = { st->st_mode, st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
        st->st_ctim.tv_sec, st->st_ctim.tv_nsec, (int64_t)st->st_ino };

    pdk_digest_add(w->digest, path, strlen(path) + 1);
    if (S_ISDIR(st->st_mode))
        facts[1] = facts[2] = facts[3] = facts[4] = facts[5] =
                0; /* its entries speak for it */
    pdk_digest_add(w->digest, facts, sizeof(facts));
    w->entries++;
}

static int list_names(int fd, struct pdk_strv *names, struct pdk_err *err)
{
    PDK_AUTO_DIR DIR *dir = fdopendir(fd);
    const struct dirent *entry;

    if (!dir) {
        (void)close(fd);
        return pdk_fail(err, PDK_EIO, errno, "cannot read a directory");
    }
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                strcmp(entry->d_name, ".git") != 0)
            pdk_strv_add(names, entry->d_name);
    pdk_strv_sort(names);
    return pdk_strv_ok(names, err);
}

static int read_directory(struct walk *w, const char *path, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv names = PDK_STRV_INIT;
    PDK_AUTO_FD int fd =
            pdk_agent_open(w->agent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

    if (fd < 0)
        return 0; /* gone or closed to us meanwhile: its own entry says so */
    if (list_names(fcntl(fd, F_DUPFD_CLOEXEC, 3), &names, err) < 0)
        return err->code;
    for (size_t i = 0; i < names.len; i++) {
        PDK_AUTO_FREE char *child = strcmp(path, ".") == 0
                ? strdup(names.items[i])
                : pdk_strf("%s/%s", path, names.items[i]);
        struct stat st;

        if (!child)
            return pdk_fail_nomem(err);
        if (fstatat(fd, names.items[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        add_entry(w, child, &st);
        if (S_ISDIR(st.st_mode))
            pdk_strv_take(&w->todo, pdk_take_ptr(&child));
    }
    return pdk_strv_ok(&w->todo, err);
}

static int walk_all(struct walk *w, struct pdk_err *err)
{
    pdk_strv_add(&w->todo, ".");
    while (w->todo.len > 0) {
        PDK_AUTO_FREE char *path = w->todo.items[--w->todo.len];

        w->todo.items[w->todo.len] = NULL;
        if (read_directory(w, path, err) < 0)
            return err->code;
    }
    return 0;
}

void pdk_agent_fingerprint(struct agent *a, int64_t id, const struct pdk_json *params)
{
    struct walk w = { .agent = a, .digest = pdk_digest_new() };
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_json *result;
    char digest[65];

    (void)params;
    if (!w.digest || walk_all(&w, &err) < 0) {
        pdk_agent_error(a, id, PDK_WIRE_IO, w.digest ? err.msg : "out of memory");
    } else {
        pdk_digest_end(w.digest, digest);
        result = pdk_json_object();
        (void)pdk_json_set_str(result, "fingerprint", digest);
        (void)pdk_json_set_int(result, "entries", w.entries);
        pdk_agent_result(a, id, result);
    }
    pdk_strv_fini(&w.todo);
    pdk_digest_free(w.digest);
}
