/*
 * The checks of a task on its base, once a run: by the candidate that starts first, before its own
 * sandbox is made, so that no more sandboxes are alive than may be. Others wait before they verify.
 */
#include <stdlib.h>

#include "base/json.h"
#include "orchestrator/engine/internal.h"

static struct task_run *task_of(const struct candidate *c)
{
    return &c->run->tasks[c->task_place];
}

/* Complaints are counted against those of the base. */
static bool compares(const struct pdk_plan_verify *verify)
{
    for (size_t i = 0; i < verify->checks_len; i++)
        if (verify->checks[i].diagnostics.error)
            return true;
    return verify->baseline != PDK_BASELINE_SKIP;
}

bool pdk_baseline_wanted(const struct candidate *c)
{
    return task_of(c)->baseline_state == BASELINE_NONE && compares(&c->task->verify);
}

static void release_waiting(struct task_run *task)
{
    struct candidate *c = task->baseline_waiting;

    task->baseline_waiting = NULL;
    while (c) {
        struct candidate *next = c->next_waiting;

        c->next_waiting = NULL;
        c->then(c);
        c = next;
    }
}

static void end_baseline(struct candidate *c, struct pdk_json *outcomes)
{
    struct task_run *task = task_of(c);
    struct pdk_json *body = pdk_json_object();

    task->baseline_state = BASELINE_DONE;
    task->baseline = outcomes ? pdk_json_ref(outcomes) : pdk_json_array();
    (void)pdk_json_set_str(body, "tree", c->run->start.hex);
    (void)pdk_json_set(body, "checks", pdk_json_ref(task->baseline));
    pdk_record_task(c->run, PDK_EVENT_BASELINE_ENDED, c->task->id, body);
}

static void baseline_on_verified(
        struct candidate *c, bool whole, struct pdk_json *outcomes)
{
    (void)whole; /* each outcome says for itself whether something was seen */
    c->verification = NULL;
    end_baseline(c, outcomes);
    release_waiting(task_of(c));
    c->then(c);
}

void pdk_baseline_start(struct candidate *c, void (*done)(struct candidate *c))
{
    struct verification_spec spec = {
        .kind = PDK_VERIFY_BASE, .tree = c->run->start, .done = baseline_on_verified
    };
    struct pdk_err err = PDK_ERR_INIT;

    task_of(c)->baseline_state = BASELINE_BUSY;
    c->then = done;
    if (pdk_verification_start(c, &spec, &err) == 0)
        return;
    pdk_record_warning(c, err.msg);
    baseline_on_verified(c, false, NULL);
}

bool pdk_baseline_wait(struct candidate *c, void (*then)(struct candidate *c))
{
    struct task_run *task = task_of(c);

    if (task->baseline_state != BASELINE_BUSY)
        return false;
    c->then = then;
    c->next_waiting = task->baseline_waiting;
    task->baseline_waiting = c;
    return true;
}
