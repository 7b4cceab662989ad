/* Verdicts from events. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/events.h"
#include "tests/support/fixture.h"
#include "verify/verdict.h"

static int feed_as(struct pdk_fold *fold, enum pdk_event_type type, const char *task,
        int candidate, int attempt, const char *json)
{
    struct pdk_event e = pdk_test_event(type, candidate, json);

    e.task = task;
    e.attempt = attempt;
    int rc = pdk_fold_event(fold, &e, NULL);
    pdk_test_event_fini(&e);
    return rc;
}

static void feed(
        struct pdk_fold *fold, enum pdk_event_type type, int candidate, const char *json)
{
    ck_assert_int_eq(feed_as(fold, type, "t", candidate, 1, json), 0);
}

static void feed_check(struct pdk_fold *fold, int candidate, int index,
        const char *severity, enum pdk_reason reason)
{
    PDK_AUTO_FREE char *json =
            pdk_strf("{\"name\":\"k%d\",\"index\":%d,\"severity\":\"%s\","
                     "\"verdict\":\"%s\",\"reason\":\"%s\"}",
                    index, index, severity, pdk_verdict_name(pdk_reason_verdict(reason)),
                    pdk_reason_name(reason));

    feed(fold, PDK_EVENT_CHECK_ENDED, candidate, json);
}

static void capture(struct pdk_fold *fold, int candidate, bool changed)
{
    feed(fold, PDK_EVENT_CAPTURE_DONE, candidate,
            changed ? "{\"tree\":\"x\",\"changed\":true}"
                    : "{\"tree\":\"x\",\"changed\":false}");
}

static void expect(struct pdk_fold *fold, int candidate, enum pdk_verdict verdict,
        enum pdk_reason reason)
{
    struct pdk_judgement j;

    ck_assert_int_eq(pdk_fold_candidate(fold, "t", candidate, &j, NULL), 0);
    ck_assert_msg(j.verdict == verdict && j.reason == reason, "%s %s, not %s %s",
            pdk_verdict_name(j.verdict), pdk_reason_name(j.reason),
            pdk_verdict_name(verdict), pdk_reason_name(reason));
}

/* A candidate whose one check is called k0. */
static struct pdk_fold *planned(void)
{
    struct pdk_fold *fold = pdk_fold_new();

    ck_assert_ptr_nonnull(fold);
    feed(fold, PDK_EVENT_CANDIDATE_PLANNED, 1, "{\"checks\":[\"k0\"]}");
    return fold;
}

/* A passing candidate of a task. */
static void finished(
        struct pdk_fold *fold, const char *task, int candidate, enum pdk_reason reason)
{
    PDK_AUTO_FREE char *json = pdk_strf(
            "{\"name\":\"k0\",\"index\":0,\"severity\":\"block\","
            "\"verdict\":\"%s\",\"reason\":\"%s\"}",
            pdk_verdict_name(pdk_reason_verdict(reason)), pdk_reason_name(reason));

    ck_assert_int_eq(feed_as(fold, PDK_EVENT_CANDIDATE_PLANNED, task, candidate, 0,
                             "{\"checks\":[\"k0\"]}"),
            0);
    ck_assert_int_eq(feed_as(fold, PDK_EVENT_CAPTURE_DONE, task, candidate, 1,
                             "{\"tree\":\"x\",\"changed\":true}"),
            0);
    ck_assert_int_eq(feed_as(fold, PDK_EVENT_CHECK_ENDED, task, candidate, 1, json), 0);
}

START_TEST(names_of_verdicts_and_reasons_find_them)
{
    enum pdk_verdict v = PDK_VERDICT_FAIL;

    ck_assert_int_eq(pdk_verdict_find("abstain", &v, NULL), 0);
    ck_assert_int_eq(v, PDK_VERDICT_ABSTAIN);
    ck_assert_int_eq(pdk_verdict_find("perhaps", &v, NULL), PDK_EINVAL);
    ck_assert_int_eq(pdk_verdict_find(NULL, &v, NULL), PDK_EINVAL);
    for (int i = 0; i < PDK_REASON_COUNT; i++) {
        const char *name = pdk_reason_name((enum pdk_reason)i);
        ck_assert_int_eq((int)pdk_reason_find(name), i);
        ck_assert_uint_gt(strlen(pdk_reason_text((enum pdk_reason)i)), 0);
    }
    ck_assert_int_eq(pdk_reason_find(NULL), PDK_REASON_NONE);
    ck_assert_int_eq(pdk_reason_find("bad_luck"), PDK_REASON_COUNT);
}
END_TEST

