/* The pure scheduler: limits, order, dependencies, cancellation. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "orchestrator/engine/scheduler.h"
#include "plan/plan.h"
#include "tests/support/fixture.h"

/* A plan with n tasks "t0", "t1", … of `each` candidates. */
static struct pdk_plan *make_plan(size_t n, size_t each)
{
    struct pdk_plan *plan = calloc(1, sizeof(*plan));

    ck_assert_ptr_nonnull(plan);
    plan->tasks = calloc(n, sizeof(*plan->tasks));
    ck_assert_ptr_nonnull(plan->tasks);
    plan->tasks_len = n;
    for (size_t i = 0; i < n; i++) {
        plan->tasks[i].id = pdk_strf("t%zu", i);
        plan->tasks[i].candidates = calloc(each, sizeof(*plan->tasks[i].candidates));
        plan->tasks[i].candidates_len = each;
    }
    return plan;
}

static struct pdk_sched *make_sched(const struct pdk_plan *plan, int max)
{
    struct pdk_sched *s = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_sched_new(plan, max, &s, &err), 0);
    return s;
}

START_TEST(never_more_than_the_limit_are_live)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = make_plan(1, 5);
    PDK_AUTO_SCHED struct pdk_sched *s = make_sched(plan, 2);
    struct pdk_sched_unit unit;
    int started = 0;

    for (;;) {
        while (pdk_sched_next(s, &unit)) {
            ck_assert_uint_eq(unit.candidate, (size_t)started++);
            ck_assert_int_le(pdk_sched_live(s), 2);
        }
        if (pdk_sched_ended(s, 0))
            break;
    }
    ck_assert_int_eq(started, 5);
    ck_assert_int_eq(pdk_sched_peak(s), 2);
    ck_assert(pdk_sched_idle(s));
}
END_TEST

START_TEST(a_limit_below_one_counts_as_one)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = make_plan(1, 2);
    PDK_AUTO_SCHED struct pdk_sched *s = make_sched(plan, 0);
    struct pdk_sched_unit unit;

    ck_assert(pdk_sched_next(s, &unit));
    ck_assert(!pdk_sched_next(s, &unit));
}
END_TEST

START_TEST(a_task_waits_for_those_it_needs)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = make_plan(2, 1);
    struct pdk_sched_unit unit;

    pdk_strv_add(&plan->tasks[0].needs, "t1");
    PDK_AUTO_SCHED struct pdk_sched *s = make_sched(plan, 8);
    ck_assert(pdk_sched_next(s, &unit));
    ck_assert_uint_eq(unit.task, 1);
    ck_assert(!pdk_sched_next(s, &unit));
    ck_assert(pdk_sched_ended(s, 1));
    ck_assert(!pdk_sched_idle(s));
    pdk_sched_judged(s, 1, true);
    ck_assert(pdk_sched_next(s, &unit));
    ck_assert_uint_eq(unit.task, 0);
}
END_TEST

START_TEST(dependents_of_a_failed_task_are_skipped_all_the_way)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = make_plan(3, 1);
    struct pdk_sched_unit unit;

    pdk_strv_add(&plan->tasks[1].needs, "t0");
    pdk_strv_add(&plan->tasks[2].needs, "t1");
    PDK_AUTO_SCHED struct pdk_sched *s = make_sched(plan, 8);
    ck_assert(pdk_sched_next(s, &unit));
    ck_assert(pdk_sched_ended(s, 0));
    pdk_sched_judged(s, 0, false);
    ck_assert_int_eq(pdk_sched_task_state(s, 1), PDK_SCHED_SKIPPED);
    ck_assert_int_eq(pdk_sched_task_state(s, 2), PDK_SCHED_SKIPPED);
    ck_assert_uint_eq(pdk_sched_skipped_by(s, 2), 1);
    ck_assert(pdk_sched_idle(s));
}
END_TEST

START_TEST(cancel_starts_nothing_more_and_waits_for_what_runs)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = make_plan(3, 2);
    struct pdk_sched_unit unit;

    pdk_strv_add(&plan->tasks[2].needs, "t0");
    PDK_AUTO_SCHED struct pdk_sched *s = make_sched(plan, 1);
    ck_assert(pdk_sched_next(s, &unit));
    pdk_sched_cancel(s);
    ck_assert(!pdk_sched_next(s, &unit));
    ck_assert(!pdk_sched_idle(s));
    ck_assert_int_eq(pdk_sched_task_state(s, 1), PDK_SCHED_SKIPPED);
    ck_assert_int_eq(pdk_sched_task_state(s, 2), PDK_SCHED_SKIPPED);
    ck_assert(pdk_sched_ended(s, 0));
    ck_assert(pdk_sched_idle(s));
}
END_TEST

START_TEST(every_unit_of_a_random_plan_ends_once)
{
    unsigned int seed = 1 + (unsigned int)_i;
    PDK_AUTO_PLAN struct pdk_plan *plan = make_plan(6, 3);
    size_t live[6] = { 0 }, ended = 0, skipped = 0;
    int limit = 1 + rand_r(&seed) % 4;

    for (size_t i = 1; i < 6; i++)
        for (size_t j = 0; j < i; j++)
            if (rand_r(&seed) % 4 == 0)
                pdk_strv_add(&plan->tasks[i].needs, plan->tasks[j].id);
    PDK_AUTO_SCHED struct pdk_sched *s = make_sched(plan, limit);
    while (!pdk_sched_idle(s)) {
        struct pdk_sched_unit unit;
        size_t pick = (size_t)rand_r(&seed) % 6;

        while (pdk_sched_next(s, &unit))
            live[unit.task]++;
        ck_assert_int_le(pdk_sched_live(s), limit);
        if (live[pick] == 0)
            continue;
        live[pick]--;
        ended++;
        if (pdk_sched_ended(s, pick))
            pdk_sched_judged(s, pick, rand_r(&seed) % 3 != 0);
    }
    for (size_t i = 0; i < 6; i++)
        skipped += pdk_sched_task_state(s, i) == PDK_SCHED_SKIPPED;
    ck_assert_uint_eq(ended + 3 * skipped, 18);
}
END_TEST

START_TEST(a_closed_task_ends_with_what_it_started)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = make_plan(2, 3);
    PDK_AUTO_SCHED struct pdk_sched *s = make_sched(plan, 2);
    struct pdk_sched_unit unit;

    ck_assert(pdk_sched_next(s, &unit) && pdk_sched_next(s, &unit));
    pdk_sched_close(s, 0);
    ck_assert(!pdk_sched_ended(s, 0));
    ck_assert(pdk_sched_next(s, &unit)); /* others go on */
    ck_assert_uint_eq(unit.task, 1);
    ck_assert(pdk_sched_ended(s, 0));
    pdk_sched_judged(s, 0, true);
    ck_assert_int_eq(pdk_sched_task_state(s, 0), PDK_SCHED_DONE);
    ck_assert(pdk_sched_next(s, &unit));
    ck_assert_uint_eq(unit.task, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_scheduler");
    TCase *tc = tcase_create("scheduler");

    tcase_add_test(tc, never_more_than_the_limit_are_live);
    tcase_add_test(tc, a_limit_below_one_counts_as_one);
    tcase_add_test(tc, a_task_waits_for_those_it_needs);
    tcase_add_test(tc, dependents_of_a_failed_task_are_skipped_all_the_way);
    tcase_add_test(tc, a_closed_task_ends_with_what_it_started);
    tcase_add_test(tc, cancel_starts_nothing_more_and_waits_for_what_runs);
    tcase_add_loop_test(tc, every_unit_of_a_random_plan_ends_once, 0, 50);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
