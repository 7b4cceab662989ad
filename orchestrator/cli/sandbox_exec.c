/*
 * `paddock sandbox exec NAME -- ARGV…`: one command in a sandbox, its output as it comes, its exit
 * code passed through. 125: it could not be run or its end was not seen; 126: it could not be
 * started; 127: there is no such command (architecture.md section 8).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/json.h"
#include "base/path.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/sandbox.h"
#include "orchestrator/cli/sandbox_ask.h"
#include "orchestrator/cli/sandbox_mode.h"
#include "process/env.h"
#include "sandbox/client.h"

enum { EXIT_LOST = 125, EXIT_NOT_STARTED = 126, EXIT_NOT_FOUND = 127 };

struct execution {
    uv_loop_t loop;
    uv_signal_t on_int, on_term;
    struct pdk_client *client;
    struct pdk_exec_request request;
    int64_t call;
    int signals;
    bool ended; /* result or why is filled */
    struct pdk_exec_result result;
    struct pdk_err why;
};

static void exec_on_output(int fd, const char *data, size_t len, void *user)
{
    struct execution *e = user;
    struct pdk_err err = PDK_ERR_INIT;

    /* A reader that went away ends the command like an interrupt. */
    if (pdk_fs_write_fd(fd == 2 ? STDERR_FILENO : STDOUT_FILENO, data, len, &err) < 0 &&
            e->call)
        pdk_client_cancel(e->client, e->call, false);
}

static void exec_on_end(
        const struct pdk_exec_result *result, const struct pdk_err *why, void *user)
{
    struct execution *e = user;

    e->call = 0;
    e->ended = result != NULL;
    if (result)
        e->result = *result;
    else
        e->why = *why;
    pdk_client_close(e->client);
}

static void exec_on_ready(
        struct pdk_client *client, const struct pdk_json *descriptor, void *user)
{
    static const struct pdk_exec_handlers handlers = { exec_on_output, exec_on_end };
    struct execution *e = user;

    (void)descriptor;
    if (pdk_client_exec(client, &e->request, &handlers, e, &e->call, &e->why) < 0)
        pdk_client_close(client);
}

static void exec_on_closed(
        struct pdk_client *client, const struct pdk_err *why, void *user)
{
    struct execution *e = user;

    (void)client;
    e->client = NULL;
    if (!e->ended && e->why.code == 0)
        e->why = *why;
    uv_close((uv_handle_t *)&e->on_int, NULL);
    uv_close((uv_handle_t *)&e->on_term, NULL);
}

static void exec_on_signal(uv_signal_t *handle, int signum)
{
    struct execution *e = handle->data;

    (void)signum;
    e->signals++;
    if (e->call)
        pdk_client_cancel(e->client, e->call, e->signals > 1);
    else if (e->client)
        pdk_client_kill(e->client);
}

static int fill_request(const struct pdk_args *args, const char *root,
        struct execution *e, struct pdk_err *err)
{
    const char *timeout = pdk_args_get(args, "timeout", NULL),
               *cwd = pdk_args_get(args, "cwd", NULL);

    e->request.graces = (struct pdk_graces)PDK_GRACES_DEFAULT;
    if (timeout && pdk_duration_parse(timeout, &e->request.timeout_ms, err) < 0)
        return pdk_wrap(err, "--timeout");
    for (size_t i = 0; i < args->rest_len; i++)
        pdk_strv_add(&e->request.argv, args->rest[i]);
    pdk_env_base(&e->request.env);
    pdk_env_set(&e->request.env, "PADDOCK_SANDBOX", root);
    pdk_env_set(&e->request.env, "PWD", root);
    e->request.cwd = cwd ? strdup(cwd) : NULL;
    if ((cwd && !e->request.cwd) || pdk_strv_ok(&e->request.argv, err) < 0)
        return pdk_fail_nomem(err);
    return pdk_strv_ok(&e->request.env, err);
}

static int run_loop(
        struct execution *e, const struct pdk_sandbox *sb, struct pdk_err *err)
{
    static const struct pdk_client_handlers handlers = { exec_on_ready, exec_on_closed };
    PDK_AUTO_NAMED_AGENT struct pdk_named_agent agent;
    struct pdk_client_spec spec;
    int rc = pdk_named_agent_init(&agent, sb, err);

