#include "orchestrator/cli/sandbox_ask.h"

#include <stdlib.h>
#include <uv.h>

#include "backends/tier.h"
#include "base/json.h"
#include "sandbox/agent_path.h"

struct asking {
    const struct pdk_ask *ask;
    struct pdk_client *client;
    bool ended; /* an answer came, or why says what is wrong */
    struct pdk_err why;
};

int pdk_named_agent_init(
        struct pdk_named_agent *a, const struct pdk_sandbox *sb, struct pdk_err *err)
{
    PDK_AUTO_FREE char *agent = NULL;
    struct pdk_agent_start start = { NULL, NULL, NULL };

    *a = (struct pdk_named_agent){ PDK_STRV_INIT, PDK_STRV_INIT };
    if (pdk_agent_path(&agent, err) < 0)
        return err->code;
    start.agent = agent;
    return pdk_tier_agent(NULL, sb, &start, &a->argv, &a->env, err);
}

void pdk_named_agent_fini(struct pdk_named_agent *a)
{
    pdk_strv_fini(&a->argv);
    pdk_strv_fini(&a->env);
}

struct pdk_client_spec pdk_named_agent_spec(const struct pdk_named_agent *a)
{
    return (struct pdk_client_spec){ .argv = (const char *const *)a->argv.items,
        .envp = (const char *const *)a->env.items };
}

static void ask_on_done(
        const struct pdk_json *result, const struct pdk_err *err, void *user);

static void ask_once(struct asking *a, const struct pdk_json *params)
{
    if (pdk_client_call(
                a->client, a->ask->verb, params, 0, ask_on_done, a, NULL, &a->why) < 0)
        pdk_client_close(a->client);
}

static void ask_on_done(
        const struct pdk_json *result, const struct pdk_err *err, void *user)
{
    struct asking *a = user;
    PDK_AUTO_JSON struct pdk_json *again = NULL;

    if (!result)
        a->why = *err;
    else if (a->ask->on_result(result, &again, a->ask->user, &a->why) == 0 && again)
        ask_once(a, again);
    a->ended = !again;
    if (!again)
        pdk_client_close(a->client);
}

static void ask_on_ready(
        struct pdk_client *client, const struct pdk_json *descriptor, void *user)
{
    struct asking *a = user;

    (void)descriptor;
    (void)client;
    ask_once(a, a->ask->params);
}

static void ask_on_closed(
        struct pdk_client *client, const struct pdk_err *why, void *user)
{
    struct asking *a = user;

    (void)client;
    if (!a->ended && a->why.code == 0)
        a->why = *why;
}

static int ask_agent(
        const struct pdk_sandbox *sb, const struct pdk_ask *ask, struct pdk_err *err)
{
    static const struct pdk_client_handlers handlers = { ask_on_ready, ask_on_closed };
    PDK_AUTO_NAMED_AGENT struct pdk_named_agent agent;
    struct pdk_client_spec spec;
    struct asking a = { .ask = ask };
    uv_loop_t loop;
    int rc = pdk_named_agent_init(&agent, sb, err);

    if (rc == 0 && uv_loop_init(&loop) < 0)
        rc = pdk_fail(err, PDK_EIO, 0, "cannot make an event loop");
    if (rc == 0) {
        spec = pdk_named_agent_spec(&agent);
        rc = pdk_client_open(&loop, &spec, &handlers, &a, &a.client, err);
        (void)uv_run(&loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&loop); /* the client closed what it had */
    }
    if (rc == 0 && a.why.code != 0) {
        *err = a.why;
        rc = a.why.code;
    }
    return rc;
}

int pdk_sandbox_ask(struct pdk_cli *cli, const char *name, const struct pdk_ask *ask,
        struct pdk_err *err)
{
    PDK_AUTO_NAMED struct pdk_named named = { 0 };
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = NULL;

    if (pdk_named_find(cli, name, &named, err) < 0 ||
            pdk_named_open(cli, &named, &sb, err) < 0)
        return err->code;
    return ask_agent(sb, ask, err);
}
