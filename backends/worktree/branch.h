/* The branch of a named sandbox, in the user's repository. Callers hold the registry lock. */
#ifndef PDK_BACKENDS_WORKTREE_BRANCH_H
#define PDK_BACKENDS_WORKTREE_BRANCH_H

#include "trees/oid.h"

struct pdk_err;
struct pdk_repo;
struct pdk_sandbox_record;

/* Makes record's branch at record's start. PDK_ECONFLICT where there is one of that name. */
int pdk_branch_add(const struct pdk_repo *repo, const struct pdk_sandbox_record *record,
        struct pdk_err *err);
/* Where it stands; "" where there is none. */
int pdk_branch_tip(const struct pdk_repo *repo, const char *branch, struct pdk_oid *out,
        struct pdk_err *err);
/*
 * Removes it, where it is still the one that was made: by its log, or because it holds the start.
 * Gone, or another one of that name: nothing to do. PDK_ECONFLICT where it is checked out.
 */
int pdk_branch_remove(const struct pdk_repo *repo,
        const struct pdk_sandbox_record *record, struct pdk_err *err);

#endif
