/*
 * The life of a landing: look at every path, stage the new files in a directory of our own at the top
 * of the working tree, swap them in one by one, and drop the stage, which by then holds the old files.
 */
#include "promote/land.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/str.h"
#include "promote/land_internal.h"
#include "trees/repo.h"

enum { MAX_NAMED = 4 };

void pdk_land_result_fini(struct pdk_land_result *result)
{
    for (size_t i = 0; i < result->len; i++)
        free(result->paths[i].path);
    for (size_t i = 0; i < result->n_conflicts; i++)
        free(result->conflicts[i].path);
    free(result->paths);
    free(result->conflicts);
    *result = (struct pdk_land_result){ 0 };
}

int pdk_land_add_conflict(struct pdk_land_result *out, const char *path, const char *why,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *copy = strdup(path);
    struct pdk_land_conflict *more =
            reallocarray(out->conflicts, out->n_conflicts + 1, sizeof(*more));

    if (more)
        out->conflicts = more;
    if (!more || !copy)
        return pdk_fail_nomem(err);
    more[out->n_conflicts++] = (struct pdk_land_conflict){ pdk_take_ptr(&copy), why };
    return 0;
}

int pdk_land_refuse(const struct pdk_land_result *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    for (size_t i = 0; i < out->n_conflicts && i < MAX_NAMED; i++)
        pdk_buf_addf(&text, "%s'%.80s' (%s)", i > 0 ? ", " : "", out->conflicts[i].path,
                out->conflicts[i].why);
    if (out->n_conflicts > MAX_NAMED)
        pdk_buf_addf(&text, " and %zu more", out->n_conflicts - MAX_NAMED);
    return pdk_fail(err, PDK_ECONFLICT, 0, "%zu path%s in the way, %s: %s",
            out->n_conflicts, out->n_conflicts == 1 ? " is" : "s are", PDK_LAND_CHANGED,
            pdk_buf_str(&text));
}

static int check_paths(const struct pdk_diff *diff, struct pdk_err *err)
{
    static const unsigned int gitlink = 0160000;

    for (size_t i = 0; i < diff->len; i++) {
        const struct pdk_change *c = &diff->changes[i];

        if (!pdk_path_is_safe(c->path, strlen(c->path)))
            return pdk_fail(err, PDK_EINVAL, 0, "the change has an unsafe path '%.200s'",
                    c->path);
        if (c->old_mode == gitlink || c->new_mode == gitlink)
            return pdk_fail(err, PDK_EUNSUPPORTED, 0,
                    "the change moves the submodule '%.200s', which cannot be landed",
                    c->path);
    }
    return 0;
}

/* What is done already leaves the list. */
static void drop_done(struct pdk_landing *l, struct pdk_change *resolved)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->diff.len; i++) {
        if (l->items[i].done) {
            free(resolved[i].path);
            continue;
        }
        l->diff.changes[kept] = resolved[i];
        l->items[kept] = l->items[i];
        l->items[kept].change = &l->diff.changes[kept];
        kept++;
    }
    l->diff.len = kept;
}

/* Each path is looked at in the light of the whole change; only then the list becomes what is to be done. */
static int look_all(struct pdk_landing *l, struct pdk_err *err)
{
    PDK_AUTO_FREE struct pdk_change *resolved = calloc(l->diff.len, sizeof(*resolved));

    if (!resolved)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < l->diff.len; i++) {
        const char *why = NULL;
        int rc;

        resolved[i] = l->diff.changes[i];
        rc = pdk_land_resolve(l, &l->items[i], &resolved[i], &why, err);
        l->items[i].merged =
                !pdk_oid_equal(&resolved[i].new_oid, &l->diff.changes[i].new_oid);
        if (rc == 0 && why)
            rc = pdk_land_add_conflict(l->out, l->diff.changes[i].path, why, err);
        if (rc < 0)
            return rc;
    }
    if (l->out->n_conflicts > 0)
        return pdk_land_refuse(l->out, err);
    drop_done(l, resolved);
    return 0;
}

static int list_paths(const struct pdk_landing *l, struct pdk_err *err)
{
    struct pdk_land_result *out = l->out;

    out->paths = calloc(l->diff.len + 1, sizeof(*out->paths));
    if (!out->paths)
        return pdk_fail_nomem(err);
    for (; out->len < l->diff.len; out->len++) {
        const struct pdk_change *c = &l->diff.changes[out->len];
        char *path = strdup(c->path);

        if (!path)
            return pdk_fail_nomem(err);
        out->paths[out->len] =
                (struct pdk_land_path){ path, c->status, l->items[out->len].merged };
    }
    return 0;
}

