/* Backends, as their implementers see them. One const table each, listed in backend.c. */
#ifndef PDK_BACKENDS_BACKEND_IMPL_H
#define PDK_BACKENDS_BACKEND_IMPL_H

#include "backends/backend.h"

struct pdk_sandbox {
    const struct pdk_backend *be;
    struct pdk_sandbox_record record;
    const struct pdk_repo *repo; /* borrowed */
    char *lock;
    char *root;     /* <dir>/tree */
    char *index;    /* <dir>/index: ours, as of the last capture */
    char *upper;    /* the directory that holds what changed; NULL: none (be->upper) */
    char *baseline; /* <dir>/baseline: ours, what dirt is measured against */
    int root_fd;    /* held from the start: a root swapped for a link is noticed */
    int mount_fd;  /* namespace in which root is mounted, which we are not in; -1: none */
    char *space;   /* path of that namespace; NULL: none */
    char *mounted; /* path by which we reach what is mounted there; NULL: root is */
    const char *way; /* how root is mounted, static; NULL: it is not */
};

struct pdk_backend {
    const char *name;    /* as in mission files */
    const char *claim;   /* what may be claimed, as in architecture.md section 3 */
    const char *upper;   /* name below <dir> of an overlay's upper layer; NULL: none */
    bool in_container;   /* commands run in one: backends/tier.h */
    bool needs_template; /* its copies stand on a template, for as long as they live */
    bool shares_refs; /* its branch is one of the user's repository, so that it can be kept */
    /* NULL: a directory will do. PDK_ENOTFOUND where what is at root is not the copy (any more). */
    int (*check_root)(const char *root, struct pdk_err *err);
    /*
     * NULL: always there. Tries it in a directory that is there, and leaves nothing in it. *way: how it
     * is mounted here (static).
     */
    int (*probe)(const char *dir, const char **way, struct pdk_err *err);
    /* NULL: nothing to do. Called before a sandbox that was made earlier is opened: mounts it again. */
    int (*attach)(struct pdk_sandbox *sb, struct pdk_err *err);
    /*
     * Required. Makes <dir>/tree with its git directory and our index (backends/fill.h). Called with
     * <dir> made and empty, its own to fill; the dispatcher removes it when this fails, and the
     * backend undoes what it made elsewhere. Sets record.start.
     */
    int (*materialize)(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
            struct pdk_strv *warnings, struct pdk_err *err);
    /* Required. Undoes the registry entry and branch; the directory is removed by the dispatcher. */
    int (*teardown)(const struct pdk_sandbox_record *record, const struct pdk_repo *repo,
            const char *lock, unsigned int flags, struct pdk_err *err);
    /* Required. Number of commits reachable from its refs and HEAD that would go with it. */
    int (*count_commits)(
            struct pdk_sandbox *sb, unsigned int flags, int *out, struct pdk_err *err);
    /*
     * The commit that HEAD names now, "" where that cannot be told; *objects (owned by the caller; NULL:
     * nowhere else) is the directory where its objects are beside the user's. NULL: HEAD never moves.
     */
    int (*find_head)(struct pdk_sandbox *sb, struct pdk_oid *out, char **objects,
            struct pdk_err *err);
    /* NULL: by a stat walk against our index (trees/capture.h). What changed since the baseline. */
    int (*collect_dirt)(struct pdk_sandbox *sb, struct pdk_vault *vault,
            struct pdk_dirt *out, struct pdk_err *err);
};

/* Each has one file that defines its table. */
extern const struct pdk_backend pdk_directory_backend;
extern const struct pdk_backend pdk_worktree_backend;
extern const struct pdk_backend pdk_overlay_backend;
extern const struct pdk_backend pdk_container_backend;

#endif
