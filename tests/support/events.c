#include "tests/support/events.h"

#include <check.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "store/store.h"

struct pdk_event pdk_test_event(enum pdk_event_type type, int candidate, const char *json)
{
    struct pdk_event event = { .run = "r1",
        .task = "t",
        .candidate = candidate,
        .attempt = candidate ? 1 : 0,
        .ts_ms = 1000 + type,
        .type = type };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_json_parse(json, strlen(json), &event.body, &err) == 0, "%s: %s",
            json, err.msg);
    return event;
}

void pdk_test_event_fini(struct pdk_event *event)
{
    pdk_json_free(event->body);
    event->body = NULL;
}

int pdk_test_append(struct pdk_store *store, enum pdk_event_type type, int candidate,
        const char *json)
{
    struct pdk_event event = pdk_test_event(type, candidate, json);
    int rc = pdk_store_append(store, &event, 1, NULL, NULL);

    pdk_test_event_fini(&event);
    return rc;
}

void pdk_test_plan_run(struct pdk_store *store, int n)
{
    ck_assert_int_eq(
            pdk_test_append(store, PDK_EVENT_RUN_PLANNED, 0,
                    "{\"kind\":\"mission\",\"mission\":\"m\",\"title\":\"T\",\"base\":"
                    "{\"commit\":\"c0\",\"tree\":\"t0\"},\"max_concurrent\":2,"
                    "\"plan\":{\"id\":\"m\"}}"),
            0);
    ck_assert_int_eq(
            pdk_test_append(store, PDK_EVENT_TASK_PLANNED, 0, "{\"index\":0}"), 0);
    for (int i = 1; i <= n; i++)
        ck_assert_int_eq(pdk_test_append(store, PDK_EVENT_CANDIDATE_PLANNED, i,
                                 "{\"checks\":[\"unit\"],\"backend\":\"directory\"}"),
                0);
}
