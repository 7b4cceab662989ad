/*
 * Entries of the user's repository for linked worktrees: <common>/worktrees/<name>. Callers hold the
 * registry lock. Entries of others are never touched, and nothing is ever pruned.
 */
#ifndef PDK_BACKENDS_WORKTREE_REGISTRY_H
#define PDK_BACKENDS_WORKTREE_REGISTRY_H

struct pdk_err;
struct pdk_repo;

/*
 * Adds an entry for the working copy at root, an empty directory, named after id, with head as its HEAD;
 * writes root/.git, which points back. *out_entry is its path, owned by the caller.
 */
int pdk_registry_add(const struct pdk_repo *repo, const char *id, const char *root,
        const char *head, char **out_entry, struct pdk_err *err);

/* The entry that points at root, owned by the caller; NULL where there is none. */
int pdk_registry_find(const struct pdk_repo *repo, const char *id, const char *root,
        char **out_entry, struct pdk_err *err);
/* Removes it, what a kill left half made, and worktrees/ when empty. Absent is fine. */
int pdk_registry_remove(const struct pdk_repo *repo, const char *id, const char *root,
        struct pdk_err *err);

#endif
