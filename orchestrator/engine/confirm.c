/*
 * The winner's checks once more, as often as the mission wants, before its task is judged. The slot of
 * the candidate that ended last is still held, so that no more sandboxes are alive than may be.
 *
 *   choose -> round after round -> all passed: done
 *                               -> else it is judged again, and the next one is chosen
 *
 * What is shown belongs to the tree: every candidate that made it gets the record.
 */
#include <string.h>

#include "base/json.h"
#include "orchestrator/engine/internal.h"

static const char *const policies[] = {
    [PDK_FLAKY_ALL] = "all",
    [PDK_FLAKY_MAJORITY] = "majority",
    [PDK_FLAKY_ANY] = "any",
};

/* A failure that became a pass is shown twice at least: once may be luck. */
static int rounds_wanted(const struct pdk_plan_verify *verify)
{
    if (verify->baseline == PDK_BASELINE_FAIL && verify->confirm < 1)
        return 1;
    return verify->confirm;
}

/* The verdict of one round: of the first blocking check that has the worst one. */
static void sum_up(const struct pdk_plan_verify *verify, const struct pdk_json *outcomes,
        struct pdk_json *body)
{
    enum pdk_verdict verdict = pdk_json_len(outcomes) < verify->checks_len
            ? PDK_VERDICT_ABSTAIN
            : PDK_VERDICT_PASS;
    const struct pdk_json *telling = NULL;

    for (size_t i = 0; i < pdk_json_len(outcomes); i++) {
        const struct pdk_json *check = pdk_json_at(outcomes, i);
        enum pdk_verdict own = PDK_VERDICT_ABSTAIN;

        (void)pdk_verdict_find(pdk_json_get_str(check, "verdict", NULL), &own, NULL);
        if (verify->checks[i].severity != PDK_SEVERITY_BLOCK || own == PDK_VERDICT_PASS ||
                verdict == PDK_VERDICT_FAIL ||
                (verdict == PDK_VERDICT_ABSTAIN && own == PDK_VERDICT_ABSTAIN && telling))
            continue;
        verdict = own;
        telling = check;
    }
    (void)pdk_json_set_str(body, "verdict", pdk_verdict_name(verdict));
    (void)pdk_json_set_str(body, "reason", pdk_json_get_str(telling, "reason", NULL));
    (void)pdk_json_set_str(body, "detail", pdk_json_get_str(telling, "detail", NULL));
}

static bool shares_tree(const struct candidate *a, const struct candidate *b)
{
    return a->task_place == b->task_place && pdk_oid_equal(&a->tree, &b->tree) &&
            b->judgement.verdict == PDK_VERDICT_PASS;
}

static void record_round(struct candidate *c, struct pdk_json *outcomes)
{
    const struct pdk_plan_verify *verify = &c->task->verify;
    struct pdk_json *body = pdk_json_object();
    int round = c->confirmed + 1;

    (void)pdk_json_set_int(body, "round", round);
    (void)pdk_json_set_int(body, "of", rounds_wanted(verify));
    (void)pdk_json_set_str(body, "policy", policies[verify->flaky]);
    sum_up(verify, outcomes, body);
    if (outcomes)
        (void)pdk_json_set(body, "checks", pdk_json_ref(outcomes));
    for (size_t i = 0; i < c->run->candidates_len; i++) {
        struct candidate *other = &c->run->candidates[i];

        if (!shares_tree(c, other))
            continue;
        other->confirmed = round;
        pdk_record(c->run, PDK_EVENT_CONFIRM_ENDED, other, pdk_json_ref(body));
    }
    pdk_json_free(body);
}

static void judge_again(struct candidate *c)
{
    for (size_t i = 0; i < c->run->candidates_len; i++) {
        struct candidate *other = &c->run->candidates[i];

        if (other != c && shares_tree(c, other))
            pdk_candidate_judge(other, true);
    }
    pdk_candidate_judge(c, true);
}

static void go_on(struct run *run, size_t task)
{
    if (!pdk_confirm_start(run, task))
        pdk_run_task_confirmed(run, task);
}

static void confirm_on_verified(
        struct candidate *c, bool whole, struct pdk_json *outcomes)
{
    struct pdk_judgement now = c->judgement;
    struct pdk_err err = PDK_ERR_INIT;

    (void)whole; /* a round that could not be seen says so itself */
    c->verification = NULL;
    c->run->tasks[c->task_place].confirming = false;
    record_round(c, outcomes);
    if (pdk_fold_candidate(c->run->fold, c->task->id, c->plan->index, &now, &err) == 0 &&
            now.verdict != PDK_VERDICT_PASS)
        judge_again(c);
    go_on(c->run, c->task_place);
}

bool pdk_confirm_start(struct run *run, size_t task)
{
    struct verification_spec spec = { .kind = PDK_VERIFY_AGAIN,
        .done = confirm_on_verified };
    struct candidate *c = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (run->tasks[task].confirming || pdk_run_stopping(run) ||
            pdk_run_choose(run, task, &c, &err) < 0 || !c ||
            c->confirmed >= rounds_wanted(&c->task->verify))
        return false;
    run->tasks[task].confirming = true;
    spec.round = c->confirmed + 1;
    spec.tree = c->verified;
    if (pdk_verification_start(c, &spec, &err) == 0)
        return true;
    pdk_record_warning(c, err.msg);
    confirm_on_verified(c, false, NULL);
    return true;
}

void pdk_confirm_settle(struct run *run, size_t task)
{
    struct pdk_err ignored =
            PDK_ERR_INIT; /* choosing again fails again, and is told then */

    while (run->fatal.code == 0) {
        struct candidate *c = NULL;

        if (pdk_run_choose(run, task, &c, &ignored) < 0 || !c ||
                c->confirmed >= rounds_wanted(&c->task->verify))
            return;
        record_round(c, NULL);
        judge_again(c);
    }
}
