/*
 * `paddock sandbox shell NAME [-- ARGV…]`: a terminal in a sandbox, kept by its agent:
 *
 *   spawn with a terminal -> read until it has ended (what is typed goes there meanwhile) -> stop
 *
 * Ends as the shell does.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <uv.h>

#include "base/fs.h"
#include "base/json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/sandbox_ask.h"
#include "orchestrator/cli/sandbox_mode.h"
#include "process/env.h"

enum { WAIT_MS = 30000, EXIT_LOST = 125, TYPED = 4096 };

struct shell {
    uv_loop_t loop;
    uv_poll_t typed;
    uv_signal_t on_size;
    struct pdk_client *client;
    struct pdk_json *params; /* of spawn */
    int64_t handle;
    bool is_typed, is_over; /* the poll is in use; the shell has ended */
    int status;
    struct pdk_err why;
};

static void shell_read(struct shell *s);

static void call(struct shell *s, enum pdk_verb verb, const struct pdk_json *params,
        pdk_call_done done)
{
    if (pdk_client_call(s->client, verb, params, 0, done, s, NULL, &s->why) < 0)
        pdk_client_close(s->client);
}

static struct pdk_json *of_handle(const struct shell *s)
{
    struct pdk_json *params = pdk_json_object();

    (void)pdk_json_set_int(params, "handle", s->handle);
    return params;
}

static void shell_on_stopped(
        const struct pdk_json *result, const struct pdk_err *err, void *user)
{
    struct shell *s = user;
    int64_t sig = pdk_json_get_int(result, "signal", 0);

    if (!result)
        s->why = *err;
    s->status = (int)(sig ? 128 + sig : pdk_json_get_int(result, "exit_code", EXIT_LOST));
    pdk_client_close(s->client);
}

static void stop(struct shell *s)
{
    PDK_AUTO_JSON struct pdk_json *params = of_handle(s);

    s->is_over = true;
    call(s, PDK_VERB_PROC_STOP, params, shell_on_stopped);
}

static void shell_on_output(
        const struct pdk_json *result, const struct pdk_err *err, void *user)
{
    struct shell *s = user;
    PDK_AUTO_BUF struct pdk_buf data = PDK_BUF_INIT;

    if (!result) {
        s->why = *err;
        pdk_client_close(s->client);
        return;
    }
    if (pdk_json_get_bytes(result, "stdout", &data, &s->why) < 0 ||
            pdk_fs_write_fd(STDOUT_FILENO, pdk_buf_str(&data), data.len, &s->why) < 0 ||
            (!pdk_json_get_bool(result, "running", false) && data.len == 0))
        stop(s);
    else
        shell_read(s);
}

static void shell_read(struct shell *s)
{
    PDK_AUTO_JSON struct pdk_json *params = of_handle(s);

    (void)pdk_json_set_bool(params, "clear", true);
    (void)pdk_json_set_int(params, "wait_ms", WAIT_MS);
    call(s, PDK_VERB_PROC_READ, params, shell_on_output);
}

/* What was typed after the end is nobody's. */
static void shell_on_taken(
        const struct pdk_json *result, const struct pdk_err *err, void *user)
{
    (void)result;
    (void)err;
    (void)user;
}

static void type(struct shell *s, const char *data, size_t len)
{
    PDK_AUTO_JSON struct pdk_json *params = of_handle(s);

    if (s->is_over || !s->handle)
        return;
    (void)pdk_json_set_bytes(params, "data", data, len);
    if (len == 0)
        (void)pdk_json_set_bool(params, "close", true);
    call(s, PDK_VERB_PROC_STDIN, params, shell_on_taken);
}

static void shell_on_typed(uv_poll_t *poll, int status, int events)
{
    struct shell *s = poll->data;
    char data[TYPED];
    ssize_t n = read(STDIN_FILENO, data, sizeof(data));

    (void)status;
    (void)events;
    if (n <= 0)
        (void)uv_poll_stop(poll);
    type(s, data, n > 0 ? (size_t)n : 0);
}

/* A file cannot be waited for: it is all there. */
static void type_file(struct shell *s)
{
    char data[TYPED];
    ssize_t n;

    while ((n = read(STDIN_FILENO, data, sizeof(data))) > 0)
        type(s, data, (size_t)n);
    type(s, data, 0);
}

static void put_size(struct pdk_json *params)
{
    struct winsize size;

    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 ||
            size.ws_col == 0)
        return;
    (void)pdk_json_set_int(params, "rows", size.ws_row);
    (void)pdk_json_set_int(params, "cols", size.ws_col);
}

static void shell_on_size(uv_signal_t *handle, int signum)
{
    struct shell *s = handle->data;
    PDK_AUTO_JSON struct pdk_json *params = of_handle(s);

    (void)signum;
    put_size(params);
    if (!s->is_over && s->handle && pdk_json_get(params, "rows"))
        call(s, PDK_VERB_PROC_STDIN, params, shell_on_taken);
}

static void shell_on_spawned(
        const struct pdk_json *result, const struct pdk_err *err, void *user)
{
    struct shell *s = user;

    if (!result) {
        s->why = *err;
        pdk_client_close(s->client);
        return;
    }
    s->handle = pdk_json_get_int(result, "handle", 0);
    shell_read(s);
    s->is_typed = uv_poll_init(&s->loop, &s->typed, STDIN_FILENO) == 0;
    s->typed.data = s;
    if (!s->is_typed || uv_poll_start(&s->typed, UV_READABLE, shell_on_typed) < 0)
        type_file(s);
}

