/* A child on the loop: its ends, its streams, and that no handle is left. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "process/proc.h"
#include "tests/support/fixture.h"

/* What a test's child did. */
struct seen {
    uv_loop_t loop;
    struct pdk_proc *proc;
    struct pdk_buf out, err;
    size_t received;
    int reaped, ended;
    struct pdk_proc_end end;
    const char *react_to; /* then `react` is called once */
    void (*react)(struct seen *s);
};

static struct seen seen;

static void on_output(
        struct pdk_proc *p, int fd, const char *data, size_t len, void *user)
{
    struct seen *s = user;

    (void)p;
    s->received += len;
    if (s->received < 1 << 20)
        pdk_buf_add(fd == 2 ? &s->err : &s->out, data, len);
    if (s->react_to && strstr(pdk_buf_str(&s->out), s->react_to)) {
        s->react_to = NULL;
        s->react(s);
    }
}

static void on_reaped(struct pdk_proc *p, const struct pdk_proc_end *end, void *user)
{
    struct seen *s = user;

    (void)p;
    (void)end;
    s->reaped++;
}

static void on_end(struct pdk_proc *p, const struct pdk_proc_end *end, void *user)
{
    struct seen *s = user;

    (void)p;
    ck_assert_int_eq(s->reaped, 1);
    s->ended++;
    s->end = *end;
    s->proc = NULL;
}

static const struct pdk_proc_handlers handlers = { on_output, on_reaped, on_end };

static int start(const char *sh, bool want_stdin, struct pdk_err *err)
{
    static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
    const char *argv[] = { "sh", "-c", sh, NULL };
    const struct pdk_spawn_spec spec = {
        .argv = argv, .envp = env, .cwd_fd = -1, .fds = { -1, -1, -1 }
    };

    return pdk_proc_start(
            &seen.loop, &spec, want_stdin, &handlers, &seen, &seen.proc, err);
}

