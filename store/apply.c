/*
 * Each projection of an event is a row of one table: a statement, and what its parameters are bound
 * to. A name is a member of the body ("base.commit" goes one down), "@" leads to the event itself.
 */
#include "store/apply.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "store/db.h"
#include "store/event.h"

enum { ARGS_MAX = 15 };

/* What a statement must change a row of; else the event is refused. */
enum subject {
    SUBJECT_NONE, /* nothing to change is fine */
    SUBJECT_RUN,
    SUBJECT_TASK,
    SUBJECT_CANDIDATE,
    SUBJECT_SANDBOX,
    SUBJECT_PROMOTION,
    SUBJECT_SESSION
};

struct projection {
    enum pdk_event_type type;
    enum pdk_sql sql;
    enum subject subject;
    const char *args[ARGS_MAX];
};

static const struct projection projections[] = {
    { PDK_EVENT_RUN_PLANNED, SQL_RUN_ADD, SUBJECT_RUN,
            { "@run", "@ts", "kind", "mission", "title", "base.commit", "base.tree",
                    "seed_tree", "max_concurrent", "plan" } },
    { PDK_EVENT_RUN_STARTED, SQL_RUN_START, SUBJECT_RUN, { "@run", "pid", "@ts" } },
    { PDK_EVENT_RUN_ENDED, SQL_RUN_END, SUBJECT_RUN,
            { "@run", "@ts", "verdict", "reason", "winner", "canceled", "peak_concurrent",
                    "duration_ms" } },
    { PDK_EVENT_TASK_PLANNED, SQL_TASK_ADD, SUBJECT_TASK, { "@run", "@task", "index" } },
    { PDK_EVENT_TASK_JUDGED, SQL_TASK_JUDGE, SUBJECT_TASK,
            { "@run", "@task", "verdict", "reason", "winner" } },
    { PDK_EVENT_CANDIDATE_PLANNED, SQL_CANDIDATE_ADD, SUBJECT_CANDIDATE,
            { "@run", "@task", "@candidate", "@ts", "matrix", "backend" } },
    { PDK_EVENT_ATTEMPT_STATE, SQL_CANDIDATE_MOVE, SUBJECT_CANDIDATE,
            { "@run", "@task", "@candidate", "@attempt", "from", "to", "@ts" } },
    { PDK_EVENT_SANDBOX_INTENT, SQL_SANDBOX_ADD, SUBJECT_SANDBOX,
            { "id", "@run", "@task", "@candidate", "@attempt", "@ts", "backend", "dir",
                    "purpose", "branch", "base.commit", "base.tree", "tree", "engine" } },
    { PDK_EVENT_SANDBOX_INTENT, SQL_CANDIDATE_SANDBOX, SUBJECT_NONE,
            { "@run", "@task", "@candidate", "backend", "dir", "purpose" } },
    { PDK_EVENT_SANDBOX_MADE, SQL_SANDBOX_MAKE, SUBJECT_SANDBOX, { "id", "start" } },
    { PDK_EVENT_SANDBOX_STATUS, SQL_SANDBOX_MOVE, SUBJECT_SANDBOX, { "id", "status" } },
    { PDK_EVENT_SANDBOX_RELEASED, SQL_SANDBOX_END, SUBJECT_SANDBOX,
            { "id", "@ts", "discarded" } },
    { PDK_EVENT_COMMAND_ENDED, SQL_CANDIDATE_COMMAND, SUBJECT_NONE,
            { "@run", "@task", "@candidate", "stage", "leaked", "exit_code", "signal",
                    "timed_out", "duration_ms" } },
    { PDK_EVENT_CAPTURE_DONE, SQL_CANDIDATE_CAPTURE, SUBJECT_CANDIDATE,
            { "@run", "@task", "@candidate", "tree", "changed", "files", "added",
                    "deleted" } },
    { PDK_EVENT_CHECK_ENDED, SQL_CHECK_ADD, SUBJECT_CANDIDATE,
            { "@run", "@task", "@candidate", "@attempt", "index", "name", "severity",
                    "verdict", "reason", "detail", "exit_code", "signal", "timed_out",
                    "duration_ms" } },
    { PDK_EVENT_CANDIDATE_JUDGED, SQL_CANDIDATE_JUDGE, SUBJECT_CANDIDATE,
            { "@run", "@task", "@candidate", "verdict", "reason", "detail" } },
    { PDK_EVENT_RUN_REJUDGED, SQL_RUN_REJUDGE, SUBJECT_RUN,
            { "@run", "verdict", "reason", "winner" } },
    { PDK_EVENT_PROMOTION_INTENT, SQL_PROMOTION_ADD, SUBJECT_PROMOTION,
            { "id", "@run", "@task", "@candidate", "@ts", "as", "target", "tree" } },
    { PDK_EVENT_PROMOTION_DONE, SQL_PROMOTION_END, SUBJECT_PROMOTION,
            { "id", "@ts", "@type", "detail" } },
    { PDK_EVENT_PROMOTION_FAILED, SQL_PROMOTION_END, SUBJECT_PROMOTION,
            { "id", "@ts", "@type", "detail" } },
    { PDK_EVENT_SESSION_STARTED, SQL_SESSION_ADD, SUBJECT_SESSION,
            { "id", "sandbox", "mode", "approval", "@ts" } },
    { PDK_EVENT_SANDBOX_MODE, SQL_SESSION_MODE, SUBJECT_SESSION, { "id", "mode" } },
    { PDK_EVENT_SANDBOX_APPROVAL, SQL_SESSION_APPROVAL, SUBJECT_SESSION,
            { "id", "approval" } },
    { PDK_EVENT_SANDBOX_PRESET, SQL_SESSION_PRESET, SUBJECT_SESSION, { "id", "preset" } },
};

