/* Commands in the agent: their output, their ends, and that nothing of them is left when the answer comes. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "tests/support/fixture.h"
#include "tests/support/peer.h"

static struct pdk_peer peer;

static int64_t send_exec(struct pdk_json *params)
{
    return pdk_peer_send(&peer, "exec", params);
}

static void set_graces(struct pdk_json *params, int64_t each_ms)
{
    struct pdk_json *graces = pdk_json_object();

    (void)pdk_json_set_int(graces, "int_ms", each_ms);
    (void)pdk_json_set_int(graces, "term_ms", each_ms);
    (void)pdk_json_set_int(graces, "kill_ms", 10000);
    (void)pdk_json_set(params, "graces", graces);
}

static void cancel(int64_t call, bool at_once)
{
    struct pdk_json *params = pdk_json_object();

    (void)pdk_json_set_int(params, "call", call);
    (void)pdk_json_set_bool(params, "at_once", at_once);
    pdk_peer_notify(&peer, "cancel", params);
}

static bool in_root(const char *name)
{
    PDK_AUTO_FREE char *path = pdk_peer_path(&peer, name);

    return pdk_test_exists(path);
}

START_TEST(an_exit_code_output_and_totals_arrive)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);
    int64_t id = send_exec(pdk_peer_sh("echo one; echo two >&2; exit 9"));

    pdk_peer_result(&peer, id, &r);
    ck_assert_int_eq((int)r.start, PDK_EXEC_STARTED);
    ck_assert_int_eq(r.exit_code, 9);
    ck_assert_int_eq(r.signal, 0);
    ck_assert_int_eq((int)r.out_bytes, 4);
    ck_assert_int_eq((int)r.err_bytes, 4);
    ck_assert_int_eq(r.stragglers + r.leaked, 0);
    ck_assert(!r.timed_out && !r.canceled && !r.oom && !r.root_gone && !r.spool_failed);
    pdk_peer_await_output(&peer, id, "one\n");
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_signal_is_told_as_one)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);

    pdk_peer_run(&peer, "kill -SEGV $$", &r);
    ck_assert_int_eq(r.exit_code, -1);
    ck_assert_int_eq(r.signal, SIGSEGV);
    pdk_peer_close(&peer);
}
END_TEST

/* One that ignores INT and TERM, one that is stopped: the timeout's ladder ends both. */
static const char *const stubborn[] = {
    "trap '' INT TERM; while :; do sleep 0.05; done",
    "kill -STOP $$; echo never > never",
    "trap '' INT TERM; setsid sh -c 'trap \"\" INT TERM; while :; do kill -STOP $$; done' & wait",
};

