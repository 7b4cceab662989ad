/*
 * What a mission can reach of the user's repository beside its files: configuration, hooks, info/,
 * references and the stash. A linked worktree shares them; another sandbox finds them by their absolute
 * path. Two looks, compared, say what was changed between.
 *
 * References of ours (refs/paddock/, branches of named sandboxes) are left out.
 */
#ifndef PDK_TREES_SHARED_H
#define PDK_TREES_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdk_err;
struct pdk_repo;

enum pdk_shared_kind {
    PDK_SHARED_CONFIG,
    PDK_SHARED_HOOK,
    PDK_SHARED_INFO,
    PDK_SHARED_HEAD,
    PDK_SHARED_REF,
    PDK_SHARED_STASH /* its log: entries below the first one */
};

const char *pdk_shared_kind_name(enum pdk_shared_kind kind); /* "config", "hook", … */

struct pdk_shared_item {
    enum pdk_shared_kind kind;
    char *path; /* below the common directory; a reference by its whole name */
    char *value; /* an object id or "ref: …" of a reference and HEAD; else a digest with the mode */
    /* As it was when value was read, so that a later look need not read it again; 0: unknown. */
    uint64_t inode;
    int64_t size, changed_ns;
};

struct pdk_shared {
    struct pdk_shared_item *items; /* sorted by path bytes */
    size_t len;
    size_t logged;    /* bytes in HEAD's log */
    int64_t taken_ns; /* when the look began */
};

void pdk_shared_fini(struct pdk_shared *shared);
#define PDK_AUTO_SHARED __attribute__((cleanup(pdk_shared_fini)))

/*
 * wide: all of it, as for sandboxes that share the repository. Else only what nobody changes in passing
 * while they work there: no remote-tracking references and tags, no branch.* configuration.
 * before: an earlier look of the same kind, or NULL; files that were not touched since are not read again.
 * Blocks.
 */
int pdk_shared_look(const struct pdk_repo *repo, bool wide,
        const struct pdk_shared *before, struct pdk_shared *out, struct pdk_err *err);

struct pdk_shared_change {
    enum pdk_shared_kind kind;
    const char *path;           /* borrowed from the looks, as below */
    const char *before, *after; /* NULL: not there */
};

/*
 * What differs, sorted by path; *out is the caller's to free. Where not wide, a branch or HEAD that the
 * user moved by git's usual commands (HEAD's log says so since) is no change.
 */
int pdk_shared_compare(const struct pdk_repo *repo, bool wide,
        const struct pdk_shared *before, const struct pdk_shared *after,
        struct pdk_shared_change **out, size_t *out_len, struct pdk_err *err);

/*
 * The command that takes a moved reference back, and only if nobody has moved it since; NULL where
 * there is none, or memory is short. Owned by the caller.
 */
char *pdk_shared_restore(const struct pdk_shared_change *change);

#endif
