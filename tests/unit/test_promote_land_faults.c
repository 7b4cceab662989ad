/* Landing when calls fail and when the user writes at the same time. */
/* wrap: renameat2 mkdirat fsync symlinkat fchmod fstatat openat */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "promote/land.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/landing.h"

#define BEFORE                                                                                       \
    "echo 1 > a; echo 1 > m; mkdir -p d/e; echo 1 > d/e/x; echo 1 > d/e/y; echo 1 > t; echo 1 > u; " \
    "mkdir k; echo 1 > k/k; chmod 640 m; mkdir -p v/w"
#define CHANGE                                                                                 \
    "echo 2 > m; rm -r d; echo 2 > d; rm a; mkdir a; echo 2 > a/b; ln -sf m t; mkdir -p n/o; " \
    "echo 2 > n/o/p; ln -s q n/q; chmod +x u; rm -r k; rmdir v/w v; echo 2 > v"

/* The calls until one fails, or until the user writes; 0: never. */
static int fail_after, write_before;
static const char *user_file;

static bool fails(void)
{
    if (fail_after == 0 || --fail_after > 0)
        return false;
    errno = ENOSPC;
    return true;
}

int __wrap_renameat2(
        int from_dir, const char *from, int to_dir, const char *to, unsigned int flags);
int __real_renameat2(
        int from_dir, const char *from, int to_dir, const char *to, unsigned int flags);
int __wrap_mkdirat(int dir, const char *name, mode_t mode);
int __real_mkdirat(int dir, const char *name, mode_t mode);
int __wrap_fsync(int fd);
int __real_fsync(int fd);
int __wrap_symlinkat(const char *target, int dir, const char *name);
int __real_symlinkat(const char *target, int dir, const char *name);
int __wrap_fchmod(int fd, mode_t mode);
int __real_fchmod(int fd, mode_t mode);
int __wrap_fstatat(int dir, const char *name, struct stat *st, int flags);
int __real_fstatat(int dir, const char *name, struct stat *st, int flags);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __real_openat(int dir, const char *name, int flags, ...);

int __wrap_renameat2(
        int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
    if (write_before > 0 && --write_before == 0) {
        FILE *file = fopen(user_file, "w");

        if (file) {
            (void)fputs("user", file);
            (void)fclose(file);
        }
    }
    return fails() ? -1 : __real_renameat2(from_dir, from, to_dir, to, flags);
}

int __wrap_mkdirat(int dir, const char *name, mode_t mode)
{
    return fails() ? -1 : __real_mkdirat(dir, name, mode);
}

int __wrap_fsync(int fd)
{
    return fails() ? -1 : __real_fsync(fd);
}

int __wrap_symlinkat(const char *target, int dir, const char *name)
{
    return fails() ? -1 : __real_symlinkat(target, dir, name);
}

int __wrap_fchmod(int fd, mode_t mode)
{
    return fails() ? -1 : __real_fchmod(fd, mode);
}

int __wrap_fstatat(int dir, const char *name, struct stat *st, int flags)
{
    return fails() ? -1 : __real_fstatat(dir, name, st, flags);
}

int __wrap_openat(int dir, const char *name, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = (flags & O_CREAT) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return fails() ? -1 : __real_openat(dir, name, flags, mode);
}

START_TEST(any_call_may_fail_and_nothing_changes)
{
    struct pdk_test_landing t;
    int n = 0, rc;

    pdk_test_landing_open(&t, BEFORE, CHANGE);
    PDK_AUTO_FREE char *before = pdk_test_landing_state(&t);
    do {
        PDK_AUTO_LAND_RESULT struct pdk_land_result result = { 0 };
        PDK_AUTO_FREE char *after = NULL;
        struct pdk_err err = PDK_ERR_INIT;

        fail_after = ++n;
        rc = pdk_test_landing_do(&t, false, &result, &err);
        if (fail_after > 0)
            break;   /* no call was left to fail */
        if (rc == 0) /* an optional one failed: a directory that was to go */
            ck_abort_msg("call %d failed unnoticed", n);
        after = pdk_test_landing_state(&t);
        ck_assert_msg(strcmp(before, after) == 0, "call %d (%s):\n%s\n%s", n, err.msg,
                before, after);
    } while (n < 1000);
    fail_after = 0;
    ck_assert_int_eq(rc, 0);
    ck_assert_int_gt(n, 40);
    PDK_AUTO_FREE char *tree = pdk_test_landing_tree(&t);
    ck_assert_str_eq(tree, t.to.hex);
    pdk_test_landing_close(&t);
}
END_TEST

static const char *const user_files[] = { "m", "d/e/x", "t", "a/b", "n/o/p", "u", "a",
    "d" };

/* Whenever the user writes, what was written is there afterwards, in place or where we say. */
START_TEST(what_the_user_writes_meanwhile_survives)
{
    PDK_AUTO_FREE char *path = pdk_test_path("repo/%s", user_files[_i]);
    bool again = true;

    user_file = path;
    for (int n = 1; again; n++) {
        struct pdk_test_landing t;
        PDK_AUTO_LAND_RESULT struct pdk_land_result result = { 0 };
        struct pdk_err err = PDK_ERR_INIT;
        int rc;

        pdk_test_landing_open(&t, BEFORE, CHANGE);
        write_before = n;
        rc = pdk_test_landing_do(&t, false, &result, &err);
        again = write_before == 0;
        write_before = 0;
        ck_assert_msg(rc == 0 || rc == PDK_ECONFLICT, "%d: %s", rc, err.msg);
        PDK_AUTO_FREE char *found = pdk_test_sh(t.path,
                "grep -rl '^user$' --exclude-dir=.git . | head -1; ls -A | grep paddock || :");
        if (again && rc < 0)
            ck_assert_msg(found[0] != '\0', "%s, write %d: lost: %s", user_files[_i], n,
                    err.msg);
        if (strstr(found, "paddock-landing"))
            ck_assert_msg(
                    strstr(err.hint, "paddock-landing") != NULL, "stranded in silence");
        pdk_test_landing_close(&t);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("promote_land_faults");
    TCase *tc = tcase_create("faults");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_set_timeout(tc, 100);
    tcase_add_test(tc, any_call_may_fail_and_nothing_changes);
    tcase_add_loop_test(tc, what_the_user_writes_meanwhile_survives, 0,
            (int)(sizeof(user_files) / sizeof(user_files[0])));
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
