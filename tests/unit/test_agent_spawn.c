/* spawn, proc_read, proc_stdin and proc_stop: processes that last longer than a call. */
#include <check.h>
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

/* With a ladder that gets to its end soon: what ignores its signals is not what is tested. */
static int64_t spawn_params(struct pdk_json *params)
{
    struct pdk_json *graces = pdk_json_object();

    (void)pdk_json_set_int(graces, "int_ms", 50);
    (void)pdk_json_set_int(graces, "term_ms", 50);
    (void)pdk_json_set_int(graces, "kill_ms", 60000);
    (void)pdk_json_set(params, "graces", graces);
    PDK_AUTO_JSON struct pdk_json *result = pdk_peer_ask(&peer, "spawn", params);

    ck_assert_str_eq(pdk_json_get_str(result, "nonce", ""), "n");
    ck_assert_int_gt(pdk_json_get_int(result, "pid", 0), 0);
    return pdk_json_get_int(result, "handle", 0);
}

static int64_t spawn(const char *sh)
{
    return spawn_params(pdk_peer_sh(sh));
}

static struct pdk_json *of(int64_t handle)
{
    struct pdk_json *params = pdk_json_object();

    (void)pdk_json_set_int(params, "handle", handle);
    return params;
}

/* Reads, clearing, until stdout holds the text; owned by the caller. */
static char *await(int64_t handle, const char *text)
{
    struct pdk_buf all = PDK_BUF_INIT;

    while (!strstr(pdk_buf_str(&all), text)) {
        struct pdk_json *params = of(handle);
        PDK_AUTO_JSON struct pdk_json *result = NULL;

        (void)pdk_json_set_bool(params, "clear", true);
        (void)pdk_json_set_int(params, "wait_ms", 60000);
        result = pdk_peer_ask(&peer, "proc_read", params);
        ck_assert_msg(pdk_json_get_bool(result, "running", false) ||
                        pdk_json_get_str(result, "stdout", "")[0],
                "it ended after '%s'", pdk_buf_str(&all));
        ck_assert_int_eq(pdk_json_get_bytes(result, "stdout", &all, NULL), 0);
    }
    return pdk_buf_take(&all);
}

static void await_end(int64_t handle)
{
    for (bool running = true; running;) {
        struct pdk_json *params = of(handle);

        (void)pdk_json_set_bool(params, "clear", true);
        (void)pdk_json_set_int(params, "wait_ms", 60000);
        PDK_AUTO_JSON struct pdk_json *r = pdk_peer_ask(&peer, "proc_read", params);
        running = pdk_json_get_bool(r, "running", true);
    }
}

static void type(int64_t handle, const char *text, bool end)
{
    struct pdk_json *params = of(handle);

    (void)pdk_json_set_bytes(params, "data", text, strlen(text));
    (void)pdk_json_set_bool(params, "close", end);
    PDK_AUTO_JSON struct pdk_json *result = pdk_peer_ask(&peer, "proc_stdin", params);
    ck_assert_int_eq(pdk_json_get_int(result, "accepted", -1), (int)strlen(text));
}

static struct pdk_json *stop(int64_t handle)
{
    return pdk_peer_ask(&peer, "proc_stop", of(handle));
}