static void start_ok(const char *sh, bool want_stdin)
{
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(start(sh, want_stdin, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(seen.ended, 0); /* never from inside of start */
}

static void run(void)
{
    ck_assert_int_eq(uv_run(&seen.loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(seen.ended, 1);
}

static void setup(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    memset(&seen, 0, sizeof(seen));
    ck_assert_int_eq(uv_loop_init(&seen.loop), 0);
}

static void teardown(void)
{
    ck_assert_int_eq(uv_loop_close(&seen.loop), 0);
    pdk_buf_fini(&seen.out);
    pdk_buf_fini(&seen.err);
}

START_TEST(an_exit_code_and_both_outputs_arrive)
{
    start_ok("echo one; echo two >&2; exit 5", false);
    run();
    ck_assert_int_eq(seen.end.exit_code, 5);
    ck_assert_int_eq(seen.end.signal, 0);
    ck_assert_str_eq(pdk_buf_str(&seen.out), "one\n");
    ck_assert_str_eq(pdk_buf_str(&seen.err), "two\n");
}
END_TEST

static void react_kill(struct seen *s)
{
    pdk_proc_kill(s->proc, SIGKILL);
    pdk_proc_kill(s->proc, SIGKILL);
}

START_TEST(a_killed_one_ends_with_its_signal)
{
    seen.react_to = "ready";
    seen.react = react_kill;
    start_ok("echo ready; sleep 1000", false);
    run();
    ck_assert_int_eq(seen.end.exit_code, -1);
    ck_assert_int_eq(seen.end.signal, SIGKILL);
}
END_TEST

START_TEST(a_command_that_is_missing_leaves_no_handle)
{
    static const char *const argv[] = { "/surely/none", NULL }, *const env[] = { NULL };
    const struct pdk_spawn_spec spec = {
        .argv = argv, .envp = env, .cwd_fd = -1, .fds = { -1, -1, -1 }
    };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(
            pdk_proc_start(&seen.loop, &spec, true, &handlers, &seen, &seen.proc, &err),
            PDK_ENOTFOUND);
    ck_assert_ptr_null(seen.proc);
    ck_assert_int_eq(uv_run(&seen.loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(seen.ended, 0);
}
END_TEST

START_TEST(a_grandchild_that_holds_the_pipe_does_not_hold_the_end)
{
    long pid;

    start_ok("setsid sleep 1000 & echo $!; exit 4", false);
    run();
    ck_assert_int_eq(seen.end.exit_code, 4);
    pid = strtol(pdk_buf_str(&seen.out), NULL, 10);
    ck_assert_int_gt(pid, 1);
    ck_assert_int_eq(kill((pid_t)pid, SIGKILL), 0);
}
END_TEST

START_TEST(input_goes_through_and_its_end_too)
{
    struct pdk_err err = PDK_ERR_INIT;

    start_ok("cat; echo end", true);
    ck_assert_int_eq(pdk_proc_write(seen.proc, "hello ", 6, &err), 0);
    ck_assert_int_eq(pdk_proc_write(seen.proc, "there\n", 6, &err), 0);
    pdk_proc_close_stdin(seen.proc);
    pdk_proc_close_stdin(seen.proc);
    run();
    ck_assert_str_eq(pdk_buf_str(&seen.out), "hello there\nend\n");
}
END_TEST

static void react_close(struct seen *s)
{
    struct pdk_err err = PDK_ERR_INIT;

    pdk_proc_close_stdin(s->proc);
    (void)pdk_proc_write(s->proc, "x", 1, &err);
}

START_TEST(stdin_may_close_long_before_the_end)
{
    seen.react_to = "ready";
    seen.react = react_close;
    start_ok("echo ready; cat >/dev/null; echo after; exit 6", true);
    run();
    ck_assert_int_eq(seen.end.exit_code, 6);
    ck_assert_str_eq(pdk_buf_str(&seen.out), "ready\nafter\n");
}
END_TEST

START_TEST(a_child_that_closes_its_input_early_is_fine)
{
    enum { SIZE = 1 << 20 };
    PDK_AUTO_FREE char *input = calloc(1, SIZE);
    struct pdk_err err = PDK_ERR_INIT;

    start_ok("exec <&-; echo closed", true);
    ck_assert_int_eq(pdk_proc_write(seen.proc, input, SIZE, &err), 0);
    ck_assert_int_gt((int)pdk_proc_pending(seen.proc), 0);
    run();
    ck_assert_int_eq(seen.end.exit_code, 0);
    ck_assert_str_eq(pdk_buf_str(&seen.out), "closed\n");
}
END_TEST

START_TEST(without_wanted_stdin_there_is_nothing_to_write_to)
{
    struct pdk_err err = PDK_ERR_INIT;

    start_ok("cat", false);
    ck_assert_int_eq(pdk_proc_write(seen.proc, "x", 1, &err), PDK_EIO);
    ck_assert_int_eq((int)pdk_proc_pending(seen.proc), 0);
    run();
    ck_assert_int_eq(seen.end.exit_code, 0); /* /dev/null */
}
END_TEST

static void react_pause(struct seen *s)
{
    pdk_proc_pause(s->proc);
    pdk_proc_pause(s->proc);
}

START_TEST(what_a_pause_left_in_the_pipe_comes_before_the_end)
{
    seen.react_to = "ready";
    seen.react = react_pause;
    start_ok("echo ready; cat /dev/null; head -c 50000 /dev/zero", false);
    run();
    ck_assert_int_eq((int)seen.received, 50006);
}
END_TEST

static void on_resume(uv_timer_t *timer)
{
    ck_assert_int_lt((int)seen.received, 3000000); /* the pause held it back */
    pdk_proc_resume(seen.proc);
    uv_close((uv_handle_t *)timer, NULL);
}

static void react_rest(struct seen *s)
{
    static uv_timer_t timer;

    pdk_proc_pause(s->proc);
    (void)uv_timer_init(&s->loop, &timer);
    (void)uv_timer_start(&timer, on_resume, 10, 0);
}

START_TEST(a_resumed_one_gives_all)
{
    seen.react_to = "ready";
    seen.react = react_rest;
    start_ok("echo ready; head -c 3000000 /dev/zero", false);
    run();
    ck_assert_int_eq((int)seen.received, 3000006);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("process: proc");
    TCase *tc = tcase_create("proc");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, an_exit_code_and_both_outputs_arrive);
    tcase_add_test(tc, a_killed_one_ends_with_its_signal);
    tcase_add_test(tc, a_command_that_is_missing_leaves_no_handle);
    tcase_add_test(tc, a_grandchild_that_holds_the_pipe_does_not_hold_the_end);
    tcase_add_test(tc, input_goes_through_and_its_end_too);
    tcase_add_test(tc, stdin_may_close_long_before_the_end);
    tcase_add_test(tc, a_child_that_closes_its_input_early_is_fine);
    tcase_add_test(tc, without_wanted_stdin_there_is_nothing_to_write_to);
    tcase_add_test(tc, what_a_pause_left_in_the_pipe_comes_before_the_end);
    tcase_add_test(tc, a_resumed_one_gives_all);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