START_TEST(a_timeout_ends_the_stubborn)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i / 3);
    struct pdk_json *params = pdk_peer_sh(stubborn[_i % 3]);

    set_graces(params, 30);
    (void)pdk_json_set_int(params, "timeout_ms", 50);
    pdk_peer_result(&peer, send_exec(params), &r);
    ck_assert(r.timed_out);
    ck_assert_int_eq(r.exit_code, -1);
    ck_assert_int_eq(r.leaked, 0);
    ck_assert(!in_root("never"));
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_hidden_grandchild_is_gone_at_the_answer)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);
    struct pdk_json *params = pdk_peer_sh(
            "(setsid sh -c 'echo up > up; sleep 3; echo late > late' >/dev/null 2>&1 &); "
            "while [ ! -e up ]; do sleep 0.01; done");

    pdk_peer_result(&peer, send_exec(params), &r);
    ck_assert_int_eq(r.exit_code, 0);
    ck_assert_int_ge(r.stragglers, 1);
    ck_assert_int_eq(r.leaked, 0);
    ck_assert(r.duration_ms < 3000);
    pdk_peer_run(&peer, "sleep 3", &r); /* the time in which it would have written */
    ck_assert(!in_root("late"));
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(two_hundred_children_are_ended)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);

    pdk_peer_run(&peer,
            "i=0; while [ $i -lt 200 ]; do sleep 1000 >/dev/null 2>&1 & i=$((i+1)); done",
            &r);
    ck_assert_int_eq(r.exit_code, 0);
    ck_assert_int_ge(r.stragglers, 190); /* a shell's child may not be its own yet */
    ck_assert_int_eq(r.leaked, 0);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_command_that_reads_its_input_gets_its_end)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);

    pdk_peer_run(&peer, "cat", &r);
    ck_assert_int_eq(r.exit_code, 0);
    ck_assert_int_eq((int)r.out_bytes, 0);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_flood_fills_neither_disk_nor_memory)
{
    enum { CAP = 1 << 20 };
    struct pdk_exec_result r;
    struct stat st;
    pdk_peer_open(&peer, _i);
    PDK_AUTO_FREE char *log = pdk_strf("%s/flood.stdout", peer.spool);
    pid_t agent = pdk_peer_agent(&peer);
    struct pdk_json *params = pdk_peer_sh("yes");

    set_graces(params, 1000);
    (void)pdk_json_set_int(params, "timeout_ms", 1500);
    (void)pdk_json_set_int(params, "output_cap", CAP);
    (void)pdk_json_set_str(params, "log", "flood");
    (void)pdk_json_set_str(params, "stream", "live");
    pdk_peer_result(&peer, send_exec(params), &r);
    ck_assert(r.timed_out);
    ck_assert_int_gt((int64_t)r.out_bytes, CAP);
    ck_assert_int_eq((int64_t)r.out_dropped, (int64_t)r.out_bytes - CAP);
    ck_assert_int_eq(stat(log, &st), 0);
    ck_assert_int_le(st.st_size, CAP + 80);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
    if (!getenv("PDK_SANITIZED") || getenv("PDK_SANITIZED")[0] != '1')
        ck_assert_int_lt(pdk_peer_status(agent, "VmHWM"), 8192);
    ck_assert_int_gt(pdk_peer_status(agent, "VmHWM"), 0);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_slow_reader_holds_a_full_stream_back_and_loses_nothing)
{
    enum { SIZE = 8 << 20 };
    struct pdk_exec_result r;
    size_t got = 0;
    pdk_peer_open(&peer, _i);
    int64_t id = send_exec(pdk_peer_sh("head -c 8388608 /dev/zero; echo end > end"));

    for (;;) {
        PDK_AUTO_JSON struct pdk_json *frame = pdk_peer_next(&peer);
        PDK_AUTO_BUF struct pdk_buf data = PDK_BUF_INIT;
        struct pdk_err err = PDK_ERR_INIT;

        if (pdk_json_get(frame, "result")) {
            ck_assert_int_eq(pdk_json_get_int(frame, "id", 0), id);
            ck_assert_int_eq(
                    pdk_exec_result_from_json(pdk_json_get(frame, "result"), &r, &err),
                    0);
            break;
        }
        ck_assert_int_eq(
                pdk_json_get_bytes(pdk_json_get(frame, "params"), "data", &data, &err),
                0);
        got += data.len;
    }
    ck_assert_int_eq((int)got, SIZE);
    ck_assert_int_eq((int)r.out_bytes, SIZE);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_second_command_at_a_time_is_refused)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);
    int64_t id = send_exec(pdk_peer_sh("echo ready; sleep 1000"));

    pdk_peer_await_output(&peer, id, "ready");
    pdk_peer_refused(&peer, "exec", pdk_peer_sh("true"), "busy");
    cancel(id, true);
    pdk_peer_result(&peer, id, &r);
    pdk_peer_run(&peer, "true", &r);
    ck_assert_int_eq(r.exit_code, 0);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_cancel_is_polite_or_at_once)
{
    struct pdk_exec_result r;
    bool at_once = _i % 2 == 1;
    pdk_peer_open(&peer, _i / 2);
    int64_t id = send_exec(pdk_peer_sh(
            "trap 'echo bye > bye; exit 3' INT; echo ready; while :; do sleep 0.05; done"));

    pdk_peer_await_output(&peer, id, "ready");
    cancel(id + 1, true); /* another call's: no effect */
    cancel(id, at_once);
    pdk_peer_result(&peer, id, &r);
    ck_assert(r.canceled && !r.timed_out);
    ck_assert_int_eq(r.exit_code, at_once ? -1 : 3);
    ck_assert_int_eq(r.signal, at_once ? SIGKILL : 0);
    ck_assert_int_eq(in_root("bye"), !at_once);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(what_could_not_start_says_why)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);
    PDK_AUTO_FREE char *out = pdk_peer_path(&peer, "out");
    struct pdk_json *params =
            pdk_peer_argv((const char *const[]){ "surely-no-such-command", NULL });

    pdk_peer_result(&peer, send_exec(params), &r);
    ck_assert_int_eq((int)r.start, PDK_EXEC_NO_COMMAND);
    ck_assert_int_eq(r.start_errno, ENOENT);
    params = pdk_peer_sh("true");
    (void)pdk_json_set_str(params, "cwd", "missing/dir");
    pdk_peer_result(&peer, send_exec(params), &r);
    ck_assert_int_eq((int)r.start, PDK_EXEC_NO_CWD);
    ck_assert_int_eq(r.start_errno, ENOENT);
    ck_assert_int_eq(symlink("/tmp", out), 0);
    params = pdk_peer_sh("true");
    (void)pdk_json_set_str(params, "cwd", "out");
    pdk_peer_result(&peer, send_exec(params), &r);
    ck_assert_int_eq((int)r.start, PDK_EXEC_NO_CWD);
    ck_assert_int_eq(r.start_errno, EXDEV);
    params = pdk_peer_sh("true");
    (void)pdk_json_set_str(params, "cwd", "../spool");
    pdk_peer_result(&peer, send_exec(params), &r);
    ck_assert_int_eq((int)r.start, PDK_EXEC_NO_CWD);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(an_output_file_that_exists_is_not_touched)
{
    pdk_peer_open(&peer, _i);
    PDK_AUTO_FREE char *old = pdk_strf("%s/x.stderr", peer.spool);
    PDK_AUTO_FREE char *made = pdk_strf("%s/x.stdout", peer.spool);
    struct pdk_json *params = pdk_peer_sh("echo ran > ran");

    pdk_test_write_text(old, "old");
    (void)pdk_json_set_str(params, "log", "x");
    pdk_peer_refused(&peer, "exec", params, "io");
    PDK_AUTO_FREE char *text = pdk_test_read(old, NULL);
    ck_assert_str_eq(text, "old");
    ck_assert(!pdk_test_exists(made));
    ck_assert(!in_root("ran"));
    params = pdk_peer_sh("true");
    (void)pdk_json_set_str(params, "log", "../x");
    pdk_peer_refused(&peer, "exec", params, "bad_params");
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_root_that_goes_meanwhile_is_told)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);
    int64_t id = send_exec(
            pdk_peer_sh("echo ready; while [ -e ../root ]; do sleep 0.01; done"));

    pdk_peer_await_output(&peer, id, "ready");
    ck_assert_int_eq(rmdir(peer.root), 0);
    pdk_peer_result(&peer, id, &r);
    ck_assert(r.root_gone);
    ck_assert_int_eq(r.exit_code, 0);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(words_of_any_bytes_come_through)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);
    struct pdk_json *params = pdk_peer_argv((const char *const[]){ "touch", NULL });
    struct pdk_json *word = pdk_json_object();
    struct pdk_json *words = pdk_json_array();

    (void)pdk_json_set_bytes(word, "word", "a\xff", 2);
    (void)pdk_json_append(words, pdk_json_str("touch"));
    (void)pdk_json_append(words, word);
    (void)pdk_json_set(params, "argv", words);
    pdk_peer_result(&peer, send_exec(params), &r);
    ck_assert_int_eq(r.exit_code, 0);
    ck_assert(in_root("a\xff"));
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(the_environment_is_what_was_given)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);

    pdk_peer_run(&peer,
            "[ \"$(/usr/bin/env | grep -v -e ^PWD= -e ^_= -e ^SHLVL=)\" = "
            "PATH=/usr/local/bin:/usr/bin:/bin ]",
            &r);
    ck_assert_int_eq(r.exit_code, 0);
    pdk_peer_close(&peer);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent: exec");
    TCase *tc = tcase_create("exec");
    int ways = pdk_peer_ways();

    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, an_exit_code_output_and_totals_arrive, 0, ways);
    tcase_add_loop_test(tc, a_signal_is_told_as_one, 0, ways);
    tcase_add_loop_test(tc, a_timeout_ends_the_stubborn, 0, 3 * ways);
    tcase_add_loop_test(tc, a_hidden_grandchild_is_gone_at_the_answer, 0, ways);
    tcase_add_loop_test(tc, two_hundred_children_are_ended, 0, ways);
    tcase_add_loop_test(tc, a_command_that_reads_its_input_gets_its_end, 0, ways);
    tcase_add_loop_test(tc, a_flood_fills_neither_disk_nor_memory, 0, ways);
    tcase_add_loop_test(
            tc, a_slow_reader_holds_a_full_stream_back_and_loses_nothing, 0, ways);
    tcase_add_loop_test(tc, a_second_command_at_a_time_is_refused, 0, ways);
    tcase_add_loop_test(tc, a_cancel_is_polite_or_at_once, 0, 2 * ways);
    tcase_add_loop_test(tc, what_could_not_start_says_why, 0, ways);
    tcase_add_loop_test(tc, an_output_file_that_exists_is_not_touched, 0, ways);
    tcase_add_loop_test(tc, a_root_that_goes_meanwhile_is_told, 0, ways);
    tcase_add_loop_test(tc, words_of_any_bytes_come_through, 0, ways);
    tcase_add_loop_test(tc, the_environment_is_what_was_given, 0, ways);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
