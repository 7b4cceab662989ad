/* The client against agents that keep the protocol or break it: each call ends once, and so does the client. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "sandbox/client.h"
#include "tests/support/fixture.h"

#define FAKE        PDK_TEST_CHILD_DIR "/child_fake_agent"
#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

struct talk {
    uv_loop_t loop;
    struct pdk_client *client;
    const char *script; /* of the fake; NULL: the real agent on the test's directory */
    struct pdk_client_spec spec;
    void (*act)(struct talk *t); /* once it is ready */
    void (*heard)(struct talk *t, int fd);
    void (*then[3])(struct talk *t); /* after the end of the first call, the second … */
    int64_t timeout_ms;              /* of the call */
    const char *sh;                  /* the command of the exec */
    bool close_early;
    int64_t call;
    int ready, calls_ended, closed;
    int64_t round_trips, ignored;
    bool has_result;
    struct pdk_exec_result result;
    struct pdk_err call_why, why;
    struct pdk_buf out, err;
};

static void on_ready(struct pdk_client *c, const struct pdk_json *descriptor, void *user)
{
    struct talk *t = user;

    ck_assert_ptr_eq(c, t->client);
    ck_assert_int_eq(pdk_json_get_int(descriptor, "protocol", 0), 1);
    ck_assert_int_eq(t->closed, 0);
    t->ready++;
    if (t->act)
        t->act(t);
}

static void on_closed(struct pdk_client *c, const struct pdk_err *why, void *user)
{
    struct talk *t = user;

    t->round_trips = pdk_client_round_trips(c);
    t->ignored = pdk_client_ignored(c);
    t->why = *why;
    t->closed++;
}

static void next_step(struct talk *t)
{
    ck_assert_int_le(t->calls_ended, 3);
    if (t->calls_ended > 0 && t->then[t->calls_ended - 1])
        t->then[t->calls_ended - 1](t);
}

static void on_output(int fd, const char *data, size_t len, void *user)
{
    struct talk *t = user;

    ck_assert_int_eq(t->calls_ended, 0);
    pdk_buf_add(fd == 2 ? &t->err : &t->out, data, len);
    if (t->heard)
        t->heard(t, fd);
}

static void on_end(
        const struct pdk_exec_result *result, const struct pdk_err *err, void *user)
{
    struct talk *t = user;

    ck_assert((result == NULL) == (err->code != 0));
    ck_assert_int_eq(t->closed, 0);
    t->calls_ended++;
    t->call_why = *err;
    t->has_result = result != NULL;
    if (result)
        t->result = *result;
    next_step(t);
}

static void on_done(const struct pdk_json *result, const struct pdk_err *err, void *user)
{
    struct talk *t = user;

    ck_assert((result == NULL) == (err->code != 0));
    t->calls_ended++;
    t->call_why = *err;
    t->has_result = result != NULL;
    next_step(t);
}

static void run_command(struct talk *t)
{
    static const struct pdk_exec_handlers handlers = { on_output, on_end };
    struct pdk_exec_request r = { .timeout_ms = t->timeout_ms, .graces = { 0, 1, 1 } };
    struct pdk_err err = PDK_ERR_INIT;

    if (t->sh)
        r.graces = (struct pdk_graces){ 0, 10000, 10000 };
    pdk_strv_add(&r.argv, "/bin/sh");
    pdk_strv_add(&r.argv, "-c");
    pdk_strv_add(&r.argv, t->sh ? t->sh : "true");
    pdk_strv_add(&r.env, "PATH=/usr/bin:/bin");
    ck_assert_msg(pdk_client_exec(t->client, &r, &handlers, t, &t->call, &err) == 0, "%s",
            err.msg);
    pdk_strv_fini(&r.argv);
    pdk_strv_fini(&r.env);
}

static void ask_something(struct talk *t)
{
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_client_call(t->client, PDK_VERB_DESCRIPTOR, NULL, t->timeout_ms,
                          on_done, t, &t->call, &err) == 0,
            "%s", err.msg);
}

static void close_it(struct talk *t)
{
    pdk_client_close(t->client);
    pdk_client_close(t->client);
}

