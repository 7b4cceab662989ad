/*
 * Swapping the staged files in, one rename each, and back again in reverse when anything fails. Nothing
 * is overwritten unread: an addition never replaces, and a file that leaves is compared after it left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "promote/land.h"
#include "promote/land_internal.h"
#include "trees/repo.h"

/* ---- the log of what was done */

/* Makes room first, so that what is done can always be noted. */
static int reserve_step(struct pdk_landing *l, struct pdk_err *err)
{
    size_t cap = l->cap_steps ? 2 * l->cap_steps : 32;
    struct pdk_land_step *more;

    if (l->n_steps < l->cap_steps)
        return 0;
    more = reallocarray(l->steps, cap, sizeof(*more));
    if (!more)
        return pdk_fail_nomem(err);
    l->steps = more;
    l->cap_steps = cap;
    return 0;
}

/* Takes step.dir. */
static void note(struct pdk_landing *l, struct pdk_land_step step)
{
    l->steps[l->n_steps++] = step;
}

static int conflict(
        struct pdk_landing *l, const char *path, const char *why, struct pdk_err *err)
{
    int rc = pdk_land_add_conflict(l->out, path, why, err);

    return rc < 0 ? rc : pdk_land_refuse(l->out, err);
}

/* ---- directories */

static int make_dir(struct pdk_landing *l, const char *path, struct pdk_err *err)
{
    PDK_AUTO_FREE char *copy = strdup(path);
    PDK_AUTO_FD int parent = pdk_land_open_parent(l, path);

    if (!copy)
        return pdk_fail_nomem(err);
    if (reserve_step(l, err) < 0)
        return err->code;
    if (parent < 0 || mkdirat(parent, pdk_path_basename(path), 0777) < 0)
        return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make '%s'", path);
    note(l,
            (struct pdk_land_step){
                    .deed = PDK_LAND_MADE_DIR, .dir = pdk_take_ptr(&copy) });
    return 0;
}

/* The directory of path, made where missing. */
static int need_parent(
        struct pdk_landing *l, const char *path, int *out, struct pdk_err *err)
{
    char dir[4096] = "";
    int fd = pdk_land_open_parent(l, path);

