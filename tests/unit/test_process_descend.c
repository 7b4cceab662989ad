/* Descendants: found in whatever session they hide, signalled, proven gone. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "process/descend.h"
#include "process/spawn.h"
#include "tests/support/fixture.h"

/* Starts sh, and returns once `lines` lines came from it and what it started. */
static void start_tree(const char *sh, int lines)
{
    static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
    const char *argv[] = { "sh", "-c", sh, NULL };
    struct pdk_spawn_spec spec = {
        .argv = argv, .envp = env, .cwd_fd = -1, .fds = { -1, -1, -1 }
    };
    struct pdk_child child = { -1, -1 };
    struct pdk_err err = PDK_ERR_INIT;
    int fds[2];
    char c;

    ck_assert_int_eq(pdk_descend_adopt(&err), 0);
    ck_assert_int_eq(pipe(fds), 0);
    spec.fds[1] = fds[1];
    ck_assert_int_eq(pdk_spawn(&spec, &child, NULL, &err), 0);
    ck_assert_int_eq(close(fds[1]), 0);
    while (lines > 0 && read(fds[0], &c, 1) == 1)
        lines -= c == '\n';
    ck_assert_int_eq(lines, 0);
    ck_assert_int_eq(close(fds[0]), 0);
    ck_assert_int_eq(close(child.pidfd), 0);
}

static int reap_all(void)
{
    int n = 0;

    while (waitpid(-1, NULL, 0) > 0)
        n++;
    return n;
}

START_TEST(without_a_child_there_is_none)
{
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert(pdk_descend_none());
    ck_assert_int_eq(pdk_descend_count(&err), 0);
    ck_assert_int_eq(pdk_descend_signal(SIGKILL, &err), 0);
}
END_TEST

START_TEST(those_in_other_sessions_are_found_and_ended)
{
    struct pdk_err err = PDK_ERR_INIT;

    start_tree(
            "trap '' HUP; setsid sh -c 'setsid sh -c \"echo a; exec sleep 1000\" & echo b; "
            "exec sleep 1000' & echo c; exec sleep 1000",
            3);
    ck_assert(!pdk_descend_none());
    ck_assert_int_eq(pdk_descend_count(&err), 3);
    ck_assert_int_eq(pdk_descend_signal(SIGKILL, &err), 3);
    ck_assert_int_eq(reap_all(), 3);
    ck_assert(pdk_descend_none());
}
END_TEST

START_TEST(an_orphan_comes_to_us)
{
    struct pdk_err err = PDK_ERR_INIT;

    start_tree("(setsid sh -c 'echo a; exec sleep 1000' &); echo b; exec sleep 1000", 2);
    ck_assert_int_eq(pdk_descend_count(&err), 2);
    ck_assert_int_eq(pdk_descend_signal(SIGKILL, &err), 2);
    ck_assert_int_eq(reap_all(), 2);
}
END_TEST

START_TEST(a_zombie_is_not_alive_but_still_ours)
{
    struct pdk_err err = PDK_ERR_INIT;
    siginfo_t info;

    start_tree("echo a", 1);
    ck_assert_int_eq(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(pdk_descend_count(&err), 0);
    ck_assert(!pdk_descend_none());
    ck_assert_int_eq(reap_all(), 1);
    ck_assert(pdk_descend_none());
}
END_TEST

START_TEST(what_forks_all_the_time_is_ended)
{
    struct pdk_err err = PDK_ERR_INIT;

    start_tree("i=0; while [ $i -lt 20 ]; do "
               "sh -c 'while :; do (exec true) & wait; done' & i=$((i+1)); done; "
               "echo a; wait",
            1);
    ck_assert_int_ge(pdk_descend_signal(SIGKILL, &err), 21);
    ck_assert_int_ge(reap_all(), 21); /* comes back only when none is left */
    ck_assert(pdk_descend_none());
}
END_TEST

START_TEST(what_forks_and_ends_all_the_time_is_ended)
{
    struct pdk_err err = PDK_ERR_INIT;

    start_tree("exec " PDK_TEST_CHILD_DIR "/child_runner", 1);
    while (!pdk_descend_none()) {
        ck_assert_int_ge(pdk_descend_signal(SIGKILL, &err), 0);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("process: descend");
    TCase *tc = tcase_create("descend");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, without_a_child_there_is_none);
    tcase_add_test(tc, those_in_other_sessions_are_found_and_ended);
    tcase_add_test(tc, an_orphan_comes_to_us);
    tcase_add_test(tc, a_zombie_is_not_alive_but_still_ours);
    tcase_add_test(tc, what_forks_all_the_time_is_ended);
    tcase_add_test(tc, what_forks_and_ends_all_the_time_is_ended);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
