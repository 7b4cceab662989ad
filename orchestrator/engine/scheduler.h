/*
 * Which candidate starts next. Pure: events in, decisions out; no clock, no loop, no memory after
 * construction. Limits come from counters here, never from thread numbers.
 *
 * A task is ready when each task that it needs has passed; when one of these ends otherwise it is
 * skipped, and so are its own dependents. Candidates start in declaration order.
 */
#ifndef PDK_ORCHESTRATOR_ENGINE_SCHEDULER_H
#define PDK_ORCHESTRATOR_ENGINE_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/auto.h"

struct pdk_err;
struct pdk_plan;
struct pdk_sched; /* opaque, heap */

/* A candidate of a task, by their places in the plan. */
struct pdk_sched_unit {
    size_t task;
    size_t candidate;
};

enum pdk_sched_task_state {
    PDK_SCHED_WAITING, /* for a task that it needs */
    PDK_SCHED_OPEN,    /* candidates may start, or run */
    PDK_SCHED_DONE,    /* all its candidates have ended */
    PDK_SCHED_SKIPPED  /* will not start */
};

/* plan is borrowed and outlives it. max_concurrent below 1 counts as 1. */
int pdk_sched_new(const struct pdk_plan *plan, int max_concurrent, struct pdk_sched **out,
        struct pdk_err *err);
void pdk_sched_free(struct pdk_sched *s);
PDK_DEFINE_AUTO(struct pdk_sched, pdk_sched_free)
#define PDK_AUTO_SCHED PDK_AUTO(pdk_sched_free)

/* Takes the next unit to start now; false where there is none (for the moment, or for good). */
bool pdk_sched_next(struct pdk_sched *s, struct pdk_sched_unit *out);
/* A started unit has ended and its sandbox is gone. True when it was the last of its task. */
bool pdk_sched_ended(struct pdk_sched *s, size_t task);
/* The verdict on a task whose units have all ended: opens or skips those that need it. */
void pdk_sched_judged(struct pdk_sched *s, size_t task, bool passed);
/* No more starts. What has not started of open tasks counts as ended; waiting tasks are skipped. */
void pdk_sched_cancel(struct pdk_sched *s);

/* No more starts of this task: what has not started counts as ended. */
void pdk_sched_close(struct pdk_sched *s, size_t task);

enum pdk_sched_task_state pdk_sched_task_state(const struct pdk_sched *s, size_t task);
/* The index of the needed task that made this one be skipped; (size_t)-1 after a cancel. */
size_t pdk_sched_skipped_by(const struct pdk_sched *s, size_t task);
/* Nothing is live and nothing will start. */
bool pdk_sched_idle(const struct pdk_sched *s);
int pdk_sched_live(const struct pdk_sched *s);
int pdk_sched_peak(const struct pdk_sched *s); /* most that were live at once */

#endif
