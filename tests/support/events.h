/* Events for tests, as one line each. Fail the test rather than return. */
#ifndef PDK_TESTS_SUPPORT_EVENTS_H
#define PDK_TESTS_SUPPORT_EVENTS_H

#include "store/event.h"

struct pdk_store;

/* An event of run "r1" (task "t", attempt 1 where there is a candidate) with this JSON as body; owns the body. */
struct pdk_event pdk_test_event(
        enum pdk_event_type type, int candidate, const char *json);
void pdk_test_event_fini(struct pdk_event *event);

/* Appends one event and gives the code back. */
int pdk_test_append(struct pdk_store *store, enum pdk_event_type type, int candidate,
        const char *json);
/* Plans run r1 with task t and n candidates, which must go well. */
void pdk_test_plan_run(struct pdk_store *store, int n);

#endif
