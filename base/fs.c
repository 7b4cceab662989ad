#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/path.h"
#include "base/str.h"

int pdk_fs_read_fd(int fd, size_t max, struct pdk_buf *out, struct pdk_err *err)
{
    size_t total = 0;

    for (;;) {
        char *to = pdk_buf_room(out, 65536);
        ssize_t n = to ? read(fd, to, 65536) : -1;

        if (!to)
            return pdk_fail_nomem(err);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return pdk_fail(err, PDK_EIO, errno, "cannot read");
        if (n == 0)
            break;
        out->len += (size_t)n;
        out->data[out->len] = '\0';
        total += (size_t)n;
        if (total > max)
            return pdk_fail(err, PDK_EINVAL, 0, "more than %zu bytes", max);
    }
    return 0;
}

int pdk_fs_read(const char *path, size_t max, struct pdk_buf *out, struct pdk_err *err)
{
    PDK_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot open '%s'", path);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' is no regular file", path);
    if (pdk_fs_read_fd(fd, max, out, err) < 0)
        return pdk_wrap(err, "'%s'", path);
    return 0;
}

int pdk_fs_write_fd(int fd, const void *data, size_t len, struct pdk_err *err)
{
    const char *at = data;

    while (len > 0) {
        ssize_t n = write(fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return pdk_fail(err, PDK_EIO, errno, "cannot write");
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static int sync_parent(const char *path, struct pdk_err *err)
{
    PDK_AUTO_FREE char *dir = pdk_path_dirname(path);
    PDK_AUTO_FD int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (!dir)
        return pdk_fail_nomem(err);
    if (fd < 0 || fsync(fd) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot sync '%s'", dir);
    return 0;
}

static int fill_temp(int fd, const void *data, size_t len, mode_t mode,
        unsigned int flags, struct pdk_err *err)
{
    int rc = pdk_fs_write_fd(fd, data, len, err);

    if (rc == 0 && fchmod(fd, mode) < 0)
        rc = pdk_fail(err, PDK_EIO, errno, "cannot set its mode");
    if (rc == 0 && (flags & PDK_FS_SYNC) && fsync(fd) < 0)
        rc = pdk_fail(err, PDK_EIO, errno, "cannot sync");
    return rc;
}

int pdk_fs_write(const char *path, const void *data, size_t len, mode_t mode,
        unsigned int flags, struct pdk_err *err)
{
    PDK_AUTO_FREE char *temp = pdk_strf("%s.XXXXXX", path);
    PDK_AUTO_FD int fd = temp ? mkostemp(temp, O_CLOEXEC) : -1;
    int rc;

    if (!temp)
        return pdk_fail_nomem(err);
    if (fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", temp);
    rc = fill_temp(fd, data, len, mode, flags, err);
    if (rc == 0 && rename(temp, path) < 0)
        rc = pdk_fail(err, PDK_EIO, errno, "cannot rename it");
    if (rc < 0) {
        (void)unlink(temp); /* best effort: the first error matters */
        return pdk_wrap(err, "writing '%s'", path);
    }
    return flags & PDK_FS_SYNC ? sync_parent(path, err) : 0;
}

static int make_parents(const char *path, mode_t mode, struct pdk_err *err)
{
    PDK_AUTO_FREE char *copy = strdup(path);

    if (!copy)
        return pdk_fail_nomem(err);
    for (char *at = copy + 1; *copy && *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(copy, mode) < 0 && errno != EEXIST)
            return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", copy);
        *at = '/';
    }
    return 0;
}

int pdk_fs_mkdirs(const char *path, mode_t mode, struct pdk_err *err)
{
    struct stat st;
    int rc = mkdir(path, mode);

    if (rc < 0 && errno == ENOENT) {
        rc = make_parents(path, mode, err);
        if (rc < 0)
            return rc;
        rc = mkdir(path, mode);
    }
    if (rc == 0)
        return 0;
    if (errno != EEXIST)
        return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", path);
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return pdk_fail(err, PDK_ECONFLICT, 0, "'%s' exists and is no directory", path);
    return 0;
}

/* One directory on the way down; kept in a list so that deep trees do not use up the C stack. */
struct level {
    struct level *up;
    DIR *dir;
    char name[NAME_MAX + 1]; /* its name in the directory above */
};

static bool same_device(int fd, dev_t dev)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == dev;
}

/* Opens a subdirectory for emptying it; a mode that forbids that is widened first. */
static int open_below(int at, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(at, name, flags);

    if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, 0) == 0)
        fd = openat(at, name, flags);
    return fd;
}

static int push_level(struct level **top, int at, const char *name)
{
    struct level *made = calloc(1, sizeof(*made));
    int fd = made ? open_below(at, name) : -1;

    if (fd >= 0)
        made->dir = fdopendir(fd);
    if (!made || fd < 0 || !made->dir) {
        int saved = errno;

        if (fd >= 0)
            (void)close(fd);
        free(made);
        errno = saved;
        return -1;
    }
    (void)snprintf(made->name, sizeof(made->name), "%s", name);
    made->up = *top;
    *top = made;
    return 0;
}

static void pop_level(struct level **top)
{
    struct level *gone = *top;

    *top = gone->up;
    (void)closedir(gone->dir);
    free(gone);
}

/* Unlinks name in the directory of top; a directory becomes the new top. 0, or -1 with errno. */
static int remove_entry(struct level **top, const char *name, dev_t dev)
{
    int at = dirfd((*top)->dir);
    int rc = unlinkat(at, name, 0);

    if (rc < 0 && errno == EACCES && fchmod(at, 0700) == 0)
        rc = unlinkat(at, name, 0);
    if (rc == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    if (unlinkat(at, name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
        return -1;
    if (push_level(top, at, name) < 0)
        return -1;
    if (same_device(dirfd((*top)->dir), dev))
        return 0;
    errno = EXDEV;
    return -1;
}

/* Whether to go on; NULL: always. */
struct asked {
    bool (*go_on)(void *user);
    void *user;
};

/* Empties the directory at the bottom of the stack, then everything above it is gone. */
static int empty_levels(struct level **top, dev_t dev, const struct asked *asked)
{
    while (*top) {
        const struct dirent *entry;

        if (asked->go_on && !asked->go_on(asked->user)) {
            errno = ECANCELED;
            return -1;
        }
        errno = 0;
        entry = readdir((*top)->dir);
        if (!entry && errno != 0)
            return -1;
        if (!entry && !(*top)->up)
            break;
        if (!entry) {
            char name[NAME_MAX + 1];

            (void)snprintf(name, sizeof(name), "%s", (*top)->name);
            pop_level(top);
            if (unlinkat(dirfd((*top)->dir), name, AT_REMOVEDIR) < 0 && errno != ENOENT)
                return -1;
            rewinddir((*top)->dir);
        } else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                remove_entry(top, entry->d_name, dev) < 0) {
            return -1;
        }
    }
    return 0;
}

int pdk_fs_remove_at(int dir_fd, const char *path, struct pdk_err *err)
{
    return pdk_fs_remove_at_while(dir_fd, path, NULL, NULL, err);
}

int pdk_fs_remove_at_while(int dir_fd, const char *path, bool (*go_on)(void *user),
        void *user, struct pdk_err *err)
{
    const struct asked asked = { go_on, user };
    struct level *top = NULL;
    struct stat st;
    int rc, saved;

    if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return 0;
        return pdk_fail(err, PDK_EIO, errno, "cannot look at '%s'", path);
    }
    if (!S_ISDIR(st.st_mode)) {
        if (unlinkat(dir_fd, path, 0) < 0 && errno != ENOENT)
            return pdk_fail(err, PDK_EIO, errno, "cannot remove '%s'", path);
        return 0;
    }
    rc = push_level(&top, dir_fd, path);
    if (rc == 0)
        rc = empty_levels(&top, st.st_dev, &asked);
    saved = errno;
    while (top)
        pop_level(&top);
    errno = saved;
    if (rc == 0 && unlinkat(dir_fd, path, AT_REMOVEDIR) < 0 && errno != ENOENT)
        rc = -1;
    if (rc < 0)
        return pdk_fail(err, errno == ECANCELED ? PDK_ECANCELED : PDK_EIO, errno,
                "cannot remove '%s'", path);
    return 0;
}

int pdk_fs_remove_tree(const char *path, struct pdk_err *err)
{
    return pdk_fs_remove_at(AT_FDCWD, path, err);
}

bool pdk_fs_exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

bool pdk_fs_is_dir(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int pdk_fs_realpath(const char *path, char **out, struct pdk_err *err)
{
    char *real = realpath(path, NULL);

    if (!real)
        return pdk_fail(
                err, pdk_code_of_errno(errno), errno, "cannot resolve '%s'", path);
    *out = real;
    return 0;
}

/* name: for messages. */
static int lock_fd(int fd, const char *name, short type, bool wait, struct pdk_err *err)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET };
    int rc;

    do
        rc = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
    while (rc < 0 && errno == EINTR);
    if (rc < 0 && (errno == EAGAIN || errno == EACCES))
        return pdk_fail(err, PDK_ECONFLICT, 0, "'%s' is locked by another process", name);
    return rc < 0 ? pdk_fail(err, PDK_EIO, errno, "cannot lock '%s'", name) : 0;
}

static int lock_file(
        const char *path, short type, bool wait, int *out_fd, struct pdk_err *err)
{
    PDK_AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc;

    if (fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot open the lock '%s'", path);
    rc = lock_fd(fd, path, type, wait, err);
    if (rc == 0)
        *out_fd = pdk_take_fd(&fd);
    return rc;
}

int pdk_fs_lock(const char *path, bool wait, int *out_fd, struct pdk_err *err)
{
    return lock_file(path, F_WRLCK, wait, out_fd, err);
}

int pdk_fs_lock_shared(const char *path, bool wait, int *out_fd, struct pdk_err *err)
{
    return lock_file(path, F_RDLCK, wait, out_fd, err);
}

void pdk_fs_unlock(int fd)
{
    struct flock lock = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

    (void)fcntl(fd, F_OFD_SETLK, &lock); /* fails for no descriptor only */
}

int pdk_fs_relock(int fd, bool wait, struct pdk_err *err)
{
    struct stat st;
    int rc = lock_fd(fd, "the lock file", F_WRLCK, wait, err);

    if (rc == 0 && (fstat(fd, &st) < 0 || st.st_nlink == 0)) {
        pdk_fs_unlock(fd);
        rc = pdk_fail(err, PDK_ENOTFOUND, 0, "the lock file is gone");
    }
    return rc;
}