START_TEST(what_is_typed_is_read_and_cleared)
{
    pdk_peer_open(&peer, _i);
    int64_t handle = spawn("cat; echo bye >&2; exit 3");

    type(handle, "one\n", false);
    free(await(handle, "one\n"));
    type(handle, "two\n", false);
    PDK_AUTO_FREE char *second = await(handle, "two\n");
    ck_assert_str_eq(second, "two\n");
    type(handle, "", true);
    await_end(handle);
    PDK_AUTO_JSON struct pdk_json *end = stop(handle);
    ck_assert_int_eq(pdk_json_get_int(end, "exit_code", -1), 3);
    ck_assert(!pdk_json_get_bool(end, "running", true));
    ck_assert_int_eq(pdk_json_get_int(end, "leaked", -1), 0);
    pdk_peer_refused(&peer, "proc_read", of(handle), "not_found");
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(what_is_not_cleared_stays)
{
    pdk_peer_open(&peer, _i);
    int64_t handle = spawn("printf 'a\\377b'; echo; echo ready; cat");

    free(await(handle, "ready"));
    type(handle, "more\n", false);
    for (int i = 0; i < 3; i++) {
        struct pdk_json *params = of(handle);
        PDK_AUTO_BUF struct pdk_buf data = PDK_BUF_INIT;

        (void)pdk_json_set_int(params, "wait_ms", 60000);
        PDK_AUTO_JSON struct pdk_json *r = pdk_peer_ask(&peer, "proc_read", params);
        ck_assert_int_eq(pdk_json_get_bytes(r, "stdout", &data, NULL), 0);
        ck_assert_str_eq(pdk_buf_str(&data), "more\n");
    }
    pdk_json_free(stop(handle));
    pdk_peer_close(&peer);
}
END_TEST

/* An exec meanwhile neither waits for a kept process nor ends it, and a cancel does not reach it. */
START_TEST(a_kept_process_and_commands_do_not_meet)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);
    int64_t handle = spawn("sleep 1000 & setsid sleep 1000 & echo ready; cat");
    free(await(handle, "ready\n"));

    pdk_peer_run(&peer, "sleep 1000 & setsid sleep 1000 & exit 4", &r);
    ck_assert_int_eq(r.exit_code, 4);
    ck_assert_int_eq(r.stragglers, 2);
    ck_assert_int_eq(r.leaked, 0);
    int64_t call =
            pdk_peer_send(&peer, "exec", pdk_peer_sh("trap '' INT TERM; sleep 1000"));
    struct pdk_json *params = pdk_json_object();
    (void)pdk_json_set_int(params, "call", call);
    (void)pdk_json_set_bool(params, "at_once", true);
    pdk_peer_notify(&peer, "cancel", params);
    pdk_peer_result(&peer, call, &r);
    ck_assert(r.canceled);
    type(handle, "still\n", false);
    free(await(handle, "still\n"));
    PDK_AUTO_JSON struct pdk_json *end = stop(handle);
    ck_assert_int_ne(pdk_json_get_int(end, "signal", 0), 0);
    pdk_peer_close(&peer);
}
END_TEST

/* A process that tells its parent nothing of its end is swept like any other. */
START_TEST(a_silent_clone_does_not_pass_for_a_keeper)
{
    static const char *const python[] = { "python3", "-c",
        "import ctypes,os,time\n"
        "libc=ctypes.CDLL(None)\n"
        "if libc.syscall(56,0,0,0,0,0)==0:\n"
        "    os.setsid(); time.sleep(1000)\n",
        NULL };
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);

    pdk_peer_result(&peer, pdk_peer_send(&peer, "exec", pdk_peer_argv(python)), &r);
    ck_assert_int_eq(r.exit_code, 0);
    ck_assert_int_eq(r.stragglers, 1);
    ck_assert_int_eq(r.leaked, 0);
    pdk_peer_close(&peer);
}
END_TEST

/* Asks by a command in the same pid namespace. */
static bool lives(int pid)
{
    PDK_AUTO_FREE char *sh = pdk_strf("kill -0 %d", pid);
    struct pdk_exec_result r;

    pdk_peer_run(&peer, sh, &r);
    return r.exit_code == 0;
}

