/* The tests that an output names. */
#include <check.h>
#include <string.h>

#include "base/auto.h"
#include "tests/support/fixture.h"
#include "verify/pattern.h"
#include "verify/tests.h"

/* "a,b": the names, in a line. */
static char *joined(const struct pdk_strv *names)
{
    struct pdk_buf line = PDK_BUF_INIT;

    for (size_t i = 0; i < names->len; i++)
        pdk_buf_addf(&line, "%s%s", i ? "," : "", names->items[i]);
    return pdk_buf_take(&line);
}

static void expect(const struct pdk_tests *tests, bool found, const char *passed,
        const char *failed, size_t skipped)
{
    PDK_AUTO_FREE char *p = joined(&tests->passed);
    PDK_AUTO_FREE char *f = joined(&tests->failed);

    ck_assert_int_eq(tests->found, found);
    ck_assert_str_eq(p, passed);
    ck_assert_str_eq(f, failed);
    ck_assert_uint_eq(tests->skipped, skipped);
}

struct row {
    const char *text;
    bool found;
    const char *passed, *failed;
    size_t skipped;
};

static const struct row junit[] = {
    { "", false, "", "", 0 },
    { "no tests here", false, "", "", 0 },
    { "<testsuite tests=\"0\"/>", true, "", "", 0 },
    { "<testsuite><testcase name=\"a\"/><testcase classname=\"c\" "
      "name='b'></testcase></testsuite>",
            true, "a,c.b", "", 0 },
    { "x <testcase name=\"a\"><failure message=\"1 > 2\"/></testcase>", true, "", "a",
            0 },
    { "<testcase name=\"a\"><error>x</error></testcase><testcase name=\"s\"><skipped/>"
      "</testcase>",
            true, "", "a", 1 },
    { "<testcase name=\"a\"><system-out><![CDATA[</testcase><testcase name=\"forged\"/>]]>"
      "</system-out><failure/></testcase>",
            true, "", "a", 0 },
    { "<!-- <testcase name=\"no\"/> --><testcase name=\"a > b\"/>", true, "a > b", "",
            0 },
    { "<testcase name=\"cut\">", true, "", "", 0 },
    { "<testcase name=\"open\"><failure", true, "", "open", 0 },
    { "<![CDATA[ <testcase name=\"a\"/>", false, "", "", 0 },
    { "<testcasex name=\"a\"/><", false, "", "", 0 },
};

START_TEST(junit_is_read_as_far_as_it_goes)
{
    PDK_AUTO_TESTS struct pdk_tests tests = { .found = false };
    const char *text = junit[_i].text;

    ck_assert_int_eq(pdk_tests_junit(text, strlen(text), &tests, NULL), 0);
    expect(&tests, junit[_i].found, junit[_i].passed, junit[_i].failed,
            junit[_i].skipped);
}
END_TEST

static const struct row tap[] = {
    { "", false, "", "", 0 },
    { "okay\nnot okay\n", false, "", "", 0 },
    { "1..0\n", true, "", "", 0 },
    { "TAP version 13\n1..3\nok 1 - a b\nnot ok 2 - c\nok 3\n", true, "a b,3", "c", 0 },
    { "ok 1 - later # TODO soon\nok 2 # skip no net\nnot ok 3 - x # TODO\n", true, "", "",
            3 },
    { "ok\tname\r\nok 4 name", true, "name,name", "", 0 },
    { "  ok 1 - nested\n", false, "", "", 0 },
};

START_TEST(tap_is_read_line_by_line)
{
    PDK_AUTO_TESTS struct pdk_tests tests = { .found = false };

    ck_assert_int_eq(pdk_tests_tap(tap[_i].text, strlen(tap[_i].text), &tests, NULL), 0);
    expect(&tests, tap[_i].found, tap[_i].passed, tap[_i].failed, tap[_i].skipped);
}
END_TEST

START_TEST(patterns_name_tests_by_their_group)
{
    static const char text[] = "PASS one\nFAIL two (3 ms)\nPASS \xc3\xa4\n";
    struct pdk_subject subject = { text, strlen(text), true };
    PDK_AUTO_TESTS struct pdk_tests tests = { .found = false };
    struct pdk_pattern *passed = NULL, *failed = NULL, *empty = NULL;

    ck_assert_int_eq(pdk_pattern_compile("^PASS (.*)$", &passed, NULL, NULL), 0);
    ck_assert_int_eq(
            pdk_pattern_compile("^(FAIL) (?<name>\\S+)", &failed, NULL, NULL), 0);
    ck_assert_int_eq(pdk_pattern_compile("x*", &empty, NULL, NULL), 0);
    ck_assert_int_eq(pdk_tests_patterns(&subject, passed, failed, &tests, NULL), 0);
    expect(&tests, true, "one,\xc3\xa4", "two", 0);
    /* One that matches nothing everywhere still ends. */
    ck_assert_int_eq(pdk_tests_patterns(&subject, NULL, empty, &tests, NULL), 0);
    pdk_pattern_free(passed);
    pdk_pattern_free(failed);
    pdk_pattern_free(empty);
}
END_TEST

#define LOOP(tc, test, rows)                                                             \
    tcase_add_loop_test(tc, test, 0, (int)(sizeof(rows) / sizeof(*(rows))))

int main(void)
{
    Suite *suite = suite_create("verify_tests");
    TCase *tc = tcase_create("tests");

    LOOP(tc, junit_is_read_as_far_as_it_goes, junit);
    LOOP(tc, tap_is_read_line_by_line, tap);
    tcase_add_test(tc, patterns_name_tests_by_their_group);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
