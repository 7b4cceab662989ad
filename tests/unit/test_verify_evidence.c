/* One check's evidence and its outcome. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "plan/plan.h"
#include "sandbox/protocol.h"
#include "tests/support/fixture.h"
#include "verify/evidence.h"

/* A check, the result of its command and what it wrote; tests change what they are about. */
struct scene {
    struct pdk_check check;
    struct pdk_exec_result result;
    const char *out, *err; /* NULL: no such file */
    size_t out_len;        /* 0: strlen */
};

static void scene_init(struct scene *s, const char *line)
{
    *s = (struct scene){ .out = "", .err = "" };
    s->check.name = strdup("unit");
    s->check.timeout_ms = 1000;
    s->check.expect.has_exit = true;
    s->check.run.shell = true;
    if (!line)
        return;
    pdk_strv_add(&s->check.run.argv, "sh");
    pdk_strv_add(&s->check.run.argv, "-c");
    pdk_strv_add(&s->check.run.argv, line);
}

static void scene_fini(struct scene *s)
{
    free(s->check.name);
    pdk_strv_fini(&s->check.run.argv);
    pdk_strv_fini(&s->check.expect.out);
    pdk_strv_fini(&s->check.expect.err);
    pdk_strv_fini(&s->check.expect.not_out);
    pdk_strv_fini(&s->check.expect.not_err);
}

