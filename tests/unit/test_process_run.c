/* Short commands, run to their end. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "base/error.h"
#include "process/run.h"
#include "tests/support/fixture.h"

static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };

static int run_sh(const char *text, struct pdk_run_spec spec, struct pdk_run_result *r,
        struct pdk_err *err)
{
    const char *argv[] = { "sh", "-c", text, NULL };

    spec.argv = argv;
    spec.envp = env;
    return pdk_run(&spec, r, err);
}

START_TEST(it_gives_the_exit_code_and_both_outputs)
{
    PDK_AUTO_RUN_RESULT struct pdk_run_result r = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(run_sh("echo one; echo two >&2; exit 7", (struct pdk_run_spec){ 0 },
                             &r, &err),
            0);
    ck_assert_int_eq(r.exit_code, 7);
    ck_assert_int_eq(r.signal, 0);
    ck_assert_str_eq(pdk_buf_str(&r.out), "one\n");
    ck_assert_str_eq(pdk_buf_str(&r.err), "two\n");
}
END_TEST

START_TEST(it_tells_a_signal)
{
    PDK_AUTO_RUN_RESULT struct pdk_run_result r = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(run_sh("kill -9 $$", (struct pdk_run_spec){ 0 }, &r, &err), 0);
    ck_assert_int_eq(r.exit_code, -1);
    ck_assert_int_eq(r.signal, SIGKILL);
}
END_TEST

START_TEST(its_time_limit_ends_the_whole_group)
{
    PDK_AUTO_RUN_RESULT struct pdk_run_result r = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(run_sh("trap '' TERM INT; sleep 1000 & wait",
                             (struct pdk_run_spec){ .timeout_ms = 50 }, &r, &err),
            PDK_ETIMEDOUT);
    ck_assert_int_eq(r.signal, SIGKILL);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(too_much_output_is_an_error)
{
    PDK_AUTO_RUN_RESULT struct pdk_run_result r = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(run_sh("yes", (struct pdk_run_spec){ .max_output = 1000 }, &r, &err),
            PDK_EIO);
    ck_assert_ptr_nonnull(strstr(err.msg, "1000"));
}
END_TEST

START_TEST(much_input_goes_in_while_output_comes_out)
{
    enum { SIZE = 1 << 20 };
    PDK_AUTO_RUN_RESULT struct pdk_run_result r = { 0 };
    PDK_AUTO_FREE char *input = malloc(SIZE);
    struct pdk_err err = PDK_ERR_INIT;

    memset(input, 'x', SIZE);
    ck_assert_int_eq(
            run_sh("cat", (struct pdk_run_spec){ .input = input, .input_len = SIZE }, &r,
                    &err),
            0);
    ck_assert_int_eq((int)r.out.len, SIZE);
    ck_assert_int_eq(memcmp(r.out.data, input, SIZE), 0);
}
END_TEST

START_TEST(one_that_reads_no_input_is_fine)
{
    enum { SIZE = 1 << 20 };
    PDK_AUTO_RUN_RESULT struct pdk_run_result r = { 0 };
    PDK_AUTO_FREE char *input = calloc(1, SIZE);
    struct pdk_err err = PDK_ERR_INIT;

    (void)signal(SIGPIPE, SIG_IGN); /* as both programs do */
    ck_assert_int_eq(
            run_sh("exec <&-; echo done",
                    (struct pdk_run_spec){ .input = input, .input_len = SIZE }, &r, &err),
            0);
    ck_assert_str_eq(pdk_buf_str(&r.out), "done\n");
}
END_TEST

START_TEST(run_ok_quotes_the_first_line_of_the_complaint)
{
    static const char *const argv[] = { "sh", "-c",
        "echo sorry >&2; echo more >&2; exit 3", NULL };
    const struct pdk_run_spec spec = { .argv = argv, .envp = env };
    PDK_AUTO_RUN_RESULT struct pdk_run_result r = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_run_ok(&spec, &r, &err), PDK_EIO);
    ck_assert_ptr_nonnull(strstr(err.msg, "exited with 3: sorry"));
    ck_assert_ptr_null(strstr(err.msg, "more"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("process: run");
    TCase *tc = tcase_create("run");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, it_gives_the_exit_code_and_both_outputs);
    tcase_add_test(tc, it_tells_a_signal);
    tcase_add_test(tc, its_time_limit_ends_the_whole_group);
    tcase_add_test(tc, too_much_output_is_an_error);
    tcase_add_test(tc, much_input_goes_in_while_output_comes_out);
    tcase_add_test(tc, one_that_reads_no_input_is_fine);
    tcase_add_test(tc, run_ok_quotes_the_first_line_of_the_complaint);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