START_TEST(nothing_is_left_of_what_was_stopped)
{
    pdk_peer_open(&peer, _i);
    int64_t handle = spawn("trap '' INT TERM; setsid sleep 1000 & echo \"$!.\"; cat");
    PDK_AUTO_FREE char *line = await(handle, ".");
    int pid = (int)strtol(line, NULL, 10);

    ck_assert(lives(pid));
    pdk_json_free(stop(handle));
    ck_assert(!lives(pid));
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_terminal_has_a_size_that_changes)
{
    pdk_peer_open(&peer, _i);
    struct pdk_json *params =
            pdk_peer_sh("trap 'stty size' WINCH; tty; stty size; echo ready; "
                        "while :; do read line && echo \"got $line\"; done");
    (void)pdk_json_set_bool(params, "pty", true);
    (void)pdk_json_set_int(params, "rows", 10);
    (void)pdk_json_set_int(params, "cols", 33);
    int64_t handle = spawn_params(params);
    PDK_AUTO_FREE char *text = await(handle, "ready");

    ck_assert(strstr(text, "/dev/pts/") != NULL);
    ck_assert(strstr(text, "10 33") != NULL);
    params = of(handle);
    (void)pdk_json_set_int(params, "rows", 11);
    (void)pdk_json_set_int(params, "cols", 44);
    pdk_json_free(pdk_peer_ask(&peer, "proc_stdin", params));
    type(handle, "x\n", false);
    free(await(handle, "11 44"));
    pdk_json_free(stop(handle));
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(the_end_of_the_agent_is_the_end_of_kept_processes)
{
    pdk_peer_open(&peer, _i);
    int64_t handle = spawn("setsid sleep 1000 & exec sh -c 'echo ready; cat'");
    free(await(handle, "ready\n"));

    pdk_peer_close(&peer); /* expects that the agent ends by itself, with 0 */
}
END_TEST

START_TEST(a_kept_process_is_confined_where_that_was_asked_for)
{
    pdk_peer_open(&peer, _i);
    struct pdk_json *params = pdk_peer_sh("echo x > f; echo done; cat");
    struct pdk_json *confine = pdk_json_object();
    (void)pdk_json_set_str(confine, "mode", "read-only");
    (void)pdk_json_set(params, "confine", confine);
    int64_t id = pdk_peer_send(&peer, "spawn", params);
    PDK_AUTO_JSON struct pdk_json *answer = pdk_peer_answer(&peer, id);
    PDK_AUTO_FREE char *path = pdk_peer_path(&peer, "f");

    if (pdk_json_get(answer, "result")) {
        int64_t handle = pdk_json_get_int(pdk_json_get(answer, "result"), "handle", 0);
        free(await(handle, "done"));
        pdk_json_free(stop(handle));
    }
    ck_assert(!pdk_test_exists(path));
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(what_cannot_be_kept_says_why)
{
    static const char *const none[] = { "/no/such/program", NULL };
    pdk_peer_open(&peer, _i);

    pdk_peer_refused(&peer, "spawn", pdk_peer_argv(none), "not_found");
    pdk_peer_refused(&peer, "spawn", NULL, "bad_params");
    struct pdk_json *params = pdk_peer_sh("true");
    (void)pdk_json_set_str(params, "cwd", "..");
    pdk_peer_refused(&peer, "spawn", params, "outside");
    pdk_peer_refused(&peer, "proc_stop", of(99), "not_found");
    int64_t handle = spawn("echo ready; cat");
    free(await(handle, "ready\n"));
    params = of(handle);
    (void)pdk_json_set_int(params, "rows", 3);
    pdk_peer_refused(&peer, "proc_stdin", params, "bad_params");
    type(handle, "", true);
    params = of(handle);
    (void)pdk_json_set_str(params, "data", "late");
    pdk_peer_refused(&peer, "proc_stdin", params, "io");
    params = of(handle);
    (void)pdk_json_set_int(params, "graces", 7);
    pdk_peer_refused(&peer, "proc_stop", params, "bad_params");
    pdk_json_free(stop(handle));
    pdk_peer_close(&peer);
}
END_TEST

/* Of a flood the newest bytes stay, and what is lost is counted. */
START_TEST(a_flood_keeps_its_end)
{
    pdk_peer_open(&peer, _i);
    int64_t handle = spawn("yes 0123456789 | head -c 3000000; echo END");
    int64_t dropped = 0, bytes = 0;

    for (bool more = true; more;) {
        struct pdk_json *params = of(handle);
        PDK_AUTO_BUF struct pdk_buf data = PDK_BUF_INIT;

        (void)pdk_json_set_bool(params, "clear", true);
        (void)pdk_json_set_int(params, "wait_ms", 60000);
        PDK_AUTO_JSON struct pdk_json *r = pdk_peer_ask(&peer, "proc_read", params);
        ck_assert_int_eq(pdk_json_get_bytes(r, "stdout", &data, NULL), 0);
        dropped += pdk_json_get_int(r, "stdout_dropped", 0);
        bytes += (int64_t)data.len;
        more = pdk_json_get_bool(r, "running", true) || data.len > 0;
    }
    ck_assert_int_eq(dropped + bytes, 3000004);
    pdk_json_free(stop(handle));
    pdk_peer_close(&peer);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent: spawn");
    TCase *tc = tcase_create("spawn");
    int ways = pdk_peer_ways();

    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, what_is_typed_is_read_and_cleared, 0, ways);
    tcase_add_loop_test(tc, what_is_not_cleared_stays, 0, ways);
    tcase_add_loop_test(tc, a_kept_process_and_commands_do_not_meet, 0, ways);
    tcase_add_loop_test(tc, a_silent_clone_does_not_pass_for_a_keeper, 0, ways);
    tcase_add_loop_test(tc, nothing_is_left_of_what_was_stopped, 0, ways);
    tcase_add_loop_test(tc, a_terminal_has_a_size_that_changes, 0, ways);
    tcase_add_loop_test(tc, the_end_of_the_agent_is_the_end_of_kept_processes, 0, ways);
    tcase_add_loop_test(tc, a_kept_process_is_confined_where_that_was_asked_for, 0, ways);
    tcase_add_loop_test(tc, what_cannot_be_kept_says_why, 0, ways);
    tcase_add_loop_test(tc, a_flood_keeps_its_end, 0, ways);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
