/* From a template to a working copy: many small files, so what counts is system calls a file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/str.h"
#include "trees/lfs.h"
#include "trees/pool.h"
#include "trees/template_internal.h"

enum { CHUNK = 256 << 10, THREAD_SHARE = 256, GITLINK = 0160000 };

struct copying {
    struct pdk_index index;
    int from_fd, to_fd;
    atomic_bool no_reflink; /* the file system has none: not asked again */
};

/* One thread's buffer. */
struct local {
    char chunk[CHUNK];
};

static int make_parents(const struct copying *c, const char *before, const char *path,
        struct pdk_err *err)
{
    char dir[PATH_MAX];
    size_t at = pdk_path_shared(before, path);

    while (pdk_path_next_dir(path, &at, dir, sizeof(dir)))
        if (mkdirat(c->to_fd, dir, 0755) < 0)
            return pdk_fail(err, PDK_EIO, errno, "cannot make the directory '%s'", dir);
    return 0;
}

static int make_directories(const struct copying *c, struct pdk_err *err)
{
    const char *before = "";

    for (size_t i = 0; i < c->index.len; i++) {
        const struct pdk_index_entry *e = &c->index.entries[i];

        if (make_parents(c, before, e->path, err) < 0)
            return err->code;
        if (e->mode == GITLINK && mkdirat(c->to_fd, e->path, 0755) < 0)
            return pdk_fail(
                    err, PDK_EIO, errno, "cannot make the directory '%s'", e->path);
        before = e->path;
    }
    return 0;
}

static int damaged(const struct pdk_index_entry *e, struct pdk_err *err)
{
    return pdk_fail(err, PDK_ECORRUPT, 0, "the template's '%s' was changed", e->path);
}

static int copy_link(struct copying *c, struct pdk_index_entry *e, struct pdk_err *err)
{
    char target[PATH_MAX];
    struct stat st;
    ssize_t n;

    if (fstatat(c->from_fd, e->path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !pdk_index_is_clean(&c->index, e, &st))
        return damaged(e, err);
    n = readlinkat(c->from_fd, e->path, target, sizeof(target) - 1);
    if (n < 0)
        return damaged(e, err);
    target[n] = '\0';
    if (symlinkat(target, c->to_fd, e->path) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make the link '%s'", e->path);
    (void)utimensat(c->to_fd, e->path, (struct timespec[]){ st.st_atim, st.st_mtim },
            AT_SYMLINK_NOFOLLOW); /* a racy entry, at worst */
    if (fstatat(c->to_fd, e->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot look at '%s'", e->path);
    pdk_stat_data_of(&st, &e->stat);
    return 0;
}

static int copy_bytes(struct copying *c, struct local *l, int from, int to, int64_t size)
{
    if (size == 0)
        return 0;
    if (!atomic_load(&c->no_reflink)) {
        if (ioctl(to, FICLONE, from) == 0)
            return 0;
        atomic_store(&c->no_reflink, true);
    }
    while (size > 0) {
        ssize_t n = read(from, l->chunk, CHUNK);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || pdk_fs_write_fd(to, l->chunk, (size_t)n, NULL) < 0)
            return -1;
        size -= n;
    }
    return 0;
}

static int finish_file(
        int to, const struct pdk_index_entry *e, const struct stat *from, struct stat *st)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, from->st_mtim };
    mode_t mode = e->mode & 0100 ? 0755 : 0644;

    if (futimens(to, times) < 0 || fstat(to, st) < 0)
        return -1;
    if ((st->st_mode & 07777) == mode)
        return 0;
    /* The umask took bits away. */
    return fchmod(to, mode) < 0 || fstat(to, st) < 0 ? -1 : 0;
}

static int copy_file(struct copying *c, struct local *l, struct pdk_index_entry *e,
        struct pdk_err *err)
{
    PDK_AUTO_FD int from = openat(c->from_fd, e->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    PDK_AUTO_FD int to = -1;
    struct stat st;

    if (from < 0 || fstat(from, &st) < 0 || !pdk_index_is_clean(&c->index, e, &st))
        return damaged(e, err);
    to = openat(c->to_fd, e->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
            e->mode & 0100 ? 0755 : 0644);
    if (to < 0 || copy_bytes(c, l, from, to, st.st_size) < 0 ||
            finish_file(to, e, &st, &st) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot copy '%s'", e->path);
    pdk_stat_data_of(&st, &e->stat);
    return 0;
}

static int copy_open_worker(void *user, void **local, struct pdk_err *err)
{
    (void)user;
    *local = malloc(sizeof(struct local));
    return *local ? 0 : pdk_fail_nomem(err);
}

static int copy_run_item(void *user, void *local, size_t item, struct pdk_err *err)
{
    struct copying *c = user;
    struct pdk_index_entry *e = &c->index.entries[item];

    if (S_ISLNK(e->mode))
        return copy_link(c, e, err);
    return e->mode == GITLINK ? 0 : copy_file(c, local, e, err);
}

static void copy_close_worker(void *user, void *local)
{
    (void)user;
    free(local);
}

static int copy_all(struct copying *c, struct pdk_err *err)
{
    struct pdk_pool_spec pool = {
        .items = c->index.len,
        .share = THREAD_SHARE,
        .open = copy_open_worker,
        .run = copy_run_item,
        .close = copy_close_worker,
        .user = c,
    };

    if (make_directories(c, err) < 0)
        return err->code;
    return pdk_pool_run(&pool, err);
}

int pdk_template_copy(const struct pdk_template *t, const char *to, const char *index,
        const char *git_index, struct pdk_err *err)
{
    PDK_AUTO_FD int from_fd =
            open(t->root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    PDK_AUTO_FD int to_fd = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct copying c = { .from_fd = from_fd, .to_fd = to_fd };
    int rc;

    atomic_init(&c.no_reflink, false);
    if (from_fd < 0 || to_fd < 0)
        return pdk_fail(
                err, PDK_EIO, errno, "cannot open '%s'", from_fd < 0 ? t->root : to);
    rc = pdk_index_read(t->index, &c.index, err);
    if (rc == 0)
        rc = copy_all(&c, err);
    if (rc == 0)
        rc = pdk_lfs_share_missing(t->index, index, err);
    if (rc == 0)
        rc = pdk_index_write(index, &c.index, err);
    if (rc == 0 && git_index)
        rc = pdk_index_write_git(git_index, &c.index, err);
    pdk_index_fini(&c.index);
    return rc;
}
