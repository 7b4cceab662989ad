/*
 * A tree becomes files: its entries are listed in index order, directories are made, then files are
 * written by several threads, each with a vault handle of its own, and the index last.
 */
#include "trees/checkout.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "trees/diff.h"
#include "trees/filter.h"
#include "trees/index.h"
#include "trees/internal.h"
#include "trees/lfs.h"
#include "trees/pool.h"
#include "trees/repo.h"
#include "trees/vault.h"

enum { THREAD_SHARE = 128, BLOB_MAX = 0x7fffffff, GITLINK = 0160000 };

struct checkout {
    const struct pdk_checkout_spec *spec;
    int root_fd;
    struct pdk_index index;
    bool filtered;            /* some conversion is in effect */
    bool into;                /* the directory is not empty: directories may be there */
    struct timespec times[2]; /* what files get */
    struct pdk_vault *vault;  /* the caller's */
    _Atomic(struct pdk_vault *) spare; /* the same, until a thread took it */
    pthread_mutex_t lock;              /* over what follows */
    struct pdk_buf missing;            /* files of Git LFS that stayed pointers */
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
    if (!name[0] || strchr(name, '/') || !pdk_path_is_safe(path, strlen(path)))
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
    int fd;

    /* The umask of the caller is not the tree's business, but that of whose directory it is. */
    if (mkdirat(c->root_fd, path, 0755) == 0)
        return c->into || fchmodat(c->root_fd, path, 0755, 0) == 0
                ? 0
                : pdk_fail(err, PDK_EIO, errno, "cannot set the mode of '%s'", path);
    if (errno != EEXIST || !c->into)
        return pdk_fail(err, PDK_EIO, errno, "cannot make the directory '%s'", path);
    fd = pdk_beneath_open(c->root_fd, path, O_PATH | O_DIRECTORY, 0);
    if (fd < 0)
        return pdk_fail(err, PDK_ECONFLICT, errno, "'%s' is in the way", path);
    (void)close(fd);
    return 0;
}

/* Makes the directories of path that the path before it did not have. */
static int make_parents(const struct checkout *c, const char *before, const char *path,
        struct pdk_err *err)
{
    char dir[PATH_MAX];
    size_t at = pdk_path_shared(before, path);

    while (pdk_path_next_dir(path, &at, dir, sizeof(dir)))
        if (make_directory(c, dir, err) < 0)
            return err->code;
    return 0;
}

static int make_directories(const struct checkout *c, struct pdk_err *err)
{
    const char *before = "";

    for (size_t i = 0; i < c->index.len; i++) {
        const struct pdk_index_entry *e = &c->index.entries[i];

        if (make_parents(c, before, e->path, err) < 0)
            return err->code;
        if (S_ISDIR(e->mode) || (e->mode & S_IFMT) == GITLINK)
            if (make_directory(c, e->path, err) < 0)
                return err->code;
        before = e->path;
    }
    return 0;
}

/* ---- files */

/* What one thread works with. */
struct worker {
    struct pdk_vault *vault;
    bool own;                  /* the vault was opened for this thread */
    struct pdk_filter *filter; /* NULL: raw */
};

