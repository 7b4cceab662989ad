/*
 * Carrying out a plan: the life of a run, from a pinned base to a verdict (architecture.md sections
 * 1 and 5). Blocks its thread on a loop of its own until everything has ended.
 */
#ifndef PDK_ORCHESTRATOR_ENGINE_ENGINE_H
#define PDK_ORCHESTRATOR_ENGINE_ENGINE_H

#include "orchestrator/engine/listener.h"
#include "plan/plan.h"
#include "trees/repo.h"
#include "verify/verdict.h"

struct pdk_err;
struct pdk_json;
struct pdk_state;
struct pdk_store;

/* All borrowed for the call. */
struct pdk_engine_spec {
    const struct pdk_plan *plan;
    struct pdk_json *plan_json; /* as resolved, for the record */
    const struct pdk_repo *repo;
    const struct pdk_state *state;
    struct pdk_store *store;
    const char *agent; /* path of the agent program */
    const char *run;   /* the new run's id */
    /*
     * Trees to verify instead of carrying out missions: one for each candidate of the plan, in its
     * order; NULL: carry them out. start: what they started from; "": as the plan's base and seed say.
     */
    const struct pdk_oid *trees;
    struct pdk_oid start;
    struct pdk_engine_listener listener;
};

struct pdk_engine_result {
    struct pdk_judgement judgement;
    int winner; /* of a mission: candidate index; 0: none */
    int signal; /* that interrupted it; 0: none */
};

/*
 * 0 once the run has ended with a verdict, whatever it is; SIGINT and SIGTERM end it orderly, a
 * second one at once. An error means that the run could not start (nothing is left), or that the
 * store failed under it: then what had been recorded stands.
 */
int pdk_engine_run(const struct pdk_engine_spec *spec, struct pdk_engine_result *out,
        struct pdk_err *err);

#endif
