/* How the agent begins and ends: its descriptor, signals, the end of its input, the lease. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/str.h"
#include "tests/support/fixture.h"
#include "tests/support/peer.h"

START_TEST(it_says_what_it_is)
{
    struct pdk_peer p;
    pdk_peer_open(&p, _i);
    PDK_AUTO_JSON struct pdk_json *d = pdk_peer_ask(&p, "descriptor", NULL);

    ck_assert_str_eq(pdk_json_get_str(d, "root", ""), p.root);
    ck_assert_int_eq(pdk_json_get_int(d, "protocol", 0), PDK_PROTOCOL_VERSION);
    ck_assert_uint_gt(pdk_json_len(pdk_json_get(d, "verbs")), 6);
    if (pdk_peer_agent(&p) == p.pid) {
        ck_assert_str_eq(pdk_json_get_str(d, "containment", ""), "subreaper");
        ck_assert_int_eq(pdk_json_get_int(d, "pid", 0), p.pid);
    } else {
        ck_assert_str_eq(pdk_json_get_str(d, "containment", ""), "pidns");
        ck_assert_int_eq(pdk_json_get_int(d, "pid", 0), 1);
    }
    if (_i != PDK_PEER_SELF)
        ck_assert_str_eq(pdk_json_get_str(d, "containment", ""), "subreaper");
    pdk_peer_close(&p);
}
END_TEST

static const int end_signals[] = { SIGTERM, SIGINT, SIGHUP };

START_TEST(a_signal_ends_the_command_and_the_agent)
{
    struct pdk_peer p;
    struct pdk_exec_result r;
    pdk_peer_open(&p, _i / 3);
    int64_t id = pdk_peer_send(&p, "exec",
            pdk_peer_sh("trap 'echo bye > said; exit 3' INT TERM; echo ready; "
                        "while :; do sleep 0.05; done"));

    pdk_peer_await_output(&p, id, "ready");
    ck_assert_int_eq(kill(p.pid, end_signals[_i % 3]), 0);
    pdk_peer_result(&p, id, &r);
    ck_assert(r.canceled);
    ck_assert_int_eq(r.exit_code, 3);
    ck_assert_int_eq(pdk_peer_wait(&p), 0);
    PDK_AUTO_FREE char *said = pdk_peer_path(&p, "said");
    ck_assert(pdk_test_exists(said));
    pdk_peer_fini(&p);
}
END_TEST

START_TEST(an_idle_agent_ends_on_term)
{
    struct pdk_peer p;
    pdk_peer_open(&p, _i);
    ck_assert_int_eq(kill(p.pid, SIGTERM), 0);
    ck_assert_int_eq(pdk_peer_wait(&p), 0);
    pdk_peer_fini(&p);
}
END_TEST

START_TEST(the_end_of_input_ends_commands_and_agent)
{
    struct pdk_peer p;
    struct pdk_exec_result r;
    pdk_peer_open(&p, _i);
    int64_t id = pdk_peer_send(&p, "exec", pdk_peer_sh("echo ready; exec sleep 1000"));

    pdk_peer_await_output(&p, id, "ready");
    pdk_peer_close_stdin(&p);
    pdk_peer_result(&p, id, &r);
    ck_assert(r.canceled);
    ck_assert_int_eq(pdk_peer_wait(&p), 0);
    pdk_peer_fini(&p);
}
END_TEST

START_TEST(shutdown_ends_it_while_its_input_is_open)
{
    struct pdk_peer p;
    pdk_peer_open(&p, _i);

    pdk_peer_notify(&p, "shutdown", NULL);
    ck_assert_int_eq(pdk_peer_wait(&p), 0);
    pdk_peer_fini(&p);
}
END_TEST

START_TEST(without_a_word_for_its_lease_it_ends)
{
    struct pdk_peer p;
    struct pdk_exec_result r;
    pdk_peer_open_with(&p, _i, (const char *const[]){ "--lease", "300", NULL });
    int64_t id = pdk_peer_send(&p, "exec", pdk_peer_sh("exec sleep 1000"));

    pdk_peer_result(&p, id, &r);
    ck_assert(r.canceled);
    ck_assert_int_eq(pdk_peer_wait(&p), 0);
    pdk_peer_fini(&p);
}
END_TEST

/* The peer neither reads nor closes: its pipe is full, and still the agent goes. */
START_TEST(a_reader_that_stands_still_does_not_hold_its_end)
{
    struct pdk_peer p;
    int status = 0;
    pdk_peer_open(&p, _i);

    PDK_AUTO_FREE char *up = pdk_peer_path(&p, "up");
    ck_assert_int_eq(mkfifo(up, 0600), 0);
    ck_assert_int_eq(chmod(up, 0666), 0);
    (void)pdk_peer_send(&p, "exec", pdk_peer_sh("echo up > up; exec yes"));
    free(pdk_test_read(up, NULL)); /* to its end: the command goes on to write */
    pdk_peer_close_stdin(&p);
    ck_assert_int_eq(waitpid(p.pid, &status, 0), p.pid);
    ck_assert_int_eq(status, 0);
    pdk_peer_fini(&p);
}
END_TEST

