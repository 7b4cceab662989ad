/* Starting children: what they get, what they do not get, and which step failed. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "process/run.h"
#include "process/spawn.h"
#include "tests/support/fixture.h"

static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
static const char *const probe[] = { PDK_TEST_CHILD_DIR "/child_probe", NULL };

static struct pdk_spawn_spec spec_of(const char *const *argv)
{
    return (struct pdk_spawn_spec){
        .argv = argv, .envp = env, .cwd_fd = -1, .fds = { -1, -1, -1 }
    };
}

/* Starts it with its stdout in a file, waits, and returns that. */
static char *output_of(struct pdk_spawn_spec *spec)
{
    PDK_AUTO_FREE char *path = pdk_test_path("out");
    PDK_AUTO_FD int out = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct pdk_child child = { -1, -1 };
    struct pdk_err err = PDK_ERR_INIT;
    int status = 0;

    spec->fds[1] = out;
    ck_assert_msg(pdk_spawn(spec, &child, NULL, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(waitpid(child.pid, &status, 0), child.pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(fcntl(child.pidfd, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(close(child.pidfd), 0);
    return pdk_test_read(path, NULL);
}

START_TEST(it_has_three_descriptors_and_a_session_and_no_signal_state_of_ours)
{
    struct pdk_spawn_spec spec = spec_of(probe);
    sigset_t all, old;
    int leak = open("/", O_RDONLY); /* not close-on-exec, on purpose */
    int far = fcntl(leak, F_DUPFD, 200);

    (void)signal(SIGUSR1, SIG_IGN);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &old);
    PDK_AUTO_FREE char *said = output_of(&spec);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    (void)signal(SIGUSR1, SIG_DFL);
    ck_assert_int_eq(close(leak), 0);
    ck_assert_int_eq(close(far), 0);
    ck_assert_ptr_nonnull(strstr(said, "fds 0 1 2\n"));
    ck_assert_ptr_nonnull(strstr(said, "blocked 0\nignored 0\n"));
    ck_assert_ptr_nonnull(strstr(said, "session own\n"));
}
END_TEST

START_TEST(extra_descriptors_come_in_their_order)
{
    static const char *const argv[] = { "sh", "-c", "cat <&3; cat <&4", NULL };
    struct pdk_spawn_spec spec = spec_of(argv);
    PDK_AUTO_FREE char *a = pdk_test_path("a");
    PDK_AUTO_FREE char *b = pdk_test_path("b");
    pdk_test_write_text(a, "first");
    pdk_test_write_text(b, "second");
    PDK_AUTO_FD int one = open(a, O_RDONLY | O_CLOEXEC);
    PDK_AUTO_FD int two = open(b, O_RDONLY | O_CLOEXEC);
    const int extra[] = { one, two }, swapped[] = { two, one };

    spec.extra_fds = extra;
    spec.extra_fds_len = 2;
    PDK_AUTO_FREE char *said = output_of(&spec);
    ck_assert_str_eq(said, "firstsecond");
    ck_assert_int_eq((int)lseek(one, 0, SEEK_SET), 0);
    ck_assert_int_eq((int)lseek(two, 0, SEEK_SET), 0);
    spec.extra_fds = swapped;
    PDK_AUTO_FREE char *other = output_of(&spec);
    ck_assert_str_eq(other, "secondfirst");
}
END_TEST

START_TEST(it_starts_in_the_directory_by_name_or_handle)
{
    struct pdk_spawn_spec spec = spec_of(probe);
    PDK_AUTO_FREE char *line = pdk_strf("cwd %s\n", pdk_test_dir());
    PDK_AUTO_FD int dir = open(pdk_test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    spec.cwd = _i == 0 ? pdk_test_dir() : NULL;
    spec.cwd_fd = _i == 0 ? -1 : dir;
    PDK_AUTO_FREE char *said = output_of(&spec);
    ck_assert_ptr_nonnull(strstr(said, line));
}
END_TEST

START_TEST(a_missing_directory_is_told_from_a_missing_command)
{
    static const char *const missing[] = { "surely-no-such-command", NULL };
    struct pdk_spawn_spec spec = spec_of(probe);
    enum pdk_spawn_stage stage = PDK_SPAWN_OK;
    struct pdk_child child = { -1, -1 };
    struct pdk_err err = PDK_ERR_INIT;

    spec.cwd = "/surely/no/such/directory";
    ck_assert_int_eq(pdk_spawn(&spec, &child, &stage, &err), PDK_ENOTFOUND);
    ck_assert_int_eq((int)stage, PDK_SPAWN_CWD);
    spec = spec_of(missing);
    ck_assert_int_eq(pdk_spawn(&spec, &child, &stage, &err), PDK_ENOTFOUND);
    ck_assert_int_eq((int)stage, PDK_SPAWN_EXEC);
    ck_assert_int_eq(child.pid, -1);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left to reap */
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(what_may_not_be_executed_is_told_with_its_errno)
{
    PDK_AUTO_FREE char *path = pdk_test_path("plain");
    const char *argv[] = { path, NULL };
    struct pdk_spawn_spec spec = spec_of(argv);
    struct pdk_child child = { -1, -1 };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_write_text(path, "no program");
    ck_assert_int_eq(pdk_spawn(&spec, &child, NULL, &err), PDK_EIO);
    ck_assert_int_eq(err.os_errno, EACCES);
    ck_assert_int_eq(chmod(path, 0755), 0);
    ck_assert_int_eq(pdk_spawn(&spec, &child, NULL, &err), PDK_EIO);
    ck_assert_int_eq(err.os_errno, ENOEXEC);
}
END_TEST

START_TEST(the_path_of_the_new_environment_is_searched)
{
    PDK_AUTO_FREE char *tool = pdk_test_path("bin/tool");
    PDK_AUTO_FREE char *path = pdk_strf("PATH=/surely/none::%s/bin", pdk_test_dir());
    const char *argv[] = { "tool", NULL }, *own_env[] = { path, NULL };
    struct pdk_spawn_spec spec = spec_of(argv);
    struct pdk_child child = { -1, -1 };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_write_text(tool, "#!/bin/sh\necho found\n");
    ck_assert_int_eq(chmod(tool, 0755), 0);
    ck_assert_int_eq(pdk_spawn(&spec, &child, NULL, &err), PDK_ENOTFOUND);
    spec.envp = own_env;
    PDK_AUTO_FREE char *said = output_of(&spec);
    ck_assert_str_eq(said, "found\n");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("process: spawn");
    TCase *tc = tcase_create("spawn");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_set_timeout(tc, 60);
    tcase_add_test(
            tc, it_has_three_descriptors_and_a_session_and_no_signal_state_of_ours);
    tcase_add_test(tc, extra_descriptors_come_in_their_order);
    tcase_add_loop_test(tc, it_starts_in_the_directory_by_name_or_handle, 0, 2);
    tcase_add_test(tc, a_missing_directory_is_told_from_a_missing_command);
    tcase_add_test(tc, what_may_not_be_executed_is_told_with_its_errno);
    tcase_add_test(tc, the_path_of_the_new_environment_is_searched);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
