/* Ending the rest of a task early, once enough is known: what that is, and what it costs to know it. */
#include <stdlib.h>

#include "base/path.h"
#include "orchestrator/engine/internal.h"

void pdk_stop_count_cost(struct candidate *c, const struct pdk_exec_result *result)
{
    PDK_AUTO_FREE char *path = pdk_path_join(c->logs, "mission.stdout");
    double cost = 0;

    if (!c->task->cost) {
        cost = result ? (double)result->duration_ms : 0;
    } else if (!path || !pdk_measure_number(c->task->cost, path, &cost)) {
        return;
    }
    c->has_cost = true;
    c->cost += cost;
}

static bool passed(const struct candidate *c)
{
    return c->state == PDK_CANDIDATE_RELEASED && c->judgement.verdict == PDK_VERDICT_PASS;
}

/* Candidates of the task that passed with the tree of this one. */
static int count_alike(const struct run *run, const struct candidate *c)
{
    int n = 0;

    for (size_t i = 0; i < run->candidates_len; i++) {
        const struct candidate *other = &run->candidates[i];

        n += other->task_place == c->task_place && passed(other) &&
                pdk_oid_equal(&other->tree, &c->tree);
    }
    return n;
}

bool pdk_stop_holds(const struct run *run, size_t task)
{
    const struct pdk_plan *plan = run->spec->plan;
    double spent = 0;

    for (size_t i = 0; i < run->candidates_len; i++) {
        const struct candidate *c = &run->candidates[i];

        if (c->task_place != task || c->state != PDK_CANDIDATE_RELEASED)
            continue;
        spent += c->has_cost ? c->cost : 0;
        if (passed(c) &&
                (plan->stop_on ||
                        (plan->stop_agree && count_alike(run, c) >= plan->stop_agree)))
            return true;
    }
    return plan->stop_budget > 0 && spent >= plan->stop_budget;
}

void pdk_stop_cut(struct run *run, size_t task)
{
    run->tasks[task].cut = true;
    pdk_sched_close(run->sched, task);
    for (size_t i = 0; i < run->candidates_len; i++) {
        struct candidate *c = &run->candidates[i];

        if (c->task_place != task || c->attempt == 0 || c->canceled ||
                c->state >= PDK_CANDIDATE_JUDGED)
            continue;
        c->censored = true;
        pdk_candidate_interrupt(c, false);
    }
}
