/*
 * Where a repository's state lies, and the locks in it (architecture.md section 4). Every directory
 * that is made has mode 0700. Safe on every thread.
 */
#ifndef PDK_STORE_STATE_H
#define PDK_STORE_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct pdk_err;

/* Paths, absolute and free of links; owned. */
struct pdk_state {
    char *root;          /* the state root, of all repositories */
    char *dir;           /* "<root>/<name>-<12 hex digits>" of this one */
    char *store;         /* the database */
    char *vault;         /* vault.git */
    char *sandboxes;     /* one directory a sandbox */
    char *logs;          /* one directory an attempt */
    char *locks;         /* one file a run */
    char *registry_lock; /* creating and removing sandboxes */
};

void pdk_state_fini(struct pdk_state *state); /* may run more than once */
#define PDK_AUTO_STATE __attribute__((cleanup(pdk_state_fini)))

/*
 * The root as asked for: given (a flag; NULL: none), else $PADDOCK_STATE, else
 * $XDG_STATE_HOME/paddock, else ~/.local/state/paddock. Empty or, for XDG_STATE_HOME, relative
 * values count as unset. Not made. *out is owned by the caller. PDK_EINVAL when there is none.
 */
int pdk_state_root(const char *given, char **out, struct pdk_err *err);

/*
 * Fills a state of zeros and makes its directories. common_dir: the repository's common git
 * directory; worktree: top of the user's working tree (NULL: bare). A root inside the working tree
 * gets a .gitignore that hides it. Different paths to one repository lead to one state.
 */
int pdk_state_open(const char *root, const char *common_dir, const char *worktree,
        struct pdk_state *out, struct pdk_err *err);
/* The same without making anything: for commands that only read. */
int pdk_state_find(const char *root, const char *common_dir, struct pdk_state *out,
        struct pdk_err *err);

/*
 * Held by the process that drives the run, as long as it lives, by the descriptor. PDK_ECONFLICT
 * when another one does.
 */
int pdk_state_lock_run(
        const struct pdk_state *state, const char *run, int *out_fd, struct pdk_err *err);
/* Whether a process drives it now. */
int pdk_state_run_is_live(
        const struct pdk_state *state, const char *run, bool *out, struct pdk_err *err);
/*
 * The process pid, as a descriptor owned by the caller, if it is the one that drives the run: it
 * has the run's lock file open, and the lock is held. A number that somebody else's process has by
 * now is not taken for it. PDK_ENOTFOUND where it is not, or its files cannot be seen.
 */
int pdk_state_run_driver(const struct pdk_state *state, const char *run, int64_t pid,
        int *out_pidfd, struct pdk_err *err);

#endif
