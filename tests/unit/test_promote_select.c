/* Which candidate wins, and by what. */
#include <check.h>

#include "base/error.h"
#include "base/str.h"
#include "promote/select.h"
#include "tests/support/fixture.h"

#define SIZED(number, ok, differs, empty, n_files, n_lines)                              \
    {                                                                                    \
        .index = number, .passed = ok, .changed = differs, .allow_empty = empty,         \
        .files = n_files, .lines = n_lines                                               \
    }

static const struct {
    struct pdk_select_candidate in[3];
    int winner, last;
    enum pdk_select_none none;
    const char *by;
} table[] = {
    { { SIZED(1, false, true, false, 1, 1), SIZED(2, true, true, false, 9, 9),
              SIZED(3, false, true, true, 1, 2) },
            2, 3, PDK_SELECT_FOUND, "verdict" },
    { { SIZED(1, true, true, false, 1, 8), SIZED(2, true, true, false, 2, 5),
              SIZED(3, true, true, false, 1, 5) },
            3, 1, PDK_SELECT_FOUND, "smaller-diff" },
    { { SIZED(3, true, true, false, 1, 5), SIZED(2, true, true, false, 1, 5),
              SIZED(1, false, true, false, 1, 5) },
            2, 1, PDK_SELECT_FOUND, "index" },
    { { SIZED(1, true, false, false, 0, 0), SIZED(2, true, false, false, 0, 0),
              SIZED(3, false, true, true, 1, 1) },
            0, 3, PDK_SELECT_ALL_UNCHANGED, NULL },
    { { SIZED(1, true, false, true, 0, 0), SIZED(2, true, true, false, 1, 1),
              SIZED(3, false, false, true, 0, 0) },
            1, 3, PDK_SELECT_FOUND, "smaller-diff" },
    { { SIZED(1, false, true, true, 1, 1), SIZED(2, false, false, true, 0, 0),
              SIZED(3, false, true, true, 9, 9) },
            0, 3, PDK_SELECT_NO_CANDIDATE_PASSED, NULL },
};

START_TEST(the_table_holds)
{
    struct pdk_strv order = PDK_STRV_INIT;
    struct pdk_selection s = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_strv_add(&order, "verdict");
    pdk_strv_add(&order, "smaller-diff");
    pdk_strv_add(&order, "index");
    ck_assert_int_eq(pdk_select(&order, table[_i].in, 3, &s, &err), 0);
    ck_assert_int_eq(s.winner, table[_i].winner);
    ck_assert_int_eq(s.ranking[2], table[_i].last);
    ck_assert_int_eq(s.none, table[_i].none);
    ck_assert(pdk_streq(
            s.decided_by ? s.decided_by : "", table[_i].by ? table[_i].by : ""));
    pdk_selection_fini(&s);
    pdk_strv_fini(&order);
}
END_TEST

/* Three that passed and changed as much, but for what the criterion looks at. */
#define LIKE(number, ...)                                                                \
    {                                                                                    \
        .index = number, .passed = true, .changed = true, __VA_ARGS__                    \
    }
#define SCORE(value) .has_score = true, .score = (value)
#define COST(value)  .has_cost = true, .cost = (value)

static const struct {
    const char *by[2];
    struct pdk_select_candidate in[4];
    int winner;
    const char *decided;
} criteria[] = {
    { { "score" },
            { LIKE(1, SCORE(1)), LIKE(2, SCORE(3)), LIKE(3, .has_score = false),
                    { .index = 4, SCORE(9) } },
            2, "score" },
    { { "score" }, { LIKE(1, .has_score = false), LIKE(2, SCORE(-5)) }, 2, "score" },
    { { "score", "cost" },
            { LIKE(1, SCORE(3), COST(2)), LIKE(2, SCORE(3), COST(1)), LIKE(3, SCORE(2)) },
            2, "cost" },
    { { "cost" }, { LIKE(1, .has_cost = false), LIKE(2, COST(7)) }, 2, "cost" },
    { { "votes:tree" },
            { LIKE(1, .tree = "a"), LIKE(2, .tree = "b"), LIKE(3, .tree = "b") }, 2,
            "index" },
    /* Those that failed have no vote. */
    { { "votes" },
            { LIKE(1, .diff = "a"), { .index = 2, .diff = "b" },
                    { .index = 3, .diff = "b" }, LIKE(4, .diff = "b") },
            1, "index" },
    { { "votes:output", "votes" },
            { LIKE(1, .output = "x", .diff = "p"), LIKE(2, .output = "x", .diff = "q"),
                    LIKE(3, .output = "z", .diff = "q"), LIKE(4, .output = "y") },
            2, "votes" },
    { { "judge" }, { LIKE(1, .judged = -2), LIKE(2, .judged = 0), LIKE(3, .judged = 2) },
            3, "judge" },
};

START_TEST(each_criterion_decides_by_what_it_says)
{
    struct pdk_strv order = PDK_STRV_INIT;
    struct pdk_selection s = { 0 };
    size_t n = 0;

    while (n < 4 && criteria[_i].in[n].index > 0)
        n++;
    for (size_t i = 0; i < 2 && criteria[_i].by[i]; i++)
        pdk_strv_add(&order, criteria[_i].by[i]);
    ck_assert_int_eq(pdk_select(&order, criteria[_i].in, n, &s, NULL), 0);
    ck_assert_int_eq(s.winner, criteria[_i].winner);
    ck_assert_str_eq(s.decided_by, criteria[_i].decided);
    pdk_selection_fini(&s);
    pdk_strv_fini(&order);
}
END_TEST

START_TEST(a_name_that_is_no_criterion_is_refused)
{
    struct pdk_strv order = PDK_STRV_INIT;
    struct pdk_selection s = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_strv_add(&order, "luck");
    ck_assert_int_eq(pdk_select(&order, table[0].in, 3, &s, &err), PDK_EINVAL);
    ck_assert_ptr_null(s.ranking);
    pdk_strv_fini(&order);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("promote_select");
    TCase *tc = tcase_create("select");
    tcase_add_loop_test(tc, the_table_holds, 0, sizeof(table) / sizeof(table[0]));
    tcase_add_loop_test(tc, each_criterion_decides_by_what_it_says, 0,
            sizeof(criteria) / sizeof(criteria[0]));
    tcase_add_test(tc, a_name_that_is_no_criterion_is_refused);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
