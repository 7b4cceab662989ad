/*
 * Landing a change in the user's working tree: all of it or nothing. Index, HEAD, stash and every path
 * that the change does not name stay as they are, whatever the user has in progress there. Where the user
 * has changed a path as well, both are merged three ways, by content; no merge driver runs.
 *
 * A file that somebody saves while we land is not lost: each file is swapped in, and what came out is
 * compared with what was expected before it goes.
 */
#ifndef PDK_PROMOTE_LAND_H
#define PDK_PROMOTE_LAND_H

#include <stdbool.h>
#include <stddef.h>

#include "trees/oid.h"

struct pdk_err;
struct pdk_repo;
struct pdk_vault;

struct pdk_land_spec {
    const struct pdk_repo *repo;
    struct pdk_vault *vault;
    struct pdk_oid from; /* what the change started from */
    struct pdk_oid to;
    const char *lock; /* a lock file of ours, outside of the repository; NULL: none */
    bool strict;      /* merge nothing: each path must be as in from */
    bool dry_run;     /* look, write nothing */
};

struct pdk_land_path {
    char *path;
    char status; /* as in struct pdk_change: 'A', 'M', 'D', 'T' */
    bool merged; /* with what the user has changed there */
};

/* What a conflict comes from. */
#define PDK_LAND_CHANGED "your tree changed since"
#define PDK_LAND_OUTSIDE "the candidate wrote outside its sandbox"

struct pdk_land_conflict {
    char *path;
    const char *why; /* static: "changed meanwhile", … */
};

struct pdk_land_result {
    struct pdk_land_path *paths; /* written, or that would be; sorted by path bytes */
    size_t len;
    struct pdk_land_conflict
            *conflicts; /* only with PDK_ECONFLICT, which may have none */
    size_t n_conflicts;
};

void pdk_land_result_fini(struct pdk_land_result *result);
#define PDK_AUTO_LAND_RESULT __attribute__((cleanup(pdk_land_result_fini)))

/*
 * Brings what differs between from and to into the working tree, durably. A path that has the bytes, type
 * and executable bit that it has in from (end-of-line conversion taken into account) gets what to has; one
 * that has them already is left alone; a file that was changed on both sides is merged.
 *
 * PDK_ECONFLICT: some cannot be (out->conflicts has all of them, err names a few), git is in the middle of
 * a merge or the like, or somebody else holds the lock. PDK_EUNSUPPORTED names a changed submodule.
 * PDK_EINVAL names a path that no tree may have. On any failure the working tree is as before; should
 * somebody write to it while it is being put back, err's hint says where our copy of a file is.
 *
 * out is overwritten, and the caller's to free whatever is returned. Blocks; any thread, but the vault
 * is one thread's.
 */
int pdk_land_worktree(const struct pdk_land_spec *spec, struct pdk_land_result *out,
        struct pdk_err *err);

#endif
