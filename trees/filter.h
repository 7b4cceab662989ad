/*
 * End-of-line and ident conversion, as git would do it with the user's core.autocrlf and core.eol and
 * a tree's .gitattributes. Only the two conversions that are built into the library: drivers that a
 * configuration defines never run. One per thread, like the vault that it uses.
 */
#ifndef PDK_TREES_FILTER_H
#define PDK_TREES_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/auto.h"
#include "trees/oid.h"

struct pdk_buf;
struct pdk_err;
struct pdk_repo;
struct pdk_vault;
struct pdk_filter; /* opaque, heap */

/* Is any conversion in effect? has_attributes: the tree holds a .gitattributes. */
bool pdk_filter_needed(const struct pdk_repo *repo, bool has_attributes);
/* tree: whose .gitattributes hold. */
int pdk_filter_open(struct pdk_vault *vault, const struct pdk_repo *repo,
        const struct pdk_oid *tree, struct pdk_filter **out, struct pdk_err *err);
void pdk_filter_free(struct pdk_filter *filter);
PDK_DEFINE_AUTO(struct pdk_filter, pdk_filter_free)
#define PDK_AUTO_FILTER PDK_AUTO(pdk_filter_free)

/* Do the attributes say filter=lfs for the path? */
int pdk_filter_is_lfs(
        struct pdk_filter *filter, const char *path, bool *out, struct pdk_err *err);

/* Appends the converted bytes of the blob, which data holds. */
int pdk_filter_to_worktree(struct pdk_filter *filter, const char *path,
        const struct pdk_oid *blob, const struct pdk_buf *data, struct pdk_buf *out,
        struct pdk_err *err);
/*
 * old: what the path is in the base, NULL where it is new. A text that git is left to recognize keeps its
 * carriage returns when the base's has some.
 */
int pdk_filter_to_object(struct pdk_filter *filter, const char *path,
        const struct pdk_oid *old, const struct pdk_buf *data, struct pdk_buf *out,
        struct pdk_err *err);

#endif
