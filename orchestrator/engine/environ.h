/* What a command in a sandbox sees: its environment, and its argv with the names put in. */
#ifndef PDK_ORCHESTRATOR_ENGINE_ENVIRON_H
#define PDK_ORCHESTRATOR_ENGINE_ENVIRON_H

#include "base/str.h"
#include "plan/plan.h"

struct pdk_err;

/* Whose command it is. Borrowed. */
struct pdk_command_scope {
    const char *run;
    const char *attempt;
    const char *stage;          /* "setup", "mission", "verify" */
    const char *sandbox;        /* top of the working copy */
    const char *objective_file; /* NULL: none */
    const char *diffs;          /* directory of a judge's a.diff and b.diff; NULL: none */
    int candidate;              /* 1…N */
    const struct pdk_pairs *matrix; /* NULL: none */
    bool elsewhere; /* the agent's own environment is the safe base, not ours */
};

/*
 * The whole environment: the safe base, what the plan sets and passes, and PADDOCK_* last, so that
 * nothing stale or planted stays. Values of pass_env come from the caller's environment; those of
 * the plan are expanded like argv.
 */
int pdk_command_env(const struct pdk_plan_sandbox *plan,
        const struct pdk_command_scope *scope, struct pdk_strv *out, struct pdk_err *err);

/*
 * argv with {{candidate}}, {{run}} and {{matrix.KEY}} replaced. An unknown name is PDK_EINVAL
 * (missions/ has refused it before). By pdk_template_expand(): "{{{{" stands for "{{".
 */
int pdk_command_argv(const struct pdk_command *command,
        const struct pdk_command_scope *scope, struct pdk_strv *out, struct pdk_err *err);

#endif