START_TEST(errors_of_steps_become_reasons)
{
    static const struct {
        int code, os;
        enum pdk_reason reason;
    } cases[] = {
        { PDK_EIO, ENOSPC, PDK_REASON_DISK_FULL },
        { PDK_EIO, EDQUOT, PDK_REASON_DISK_FULL },
        { PDK_ECANCELED, 0, PDK_REASON_CANCELED },
        { PDK_EPROTO, 0, PDK_REASON_AGENT_LOST },
        { PDK_EIO, EACCES, PDK_REASON_CAPTURE_FAILED },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pdk_err err = PDK_ERR_INIT;
        (void)pdk_fail(&err, cases[i].code, cases[i].os, "x");
        ck_assert_int_eq(
                pdk_reason_of_error(PDK_REASON_CAPTURE_FAILED, &err), cases[i].reason);
    }
}
END_TEST

/* What two checks said, in all ways: their verdicts, severities, the tree, allow_empty. */
static const enum pdk_reason said[] = { PDK_REASON_NONE, PDK_REASON_CHECK_FAILED,
    PDK_REASON_MANUAL_CHECK };

/* The rules of architecture.md section 6, in another form than the fold's. */
static enum pdk_reason rule(const int v[2], const bool block[2], bool changed, bool empty)
{
    bool fail = (block[0] && v[0] == 1) || (block[1] && v[1] == 1);
    bool abstain = (block[0] && v[0] == 2) || (block[1] && v[1] == 2);

    if (fail)
        return PDK_REASON_CHECK_FAILED;
    if (abstain)
        return PDK_REASON_MANUAL_CHECK;
    if (!block[0] && !block[1])
        return PDK_REASON_NO_CHECKS;
    return changed || empty ? PDK_REASON_NONE : PDK_REASON_NOTHING_ATTEMPTED;
}

static void check_row(const int v[2], const bool block[2], bool changed, bool empty)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = pdk_fold_new();
    PDK_AUTO_FREE char *plan = pdk_strf("{\"allow_empty\":%s,\"checks\":[%s%s%s]}",
            empty ? "true" : "false", block[0] ? "\"k0\"" : "",
            block[0] && block[1] ? "," : "", block[1] ? "\"k1\"" : "");
    enum pdk_reason reason = rule(v, block, changed, empty);

    feed(fold, PDK_EVENT_CANDIDATE_PLANNED, 1, plan);
    capture(fold, 1, changed);
    feed_check(fold, 1, 0, block[0] ? "block" : "warn", said[v[0]]);
    feed_check(fold, 1, 1, block[1] ? "block" : "warn", said[v[1]]);
    expect(fold, 1, pdk_reason_verdict(reason), reason);
}

START_TEST(the_whole_truth_table)
{
    for (int row = 0; row < 9 * 16; row++) {
        const int v[2] = { row % 3, row / 3 % 3 };
        int bits = row / 9;
        const bool block[2] = { (bits & 1) != 0, (bits & 2) != 0 };
        check_row(v, block, (bits & 4) != 0, (bits & 8) != 0);
    }
}
END_TEST

START_TEST(fail_outranks_whatever_else_went_wrong)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = planned();

    feed(fold, PDK_EVENT_COMMAND_ENDED, 1, "{\"stage\":\"mission\",\"leaked\":1}");
    capture(fold, 1, false);
    feed_check(fold, 1, 1, "block", PDK_REASON_AGENT_LOST);
    feed_check(fold, 1, 0, "block", PDK_REASON_OUTPUT_MISMATCH);
    feed(fold, PDK_EVENT_ATTEMPT_FAILED, 1, "{\"reason\":\"canceled\"}");
    expect(fold, 1, PDK_VERDICT_FAIL, PDK_REASON_OUTPUT_MISMATCH);
}
END_TEST

START_TEST(reasons_of_an_attempt_that_broke_off)
{
    static const enum pdk_reason broken[] = { PDK_REASON_MATERIALIZE_FAILED,
        PDK_REASON_SETUP_FAILED, PDK_REASON_MISSION_NOT_STARTED,
        PDK_REASON_CAPTURE_FAILED, PDK_REASON_SANDBOX_LOST, PDK_REASON_AGENT_LOST,
        PDK_REASON_DISK_FULL, PDK_REASON_CANCELED, PDK_REASON_SKIPPED };

    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        PDK_AUTO_FOLD struct pdk_fold *fold = planned();
        PDK_AUTO_FREE char *json = pdk_strf(
                "{\"reason\":\"%s\",\"detail\":\"why\"}", pdk_reason_name(broken[i]));
        feed(fold, PDK_EVENT_ATTEMPT_FAILED, 1, json);
        feed(fold, PDK_EVENT_ATTEMPT_FAILED, 1, "{\"reason\":\"canceled\"}");
        expect(fold, 1, PDK_VERDICT_ABSTAIN, broken[i]);
    }
}
END_TEST