static void kill_it(struct talk *t)
{
    pdk_client_kill(t->client);
    pdk_client_kill(t->client);
    pdk_client_close(t->client);
}

/* Opens, runs the loop to its end, and expects one end of everything. */
static void run(struct talk *t)
{
    static const struct pdk_client_handlers handlers = { on_ready, on_closed };
    static const char *const envp[] = { "PATH=/usr/bin:/bin", NULL };
    const char *fake[] = { FAKE, t->script, NULL };
    const char *real[] = { PDK_TEST_AGENT, "--root", t->script ? "" : pdk_test_dir(),
        NULL };
    struct pdk_err err = PDK_ERR_INIT;

    (void)signal(SIGPIPE, SIG_IGN);
    t->spec.argv = t->script ? fake : real;
    t->spec.envp = envp;
    ck_assert_int_eq(uv_loop_init(&t->loop), 0);
    ck_assert_msg(
            pdk_client_open(&t->loop, &t->spec, &handlers, t, &t->client, &err) == 0,
            "%s", err.msg);
    ck_assert_int_eq(t->ready + t->closed, 0);
    if (t->close_early)
        close_it(t);
    (void)uv_run(&t->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(t->closed, 1);
    ck_assert_int_eq(uv_loop_close(&t->loop), 0);
}

static void fini(struct talk *t)
{
    pdk_buf_fini(&t->out);
    pdk_buf_fini(&t->err);
}

/* ---- what goes well */

START_TEST(a_good_agent_answers_and_ends)
{
    struct talk t = { .script = "good", .act = run_command, .then = { close_it } };

    run(&t);
    ck_assert_int_eq(t.calls_ended, 1);
    ck_assert(t.has_result);
    ck_assert_int_eq(t.result.exit_code, 7);
    ck_assert_int_eq(t.why.code, 0);
    ck_assert_int_eq(t.ignored, 0);
}
END_TEST

START_TEST(an_exec_is_one_round_trip)
{
    struct talk t = { .script = "two_outputs", .act = run_command, .then = { close_it } };

    run(&t);
    ck_assert(t.has_result);
    ck_assert_int_eq(t.round_trips, 1);
    fini(&t);
}
END_TEST

START_TEST(output_comes_as_the_bytes_it_was)
{
    struct talk t = { .script = "two_outputs", .act = run_command, .then = { close_it } };

    run(&t);
    ck_assert_uint_eq(t.out.len, 2);
    ck_assert_mem_eq(t.out.data, "\xff\0", 2);
    ck_assert_str_eq(pdk_buf_str(&t.err), "e");
    fini(&t);
}
END_TEST

START_TEST(an_answer_given_twice_counts_once)
{
    struct talk t = {
        .script = "answers_twice", .act = run_command, .then = { run_command, close_it }
    };

    run(&t);
    ck_assert_int_eq(t.calls_ended, 2);
    ck_assert(t.has_result);
    ck_assert_int_eq(t.ignored, 2);
    ck_assert_int_eq(t.round_trips, 2);
}
END_TEST

START_TEST(an_answer_of_no_call_is_ignored)
{
    struct talk t = { .script = "wrong_id", .act = run_command, .then = { close_it } };

    run(&t);
    ck_assert(t.has_result);
    ck_assert_int_eq(t.ignored, 1);
}
END_TEST

START_TEST(a_late_answer_is_ignored)
{
    struct talk t = { .script = "answers_late",
        .act = ask_something,
        .timeout_ms = 1,
        .then = { ask_something, close_it },
        .spec = { .heartbeat_ms = 5000 } };

    run(&t);
    ck_assert_int_eq(t.calls_ended, 2);
    ck_assert_int_ge(t.ignored, 1);
}
END_TEST

START_TEST(a_refusal_ends_its_call_and_nothing_else)
{
    struct talk t = {
        .script = "refuses", .act = run_command, .then = { ask_something, close_it }
    };

    run(&t);
    ck_assert_int_eq(t.calls_ended, 2);
    ck_assert_int_eq(t.call_why.code, PDK_ECONFLICT);
    ck_assert_ptr_null(strchr(t.call_why.msg, '\033'));
    ck_assert_int_eq(t.why.code, 0);
}
END_TEST

START_TEST(closing_before_it_is_ready_is_fine)
{
    struct talk t = { .script = "good", .close_early = true };

    run(&t);
    ck_assert_int_eq(t.ready, 0);
    ck_assert_int_eq(t.why.code, 0);
}
END_TEST

static void run_and_kill(struct talk *t)
{
    run_command(t);
    kill_it(t);
}

static void run_and_close(struct talk *t)
{
    run_command(t);
    close_it(t);
}

START_TEST(killing_ends_the_open_call)
{
    struct talk t = { .script = "silent", .act = run_and_kill };

    run(&t);
    ck_assert_int_eq(t.calls_ended, 1);
    ck_assert_int_eq(t.call_why.code, PDK_EPROTO);
    ck_assert_int_eq(t.why.code, 0);
}
END_TEST

START_TEST(closing_ends_a_call_that_is_never_answered)
{
    struct talk t = { .script = "ends_when_asked", .act = run_and_close };

    run(&t);
    ck_assert_int_eq(t.calls_ended, 1);
    ck_assert(!t.has_result);
    ck_assert_int_eq(t.why.code, 0);
}
END_TEST

START_TEST(a_program_that_is_not_there_fails_the_open)
{
    static const struct pdk_client_handlers handlers = { on_ready, on_closed };
    static const char *const argv[] = { "/nowhere/agent", NULL },
                             *const envp[] = { NULL };
    struct pdk_client_spec spec = { .argv = argv, .envp = envp };
    struct pdk_client *c = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    uv_loop_t loop;

    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_lt(pdk_client_open(&loop, &spec, &handlers, NULL, &c, &err), 0);
    ck_assert_ptr_null(c);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}
END_TEST

/* ---- what loses the agent */

static const struct {
    const char *script;
    void (*act)(struct talk *t);
    int ready, code;
    const char *text;
} losses[] = {
    { "dies_mid_frame", run_command, 1, PDK_EPROTO, "it ended" },
    { "ends_when_asked", ask_something, 1, PDK_EPROTO, "it ended" },
    { "wrong_nonce", run_command, 1, PDK_EPROTO, "another nonce" },
    { "result_before_start", run_command, 1, PDK_EPROTO, "another nonce" },
    { "result_out_of_form", run_command, 1, PDK_EPROTO, "agent lost" },
    { "no_result", ask_something, 1, PDK_EPROTO, "without a result" },
    { "output_of_a_number", run_command, 1, PDK_EPROTO, "no bytes" },
    { "does_not_understand", run_command, 1, PDK_EPROTO, "not understand: what?" },
    { "no_kind_of_frame", run_command, 1, PDK_EPROTO, "neither an answer" },
    { "long_line", run_command, 1, PDK_EPROTO, "longer than the limit" },
    { "bad_utf8", run_command, 1, PDK_EPROTO, "no frame" },
    { "deep", run_command, 1, PDK_EPROTO, "no frame" },
    { "wrong_version", NULL, 0, PDK_EPROTO, "version 2, not 1" },
    { "dies_at_once", NULL, 0, PDK_EPROTO, "it ended; it said: no\\x1bsuch root" },
    { "floods_stderr", run_command, 1, PDK_EPROTO, "it ended; it said: last words" },
};

START_TEST(an_agent_that_breaks_the_protocol_is_lost)
{
    struct talk t = { .script = losses[_i].script, .act = losses[_i].act };

    run(&t);
    ck_assert_int_eq(t.ready, losses[_i].ready);
    ck_assert_int_eq(t.calls_ended, t.act ? 1 : 0);
    ck_assert(!t.has_result);
    ck_assert_int_eq(t.call_why.code, t.act ? losses[_i].code : 0);
    ck_assert_int_eq(t.why.code, losses[_i].code);
    ck_assert_msg(
            strstr(t.why.msg, losses[_i].text) != NULL, "%s: %s", t.script, t.why.msg);
    ck_assert_msg(strstr(t.why.msg, "agent lost: ") == t.why.msg, "%s", t.why.msg);
    fini(&t);
}
END_TEST

static int64_t ms_since(uint64_t start)
{
    return (int64_t)((uv_hrtime() - start) / 1000000);
}

START_TEST(silence_for_three_heartbeats_is_a_loss)
{
    struct talk t = {
        .script = "silent", .act = run_command, .spec = { .heartbeat_ms = 50 }
    };
    uint64_t start = uv_hrtime();

    run(&t);
    ck_assert_int_ge(ms_since(start), 150);
    ck_assert_int_eq(t.why.code, PDK_ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(t.why.msg, "silent"));
    ck_assert_int_eq(t.calls_ended, 1);
    ck_assert(!t.has_result);
}
END_TEST

START_TEST(an_agent_that_is_never_ready_is_lost)
{
    struct talk t = { .script = "never_ready",
        .spec = { .heartbeat_ms = 50, .ready_timeout_ms = 100 } };

    run(&t);
    ck_assert_int_eq(t.ready, 0);
    ck_assert_int_eq(t.why.code, PDK_ETIMEDOUT);
}
END_TEST

START_TEST(an_exec_long_past_its_limit_loses_the_agent)
{
    struct talk t = { .script = "alive_but_mute",
        .act = run_command,
        .timeout_ms = 1,
        .spec = { .heartbeat_ms = 2000, .exec_margin_ms = 50 } };

    run(&t);
    ck_assert_int_eq(t.why.code, PDK_ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(t.why.msg, "past its time limit"));
    ck_assert_int_eq(t.calls_ended, 1);
    ck_assert(!t.has_result);
}
END_TEST

static void run_and_cancel(struct talk *t)
{
    run_command(t);
    pdk_client_cancel(t->client, t->call, true);
}

START_TEST(a_cancel_that_is_not_heard_loses_the_agent)
{
    struct talk t = { .script = "alive_but_mute",
        .act = run_and_cancel,
        .spec = { .heartbeat_ms = 2000, .exec_margin_ms = 50 } };

    run(&t);
    ck_assert_int_eq(t.why.code, PDK_ETIMEDOUT);
    ck_assert_int_eq(t.calls_ended, 1);
}
END_TEST

START_TEST(a_call_without_an_answer_in_time_ends_alone)
{
    struct talk t = { .script = "alive_but_mute",
        .act = ask_something,
        .timeout_ms = 20,
        .then = { close_it },
        .spec = { .heartbeat_ms = 2000 } };

    run(&t);
    ck_assert_int_eq(t.call_why.code, PDK_ETIMEDOUT);
    ck_assert_int_eq(t.why.code, 0);
}
END_TEST

/* ---- what is not even sent */

static int write_much(struct talk *t, size_t size, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *params = pdk_json_object();
    PDK_AUTO_FREE char *pad = calloc(1, size + 1);

    ck_assert_ptr_nonnull(pad);
    memset(pad, 'x', size);
    (void)pdk_json_set_str(params, "data", pad);
    return pdk_client_call(t->client, PDK_VERB_WRITE, params, 0, on_done, t, NULL, err);
}

/* Each call that was taken ends, too: they count up to 0. */
static void write_until_refused(struct talk *t)
{
    struct pdk_err err = PDK_ERR_INIT;
    int taken = 0;

    while (taken < 64 && write_much(t, 900 << 10, &err) == 0)
        taken++;
    ck_assert_int_eq(err.code, PDK_EIO);
    ck_assert_int_ge(taken, 9);
    ck_assert_int_le(taken, 12);
    t->calls_ended = -taken;
    kill_it(t);
}

START_TEST(an_agent_that_takes_nothing_gets_nothing_more)
{
    struct talk t = { .script = "ignores_stdin", .act = write_until_refused };

    run(&t);
    ck_assert_int_eq(t.calls_ended, 0);
    ck_assert_int_eq(t.why.code, 0);
}
END_TEST

static void refuse_three(struct talk *t)
{
    static const struct pdk_exec_handlers handlers = { NULL, on_end };
    char nonce[PDK_NONCE_MAX + 2];
    struct pdk_exec_request r = { .nonce = nonce };
    struct pdk_err err = PDK_ERR_INIT;

    memset(nonce, 'n', sizeof(nonce) - 1);
    nonce[sizeof(nonce) - 1] = '\0';
    pdk_strv_add(&r.argv, "true");
    ck_assert_int_eq(
            pdk_client_exec(t->client, &r, &handlers, t, NULL, &err), PDK_EINVAL);
    r.nonce = (char[]){ "\xff" };
    ck_assert_int_eq(
            pdk_client_exec(t->client, &r, &handlers, t, NULL, &err), PDK_EINVAL);
    ck_assert_int_eq(write_much(t, PDK_FRAME_MAX, &err), PDK_EINVAL);
    pdk_strv_fini(&r.argv);
    close_it(t);
    ck_assert_int_eq(write_much(t, 1, &err), PDK_EPROTO);
}

START_TEST(what_cannot_be_sent_is_refused_at_once)
{
    struct talk t = { .script = "good", .act = refuse_three };

    run(&t);
    ck_assert_int_eq(t.calls_ended, 0);
    ck_assert_int_eq(t.round_trips, 0);
}
END_TEST

/* ---- the real agent */

START_TEST(a_real_command_streams_its_output_and_gives_its_code)
{
    struct talk t = { .act = run_command,
        .then = { close_it },
        .sh = "printf 'out\\377'; echo err >&2; exit 3" };

    run(&t);
    ck_assert_msg(t.has_result, "%s", t.call_why.msg);
    ck_assert_int_eq(t.result.exit_code, 3);
    ck_assert_str_eq(pdk_buf_str(&t.out), "out\xff");
    ck_assert_str_eq(pdk_buf_str(&t.err), "err\n");
    ck_assert_uint_eq(t.result.out_bytes, 4);
    ck_assert_int_eq(t.round_trips, 1);
    ck_assert_int_eq(t.why.code, 0);
    fini(&t);
}
END_TEST

START_TEST(much_output_comes_whole)
{
    struct talk t = {
        .act = run_command, .then = { close_it }, .sh = "head -c 3000000 /dev/zero"
    };

    run(&t);
    ck_assert(t.has_result);
    ck_assert_uint_eq(t.out.len, 3000000);
    fini(&t);
}
END_TEST

static void cancel_once(struct talk *t, int fd)
{
    (void)fd;
    pdk_client_cancel(t->client, t->call, false);
}

START_TEST(a_canceled_command_ends_with_a_result)
{
    struct talk t = { .act = run_command,
        .heard = cancel_once,
        .then = { close_it },
        .sh = "echo ready; exec sleep 1000" };

    run(&t);
    ck_assert(t.has_result);
    ck_assert(t.result.canceled);
    ck_assert_int_eq(t.result.signal, SIGTERM);
    ck_assert_int_eq(t.round_trips, 1);
    fini(&t);
}
END_TEST

START_TEST(a_command_past_its_timeout_ends_with_a_result)
{
    struct talk t = { .act = run_command,
        .then = { close_it },
        .timeout_ms = 50,
        .sh = "exec sleep 1000" };

    run(&t);
    ck_assert(t.has_result);
    ck_assert(t.result.timed_out && !t.result.canceled);
    ck_assert_int_eq(t.result.signal, SIGTERM);
    fini(&t);
}
END_TEST

/* The only child of ours: the transport, which is the agent or its outer process. */
static pid_t only_child(void)
{
    PDK_AUTO_FREE char *path = pdk_strf("/proc/self/task/%d/children", (int)getpid());
    PDK_AUTO_FILE FILE *file = fopen(path, "re");
    char line[64] = "";
    char *end = NULL;
    long pid;

    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
    pid = strtol(line, &end, 10);
    ck_assert_int_gt(pid, 1);
    ck_assert_str_eq(end, " ");
    return (pid_t)pid;
}

static void murder(struct talk *t, int fd)
{
    (void)t;
    (void)fd;
    ck_assert_int_eq(kill(only_child(), SIGKILL), 0);
}

START_TEST(an_agent_killed_amid_a_command_gives_an_error_and_no_result)
{
    struct talk t = { .act = run_command,
        .heard = murder,
        .sh = "echo ready; while kill -0 $PPID; do sleep 0.05; done" };

    run(&t);
    ck_assert_int_eq(t.calls_ended, 1);
    ck_assert(!t.has_result);
    ck_assert_int_eq(t.call_why.code, PDK_EPROTO);
    ck_assert_int_eq(t.why.code, PDK_EPROTO);
    fini(&t);
}
END_TEST

START_TEST(closing_amid_a_command_stops_it_and_brings_its_result)
{
    struct talk t = { .act = run_and_close, .sh = "exec sleep 1000" };

    run(&t);
    ck_assert_int_eq(t.calls_ended, 1);
    ck_assert_msg(t.has_result, "%s", t.call_why.msg);
    ck_assert(t.result.canceled);
    ck_assert_int_eq(t.why.code, 0);
    fini(&t);
}
END_TEST

static void ask_for_push(struct talk *t)
{
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_client_call(t->client, PDK_VERB_PUSH_TREE, NULL, 0, on_done, t,
                             NULL, &err),
            0);
}

