#include "orchestrator/engine/session.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/json.h"
#include "orchestrator/engine/work.h"
#include "trees/vaults.h"

struct pdk_session {
    struct pdk_session_spec spec;
    char *id, *dir;
    struct pdk_sandbox *sandbox;
    struct pdk_strv warnings;
    struct pdk_client *client; /* NULL when there is none (any more) */
    char *containment;
    struct pdk_err lost;   /* code is set once the agent was lost */
    pdk_session_done done; /* of open, capture or close under way */
    void *done_user;
    struct pdk_capture *capture_out;
    struct pdk_exec_handlers exec_copy;
    void *exec_user;
    int64_t exec_call;
    uv_timer_t later; /* delivers what must not come from inside a call */
    bool keep, closing;
};

static void finish(struct pdk_session *s, const struct pdk_err *why)
{
    pdk_session_done done = s->done;

    s->done = NULL;
    if (done)
        done(why, s->done_user);
}

int pdk_session_new(const struct pdk_session_spec *spec, struct pdk_session **out,
        struct pdk_err *err)
{
    struct pdk_session *s = calloc(1, sizeof(*s));

    if (s) {
        s->spec = *spec;
        s->id = strdup(spec->id);
        s->dir = strdup(spec->dir);
    }
    if (!s || !s->id || !s->dir) {
        if (s) {
            free(s->id);
            free(s->dir);
        }
        free(s);
        return pdk_fail_nomem(err);
    }
    s->spec.id = s->id;
    s->spec.dir = s->dir;
    (void)uv_timer_init(spec->loop, &s->later); /* cannot fail */
    s->later.data = s;
    *out = s;
    return 0;
}

/* ---- making the sandbox and starting its agent */

static int session_run_materialize(void *user, struct pdk_err *err)
{
    struct pdk_session *s = user;
    struct pdk_sandbox_spec spec = {
        .id = s->id,
        .dir = s->dir,
        .lock = s->spec.registry_lock,
        .repo = s->spec.repo,
        .base = s->spec.base,
        .tree = s->spec.tree,
        .template = s->spec.template,
        .tier = s->spec.tier,
        .branch = s->spec.branch,
        .include = s->spec.include,
        .submodules = s->spec.submodules,
    };

    int rc = pdk_vaults_take(s->spec.vaults, &spec.vault, err);

    if (rc == 0)
        rc = pdk_sandbox_materialize(s->spec.be, &spec, &s->sandbox, &s->warnings, err);
    pdk_vaults_give(s->spec.vaults, spec.vault);
    return rc;
}

static void session_on_ready(
        struct pdk_client *client, const struct pdk_json *descriptor, void *user)
{
    struct pdk_session *s = user;
    struct pdk_err none = PDK_ERR_INIT;

    (void)client;
    free(s->containment);
    s->containment = strdup(pdk_json_get_str(descriptor, "containment", "unknown"));
    finish(s, &none);
}

static void session_run_teardown_later(struct pdk_session *s);

/* The agent has gone: asked to while closing, lost otherwise. */
static void session_on_closed(
        struct pdk_client *client, const struct pdk_err *why, void *user)
{
    struct pdk_session *s = user;

    (void)client;
    s->client = NULL;
    if (s->closing) {
        session_run_teardown_later(s);
        return;
    }
    s->lost = *why;
    if (s->lost.code == 0)
        (void)pdk_fail(&s->lost, PDK_EPROTO, 0, "the agent ended by itself");
    if (s->done && !s->capture_out)
        finish(s, &s->lost);
}

static int start_agent(struct pdk_session *s, struct pdk_err *err)
{
    static const struct pdk_client_handlers handlers = { session_on_ready,
        session_on_closed };
    const struct pdk_agent_start start = { s->spec.agent, s->spec.spool, s->spec.run };
    PDK_AUTO_STRV struct pdk_strv argv = PDK_STRV_INIT, env = PDK_STRV_INIT;
    struct pdk_client_spec spec = { .ready_timeout_ms = pdk_tier_ready_ms(s->spec.tier) };

    if (pdk_tier_agent(s->spec.tier, s->sandbox, &start, &argv, &env, err) < 0)
        return err->code;
    spec.argv = (const char *const *)argv.items;
    spec.envp = (const char *const *)env.items;
    if (pdk_client_open(s->spec.loop, &spec, &handlers, s, &s->client, err) < 0)
        return pdk_wrap(err, "starting the agent '%s'", s->spec.agent);
    return 0;
}

static void session_on_materialized(const struct pdk_err *why, void *user)
{
    struct pdk_session *s = user;
    struct pdk_err err = *why;

    if (err.code == 0)
        (void)start_agent(s, &err);
    if (err.code != 0)
        finish(s, &err);
}