static void judge(struct scene *s, struct pdk_outcome *out)
{
    PDK_AUTO_FREE char *out_path = pdk_test_path("out");
    PDK_AUTO_FREE char *err_path = pdk_test_path("err");
    PDK_AUTO_PATTERNS struct pdk_patterns *patterns = NULL;
    struct pdk_evidence evidence = { &s->result, out_path, err_path, NULL };
    struct pdk_err err = PDK_ERR_INIT;

    if (s->out)
        pdk_test_write(out_path, s->out, s->out_len ? s->out_len : strlen(s->out));
    if (s->err)
        pdk_test_write_text(err_path, s->err);
    ck_assert_msg(pdk_patterns_compile(&s->check, &patterns, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(pdk_evidence_judge(&s->check, patterns, &evidence, out, NULL), 0);
    pdk_test_remove(out_path);
    pdk_test_remove(err_path);
}

static void expect(struct scene *s, enum pdk_reason reason)
{
    struct pdk_outcome out;

    judge(s, &out);
    ck_assert_msg(out.judgement.reason == reason, "%s (%s), not %s",
            pdk_reason_name(out.judgement.reason), out.judgement.detail,
            pdk_reason_name(reason));
    ck_assert_int_eq(out.judgement.verdict, pdk_reason_verdict(reason));
    ck_assert(
            reason == PDK_REASON_NONE || pdk_starts_with(out.judgement.detail, "unit: "));
}

START_TEST(exit_codes_and_signals)
{
    int declared[] = { 77 };
    struct scene s;

    scene_init(&s, "make test");
    s.check.abstain_exit = declared;
    s.check.abstain_exit_len = 1;
    expect(&s, PDK_REASON_NONE);
    s.result.exit_code = 1;
    expect(&s, PDK_REASON_CHECK_FAILED);
    s.check.expect.exit = 1;
    expect(&s, PDK_REASON_NONE);
    s.result.exit_code = 77;
    expect(&s, PDK_REASON_ABSTAIN_EXIT);
    s.result.exit_code = 9;
    s.check.expect.has_exit = false;
    expect(&s, PDK_REASON_NONE);
    s.result.exit_code = -1;
    s.result.signal = SIGSEGV;
    expect(&s, PDK_REASON_CHECK_FAILED);
    scene_fini(&s);
}
END_TEST

START_TEST(a_manual_check_abstains_without_evidence)
{
    PDK_AUTO_PATTERNS struct pdk_patterns *patterns = NULL;
    struct pdk_outcome out;
    struct scene s;

    scene_init(&s, NULL);
    ck_assert_int_eq(pdk_patterns_compile(&s.check, &patterns, NULL), 0);
    ck_assert_int_eq(pdk_evidence_judge(&s.check, patterns, NULL, &out, NULL), 0);
    ck_assert_int_eq(out.judgement.reason, PDK_REASON_MANUAL_CHECK);
    scene_fini(&s);
}
END_TEST

START_TEST(no_result_means_that_the_agent_was_lost)
{
    PDK_AUTO_PATTERNS struct pdk_patterns *patterns = NULL;
    struct pdk_evidence none = { NULL, NULL, NULL, NULL };
    struct pdk_outcome out;
    struct scene s;

    scene_init(&s, "true");
    ck_assert_int_eq(pdk_patterns_compile(&s.check, &patterns, NULL), 0);
    ck_assert_int_eq(pdk_evidence_judge(&s.check, patterns, &none, &out, NULL), 0);
    ck_assert_int_eq(out.judgement.reason, PDK_REASON_AGENT_LOST);
    scene_fini(&s);
}
END_TEST

START_TEST(interruptions_have_reasons_in_this_order)
{
    struct scene s;

    scene_init(&s, "make test");
    s.result.exit_code = 1;
    s.result.timed_out = true;
    expect(&s, PDK_REASON_CHECK_TIMED_OUT);
    s.check.on_timeout = PDK_ON_TIMEOUT_ABSTAIN;
    expect(&s, PDK_REASON_TIMEOUT_NOT_JUDGED);
    s.result.oom = true;
    expect(&s, PDK_REASON_OUT_OF_MEMORY);
    s.result.start = PDK_EXEC_NO_COMMAND;
    s.result.start_errno = ENOENT;
    expect(&s, PDK_REASON_SPAWN_FAILED);
    s.result.start = PDK_EXEC_NO_CWD;
    expect(&s, PDK_REASON_SPAWN_FAILED);
    s.result.start = PDK_EXEC_NO_SPAWN;
    s.result.start_errno = ENOSPC;
    expect(&s, PDK_REASON_DISK_FULL);
    s.result.canceled = true;
    expect(&s, PDK_REASON_CANCELED);
    s.result.root_gone = true;
    expect(&s, PDK_REASON_SANDBOX_LOST);
    scene_fini(&s);
}
END_TEST

START_TEST(a_shell_that_found_nothing_did_not_start_the_check)
{
    static const struct {
        const char *line, *err;
        enum pdk_reason reason;
    } cases[] = {
        { "/no/such/cmd", "sh: 1: /no/such/cmd: not found\n", PDK_REASON_SPAWN_FAILED },
        { "nocmd -x 1", "sh: line 1: nocmd: command not found\n",
                PDK_REASON_SPAWN_FAILED },
        { "/a/b", "sh: /a/b: No such file or directory", PDK_REASON_SPAWN_FAILED },
        { "make test", "make: nope: not found\n", PDK_REASON_CHECK_FAILED },
        { "nocmd; true", "sh: 1: nocmd: not found\n", PDK_REASON_CHECK_FAILED },
        { "nocmd", "sh: 1: nocmd: not found\nand more\n", PDK_REASON_CHECK_FAILED },
        { "nocmd", "", PDK_REASON_CHECK_FAILED },
        { "cmd", "sh: 1: nocmd: not found\n", PDK_REASON_CHECK_FAILED },
        { "", "sh: 1: : not found\n", PDK_REASON_CHECK_FAILED },
        { "nocmd", NULL, PDK_REASON_CHECK_FAILED },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct scene s;
        scene_init(&s, cases[i].line);
        s.result.exit_code = 127;
        s.err = cases[i].err;
        expect(&s, cases[i].reason);
        s.check.run.shell = false;
        expect(&s, PDK_REASON_CHECK_FAILED);
        s.check.run.shell = true;
        s.result.exit_code = 126;
        expect(&s, PDK_REASON_CHECK_FAILED);
        scene_fini(&s);
    }
}
END_TEST

START_TEST(patterns_match_at_lines_of_both_streams)
{
    struct scene s;
    struct pdk_outcome out;

    scene_init(&s, "make test");
    s.out = "running\r\nOK\r\ndone";
    s.err = "note: fine\n";
    pdk_strv_add(&s.check.expect.out, "^OK$");
    pdk_strv_add(&s.check.expect.out, "(?s)running.*done\\z");
    pdk_strv_add(&s.check.expect.err, "^note");
    pdk_strv_add(&s.check.expect.not_err, "warning:");
    pdk_strv_add(&s.check.expect.not_out, "(?i)fail");
    expect(&s, PDK_REASON_NONE);
    s.err = "note: x\nwarning: y\n";
    judge(&s, &out);
    ck_assert_int_eq(out.judgement.reason, PDK_REASON_OUTPUT_MISMATCH);
    ck_assert_str_eq(out.judgement.detail, "unit: stderr matches /warning:/");
    ck_assert_ptr_eq(out.pattern, s.check.expect.not_err.items[0]);
    s.out = "OKAY";
    judge(&s, &out);
    ck_assert_str_eq(out.judgement.detail, "unit: stdout does not match /^OK$/");
    ck_assert_ptr_eq(out.pattern, s.check.expect.out.items[0]);
    scene_fini(&s);
}
END_TEST

START_TEST(valid_text_matches_by_character_and_other_bytes_by_byte)
{
    struct scene s;

    scene_init(&s, "x");
    s.out = "\xc3\xa9";
    pdk_strv_add(&s.check.expect.out, "^.$");
    expect(&s, PDK_REASON_NONE);
    s.out = "\xff\xfe";
    expect(&s, PDK_REASON_OUTPUT_MISMATCH);
    s.out = "\xff";
    expect(&s, PDK_REASON_NONE);
    s.out = "a\0b";
    s.out_len = 3;
    pdk_strv_add(&s.check.expect.not_out, "b");
    expect(&s, PDK_REASON_OUTPUT_MISMATCH);
    scene_fini(&s);
    scene_init(&s, "x");
    s.out = "\xff";
    pdk_strv_add(&s.check.expect.out, "\xff"); /* a pattern of bytes */
    expect(&s, PDK_REASON_NONE);
    scene_fini(&s);
}
END_TEST

START_TEST(a_match_far_into_the_output_is_found)
{
    enum { SIZE = 300000 };
    PDK_AUTO_FREE char *text = malloc(SIZE + 1);
    struct scene s;

    scene_init(&s, "x");
    for (size_t i = 0; i < SIZE; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    memcpy(text + 299997, "yes", 4);
    s.out = text;
    pdk_strv_add(&s.check.expect.out, "(?<=\xe2\x82\xac)yes\\z");
    expect(&s, PDK_REASON_NONE);
    scene_fini(&s);
}
END_TEST

START_TEST(what_was_dropped_cannot_be_judged)
{
    struct scene s;

    scene_init(&s, "x");
    s.out = "head\ntail";
    s.result.out_dropped = 10;
    pdk_strv_add(&s.check.expect.out, "head");
    expect(&s, PDK_REASON_NONE);
    pdk_strv_add(&s.check.expect.not_out, "error");
    expect(&s, PDK_REASON_OUTPUT_TRUNCATED);
    pdk_strv_add(&s.check.expect.out, "middle");
    expect(&s, PDK_REASON_OUTPUT_TRUNCATED);
    pdk_strv_add(&s.check.expect.not_out, "tail"); /* a determinate failure */
    expect(&s, PDK_REASON_OUTPUT_MISMATCH);
    scene_fini(&s);
}
END_TEST

START_TEST(an_output_that_cannot_be_read_abstains_only_when_asked)
{
    struct scene s;

    scene_init(&s, "x");
    s.out = NULL;
    pdk_strv_add(&s.check.expect.err, "bad");
    s.err = "bad";
    expect(&s, PDK_REASON_NONE);
    pdk_strv_add(&s.check.expect.out, "x");
    expect(&s, PDK_REASON_OUTPUT_UNREADABLE);
    s.err = "good"; /* determinate, and found after it */
    expect(&s, PDK_REASON_OUTPUT_MISMATCH);
    scene_fini(&s);
}
END_TEST

START_TEST(a_pattern_that_explodes_is_not_judged)
{
    struct scene s;

    scene_init(&s, "x");
    s.out = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
    pdk_strv_add(&s.check.expect.out, "^(a+)+$");
    expect(&s, PDK_REASON_OUTPUT_NOT_JUDGED);
    pdk_strv_add(&s.check.expect.not_out, "^a"); /* still a determinate failure */
    expect(&s, PDK_REASON_OUTPUT_MISMATCH);
    scene_fini(&s);
}
END_TEST

START_TEST(a_bad_pattern_is_told_with_its_place)
{
    PDK_AUTO_PATTERNS struct pdk_patterns *patterns = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    struct scene s;
    size_t offset = 99;

    ck_assert_int_eq(pdk_pattern_check("^ok(", &offset, &err), PDK_EINVAL);
    ck_assert_uint_eq(offset, 4);
    ck_assert_ptr_nonnull(strstr(err.msg, "offset 4"));
    ck_assert_int_eq(pdk_pattern_check("\\C", NULL, &err), PDK_EINVAL);
    ck_assert_int_eq(pdk_pattern_check("^ok", &offset, &err), 0);
    scene_init(&s, "x");
    pdk_strv_add(&s.check.expect.err, "fine");
    pdk_strv_add(&s.check.expect.not_err, "[");
    ck_assert_int_eq(pdk_patterns_compile(&s.check, &patterns, &err), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "'['"));
    ck_assert_ptr_null(patterns);
    scene_fini(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify evidence");
    TCase *tc = tcase_create("evidence");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, exit_codes_and_signals);
    tcase_add_test(tc, a_manual_check_abstains_without_evidence);
    tcase_add_test(tc, no_result_means_that_the_agent_was_lost);
    tcase_add_test(tc, interruptions_have_reasons_in_this_order);
    tcase_add_test(tc, a_shell_that_found_nothing_did_not_start_the_check);
    tcase_add_test(tc, patterns_match_at_lines_of_both_streams);
    tcase_add_test(tc, valid_text_matches_by_character_and_other_bytes_by_byte);
    tcase_add_test(tc, a_match_far_into_the_output_is_found);
    tcase_add_test(tc, what_was_dropped_cannot_be_judged);
    tcase_add_test(tc, an_output_that_cannot_be_read_abstains_only_when_asked);
    tcase_add_test(tc, a_pattern_that_explodes_is_not_judged);
    tcase_add_test(tc, a_bad_pattern_is_told_with_its_place);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