    for (const char *at = strchr(path, '/'); fd < 0 && at; at = strchr(at + 1, '/')) {
        PDK_AUTO_FD int there = -1;

        memcpy(dir, path, (size_t)(at - path));
        dir[at - path] = '\0';
        there = pdk_land_open_dir(l, dir, O_PATH);
        if (there < 0 && errno == ENOENT && make_dir(l, dir, err) < 0)
            return err->code;
    }
    if (fd < 0)
        fd = pdk_land_open_parent(l, path);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return conflict(l, path, "below a file or a link", err);
    if (fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot open above '%s'", path);
    *out = fd;
    return 0;
}

/* Removes dir when it is empty and the change wants nothing there. 1: gone, so look above. */
static int drop_dir(struct pdk_landing *l, const char *dir, struct pdk_err *err)
{
    PDK_AUTO_FREE char *copy = strdup(dir);
    PDK_AUTO_FD int parent = pdk_land_open_parent(l, dir);
    struct stat st;

    if (!copy)
        return pdk_fail_nomem(err);
    if (reserve_step(l, err) < 0)
        return err->code;
    if (pdk_land_wants_dir(l, dir))
        return 0;
    if (parent < 0 ||
            fstatat(parent, pdk_path_basename(dir), &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT /* with a neighbour's directory, before */
                ? 0
                : pdk_fail(err, PDK_EIO, errno, "cannot see '%s'", dir);
    if (unlinkat(parent, pdk_path_basename(dir), AT_REMOVEDIR) < 0)
        return 0; /* the user has something there, or it is not ours to remove: git leaves it too */
    note(l,
            (struct pdk_land_step){ .deed = PDK_LAND_REMOVED_DIR,
                    .dir = pdk_take_ptr(&copy),
                    .mode = st.st_mode & 07777 });
    return 1;
}

/*
 * A directory without a file in it is nothing to git: one may be in the way of a file. Whatever else is
 * in there stays, and the file then meets it.
 */
static int clear_dir(struct pdk_landing *l, const char *path, struct pdk_err *err)
{
    int fd = pdk_land_open_dir(l, path, O_RDONLY);
    PDK_AUTO_DIR DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    int rc = 0;

    if (!dir) {
        pdk_cleanup_fd(&fd);
        return 0;
    }
    while (rc >= 0 && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        PDK_AUTO_FREE char *child = pdk_strf("%s/%s", path, entry->d_name);

        rc = child ? clear_dir(l, child, err) : pdk_fail_nomem(err);
    }
    return rc < 0 ? rc : drop_dir(l, path, err);
}

static int drop_parents(struct pdk_landing *l, const char *path, struct pdk_err *err)
{
    char dir[4096];
    int rc = 1;

    (void)snprintf(dir, sizeof(dir), "%s", path);
    for (char *slash = strrchr(dir, '/'); rc == 1 && slash; slash = strrchr(dir, '/')) {
        *slash = '\0';
        rc = drop_dir(l, dir, err);
    }
    return rc < 0 ? rc : 0;
}

/* ---- files */

/* What left the working tree is in the stage now: is it what was expected? */
static int check_displaced(
        struct pdk_landing *l, const struct pdk_land_item *item, struct pdk_err *err)
{
    struct pdk_land_name name = pdk_land_name(l, item);
    PDK_AUTO_FREE char *shown = pdk_strf("%s/%s", l->stage_name, name.text);
    const char *why = NULL;
    int rc;

    if (!shown)
        return pdk_fail_nomem(err);
    rc = pdk_land_compare(l, item->change, l->stage_fd, name.text, shown, &why, err);
    return rc == 0 && why ? conflict(l, item->change->path, why, err) : rc;
}

static int remove_file(
        struct pdk_landing *l, struct pdk_land_item *item, struct pdk_err *err)
{
    const char *path = item->change->path;
    struct pdk_land_name name = pdk_land_name(l, item);
    PDK_AUTO_FD int dir = pdk_land_open_parent(l, path);

    if (dir < 0)
        return conflict(l, path, "removed meanwhile", err);
    if (reserve_step(l, err) < 0)
        return err->code;
    if (renameat2(dir, pdk_path_basename(path), l->stage_fd, name.text,
                RENAME_NOREPLACE) < 0)
        return errno == ENOENT ? conflict(l, path, "removed meanwhile", err)
                               : pdk_fail(err, pdk_code_of_errno(errno), errno,
                                         "cannot remove '%s'", path);
    item->staged = true;
    note(l, (struct pdk_land_step){ .deed = PDK_LAND_TAKEN, .item = item });
    return check_displaced(l, item, err);
}

static int add_file(
        struct pdk_landing *l, struct pdk_land_item *item, struct pdk_err *err)
{
    const char *path = item->change->path;
    struct pdk_land_name name = pdk_land_name(l, item);
    PDK_AUTO_FD int dir = -1;
    int rc;

    if (need_parent(l, path, &dir, err) < 0 || reserve_step(l, err) < 0)
        return err->code;
    rc = renameat2(
            l->stage_fd, name.text, dir, pdk_path_basename(path), RENAME_NOREPLACE);
    if (rc < 0 && errno == EEXIST) {
        if (clear_dir(l, path, err) < 0 || reserve_step(l, err) < 0)
            return err->code;
        rc = renameat2(
                l->stage_fd, name.text, dir, pdk_path_basename(path), RENAME_NOREPLACE);
    }
    if (rc < 0)
        return errno == EEXIST ? conflict(l, path, "exists already", err)
                               : pdk_fail(err, pdk_code_of_errno(errno), errno,
                                         "cannot write '%s'", path);
    item->staged = false;
    note(l, (struct pdk_land_step){ .deed = PDK_LAND_ADDED, .item = item });
    return 0;
}

static int swap_file(
        struct pdk_landing *l, struct pdk_land_item *item, struct pdk_err *err)
{
    const char *path = item->change->path;
    struct pdk_land_name name = pdk_land_name(l, item);
    PDK_AUTO_FD int dir = pdk_land_open_parent(l, path);

    if (dir < 0)
        return conflict(l, path, "removed meanwhile", err);
    if (reserve_step(l, err) < 0)
        return err->code;
    if (renameat2(l->stage_fd, name.text, dir, pdk_path_basename(path), RENAME_EXCHANGE) <
            0)
        return errno == ENOENT ? conflict(l, path, "removed meanwhile", err)
                               : pdk_fail(err, pdk_code_of_errno(errno), errno,
                                         "cannot write '%s'", path);
    note(l, (struct pdk_land_step){ .deed = PDK_LAND_SWAPPED, .item = item });
    return check_displaced(l, item, err);
}

/* ---- the whole */

/* Deletions go first: a file may make room for a directory, and the reverse. */
static int remove_all(struct pdk_landing *l, struct pdk_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->diff.len; i++)
        if (l->diff.changes[i].new_mode == 0)
            rc = remove_file(l, &l->items[i], err);
    for (size_t i = l->diff.len; rc == 0 && i-- > 0;)
        if (l->diff.changes[i].new_mode == 0)
            rc = drop_parents(l, l->diff.changes[i].path, err);
    return rc;
}

static int write_all(struct pdk_landing *l, struct pdk_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->diff.len; i++) {
        const struct pdk_change *c = &l->diff.changes[i];

        if (c->new_mode != 0)
            rc = c->old_mode == 0 ? add_file(l, &l->items[i], err)
                                  : swap_file(l, &l->items[i], err);
    }
    return rc;
}

/* The directory that holds path's name now: its own, or the nearest one that is left. */
static int sync_above(const struct pdk_landing *l, const char *path, struct pdk_err *err)
{
    char dir[4096];
    char *slash;
    int there;

    (void)snprintf(dir, sizeof(dir), "%s", path);
    do {
        slash = strrchr(dir, '/');
        *(slash ? slash : dir) = '\0';
        there = pdk_land_open_dir(l, dir, O_RDONLY);
    } while (there < 0 && dir[0] &&
            (errno == ENOENT || errno == ENOTDIR || errno == ELOOP));

    PDK_AUTO_FD int fd = there;

    if (fd < 0 || fsync(fd) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot sync '%s'", path);
    return 0;
}

/* Neighbours in the sorted list share their directory: one sync does. */
static bool same_dir(const char *a, const char *b)
{
    size_t len = (size_t)(pdk_path_basename(a) - a);

    return len == (size_t)(pdk_path_basename(b) - b) && memcmp(a, b, len) == 0;
}

int pdk_land_sync(const struct pdk_landing *l, struct pdk_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->diff.len; i++)
        if (i == 0 || !same_dir(l->diff.changes[i].path, l->diff.changes[i - 1].path))
            rc = sync_above(l, l->diff.changes[i].path, err);
    for (size_t i = 0; rc == 0 && i < l->n_steps; i++)
        if (l->steps[i].dir)
            rc = sync_above(l, l->steps[i].dir, err);
    return rc;
}

int pdk_land_place(struct pdk_landing *l, struct pdk_err *err)
{
    int rc = remove_all(l, err);

    if (rc == 0)
        rc = write_all(l, err);
    return rc < 0 ? rc : pdk_land_sync(l, err);
}

/* ---- and back */

/* What came out of the working tree should be what we put in; else it is somebody's work, and stays. */
static void check_ours(struct pdk_landing *l, const struct pdk_land_item *item)
{
    struct pdk_land_name name = pdk_land_name(l, item);
    struct stat st;

    if (fstatat(l->stage_fd, name.text, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            st.st_ino != item->made.st_ino || st.st_size != item->made.st_size ||
            st.st_mtim.tv_sec != item->made.st_mtim.tv_sec ||
            st.st_mtim.tv_nsec != item->made.st_mtim.tv_nsec)
        l->stranded = true;
}

static void undo_file(struct pdk_landing *l, const struct pdk_land_step *step)
{
    struct pdk_land_item *item = step->item;
    struct pdk_land_name name = pdk_land_name(l, item);
    const char *path = item->change->path, *leaf = pdk_path_basename(path);
    PDK_AUTO_FD int dir = pdk_land_open_parent(l, path);
    int rc;

    if (step->deed == PDK_LAND_TAKEN)
        rc = renameat2(l->stage_fd, name.text, dir, leaf, RENAME_NOREPLACE);
    else
        rc = renameat2(dir, leaf, l->stage_fd, name.text,
                step->deed == PDK_LAND_ADDED ? RENAME_NOREPLACE : RENAME_EXCHANGE);
    if (rc < 0 && step->deed == PDK_LAND_ADDED && errno == ENOENT)
        return; /* somebody removed what we had added: as it was */
    if (rc < 0) {
        l->stranded = true;
        return;
    }
    item->staged = step->deed != PDK_LAND_TAKEN;
    if (item->staged)
        check_ours(l, item);
}

static void undo_dir(struct pdk_landing *l, const struct pdk_land_step *step)
{
    PDK_AUTO_FD int parent = pdk_land_open_parent(l, step->dir);
    const char *leaf = pdk_path_basename(step->dir);

    if (step->deed == PDK_LAND_MADE_DIR)
        (void)unlinkat(parent, leaf,
                AT_REMOVEDIR); /* stays when the user has put something there */
    else if (mkdirat(parent, leaf, 0700) == 0 &&
            fchmodat(parent, leaf, step->mode, 0) < 0)
        pdk_log(PDK_LOG_WARN, "%s: put back without its mode", step->dir);
}

void pdk_land_undo(struct pdk_landing *l)
{
    while (l->n_steps > 0) {
        struct pdk_land_step *step = &l->steps[--l->n_steps];

        if (step->dir)
            undo_dir(l, step);
        else
            undo_file(l, step);
        free(step->dir);
    }
}
