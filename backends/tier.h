/*
 * The execution tier: where the commands of a task run, apart from where its files live. NULL is this
 * host, where the agent is started as it is; else a container engine starts it inside a container.
 *
 * Opened once a task, before anything is made; read by any thread afterwards.
 */
#ifndef PDK_BACKENDS_TIER_H
#define PDK_BACKENDS_TIER_H

#include <stdint.h>

#include "base/auto.h"
#include "base/str.h"

struct pdk_backend;
struct pdk_err;
struct pdk_json;
struct pdk_plan_sandbox;
struct pdk_sandbox;
struct pdk_tier; /* opaque, heap */

/*
 * What the plan asks for, tried: *out is NULL for a backend whose commands run on this host. The plan is
 * borrowed for the tier's life. owner: what the containers' labels say of who made them ("<state>"), so
 * that leftovers can be told apart. Blocks (engine calls, a pull). PDK_EUNAVAIL with the reason and the
 * way out where no engine works or the image is not there: nothing has been made then.
 */
int pdk_tier_open(const struct pdk_backend *be, const struct pdk_plan_sandbox *plan,
        const char *owner, struct pdk_tier **out, struct pdk_err *err);
void pdk_tier_free(struct pdk_tier *tier); /* NULL is fine */
PDK_DEFINE_AUTO(struct pdk_tier, pdk_tier_free)
#define PDK_AUTO_TIER PDK_AUTO(pdk_tier_free)

/* The engine's name, for the record; NULL for this host. */
const char *pdk_tier_engine(const struct pdk_tier *tier);
/* How long the first answer of an agent may take, ms; 0: the client's own limit. */
int64_t pdk_tier_ready_ms(const struct pdk_tier *tier);
/* How long removing a container may take, ms; 0: the default. */
int64_t pdk_tier_delete_ms(const struct pdk_tier *tier);
/*
 * Adds what was seen to the record of where commands run: where, engine, version, runtime, kernel,
 * image and claim (docs/backends.md has the claims).
 */
void pdk_tier_describe(const struct pdk_tier *tier, const struct pdk_backend *be,
        struct pdk_json *execution);

/* What starts the agent of one sandbox. Paths are absolute. */
struct pdk_agent_start {
    const char *agent; /* the program on this host */
    const char *spool; /* directory of output files; NULL, on this host only: none */
    const char *run;   /* for the label; NULL: none */
};

/*
 * argv and environment of the process that becomes, or leads to, the agent of sb. The commands'
 * environment is apart from it, but in a container it is what theirs stands on.
 */
int pdk_tier_agent(const struct pdk_tier *tier, const struct pdk_sandbox *sb,
        const struct pdk_agent_start *start, struct pdk_strv *argv, struct pdk_strv *env,
        struct pdk_err *err);

/*
 * Removes containers that carry owner's label and whose run is_live denies: what a kill left where no
 * record leads to it. Engines that are not there are passed over. *removed counts; a failure does not
 * stop the others and is told last.
 */
int pdk_tier_sweep(const char *owner, bool (*is_live)(const char *run, void *user),
        void *user, bool dry_run, int *removed, struct pdk_err *err);

/* Engines as doctor lists them. */
size_t pdk_tier_engines(void);
/* Facts of the i-th one as an object (name, version, runtime, kernel, claim); PDK_EUNAVAIL why not. */
int pdk_tier_probe(
        size_t i, const char **name, struct pdk_json **out, struct pdk_err *err);

#endif