/* Members that a body must have (event.h). */
static const char *const required[PDK_EVENT_COUNT][6] = {
    [PDK_EVENT_RUN_PLANNED] = { "@run", "kind", "mission" },
    [PDK_EVENT_RUN_STARTED] = { "@run", "pid" },
    [PDK_EVENT_RUN_ENDED] = { "@run", "verdict" },
    [PDK_EVENT_TASK_PLANNED] = { "@task", "index" },
    [PDK_EVENT_TASK_JUDGED] = { "@task", "verdict" },
    [PDK_EVENT_CANDIDATE_PLANNED] = { "@task", "@candidate", "checks" },
    [PDK_EVENT_ATTEMPT_STATE] = { "@task", "@candidate", "from", "to" },
    [PDK_EVENT_ATTEMPT_FAILED] = { "@task", "@candidate", "reason" },
    [PDK_EVENT_SANDBOX_INTENT] = { "id", "backend", "dir", "purpose" },
    [PDK_EVENT_SANDBOX_MADE] = { "id" },
    [PDK_EVENT_SANDBOX_STATUS] = { "id", "status" },
    [PDK_EVENT_SANDBOX_RELEASED] = { "id" },
    [PDK_EVENT_COMMAND_STARTED] = { "stage" },
    [PDK_EVENT_COMMAND_ENDED] = { "stage" },
    [PDK_EVENT_CAPTURE_DONE] = { "@task", "@candidate", "tree", "changed" },
    [PDK_EVENT_CHECK_STARTED] = { "@task", "@candidate", "name", "index" },
    [PDK_EVENT_CHECK_ENDED] = { "@task", "@candidate", "name", "index", "severity",
            "verdict" },
    [PDK_EVENT_BASELINE_ENDED] = { "@task", "tree", "checks" },
    [PDK_EVENT_CONFIRM_ENDED] = { "@task", "@candidate", "round", "of", "verdict",
            "policy" },
    [PDK_EVENT_CANDIDATE_JUDGED] = { "@task", "@candidate", "verdict" },
    [PDK_EVENT_JUDGE_ENDED] = { "@task", "pairs", "position_bias" },
    [PDK_EVENT_MANUAL_VERDICT] = { "@task", "@candidate", "verdict", "rationale", "by" },
    [PDK_EVENT_RUN_REJUDGED] = { "@run", "verdict" },
    [PDK_EVENT_PROMOTION_INTENT] = { "id", "as" },
    [PDK_EVENT_PROMOTION_DONE] = { "id" },
    [PDK_EVENT_PROMOTION_FAILED] = { "id" },
    [PDK_EVENT_LEAK_FOUND] = { "what", "path" },
    [PDK_EVENT_SESSION_STARTED] = { "id", "sandbox", "mode", "approval" },
    [PDK_EVENT_SANDBOX_MODE] = { "id", "mode" },
    [PDK_EVENT_SANDBOX_APPROVAL] = { "id", "approval" },
    [PDK_EVENT_SANDBOX_PRESET] = { "id", "preset" },
    [PDK_EVENT_ESCALATION_ASKED] = { "id", "from", "to", "justification" },
    [PDK_EVENT_ESCALATION_DECIDED] = { "id", "decision" },
    [PDK_EVENT_WARNING] = { "text" },
};

