/* Numbers worked by hand from the published definitions. */
#include <check.h>
#include <math.h>

#include "tests/support/fixture.h"
#include "verify/stats.h"

#define NEAR(a, b) ck_assert_double_eq_tol(a, b, 5e-5)

/* pass@k = 1 - C(n-c,k)/C(n,k); pass^k = C(c,k)/C(n,k). */
static const struct {
    size_t n, c, k;
    bool defined;
    double at, all;
} passes[] = {
    { 5, 2, 1, true, 0.4, 0.4 },      /* the proportion */
    { 5, 2, 2, true, 0.7, 0.1 },      /* 1 - 3/10; 1/10 */
    { 5, 2, 3, true, 0.9, 0.0 },      /* 1 - 1/10; 0 */
    { 5, 2, 4, true, 1.0, 0.0 },      /* 3 failed: 4 drawn have a pass */
    { 10, 3, 5, true, 11.0 / 12, 0 }, /* 1 - 21/252 */
    { 8, 6, 2, true, 27.0 / 28, 15.0 / 28 },
    { 8, 8, 8, true, 1, 1 },
    { 8, 0, 8, true, 0, 0 },
    { 5, 2, 6, false, 0, 0 },
    { 5, 2, 0, false, 0, 0 },
    { 0, 0, 1, false, 0, 0 },
    { 3, 4, 1, false, 0, 0 },
};

START_TEST(of_k_drawn_from_n)
{
    double at = -1, all = -1;

    ck_assert_int_eq(pdk_stats_pass_at(passes[_i].n, passes[_i].c, passes[_i].k, &at),
            passes[_i].defined);
    ck_assert_int_eq(pdk_stats_pass_all(passes[_i].n, passes[_i].c, passes[_i].k, &all),
            passes[_i].defined);
    ck_assert_double_eq_tol(at, passes[_i].defined ? passes[_i].at : -1, 1e-12);
    ck_assert_double_eq_tol(all, passes[_i].defined ? passes[_i].all : -1, 1e-12);
}
END_TEST

START_TEST(many_tries_do_not_overflow)
{
    double value = -1;

    ck_assert(pdk_stats_pass_at(100000, 50000, 10000, &value));
    NEAR(value, 1);
    ck_assert(pdk_stats_pass_all(100000, 99999, 50000, &value));
    NEAR(value, 0.5); /* the one that failed is among half of them half the time */
}
END_TEST

START_TEST(wilsons_interval)
{
    struct pdk_interval i = { -1, -1 };

    ck_assert(pdk_stats_wilson(10, 8, &i));
    NEAR(i.low, 0.49016);
    NEAR(i.high, 0.94332);
    ck_assert(pdk_stats_wilson(10, 0, &i));
    ck_assert_double_eq(i.low, 0);
    NEAR(i.high, 0.27753); /* z²/(n+z²) = 3.84146/13.84146 */
    ck_assert(pdk_stats_wilson(10, 10, &i));
    NEAR(i.low, 0.72247);
    ck_assert_double_eq(i.high, 1);
    ck_assert(pdk_stats_wilson(1, 1, &i));
    NEAR(i.low, 0.20655); /* 1/(1+z²) */
    ck_assert(!pdk_stats_wilson(0, 0, &i));
    ck_assert(!pdk_stats_wilson(2, 3, &i));
}
END_TEST

START_TEST(tries_of_a_task_stand_together)
{
    /* p = 6/12; residuals +2, -2, 0; se = sqrt(8)/12; t(2) = 4.303: cut at both ends. */
    const struct pdk_cluster wide[] = { { 4, 4 }, { 4, 0 }, { 4, 2 } };
    /* p = 1/2; residuals of 10 tasks ±1 of 4 tries; se = sqrt(10)/40; t(9) = 2.262. */
    const struct pdk_cluster ten[] = { { 4, 3 }, { 4, 1 }, { 4, 3 }, { 4, 1 }, { 4, 3 },
        { 4, 1 }, { 4, 3 }, { 4, 1 }, { 4, 3 }, { 4, 1 } };
    const struct pdk_cluster one[] = { { 4, 4 }, { 0, 0 } };
    struct pdk_interval i = { -1, -1 };
    double mean = -1;

    ck_assert(pdk_stats_clustered(wide, 3, &mean, &i));
    NEAR(mean, 0.5);
    NEAR(i.low, 0);
    NEAR(i.high, 1);
    ck_assert(pdk_stats_clustered(ten, 10, &mean, &i));
    NEAR(i.low, 0.5 - 2.262 * sqrt(10) / 40);
    NEAR(i.high, 0.5 + 2.262 * sqrt(10) / 40);
    ck_assert(!pdk_stats_clustered(one, 2, &mean, &i));
    ck_assert(!pdk_stats_clustered(NULL, 0, &mean, &i));
}
END_TEST

START_TEST(arms_are_compared_pair_by_pair)
{
    /* 10 pairs, 6 only a, 1 only b: p = 2 (C(7,0)+C(7,1))/2^7 = 16/128. */
    struct pdk_pair_of_tries pairs[10] = { { true, true }, { false, false },
        { true, true } };
    struct pdk_paired out = { .pairs = 0 };

    for (size_t i = 3; i < 9; i++)
        pairs[i].a = true;
    pairs[9].b = true;
    ck_assert(pdk_stats_paired(pairs, 10, &out));
    ck_assert_uint_eq(out.only_a, 6);
    ck_assert_uint_eq(out.only_b, 1);
    NEAR(out.difference, 0.5);
    NEAR(out.p, 0.125);
    ck_assert(pdk_stats_paired(pairs, 3, &out));
    NEAR(out.p, 1);
    ck_assert(!pdk_stats_paired(pairs, 0, &out));
}
END_TEST

START_TEST(what_abstained_counts_either_way)
{
    struct pdk_interval i = { -1, -1 };

    ck_assert(pdk_stats_bounds(2, 1, 1, &i));
    NEAR(i.low, 0.5);
    NEAR(i.high, 0.75);
    ck_assert(!pdk_stats_bounds(0, 0, 0, &i));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify_stats");
    TCase *tc = tcase_create("stats");

    tcase_add_loop_test(
            tc, of_k_drawn_from_n, 0, (int)(sizeof(passes) / sizeof(*passes)));
    tcase_add_test(tc, many_tries_do_not_overflow);
    tcase_add_test(tc, wilsons_interval);
    tcase_add_test(tc, tries_of_a_task_stand_together);
    tcase_add_test(tc, arms_are_compared_pair_by_pair);
    tcase_add_test(tc, what_abstained_counts_either_way);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
