/*
 * A landing that was cut off. Where each path stands is read from the working tree and from what the
 * stage holds, not from notes: so a recovery that is cut off in turn is simply done again.
 *
 *   every path as it shall be -> finish: sync, commit, drop stage and journal
 *   else                      -> put back what was put in place, in reverse; drop stage and journal
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "promote/land.h"
#include "promote/land_internal.h"
#include "trees/repo.h"

struct recovery {
    struct pdk_landing l;
    struct pdk_land_journal journal;
    bool stranded; /* somebody has edited a path since: what we displaced stays in the stage */
};

/* ---- where a path stands */

static bool is_staged(const struct recovery *r, size_t i)
{
    struct pdk_land_name name = pdk_land_name(&r->l, &r->l.items[i]);
    struct stat st;

    return r->l.stage_fd >= 0 &&
            fstatat(r->l.stage_fd, name.text, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* No file or link is at the path: a directory may be, that another change needs. */
static bool is_absent(const struct recovery *r, const char *path)
{
    PDK_AUTO_FD int dir = pdk_land_open_parent(&r->l, path);
    struct stat st;

    return dir < 0 ||
            fstatat(dir, pdk_path_basename(path), &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            S_ISDIR(st.st_mode);
}

/* Has the path what the change has on its new side? */
static int is_new(const struct recovery *r, size_t i, bool *out, struct pdk_err *err)
{
    const struct pdk_change *c = &r->l.diff.changes[i];
    struct pdk_change turned = { .path = c->path,
        .old_mode = c->new_mode,
        .new_mode = c->new_mode,
        .old_oid = c->new_oid,
        .new_oid = c->new_oid };
    const char *why = NULL;
    mode_t bits = 0;
    int rc;

    if (c->new_mode == 0) {
        *out = is_absent(r, c->path);
        return 0;
    }
    rc = pdk_land_look(&r->l, &turned, &bits, &why, err);
    *out = rc == 0 && !why;
    return rc;
}

/* Does the stage hold what the change took out of the tree? */
static int holds_old(const struct recovery *r, size_t i, bool *out, struct pdk_err *err)
{
    struct pdk_land_name name = pdk_land_name(&r->l, &r->l.items[i]);
    PDK_AUTO_FREE char *shown = pdk_strf("%s/%s", r->l.stage_name, name.text);
    const char *why = NULL;
    int rc;

    *out = false;
    if (!shown)
        return pdk_fail_nomem(err);
    if (!is_staged(r, i))
        return 0;
    rc = pdk_land_compare(
            &r->l, &r->l.diff.changes[i], r->l.stage_fd, name.text, shown, &why, err);
    *out = rc == 0 && !why;
    return rc;
}

/* ---- putting back */

static int move_back(
        const struct recovery *r, size_t i, unsigned int how, struct pdk_err *err)
{
    const char *path = r->l.diff.changes[i].path;
    struct pdk_land_name name = pdk_land_name(&r->l, &r->l.items[i]);
    PDK_AUTO_FD int dir = pdk_land_open_parent(&r->l, path);

    if (dir < 0 ||
            renameat2(r->l.stage_fd, name.text, dir, pdk_path_basename(path), how) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot put '%s' back", path);
    return 0;
}

/* What we added leaves again, unless somebody has edited it: then it is theirs. */
static int take_out(const struct recovery *r, size_t i, struct pdk_err *err)
{
    const char *path = r->l.diff.changes[i].path;
    struct pdk_land_name name = pdk_land_name(&r->l, &r->l.items[i]);
    PDK_AUTO_FD int dir = pdk_land_open_parent(&r->l, path);

    if (dir < 0 ||
            renameat2(dir, pdk_path_basename(path), r->l.stage_fd, name.text,
                    RENAME_NOREPLACE) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot take '%s' out", path);
    return 0;
}

/* A path that had something before: additions and changes of ours leave, in reverse. */
static int unwrite(struct recovery *r, size_t i, struct pdk_err *err)
{
    const struct pdk_change *c = &r->l.diff.changes[i];
    bool now_new = false, old_staged = false;
    int rc = is_new(r, i, &now_new, err);

    if (rc < 0)
        return rc;
    if (c->old_mode == 0)
        return now_new && !is_staged(r, i) ? take_out(r, i, err) : 0;
    rc = holds_old(r, i, &old_staged, err);
    if (rc < 0 || !old_staged)
        return rc;
    if (now_new)
        return move_back(r, i, RENAME_EXCHANGE, err);
    r->stranded = true;
    return 0;
}

static int undelete(struct recovery *r, size_t i, struct pdk_err *err)
{
    PDK_AUTO_FD int dir = -1;
    struct stat st;

    if (!is_staged(r, i))
        return 0;
    dir = pdk_land_open_parent(&r->l, r->l.diff.changes[i].path);
    if (dir >= 0 &&
            fstatat(dir, pdk_path_basename(r->l.diff.changes[i].path), &st,
                    AT_SYMLINK_NOFOLLOW) == 0) {
        r->stranded = true;
        return 0;
    }
    return move_back(r, i, RENAME_NOREPLACE, err);
}

/* Those that were there come again, those that were not go where they are empty. */
static void restore_dirs(const struct recovery *r)
{
    for (size_t i = r->journal.n_dirs; i-- > 0;) {
        const struct pdk_land_dir *d = &r->journal.dirs[i];
        PDK_AUTO_FD int parent = pdk_land_open_parent(&r->l, d->path);

        if (d->mode == 0 && parent >= 0)
            (void)unlinkat(parent, pdk_path_basename(d->path), AT_REMOVEDIR);
    }
    for (size_t i = 0; i < r->journal.n_dirs; i++) {
        const struct pdk_land_dir *d = &r->journal.dirs[i];
        PDK_AUTO_FD int parent = pdk_land_open_parent(&r->l, d->path);

        if (d->mode != 0 && parent >= 0 &&
                mkdirat(parent, pdk_path_basename(d->path), 0700) == 0 &&
                fchmodat(parent, pdk_path_basename(d->path), d->mode, 0) < 0)
            pdk_log(PDK_LOG_WARN, "%s: put back without its mode", d->path);
    }
}

static int take_back(struct recovery *r, struct pdk_err *err)
{
    const struct pdk_diff *diff = &r->l.diff;
    int rc = 0;

    for (size_t i = diff->len; rc == 0 && r->l.stage_fd >= 0 && i-- > 0;)
        if (diff->changes[i].new_mode != 0)
            rc = unwrite(r, i, err);
    if (rc == 0)
        restore_dirs(r);
    for (size_t i = diff->len; rc == 0 && r->l.stage_fd >= 0 && i-- > 0;)
        if (diff->changes[i].new_mode == 0)
            rc = undelete(r, i, err);
    return rc < 0 ? rc : pdk_land_sync(&r->l, err);
}

/* ---- the whole */

static int open_all(
        struct recovery *r, const struct pdk_land_spec *spec, struct pdk_err *err)
{
    struct pdk_landing *l = &r->l;

    if (pdk_diff_trees(
                spec->vault, &r->journal.before, &r->journal.after, 0, &l->diff, err) < 0)
        return err->code;
    if (pdk_land_open(l, err) < 0)
        return err->code;
    (void)snprintf(l->stage_name, sizeof(l->stage_name), "%s", r->journal.stage);
    l->stage_fd = openat(
            l->root_fd, l->stage_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (l->stage_fd < 0 && errno != ENOENT)
        return pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", l->stage_name);
    return 0;
}

static int is_complete(const struct recovery *r, bool *out, struct pdk_err *err)
{
    int rc = 0;

    *out = true;
    for (size_t i = 0; rc == 0 && *out && i < r->l.diff.len; i++)
        rc = is_new(r, i, out, err);
    return rc;
}

static int drop_stage(const struct recovery *r, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = pdk_strf("%s/%s", r->l.spec->repo->root, r->l.stage_name);

    if (!path)
        return pdk_fail_nomem(err);
    return pdk_fs_remove_tree(path, err);
}

/* Whatever was edited since is somebody's work now, and what it replaced is kept for them. */
static int tell_stranded(const struct recovery *r, struct pdk_err *err)
{
    if (pdk_land_journal_drop(r->l.spec->journal, err) < 0)
        return err->code;
    (void)pdk_fail(err, PDK_ECONFLICT, 0,
            "a promotion was cut off, and files were edited before it could be taken back");
    return pdk_hint(err, "what they replaced is in '%.200s'", r->l.stage_name);
}

static int recover(struct recovery *r, enum pdk_land_recovered *out, struct pdk_err *err)
{
    const struct pdk_land_spec *spec = r->l.spec;
    bool complete = false;
    int rc = is_complete(r, &complete, err);

    if (rc < 0)
        return rc;
    if (complete) {
        rc = pdk_land_sync(&r->l, err);
        if (rc == 0 && spec->commit)
            rc = spec->commit(r->journal.id, spec->user, err);
    } else {
        rc = take_back(r, err);
    }
    if (rc < 0)
        return rc;
    if (r->stranded)
        return tell_stranded(r, err);
    if (drop_stage(r, err) < 0)
        return err->code;
    *out = complete ? PDK_LAND_FINISHED : PDK_LAND_TAKEN_BACK;
    return pdk_land_journal_drop(spec->journal, err);
}

int pdk_land_recover(const struct pdk_land_spec *spec, enum pdk_land_recovered *out,
        char id[33], struct pdk_err *err)
{
    struct recovery r = { .l = { .spec = spec, .root_fd = -1, .stage_fd = -1 } };
    PDK_AUTO_FD int lock = -1;
    int rc;

    *out = PDK_LAND_NOTHING;
    if (!pdk_fs_exists(spec->journal))
        return 0;
    rc = spec->lock ? pdk_fs_lock(spec->lock, false, &lock, err) : 0;
    if (rc == PDK_ECONFLICT)
        return 0;
    if (rc == 0)
        rc = pdk_land_journal_read(spec->journal, &r.journal, err);
    if (rc == PDK_ENOTFOUND)
        return 0; /* its process has just ended it */
    if (rc == 0)
        (void)snprintf(id, 33, "%s", r.journal.id);
    if (rc == 0)
        rc = open_all(&r, spec, err);
    if (rc == 0)
        rc = recover(&r, out, err);
    pdk_land_journal_fini(&r.journal);
    pdk_land_fini(&r.l);
    return rc < 0 ? pdk_wrap(err, "recovering '%s'", spec->journal) : 0;
}
