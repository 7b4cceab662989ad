/*
 * What the files of trees/ share of libgit2: its start, its errors, its objects. Forward declarations
 * only, so that the library's header stays in .c files.
 */
#ifndef PDK_TREES_INTERNAL_H
#define PDK_TREES_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "trees/oid.h"

struct git_odb;
struct git_oid;
struct git_repository;
struct pdk_err;
struct pdk_vault;

/* Starts the library once for the process, with the settings that all of trees/ relies on. */
int pdk_git2_start(struct pdk_err *err);
/* The library's last error as ours: PDK_ENOTFOUND for a missing object, else PDK_EIO. */
__attribute__((format(printf, 3, 4))) int pdk_git2_fail(
        struct pdk_err *err, int rc, const char *fmt, ...);

void pdk_oid_of(const struct git_oid *from, struct pdk_oid *to);
int pdk_oid_to(const struct pdk_oid *from, struct git_oid *to, struct pdk_err *err);

/* Borrowed, for the thread that uses the vault. */
struct git_repository *pdk_vault_repository(const struct pdk_vault *vault);
struct git_odb *pdk_vault_odb(
        const struct pdk_vault *vault); /* our objects and the user's */

/* A change to a tree: mode 0 removes the path. */
struct pdk_tree_update {
    const char *path; /* borrowed */
    uint32_t mode;
    struct pdk_oid oid;
};

/*
 * The tree base with the updates made, which are sorted by path bytes. Directories that become empty
 * go; a file over a directory replaces it, and the reverse. Costs what changes.
 */
int pdk_tree_apply(struct pdk_vault *vault, const struct pdk_oid *base,
        const struct pdk_tree_update *updates, size_t n, struct pdk_oid *out,
        struct pdk_err *err);

/* A commit of the machinery's identity, at time 0, as raw bytes in odb. parent "" for none. */
int pdk_commit_write(struct pdk_vault *vault, struct git_odb *odb,
        const struct pdk_oid *parent, const struct pdk_oid *tree, const char *message,
        struct pdk_oid *out, struct pdk_err *err);

#endif
