/*
 * Backends, as their users see them: where a sandbox's working copy lives and how its dirt is
 * found. Where commands run is the execution tier, recorded apart (sandbox/).
 *
 * Calls block (git plumbing, copying) and belong on worker threads; two threads may work on two
 * sandboxes at once. backends/backend.c is the only way in: it checks arguments, applies defaults
 * for what a backend does not offer and adds context to errors.
 */
#ifndef PDK_BACKENDS_BACKEND_H
#define PDK_BACKENDS_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/str.h"
#include "plan/plan.h"
#include "trees/capture.h"
#include "trees/oid.h"
#include "trees/repo.h"

struct pdk_err;
struct pdk_vault;
struct pdk_backend;
struct pdk_sandbox;
struct pdk_tier; /* tier.h */

/* By name; PDK_EINVAL lists those there are, PDK_EUNSUPPORTED for one of a later version. */
int pdk_backend_find(
        const char *name, const struct pdk_backend **out, struct pdk_err *err);
const char *pdk_backend_name(const struct pdk_backend *be);
const char *pdk_backend_claim(
        const struct pdk_backend *be); /* what may be said of its isolation */
/*
 * Tries it on this host, in a directory of the state (absolute, there): 0, or PDK_EUNAVAIL with the
 * reason and the way out. Cheap enough for the start of a run. *way (NULL allowed): how its copies are
 * mounted here, as pdk_sandbox_way() has it.
 */
int pdk_backend_probe(const struct pdk_backend *be, const char *dir, const char **way,
        struct pdk_err *err);
/* Its copies stand on a template (trees/template.h), which must be open while they live. */
bool pdk_backend_needs_template(const struct pdk_backend *be);
/* Its sandboxes share references, configuration and the like with the user's repository. */
bool pdk_backend_shares_refs(const struct pdk_backend *be);
/* Its commands run in a container, which a tier starts (tier.h). */
bool pdk_backend_in_container(const struct pdk_backend *be);
size_t pdk_backend_count(void);
const struct pdk_backend *pdk_backend_at(size_t index);

struct pdk_sandbox_spec {
    const char *id;  /* attempt or sandbox id; never used before */
    const char *dir; /* absolute, not there yet: everything of the sandbox goes below */
    /*
     * The registry lock of the repository: a file in the repository's state directory. Sandboxes live
     * below sandboxes/ beside it, and a dir anywhere else (or through a link) is refused by every call.
     */
    const char *lock;
    const struct pdk_repo *repo; /* outlives the sandbox */
    struct pdk_vault *vault;     /* of the calling thread */
    struct pdk_base base;        /* pinned base */
    struct pdk_oid
            tree; /* what the copy shall hold: base's tree, a seed or a candidate's */
    struct pdk_oid template; /* a tree that somebody holds open as a template; "": none */
    const struct pdk_tier *tier;    /* where its commands run; NULL: on this host */
    const char *branch;             /* "sandbox/<name>" for named ones; NULL: detached */
    const struct pdk_strv *include; /* NULL: none */
    enum pdk_submodules submodules; /* which ones are filled, from .git/modules alone */
};

/* Names what a sandbox is made of, so that it can be found again from its record alone. */
struct pdk_sandbox_record {
    char *id, *backend, *dir, *branch; /* branch NULL: detached */
    char *engine;                      /* of its container; NULL: none was started */
    int64_t engine_deadline_ms;        /* for removing the container; 0: the default */
    struct pdk_base base;
    struct pdk_oid tree; /* the tree that it started from */
    struct pdk_oid
            start; /* the commit that HEAD was given (base or a seal); "" when unborn */
};

void pdk_sandbox_record_fini(struct pdk_sandbox_record *record);

/*
 * Makes the working copy with its git directory and our index. All or nothing: on failure nothing
 * is left of it (directory, registry entry, branch). warnings (NULL allowed) get printable lines.
 */
