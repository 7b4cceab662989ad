/* What selection is told of each candidate of a task, and whom it chooses. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "orchestrator/engine/internal.h"

bool pdk_candidate_score(const struct candidate *c, bool shown, double *out)
{
    const struct pdk_plan_verify *verify = &c->task->verify;
    double sum = 0, last = 0;
    size_t scores = 0;

    for (size_t i = 0; i < verify->checks_len; i++) {
        const struct pdk_check_score *score = &verify->checks[i].score;
        const struct pdk_json *own = pdk_json_get(pdk_json_at(c->outcomes, i), "score");
        double sign = score->goal == PDK_GOAL_MIN ? -1 : 1;

        if (!score->stdout_pattern)
            continue;
        if (!own)
            return false;
        last = pdk_json_real_value(own);
        sum += sign * score->weight * last;
        scores++;
    }
    *out = shown && scores == 1 ? last : sum;
    return scores > 0;
}

/* What the blocking checks printed, as one text; NULL where one of them said nothing to compare. */
static char *outputs(const struct candidate *c)
{
    PDK_AUTO_BUF struct pdk_buf all = PDK_BUF_INIT;

    for (size_t i = 0; i < c->task->verify.checks_len; i++) {
        const struct pdk_json *check = pdk_json_at(c->outcomes, i);
        const char *mark = pdk_json_get_str(check, "fingerprint", NULL);

        if (c->task->verify.checks[i].severity != PDK_SEVERITY_BLOCK)
            continue;
        if (!mark)
            return NULL;
        pdk_buf_addf(&all, "%s ", mark);
    }
    return pdk_buf_take(&all);
}

static void fill_summary(
        struct pdk_select_candidate *out, const struct candidate *c, char **output)
{
    *output = outputs(c);
    *out = (struct pdk_select_candidate){
        .index = c->plan->index,
        .passed = c->judgement.verdict == PDK_VERDICT_PASS,
        .changed = c->tree.hex[0] && !pdk_oid_equal(&c->tree, &c->run->start),
        .allow_empty = c->task->allow_empty,
        .files = (int64_t)c->diff.len,
        .lines = c->diff.added + c->diff.deleted,
        .tree = c->tree.hex[0] ? c->tree.hex : NULL,
        .diff = c->vote[0] ? c->vote : NULL,
        .output = *output,
        .judged = c->judged,
    };
    out->has_cost = c->has_cost;
    out->cost = c->cost;
    out->has_score = pdk_candidate_score(c, false, &out->score);
}

int pdk_run_select(
        struct run *run, size_t place, struct pdk_selection *out, struct pdk_err *err)
{
    const struct pdk_plan_task *task = &run->spec->plan->tasks[place];
    PDK_AUTO_FREE struct pdk_select_candidate *all =
            calloc(task->candidates_len + 1, sizeof(*all));
    char **texts = calloc(task->candidates_len + 1, sizeof(char *));
    size_t n = 0;
    int rc = all && texts ? 0 : pdk_fail_nomem(err);

    for (size_t i = 0; rc == 0 && i < run->candidates_len; i++)
        if (run->candidates[i].task_place == place) {
            fill_summary(&all[n], &run->candidates[i], &texts[n]);
            n++;
        }
    if (rc == 0)
        rc = pdk_select(&task->select, all, n, out, err);
    for (size_t i = 0; texts && i < n; i++)
        free(texts[i]);
    free(texts);
    return rc;
}

int pdk_run_choose(
        struct run *run, size_t place, struct candidate **out, struct pdk_err *err)
{
    struct pdk_selection selection = { 0 };

    if (pdk_run_select(run, place, &selection, err) < 0)
        return err->code;
    for (size_t i = 0; selection.winner > 0 && i < run->candidates_len; i++)
        if (run->candidates[i].task_place == place &&
                run->candidates[i].plan->index == selection.winner)
            *out = &run->candidates[i];
    pdk_selection_fini(&selection);
    return 0;
}