static const struct {
    enum pdk_sql sql;
    const char *what;
    const char *args[3];
} subjects[] = {
    [SUBJECT_NONE] = { SQL_NONE, "", { NULL } },
    [SUBJECT_RUN] = { SQL_RUN_STATE, "run", { "@run" } },
    [SUBJECT_TASK] = { SQL_TASK_STATE, "task", { "@run", "@task" } },
    [SUBJECT_CANDIDATE] = { SQL_CANDIDATE_STATE, "candidate",
            { "@run", "@task", "@candidate" } },
    [SUBJECT_SANDBOX] = { SQL_SANDBOX_STATE, "sandbox", { "id" } },
    [SUBJECT_PROMOTION] = { SQL_PROMOTION_STATE, "promotion", { "id" } },
    [SUBJECT_SESSION] = { SQL_SESSION_STATE, "session", { "id" } },
};

/* The member that name leads to, borrowed. */
static const struct pdk_json *member(const struct pdk_json *body, const char *name)
{
    const char *dot = strchr(name, '.');
    char head[32];

    if (!dot)
        return pdk_json_get(body, name);
    size_t len = (size_t)(dot - name);
    memcpy(head, name, len); /* names are those of the tables above */
    head[len] = '\0';
    return pdk_json_get(pdk_json_get(body, head), dot + 1);
}

static void bind_own(struct pdk_stmt *st, const char *name, const struct pdk_event *e)
{
    if (pdk_streq(name, "run"))
        pdk_stmt_text(st, e->run);
    else if (pdk_streq(name, "task"))
        pdk_stmt_text(st, e->task);
    else if (pdk_streq(name, "candidate"))
        pdk_stmt_int(st, e->candidate);
    else if (pdk_streq(name, "attempt"))
        pdk_stmt_int(st, e->attempt);
    else if (pdk_streq(name, "type"))
        pdk_stmt_text(st, pdk_event_name(e->type));
    else
        pdk_stmt_int(st, e->ts_ms);
}

static int bind_json(struct pdk_stmt *st, const struct pdk_json *v, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf buf = PDK_BUF_INIT;
    const char *text = NULL;
    size_t len = 0;
    int rc = 0;

    switch (pdk_json_type(v)) {
    case PDK_JSON_NULL:
        pdk_stmt_text(st, NULL);
        break;
    case PDK_JSON_BOOL:
        pdk_stmt_int(st, pdk_json_bool_value(v));
        break;
    case PDK_JSON_INT:
        pdk_stmt_int(st, pdk_json_int_value(v));
        break;
    case PDK_JSON_REAL:
        pdk_stmt_real(st, pdk_json_real_value(v));
        break;
    case PDK_JSON_STRING:
        text = pdk_json_text(v, &len);
        pdk_stmt_textn(st, text, len);
        break;
    case PDK_JSON_ARRAY:
    case PDK_JSON_OBJECT:
        rc = pdk_json_write(v, PDK_JSON_COMPACT, &buf, err);
        if (rc == 0)
            pdk_stmt_copy(st, buf.data, buf.len);
        break;
    }
    return rc;
}

