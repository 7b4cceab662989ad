/* exec's request and result on the wire: there and back, and nothing believed that is not in form. */
#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "sandbox/protocol.h"
#include "tests/support/fixture.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

static struct pdk_json *parse(const char *text)
{
    struct pdk_json *v = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(
            pdk_json_parse(text, strlen(text), &v, &err) == 0, "%s: %s", text, err.msg);
    return v;
}

/* The members as an object. */
static struct pdk_json *parse_with(const char *members)
{
    PDK_AUTO_FREE char *text = pdk_strf("{%s}", members);

    return parse(text);
}

/* v as text and back: what really travels. */
static struct pdk_json *travel(const struct pdk_json *v)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    ck_assert_int_eq(pdk_json_write(v, PDK_JSON_COMPACT, &text, NULL), 0);
    return parse(text.data);
}

static void expect_words(const struct pdk_strv *got, const struct pdk_strv *wanted)
{
    ck_assert_uint_eq(got->len, wanted->len);
    for (size_t i = 0; i < got->len; i++)
        ck_assert_str_eq(got->items[i], wanted->items[i]);
}

START_TEST(a_request_with_odd_bytes_comes_back_as_it_was)
{
    char cwd[] = "d\xfe/e", log[] = "stem", nonce[] = "n-1";
    struct pdk_exec_request r = { .cwd = cwd,
        .timeout_ms = 5000,
        .graces = { 1, 2, 3 },
        .log = log,
        .output_cap = 77,
        .nonce = nonce };
    struct pdk_exec_request back = { 0 };
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    PDK_AUTO_JSON struct pdk_json *there = NULL;

    pdk_strv_add(&r.argv, "printf");
    pdk_strv_add(&r.argv, "");
    pdk_strv_add(&r.argv, "a \xff\x01\n\"\xc3\xa4");
    pdk_strv_add(&r.env, "X=\x80");
    ck_assert_int_eq(pdk_exec_request_to_json(&r, &v, NULL), 0);
    there = travel(v);
    ck_assert_int_eq(pdk_exec_request_from_json(there, &back, NULL), 0);
    expect_words(&back.argv, &r.argv);
    expect_words(&back.env, &r.env);
    ck_assert_str_eq(back.cwd, cwd);
    ck_assert_str_eq(back.log, log);
    ck_assert_str_eq(back.nonce, nonce);
    ck_assert_int_eq(back.timeout_ms, 5000);
    ck_assert_int_eq(back.output_cap, 77);
    ck_assert_int_eq(
            back.graces.int_ms + back.graces.term_ms * 10 + back.graces.kill_ms * 100,
            321);
    pdk_exec_request_fini(&back);
    pdk_strv_fini(&r.argv);
    pdk_strv_fini(&r.env);
}
END_TEST

START_TEST(every_single_byte_travels_in_a_word)
{
    struct pdk_exec_request r = { .nonce = (char[]){ "n" } }, back = { 0 };
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    PDK_AUTO_JSON struct pdk_json *there = NULL;

    for (int byte = 1; byte < 256; byte++)
        pdk_strv_add(&r.argv, (char[]){ 'w', (char)byte, 0 });
    ck_assert_int_eq(pdk_exec_request_to_json(&r, &v, NULL), 0);
    there = travel(v);
    ck_assert_int_eq(pdk_exec_request_from_json(there, &back, NULL), 0);
    expect_words(&back.argv, &r.argv);
    pdk_exec_request_fini(&back);
    pdk_strv_fini(&r.argv);
}
END_TEST

START_TEST(what_a_request_may_leave_out_has_its_default)
{
    PDK_AUTO_JSON struct pdk_json *v =
            parse("{\"argv\":[\"x\"],\"env\":[],\"nonce\":\"n\"}");
    struct pdk_exec_request r = { 0 };
    static const struct pdk_graces usual = PDK_GRACES_DEFAULT;

    ck_assert_int_eq(pdk_exec_request_from_json(v, &r, NULL), 0);
    ck_assert_ptr_null(r.cwd);
    ck_assert_ptr_null(r.log);
    ck_assert_int_eq(r.timeout_ms, 0);
    ck_assert_int_eq(r.output_cap, 0);
    ck_assert_int_eq(r.graces.term_ms, usual.term_ms);
    pdk_exec_request_fini(&r);
}
END_TEST

#define LONG_NONCE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ARGV       "\"argv\":[\"x\"],"
#define ENV        "\"env\":[],"
#define NONCE      "\"nonce\":\"n\""

