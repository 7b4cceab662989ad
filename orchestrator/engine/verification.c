/*
 * The checks of a task on one tree:
 *
 *   start -> (fresh sandbox opens -> setup commands) -> check after check -> (close) -> done
 *
 * Ways to fail: the sandbox cannot be made, its setup fails, the agent or the working copy is lost:
 * the attempt is failed by the reason and the remaining checks do not run (a blocking check without
 * an end abstains). A check that fails does not keep the others from running.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "orchestrator/engine/internal.h"

struct verification {
    struct candidate *c;
    struct pdk_session *session;
    bool own;     /* the session is ours to open and close */
    bool lost;    /* nothing more can run in it */
    bool unsound; /* what was seen holds for this attempt only */
    size_t setup_at, check_at;
    char *id; /* of our sandbox */
    struct pdk_json *outcomes;
    void (*done)(struct candidate *c, bool whole, struct pdk_json *outcomes);
};

static void next_setup(struct verification *v);
static void next_check(struct verification *v);

static void fail(struct verification *v, enum pdk_reason reason, const char *detail)
{
    pdk_record_attempt_failed(v->c, reason, detail);
    v->lost = v->unsound = true;
}

static void finish(struct verification *v)
{
    struct candidate *c = v->c;
    struct pdk_json *outcomes = v->outcomes;
    void (*done)(struct candidate *, bool, struct pdk_json *) = v->done;
    bool whole = !v->unsound;

    free(v->id);
    free(v);
    done(c, whole, outcomes);
    pdk_json_free(outcomes);
}

static void verification_on_closed(const struct pdk_err *why, void *user)
{
    struct verification *v = user;

    pdk_record_released(v->c, v->id, why);
    v->session = NULL;
    finish(v);
}

static void close_session(struct candidate *c)
{
    struct verification *v = c->verification;

    pdk_session_close(v->session, false, verification_on_closed, v);
}

static void end(struct verification *v)
{
    if (v->own && v->session)
        pdk_record_then(v->c, close_session);
    else
        finish(v);
}

/* ---- checks */

static void record_outcome(struct verification *v, const struct pdk_check *check,
        const struct pdk_exec_result *result, const struct pdk_outcome *outcome)
{
    const struct pdk_judgement *j = &outcome->judgement;
    struct pdk_json *body = pdk_record_result(result);

    (void)pdk_json_set_str(body, "name", check->name);
    (void)pdk_json_set_int(body, "index", (int64_t)v->check_at);
    (void)pdk_json_set_str(
            body, "severity", check->severity == PDK_SEVERITY_BLOCK ? "block" : "warn");
    (void)pdk_json_set_str(body, "verdict", pdk_verdict_name(j->verdict));
    (void)pdk_json_set_str(body, "reason",
            j->reason == PDK_REASON_NONE ? NULL : pdk_reason_name(j->reason));
    (void)pdk_json_set_bytes(body, "detail", j->detail, strlen(j->detail));
    (void)pdk_json_append(v->outcomes, pdk_json_ref(body));
    pdk_record(v->c->run, PDK_EVENT_CHECK_ENDED, v->c, body);
}

/* Reasons that are about this attempt's host and hour, not about the tree. */
static bool is_sound(const struct pdk_exec_result *result)
{
    return result && result->start != PDK_EXEC_NO_SPAWN && !result->canceled &&
            !result->root_gone && !result->oom && result->leaked == 0;
}

static void judge_check(struct verification *v, const struct pdk_check *check,
        const struct pdk_exec_result *result)
{
    struct candidate *c = v->c;
    PDK_AUTO_FREE char *out = pdk_strf("%s/check-%zu.stdout", c->logs, v->check_at + 1);
    PDK_AUTO_FREE char *errors =
            pdk_strf("%s/check-%zu.stderr", c->logs, v->check_at + 1);
    struct pdk_evidence evidence = { result, out, errors };
    struct pdk_outcome outcome = { .judgement = { .verdict = PDK_VERDICT_ABSTAIN } };
    struct pdk_err err = PDK_ERR_INIT;

    if (!out || !errors ||
            pdk_evidence_judge(check, c->run->tasks[c->task_place].patterns[v->check_at],
                    &evidence, &outcome, &err) < 0)
        outcome.judgement.reason = PDK_REASON_OUTPUT_UNREADABLE;
    record_outcome(v, check, result, &outcome);
}

static void verification_on_check_end(
        const struct pdk_exec_result *result, const struct pdk_err *why, void *user)
{
    struct verification *v = user;

    if (!is_sound(result))
        v->unsound = true;
    judge_check(v, &v->c->task->verify.checks[v->check_at], result);
    if (!result)
        fail(v, pdk_reason_of_error(PDK_REASON_AGENT_LOST, why), why->msg);
    else if (result->root_gone)
        fail(v, PDK_REASON_SANDBOX_LOST, "its directory went away");
    else if (result->canceled || v->c->canceled)
        fail(v, PDK_REASON_CANCELED, "interrupted");
    v->check_at++;
    next_check(v);
}