START_TEST(a_candidate_that_came_to_nothing_is_not_judged)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = planned();

    expect(fold, 1, PDK_VERDICT_ABSTAIN, PDK_REASON_NOT_JUDGED);
    capture(fold, 1, true);
    expect(fold, 1, PDK_VERDICT_ABSTAIN, PDK_REASON_CHECK_MISSING);
    feed_check(fold, 1, 0, "block", PDK_REASON_NONE);
    expect(fold, 1, PDK_VERDICT_PASS, PDK_REASON_NONE);
    feed(fold, PDK_EVENT_COMMAND_ENDED, 1, "{\"stage\":\"check\",\"leaked\":2}");
    expect(fold, 1, PDK_VERDICT_ABSTAIN, PDK_REASON_PROCESSES_LEFT);
}
END_TEST

START_TEST(the_first_declared_check_gives_the_reason)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = planned();

    capture(fold, 1, true);
    feed_check(fold, 1, 2, "block", PDK_REASON_ABSTAIN_EXIT);
    feed_check(fold, 1, 1, "block", PDK_REASON_TIMEOUT_NOT_JUDGED);
    expect(fold, 1, PDK_VERDICT_ABSTAIN, PDK_REASON_TIMEOUT_NOT_JUDGED);
}
END_TEST

START_TEST(a_later_attempt_starts_afresh_and_an_earlier_one_is_over)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = planned();

    feed(fold, PDK_EVENT_ATTEMPT_FAILED, 1, "{\"reason\":\"agent_lost\"}");
    ck_assert_int_eq(feed_as(fold, PDK_EVENT_ATTEMPT_STATE, "t", 1, 2,
                             "{\"from\":\"running\",\"to\":\"materializing\"}"),
            0);
    expect(fold, 1, PDK_VERDICT_ABSTAIN, PDK_REASON_NOT_JUDGED);
    feed_check(fold, 1, 0, "block", PDK_REASON_CHECK_FAILED); /* of attempt 1 */
    expect(fold, 1, PDK_VERDICT_ABSTAIN, PDK_REASON_NOT_JUDGED);
}
END_TEST

START_TEST(allow_empty_may_come_with_the_task)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = pdk_fold_new();

    feed(fold, PDK_EVENT_TASK_PLANNED, 0, "{\"index\":0,\"allow_empty\":true}");
    feed(fold, PDK_EVENT_CANDIDATE_PLANNED, 1, "{\"checks\":[\"k0\"]}");
    capture(fold, 1, false);
    feed_check(fold, 1, 0, "block", PDK_REASON_NONE);
    expect(fold, 1, PDK_VERDICT_PASS, PDK_REASON_NONE);
}
END_TEST

/* Verdicts of two candidates, and of their task and run. */
START_TEST(tasks_and_runs_by_their_candidates)
{
    static const enum pdk_reason rows[][3] = {
        { PDK_REASON_NONE, PDK_REASON_CHECK_FAILED, PDK_REASON_NONE },
        { PDK_REASON_CHECK_FAILED, PDK_REASON_NONE, PDK_REASON_NONE },
        { PDK_REASON_AGENT_LOST, PDK_REASON_NONE, PDK_REASON_NONE },
        { PDK_REASON_CHECK_FAILED, PDK_REASON_OUTPUT_MISMATCH, PDK_REASON_CHECK_FAILED },
        { PDK_REASON_CHECK_FAILED, PDK_REASON_AGENT_LOST, PDK_REASON_AGENT_LOST },
        { PDK_REASON_MANUAL_CHECK, PDK_REASON_AGENT_LOST, PDK_REASON_MANUAL_CHECK },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        PDK_AUTO_FOLD struct pdk_fold *fold = pdk_fold_new();
        struct pdk_judgement task;
        struct pdk_judgement run;
        finished(fold, "t", 1, rows[i][0]);
        finished(fold, "t", 2, rows[i][1]);
        ck_assert_int_eq(pdk_fold_task(fold, "t", &task, NULL), 0);
        ck_assert_int_eq(task.reason, rows[i][2]);
        ck_assert_int_eq(task.verdict, pdk_reason_verdict(rows[i][2]));
        pdk_fold_run(fold, &run);
        ck_assert_int_eq(run.reason, rows[i][2]);
    }
}
END_TEST

