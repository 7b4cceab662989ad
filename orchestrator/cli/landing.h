/* Bringing a winner home: shared by `promote` and by `run --promote`. */
#ifndef PDK_ORCHESTRATOR_CLI_LANDING_H
#define PDK_ORCHESTRATOR_CLI_LANDING_H

#include <stdbool.h>

#include "plan/plan.h"

struct pdk_cli;
struct pdk_err;
struct pdk_land_result;
struct pdk_promotion_row;

struct pdk_landing {
    const char *run;  /* whole id */
    const char *task; /* NULL: the only one */
    int candidate;
    enum pdk_promote_as as;
    const char *output; /* of a patch; NULL: <run>-c<n>.patch here, "-": stdout */
    const char *branch; /* NULL: paddock/<run> */
    bool dry_run;
    bool accept_unproven; /* land what abstained as well, stamped so */
    bool again;           /* although the run was promoted before, and taken back */
};

/* "worktree", "patch", "branch", "commit"; PDK_EINVAL for others. */
int pdk_landing_find(const char *name, enum pdk_promote_as *out, struct pdk_err *err);
const char *pdk_landing_name(enum pdk_promote_as as); /* static */
/*
 * Lands it, recorded before and after. PDK_ECONFLICT: nothing was written, err names the paths, and
 * result (NULL allowed; zeroed, to be freed by the caller) has all of them.
 * A candidate that did not pass is refused, and one that wrote outside of its sandbox in any case.
 */
int pdk_landing_do(struct pdk_cli *cli, const struct pdk_landing *landing,
        struct pdk_land_result *result, struct pdk_err *err);
/* A branch paddock/<run>/<task> for each task that passed, in the plan's order. */
int pdk_landing_branches(struct pdk_cli *cli, const struct pdk_plan *plan,
        const char *run, struct pdk_err *err);
/* Takes the promotion back where its paths are untouched since; else PDK_ECONFLICT, as above. */
int pdk_landing_undo(struct pdk_cli *cli, const struct pdk_promotion_row *row,
        struct pdk_land_result *result, struct pdk_err *err);
/*
 * Finishes or takes back a landing that was cut off, and says so. Needs the store open; without a
 * journal it does nothing. What fails is said, and met again by the next landing.
 */
void pdk_landing_recover(struct pdk_cli *cli);
/* The journal of landings in this working tree; owned by the caller, NULL when out of memory. */
char *pdk_landing_journal(const struct pdk_cli *cli);

#endif
