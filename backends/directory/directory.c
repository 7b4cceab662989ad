/*
 * The directory backend: a working copy with a git directory of its own, objects by an alternate that
 * leads to the user's. It holds the start and nothing else: no other refs, no remotes, no stash. What is
 * committed in it lies in it, and goes with it.
 */
#include <errno.h>
#include <sys/stat.h>

#include "backends/fill.h"
#include "backends/gitdir.h"
#include "base/error.h"

static int directory_materialize(struct pdk_sandbox *sb,
        const struct pdk_sandbox_spec *spec, struct pdk_strv *warnings,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *gitdir = pdk_strf("%s/.git", sb->root);
    PDK_AUTO_FREE char *objects = pdk_strf("%s/.git/objects", sb->root);
    PDK_AUTO_FREE char *index = pdk_strf("%s/.git/index", sb->root);

    (void)warnings; /* it has none of its own */
    if (!gitdir || !objects || !index)
        return pdk_fail_nomem(err);
    if (mkdir(sb->root, 0755) < 0)
        return pdk_fail(
                err, pdk_code_of_errno(errno), errno, "cannot make '%s'", sb->root);
    int rc = pdk_gitdir_make(gitdir, spec->repo, err);
    if (rc == 0)
        rc = pdk_sandbox_start_commit(spec, objects, &sb->record.start, err);
    if (rc == 0)
        rc = pdk_sandbox_fill(sb, spec, index, err);
    if (rc == 0)
        rc = pdk_gitdir_start(gitdir, sb->record.start.hex, spec->branch, err);
    return rc;
}

/* Everything of it lies in its directory, which the dispatcher removes. */
static int directory_teardown(const struct pdk_sandbox_record *record,
        const struct pdk_repo *repo, const char *lock, unsigned int flags,
        struct pdk_err *err)
{
    (void)record;
    (void)repo;
    (void)lock;
    (void)flags;
    (void)err;
    return 0;
}

const struct pdk_backend pdk_directory_backend = {
    .name = "directory",
    .claim = "self-contained copy",
    .materialize = directory_materialize,
    .teardown = directory_teardown,
    .count_commits = pdk_gitdir_count_commits,
    .find_head = pdk_gitdir_find_head,
};
