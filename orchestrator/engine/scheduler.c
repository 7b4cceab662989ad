#include "orchestrator/engine/scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/plan.h"

struct task_row {
    enum pdk_sched_task_state state;
    size_t started; /* units handed out */
    size_t ended;   /* of these, ended */
    size_t unmet;   /* needed tasks that have not passed yet */
    size_t skipped_by;
    bool closed; /* nothing more of it starts */
};

struct pdk_sched {
    const struct pdk_plan *plan;
    int max_concurrent;
    int live;
    int peak;
    bool canceled;
    struct task_row *tasks;
};

int pdk_sched_new(const struct pdk_plan *plan, int max_concurrent, struct pdk_sched **out,
        struct pdk_err *err)
{
    PDK_AUTO_SCHED struct pdk_sched *s = calloc(1, sizeof(*s));

    if (s)
        s->tasks = calloc(plan->tasks_len ? plan->tasks_len : 1, sizeof(*s->tasks));
    if (!s || !s->tasks)
        return pdk_fail_nomem(err);
    s->plan = plan;
    s->max_concurrent = max_concurrent < 1 ? 1 : max_concurrent;
    for (size_t i = 0; i < plan->tasks_len; i++) {
        s->tasks[i].unmet = plan->tasks[i].needs.len;
        s->tasks[i].state = s->tasks[i].unmet ? PDK_SCHED_WAITING : PDK_SCHED_OPEN;
        s->tasks[i].skipped_by = (size_t)-1;
    }
    *out = pdk_take_ptr(&s);
    return 0;
}

void pdk_sched_free(struct pdk_sched *s)
{
    if (!s)
        return;
    free(s->tasks);
    free(s);
}

bool pdk_sched_next(struct pdk_sched *s, struct pdk_sched_unit *out)
{
    if (s->canceled || s->live >= s->max_concurrent)
        return false;
    for (size_t i = 0; i < s->plan->tasks_len; i++) {
        struct task_row *row = &s->tasks[i];

        if (row->state != PDK_SCHED_OPEN || row->closed ||
                row->started == s->plan->tasks[i].candidates_len)
            continue;
        *out = (struct pdk_sched_unit){ i, row->started++ };
        s->live++;
        if (s->live > s->peak)
            s->peak = s->live;
        return true;
    }
    return false;
}

bool pdk_sched_ended(struct pdk_sched *s, size_t task)
{
    struct task_row *row = &s->tasks[task];
    size_t total = s->canceled || row->closed ? row->started
                                              : s->plan->tasks[task].candidates_len;

    s->live--;
    row->ended++;
    if (row->ended < total)
        return false;
    row->state = PDK_SCHED_DONE;
    return true;
}

static bool needs(const struct pdk_sched *s, size_t task, size_t other)
{
    return pdk_strv_has(&s->plan->tasks[task].needs, s->plan->tasks[other].id);
}

/* Skips the tasks that need `task`, and those that need these. The plan has no cycle. */
static void skip_dependents(struct pdk_sched *s, size_t task)
{
    for (size_t i = 0; i < s->plan->tasks_len; i++) {
        if (s->tasks[i].state != PDK_SCHED_WAITING || !needs(s, i, task))
            continue;
        s->tasks[i].state = PDK_SCHED_SKIPPED;
        s->tasks[i].skipped_by = task;
        skip_dependents(s, i);
    }
}

void pdk_sched_judged(struct pdk_sched *s, size_t task, bool passed)
{
    s->tasks[task].state = PDK_SCHED_DONE;
    if (!passed) {
        skip_dependents(s, task);
        return;
    }
    for (size_t i = 0; i < s->plan->tasks_len; i++) {
        if (s->tasks[i].state != PDK_SCHED_WAITING || !needs(s, i, task))
            continue;
        if (--s->tasks[i].unmet == 0)
            s->tasks[i].state = PDK_SCHED_OPEN;
    }
}

void pdk_sched_cancel(struct pdk_sched *s)
{
    s->canceled = true;
    for (size_t i = 0; i < s->plan->tasks_len; i++) {
        struct task_row *row = &s->tasks[i];

        if (row->state == PDK_SCHED_WAITING ||
                (row->state == PDK_SCHED_OPEN && row->started == 0))
            row->state = PDK_SCHED_SKIPPED;
        else if (row->state == PDK_SCHED_OPEN && row->ended == row->started)
            row->state = PDK_SCHED_DONE;
    }
}

void pdk_sched_close(struct pdk_sched *s, size_t task)
{
    struct task_row *row = &s->tasks[task];

    row->closed = true;
    if (row->state == PDK_SCHED_OPEN && row->ended == row->started)
        row->state = PDK_SCHED_DONE;
}

enum pdk_sched_task_state pdk_sched_task_state(const struct pdk_sched *s, size_t task)
{
    return s->tasks[task].state;
}

size_t pdk_sched_skipped_by(const struct pdk_sched *s, size_t task)
{
    return s->tasks[task].skipped_by;
}

bool pdk_sched_idle(const struct pdk_sched *s)
{
    if (s->live > 0)
        return false;
    for (size_t i = 0; i < s->plan->tasks_len; i++)
        if (s->tasks[i].state == PDK_SCHED_WAITING || s->tasks[i].state == PDK_SCHED_OPEN)
            return false;
    return true;
}

int pdk_sched_live(const struct pdk_sched *s)
{
    return s->live;
}

int pdk_sched_peak(const struct pdk_sched *s)
{
    return s->peak;
}