    if (rc < 0)
        return rc;
    spec = pdk_named_agent_spec(&agent);
    if (uv_loop_init(&e->loop) < 0)
        return pdk_fail(err, PDK_EIO, 0, "cannot make an event loop");
    (void)uv_signal_init(&e->loop, &e->on_int);
    (void)uv_signal_init(&e->loop, &e->on_term);
    e->on_int.data = e->on_term.data = e;
    (void)uv_signal_start(&e->on_int, exec_on_signal, SIGINT);
    (void)uv_signal_start(&e->on_term, exec_on_signal, SIGTERM);
    rc = pdk_client_open(&e->loop, &spec, &handlers, e, &e->client, err);
    if (rc < 0) {
        uv_close((uv_handle_t *)&e->on_int, NULL);
        uv_close((uv_handle_t *)&e->on_term, NULL);
    }
    (void)uv_run(&e->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&e->loop); /* every handle was closed above */
    return rc;
}

static int not_started(const struct pdk_cli *cli, const struct pdk_args *args,
        const struct pdk_exec_result *result)
{
    struct pdk_err err = PDK_ERR_INIT;

    if (result->start == PDK_EXEC_NO_CONFINEMENT) {
        (void)pdk_fail(&err, PDK_EUNAVAIL, 0, "%s", result->why);
        (void)pdk_cli_fail(cli, &err);
        return EXIT_LOST;
    }
    (void)pdk_fail(&err, PDK_ENOTFOUND, result->start_errno,
            result->start == PDK_EXEC_NO_CWD ? "cannot enter the directory for '%s'"
                                             : "cannot start '%s'",
            args->rest[0]);
    (void)pdk_cli_fail(cli, &err);
    return result->start == PDK_EXEC_NO_COMMAND && result->start_errno == ENOENT
            ? EXIT_NOT_FOUND
            : EXIT_NOT_STARTED;
}

static int exit_of(
        const struct pdk_cli *cli, const struct pdk_args *args, const struct execution *e)
{
    if (!e->ended) {
        (void)pdk_cli_fail(cli, &e->why);
        return EXIT_LOST;
    }
    if (e->result.start != PDK_EXEC_STARTED)
        return not_started(cli, args, &e->result);
    if (e->result.timed_out)
        pdk_cli_say(cli, "paddock: the command was ended by its timeout\n");
    if (e->result.leaked > 0)
        pdk_cli_say(cli, "paddock: %d of its processes could not be ended\n",
                e->result.leaked);
    if (e->result.confined.denied)
        pdk_cli_say(cli, "paddock: a write was denied, it seems: the mode is %s (%s)\n",
                pdk_mode_name(e->result.confined.mode),
                pdk_dialect_name(e->result.confined.dialect));
    if (e->result.timed_out)
        return 124;
    return e->result.signal ? 128 + e->result.signal : e->result.exit_code;
}

int pdk_command_sandbox_exec(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_NAMED struct pdk_named named = { 0 };
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = NULL;
    struct execution e = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    int rc;

    if (args->rest_len == 0) {
        (void)pdk_fail(&err, PDK_EINVAL, 0, "no command");
        (void)pdk_hint(&err, "paddock sandbox exec %s -- make test", args->words[0]);
        return pdk_cli_fail(cli, &err);
    }
    rc = pdk_named_find(cli, args->words[0], &named, &err);
    if (rc == 0)
        rc = pdk_named_open(cli, &named, &sb, &err);
    if (rc == 0)
        rc = fill_request(args, pdk_sandbox_root(sb), &e, &err);
    if (rc == 0)
        rc = pdk_call_policy(cli, args, &named, &e.request.policy, &err);
    if (rc == 0)
        rc = run_loop(&e, sb, &err);
    pdk_exec_request_fini(&e.request);
    if (rc < 0) {
        (void)pdk_cli_fail(cli, &err);
        return EXIT_LOST;
    }
    return exit_of(cli, args, &e);
}
