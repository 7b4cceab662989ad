/* Writing a tree's files into an empty directory, with an index that knows them. */
#ifndef PDK_TREES_CHECKOUT_H
#define PDK_TREES_CHECKOUT_H

#include <stddef.h>

#include "base/str.h"
#include "trees/oid.h"

struct pdk_err;
struct pdk_vault;
struct pdk_repo;

struct pdk_checkout_spec {
    const struct pdk_repo *repo; /* whose end-of-line settings hold */
    struct pdk_oid tree;
    const char *dir;   /* exists and is empty but for .git; never left through a link */
    const char *index; /* where our own index goes */
    const char *git_index; /* where a copy for git goes, stat data in line; NULL: none */
    int threads;           /* 0: as many as help */
};

/*
 * Regular files 0644 or 0755 by umask 022, symbolic links, empty directories for submodules. Their
 * modification time is a second ago: so no entry is racy, for git or for us, and an edit in the same
 * second is seen.
 * Path rules of pdk_path_is_safe(). PDK_ENOTFOUND names an object that is missing.
 * On failure what was written stays for the caller to remove.
 */
int pdk_checkout(struct pdk_vault *vault, const struct pdk_checkout_spec *spec,
        struct pdk_err *err);

/*
 * Turns a working copy that holds just tree `from`, with our index of it at spec->index, into one of
 * spec->tree: what differs is removed and written, the rest is not touched. The indexes are replaced.
 * PDK_EUNSUPPORTED, with nothing done, where a .gitattributes differs: any file may look different then.
 */
int pdk_checkout_switch(struct pdk_vault *vault, const struct pdk_checkout_spec *spec,
        const struct pdk_oid *from, struct pdk_err *err);

/*
 * Copies ignored files of the user's tree that match the patterns (gitignore syntax) into dir,
 * never over what is there; a source that vanishes is skipped and counted; a link that leads out
 * of the tree is left out and reported in warnings.
 */
int pdk_checkout_include(const struct pdk_repo *repo, const struct pdk_strv *patterns,
        const char *dir, struct pdk_strv *warnings, struct pdk_err *err);

/*
 * Ignored paths of the user's tree that the copy at root_fd lacks, a directory with nothing else in it as
 * one that ends in a slash: at most max of them into paths, their whole number in *count.
 */
int pdk_checkout_omitted(const struct pdk_repo *repo, int root_fd, size_t max,
        struct pdk_strv *paths, size_t *count, struct pdk_err *err);

#endif
