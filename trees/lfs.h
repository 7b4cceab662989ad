/*
 * Git LFS, by ourselves: a pointer in the tree stands for content in an object store (a directory with
 * SHA-256 names). Content is read from the user's store and from the vault's, where captures put what is
 * new; nothing is fetched, and no program runs.
 */
#ifndef PDK_TREES_LFS_H
#define PDK_TREES_LFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct pdk_err;
struct pdk_repo;
struct pdk_vault;

struct pdk_lfs_pointer {
    char sha256[65];
    int64_t size;
};

/* Is it a pointer, as Git LFS writes them (version 1, no extensions)? */
bool pdk_lfs_parse(const struct pdk_buf *blob, struct pdk_lfs_pointer *out);
/* The pointer of the content, which is not empty. */
int pdk_lfs_point(
        const struct pdk_buf *content, struct pdk_lfs_pointer *out, struct pdk_err *err);
void pdk_lfs_format(const struct pdk_lfs_pointer *pointer, struct pdk_buf *out);

/* Opens the content, of the pointer's size, wherever it is; -1: nowhere. The caller closes it. */
int pdk_lfs_open(const struct pdk_repo *repo, const struct pdk_vault *vault,
        const struct pdk_lfs_pointer *pointer);
/* Puts content into the vault's store, durably; what is in a store already is not written again. */
int pdk_lfs_store(const struct pdk_repo *repo, const struct pdk_vault *vault,
        const struct pdk_lfs_pointer *pointer, const struct pdk_buf *content,
        struct pdk_err *err);
/*
 * Before a tree is landed: gives the user's store what only the vault's has, where the blob is a pointer.
 * Other blobs are fine.
 */
int pdk_lfs_hand_over(const struct pdk_repo *repo, const struct pdk_vault *vault,
        const struct pdk_buf *blob, struct pdk_err *err);

/*
 * Beside an index, a list of files that stayed pointers because their content is nowhere:
 * "<sha256> <path>\0" for each. Without any, no file.
 */
int pdk_lfs_note_missing(
        const char *index, const struct pdk_buf *list, struct pdk_err *err);
/* The list of one index for another one, which is a copy. */
int pdk_lfs_share_missing(const char *from, const char *index, struct pdk_err *err);
/* Is any of that content there by now? */
bool pdk_lfs_has_come(
        const char *index, const struct pdk_repo *repo, const struct pdk_vault *vault);
/* Adds a line that says so, if there are any. */
int pdk_lfs_warn_missing(
        const char *index, struct pdk_strv *warnings, struct pdk_err *err);

#endif