static const char *const bad_requests[] = {
    ENV NONCE,
    ARGV NONCE,
    ARGV "\"env\":[]",
    "\"argv\":[]," ENV NONCE,
    "\"argv\":\"x\"," ENV NONCE,
    "\"argv\":[1]," ENV NONCE,
    "\"argv\":[null]," ENV NONCE,
    "\"argv\":[[\"x\"]]," ENV NONCE,
    "\"argv\":[\"a\\u0000b\"]," ENV NONCE,
    "\"argv\":[{}]," ENV NONCE,
    "\"argv\":[{\"word\":5}]," ENV NONCE,
    "\"argv\":[{\"word\":\"x\",\"word_base64\":\"!\"}]," ENV NONCE,
    "\"argv\":[{\"word\":\"x\",\"word_base64\":\"AGE=\"}]," ENV NONCE,
    ARGV "\"env\":{}," NONCE,
    ARGV ENV "\"nonce\":\"\"",
    ARGV ENV "\"nonce\":null",
    ARGV ENV "\"nonce\":7",
    ARGV ENV "\"nonce\":\"a\\u0000b\"",
    ARGV ENV "\"nonce\":\"" LONG_NONCE "0\"",
    ARGV ENV NONCE ",\"cwd\":5",
    ARGV ENV NONCE ",\"cwd\":\"a\\u0000\"",
    ARGV ENV NONCE ",\"log\":[]",
    ARGV ENV NONCE ",\"timeout_ms\":\"5000\"",
    ARGV ENV NONCE ",\"timeout_ms\":5000.0",
    ARGV ENV NONCE ",\"timeout_ms\":null",
    ARGV ENV NONCE ",\"timeout_ms\":-1",
    ARGV ENV NONCE ",\"timeout_ms\":9223372036854775807",
    ARGV ENV NONCE ",\"output_cap\":true",
    ARGV ENV NONCE ",\"graces\":[]",
    ARGV ENV NONCE ",\"graces\":{\"int_ms\":\"1\"}",
    ARGV ENV NONCE ",\"graces\":{\"term_ms\":-1}",
    ARGV ENV NONCE ",\"graces\":{\"kill_ms\":false}",
};

START_TEST(a_request_out_of_form_is_refused)
{
    PDK_AUTO_JSON struct pdk_json *v = parse_with(bad_requests[_i]);
    struct pdk_exec_request r = { .timeout_ms = 99 };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_exec_request_from_json(v, &r, &err) == PDK_EINVAL, "taken: %s",
            bad_requests[_i]);
    ck_assert_int_eq(err.code, PDK_EINVAL);
    ck_assert_int_eq(r.timeout_ms, 99);
    ck_assert_ptr_null(r.argv.items);
}
END_TEST

START_TEST(a_nonce_of_sixty_four_bytes_is_taken)
{
    PDK_AUTO_JSON struct pdk_json *v =
            parse_with(ARGV ENV "\"nonce\":\"" LONG_NONCE "\"");
    struct pdk_exec_request r = { 0 };

    ck_assert_int_eq(pdk_exec_request_from_json(v, &r, NULL), 0);
    ck_assert_str_eq(r.nonce, LONG_NONCE);
    pdk_exec_request_fini(&r);
}
END_TEST

/* ---- results */

static const struct pdk_exec_result full = {
    .nonce = LONG_NONCE,
    .start = PDK_EXEC_STARTED,
    .exit_code = -1,
    .signal = 9,
    .timed_out = true,
    .oom = true,
    .stragglers = 3,
    .leaked = 1,
    .duration_ms = INT64_C(1) << 40,
    .cpu_ms = 12,
    .max_rss_kb = 13,
    .out_bytes = UINT64_C(1) << 62,
    .out_dropped = 14,
    .err_bytes = 15,
    .err_dropped = 16,
    .spool_failed = true,
};

START_TEST(a_result_comes_back_as_it_was)
{
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    PDK_AUTO_JSON struct pdk_json *there = NULL;
    PDK_AUTO_JSON struct pdk_json *again = NULL;
    struct pdk_exec_result back;

    ck_assert_int_eq(pdk_exec_result_to_json(&full, &v, NULL), 0);
    there = travel(v);
    ck_assert_int_eq(pdk_exec_result_from_json(there, &back, NULL), 0);
    ck_assert_int_eq(pdk_exec_result_to_json(&back, &again, NULL), 0);
    ck_assert(pdk_json_equal(v, again));
    ck_assert_str_eq(back.nonce, LONG_NONCE);
    ck_assert(back.timed_out && !back.canceled && back.oom && !back.root_gone);
    ck_assert_uint_eq(back.out_bytes, full.out_bytes);
}
END_TEST

START_TEST(nothing_ran_is_a_result_of_its_own)
{
    for (int start = PDK_EXEC_NO_COMMAND; start <= PDK_EXEC_NO_SPAWN; start++) {
        struct pdk_exec_result r = {
            .start = (enum pdk_exec_start)start, .start_errno = 2, .exit_code = -1
        };
        PDK_AUTO_JSON struct pdk_json *v = NULL;
        struct pdk_exec_result back;

        ck_assert_int_eq(pdk_exec_result_to_json(&r, &v, NULL), 0);
        ck_assert_int_eq(pdk_exec_result_from_json(v, &back, NULL), 0);
        ck_assert_int_eq((int)back.start, start);
        ck_assert_int_eq(back.start_errno, 2);
    }
}
END_TEST