START_TEST(a_verb_that_is_not_built_is_unsupported)
{
    struct talk t = { .act = ask_for_push, .then = { close_it } };

    run(&t);
    ck_assert_int_eq(t.call_why.code, PDK_EUNSUPPORTED);
}
END_TEST

static Suite *client_suite(void)
{
    Suite *suite = suite_create("sandbox_client");
    TCase *fake = tcase_create("fake"), *real = tcase_create("real");

    tcase_set_timeout(fake, 60);
    tcase_set_timeout(real, 60);
    tcase_add_test(fake, a_good_agent_answers_and_ends);
    tcase_add_test(fake, an_exec_is_one_round_trip);
    tcase_add_test(fake, output_comes_as_the_bytes_it_was);
    tcase_add_test(fake, an_answer_given_twice_counts_once);
    tcase_add_test(fake, an_answer_of_no_call_is_ignored);
    tcase_add_test(fake, a_late_answer_is_ignored);
    tcase_add_test(fake, a_refusal_ends_its_call_and_nothing_else);
    tcase_add_test(fake, closing_before_it_is_ready_is_fine);
    tcase_add_test(fake, killing_ends_the_open_call);
    tcase_add_test(fake, closing_ends_a_call_that_is_never_answered);
    tcase_add_test(fake, a_program_that_is_not_there_fails_the_open);
    tcase_add_loop_test(fake, an_agent_that_breaks_the_protocol_is_lost, 0, ROWS(losses));
    tcase_add_test(fake, silence_for_three_heartbeats_is_a_loss);
    tcase_add_test(fake, an_agent_that_is_never_ready_is_lost);
    tcase_add_test(fake, an_exec_long_past_its_limit_loses_the_agent);
    tcase_add_test(fake, a_cancel_that_is_not_heard_loses_the_agent);
    tcase_add_test(fake, a_call_without_an_answer_in_time_ends_alone);
    tcase_add_test(fake, an_agent_that_takes_nothing_gets_nothing_more);
    tcase_add_test(fake, what_cannot_be_sent_is_refused_at_once);
    tcase_add_checked_fixture(real, pdk_test_dir_setup, pdk_test_dir_teardown);
    tcase_add_test(real, a_real_command_streams_its_output_and_gives_its_code);
    tcase_add_test(real, much_output_comes_whole);
    tcase_add_test(real, a_canceled_command_ends_with_a_result);
    tcase_add_test(real, a_command_past_its_timeout_ends_with_a_result);
    tcase_add_test(real, an_agent_killed_amid_a_command_gives_an_error_and_no_result);
    tcase_add_test(real, closing_amid_a_command_stops_it_and_brings_its_result);
    tcase_add_test(real, a_verb_that_is_not_built_is_unsupported);
    suite_add_tcase(suite, fake);
    suite_add_tcase(suite, real);
    return suite;
}

int main(void)
{
    return pdk_test_main(client_suite());
}