/* Only now is the working tree written to. */
static int write_all(struct pdk_landing *l, struct pdk_err *err)
{
    const struct pdk_land_spec *spec = l->spec;
    struct pdk_err later = PDK_ERR_INIT;
    int rc = pdk_land_name_stage(l, err);

    if (rc == 0 && spec->journal)
        rc = pdk_land_journal_write(l, err);
    if (rc < 0) {
        l->stage_name[0] = '\0';
        return rc;
    }
    rc = pdk_land_stage(l, err);
    if (rc == 0) {
        rc = pdk_land_place(l, err);
        if (rc == 0 && spec->commit)
            rc = spec->commit(spec->id, spec->user, err);
        if (rc < 0)
            pdk_land_undo(l);
    }
    pdk_land_unstage(l);
    if (spec->journal && pdk_land_journal_drop(spec->journal, rc < 0 ? &later : err) < 0)
        return err->code; /* the next one finds nothing left to do */
    if (l->stranded)
        (void)pdk_hint(
                err, "files that could not go back are in '%.200s'", l->stage_name);
    return rc;
}

/* The user has all of it already. */
static int finish_nothing(const struct pdk_land_spec *spec, struct pdk_err *err)
{
    return spec->commit && !spec->dry_run ? spec->commit(spec->id, spec->user, err) : 0;
}

int pdk_land_open(struct pdk_landing *l, struct pdk_err *err)
{
    const struct pdk_repo *repo = l->spec->repo;

    l->items = calloc(l->diff.len + 1, sizeof(*l->items));
    if (!l->items)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < l->diff.len; i++)
        l->items[i].change = &l->diff.changes[i];
    l->root_fd = open(repo->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (l->root_fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", repo->root);
    l->converts_all = pdk_land_converts_all(repo);
    return 0;
}

static int land(struct pdk_landing *l, struct pdk_err *err)
{
    const struct pdk_land_spec *spec = l->spec;
    int rc = pdk_diff_trees(spec->vault, &spec->from, &spec->to, 0, &l->diff, err);

    if (rc == 0)
        rc = check_paths(&l->diff, err);
    if (rc < 0)
        return rc;
    if (l->diff.len == 0)
        return finish_nothing(spec, err);
    rc = pdk_land_open(l, err);
    if (rc == 0)
        rc = look_all(l, err);
    if (rc == 0)
        rc = list_paths(l, err);
    if (rc == 0 && l->diff.len == 0)
        return finish_nothing(spec, err);
    return rc < 0 || spec->dry_run ? rc : write_all(l, err);
}

void pdk_land_fini(struct pdk_landing *l)
{
    for (size_t i = 0; i < l->n_steps; i++)
        free(l->steps[i].dir);
    free(l->steps);
    free(l->items);
    pdk_diff_fini(&l->diff);
    pdk_cleanup_fd(&l->stage_fd);
    pdk_cleanup_fd(&l->root_fd);
}

static void drop_paths(struct pdk_land_result *out)
{
    for (size_t i = 0; i < out->len; i++)
        free(out->paths[i].path);
    free(out->paths);
    out->paths = NULL;
    out->len = 0;
}

int pdk_land_worktree(const struct pdk_land_spec *spec, struct pdk_land_result *out,
        struct pdk_err *err)
{
    struct pdk_landing l = { .spec = spec, .out = out, .root_fd = -1, .stage_fd = -1 };
    const char *operation = pdk_repo_operation(spec->repo);
    PDK_AUTO_FD int lock = -1;
    int rc;

    *out = (struct pdk_land_result){ 0 };
    if (operation)
        return pdk_fail(err, PDK_ECONFLICT, 0, "a %s is under way in '%s'", operation,
                spec->repo->root);
    if (spec->lock && !spec->dry_run && pdk_fs_lock(spec->lock, false, &lock, err) < 0)
        return pdk_wrap(err, "another promotion is under way");
    if (spec->journal && !spec->dry_run && pdk_fs_exists(spec->journal))
        return pdk_fail(
                err, PDK_ECONFLICT, 0, "a promotion was cut off: '%s'", spec->journal);
    rc = land(&l, err);
    if (rc < 0)
        drop_paths(out);
    pdk_land_fini(&l);
    return rc;
}
