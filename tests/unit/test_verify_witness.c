/* What the base's checks mean for a candidate: a table. */
#include <check.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/str.h"
#include "tests/support/fixture.h"
#include "verify/witness.h"

static struct pdk_json *parse(const char *text)
{
    struct pdk_json *made = NULL;

    ck_assert_int_eq(pdk_json_parse(text, strlen(text), &made, NULL), 0);
    return made;
}

#define CHECK(verdict, reason, more)                                                     \
    "{\"name\":\"k\",\"severity\":\"block\",\"verdict\":\"" verdict                      \
    "\",\"reason\":" reason more "}"
#define PASS      CHECK("pass", "null", "")
#define FAIL(m)   CHECK("fail", "\"check_failed\"", ",\"fingerprint\":\"" m "\"")
#define LATE      CHECK("fail", "\"check_timed_out\"", ",\"fingerprint\":\"x\"")
#define NO_START  CHECK("abstain", "\"spawn_failed\"", "")
#define GONE_TEST CHECK("pass", "null", ",\"tests\":{\"missing\":[\"t\"]}")

static const struct {
    const char *mode, *base, *own;
    enum pdk_reason own_reason; /* of the check alone */
    enum pdk_reason compared;   /* of the check, before the base */
    enum pdk_reason judged;     /* of a candidate that would pass */
} table[] = {
    { "fail", FAIL("x"), PASS, PDK_REASON_NONE, PDK_REASON_NONE, PDK_REASON_NONE },
    { "fail", PASS, PASS, PDK_REASON_NONE, PDK_REASON_NONE, PDK_REASON_NO_FLIP },
    { "fail", LATE, PASS, PDK_REASON_NONE, PDK_REASON_NONE,
            PDK_REASON_BASELINE_NOT_OBSERVED },
    { "fail", NO_START, PASS, PDK_REASON_NONE, PDK_REASON_NONE,
            PDK_REASON_BASELINE_NOT_OBSERVED },
    { "fail", FAIL("x"), FAIL("x"), PDK_REASON_CHECK_FAILED,
            PDK_REASON_WITNESS_UNSATISFIABLE, PDK_REASON_NO_FLIP },
    { "fail", FAIL("x"), FAIL("y"), PDK_REASON_CHECK_FAILED, PDK_REASON_CHECK_FAILED,
            PDK_REASON_NO_FLIP },
    { "fail", FAIL("x"), NO_START, PDK_REASON_SPAWN_FAILED, PDK_REASON_SPAWN_FAILED,
            PDK_REASON_NO_FLIP },
    { "fail", FAIL("x"), GONE_TEST, PDK_REASON_NONE, PDK_REASON_TESTS_MISSING,
            PDK_REASON_NO_FLIP },
    { "fail", NULL, PASS, PDK_REASON_NONE, PDK_REASON_NONE,
            PDK_REASON_BASELINE_NOT_OBSERVED },
    { "pass", PASS, PASS, PDK_REASON_NONE, PDK_REASON_NONE, PDK_REASON_NONE },
    { "pass", PASS, FAIL("x"), PDK_REASON_CHECK_FAILED, PDK_REASON_CHECK_FAILED,
            PDK_REASON_NONE },
    { "pass", FAIL("x"), PASS, PDK_REASON_NONE, PDK_REASON_NONE,
            PDK_REASON_BASELINE_BROKEN },
    { "pass", FAIL("x"), FAIL("x"), PDK_REASON_CHECK_FAILED, PDK_REASON_BASELINE_BROKEN,
            PDK_REASON_BASELINE_BROKEN },
    { "pass", LATE, PASS, PDK_REASON_NONE, PDK_REASON_NONE,
            PDK_REASON_BASELINE_NOT_OBSERVED },
    { "skip", FAIL("x"), FAIL("x"), PDK_REASON_CHECK_FAILED, PDK_REASON_CHECK_FAILED,
            PDK_REASON_NONE },
};

START_TEST(every_pair_of_before_and_after)
{
    PDK_AUTO_FREE char *ask = pdk_strf("{\"baseline\":\"%s\"}", table[_i].mode);
    PDK_AUTO_FREE char *seen =
            pdk_strf("{\"checks\":[%s]}", table[_i].base ? table[_i].base : "");
    PDK_AUTO_JSON struct pdk_json *planned = parse(ask);
    PDK_AUTO_JSON struct pdk_json *ended = parse(seen);
    PDK_AUTO_JSON struct pdk_json *own = parse(table[_i].own);
    struct pdk_witness witness = { .mode = PDK_WITNESS_SKIP };
    enum pdk_reason reason = table[_i].own_reason;
    const char *check;
    size_t flips;

    pdk_witness_ask(&witness, planned);
    if (table[_i].base)
        ck_assert_int_eq(pdk_witness_take(&witness, ended, NULL), 0);
    flips = pdk_witness_compare(&witness, own, &reason);
    ck_assert_int_eq((int)reason, (int)table[_i].compared);
    ck_assert_int_eq(
            (int)pdk_witness_judge(&witness, flips, &check), (int)table[_i].judged);
    pdk_witness_fini(&witness);
}
END_TEST

START_TEST(a_check_that_only_warns_is_no_witness)
{
    PDK_AUTO_JSON struct pdk_json *planned = parse("{\"baseline\":\"fail\"}");
    PDK_AUTO_JSON struct pdk_json *ended =
            parse("{\"checks\":[{\"name\":\"k\",\"severity\":\"warn\","
                  "\"verdict\":\"fail\",\"reason\":\"check_failed\"}]}");
    struct pdk_witness witness = { .mode = PDK_WITNESS_SKIP };
    const char *check;

    pdk_witness_ask(&witness, planned);
    ck_assert_int_eq(pdk_witness_take(&witness, ended, NULL), 0);
    ck_assert_int_eq((int)pdk_witness_judge(&witness, 0, &check),
            (int)PDK_REASON_BASELINE_NOT_OBSERVED);
    pdk_witness_fini(&witness);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify_witness");
    TCase *tc = tcase_create("witness");

    tcase_add_loop_test(
            tc, every_pair_of_before_and_after, 0, (int)(sizeof(table) / sizeof(*table)));
    tcase_add_test(tc, a_check_that_only_warns_is_no_witness);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
