#include "trees/template.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/path.h"
#include "base/str.h"
#include "trees/checkout.h"
#include "trees/index_cache.h"
#include "trees/lfs.h"
#include "trees/repo.h"
#include "trees/template_internal.h"
#include "trees/walk.h"

void pdk_template_close(struct pdk_template *t)
{
    if (!t)
        return;
    if (t->lock >= 0)
        (void)close(t->lock);
    free(t->path);
    free(t->root);
    free(t->index);
    free(t->lock_path);
    free(t);
}

const char *pdk_template_root(const struct pdk_template *t)
{
    return t->root;
}

const char *pdk_template_index(const struct pdk_template *t)
{
    return t->index;
}

/* The tree, and what else decides how its files look. */
static char *make_key(const struct pdk_repo *repo, const struct pdk_oid *tree)
{
    PDK_AUTO_FREE char *settings = pdk_strf(
            "%s %s", repo->autocrlf ? repo->autocrlf : "", repo->eol ? repo->eol : "");
    char digest[65];

    if (!settings)
        return NULL;
    if (!repo->autocrlf && !repo->eol)
        return strdup(tree->hex);
    pdk_digest_hex(settings, strlen(settings), digest);
    return pdk_strf("%s-%.8s", tree->hex, digest);
}

static struct pdk_template *new_template(
        const char *dir, const struct pdk_repo *repo, const struct pdk_oid *tree)
{
    struct pdk_template *t = calloc(1, sizeof(*t));
    PDK_AUTO_FREE char *key = make_key(repo, tree);

    if (!t || !key) {
        free(t);
        return NULL;
    }
    t->lock = -1;
    t->tree = *tree;
    t->path = pdk_path_join(dir, key);
    t->root = t->path ? pdk_path_join(t->path, "tree") : NULL;
    t->index = t->path ? pdk_path_join(t->path, "index") : NULL;
    t->lock_path = t->path ? pdk_strf("%s.lock", t->path) : NULL;
    if (t->root && t->index && t->lock_path)
        return t;
    pdk_template_close(t);
    return NULL;
}

int pdk_template_use(const struct pdk_template *t, const char *user, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = pdk_strf("%s.use.%s", t->path, user);
    int fd;

    if (!path)
        return pdk_fail_nomem(err);
    /* Only its name counts: one more of the lock's file is cheaper than a file. */
    if (link(t->lock_path, path) == 0 || errno == EEXIST)
        return 0;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", path);
    (void)close(fd);
    return 0;
}

int pdk_template_release(const char *dir, const char *user, struct pdk_err *err)
{
    PDK_AUTO_FREE char *tail = pdk_strf(".use.%s", user);
    PDK_AUTO_DIR DIR *d = opendir(dir);
    const struct dirent *entry;

    if (!tail)
        return pdk_fail_nomem(err);
    while (d && (entry = readdir(d)))
        if (pdk_ends_with(entry->d_name, tail) &&
                unlinkat(dirfd(d), entry->d_name, 0) < 0 && errno != ENOENT)
            return pdk_fail(
                    err, PDK_EIO, errno, "cannot remove '%s/%s'", dir, entry->d_name);
    return 0;
}

/* ---- is it what its index says? */

struct looking {
    const struct pdk_index *index;
    size_t same;
    bool damaged;
};

/* A submodule's directory is empty, as it should be; others are not the tree's. */
static bool is_submodule(const struct looking *l, const struct pdk_walk_item *item)
{
    const struct pdk_index_entry *e =
            item->event == PDK_WALK_WARN && item->kind == PDK_CAPTURE_EMPTY_DIR
            ? pdk_index_find(l->index, item->path)
            : NULL;

    return e && e->mode == 0160000;
}

static int look_visit(const struct pdk_walk_item *item, void *user, struct pdk_err *err)
{
    struct looking *l = user;

    (void)err;
    l->same += item->event == PDK_WALK_SAME;
    l->damaged = l->damaged || (item->event != PDK_WALK_SAME && !is_submodule(l, item));
    return 0;
}