int pdk_sandbox_materialize(const struct pdk_backend *be,
        const struct pdk_sandbox_spec *spec, struct pdk_sandbox **out,
        struct pdk_strv *warnings, struct pdk_err *err);
/* Opens one that is there, by its record. PDK_ENOTFOUND when its directory has gone. */
int pdk_sandbox_open(const struct pdk_sandbox_record *record, const struct pdk_repo *repo,
        const char *lock, struct pdk_sandbox **out, struct pdk_err *err);
void pdk_sandbox_close(struct pdk_sandbox *sb); /* the handle only; NULL is fine */
PDK_DEFINE_AUTO(struct pdk_sandbox, pdk_sandbox_close)
#define PDK_AUTO_SANDBOX PDK_AUTO(pdk_sandbox_close)

/*
 * Top of the working copy, as its commands see it. Where there is a namespace (the path of one, for the
 * agent to enter; good as long as the handle), only in that one. NULL: in ours.
 */
const char *pdk_sandbox_root(const struct pdk_sandbox *sb);
const char *pdk_sandbox_namespace(const struct pdk_sandbox *sb);
/* How it is mounted, static: "direct", "user-namespace"; NULL: it is a plain directory. */
const char *pdk_sandbox_way(const struct pdk_sandbox *sb);
const struct pdk_sandbox_record *pdk_sandbox_get_record(const struct pdk_sandbox *sb);

/*
 * Uncommitted changes: what `git status` would list, without what was there already when the baseline
 * was set (materialize, rebase). Where HEAD cannot be told any more: everything since then.
 */
int pdk_sandbox_collect_dirt(struct pdk_sandbox *sb, struct pdk_vault *vault,
        struct pdk_dirt *out, struct pdk_err *err);
/* Ignored paths of the user's tree that it lacks (trees/checkout.h: pdk_checkout_omitted()). */
int pdk_sandbox_omitted(struct pdk_sandbox *sb, size_t max, struct pdk_strv *paths,
        size_t *count, struct pdk_err *err);
/* The working copy as a tree in the vault; later calls cost what changed since. Dirt stays dirt. */
int pdk_sandbox_capture(struct pdk_sandbox *sb, struct pdk_vault *vault,
        struct pdk_capture *out, struct pdk_err *err);
/* Captures, and makes that the baseline: what is there now (after setup) is no dirt from here on. */
int pdk_sandbox_rebase(struct pdk_sandbox *sb, struct pdk_vault *vault,
        struct pdk_capture *out, struct pdk_err *err);
enum pdk_teardown_flags { PDK_TEARDOWN_KEEP_BRANCH = 1U << 0 };
/*
 * Commits made in it that a teardown with these flags would lose: no ref of the user's repository and no
 * base holds them. Their number.
 */
int pdk_sandbox_count_commits(
        struct pdk_sandbox *sb, unsigned int flags, int *out, struct pdk_err *err);

/*
 * Removes directory, registry entry and branch, each attempted, absent is fine; never follows a
 * link. The directory is gone from its place at once; what was in it is moved to trash/ beside the lock
 * and removed by pdk_sandbox_clean(). Works from a record alone, also when the directory has gone, and
 * after a kill half-way through materialize (start is "" then). A branch that cannot be kept
 * (it lies in the sandbox) or that is checked out elsewhere is PDK_ECONFLICT, before or after the rest.
 */
int pdk_sandbox_teardown(const struct pdk_sandbox_record *record,
        const struct pdk_repo *repo, const char *lock, unsigned int flags,
        struct pdk_err *err);

/*
 * Removes for good what teardowns moved away, also what killed processes left of that. At most for
 * within_ms (0: as long as it takes) and until *stop (NULL: none): PDK_ECANCELED then, and the next
 * call goes on. One process at a time: PDK_ECONFLICT while another one does it, but with no limit it
 * waits for that. removed (NULL allowed) counts sandboxes, also where it fails.
 */
int pdk_sandbox_clean(const char *lock, int64_t within_ms, const atomic_bool *stop,
        int *removed, struct pdk_err *err);

#endif