/* Killed from outside, the outer process takes the inner one and its commands with it. */
START_TEST(the_kill_of_the_outer_process_ends_all_of_it)
{
    struct pdk_peer p;
    pdk_peer_open(&p, PDK_PEER_SELF);
    pid_t inner = pdk_peer_agent(&p);
    int64_t id = pdk_peer_send(&p, "exec", pdk_peer_sh("echo ready; exec sleep 1000"));

    pdk_peer_await_output(&p, id, "ready");
    if (inner != p.pid) {
        ck_assert_int_eq(kill(p.pid, SIGKILL), 0);
        ck_assert_int_eq(
                pdk_peer_wait(&p), 128 + SIGKILL); /* at the end of the inner one */
        pdk_peer_fini(&p);
        return;
    }
    pdk_peer_close(&p);
}
END_TEST

START_TEST(what_is_no_frame_is_refused_and_the_talk_goes_on)
{
    struct pdk_peer p;
    pdk_peer_open(&p, PDK_PEER_SELF);
    static const char *const wrong[] = { "nonsense\n", "{}\n", "[1]\n",
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"read\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":5}\n" };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        pdk_peer_send_text(&p, wrong[i]);
        PDK_AUTO_JSON struct pdk_json *frame = pdk_peer_next(&p);
        ck_assert_str_eq(
                pdk_json_get_str(
                        pdk_json_get(pdk_json_get(frame, "error"), "data"), "code", ""),
                "bad_frame");
    }
    pdk_peer_refused(&p, "no_such", NULL, "unknown_method");
    pdk_peer_refused(&p, "push_tree", NULL, "not_built");
    pdk_peer_refused(&p, "exec", NULL, "bad_params");
    pdk_json_free(pdk_peer_ask(&p, "descriptor", NULL));
    pdk_peer_close(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent: life");
    TCase *tc = tcase_create("life");
    int ways = pdk_peer_ways();

    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, it_says_what_it_is, 0, ways);
    tcase_add_loop_test(tc, a_signal_ends_the_command_and_the_agent, 0, 3 * ways);
    tcase_add_loop_test(tc, an_idle_agent_ends_on_term, 0, ways);
    tcase_add_loop_test(tc, the_end_of_input_ends_commands_and_agent, 0, ways);
    tcase_add_loop_test(tc, shutdown_ends_it_while_its_input_is_open, 0, ways);
    tcase_add_loop_test(tc, without_a_word_for_its_lease_it_ends, 0, ways);
    tcase_add_loop_test(tc, a_reader_that_stands_still_does_not_hold_its_end, 0, ways);
    tcase_add_test(tc, the_kill_of_the_outer_process_ends_all_of_it);
    tcase_add_test(tc, what_is_no_frame_is_refused_and_the_talk_goes_on);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
