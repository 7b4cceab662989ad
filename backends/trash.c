/*
 * Removing thousands of files takes longer than anybody wants to wait for. A rename takes them out of
 * the way; whoever has the time removes them, and a kill leaves nothing that the next one cannot find.
 */
#include "backends/trash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/backend.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/path.h"

/* The name of a file or directory beside the lock; NULL when out of memory. */
static char *beside(const char *lock, const char *name)
{
    PDK_AUTO_FREE char *state = pdk_path_dirname(lock);

    return state ? pdk_path_join(state, name) : NULL;
}

/* Where dir goes: its name and something that nothing there has. NULL when out of memory. */
static char *place_for(const char *dir, const char *lock, struct pdk_err *err)
{
    PDK_AUTO_FREE char *trash = beside(lock, "trash");
    char tail[17];

    if (!trash || pdk_id_random(tail, 8, err) < 0)
        return NULL;
    /* A link there leads nowhere: rename() would follow it. */
    if (mkdir(trash, 0700) < 0 && (errno != EEXIST || !pdk_fs_is_dir(trash)))
        return NULL;
    return pdk_strf("%s/%s.%s", trash, pdk_path_basename(dir), tail);
}

int pdk_trash_put(const char *dir, const char *lock, struct pdk_err *err)
{
    struct pdk_err ignored = PDK_ERR_INIT;
    PDK_AUTO_FREE char *place =
            pdk_fs_is_dir(dir) ? place_for(dir, lock, &ignored) : NULL;

    if (place && rename(dir, place) == 0)
        return 0;
    return pdk_fs_remove_tree(dir, err);
}

/* ---- for good */

struct limit {
    int64_t until_ms; /* 0: none */
    const atomic_bool *stop;
};

static bool within(void *user)
{
    const struct limit *limit = user;

    if (limit->stop && atomic_load(limit->stop))
        return false;
    return limit->until_ms == 0 || pdk_clock_ms() < limit->until_ms;
}

/* What cannot be removed stays, for a person to look at: the others go all the same. */
static int empty(DIR *dir, const char *trash, struct limit *limit, int *removed,
        struct pdk_err *err)
{
    const struct dirent *entry;
    struct pdk_err failure = PDK_ERR_INIT, why = PDK_ERR_INIT;

    while ((entry = readdir(dir))) {
        int rc;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        rc = pdk_fs_remove_at_while(dirfd(dir), entry->d_name, within, limit, &why);
        *removed += rc == 0;
        if (rc == PDK_ECANCELED)
            return pdk_fail(err, rc, 0, "there is more to remove in '%s'", trash);
        if (rc < 0 && failure.code == 0)
            failure = why;
    }
    if (failure.code != 0 && err)
        *err = failure;
    return failure.code;
}

int pdk_sandbox_clean(const char *lock, int64_t within_ms, const atomic_bool *stop,
        int *removed, struct pdk_err *err)
{
    PDK_AUTO_FREE char *trash = beside(lock, "trash");
    PDK_AUTO_FREE char *own_lock = beside(lock, "trash.lock");
    struct limit limit = { within_ms > 0 ? pdk_clock_ms() + within_ms : 0, stop };
    bool wait = within_ms == 0 && !stop;
    PDK_AUTO_FD int held = -1;
    PDK_AUTO_FD int fd = -1;
    int count = 0;

    if (!trash || !own_lock)
        return pdk_fail_nomem(err);
    if (!pdk_fs_is_dir(trash))
        return 0;
    if (pdk_fs_lock(own_lock, wait, &held, err) < 0)
        return err->code;
    fd = open(trash, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    PDK_AUTO_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", trash);
    (void)pdk_take_fd(&fd); /* the stream's now */
    int rc = empty(dir, trash, &limit, &count, err);
    if (removed)
        *removed = count;
    return rc;
}
