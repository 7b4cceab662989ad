/* Errors are values with a code, a message and a hint; the log is one printable line an event. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/log.h"
#include "tests/support/fixture.h"

START_TEST(a_failure_says_what_and_why)
{
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_fail(&err, PDK_EIO, ENOSPC, "cannot write '%s'", "f"), PDK_EIO);
    ck_assert_str_eq(err.msg, "cannot write 'f': No space left on device");
    ck_assert_int_eq(err.os_errno, ENOSPC);
    ck_assert_int_eq(pdk_hint(&err, "free %d bytes", 7), PDK_EIO);
    ck_assert_int_eq(pdk_wrap(&err, "run %s", "r1"), PDK_EIO);
    ck_assert_str_eq(err.msg, "run r1: cannot write 'f': No space left on device");
    ck_assert_str_eq(err.hint, "free 7 bytes");
    ck_assert_int_eq(pdk_fail(&err, PDK_EINVAL, 0, "other"), PDK_EINVAL);
    ck_assert_str_eq(err.hint, ""); /* no hint of an earlier failure */
    (void)pdk_fail(&err, PDK_EIO, 99999, "odd");
    ck_assert_str_eq(err.msg, "odd: unknown error");
}
END_TEST

START_TEST(a_long_message_is_cut)
{
    struct pdk_err err = PDK_ERR_INIT;
    char text[2000];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)pdk_fail(&err, PDK_EIO, EIO, "%s", text);
    ck_assert_uint_eq(strlen(err.msg), sizeof(err.msg) - 1);
    (void)pdk_wrap(&err, "%s", text);
    (void)pdk_hint(&err, "%s", text);
    ck_assert_uint_eq(strlen(err.msg), sizeof(err.msg) - 1);
    ck_assert_uint_eq(strlen(err.hint), sizeof(err.hint) - 1);
    ck_assert_int_eq(err.code, PDK_EIO);
}
END_TEST

START_TEST(nobody_has_to_listen)
{
    ck_assert_int_eq(pdk_fail(NULL, PDK_ECONFLICT, EEXIST, "x"), PDK_ECONFLICT);
    ck_assert_int_eq(pdk_fail_nomem(NULL), PDK_ENOMEM);
    ck_assert_int_lt(pdk_wrap(NULL, "x"), 0);
    ck_assert_int_lt(pdk_hint(NULL, "x"), 0);
}
END_TEST

START_TEST(each_code_has_a_name_and_a_status)
{
    static const struct {
        int code;
        const char *name;
        int status;
    } rows[] = { { PDK_OK, "ok", 0 }, { PDK_EINVAL, "invalid", 2 },
        { PDK_ENOMEM, "no_memory", 4 }, { PDK_EIO, "io", 4 },
        { PDK_ENOTFOUND, "not_found", 2 }, { PDK_ECONFLICT, "conflict", 5 },
        { PDK_EUNAVAIL, "unavailable", 4 }, { PDK_ETIMEDOUT, "timed_out", 4 },
        { PDK_ECANCELED, "canceled", 130 }, { PDK_EPROTO, "protocol", 4 },
        { PDK_ECORRUPT, "corrupt", 4 }, { PDK_EUNSUPPORTED, "unsupported", 2 },
        { PDK_EBUG, "bug", 70 }, { 1, "unknown", 70 }, { -99, "unknown", 70 } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_str_eq(pdk_code_name(rows[i].code), rows[i].name);
        ck_assert_int_eq(pdk_exit_status(rows[i].code), rows[i].status);
    }
}
END_TEST

START_TEST(errnos_amount_to_codes)
{
    static const struct {
        int os, code;
    } rows[] = { { ENOMEM, PDK_ENOMEM }, { ENOENT, PDK_ENOTFOUND },
        { ENOTDIR, PDK_ENOTFOUND }, { EEXIST, PDK_ECONFLICT },
        { ENOTEMPTY, PDK_ECONFLICT }, { ETIMEDOUT, PDK_ETIMEDOUT },
        { EINVAL, PDK_EINVAL }, { ENAMETOOLONG, PDK_EINVAL }, { EACCES, PDK_EIO },
        { 0, PDK_EIO } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        ck_assert_int_eq(pdk_code_of_errno(rows[i].os), rows[i].code);
}
END_TEST

START_TEST(the_log_is_a_printable_line)
{
    PDK_AUTO_FREE char *path = pdk_test_path("log");
    PDK_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    PDK_AUTO_FD int stderr_was = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

    ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
    pdk_log(PDK_LOG_INFO, "not=told");
    pdk_log(PDK_LOG_WARN, "name=%s", "a\n\x1b[2J");
    pdk_log_set_level(PDK_LOG_DEBUG);
    pdk_log(PDK_LOG_DEBUG, "told=%d", 1);
    pdk_log_set_level(PDK_LOG_ERROR);
    pdk_log(PDK_LOG_WARN, "not=told");
    pdk_log_set_level(PDK_LOG_WARN);
    ck_assert_int_ge(dup2(stderr_was, STDERR_FILENO), 0);
    PDK_AUTO_FREE char *text = pdk_test_read(path, NULL);
    ck_assert_str_eq(
            text, "paddock: warning: name=a\\n\\x1b[2J\npaddock: debug: told=1\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/error");
    TCase *tc = tcase_create("error");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, a_failure_says_what_and_why);
    tcase_add_test(tc, a_long_message_is_cut);
    tcase_add_test(tc, nobody_has_to_listen);
    tcase_add_test(tc, each_code_has_a_name_and_a_status);
    tcase_add_test(tc, errnos_amount_to_codes);
    tcase_add_test(tc, the_log_is_a_printable_line);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
