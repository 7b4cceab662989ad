#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"

enum { LINKS_MAX = 40 /* as the kernel's */ };

/*
 * Step by step: every directory on the way is opened by its name alone and never through a link, so
 * whoever swaps one for a link meanwhile makes a failure of it. A link is read, and its text put
 * before what is left; ".." walks again from the root, since a directory may have been moved out.
 */
struct walk {
    int root_fd;
    int at; /* the directory that was reached; root_fd or owned */
    bool follow;
    int links;
    struct pdk_strv passed; /* its name, from the root */
    char *rest;             /* owned: what is left of the path */
};

static void walk_fini(struct walk *w)
{
    int saved = errno;

    if (w->at != w->root_fd)
        (void)close(w->at);
    pdk_strv_fini(&w->passed);
    free(w->rest);
    errno = saved;
}

static void arrive(struct walk *w, int fd)
{
    if (w->at != w->root_fd)
        (void)close(w->at);
    w->at = fd;
}

static int fail_with(int error)
{
    errno = error;
    return -1;
}

/* Cuts the first name off what is left; owned by the caller, NULL when out of memory. */
static char *next_name(struct walk *w, bool *last, bool *slash)
{
    char *from = w->rest + strspn(w->rest, "/");
    size_t len = strcspn(from, "/");
    size_t gap = strspn(from + len, "/");
    char *name = strndup(from, len);

    *last = from[len + gap] == '\0';
    *slash = gap > 0;
    memmove(w->rest, from + len + gap, strlen(from + len + gap) + 1);
    return name;
}

/* The link is the path's next part. */
static int take_link(struct walk *w, const char *target, bool slash)
{
    char *rest;

    if (!w->follow || ++w->links > LINKS_MAX)
        return fail_with(ELOOP);
    if (target[0] == '/')
        return fail_with(EXDEV);
    rest = pdk_strf("%s%s%s", target, slash ? "/" : "", w->rest);
    if (!rest)
        return fail_with(ENOMEM);
    free(w->rest);
    w->rest = rest;
    return 0;
}

/* Reads the link of that name. 0: it is none. */
static int read_link(const struct walk *w, const char *name, char target[PATH_MAX])
{
    ssize_t n = readlinkat(w->at, name, target, PATH_MAX - 1);

    if (n < 0)
        return errno == EINVAL || errno == ENOENT ? 0 : -1;
    target[n] = '\0';
    return 1;
}

static int step_into(struct walk *w, const char *name)
{
    int fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -1;
    pdk_strv_add(&w->passed, name);
    arrive(w, fd);
    return w->passed.failed ? fail_with(ENOMEM) : 0;
}

static int step_up(struct walk *w)
{
    PDK_AUTO_STRV struct pdk_strv before = w->passed;

    w->passed = (struct pdk_strv)PDK_STRV_INIT;
    if (before.len == 0)
        return fail_with(EXDEV);
    arrive(w, w->root_fd);
    for (size_t i = 0; i + 1 < before.len; i++)
        if (step_into(w, before.items[i]) < 0)
            return -1;
    return 0;
}

/* One name that is not the last: a directory, or a link to one. */
static int step(struct walk *w, const char *name)
{
    char target[PATH_MAX];
    int is_link;

    if (strcmp(name, ".") == 0)
        return 0;
    if (strcmp(name, "..") == 0)
        return step_up(w);
    is_link = read_link(w, name, target);
    if (is_link != 0)
        return is_link < 0 ? -1 : take_link(w, target, true);
    return step_into(w, name);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The last name. 0 where it was a link, which is the path's next part now; *out: as openat(). */
static int step_last(struct walk *w, const char *name, int flags, mode_t mode, int *out)
{
    char target[PATH_MAX];
    bool exclusive = (flags & O_CREAT) && (flags & O_EXCL);
    int is_link = 0;

    if (!(flags & O_NOFOLLOW) && !exclusive)
        is_link = read_link(w, name, target);
    if (is_link != 0)
        return is_link < 0 ? -1 : take_link(w, target, false);
    *out = openat(w->at, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    return *out < 0 ? -1 : 1;
}

static int walk(struct walk *w, int flags, mode_t mode)
{
    int rc = 0, fd = -1;

    while (rc == 0) {
        bool last = false, slash = false;
        PDK_AUTO_FREE char *name = next_name(w, &last, &slash);

        if (!name)
            return fail_with(ENOMEM);
        if (last && slash && (flags & O_CREAT) && !is_dots(name))
            return fail_with(EISDIR);
        if (!last || slash || is_dots(name))
            rc = step(w, name);
        else
            rc = step_last(w, name, flags, mode, &fd);
        if (rc == 0 && !w->rest[0]) /* a directory it was */
            return openat(w->at, ".", flags | O_CLOEXEC, mode);
    }
    return rc < 0 ? -1 : fd;
}

int pdk_beneath_walk(int root_fd, const char *path, int flags, mode_t mode, bool follow)
{
    __attribute__((cleanup(walk_fini))) struct walk w = {
        .root_fd = root_fd,
        .at = root_fd,
        .follow = follow,
        .rest = strdup(path),
    };

    if (!w.rest)
        return fail_with(ENOMEM);
    if (!path[0])
        return fail_with(ENOENT);
    if (path[0] == '/')
        return fail_with(EXDEV);
    if (strlen(path) >= PATH_MAX)
        return fail_with(ENAMETOOLONG);
    return walk(&w, flags, flags & O_CREAT ? mode : 0);
}

static int beneath(int root_fd, const char *path, int flags, mode_t mode, bool follow)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
        .mode = flags & O_CREAT ? mode : 0,
        .resolve =
                RESOLVE_BENEATH | (follow ? RESOLVE_NO_MAGICLINKS : RESOLVE_NO_SYMLINKS),
    };
    long fd;

    do
        fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
    while (fd < 0 &&
            errno == EAGAIN); /* a rename in the way: the kernel asks to try again */
    if (fd < 0 && errno == ENOSYS)
        return pdk_beneath_walk(root_fd, path, flags, mode, follow);
    return (int)fd;
}

int pdk_beneath_open(int root_fd, const char *path, int flags, mode_t mode)
{
    return beneath(root_fd, path, flags, mode, false);
}

int pdk_beneath_follow(int root_fd, const char *path, int flags, mode_t mode)
{
    return beneath(root_fd, path, flags, mode, true);
}
