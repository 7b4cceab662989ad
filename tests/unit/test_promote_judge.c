/* What a judge's two answers come to. */
#include <check.h>
#include <string.h>

#include "promote/judge.h"
#include "tests/support/fixture.h"

static const struct {
    const char *there, *back;
    int result, by_place;
} table[] = {
    { "A", "B", 1, 0 },
    { "B\n", " a ", -1, 0 },
    { "A", "A", 0, 1 }, /* always the first */
    { "B", "B", 0, 1 },
    { "A", "tie", 0, 0 },
    { "TIE", "tie because", 0, 0 },
    { "", "B", 0, 0 },
    { "Apple", "B", 0, 0 },
    { "A: it is shorter", "B.", 1, 0 },
};

START_TEST(only_what_follows_the_candidate_counts)
{
    int by_place = -1;

    ck_assert_int_eq(
            pdk_judge_pair(pdk_answer_read(table[_i].there, strlen(table[_i].there)),
                    pdk_answer_read(table[_i].back, strlen(table[_i].back)), &by_place),
            table[_i].result);
    ck_assert_int_eq(by_place, table[_i].by_place);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("promote_judge");
    TCase *tc = tcase_create("judge");

    tcase_add_loop_test(tc, only_what_follows_the_candidate_counts, 0,
            (int)(sizeof(table) / sizeof(*table)));
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
