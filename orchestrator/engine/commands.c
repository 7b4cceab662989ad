/* Commands of a candidate: how they are started and what is recorded of them. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "orchestrator/engine/environ.h"
#include "orchestrator/engine/internal.h"

static void record_started(
        struct candidate *c, const char *stage, const struct pdk_strv *argv)
{
    struct pdk_json *body = pdk_json_object(), *words = pdk_json_array();

    for (size_t i = 0; i < argv->len; i++)
        (void)pdk_json_append(words, pdk_json_str(argv->items[i]));
    (void)pdk_json_set_str(body, "stage", stage);
    (void)pdk_json_set(body, "argv", words);
    pdk_record(c->run, PDK_EVENT_COMMAND_STARTED, c, body);
}

/* An interruption that came meanwhile found no command to stop. */
static void start_pending(struct candidate *c)
{
    struct pending_command now = c->command;

    c->command = (struct pending_command){ .session = NULL };
    if (c->run->fatal.code != 0)
        now.handlers->on_end(NULL, &c->run->fatal, now.user);
    else
        pdk_session_exec(now.session, &now.request, now.handlers, now.user);
    pdk_exec_request_fini(&now.request);
    if (c->run->signals > 0 && c->run->fatal.code == 0)
        pdk_session_stop(now.session, c->run->signals > 1);
}

void pdk_start_command(struct candidate *c, struct pdk_session *session,
        const struct pdk_command *command, const char *stage, const char *log,
        int64_t timeout_ms, const struct pdk_exec_handlers *handlers, void *user)
{
    struct pdk_command_scope scope = {
        .run = c->run->spec->run,
        .attempt = c->attempt_id,
        .stage = stage,
        .sandbox = pdk_session_root(session),
        .objective_file = c->objective,
        .diffs = c->judging ? c->logs : NULL,
        .candidate = c->plan->index,
        .matrix = &c->plan->matrix,
        .elsewhere = c->run->tasks[c->task_place].tier != NULL,
    };
    struct pdk_exec_request request = { .timeout_ms = timeout_ms,
        .graces = PDK_GRACES_DEFAULT };
    struct pdk_err err = PDK_ERR_INIT;

    /* A request that could not be made whole is refused by the agent: one way to end. */
    if (pdk_command_argv(command, &scope, &request.argv, &err) == 0 &&
            pdk_policy_copy(
                    &request.policy, &c->run->tasks[c->task_place].policy, &err) == 0)
        (void)pdk_command_env(&c->task->sandbox, &scope, &request.env, &err);
    if (err.code != 0)
        pdk_strv_fini(&request.argv);
    request.limits = pdk_confine_limits(&c->task->sandbox);
    request.limits_in_full = c->task->sandbox.enforce == PDK_ENFORCE_FULL;
    request.inherit_env = scope.elsewhere;
    request.log = strdup(log);
    record_started(c, stage, &request.argv);
    c->exposed = true;
    c->command = (struct pending_command){ session, request, handlers, user };
    pdk_record_then(c, start_pending);
}

void pdk_record_command_end(struct candidate *c, const char *stage,
        const struct pdk_exec_result *result, const struct pdk_err *why)
{
    struct pdk_json *body = pdk_record_result(result);

    if (!result)
        (void)pdk_json_set_bytes(body, "error", why->msg, strlen(why->msg));
    (void)pdk_json_set_str(body, "stage", stage);
    pdk_record(c->run, PDK_EVENT_COMMAND_ENDED, c, body);
    pdk_confine_record_denial(c, stage, result);
}

int pdk_session_for(struct candidate *c, const char *suffix, const struct pdk_oid *tree,
        const char *purpose, struct pdk_session **out, struct pdk_err *err)
{
    const struct pdk_engine_spec *spec = c->run->spec;
    PDK_AUTO_FREE char *id = pdk_strf("%s%s", c->attempt_id, suffix);
    PDK_AUTO_FREE char *dir = id ? pdk_path_join(spec->state->sandboxes, id) : NULL;
    struct pdk_session_spec session = {
        .loop = c->run->loop,
        .be = c->run->tasks[c->task_place].backend,
        .tier = c->run->tasks[c->task_place].tier,
        .run = spec->run,
        .repo = spec->repo,
        .vaults = c->run->vaults,
        .registry_lock = spec->state->registry_lock,
        .agent = spec->agent,
        .spool = c->logs,
        .id = id,
        .dir = dir,
        .base = c->run->base,
        .tree = *tree,
        .template = c->run->template_tree,
        .include = c->task->sandbox.include.len ? &c->task->sandbox.include : NULL,
        .submodules = c->task->sandbox.submodules,
    };

    if (!dir)
        return pdk_fail_nomem(err);
    pdk_record_intent(c, id, dir, purpose, tree);
    return pdk_session_new(&session, out, err);
}