static void shell_on_ready(
        struct pdk_client *client, const struct pdk_json *descriptor, void *user)
{
    struct shell *s = user;

    (void)client;
    (void)descriptor;
    call(s, PDK_VERB_SPAWN, s->params, shell_on_spawned);
}

static void shell_on_closed(
        struct pdk_client *client, const struct pdk_err *why, void *user)
{
    struct shell *s = user;

    (void)client;
    if (s->why.code == 0)
        s->why = *why;
    uv_close((uv_handle_t *)&s->on_size, NULL);
    if (s->is_typed)
        uv_close((uv_handle_t *)&s->typed, NULL);
}

static int fill_params(struct shell *s, const struct pdk_args *args, const char *root,
        struct pdk_err *err)
{
    const char *shell = getenv("SHELL"); /* NOLINT(concurrency-mt-unsafe): one thread */
    const char *one[] = { shell && shell[0] == '/' ? shell : "/bin/sh" };
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;

    pdk_env_base(&env);
    pdk_env_set(&env, "PADDOCK_SANDBOX", root);
    pdk_env_set(&env, "PWD", root);
    if (pdk_strv_ok(&env, err) < 0)
        return err->code;
    s->params = pdk_json_object();
    (void)pdk_json_set(s->params, "argv",
            args->rest_len > 0 ? pdk_json_strv(args->rest, args->rest_len)
                               : pdk_json_strv(one, 1));
    (void)pdk_json_set(
            s->params, "env", pdk_json_strv((const char *const *)env.items, env.len));
    (void)pdk_json_set_str(s->params, "nonce", "shell");
    (void)pdk_json_set_bool(s->params, "pty", true);
    put_size(s->params);
    return pdk_json_ok(s->params, err);
}

/* Nothing changes the session's mode while its terminal is being opened or is open. */
static int confine(struct shell *s, struct pdk_cli *cli, const struct pdk_args *args,
        const struct pdk_named *named, int *lock, struct pdk_err *err)
{
    struct pdk_policy policy = { .mode = PDK_CONFINE_NONE };
    struct pdk_json *v = NULL;
    int rc = pdk_session_hold_terminal(cli, args, named, lock, err);

    if (rc == 0)
        rc = pdk_call_policy(cli, args, named, &policy, err);
    if (rc == 0 && policy.mode != PDK_CONFINE_NONE)
        rc = pdk_policy_to_json(&policy, &v, err);
    if (rc == 0 && v)
        rc = pdk_json_set(s->params, "confine", v);
    pdk_policy_fini(&policy);
    return rc;
}

static int run_loop(
        struct shell *s, const struct pdk_named_agent *agent, struct pdk_err *err)
{
    static const struct pdk_client_handlers handlers = { shell_on_ready,
        shell_on_closed };
    struct pdk_client_spec spec = pdk_named_agent_spec(agent);
    int rc;

    if (uv_loop_init(&s->loop) < 0)
        return pdk_fail(err, PDK_EIO, 0, "cannot make an event loop");
    (void)uv_signal_init(&s->loop, &s->on_size);
    s->on_size.data = s;
    (void)uv_signal_start(&s->on_size, shell_on_size, SIGWINCH);
    rc = pdk_client_open(&s->loop, &spec, &handlers, s, &s->client, err);
    if (rc < 0)
        uv_close((uv_handle_t *)&s->on_size, NULL);
    (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&s->loop); /* every handle was closed above */
    if (rc == 0 && s->why.code != 0)
        *err = s->why;
    return rc == 0 ? s->why.code : rc;
}

/* With our own terminal raw, every key is the shell's. */
static int run_raw(
        struct shell *s, const struct pdk_named_agent *agent, struct pdk_err *err)
{
    struct termios before, raw;
    bool is_terminal = tcgetattr(STDIN_FILENO, &before) == 0;
    int rc;

    if (is_terminal) {
        raw = before;
        cfmakeraw(&raw);
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    rc = run_loop(s, agent, err);
    if (is_terminal)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
    return rc;
}

int pdk_command_sandbox_shell(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_NAMED struct pdk_named named = { 0 };
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = NULL;
    PDK_AUTO_NAMED_AGENT struct pdk_named_agent agent = { PDK_STRV_INIT, PDK_STRV_INIT };
    struct shell s = { .status = EXIT_LOST };
    PDK_AUTO_FD int lock = -1;
    struct pdk_err err = PDK_ERR_INIT;
    int rc = pdk_named_find(cli, args->words[0], &named, &err);

    if (rc == 0)
        rc = pdk_named_open(cli, &named, &sb, &err);
    if (rc == 0)
        rc = pdk_named_agent_init(&agent, sb, &err);
    if (rc == 0)
        rc = fill_params(&s, args, pdk_sandbox_root(sb), &err);
    if (rc == 0)
        rc = confine(&s, cli, args, &named, &lock, &err);
    if (rc == 0)
        rc = run_raw(&s, &agent, &err);
    pdk_json_free(s.params);
    if (rc == 0)
        return s.status;
    (void)pdk_cli_fail(cli, &err);
    return err.code == PDK_ENOTFOUND ? pdk_exit_status(err.code) : EXIT_LOST;
}
