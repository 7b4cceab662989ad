/* Making, looking at and removing a sandbox, whatever its backend. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/contain.h"
#include "backends/dirt.h"
#include "backends/handle.h"
#include "backends/submodules.h"
#include "backends/tier.h"
#include "backends/trash.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/path.h"
#include "trees/checkout.h"
#include "trees/lfs.h"

/* ---- making one */

/* "sandbox/<name>", and a name that git takes as the last part of a reference. */
static bool branch_is_fine(const char *branch)
{
    static const char prefix[] = "sandbox/";
    const char *name = branch + sizeof(prefix) - 1;

    return pdk_starts_with(branch, prefix) && pdk_path_is_id(name) &&
            !strstr(name, "..") && !pdk_ends_with(name, ".lock") &&
            !pdk_ends_with(name, ".");
}

static int check_spec(const struct pdk_sandbox_spec *spec, struct pdk_err *err)
{
    if (!spec->id || !pdk_path_is_id(spec->id))
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' is no id", spec->id ? spec->id : "");
    if (!spec->dir || !spec->lock || !spec->repo || !spec->vault)
        return pdk_fail(err, PDK_EBUG, 0, "an incomplete specification");
    if (spec->branch && !branch_is_fine(spec->branch))
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' is no name for a sandbox's branch",
                spec->branch);
    return pdk_contain_check(spec->dir, spec->lock, err);
}

/* Its own directory, which nothing else has the name of. */
static int make_dir(const char *dir, struct pdk_err *err)
{
    PDK_AUTO_FREE char *parent = pdk_path_dirname(dir);
    int rc = parent ? pdk_fs_mkdirs(parent, 0700, err) : pdk_fail_nomem(err);

    if (rc < 0)
        return rc;
    if (mkdir(dir, 0700) == 0)
        return 0;
    if (errno == EEXIST)
        return pdk_fail(err, PDK_ECONFLICT, 0, "'%s' exists already", dir);
    return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make '%s'", dir);
}

