/*
 * The directory backend: a working copy with a git directory of its own, objects by an alternate that
 * leads to the user's. It holds the start and nothing else: no other refs, no remotes, no stash. What is
 * committed in it lies in it, and goes with it.
 */
#include "backends/backend_impl.h"
#include "backends/gitdir.h"

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
    .materialize = pdk_gitdir_materialize,
    .teardown = directory_teardown,
    .count_commits = pdk_gitdir_count_commits,
    .find_head = pdk_gitdir_find_head,
};
