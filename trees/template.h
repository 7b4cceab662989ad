/*
 * Templates: one checkout of a tree, made once, shared by many sandboxes and by runs. Content-addressed
 * by the tree's id (and the end-of-line settings that shaped its files), never written after it was
 * made, held by a shared kernel lock while anybody uses it.
 *
 *   <dir>/<key>/tree/   the files
 *   <dir>/<key>/index   what they are, with their stat data (trees/index.h)
 *   <dir>/<key>/git-<digest>/  .git with that index and files that its digest names: for overlays
 *   <dir>/<key>.use.ID  sandbox ID stands on it
 *   <dir>/<key>.lock    shared: in use; exclusive: being removed
 *   <dir>/<key>.make    exclusive: being made
 *   <dir>/<key>.old-x   was damaged, and somebody may still stand on it
 *
 * It is made under a temporary name and published by a rename, so a kill leaves no half one. Before it
 * is used it is compared with its index by stat data: one that was changed is made anew.
 */
#ifndef PDK_TREES_TEMPLATE_H
#define PDK_TREES_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "trees/oid.h"

struct pdk_err;
struct pdk_layer;
struct pdk_repo;
struct pdk_vault;
struct pdk_template; /* opaque, heap: an open one, and its lock */

enum pdk_template_flags {
    PDK_TEMPLATE_TRUST = 1U << 0 /* somebody in this process holds it open, checked */
};

/* Makes it when it is missing or damaged. Several may open one at once; one of them makes it. */
int pdk_template_open(struct pdk_vault *vault, const struct pdk_repo *repo,
        const char *dir, const struct pdk_oid *tree, unsigned int flags,
        struct pdk_template **out, struct pdk_err *err);
void pdk_template_close(struct pdk_template *t);
PDK_DEFINE_AUTO(struct pdk_template, pdk_template_close)
#define PDK_AUTO_TEMPLATE PDK_AUTO(pdk_template_close)

/*
 * A use that outlasts this process: a file beside the template, by which sweeps leave it alone. Releasing
 * one that is not there is fine.
 */
int pdk_template_use(const struct pdk_template *t, const char *user, struct pdk_err *err);
int pdk_template_release(const char *dir, const char *user, struct pdk_err *err);

/*
 * A directory to be laid over the template's files (overlay): .git with the index and the files of
 * layer, made once for each content. *out is owned by the caller. Never written after it was made.
 */
int pdk_template_layer(const struct pdk_template *t, const struct pdk_layer *layer,
        char **out, struct pdk_err *err);
const char *pdk_template_root(const struct pdk_template *t);  /* top of the files */
const char *pdk_template_index(const struct pdk_template *t); /* path of its index */

/*
 * Copies it into the directory to, which exists and is empty but for .git: reflinks where the file
 * system has them, else bytes, on as many threads as help. Writes the index (and a second copy for
 * git, unless NULL) with the copies' stat data. PDK_ECORRUPT when the template is not what its index
 * says.
 */
int pdk_template_copy(const struct pdk_template *t, const char *to, const char *index,
        const char *git_index, struct pdk_err *err);

/*
 * Removes templates that nobody uses: those last used over max_age_ms ago, then the oldest until at
 * most max_bytes are left, and what killed makers left. dry_run only counts.
 */
struct pdk_template_sweep {
    int64_t max_age_ms, max_bytes;
    bool dry_run;
    int removed, kept;   /* filled */
    int64_t freed, left; /* filled: bytes */
};

int pdk_template_sweep(
        const char *dir, struct pdk_template_sweep *sweep, struct pdk_err *err);

#endif