START_TEST(a_fleet_is_as_good_as_its_worst_task)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = pdk_fold_new();
    struct pdk_judgement j;

    pdk_fold_run(fold, &j);
    ck_assert_int_eq(j.reason, PDK_REASON_NO_CANDIDATES);
    finished(fold, "a", 1, PDK_REASON_NONE);
    pdk_fold_run(fold, &j);
    ck_assert_int_eq(j.verdict, PDK_VERDICT_PASS);
    finished(fold, "b", 1, PDK_REASON_SKIPPED);
    pdk_fold_run(fold, &j);
    ck_assert_int_eq(j.reason, PDK_REASON_SKIPPED);
    finished(fold, "c", 1, PDK_REASON_CHECK_TIMED_OUT);
    pdk_fold_run(fold, &j);
    ck_assert_int_eq(j.reason, PDK_REASON_CHECK_TIMED_OUT);
    ck_assert_int_eq(pdk_fold_task(fold, "d", &j, NULL), PDK_ENOTFOUND);
    ck_assert_int_eq(pdk_fold_candidate(fold, "a", 2, &j, NULL), PDK_ENOTFOUND);
}
END_TEST

START_TEST(a_skipped_task_abstains_with_its_candidates)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = planned();
    struct pdk_judgement j;

    feed(fold, PDK_EVENT_TASK_JUDGED, 0, "{\"verdict\":\"pass\"}");
    expect(fold, 1, PDK_VERDICT_ABSTAIN, PDK_REASON_NOT_JUDGED);
    feed(fold, PDK_EVENT_TASK_JUDGED, 0,
            "{\"verdict\":\"abstain\",\"reason\":\"skipped\"}");
    expect(fold, 1, PDK_VERDICT_ABSTAIN, PDK_REASON_SKIPPED);
    pdk_fold_run(fold, &j);
    ck_assert_int_eq(j.reason, PDK_REASON_SKIPPED);
}
END_TEST

START_TEST(bodies_that_are_not_as_agreed_are_corrupt)
{
    static const struct {
        enum pdk_event_type type;
        int candidate;
        const char *body;
    } cases[] = {
        { PDK_EVENT_CANDIDATE_PLANNED, 1, "{\"checks\":[]}" },
        { PDK_EVENT_CANDIDATE_PLANNED, 2, "{}" },
        { PDK_EVENT_CANDIDATE_PLANNED, 2, "{\"checks\":[1]}" },
        { PDK_EVENT_CAPTURE_DONE, 3, "{\"tree\":\"x\",\"changed\":true}" },
        { PDK_EVENT_CHECK_ENDED, 1, "{\"name\":\"k0\",\"severity\":\"block\"}" },
        { PDK_EVENT_CHECK_ENDED, 1,
                "{\"name\":\"k0\",\"severity\":\"block\",\"verdict\":\"pass\","
                "\"reason\":\"check_failed\"}" },
        { PDK_EVENT_ATTEMPT_FAILED, 1, "{\"reason\":\"bad_luck\"}" },
        { PDK_EVENT_ATTEMPT_FAILED, 1, "{\"reason\":\"check_failed\"}" },
    };
    PDK_AUTO_FOLD struct pdk_fold *fold = planned();

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        ck_assert_int_eq(
                feed_as(fold, cases[i].type, "t", cases[i].candidate, 1, cases[i].body),
                PDK_ECORRUPT);
    ck_assert_int_eq(
            feed_as(fold, PDK_EVENT_TASK_PLANNED, NULL, 0, 0, "{}"), PDK_ECORRUPT);
    feed(fold, PDK_EVENT_WARNING, 9, "{}"); /* says nothing about verdicts */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify fold");
    TCase *tc = tcase_create("fold");
    tcase_add_test(tc, names_of_verdicts_and_reasons_find_them);
    tcase_add_test(tc, errors_of_steps_become_reasons);
    tcase_add_test(tc, the_whole_truth_table);
    tcase_add_test(tc, fail_outranks_whatever_else_went_wrong);
    tcase_add_test(tc, reasons_of_an_attempt_that_broke_off);
    tcase_add_test(tc, a_candidate_that_came_to_nothing_is_not_judged);
    tcase_add_test(tc, the_first_declared_check_gives_the_reason);
    tcase_add_test(tc, a_later_attempt_starts_afresh_and_an_earlier_one_is_over);
    tcase_add_test(tc, allow_empty_may_come_with_the_task);
    tcase_add_test(tc, tasks_and_runs_by_their_candidates);
    tcase_add_test(tc, a_fleet_is_as_good_as_its_worst_task);
    tcase_add_test(tc, a_skipped_task_abstains_with_its_candidates);
    tcase_add_test(tc, bodies_that_are_not_as_agreed_are_corrupt);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
