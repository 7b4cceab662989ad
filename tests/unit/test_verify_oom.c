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
#include "tests/support/fixture.h"
#include "verify/evidence.h"
#include "verify/verdict.h"

void *__real_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
char *__real_strdup(const char *text);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
char *__wrap_strdup(const char *text);

static long fault_left =
        -1; /* allocations until the one that fails; negative: none will */

static bool fault_met;

/* The acts say when: Check itself allocates, too. */
static void fault_arm(long n)
{
    fault_left = n;
}

static void fault_disarm(void)
{
    fault_left = -1;
}

static bool fault_now(void)
{
    if (fault_left < 0)
        return false;
    fault_met = fault_left == 0;
    fault_left--;
    return fault_met;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fault_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_malloc(size_t size)
{
    return fault_now() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fault_now() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return fault_now() ? NULL : __real_reallocarray(old, n, size);
}

char *__wrap_strdup(const char *text)
{
    return fault_now() ? NULL : __real_strdup(text);
}

/* Runs act with the 1st, 2nd, … allocation failing, until a run meets none. */
static void every_fault(int (*act)(void *user, long fault), void *user)
{
    long n = 0;

    do {
        fault_met = false;
        int rc = act(user, n);
        ck_assert_msg(rc == (fault_met ? PDK_ENOMEM : 0), "allocation %ld: %d", n, rc);
        n++;
    } while (fault_met);
    ck_assert_int_gt(n, 1);
}

static int act_judge(void *user, long fault)
{
    const struct pdk_check *check = user;
    PDK_AUTO_PATTERNS struct pdk_patterns *patterns = NULL;
    PDK_AUTO_FREE char *path = pdk_test_path("out");
    struct pdk_exec_result result = { .exit_code = 0 };
    struct pdk_evidence evidence = { &result, path, path, NULL };
    struct pdk_outcome outcome = { { PDK_VERDICT_ABSTAIN, PDK_REASON_COUNT, "" }, NULL };

    fault_arm(fault);
    int rc = pdk_patterns_compile(check, &patterns, NULL);
    if (rc == 0)
        rc = pdk_evidence_judge(check, patterns, &evidence, &outcome, NULL);
    fault_disarm();
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
    every_fault(act_judge, &check);
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

    fault_arm(fault);
    PDK_AUTO_FOLD struct pdk_fold *fold = pdk_fold_new();
    int rc = fold ? 0 : PDK_ENOMEM;
    for (int i = 0; rc == 0 && i < EVENTS; i++)
        rc = pdk_fold_event(fold, &events[i], NULL);
    fault_disarm();
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

    every_fault(act_fold, events);
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
