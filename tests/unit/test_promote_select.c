/* Which candidate wins, and by what. */
#include <check.h>

#include "base/error.h"
#include "base/str.h"
#include "promote/select.h"
#include "tests/support/fixture.h"

static const struct {
    struct pdk_select_candidate in[3];
    int winner, last;
    enum pdk_select_none none;
    const char *by;
} table[] = {
    { { { 1, false, true, false, 1, 1 }, { 2, true, true, false, 9, 9 },
              { 3, false, true, true, 1, 2 } },
            2, 3, PDK_SELECT_FOUND, "verdict" },
    { { { 1, true, true, false, 1, 8 }, { 2, true, true, false, 2, 5 },
              { 3, true, true, false, 1, 5 } },
            3, 1, PDK_SELECT_FOUND, "smaller-diff" },
    { { { 3, true, true, false, 1, 5 }, { 2, true, true, false, 1, 5 },
              { 1, false, true, false, 1, 5 } },
            2, 1, PDK_SELECT_FOUND, "index" },
    { { { 1, true, false, false, 0, 0 }, { 2, true, false, false, 0, 0 },
              { 3, false, true, true, 1, 1 } },
            0, 3, PDK_SELECT_ALL_UNCHANGED, NULL },
    { { { 1, true, false, true, 0, 0 }, { 2, true, true, false, 1, 1 },
              { 3, false, false, true, 0, 0 } },
            1, 3, PDK_SELECT_FOUND, "smaller-diff" },
    { { { 1, false, true, true, 1, 1 }, { 2, false, false, true, 0, 0 },
              { 3, false, true, true, 9, 9 } },
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

START_TEST(a_criterion_of_later_is_refused_by_name)
{
    struct pdk_strv order = PDK_STRV_INIT;
    struct pdk_selection s = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_strv_add(&order, "judge");
    ck_assert_int_eq(pdk_select(&order, table[0].in, 3, &s, &err), PDK_EUNSUPPORTED);
    ck_assert_str_eq(err.msg, "selection by 'judge' is not built yet");
    ck_assert_ptr_null(s.ranking);
    pdk_strv_fini(&order);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("promote_select");
    TCase *tc = tcase_create("select");
    tcase_add_loop_test(tc, the_table_holds, 0, sizeof(table) / sizeof(table[0]));
    tcase_add_test(tc, a_criterion_of_later_is_refused_by_name);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