/* The index as it is becomes what dirt is measured against; captures replace it, never write in it. */
static int set_baseline(const struct pdk_sandbox *sb, struct pdk_err *err)
{
    PDK_AUTO_FREE char *temp = pdk_strf("%s.new", sb->baseline);

    if (!temp)
        return pdk_fail_nomem(err);
    if (link(sb->index, sb->baseline) == 0)
        return 0;
    if (errno != EEXIST)
        return pdk_fail(err, PDK_EIO, errno, "cannot keep '%s'", sb->baseline);
    (void)unlink(temp); /* left by a kill, if at all */
    if (link(sb->index, temp) < 0 || rename(temp, sb->baseline) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot keep '%s'", sb->baseline);
    (void)unlink(temp); /* rename() keeps it where both were one file already */
    return 0;
}

static int make_inside(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        struct pdk_strv *warnings, struct pdk_err *err)
{
    int rc = pdk_handle_hold_root(sb, err);

    if (rc == 0)
        rc = set_baseline(sb, err);
    if (rc == 0)
        rc = pdk_lfs_warn_missing(sb->index, warnings, err);
    if (rc == 0 && spec->submodules != PDK_SUBMODULES_NONE)
        rc = pdk_submodules_fill(sb, spec->vault,
                spec->submodules == PDK_SUBMODULES_RECURSIVE, warnings, err);
    if (rc == 0 && spec->include && spec->include->len > 0)
        rc = pdk_checkout_include(
                spec->repo, spec->include, pdk_handle_reach(sb), warnings, err);
    if (rc < 0) {
        struct pdk_err ignored = PDK_ERR_INIT;

        if (sb->be->teardown(&sb->record, sb->repo, sb->lock, 0, &ignored) < 0)
            pdk_log(PDK_LOG_WARN, "undo sandbox=%s error=\"%s\", ignoring", spec->id,
                    ignored.msg);
    }
    return rc;
}

static int make(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        struct pdk_strv *warnings, struct pdk_err *err)
{
    struct pdk_err ignored = PDK_ERR_INIT;
    int rc = make_dir(spec->dir, err);

    if (rc < 0)
        return rc;
    rc = sb->be->materialize(sb, spec, warnings, err);
    if (rc == 0)
        rc = make_inside(sb, spec, warnings, err);
    if (rc < 0 && pdk_fs_remove_tree(spec->dir, &ignored) < 0)
        pdk_log(PDK_LOG_WARN, "undo sandbox=%s error=\"%s\", ignoring", spec->id,
                ignored.msg);
    return rc;
}

static int describe(const struct pdk_backend *be, const struct pdk_sandbox_spec *spec,
        struct pdk_sandbox_record *out, struct pdk_err *err)
{
    const char *engine = pdk_tier_engine(spec->tier);

    out->id = strdup(spec->id);
    out->backend = strdup(be->name);
    out->dir = strdup(spec->dir);
    out->branch = spec->branch ? strdup(spec->branch) : NULL;
    out->engine = engine ? strdup(engine) : NULL;
    out->engine_deadline_ms = pdk_tier_delete_ms(spec->tier);
    out->base = spec->base;
    out->tree = spec->tree;
    if (!out->id || !out->backend || !out->dir || (spec->branch && !out->branch) ||
            (engine && !out->engine))
        return pdk_fail_nomem(err);
    return 0;
}

int pdk_sandbox_materialize(const struct pdk_backend *be,
        const struct pdk_sandbox_spec *spec, struct pdk_sandbox **out,
        struct pdk_strv *warnings, struct pdk_err *err)
{
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = NULL;
    PDK_AUTO_STRV struct pdk_strv unwanted = PDK_STRV_INIT;
    struct pdk_sandbox_record record = { 0 };
    int rc = check_spec(spec, err);

    if (rc == 0)
        rc = describe(be, spec, &record, err);
    if (rc == 0)
        rc = pdk_handle_new(be, &record, spec->repo, spec->lock, &sb, err);
    if (rc == 0)
        rc = make(sb, spec, warnings ? warnings : &unwanted, err);
    pdk_sandbox_record_fini(&record);
    if (rc < 0)
        return pdk_wrap(err, "sandbox '%s' (%s)", spec->id ? spec->id : "", be->name);
    *out = pdk_take_ptr(&sb);
    return 0;
}

/* ---- looking at it */

/* The name must still lead to the directory that is held: what was put in its place is not looked at. */
static int check_root(const struct pdk_sandbox *sb, struct pdk_err *err)
{
    struct stat held, named;

    if (fstat(sb->root_fd, &held) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot look at '%s'", sb->root);
    if (sb->mount_fd >= 0)
        return 0; /* no name of ours leads there */
    if (lstat(sb->root, &named) < 0)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "its directory '%s' has gone", sb->root);
    if (held.st_dev != named.st_dev || held.st_ino != named.st_ino)
        return pdk_fail(err, PDK_ECONFLICT, 0,
                "'%s' is no longer the directory that was made", sb->root);
    return 0;
}

static int dirt_since_baseline(struct pdk_sandbox *sb, struct pdk_vault *vault,
        struct pdk_dirt *out, struct pdk_err *err)
{
    struct pdk_capture_spec spec = { .repo = sb->repo,
        .root_fd = sb->root_fd,
        .upper = sb->upper,
        .index = sb->baseline };

    return sb->be->collect_dirt ? sb->be->collect_dirt(sb, vault, out, err)
                                : pdk_capture_dirt(vault, &spec, out, err);
}

static int collect_dirt(struct pdk_sandbox *sb, struct pdk_vault *vault,
        struct pdk_dirt *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *objects = NULL;
    PDK_AUTO_DIRT struct pdk_dirt dirt = { 0 };
    PDK_AUTO_CAPTURE struct pdk_capture capture = { 0 };
    struct pdk_oid head = { "" };
    int rc = dirt_since_baseline(sb, vault, &dirt, err);

    if (rc == 0 && sb->be->find_head)
        rc = sb->be->find_head(sb, &head, &objects, err);
    if (rc == 0 && *head.hex && !pdk_oid_equal(&head, &sb->record.start)) {
        rc = pdk_sandbox_capture(sb, vault, &capture, err);
        struct pdk_dirt_query query = {
            .repo = sb->repo,
            .vault = vault,
            .objects = objects,
            .start = sb->record.start,
            .head = head,
            .now = capture.tree,
        };
        if (rc == 0)
            rc = pdk_dirt_uncommitted(&query, &dirt, err);
    }
    if (rc < 0)
        return rc;
    *out = dirt;
    dirt = (struct pdk_dirt){ 0 };
    return 0;
}

int pdk_sandbox_collect_dirt(struct pdk_sandbox *sb, struct pdk_vault *vault,
        struct pdk_dirt *out, struct pdk_err *err)
{
    int rc = check_root(sb, err);

    if (rc == 0)
        rc = collect_dirt(sb, vault, out, err);
    if (rc == 0 && pdk_submodules_dirt(sb, out, err) < 0) {
        rc = err->code;
        pdk_dirt_fini(out);
    }
    return rc < 0 ? pdk_wrap(err, "sandbox '%s'", sb->record.id) : 0;
}

int pdk_sandbox_omitted(struct pdk_sandbox *sb, size_t max, struct pdk_strv *paths,
        size_t *count, struct pdk_err *err)
{
    int rc = check_root(sb, err);

    if (rc == 0)
        rc = pdk_checkout_omitted(sb->repo, sb->root_fd, max, paths, count, err);
    return rc < 0 ? pdk_wrap(err, "sandbox '%s'", sb->record.id) : 0;
}

int pdk_sandbox_capture(struct pdk_sandbox *sb, struct pdk_vault *vault,
        struct pdk_capture *out, struct pdk_err *err)
{
    struct pdk_capture_spec spec = {
        .repo = sb->repo, .root_fd = sb->root_fd, .upper = sb->upper, .index = sb->index
    };
    int rc = check_root(sb, err);

    if (rc == 0)
        rc = pdk_capture_tree(vault, &spec, out, err);
    if (rc == 0 && pdk_submodules_warn(sb, &out->warnings, err) < 0) {
        rc = err->code;
        pdk_capture_fini(out);
    }
    return rc < 0 ? pdk_wrap(err, "sandbox '%s'", sb->record.id) : 0;
}

int pdk_sandbox_rebase(struct pdk_sandbox *sb, struct pdk_vault *vault,
        struct pdk_capture *out, struct pdk_err *err)
{
    int rc = pdk_sandbox_capture(sb, vault, out, err);

    if (rc < 0)
        return rc;
    rc = set_baseline(sb, err);
    if (rc == 0)
        rc = pdk_submodules_rebase(sb, err);
    if (rc == 0)
        return 0;
    pdk_capture_fini(out);
    return pdk_wrap(err, "sandbox '%s'", sb->record.id);
}

int pdk_sandbox_count_commits(
        struct pdk_sandbox *sb, unsigned int flags, int *out, struct pdk_err *err)
{
    int rc = check_root(sb, err);

    if (rc == 0)
        rc = sb->be->count_commits(sb, flags, out, err);
    return rc < 0 ? pdk_wrap(err, "sandbox '%s'", sb->record.id) : 0;
}

/* ---- removing it */

int pdk_sandbox_teardown(const struct pdk_sandbox_record *record,
        const struct pdk_repo *repo, const char *lock, unsigned int flags,
        struct pdk_err *err)
{
    const struct pdk_backend *be = NULL;
    struct pdk_err second = PDK_ERR_INIT;
    int rc = pdk_contain_check(record->dir, lock, err);

    if (rc == 0)
        rc = pdk_backend_find(record->backend, &be, err);
    if (rc == 0 && (flags & PDK_TEARDOWN_KEEP_BRANCH) && record->branch &&
            !be->shares_refs)
        rc = pdk_fail(err, PDK_ECONFLICT, 0,
                "a '%s' sandbox holds its branch itself: it cannot be kept", be->name);
    if (rc != 0)
        return pdk_wrap(err, "sandbox '%s'", record->id);
    rc = be->teardown(record, repo, lock, flags, err);
    if (pdk_trash_put(record->dir, lock, rc < 0 ? &second : err) < 0)
        rc = rc < 0 ? rc : PDK_EIO;
    return rc < 0 ? pdk_wrap(err, "sandbox '%s' (%s)", record->id, be->name) : 0;
}
