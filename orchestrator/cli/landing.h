/* Bringing a winner home: shared by `promote` and by `run --promote`. */
#ifndef PDK_ORCHESTRATOR_CLI_LANDING_H
#define PDK_ORCHESTRATOR_CLI_LANDING_H

#include <stdbool.h>

#include "plan/plan.h"

struct pdk_cli;
struct pdk_err;

struct pdk_landing {
    const char *run;  /* whole id */
    const char *task; /* NULL: the only one */
    int candidate;    /* that passed */
    enum pdk_promote_as as;
    const char *output; /* of a patch; NULL: <run>-c<n>.patch here, "-": stdout */
    const char *branch; /* NULL: paddock/<run> */
    bool dry_run;
};

/* "worktree", "patch", "branch". PDK_EUNSUPPORTED for "commit". */
int pdk_landing_find(const char *name, enum pdk_promote_as *out, struct pdk_err *err);
/*
 * Lands it, recorded before and after. PDK_ECONFLICT: nothing was written, err names the paths.
 * A candidate that did not pass is refused.
 */
int pdk_landing_do(
        struct pdk_cli *cli, const struct pdk_landing *landing, struct pdk_err *err);
/* A branch paddock/<run>/<task> for each task that passed, in the plan's order. */
int pdk_landing_branches(struct pdk_cli *cli, const struct pdk_plan *plan,
        const char *run, struct pdk_err *err);

#endif
