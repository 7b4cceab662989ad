/* Closed lists in the documents are those of the program: reasons, event types. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "store/event.h"
#include "tests/support/fixture.h"
#include "verify/verdict.h"

#define DOCS PDK_TEST_DATA_DIR "/../../docs/"

/* How many lines of text begin with start. */
static int count_lines(const char *text, const char *start)
{
    int n = 0;

    for (const char *end; *text; text = end + (*end == '\n')) {
        end = strchrnul(text, '\n');
        n += pdk_starts_with(text, start);
    }
    return n;
}

START_TEST(every_reason_is_a_row_with_its_verdict)
{
    PDK_AUTO_FREE char *text = pdk_test_read(DOCS "verdicts.md", NULL);

    for (int i = PDK_REASON_NONE + 1; i < PDK_REASON_COUNT; i++) {
        enum pdk_reason reason = (enum pdk_reason)i;
        PDK_AUTO_FREE char *row = pdk_strf("| `%s` | %s | ", pdk_reason_name(reason),
                pdk_verdict_name(pdk_reason_verdict(reason)));

        ck_assert_msg(count_lines(text, row) == 1, "verdicts.md has no row '%s'", row);
    }
    ck_assert_int_eq(count_lines(text, "| `"), PDK_REASON_COUNT - 1);
}
END_TEST

START_TEST(every_event_type_is_a_row)
{
    PDK_AUTO_FREE char *text = pdk_test_read(DOCS "events.md", NULL);

    for (int i = 0; i < PDK_EVENT_COUNT; i++) {
        PDK_AUTO_FREE char *row =
                pdk_strf("| `%s` | ", pdk_event_name((enum pdk_event_type)i));

        ck_assert_msg(count_lines(text, row) == 1, "events.md has no row '%s'", row);
    }
    ck_assert_int_eq(count_lines(text, "| `"), PDK_EVENT_COUNT);
}
END_TEST

START_TEST(every_state_of_a_candidate_is_named)
{
    PDK_AUTO_FREE char *text = pdk_test_read(DOCS "events.md", NULL);

    for (int i = 0; i < PDK_CANDIDATE_STATE_COUNT; i++) {
        PDK_AUTO_FREE char *name =
                pdk_strf("`%s`", pdk_candidate_state_name((enum pdk_candidate_state)i));

        ck_assert_msg(strstr(text, name) != NULL, "events.md does not name %s", name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("docs");
    TCase *tc = tcase_create("docs");

    tcase_add_test(tc, every_reason_is_a_row_with_its_verdict);
    tcase_add_test(tc, every_event_type_is_a_row);
    tcase_add_test(tc, every_state_of_a_candidate_is_named);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
