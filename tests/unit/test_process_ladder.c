/* The stop ladder under a clock of the test's own. */
#include <check.h>
#include <signal.h>

#include "process/ladder.h"
#include "tests/support/fixture.h"

static const struct pdk_graces graces = { 100, 200, 300 };

START_TEST(it_climbs_with_a_grace_on_each_rung)
{
    struct pdk_ladder l = { 0 };
    int64_t wait = 0;

    pdk_ladder_start(&l, &graces, 1000);
    ck_assert_int_eq(pdk_ladder_step(&l, 1000, &wait), SIGINT);
    ck_assert_int_eq(wait, 100);
    ck_assert_int_eq(pdk_ladder_step(&l, 1099, &wait), 0);
    ck_assert_int_eq(wait, 1);
    ck_assert_int_eq(pdk_ladder_step(&l, 1100, &wait), SIGTERM);
    ck_assert_int_eq(wait, 200);
    ck_assert_int_eq(pdk_ladder_step(&l, 1299, &wait), 0);
    ck_assert_int_eq(pdk_ladder_step(&l, 1300, &wait), SIGKILL);
    ck_assert_int_eq(pdk_ladder_step(&l, 1599, &wait), SIGKILL);
    ck_assert_int_eq(pdk_ladder_step(&l, 1600, &wait), 0);
    ck_assert_int_eq((int)l.state, PDK_LADDER_GIVEN_UP);
    ck_assert_int_eq(wait, -1);
}
END_TEST

START_TEST(a_grace_of_zero_skips_its_rung)
{
    struct pdk_ladder l = { 0 };
    const struct pdk_graces none = { 0, 0, 0 };
    int64_t wait = 0;

    pdk_ladder_start(&l, &none, 5);
    ck_assert_int_eq(pdk_ladder_step(&l, 5, &wait), SIGKILL);
    ck_assert_int_eq(pdk_ladder_step(&l, 5, &wait), 0);
    ck_assert_int_eq((int)l.state, PDK_LADDER_GIVEN_UP);
}
END_TEST

START_TEST(one_that_was_not_started_sends_nothing)
{
    struct pdk_ladder l = { 0 };
    int64_t wait = 0;

    ck_assert_int_eq(pdk_ladder_step(&l, 1000, &wait), 0);
    ck_assert_int_eq(wait, -1);
}
END_TEST

START_TEST(starting_again_does_not_go_back)
{
    struct pdk_ladder l = { 0 };
    int64_t wait = 0;

    pdk_ladder_start(&l, &graces, 0);
    (void)pdk_ladder_step(&l, 0, &wait);
    (void)pdk_ladder_step(&l, 100, &wait);
    pdk_ladder_start(&l, &graces, 150);
    ck_assert_int_eq(pdk_ladder_step(&l, 150, &wait), 0);
    ck_assert_int_eq((int)l.state, PDK_LADDER_TERM);
}
END_TEST

START_TEST(at_once_is_kill_from_any_rung)
{
    struct pdk_ladder idle = { 0 }, begun = { 0 };
    int64_t wait = 0;

    pdk_ladder_now(&idle, 7);
    ck_assert_int_eq(pdk_ladder_step(&idle, 7, &wait), SIGKILL);
    ck_assert_int_gt(wait, 0);
    pdk_ladder_start(&begun, &graces, 0);
    (void)pdk_ladder_step(&begun, 0, &wait);
    pdk_ladder_now(&begun, 1);
    ck_assert_int_eq(pdk_ladder_step(&begun, 1, &wait), SIGKILL);
    ck_assert_int_eq(wait, 300);
    pdk_ladder_now(&begun, 200);
    (void)pdk_ladder_step(&begun, 200, &wait);
    ck_assert_int_eq(wait, 101); /* a second time does not lengthen it */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("process: ladder");
    TCase *tc = tcase_create("ladder");

    tcase_add_test(tc, it_climbs_with_a_grace_on_each_rung);
    tcase_add_test(tc, a_grace_of_zero_skips_its_rung);
    tcase_add_test(tc, one_that_was_not_started_sends_nothing);
    tcase_add_test(tc, starting_again_does_not_go_back);
    tcase_add_test(tc, at_once_is_kill_from_any_rung);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
