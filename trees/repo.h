/*
 * The user's repository, asked through git's own plumbing in a controlled environment (no hooks,
 * no fsmonitor, no prompts, no optional locks, GIT_* scrubbed). A handful of calls a run.
 * Nothing here writes refs, index, config, stash or working tree of the user, but for the pin.
 *
 * Immutable once open: any thread may use it.
 */
#ifndef PDK_TREES_REPO_H
#define PDK_TREES_REPO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/str.h"
#include "trees/oid.h"

struct pdk_err;
struct pdk_json;
struct pdk_index_cache;
struct pdk_vault;

struct pdk_repo {
    char *root;                   /* absolute path of the working tree's top */
    char *prefix;                 /* where we were started below it: "" or "sub/dir" */
    char *git_dir;                /* absolute; of this worktree */
    char *common_dir;             /* absolute; shared by worktrees */
    char *objects;                /* absolute; the object directory */
    char *user_name, *user_email; /* NULL when not configured */
    char *excludes_file; /* core.excludesFile where the repository itself has it, absolute; NULL */
    char *autocrlf, *eol; /* core.autocrlf, core.eol as configured; NULL */
    bool file_mode;       /* core.fileMode */
    bool unborn;          /* HEAD names no commit yet */
    struct pdk_index_cache
            *indexes; /* of templates, for whoever looks at copies; NULL: none */
};

void pdk_repo_free(struct pdk_repo *repo);
PDK_DEFINE_AUTO(struct pdk_repo, pdk_repo_free)
#define PDK_AUTO_REPO PDK_AUTO(pdk_repo_free)

/*
 * Finds the repository of dir. PDK_ENOTFOUND where dir itself is missing; PDK_EUNAVAIL outside of a
 * repository, for a bare one, SHA-256, reftable, one that belongs to somebody else, each said by
 * name with the way out in the hint.
 */
int pdk_repo_open(const char *dir, struct pdk_repo **out, struct pdk_err *err);

struct pdk_base {
    struct pdk_oid commit; /* "" on an unborn HEAD */
    struct pdk_oid tree;   /* the empty tree there */
};

/* As records have it: {commit, tree}; owned by the caller, NULL when out of memory. */
struct pdk_json *pdk_base_json(const struct pdk_base *base);

/* Resolves a revision to a commit once and for all. PDK_ENOTFOUND names it. */
int pdk_repo_resolve(const struct pdk_repo *repo, const char *revision,
        struct pdk_base *out, struct pdk_err *err);

/*
 * The user's working tree as a tree: staged, unstaged, binary, mode, deleted, untracked and not
 * ignored, against base. Objects go into the vault; the user's index bytes, stash and refs stay
 * untouched. Equal to base's tree where nothing differs.
 */
int pdk_repo_snapshot(const struct pdk_repo *repo, struct pdk_vault *vault,
        const struct pdk_base *base, struct pdk_oid *out_tree, struct pdk_err *err);

/* How many paths differ from HEAD in the working tree, untracked ones counted. */
int pdk_repo_count_dirty(const struct pdk_repo *repo, int *out, struct pdk_err *err);

/* refs/paddock/<name> on commit, durable; and gone again. Unpinning twice is fine. */
int pdk_repo_pin(const struct pdk_repo *repo, const char *name,
        const struct pdk_oid *commit, struct pdk_err *err);
int pdk_repo_unpin(const struct pdk_repo *repo, const char *name, struct pdk_err *err);

/* A merge, rebase, cherry-pick or revert under way: its name (static), or NULL. A bisect is none. */
const char *pdk_repo_operation(const struct pdk_repo *repo);

/*
 * Runs `git ARGS…` on the repository in the controlled environment: for the few things that only
 * git knows. args is NULL-terminated; out may be NULL; env adds NAME=value entries (NULL: none).
 */
int pdk_repo_git(const struct pdk_repo *repo, const char *const *args,
        const char *const *env, struct pdk_buf *out, struct pdk_err *err);
/*
 * The same, for commands that turn files into blobs or back: line ends are converted, filters run where
 * the user's own or the system's configuration names them, never where only the repository's does.
 */
int pdk_repo_git_converting(const struct pdk_repo *repo, const char *const *args,
        const char *const *env, struct pdk_buf *out, struct pdk_err *err);

#endif
