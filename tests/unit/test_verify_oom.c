/* Every allocation of judging fails once: an error, nothing half made, and all goes well after. */
/* wrap: calloc malloc realloc reallocarray strdup */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "plan/plan.h"
#include "sandbox/protocol.h"
#include "tests/support/events.h"
#include "tests/support/faults.h"
#include "tests/support/fixture.h"
#include "verify/evidence.h"
#include "verify/verdict.h"

static int act_judge(void *user, long fault)
{
    const struct pdk_check *check = user;
    PDK_AUTO_PATTERNS struct pdk_patterns *patterns = NULL;
    PDK_AUTO_FREE char *path = pdk_test_path("out");
    struct pdk_exec_result result = { .exit_code = 0 };
    struct pdk_evidence evidence = { &result, path, path, NULL };
    struct pdk_outcome outcome = { { PDK_VERDICT_ABSTAIN, PDK_REASON_COUNT, "" }, NULL };

    pdk_fault_arm(fault);
    int rc = pdk_patterns_compile(check, &patterns, NULL);
    if (rc == 0)
        rc = pdk_evidence_judge(check, patterns, &evidence, &outcome, NULL);
    pdk_fault_disarm();
    ck_assert_int_eq(
            outcome.judgement.reason, rc == 0 ? PDK_REASON_NONE : PDK_REASON_COUNT);
    return rc;
}

START_TEST(judging_a_check)
{
    PDK_AUTO_FREE char *path = pdk_test_path("out");
    struct pdk_check check = { .name = path, .expect = { .has_exit = true } };

    pdk_test_write_text(path, "OK\n");
    pdk_strv_add(&check.run.argv, "true");
    pdk_strv_add(&check.expect.out, "^OK$");
    pdk_strv_add(&check.expect.not_err, "warning");
    pdk_fault_every(act_judge, &check);
    pdk_strv_fini(&check.run.argv);
    pdk_strv_fini(&check.expect.out);
    pdk_strv_fini(&check.expect.not_err);
}
END_TEST

enum { EVENTS = 4 };

static int act_fold(void *user, long fault)
{
    const struct pdk_event *events = user;
    struct pdk_judgement judgement = { PDK_VERDICT_FAIL, PDK_REASON_COUNT, "" };

    pdk_fault_arm(fault);
    PDK_AUTO_FOLD struct pdk_fold *fold = pdk_fold_new();
    int rc = fold ? 0 : PDK_ENOMEM;
    for (int i = 0; rc == 0 && i < EVENTS; i++)
        rc = pdk_fold_event(fold, &events[i], NULL);
    pdk_fault_disarm();
    if (rc == 0)
        pdk_fold_run(fold, &judgement);
    ck_assert_int_eq(judgement.verdict, rc == 0 ? PDK_VERDICT_PASS : PDK_VERDICT_FAIL);
    return rc;
}

START_TEST(folding_events)
{
    struct pdk_event events[EVENTS] = {
        pdk_test_event(PDK_EVENT_TASK_PLANNED, 0, "{\"index\":0}"),
        pdk_test_event(PDK_EVENT_CANDIDATE_PLANNED, 1, "{\"checks\":[\"k\"]}"),
        pdk_test_event(PDK_EVENT_CAPTURE_DONE, 1, "{\"tree\":\"x\",\"changed\":true}"),
        pdk_test_event(PDK_EVENT_CHECK_ENDED, 1,
                "{\"name\":\"k\",\"index\":0,\"severity\":\"block\","
                "\"verdict\":\"pass\"}"),
    };

    pdk_fault_every(act_fold, events);
    for (int i = 0; i < EVENTS; i++)
        pdk_test_event_fini(&events[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify oom");
    TCase *tc = tcase_create("oom");
    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, judging_a_check);
    tcase_add_test(tc, folding_events);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
