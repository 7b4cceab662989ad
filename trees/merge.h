/* Three-way merges of contents, as `git merge-file` makes them. */
#ifndef PDK_TREES_MERGE_H
#define PDK_TREES_MERGE_H

#include <stdbool.h>

#include "trees/oid.h"

struct pdk_err;
struct pdk_vault;

/*
 * Merges two blobs that come from base and writes what becomes of them to the vault. *clean is false,
 * and out stays as it is, where both changed the same lines, or where one of the three is binary.
 * Works in the libgit2 of the vault; blocks.
 */
int pdk_merge_blobs(struct pdk_vault *vault, const struct pdk_oid *base,
        const struct pdk_oid *mine, const struct pdk_oid *theirs, struct pdk_oid *out,
        bool *clean, struct pdk_err *err);

#endif
