/*
 * A tree becomes files: its entries are listed in index order, directories are made, then files are
 * written by several threads, each with a vault handle of its own, and the index last.
 */
#include "trees/checkout.h"

#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "trees/beneath.h"
#include "trees/filter.h"
#include "trees/index.h"
#include "trees/internal.h"
#include "trees/repo.h"
#include "trees/vault.h"

enum { THREADS_MAX = 8, THREAD_SHARE = 128, BLOB_MAX = 0x7fffffff };

struct checkout {
    const struct pdk_checkout_spec *spec;
    int root_fd;
    struct pdk_index index;
    bool filtered;      /* some conversion is in effect */
    atomic_size_t next; /* the entry that is written next */
    atomic_bool stop;
};

/* ---- listing */

static int list_tree(struct pdk_vault *vault, struct checkout *c, const git_oid *id,
        const char *prefix, struct pdk_err *err);

static int list_entry(struct pdk_vault *vault, struct checkout *c,
        const git_tree_entry *entry, const char *prefix, struct pdk_err *err)
{
    const char *name = git_tree_entry_name(entry);
    PDK_AUTO_FREE char *path = pdk_strf("%s%s%s", prefix, prefix[0] ? "/" : "", name);
    struct pdk_oid oid;

    if (!path)
        return pdk_fail_nomem(err);
    if (!pdk_path_is_safe(path, strlen(path)))
        return pdk_fail(err, PDK_EINVAL, 0,
                "the tree holds the path '%.200s', which is not safe", path);
    if (git_tree_entry_type(entry) == GIT_OBJECT_TREE)
        return list_tree(vault, c, git_tree_entry_id(entry), path, err);
    pdk_oid_of(git_tree_entry_id(entry), &oid);
    if (strcmp(name, ".gitattributes") == 0)
        c->filtered = true;
    return pdk_index_add(
            &c->index, path, (uint32_t)git_tree_entry_filemode(entry), &oid, err);
}

static int list_tree(struct pdk_vault *vault, struct checkout *c, const git_oid *id,
        const char *prefix, struct pdk_err *err)
{
    git_tree *tree = NULL;
    struct pdk_oid name;
    int rc = git_tree_lookup(&tree, pdk_vault_repository(vault), id);

    pdk_oid_of(id, &name);
    if (rc < 0)
        return pdk_git2_fail(err, rc, "tree %s is missing", name.hex);
    for (size_t i = 0; rc == 0 && i < git_tree_entrycount(tree); i++)
        rc = list_entry(vault, c, git_tree_entry_byindex(tree, i), prefix, err);
    git_tree_free(tree);
    return rc;
}

/* A tree that was made by hand may name a path twice. */
static int check_order(const struct pdk_index *index, struct pdk_err *err)
{
    for (size_t i = 1; i < index->len; i++)
        if (strcmp(index->entries[i - 1].path, index->entries[i].path) >= 0)
            return pdk_fail(err, PDK_EINVAL, 0,
                    "the tree's entries are out of order at '%.200s'",
                    index->entries[i].path);
    return 0;
}

static int list_all(struct pdk_vault *vault, struct checkout *c, struct pdk_err *err)
{
    git_oid id;

    c->index.tree = c->spec->tree;
    if (strcmp(c->spec->tree.hex, PDK_EMPTY_TREE) == 0)
        return 0;
    if (pdk_oid_to(&c->spec->tree, &id, err) < 0 || list_tree(vault, c, &id, "", err) < 0)
        return err->code;
    return check_order(&c->index, err);
}

/* ---- directories */

static int make_directory(const struct checkout *c, const char *path, struct pdk_err *err)
{
    if (mkdirat(c->root_fd, path, 0755) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make the directory '%s'", path);
    return 0;
}

/* Makes the directories of path that the path before it did not have. */
static int make_parents(const struct checkout *c, const char *before, const char *path,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *copy = strdup(path);
    size_t shared = 0;

    if (!copy)
        return pdk_fail_nomem(err);
    while (before[shared] && before[shared] == path[shared])
        shared++;
    for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t at = (size_t)(slash - copy);

        if (at < shared)
            continue;
        *slash = '\0';
        if (make_directory(c, copy, err) < 0)
            return err->code;
        *slash = '/';
    }
    return 0;
}

static int make_directories(const struct checkout *c, struct pdk_err *err)
{
    const char *before = "";

    for (size_t i = 0; i < c->index.len; i++) {
        const struct pdk_index_entry *e = &c->index.entries[i];

        if (make_parents(c, before, e->path, err) < 0)
            return err->code;
        if (S_ISDIR(e->mode) || (e->mode & S_IFMT) == 0160000)
            if (make_directory(c, e->path, err) < 0)
                return err->code;
        before = e->path;
    }
    return 0;
}

/* ---- files */

struct worker {
    struct checkout *checkout;
    struct pdk_vault *vault;
    struct pdk_filter *filter; /* NULL: raw */
    pthread_t thread;
    struct pdk_err err;
    int rc;
};