static void verification_on_output(int fd, const char *data, size_t len, void *user)
{
    struct verification *v = user;
    const struct pdk_engine_listener *listener = &v->c->run->spec->listener;

    (void)fd;
    if (listener->on_output)
        listener->on_output(v->c->place, data, len, listener->user);
}

static void start_check(struct verification *v, const struct pdk_check *check)
{
    static const struct pdk_exec_handlers handlers = { verification_on_output,
        verification_on_check_end };
    PDK_AUTO_FREE char *log = pdk_strf("check-%zu", v->check_at + 1);
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "name", check->name);
    (void)pdk_json_set_int(body, "index", (int64_t)v->check_at);
    pdk_record(v->c->run, PDK_EVENT_CHECK_STARTED, v->c, body);
    pdk_candidate_show(v->c, check->name);
    pdk_start_command(v->c, v->session, &check->run, "verify", log ? log : "check",
            check->timeout_ms, &handlers, v);
}

static void next_check(struct verification *v)
{
    const struct pdk_plan_verify *verify = &v->c->task->verify;

    /* Manual checks need nobody to run them. */
    while (!v->lost && v->check_at < verify->checks_len &&
            verify->checks[v->check_at].run.argv.len == 0) {
        judge_check(v, &verify->checks[v->check_at], NULL);
        v->check_at++;
    }
    if (v->lost || v->check_at == verify->checks_len)
        end(v);
    else
        start_check(v, &verify->checks[v->check_at]);
}

/* ---- a fresh sandbox and its setup */

static void verification_on_setup_end(
        const struct pdk_exec_result *result, const struct pdk_err *why, void *user)
{
    struct verification *v = user;

    pdk_record_command_end(v->c, "verify-setup", result, why);
    if (!result)
        fail(v, pdk_reason_of_error(PDK_REASON_AGENT_LOST, why), why->msg);
    else if (result->canceled || v->c->canceled)
        fail(v, PDK_REASON_CANCELED, "interrupted");
    else if (result->start != PDK_EXEC_STARTED || result->exit_code != 0)
        fail(v, PDK_REASON_SETUP_FAILED,
                "a setup command did not exit with 0 before the checks");
    v->setup_at++;
    if (v->lost)
        end(v);
    else
        next_setup(v);
}

static void next_setup(struct verification *v)
{
    static const struct pdk_exec_handlers handlers = { verification_on_output,
        verification_on_setup_end };
    const struct pdk_plan_sandbox *sandbox = &v->c->task->sandbox;
    PDK_AUTO_FREE char *log = pdk_strf("verify-setup-%zu", v->setup_at + 1);

    if (v->c->canceled) {
        fail(v, PDK_REASON_CANCELED, "interrupted");
        end(v);
    } else if (v->setup_at < sandbox->setup_len) {
        pdk_start_command(v->c, v->session, &sandbox->setup[v->setup_at], "verify-setup",
                log ? log : "verify-setup", 0, &handlers, v);
    } else {
        next_check(v);
    }
}

static void verification_on_open(const struct pdk_err *why, void *user)
{
    struct verification *v = user;
    bool made = pdk_session_record(v->session) != NULL;

    if (made)
        pdk_record_made(v->c, v->session);
    if (why->code == 0) {
        next_setup(v);
        return;
    }
    fail(v,
            pdk_reason_of_error(
                    made ? PDK_REASON_AGENT_LOST : PDK_REASON_MATERIALIZE_FAILED, why),
            why->msg);
    end(v);
}

/* Manual checks alone need no sandbox. */
static bool needs_sandbox(const struct candidate *c)
{
    for (size_t i = 0; i < c->task->verify.checks_len; i++)
        if (c->task->verify.checks[i].run.argv.len > 0)
            return true;
    return false;
}

static void open_session(struct candidate *c)
{
    struct verification *v = c->verification;

    if (c->run->fatal.code == 0) {
        pdk_session_open(v->session, verification_on_open, v);
        return;
    }
    fail(v, PDK_REASON_MATERIALIZE_FAILED, c->run->fatal.msg);
    end(v);
}

static int open_fresh(struct verification *v, struct pdk_err *err)
{
    struct candidate *c = v->c;

    v->id = pdk_strf("%s.verify", c->attempt_id);
    if (!v->id)
        return pdk_fail_nomem(err);
    if (pdk_session_for(c, ".verify", &c->tree, "check", &v->session, err) < 0)
        return err->code;
    v->own = true;
    pdk_record_then(c, open_session);
    return 0;
}

int pdk_verification_start(struct candidate *c, struct pdk_session *same,
        void (*done)(struct candidate *c, bool whole, struct pdk_json *outcomes),
        struct pdk_err *err)
{
    struct verification *v = calloc(1, sizeof(*v));

    if (!v)
        return pdk_fail_nomem(err);
    v->c = c;
    v->session = same;
    v->done = done;
    v->outcomes = pdk_json_array();
    if (!same && needs_sandbox(c) && open_fresh(v, err) < 0) {
        pdk_json_free(v->outcomes);
        free(v->id);
        free(v);
        return err->code;
    }
    c->verification = v;
    if (!v->own)
        next_check(v);
    return 0;
}

void pdk_verification_stop(struct verification *v, bool at_once)
{
    if (v->session)
        pdk_session_stop(v->session, at_once);
}