/* A member of a good result (exit 0), and what it must not be. */
static const struct {
    const char *key, *value; /* value NULL: the member is missing */
} bad_results[] = {
    { "nonce", NULL },
    { "nonce", "5" },
    { "nonce", "\"" LONG_NONCE "0\"" },
    { "nonce", "\"n\\u0000\"" },
    { "start", NULL },
    { "start", "\"\"" },
    { "start", "\"begun\"" },
    { "start", "0" },
    { "start", "\"no_command\"" }, /* with exit code 0 */
    { "start_errno", "-1" },
    { "start_errno", NULL },
    { "exit_code", NULL },
    { "exit_code", "\"0\"" },
    { "exit_code", "256" },
    { "exit_code", "-1" }, /* without a signal */
    { "exit_code", "0.0" },
    { "exit_code", "null" },
    { "signal", NULL },
    { "signal", "9" }, /* with an exit code */
    { "signal", "65" },
    { "signal", "-1" },
    { "timed_out", NULL },
    { "timed_out", "0" },
    { "canceled", NULL },
    { "canceled", "\"false\"" },
    { "oom", NULL },
    { "oom", "null" },
    { "root_gone", NULL },
    { "root_gone", "[]" },
    { "spool_failed", NULL },
    { "spool_failed", "1" },
    { "stragglers", "-1" },
    { "stragglers", "2147483648" },
    { "leaked", NULL },
    { "duration_ms", "-1" },
    { "duration_ms", "\"1\"" },
    { "cpu_ms", NULL },
    { "max_rss_kb", "-5" },
    { "out_bytes", "-1" },
    { "out_dropped", "-1" },
    { "out_dropped", NULL },
    { "err_bytes", "true" },
    { "err_dropped", "0.5" },
    { "err_dropped", NULL },
};

struct rebuild {
    struct pdk_json *to;
    const char *key;
    struct pdk_json *value; /* borrowed */
};

static int copy_member(const char *key, struct pdk_json *value, void *user)
{
    struct rebuild *r = user;
    struct pdk_json *put = strcmp(key, r->key) == 0 ? r->value : value;

    return put ? pdk_json_set(r->to, key, pdk_json_ref(put)) : 0;
}

/* A good result but for that member. */
static struct pdk_json *spoil(const char *key, const char *value)
{
    struct pdk_exec_result good = { .nonce = "n" };
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    PDK_AUTO_FREE char *boxed = value ? pdk_strf("[%s]", value) : NULL;
    PDK_AUTO_JSON struct pdk_json *box = boxed ? parse(boxed) : NULL;
    struct rebuild r = { pdk_json_object(), key, pdk_json_at(box, 0) };

    ck_assert_int_eq(pdk_exec_result_to_json(&good, &v, NULL), 0);
    ck_assert_ptr_nonnull(pdk_json_get(v, key));
    ck_assert_int_eq(pdk_json_each(v, copy_member, &r), 0);
    return r.to;
}

START_TEST(a_result_out_of_form_is_not_believed)
{
    PDK_AUTO_JSON struct pdk_json *v = spoil(bad_results[_i].key, bad_results[_i].value);
    struct pdk_exec_result r = { .exit_code = 99 };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_exec_result_from_json(v, &r, &err) == PDK_EPROTO,
            "believed: %s = %s", bad_results[_i].key,
            bad_results[_i].value ? bad_results[_i].value : "(missing)");
    ck_assert_int_eq(r.exit_code, 99);
}
END_TEST

START_TEST(members_of_a_later_version_are_not_in_the_way)
{
    PDK_AUTO_JSON struct pdk_json *v = spoil("leaked", "0");
    struct pdk_exec_result r;

    (void)pdk_json_set_str(v, "later", "x");
    ck_assert_int_eq(pdk_exec_result_from_json(v, &r, NULL), 0);
}
END_TEST

START_TEST(a_result_that_is_no_object_is_not_believed)
{
    PDK_AUTO_JSON struct pdk_json *v = parse("[1]");
    struct pdk_exec_result r;

    ck_assert_int_eq(pdk_exec_result_from_json(v, &r, NULL), PDK_EPROTO);
    ck_assert_int_eq(pdk_exec_result_from_json(NULL, &r, NULL), PDK_EPROTO);
}
END_TEST

static Suite *exec_json_suite(void)
{
    Suite *suite = suite_create("sandbox_exec_json");
    TCase *tc = tcase_create("exec");

    tcase_add_test(tc, a_request_with_odd_bytes_comes_back_as_it_was);
    tcase_add_test(tc, every_single_byte_travels_in_a_word);
    tcase_add_test(tc, what_a_request_may_leave_out_has_its_default);
    tcase_add_loop_test(tc, a_request_out_of_form_is_refused, 0, ROWS(bad_requests));
    tcase_add_test(tc, a_nonce_of_sixty_four_bytes_is_taken);
    tcase_add_test(tc, a_result_comes_back_as_it_was);
    tcase_add_test(tc, nothing_ran_is_a_result_of_its_own);
    tcase_add_loop_test(tc, a_result_out_of_form_is_not_believed, 0, ROWS(bad_results));
    tcase_add_test(tc, members_of_a_later_version_are_not_in_the_way);
    tcase_add_test(tc, a_result_that_is_no_object_is_not_believed);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return pdk_test_main(exec_json_suite());
}