static int write_link(const struct checkout *c, const struct pdk_index_entry *e,
        const struct pdk_buf *target, struct pdk_err *err)
{
    if (target->len == 0 || strlen(target->data) != target->len)
        return pdk_fail(
                err, PDK_EINVAL, 0, "the link '%s' has no usable target", e->path);
    if (symlinkat(target->data, c->root_fd, e->path) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make the link '%s'", e->path);
    (void)utimensat(c->root_fd, e->path, c->times,
            AT_SYMLINK_NOFOLLOW); /* a racy entry, at worst */
    return 0;
}

static int copy_content(int from, int to, struct pdk_err *err)
{
    char chunk[8192];
    ssize_t n;

    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    while ((n = read(from, chunk, sizeof(chunk))) > 0)
        if (pdk_fs_write_fd(to, chunk, (size_t)n, err) < 0)
            return err->code;
    return n < 0 ? pdk_fail(err, PDK_EIO, errno, "cannot read it") : 0;
}

/* Content of Git LFS for the pointer in blob; -1: it is none, or its content is nowhere, which is noted. */
static int open_content(struct checkout *c, struct worker *w,
        const struct pdk_index_entry *e, const struct pdk_buf *blob, int *out,
        struct pdk_err *err)
{
    struct pdk_lfs_pointer pointer;
    bool lfs = false;

    *out = -1;
    if (!w->filter || !pdk_lfs_parse(blob, &pointer))
        return 0;
    if (pdk_filter_is_lfs(w->filter, e->path, &lfs, err) < 0)
        return err->code;
    if (!lfs)
        return 0;
    *out = pdk_lfs_open(c->spec->repo, w->vault, &pointer);
    if (*out >= 0)
        return 0;
    (void)pthread_mutex_lock(&c->lock);
    pdk_buf_addf(&c->missing, "%s %s", pointer.sha256, e->path);
    pdk_buf_addc(&c->missing, '\0');
    (void)pthread_mutex_unlock(&c->lock);
    return 0;
}

static int write_file(struct checkout *c, struct worker *w,
        const struct pdk_index_entry *e, const struct pdk_buf *blob, struct stat *st,
        struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf converted = PDK_BUF_INIT;
    const struct pdk_buf *data = blob;
    mode_t mode = e->mode & 0100 ? 0755 : 0644;
    PDK_AUTO_FD int fd = -1;
    PDK_AUTO_FD int content = -1;

    if (open_content(c, w, e, blob, &content, err) < 0)
        return err->code;
    if (w->filter && content < 0) {
        if (pdk_filter_to_worktree(w->filter, e->path, &e->oid, blob, &converted, err) <
                0)
            return err->code;
        data = &converted;
    }
    fd = pdk_beneath_open(
            c->root_fd, e->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make the file '%s'", e->path);
    /* The umask of the caller is not the tree's business. */
    if (fchmod(fd, mode) < 0 ||
            (content >= 0 ? copy_content(content, fd, err)
                          : pdk_fs_write_fd(fd, pdk_buf_str(data), data->len, err)) < 0 ||
            futimens(fd, c->times) < 0 || fstat(fd, st) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot write the file '%s'", e->path);
    return 0;
}

static int write_entry(struct checkout *c, struct worker *w, struct pdk_index_entry *e,
        struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf blob = PDK_BUF_INIT;
    bool link = (e->mode & S_IFMT) == S_IFLNK;
    struct stat st;

    if ((e->mode & S_IFMT) != S_IFREG && !link)
        return 0;
    if (pdk_vault_read_blob(w->vault, &e->oid, BLOB_MAX, &blob, err) < 0)
        return pdk_wrap(err, "'%s'", e->path);
    if (!link && write_file(c, w, e, &blob, &st, err) < 0)
        return err->code;
    if (link && write_link(c, e, &blob, err) < 0)
        return err->code;
    if (link && fstatat(c->root_fd, e->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot look at '%s'", e->path);
    pdk_stat_data_of(&st, &e->stat);
    return 0;
}

static int checkout_open_worker(void *user, void **local, struct pdk_err *err)
{
    struct checkout *c = user;
    struct worker *w = calloc(1, sizeof(*w));

    if (!w)
        return pdk_fail_nomem(err);
    *local = w;
    /* The caller's handle is for one thread: the first that comes. */
    w->vault = atomic_exchange(&c->spare, NULL);
    w->own = !w->vault;
    if (w->own &&
            pdk_vault_open(
                    pdk_vault_path(c->vault), c->spec->repo->objects, &w->vault, err) < 0)
        return err->code;
    if (!c->filtered)
        return 0;
    return pdk_filter_open(w->vault, c->spec->repo, &c->spec->tree, &w->filter, err);
}

static int checkout_run_item(void *user, void *local, size_t item, struct pdk_err *err)
{
    struct checkout *c = user;

    return write_entry(c, local, &c->index.entries[item], err);
}

static void checkout_close_worker(void *user, void *local)
{
    struct worker *w = local;

    (void)user;
    pdk_filter_free(w->filter);
    if (w->own)
        pdk_vault_close(w->vault);
    free(w);
}

static int write_files(struct checkout *c, struct pdk_err *err)
{
    struct pdk_pool_spec pool = {
        .items = c->index.len,
        .share = THREAD_SHARE,
        .threads = c->spec->threads,
        .open = checkout_open_worker,
        .run = checkout_run_item,
        .close = checkout_close_worker,
        .user = c,
    };

    return pdk_pool_run(&pool, err);
}

static int write_indexes(
        const struct checkout *c, const struct pdk_index *index, struct pdk_err *err)
{
    if (pdk_lfs_note_missing(c->spec->index, &c->missing, err) < 0 ||
            pdk_index_write(c->spec->index, index, err) < 0)
        return err->code;
    return c->spec->git_index ? pdk_index_write_git(c->spec->git_index, index, err) : 0;
}

/* A second before now, cut to whole seconds as git does when it compares. */
static void set_times(struct checkout *c)
{
    (void)clock_gettime(CLOCK_REALTIME, &c->times[1]); /* cannot fail */
    c->times[1].tv_sec -= 1;
    c->times[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
}

static int begin(struct pdk_vault *vault, const struct pdk_checkout_spec *spec,
        struct checkout *c, struct pdk_err *err)
{
    *c = (struct checkout){ .spec = spec, .lock = PTHREAD_MUTEX_INITIALIZER };
    c->root_fd = open(spec->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    c->vault = vault;
    atomic_init(&c->spare, vault);
    set_times(c);
    if (c->root_fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", spec->dir);
    return 0;
}

static void end(struct checkout *c)
{
    if (c->root_fd >= 0)
        (void)close(c->root_fd);
    pdk_index_fini(&c->index);
    pdk_buf_fini(&c->missing);
}

int pdk_checkout(struct pdk_vault *vault, const struct pdk_checkout_spec *spec,
        struct pdk_err *err)
{
    struct checkout c;
    int rc = begin(vault, spec, &c, err);

    if (rc == 0)
        rc = list_all(vault, &c, err);
    c.filtered = pdk_filter_needed(spec->repo, c.filtered);
    if (rc == 0)
        rc = make_directories(&c, err);
    if (rc == 0)
        rc = write_files(&c, err);
    if (rc == 0)
        rc = write_indexes(&c, &c.index, err);
    end(&c);
    return rc;
}

/* ---- from one tree to another */

/* The file (or the empty directory of a submodule) goes, and the directories that it leaves empty. */
static int remove_path(
        const struct checkout *c, const char *path, uint32_t mode, struct pdk_err *err)
{
    int how = (mode & S_IFMT) == GITLINK ? AT_REMOVEDIR : 0;
    PDK_AUTO_FREE char *dir = strdup(path);
    char *slash;

    if (!dir)
        return pdk_fail_nomem(err);
    if (unlinkat(c->root_fd, path, how) < 0 && errno != ENOENT)
        return pdk_fail(err, PDK_EIO, errno, "cannot remove '%s'", path);
    while ((slash = strrchr(dir, '/'))) {
        *slash = '\0';
        if (unlinkat(c->root_fd, dir, AT_REMOVEDIR) < 0)
            break; /* not empty, most often */
    }
    return 0;
}

static int plan_change(
        struct checkout *c, const struct pdk_change *change, struct pdk_err *err)
{
    if (!pdk_path_is_safe(change->path, strlen(change->path)))
        return pdk_fail(err, PDK_EINVAL, 0,
                "the tree holds the path '%.200s', which is not safe", change->path);
    if (change->old_mode != 0 && remove_path(c, change->path, change->old_mode, err) < 0)
        return err->code;
    if (change->new_mode == 0)
        return 0;
    return pdk_index_add(
            &c->index, change->path, change->new_mode, &change->new_oid, err);
}

/* The index of what is there now: the old one's entries, but for the changes, and the new ones. */
static int merge_indexes(const struct pdk_index *old, const struct pdk_diff *diff,
        const struct pdk_index *fresh, struct pdk_index *out, struct pdk_err *err)
{
    size_t i = 0, j = 0, k = 0;

    while (i < old->len || k < fresh->len) {
        const struct pdk_index_entry *a = i < old->len ? &old->entries[i] : NULL;
        const struct pdk_index_entry *b = k < fresh->len ? &fresh->entries[k] : NULL;
        const struct pdk_index_entry *next = b;

        while (a && j < diff->len && strcmp(diff->changes[j].path, a->path) < 0)
            j++;
        if (a && j < diff->len && strcmp(diff->changes[j].path, a->path) == 0) {
            i++; /* changed or gone: what stands there now comes from fresh */
            continue;
        }
        if (a && (!b || strcmp(a->path, b->path) < 0))
            next = a;
        assert(next); /* one of the two is left */
        if (pdk_index_add(out, next->path, next->mode, &next->oid, err) < 0)
            return err->code;
        out->entries[out->len - 1].stat = next->stat;
        /* Where it is an overlay's, what was written now is in its upper layer. */
        out->entries[out->len - 1].upper = next == b || next->upper;
        i += next == a;
        k += next == b;
    }
    return 0;
}

static int switch_files(
        struct checkout *c, const struct pdk_diff *diff, struct pdk_err *err)
{
    for (size_t i = 0; i < diff->len; i++)
        if (strcmp(pdk_path_basename(diff->changes[i].path), ".gitattributes") == 0)
            return pdk_fail(err, PDK_EUNSUPPORTED, 0, "attributes differ: all files may");
    for (size_t i = 0; i < diff->len; i++)
        if (plan_change(c, &diff->changes[i], err) < 0)
            return err->code;
    if (make_directories(c, err) < 0)
        return err->code;
    return write_files(c, err);
}

int pdk_checkout_switch(struct pdk_vault *vault, const struct pdk_checkout_spec *spec,
        const struct pdk_oid *from, struct pdk_err *err)
{
    PDK_AUTO_DIFF struct pdk_diff diff = { 0 };
    PDK_AUTO_INDEX struct pdk_index old = { 0 };
    PDK_AUTO_INDEX struct pdk_index merged = { 0 };
    struct checkout c;
    int rc = begin(vault, spec, &c, err);

    c.into = true;
    if (rc == 0)
        rc = pdk_index_read(spec->index, &old, err);
    if (rc == 0)
        rc = pdk_diff_trees(vault, from, &spec->tree, 0, &diff, err);
    c.filtered = pdk_filter_needed(spec->repo, old.has_attributes);
    if (rc == 0)
        rc = switch_files(&c, &diff, err);
    if (rc == 0)
        rc = merge_indexes(&old, &diff, &c.index, &merged, err);
    merged.tree = spec->tree;
    if (rc == 0)
        rc = write_indexes(&c, &merged, err);
    end(&c);
    return rc;
}