static int write_link(const struct checkout *c, const struct pdk_index_entry *e,
        const struct pdk_buf *target, struct pdk_err *err)
{
    if (target->len == 0 || strlen(target->data) != target->len)
        return pdk_fail(
                err, PDK_EINVAL, 0, "the link '%s' has no usable target", e->path);
    if (symlinkat(target->data, c->root_fd, e->path) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make the link '%s'", e->path);
    return 0;
}

static int write_file(struct worker *w, const struct pdk_index_entry *e,
        const struct pdk_buf *blob, struct stat *st, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf converted = PDK_BUF_INIT;
    const struct pdk_buf *data = blob;
    mode_t mode = e->mode & 0100 ? 0755 : 0644;
    PDK_AUTO_FD int fd = -1;

    if (w->filter) {
        if (pdk_filter_to_worktree(w->filter, e->path, pdk_buf_str(blob), blob->len,
                    &converted, err) < 0)
            return err->code;
        data = &converted;
    }
    fd = pdk_beneath_open(w->checkout->root_fd, e->path,
            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make the file '%s'", e->path);
    /* The umask of the caller is not the tree's business. */
    if (fchmod(fd, mode) < 0 ||
            pdk_fs_write_fd(fd, pdk_buf_str(data), data->len, err) < 0 ||
            fstat(fd, st) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot write the file '%s'", e->path);
    return 0;
}

static int write_entry(struct worker *w, struct pdk_index_entry *e, struct pdk_err *err)
{
    const struct checkout *c = w->checkout;
    PDK_AUTO_BUF struct pdk_buf blob = PDK_BUF_INIT;
    bool link = (e->mode & S_IFMT) == S_IFLNK;
    struct stat st;

    if ((e->mode & S_IFMT) != S_IFREG && !link)
        return 0;
    if (pdk_vault_read_blob(w->vault, &e->oid, BLOB_MAX, &blob, err) < 0)
        return pdk_wrap(err, "'%s'", e->path);
    if (!link)
        return write_file(w, e, &blob, &st, err) < 0
                ? err->code
                : (pdk_stat_data_of(&st, &e->stat), 0);
    if (write_link(c, e, &blob, err) < 0)
        return err->code;
    if (fstatat(c->root_fd, e->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot look at '%s'", e->path);
    pdk_stat_data_of(&st, &e->stat);
    return 0;
}

static int prepare_worker(struct worker *w)
{
    const struct pdk_checkout_spec *spec = w->checkout->spec;

    if (!w->checkout->filtered || w->filter)
        return 0;
    return pdk_filter_open(w->vault, spec->repo, &spec->tree, &w->filter, &w->err);
}

static void *work(void *user)
{
    struct worker *w = user;
    struct checkout *c = w->checkout;

    w->rc = prepare_worker(w);
    while (w->rc == 0 && !atomic_load(&c->stop)) {
        size_t i = atomic_fetch_add(&c->next, 1);

        if (i >= c->index.len)
            break;
        w->rc = write_entry(w, &c->index.entries[i], &w->err);
    }
    if (w->rc < 0)
        atomic_store(&c->stop, true);
    return NULL;
}

static int count_threads(const struct checkout *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long useful = (long)(c->index.len / THREAD_SHARE) + 1;
    long n = c->spec->threads > 0 ? c->spec->threads : cores;

    n = n < useful ? n : useful;
    n = n < THREADS_MAX ? n : THREADS_MAX;
    return n > 0 ? (int)n : 1;
}

/* A worker that cannot be started is one less: the others do its share. */
static int start_helpers(
        struct checkout *c, struct worker *workers, int n, const char *objects)
{
    int started = 1;

    while (started < n) {
        struct worker *w = &workers[started];

        *w = (struct worker){ .checkout = c };
        if (pdk_vault_open(
                    pdk_vault_path(workers[0].vault), objects, &w->vault, &w->err) < 0)
            break;
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            pdk_vault_close(w->vault);
            break;
        }
        started++;
    }
    return started;
}

static int write_files(struct pdk_vault *vault, struct checkout *c, struct pdk_err *err)
{
    struct worker workers[THREADS_MAX];
    int n, rc = 0;

    workers[0] = (struct worker){ .checkout = c, .vault = vault };
    n = start_helpers(c, workers, count_threads(c), c->spec->repo->objects);
    (void)work(&workers[0]);
    for (int i = 0; i < n; i++) {
        struct worker *w = &workers[i];

        if (i > 0) {
            (void)pthread_join(w->thread, NULL);
            pdk_vault_close(w->vault);
        }
        pdk_filter_free(w->filter);
        if (w->rc < 0 && rc == 0) {
            rc = w->rc;
            *err = w->err;
        }
    }
    return rc;
}

static int write_indexes(const struct checkout *c, struct pdk_err *err)
{
    if (pdk_index_write(c->spec->index, &c->index, err) < 0)
        return err->code;
    if (!c->spec->git_index)
        return 0;
    return pdk_index_write(c->spec->git_index, &c->index, err);
}

int pdk_checkout(struct pdk_vault *vault, const struct pdk_checkout_spec *spec,
        struct pdk_err *err)
{
    PDK_AUTO_FD int root_fd =
            open(spec->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct checkout c = { .spec = spec, .root_fd = root_fd };
    int rc = root_fd < 0 ? pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", spec->dir)
                         : 0;

    atomic_init(&c.next, 0);
    atomic_init(&c.stop, false);
    if (rc == 0)
        rc = list_all(vault, &c, err);
    c.filtered = pdk_filter_needed(spec->repo, c.filtered);
    if (rc == 0)
        rc = make_directories(&c, err);
    if (rc == 0)
        rc = write_files(vault, &c, err);
    if (rc == 0)
        rc = write_indexes(&c, err);
    pdk_index_fini(&c.index);
    return rc;
}
