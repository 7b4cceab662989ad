/* What every backend does to a sandbox that is being made: its files and the commit it starts from. */
#ifndef PDK_BACKENDS_FILL_H
#define PDK_BACKENDS_FILL_H

#include "backends/backend_impl.h"

/*
 * Writes spec's tree into sb->root, which exists and is empty but for .git, with our index, and one for
 * git at git_index (NULL: none): from the template where spec names one, and what differs from it, else
 * straight from objects.
 */
int pdk_sandbox_fill(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        const char *git_index, struct pdk_err *err);

/*
 * The commit that the sandbox starts from: the base, or where its tree is another one a seal of that
 * tree on the base, made in the object directory at objects. "" for an empty tree on an unborn HEAD.
 */
int pdk_sandbox_start_commit(const struct pdk_sandbox_spec *spec, const char *objects,
        struct pdk_oid *out, struct pdk_err *err);

/* Directory of the templates: beside the registry lock. Owned by the caller; NULL when out of memory. */
char *pdk_sandbox_templates(const char *lock);

#endif