static int bind_all(struct pdk_stmt *st, const char *const *args, size_t n,
        const struct pdk_event *e, struct pdk_err *err)
{
    for (size_t i = 0; i < n && args[i]; i++) {
        int rc = 0;
        if (args[i][0] == '@')
            bind_own(st, args[i] + 1, e);
        else
            rc = bind_json(st, member(e->body, args[i]), err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static bool has(const struct pdk_event *e, const char *name)
{
    if (pdk_streq(name, "@run"))
        return e->run != NULL;
    if (pdk_streq(name, "@task"))
        return e->run && e->task;
    if (pdk_streq(name, "@candidate"))
        return e->candidate > 0;
    return pdk_json_type(member(e->body, name)) != PDK_JSON_NULL;
}

static int check_required(const struct pdk_event *e, struct pdk_err *err)
{
    const char *const *names = required[e->type];

    for (size_t i = 0; i < sizeof(required[0]) / sizeof(*names) && names[i]; i++) {
        if (!has(e, names[i]))
            return pdk_fail(err, PDK_EBUG, 0, "an event %s without '%s'",
                    pdk_event_name(e->type), names[i]);
    }
    return 0;
}

/* Moves that no state allows are our own mistakes, whatever the present state is. */
static int check_move(const struct pdk_event *e, struct pdk_err *err)
{
    const char *from = pdk_json_get_str(e->body, "from", "");
    const char *to = pdk_json_get_str(e->body, "to", "");
    const char *status = pdk_json_get_str(e->body, "status", "");
    enum pdk_sandbox_status next = pdk_sandbox_status_find(status);

    if (e->type == PDK_EVENT_ATTEMPT_STATE &&
            !pdk_candidate_state_may(
                    pdk_candidate_state_find(from), pdk_candidate_state_find(to)))
        return pdk_fail(err, PDK_ECONFLICT, 0,
                "no candidate may go from '%s' to '%s' (candidate %d of run %s)", from,
                to, e->candidate, e->run);
    /* The two ends have an event of their own. */
    if (e->type == PDK_EVENT_SANDBOX_STATUS &&
            (next >= PDK_SANDBOX_DISCARDED ||
                    !pdk_sandbox_status_may(PDK_SANDBOX_CREATED, next)))
        return pdk_fail(err, PDK_ECONFLICT, 0, "no sandbox may go to '%s'", status);
    return 0;
}

/* Nothing was changed: says whether it is not there or in another state. */
static int explain(struct pdk_store *store, enum subject subject,
        const struct pdk_event *e, struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    const char *what = subjects[subject].what;
    const char *id =
            subject < SUBJECT_SANDBOX ? e->run : pdk_json_get_str(e->body, "id", "?");
    int rc = pdk_stmt_use(&st, store, subjects[subject].sql, err);

    if (rc == 0)
        rc = bind_all(&st, subjects[subject].args, 3, e, err);
    if (rc == 0)
        rc = pdk_stmt_step(&st, err);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "no such %s: %s (task %s, candidate %d)",
                what, id, e->task ? e->task : "-", e->candidate);
    return pdk_fail(err, PDK_ECONFLICT, 0, "%s %s (task %s, candidate %d) is '%s' now",
            what, id, e->task ? e->task : "-", e->candidate,
            pdk_stmt_col_text(&st, 0, NULL));
}

static int project(struct pdk_store *store, const struct projection *p,
        const struct pdk_event *e, struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    int changed = 0;
    int rc = pdk_stmt_use(&st, store, p->sql, err);

    if (rc == 0)
        rc = bind_all(&st, p->args, ARGS_MAX, e, err);
    if (rc == 0)
        rc = pdk_stmt_run(&st, &changed, err);
    if (rc == 0 && changed == 0 && p->subject != SUBJECT_NONE)
        rc = explain(store, p->subject, e, err);
    return rc;
}

int pdk_apply(struct pdk_store *store, const struct pdk_event *event, struct pdk_err *err)
{
    int rc = check_required(event, err);

    if (rc == 0)
        rc = check_move(event, err);
    for (size_t i = 0; rc == 0 && i < sizeof(projections) / sizeof(*projections); i++) {
        if (projections[i].type == event->type)
            rc = project(store, &projections[i], event, err);
    }
    if (rc < 0)
        (void)pdk_wrap(err, "event %s", pdk_event_name(event->type)); /* rc is the code */
    return rc;
}
