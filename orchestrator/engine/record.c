/* The one door from the engine to the event log: append, fold, show. */
#include <string.h>

#include "base/json.h"
#include "orchestrator/engine/internal.h"
#include "store/store.h"

static void record_event(struct run *run, struct pdk_event *event)
{
    struct pdk_err err = PDK_ERR_INIT;

    event->run = run->spec->run;
    if (run->fatal.code != 0)
        return;
    if (pdk_json_ok(event->body, &err) < 0 ||
            pdk_store_append(run->spec->store, event, 1, &event->seq, &err) < 0 ||
            pdk_fold_event(run->fold, event, &err) < 0) {
        (void)pdk_wrap(&err, "recording %s", pdk_event_name(event->type));
        run->fatal = err;
        pdk_sched_cancel(run->sched);
        return;
    }
    if (run->spec->listener.on_event)
        run->spec->listener.on_event(event, run->spec->listener.user);
}

void pdk_record(struct run *run, enum pdk_event_type type, const struct candidate *c,
        struct pdk_json *body)
{
    PDK_AUTO_JSON struct pdk_json *owned = body;
    struct pdk_event event = { .type = type, .body = owned };

    if (c) {
        event.task = c->task->id;
        event.candidate = c->plan->index;
        event.attempt = c->attempt;
    }
    record_event(run, &event);
}

void pdk_record_task(struct run *run, enum pdk_event_type type, const char *task,
        struct pdk_json *body)
{
    PDK_AUTO_JSON struct pdk_json *owned = body;
    struct pdk_event event = { .type = type, .body = owned, .task = task };

    record_event(run, &event);
}

void pdk_record_warnings(struct candidate *c, const struct pdk_strv *warnings)
{
    for (size_t i = 0; i < warnings->len; i++) {
        struct pdk_json *body = pdk_json_object();

        (void)pdk_json_set_str(body, "text", warnings->items[i]);
        pdk_record(c->run, PDK_EVENT_WARNING, c, body);
    }
}

void pdk_record_attempt_failed(
        const struct candidate *c, enum pdk_reason reason, const char *detail)
{
    struct pdk_json *body = pdk_json_object();

    if (c->canceled)
        reason = PDK_REASON_CANCELED;
    (void)pdk_json_set_str(body, "reason", pdk_reason_name(reason));
    (void)pdk_json_set_bytes(body, "detail", detail, strlen(detail));
    pdk_record(c->run, PDK_EVENT_ATTEMPT_FAILED, c, body);
}

struct pdk_json *pdk_record_result(const struct pdk_exec_result *result)
{
    struct pdk_json *body = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (!result || pdk_exec_result_to_json(result, &body, &err) < 0)
        body = pdk_json_object();
    if (result)
        (void)pdk_json_set_int(body, "leaked", result->leaked);
    return body;
}

struct pdk_json *pdk_record_base(const struct pdk_base *base)
{
    struct pdk_json *v = pdk_json_object();

    (void)pdk_json_set_str(v, "commit", base->commit.hex[0] ? base->commit.hex : NULL);
    (void)pdk_json_set_str(v, "tree", base->tree.hex);
    return v;
}

void pdk_record_intent(struct candidate *c, const char *id, const char *dir,
        const char *purpose, const struct pdk_oid *tree)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "id", id);
    (void)pdk_json_set_str(
            body, "backend", pdk_backend_name(c->run->tasks[c->task_place].backend));
    (void)pdk_json_set_str(body, "dir", dir);
    (void)pdk_json_set_str(body, "purpose", purpose);
    (void)pdk_json_set(body, "base", pdk_record_base(&c->run->base));
    (void)pdk_json_set_str(body, "tree", tree->hex);
    pdk_record(c->run, PDK_EVENT_SANDBOX_INTENT, c, body);
}

void pdk_record_made(struct candidate *c, struct pdk_session *session)
{
    const struct pdk_sandbox_record *record = pdk_session_record(session);
    struct pdk_json *body = pdk_json_object(), *execution = pdk_json_object();

    (void)pdk_json_set_str(execution, "where", "local");
    (void)pdk_json_set_str(execution, "enforcement", "none");
    (void)pdk_json_set_str(execution, "containment", pdk_session_containment(session));
    (void)pdk_json_set_str(
            execution, "claim", pdk_backend_claim(c->run->tasks[c->task_place].backend));
    (void)pdk_json_set_str(body, "id", record->id);
    (void)pdk_json_set_str(
            body, "start", record->start.hex[0] ? record->start.hex : NULL);
    (void)pdk_json_set(body, "execution", execution);
    pdk_record(c->run, PDK_EVENT_SANDBOX_MADE, c, body);
    pdk_record_warnings(c, pdk_session_warnings(session));
}

void pdk_record_released(struct candidate *c, const char *id, const struct pdk_err *why)
{
    struct pdk_json *body = pdk_json_object();

    if (why->code == 0) {
        (void)pdk_json_set_str(body, "id", id);
        pdk_record(c->run, PDK_EVENT_SANDBOX_RELEASED, c, body);
        return;
    }
    (void)pdk_json_set_bytes(body, "text", why->msg, strlen(why->msg));
    pdk_record(c->run, PDK_EVENT_WARNING, c, body);
}
