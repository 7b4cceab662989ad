/*
 * The git-worktree backend: a linked worktree of the user's repository, which shares its objects, refs,
 * stash and configuration. The entry and the branch are made one sandbox at a time, under the registry
 * lock; files are written in parallel. git itself is asked only about branches: no checkout, no hooks.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "backends/commits.h"
#include "backends/fill.h"
#include "backends/gitfile.h"
#include "backends/worktree/branch.h"
#include "backends/worktree/registry.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/log.h"

/* The branch, if one is wanted, then the entry; neither is left behind by a failure. */
static int enroll(struct pdk_sandbox *sb, char **out_entry, struct pdk_err *err)
{
    const struct pdk_sandbox_record *record = &sb->record;
    PDK_AUTO_BUF struct pdk_buf head = PDK_BUF_INIT;
    PDK_AUTO_FD int lock = -1;
    struct pdk_err ignored = PDK_ERR_INIT;

    pdk_gitfile_head(&head, record->start.hex, record->branch);
    int rc = pdk_buf_ok(&head, err);
    if (rc == 0)
        rc = pdk_fs_lock(sb->lock, true, &lock, err);
    if (rc == 0 && record->branch)
        rc = pdk_branch_add(sb->repo, record, err);
    if (rc < 0)
        return rc;
    rc = pdk_registry_add(
            sb->repo, record->id, sb->root, pdk_buf_str(&head), out_entry, err);
    if (rc < 0 && record->branch && pdk_branch_remove(sb->repo, record, &ignored) < 0)
        pdk_log(PDK_LOG_WARN, "undo branch=%s error=\"%s\", ignoring", record->branch,
                ignored.msg);
    return rc;
}

static int fill(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        const char *entry, struct pdk_err *err)
{
    PDK_AUTO_FREE char *index = pdk_strf("%s/index", entry);

    return index ? pdk_sandbox_fill(sb, spec, index, err) : pdk_fail_nomem(err);
}

static int worktree_teardown(const struct pdk_sandbox_record *record,
        const struct pdk_repo *repo, const char *lock_path, unsigned int flags,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *root = pdk_strf("%s/tree", record->dir);
    PDK_AUTO_FD int lock = -1;
    struct pdk_err second = PDK_ERR_INIT;
    int rc = root ? pdk_fs_lock(lock_path, true, &lock, err) : pdk_fail_nomem(err);

    if (rc < 0)
        return rc;
    rc = pdk_registry_remove(repo, record->id, root, err);
    if (!record->branch || (flags & PDK_TEARDOWN_KEEP_BRANCH))
        return rc;
    int branch_rc = pdk_branch_remove(repo, record, rc < 0 ? &second : err);
    return rc < 0 ? rc : branch_rc;
}

static int worktree_materialize(struct pdk_sandbox *sb,
        const struct pdk_sandbox_spec *spec, struct pdk_strv *warnings,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *entry = NULL;
    struct pdk_err ignored = PDK_ERR_INIT;

    (void)warnings; /* it has none of its own */
    if (!*spec->base.commit.hex) {
        (void)pdk_fail(err, PDK_EUNAVAIL, 0,
                "the repository has no commit yet, and a worktree needs one");
        return err ? pdk_hint(err, "use --backend directory, or commit first")
                   : PDK_EUNAVAIL;
    }
    int rc = pdk_sandbox_start_commit(spec, spec->repo->objects, &sb->record.start, err);
    if (rc == 0 && mkdir(sb->root, 0755) < 0)
        rc = pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make '%s'", sb->root);
    if (rc == 0)
        rc = enroll(sb, &entry, err);
    if (rc < 0)
        return rc;
    rc = fill(sb, spec, entry, err);
    if (rc < 0 && worktree_teardown(&sb->record, sb->repo, sb->lock, 0, &ignored) < 0)
        pdk_log(PDK_LOG_WARN, "undo sandbox=%s error=\"%s\", ignoring", spec->id,
                ignored.msg);
    return rc;
}

/* What its entry names, and where its branch stands. */
static int collect_tips(
        const struct pdk_sandbox *sb, struct pdk_strv *tips, struct pdk_err *err)
{
    PDK_AUTO_FREE char *entry = NULL;
    PDK_AUTO_FD int fd = -1;
    struct pdk_oid tip = { "" };
    int rc = pdk_registry_find(sb->repo, sb->record.id, sb->root, &entry, err);

    if (rc == 0 && entry)
        fd = open(entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (rc == 0 && fd >= 0)
        rc = pdk_commits_tips(fd, tips, err);
    if (rc == 0 && sb->record.branch)
        rc = pdk_branch_tip(sb->repo, sb->record.branch, &tip, err);
    if (rc == 0 && *tip.hex)
        pdk_strv_add(tips, tip.hex);
    return rc < 0 ? rc : pdk_strv_ok(tips, err);
}

static int worktree_count_commits(
        struct pdk_sandbox *sb, unsigned int flags, int *out, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv tips = PDK_STRV_INIT;
    PDK_AUTO_FREE char *own = NULL;

    if (collect_tips(sb, &tips, err) < 0)
        return pdk_wrap(err, "cannot count its commits");
    if (sb->record.branch && !(flags & PDK_TEARDOWN_KEEP_BRANCH)) {
        own = pdk_strf("refs/heads/%s", sb->record.branch);
        if (!own)
            return pdk_fail_nomem(err);
    }
    struct pdk_commits_query query = {
        .repo = sb->repo,
        .tips = &tips,
        .start = sb->record.start,
        .exclude_ref = own,
    };
    return pdk_commits_count(&query, out, err);
}

static int worktree_find_head(
        struct pdk_sandbox *sb, struct pdk_oid *out, char **objects, struct pdk_err *err)
{
    static const char heads[] = "refs/heads/";
    PDK_AUTO_FREE char *entry = NULL;
    PDK_AUTO_FREE char *ref = NULL;
    PDK_AUTO_FD int fd = -1;
    int rc = pdk_registry_find(sb->repo, sb->record.id, sb->root, &entry, err);

    (void)objects; /* they are the user's */
    out->hex[0] = '\0';
    if (rc == 0 && entry)
        fd = open(entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (rc == 0 && fd >= 0)
        rc = pdk_commits_head(fd, out, &ref, err);
    if (rc == 0 && ref && pdk_starts_with(ref, heads))
        rc = pdk_branch_tip(sb->repo, ref + sizeof(heads) - 1, out, err);
    return rc;
}

const struct pdk_backend pdk_worktree_backend = {
    .name = "git-worktree",
    .claim = "shared object store, no isolation",
    .shares_refs = true,
    .materialize = worktree_materialize,
    .teardown = worktree_teardown,
    .count_commits = worktree_count_commits,
    .find_head = worktree_find_head,
};
