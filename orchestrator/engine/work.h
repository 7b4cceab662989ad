/*
 * Blocking work off the loop: run() on a worker thread, then done() on the loop thread.
 * run() touches only what `user` owns; no loop, no store.
 */
#ifndef PDK_ORCHESTRATOR_ENGINE_WORK_H
#define PDK_ORCHESTRATOR_ENGINE_WORK_H

#include "base/error.h"

struct uv_loop_s;

struct pdk_work_handlers {
    int (*run)(void *user, struct pdk_err *err);
    /* why->code is 0 where run() returned 0. Comes exactly once, also when nothing could run. */
    void (*done)(const struct pdk_err *why, void *user);
};

/* Never fails: what cannot be queued comes back through done() as its error. */
void pdk_work_queue(
        struct uv_loop_s *loop, const struct pdk_work_handlers *handlers, void *user);

#endif
