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
    /*
     * A file in the state directory that tells of a landing under way; NULL: none. With one, a landing
     * that was killed anywhere is finished or taken back by pdk_land_recover(), and the vault keeps both
     * sides of each path as promotions/<id>.
     */
    const char *journal;
    const char *id; /* of the promotion: only with a journal, and needed then */
    /*
     * Called once everything is in place and durable; where it fails all is taken back. NULL: none.
     * Called again by a recovery, for the same id, where the first call may not have come to an end.
     */
    int (*commit)(const char *id, void *user, struct pdk_err *err);
    void *user;
    bool strict;  /* merge nothing: each path must be as in from */
    bool dry_run; /* look, write nothing */
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
/* Adds to the result's conflicts, also for who refuses before landing. 0 or PDK_ENOMEM. */
int pdk_land_add_conflict(struct pdk_land_result *out, const char *path, const char *why,
        struct pdk_err *err);
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

enum pdk_land_recovered {
    PDK_LAND_NOTHING,   /* there was nothing to recover, or its process lives */
    PDK_LAND_FINISHED,  /* all was in place: commit has been called */
    PDK_LAND_TAKEN_BACK /* the working tree is as before */
};

/*
 * Looks at the journal of a landing that was cut off, and finishes it or takes it back: afterwards the
 * tree is the new one or the old one. A file that somebody has edited since stays as it is; err's hint
 * then says where ours is, and the failure is PDK_ECONFLICT. Of spec it reads repo, vault, lock, journal,
 * commit and user. *id (33 bytes) is the promotion's. Safe to be killed in turn.
 */
int pdk_land_recover(const struct pdk_land_spec *spec, enum pdk_land_recovered *out,
        char id[33], struct pdk_err *err);

#endif
