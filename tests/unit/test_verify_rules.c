/* What a candidate is held to beside its checks, and what a person says: the fold, as a table. */
#include <check.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/str.h"
#include "tests/support/fixture.h"
#include "verify/replay.h"
#include "verify/verdict.h"

#define PASS "\"verdict\":\"pass\""
#define FAIL "\"verdict\":\"fail\",\"reason\":\"check_failed\""
#define ASK  "\"verdict\":\"abstain\",\"reason\":\"manual_check\""
#define WORD(verdict, waive)                                                             \
    "\"verdict\":\"" verdict "\",\"rationale\":\"r\",\"by\":\"b\",\"waive\":[" waive "]"
#define ROUND(verdict, policy) "\"round\":1,\"of\":1,\"policy\":\"" policy "\"," verdict
#define SMALL                  "\"added\":2,\"deleted\":1,\"files\":1"

static const struct {
    const char *rules, *capture, *check;
    const char *round; /* of confirm.ended; NULL: none */
    const char *word;  /* of manual.verdict; NULL: none */
    const char *verdict, *reason;
} table[] = {
    { "", SMALL, PASS, NULL, NULL, "pass", "" },
    { "\"max_lines\":3", SMALL, PASS, NULL, NULL, "pass", "" },
    { "\"max_lines\":2", SMALL, PASS, NULL, NULL, "abstain", "over_budget" },
    { "\"max_files\":1", SMALL, PASS, NULL, NULL, "pass", "" },
    { "\"max_lines\":2", "\"files\":1", PASS, NULL, NULL, "abstain",
            "budget_not_measured" },
    { "\"max_lines\":2", SMALL, FAIL, NULL, NULL, "fail", "check_failed" },
    { "", "\"outside\":[\"p\"]", PASS, NULL, NULL, "abstain", "over_budget" },
    { "", "\"tampered\":[\"t\"]", PASS, NULL, NULL, "fail", "tampered" },
    { "\"tamper\":\"fail\"", "\"tampered\":[\"t\"]", FAIL, NULL, NULL, "fail",
            "tampered" },
    { "\"tamper\":\"report\"", "\"tampered\":[\"t\"]", PASS, NULL, NULL, "pass", "" },
    { "\"test_first\":true", "\"sources\":1", PASS, NULL, NULL, "fail",
            "untested_change" },
    { "\"test_first\":true", "\"sources\":1,\"tests\":1", PASS, NULL, NULL, "pass", "" },
    { "", "\"sources\":1", PASS, NULL, NULL, "pass", "" },
    { "", SMALL, PASS, ROUND(PASS, "all"), NULL, "pass", "" },
    { "", SMALL, PASS, ROUND(FAIL, "all"), NULL, "abstain", "flaky" },
    { "", SMALL, PASS, ROUND(FAIL, "majority"), NULL, "abstain", "flaky" },
    { "", SMALL, PASS, ROUND(FAIL, "any"), NULL, "pass", "" },
    { "", SMALL, PASS, ROUND("\"verdict\":\"abstain\",\"reason\":\"canceled\"", "all"),
            NULL, "abstain", "not_confirmed" },
    { "", SMALL, FAIL, ROUND(PASS, "any"), NULL, "fail", "check_failed" },
    { "", SMALL, ASK, NULL, WORD("pass", ""), "pass", "" },
    { "", SMALL, FAIL, NULL, WORD("pass", ""), "fail", "check_failed" },
    { "", SMALL, FAIL, NULL, WORD("pass", "\"other\""), "fail", "check_failed" },
    { "", SMALL, FAIL, NULL, WORD("pass", "\"k\""), "pass", "" },
    { "", SMALL, PASS, NULL, WORD("needs-attention", ""), "abstain", "needs_attention" },
    { "", SMALL, FAIL, NULL, WORD("needs-attention", ""), "fail", "check_failed" },
    { "", SMALL, PASS, NULL, WORD("needs-remediation", ""), "fail", "needs_remediation" },
    { "", "\"tampered\":[\"t\"]", PASS, NULL, WORD("pass", ""), "fail", "tampered" },
};

static void add_event(struct pdk_buf *log, const char *type, const char *body)
{
    pdk_buf_addf(log,
            "{\"run\":\"r\",\"task\":\"t\",\"candidate\":1,\"attempt\":1,\"type\":\"%s\","
            "\"body\":{%s}}\n",
            type, body);
}

START_TEST(rules_rounds_and_words)
{
    PDK_AUTO_BUF struct pdk_buf log = PDK_BUF_INIT;
    PDK_AUTO_FOLD struct pdk_fold *fold = pdk_fold_new();
    PDK_AUTO_FREE char *planned =
            pdk_strf("\"checks\":[\"k\"],\"rules\":{%s}", table[_i].rules);
    PDK_AUTO_FREE char *captured =
            pdk_strf("\"tree\":\"x\",\"changed\":true,%s", table[_i].capture);
    PDK_AUTO_FREE char *ended = pdk_strf(
            "\"name\":\"k\",\"index\":0,\"severity\":\"block\",%s", table[_i].check);
    struct pdk_judgement j;

    add_event(&log, "candidate.planned", planned);
    add_event(&log, "capture.done", captured);
    add_event(&log, "check.ended", ended);
    if (table[_i].round)
        add_event(&log, "confirm.ended", table[_i].round);
    if (table[_i].word)
        add_event(&log, "manual.verdict", table[_i].word);
    ck_assert_int_eq(pdk_replay(fold, pdk_buf_str(&log), log.len, NULL), 0);
    ck_assert_int_eq(pdk_fold_candidate(fold, "t", 1, &j, NULL), 0);
    ck_assert_str_eq(pdk_verdict_name(j.verdict), table[_i].verdict);
    ck_assert_str_eq(pdk_reason_name(j.reason), table[_i].reason);
}
END_TEST

START_TEST(a_document_is_the_same_whenever_it_is_made)
{
    static const char log[] =
            "{\"run\":\"r\",\"task\":\"t\",\"candidate\":1,\"type\":\"candidate.planned\","
            "\"body\":{\"checks\":[]}}\n\n{\"run\":\"r\",\"type\":\"of.later\"}\n";
    PDK_AUTO_FOLD struct pdk_fold *fold = pdk_fold_new();
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    ck_assert_int_eq(pdk_replay(fold, log, strlen(log), NULL), 0);
    doc = pdk_fold_json(fold);
    ck_assert_int_eq(pdk_json_write(doc, PDK_JSON_COMPACT, &text, NULL), 0);
    ck_assert_str_eq(pdk_buf_str(&text),
            "{\"verdict\":\"abstain\",\"reason\":\"not_judged\",\"detail\":\"\","
            "\"schema_version\":1,\"tasks\":[{\"id\":\"t\",\"verdict\":\"abstain\","
            "\"reason\":\"not_judged\",\"detail\":\"\",\"candidates\":[{\"id\":\"c1\","
            "\"verdict\":\"abstain\",\"reason\":\"not_judged\",\"detail\":\"\"}]}]}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify_rules");
    TCase *tc = tcase_create("rules");

    tcase_add_loop_test(
            tc, rules_rounds_and_words, 0, (int)(sizeof(table) / sizeof(*table)));
    tcase_add_test(tc, a_document_is_the_same_whenever_it_is_made);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