void pdk_session_open(struct pdk_session *s, pdk_session_done done, void *user)
{
    static const struct pdk_work_handlers handlers = { session_run_materialize,
        session_on_materialized };

    s->done = done;
    s->done_user = user;
    pdk_work_queue(s->spec.loop, &handlers, s);
}

const struct pdk_sandbox_record *pdk_session_record(const struct pdk_session *s)
{
    return s->sandbox ? pdk_sandbox_get_record(s->sandbox) : NULL;
}

const char *pdk_session_root(const struct pdk_session *s)
{
    return s->sandbox ? pdk_sandbox_root(s->sandbox) : NULL;
}

const char *pdk_session_way(const struct pdk_session *s)
{
    return s->sandbox ? pdk_sandbox_way(s->sandbox) : NULL;
}

const struct pdk_strv *pdk_session_warnings(const struct pdk_session *s)
{
    return &s->warnings;
}

const char *pdk_session_containment(const struct pdk_session *s)
{
    return s->containment ? s->containment : "unknown";
}

/* ---- commands */

static void session_on_output(int fd, const char *data, size_t len, void *user)
{
    struct pdk_session *s = user;

    if (s->exec_copy.on_output)
        s->exec_copy.on_output(fd, data, len, s->exec_user);
}

static void session_on_exec_end(
        const struct pdk_exec_result *result, const struct pdk_err *why, void *user)
{
    struct pdk_session *s = user;

    s->exec_call = 0;
    s->exec_copy.on_end(result, why, s->exec_user);
}

/* An exec that could not even be sent ends here, from the loop. */
static void session_on_later(uv_timer_t *timer)
{
    struct pdk_session *s = timer->data;
    struct pdk_err why = s->lost;

    session_on_exec_end(NULL, &why, s);
}

void pdk_session_exec(struct pdk_session *s, const struct pdk_exec_request *request,
        const struct pdk_exec_handlers *handlers, void *user)
{
    static const struct pdk_exec_handlers ours = { session_on_output,
        session_on_exec_end };
    struct pdk_err err = PDK_ERR_INIT;

    s->exec_copy = *handlers;
    s->exec_user = user;
    if (s->client &&
            pdk_client_exec(s->client, request, &ours, s, &s->exec_call, &err) == 0)
        return;
    if (s->lost.code == 0)
        s->lost = err;
    if (s->lost.code == 0)
        (void)pdk_fail(&s->lost, PDK_EPROTO, 0, "there is no agent");
    (void)uv_timer_start(&s->later, session_on_later, 0, 0);
}

void pdk_session_stop(struct pdk_session *s, bool at_once)
{
    if (s->client && s->exec_call != 0)
        pdk_client_cancel(s->client, s->exec_call, at_once);
}

/* ---- capture */

static int session_run_capture(void *user, struct pdk_err *err)
{
    struct pdk_session *s = user;

    struct pdk_vault *vault = NULL;
    int rc = pdk_vaults_take(s->spec.vaults, &vault, err);

    if (rc == 0)
        rc = pdk_sandbox_capture(s->sandbox, vault, s->capture_out, err);
    pdk_vaults_give(s->spec.vaults, vault);
    return rc;
}

static void session_on_captured(const struct pdk_err *why, void *user)
{
    struct pdk_session *s = user;

    s->capture_out = NULL;
    finish(s, why);
}

void pdk_session_capture(
        struct pdk_session *s, struct pdk_capture *out, pdk_session_done done, void *user)
{
    static const struct pdk_work_handlers handlers = { session_run_capture,
        session_on_captured };

    s->capture_out = out;
    s->done = done;
    s->done_user = user;
    pdk_work_queue(s->spec.loop, &handlers, s);
}

/* ---- the end */

static int session_run_teardown(void *user, struct pdk_err *err)
{
    struct pdk_session *s = user;

    if (!s->sandbox || s->keep)
        return 0;
    return pdk_sandbox_teardown(pdk_sandbox_get_record(s->sandbox), s->spec.repo,
            s->spec.registry_lock, 0, err);
}

static void session_on_freed(uv_handle_t *handle)
{
    free(handle->data);
}

static void session_on_torn_down(const struct pdk_err *why, void *user)
{
    struct pdk_session *s = user;

    finish(s, why);
    pdk_sandbox_close(s->sandbox);
    pdk_strv_fini(&s->warnings);
    free(s->containment);
    free(s->id);
    free(s->dir);
    uv_close((uv_handle_t *)&s->later, session_on_freed);
}

static void session_run_teardown_later(struct pdk_session *s)
{
    static const struct pdk_work_handlers handlers = { session_run_teardown,
        session_on_torn_down };

    pdk_work_queue(s->spec.loop, &handlers, s);
}

void pdk_session_close(
        struct pdk_session *s, bool keep, pdk_session_done done, void *user)
{
    s->closing = true;
    s->keep = keep;
    s->done = done;
    s->done_user = user;
    if (s->client)
        pdk_client_close(s->client);
    else
        session_run_teardown_later(s);
}