/* The walk passes by what is called .git; under an overlay it would be the sandbox's. */
static bool has_dotgit(int root)
{
    struct stat st;

    return fstatat(root, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_sound(const struct pdk_template *t, const struct pdk_repo *repo,
        const struct pdk_vault *vault)
{
    PDK_AUTO_LEASE struct pdk_index_lease *lease = NULL;
    PDK_AUTO_FD int root = open(t->root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct looking looking = { 0 };
    struct pdk_walk_spec walk = { .repo = repo,
        .root_fd = root,
        .upper_fd = -1,
        .visit = look_visit,
        .user = &looking };
    struct pdk_err err = PDK_ERR_INIT;

    if (root < 0 || has_dotgit(root) || !pdk_template_layers_sound(t) ||
            pdk_index_borrow(repo->indexes, t->index, &lease, &err) < 0)
        return false;
    walk.index = looking.index = pdk_index_leased(lease);
    if (!pdk_oid_equal(&walk.index->tree, &t->tree) || pdk_walk(&walk, &err) < 0)
        return false;
    if (pdk_lfs_has_come(t->index, repo, vault))
        return false; /* it has pointers where there can be content now */
    return !looking.damaged && walk.ignored_files == 0 && looking.same == walk.index->len;
}

/* ---- making it */

static int fill(struct pdk_vault *vault, const struct pdk_repo *repo,
        const struct pdk_template *t, const char *temp, struct pdk_err *err)
{
    PDK_AUTO_FREE char *root = pdk_path_join(temp, "tree");
    PDK_AUTO_FREE char *index = pdk_path_join(temp, "index");
    struct pdk_checkout_spec spec = {
        .repo = repo, .tree = t->tree, .dir = root, .index = index
    };

    if (!root || !index)
        return pdk_fail_nomem(err);
    if (mkdir(root, 0755) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", root);
    return pdk_checkout(vault, &spec, err);
}

/* Who stands on it goes on standing on it, under another name: a sweep removes it when nobody does. */
static int put_aside(const struct pdk_template *t, struct pdk_err *err)
{
    PDK_AUTO_FREE char *aside = pdk_strf("%s.old-XXXXXX", t->path);

    if (!aside)
        return pdk_fail_nomem(err);
    if (!pdk_fs_exists(t->path))
        return 0;
    if (!pdk_fs_is_dir(t->path))
        return pdk_fs_remove_tree(t->path, err);
    if (!mkdtemp(aside))
        return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", aside);
    if (rename(t->path, aside) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot rename '%s'", t->path);
    return 0;
}

static int make(struct pdk_vault *vault, const struct pdk_repo *repo,
        const struct pdk_template *t, struct pdk_err *err)
{
    PDK_AUTO_FREE char *temp = pdk_strf("%s.tmp-XXXXXX", t->path);
    struct pdk_err ignored = PDK_ERR_INIT;
    int rc;

    if (!temp)
        return pdk_fail_nomem(err);
    if (put_aside(t, err) < 0)
        return err->code;
    if (!mkdtemp(temp))
        return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", temp);
    rc = fill(vault, repo, t, temp, err);
    if (rc == 0 && rename(temp, t->path) < 0)
        rc = pdk_fail(err, PDK_EIO, errno, "cannot publish '%s'", t->path);
    if (rc < 0)
        (void)pdk_fs_remove_tree(
                temp, &ignored); /* the first error matters; a sweep finds it */
    return rc;
}

/* One maker at a time, whoever else has it open; looks again, since another one may have made it. */
static int make_alone(struct pdk_vault *vault, const struct pdk_repo *repo,
        const struct pdk_template *t, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = pdk_strf("%s.make", t->path);
    PDK_AUTO_FD int alone = -1;

    if (!path)
        return pdk_fail_nomem(err);
    if (pdk_fs_lock(path, true, &alone, err) < 0)
        return err->code;
    return is_sound(t, repo, vault) ? 0 : make(vault, repo, t, err);
}

bool pdk_template_lock_holds(const char *path, int fd)
{
    struct stat named, held;

    return fstat(fd, &held) == 0 && lstat(path, &named) == 0 &&
            held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* A sweep may take the file away between its opening and the lock: then it locks nothing. */
static int hold(struct pdk_template *t, struct pdk_err *err)
{
    for (;;) {
        if (pdk_fs_lock_shared(t->lock_path, true, &t->lock, err) < 0)
            return err->code;
        if (pdk_template_lock_holds(t->lock_path, t->lock))
            return 0;
        (void)close(t->lock);
        t->lock = -1;
    }
}

int pdk_template_open(struct pdk_vault *vault, const struct pdk_repo *repo,
        const char *dir, const struct pdk_oid *tree, unsigned int flags,
        struct pdk_template **out, struct pdk_err *err)
{
    PDK_AUTO_TEMPLATE struct pdk_template *t = new_template(dir, repo, tree);
    bool usable;

    if (!t)
        return pdk_fail_nomem(err);
    if (pdk_fs_mkdirs(dir, 0700, err) < 0 || hold(t, err) < 0)
        return err->code;
    usable = flags & PDK_TEMPLATE_TRUST ? pdk_fs_exists(t->index)
                                        : is_sound(t, repo, vault);
    if (!usable && make_alone(vault, repo, t, err) < 0)
        return pdk_wrap(err, "template of %s", tree->hex);
    (void)futimens(t->lock, NULL); /* when it was last used: for sweeps only */
    *out = pdk_take_ptr(&t);
    return 0;
}
