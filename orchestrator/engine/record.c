/*
 * The one door from the engine to the event log. Events are folded at once and collected; when the
 * loop has nothing more to say they become durable together, and only then are they shown and do the
 * acts begin that waited for them. A crash before leaves what was before those acts.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "orchestrator/engine/cleaner.h"
#include "orchestrator/engine/internal.h"
#include "store/store.h"

/* So many are written before the turn is over: what waits in memory stays small. */
enum { COLLECTED_MAX = 256 };

static void fail_record(struct run *run, struct pdk_err *err, enum pdk_event_type type)
{
    (void)pdk_wrap(err, "recording %s", pdk_event_name(type)); /* err is what counts */
    run->fatal = *err;
    pdk_sched_cancel(run->sched);
}

/* A slot at the end of the collected events; NULL when out of memory. */
static struct pdk_event *add_event(struct journal *j)
{
    if (j->len == j->cap) {
        size_t cap = j->cap ? j->cap * 2 : 32;
        struct pdk_event *events = reallocarray(j->events, cap, sizeof(*events));

        if (!events)
            return NULL;
        j->events = events;
        j->cap = cap;
    }
    return &j->events[j->len];
}

static void forget_events(struct journal *j)
{
    for (size_t i = 0; i < j->len; i++)
        pdk_json_free(j->events[i].body);
    j->len = 0;
}

/* All that was collected, in one transaction. */
static int append_events(struct run *run, int64_t *seqs, struct pdk_err *err)
{
    struct journal *j = &run->journal;

    if (!seqs)
        return pdk_fail_nomem(err);
    if (pdk_store_append(run->spec->store, j->events, j->len, seqs, err) < 0)
        return err->code;
    for (size_t i = 0; i < j->len; i++)
        j->events[i].seq = seqs[i];
    return 0;
}

/* What is durable may be shown. */
static void commit_events(struct run *run)
{
    struct journal *j = &run->journal;
    const struct pdk_engine_listener *listener = &run->spec->listener;
    PDK_AUTO_FREE int64_t *seqs = calloc(j->len + 1, sizeof(*seqs));
    struct pdk_err err = PDK_ERR_INIT;

    if (j->len > 0 && run->fatal.code == 0 && append_events(run, seqs, &err) < 0)
        fail_record(run, &err, j->events[0].type);
    for (size_t i = 0; run->fatal.code == 0 && listener->on_event && i < j->len; i++)
        listener->on_event(&j->events[i], listener->user);
    forget_events(j);
}

static void record_event(struct run *run, struct pdk_event *event, struct pdk_json *body)
{
    PDK_AUTO_JSON struct pdk_json *owned = body;
    struct pdk_event *slot = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    event->run = run->spec->run;
    event->ts_ms = pdk_clock_wall_ms();
    event->body = body;
    if (run->fatal.code != 0)
        return;
    if (pdk_json_ok(body, &err) == 0 && pdk_fold_event(run->fold, event, &err) == 0) {
        slot = add_event(&run->journal);
        if (!slot)
            (void)pdk_fail_nomem(&err);
    }
    if (!slot) {
        fail_record(run, &err, event->type);
        return;
    }
    *slot = *event;
    slot->body = pdk_take_ptr(&owned);
    run->journal.len++;
    if (run->journal.len >= COLLECTED_MAX)
        commit_events(run);
}

void pdk_record_then(struct candidate *c, void (*act)(struct candidate *c))
{
    struct journal *j = &c->run->journal;

    assert(!c->act);
    c->act = act;
    c->next_act = NULL;
    if (j->last_act)
        j->last_act->next_act = c;
    else
        j->first_act = c;
    j->last_act = c;
}

void pdk_record_flush(struct run *run)
{
    struct journal *j = &run->journal;

    while (j->len > 0 || j->first_act) {
        struct candidate *c = j->first_act;

        commit_events(run);
        j->first_act = j->last_act = NULL;
        while (c) {
            struct candidate *next = c->next_act;
            void (*act)(struct candidate *) = c->act;

            c->act = NULL;
            act(c);
            c = next;
        }
    }
}

void pdk_record_fini(struct run *run)
{
    forget_events(&run->journal);
    free(run->journal.events);
}

void pdk_record(struct run *run, enum pdk_event_type type, const struct candidate *c,
        struct pdk_json *body)
{
    struct pdk_event event = { .type = type };

    if (c) {
        event.task = c->task->id;
        event.candidate = c->plan->index;
        event.attempt = c->attempt;
    }
    record_event(run, &event, body);
}

void pdk_record_task(struct run *run, enum pdk_event_type type, const char *task,
        struct pdk_json *body)
{
    struct pdk_event event = { .type = type, .task = task };

    record_event(run, &event, body);
}

void pdk_record_warning(const struct candidate *c, const char *text)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_bytes(body, "text", text, strlen(text));
    pdk_record(c->run, PDK_EVENT_WARNING, c, body);
}

void pdk_record_warnings(struct candidate *c, const struct pdk_strv *warnings)
{
    for (size_t i = 0; i < warnings->len; i++)
        pdk_record_warning(c, warnings->items[i]);
}

void pdk_record_attempt_failed(
        const struct candidate *c, enum pdk_reason reason, const char *detail)
{
    struct pdk_json *body = pdk_json_object();

    if (c->canceled)
        reason = c->censored ? PDK_REASON_CENSORED : PDK_REASON_CANCELED;
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

void pdk_record_intent(struct candidate *c, const char *id, const char *dir,
        const char *purpose, const struct pdk_oid *tree)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "id", id);
    (void)pdk_json_set_str(
            body, "backend", pdk_backend_name(c->run->tasks[c->task_place].backend));
    (void)pdk_json_set_str(
            body, "engine", pdk_tier_engine(c->run->tasks[c->task_place].tier));
    (void)pdk_json_set_str(body, "dir", dir);
    (void)pdk_json_set_str(body, "purpose", purpose);
    (void)pdk_json_set(body, "base", pdk_base_json(&c->run->base));
    (void)pdk_json_set_str(body, "tree", tree->hex);
    pdk_record(c->run, PDK_EVENT_SANDBOX_INTENT, c, body);
}

void pdk_record_made(struct candidate *c, struct pdk_session *session)
{
    const struct pdk_sandbox_record *record = pdk_session_record(session);
    const struct task_run *task = &c->run->tasks[c->task_place];
    struct pdk_json *body = pdk_json_object(), *execution = pdk_json_object();

    pdk_tier_describe(task->tier, task->backend, execution);
    pdk_confine_describe(task, execution);
    (void)pdk_json_set_str(execution, "containment", pdk_session_containment(session));
    if (pdk_session_way(session))
        (void)pdk_json_set_str(execution, "mounted", pdk_session_way(session));
    (void)pdk_json_set_str(body, "id", record->id);
    (void)pdk_json_set_str(
            body, "start", record->start.hex[0] ? record->start.hex : NULL);
    (void)pdk_json_set(body, "execution", execution);
    pdk_record(c->run, PDK_EVENT_SANDBOX_MADE, c, body);
    pdk_record_warnings(c, pdk_session_warnings(session));
    pdk_confine_warn(c);
}

void pdk_record_released(struct candidate *c, const char *id, const struct pdk_err *why)
{
    struct pdk_json *body = pdk_json_object();

    if (why->code == 0) {
        (void)pdk_json_set_str(body, "id", id);
        pdk_record(c->run, PDK_EVENT_SANDBOX_RELEASED, c, body);
        pdk_cleaner_kick(c->run->cleaner);
        return;
    }
    pdk_json_free(body);
    pdk_record_warning(c, why->msg);
}
