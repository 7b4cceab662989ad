/*
 * A candidate's change as a patch file or as a branch: neither touches the user's working tree. And the
 * commit of one that has landed there.
 */
#ifndef PDK_PROMOTE_PATCH_H
#define PDK_PROMOTE_PATCH_H

#include "trees/oid.h"

struct pdk_err;
struct pdk_repo;
struct pdk_vault;

/*
 * Writes what turns from into to as a binary patch: to the file at path, whole or not at all, or to
 * standard output for "-".
 */
int pdk_promote_patch(struct pdk_vault *vault, const struct pdk_oid *from,
        const struct pdk_oid *to, const char *path, struct pdk_err *err);

struct pdk_branch_spec {
    const char *branch;  /* without refs/heads/ */
    const char *subject; /* goes behind "paddock: " */
    const char *run;     /* for the trailers Paddock-Run and Paddock-Candidate */
    int candidate;
    struct pdk_oid parent;    /* "" for none */
    struct pdk_oid base_tree; /* the parent's tree; the empty tree without one */
    struct pdk_oid tree;
};

/*
 * Makes a commit of tree by the user's identity (Paddock's where none is configured) and a new branch
 * on it; no hooks run. PDK_EINVAL for what git takes for no branch name; PDK_ECONFLICT where the branch
 * exists: it stays as it is. out may be NULL.
 */
int pdk_promote_branch(const struct pdk_repo *repo, struct pdk_vault *vault,
        const struct pdk_branch_spec *spec, struct pdk_oid *out, struct pdk_err *err);

/* PDK_ECONFLICT where tracked files or the index differ from HEAD, or somebody holds the index. */
int pdk_promote_check_clean(const struct pdk_repo *repo, struct pdk_err *err);

struct pdk_commit_spec {
    const char *subject, *run; /* as above */
    int candidate;
    const char *promotion;        /* id, for the trailer Paddock-Promotion */
    struct pdk_oid before, after; /* trees whose difference is in the working tree now */
};

/*
 * Commits that difference on HEAD, by the user's identity, and brings the index up to it; no hooks run. Of
 * a clean working tree. Does nothing where HEAD is that commit already, so it may be called again.
 */
int pdk_promote_commit(const struct pdk_repo *repo, struct pdk_vault *vault,
        const struct pdk_commit_spec *spec, struct pdk_err *err);

#endif
