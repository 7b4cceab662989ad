/*
 * The checks of a task on one tree:
 *
 *   start -> (fresh sandbox opens -> setup commands) -> check after check -> (close) -> done
 *
 * A check that writes a results file is three commands: remove the file, run, read the file, so that
 * nothing that was there before the check is taken for what it found.
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
    struct verification_spec spec;
    struct pdk_session *session;
    bool own;     /* the session is ours to open and close */
    bool lost;    /* nothing more can run in it */
    bool unsound; /* what was seen holds for this attempt only */
    size_t setup_at, check_at;
    char *id;                      /* of our sandbox */
    struct pdk_exec_result result; /* of the check under way, once it ended */
    bool results_lost; /* its results file could not be removed before it ran */
    struct pdk_json *outcomes;
};

static void next_setup(struct verification *v);
static void next_check(struct verification *v);

/* Of a candidate's own verification the attempt fails; of another one what it was to show is missing. */
static void fail(struct verification *v, enum pdk_reason reason, const char *detail)
{
    if (v->spec.kind == PDK_VERIFY_CANDIDATE)
        pdk_record_attempt_failed(v->c, reason, detail);
    else
        pdk_record_warning(v->c, detail);
    v->lost = v->unsound = true;
}

/* The name of an output file: what is verified, and the number of the check. */
static char *log_name(const struct verification *v, const char *suffix)
{
    switch (v->spec.kind) {
    case PDK_VERIFY_BASE:
        return pdk_strf("base-check-%zu%s", v->check_at + 1, suffix);
    case PDK_VERIFY_AGAIN:
        return pdk_strf("again-%d-check-%zu%s", v->spec.round, v->check_at + 1, suffix);
    case PDK_VERIFY_CANDIDATE:
        break;
    }
    return pdk_strf("check-%zu%s", v->check_at + 1, suffix);
}

static char *log_path(const struct verification *v, const char *suffix)
{
    PDK_AUTO_FREE char *name = log_name(v, suffix);

    return name ? pdk_path_join(v->c->logs, name) : NULL;
}

static void finish(struct verification *v)
{
    struct candidate *c = v->c;
    struct pdk_json *outcomes = v->outcomes;
    verification_done *done = v->spec.done;
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

/* What the base had to say in this check, or NULL. */
static const struct pdk_json *base_outcome(const struct verification *v)
{
    const struct task_run *task = &v->c->run->tasks[v->c->task_place];

    return v->spec.kind == PDK_VERIFY_BASE ? NULL
                                           : pdk_json_at(task->baseline, v->check_at);
}

static void record_outcome(struct verification *v, const struct pdk_check *check,
        const struct pdk_exec_result *result, const struct pdk_judgement *j,
        const struct pdk_measures *measures)
{
    struct pdk_json *body = pdk_record_result(result);

    (void)pdk_json_set_str(body, "name", check->name);
    (void)pdk_json_set_int(body, "index", (int64_t)v->check_at);
    (void)pdk_json_set_str(
            body, "severity", check->severity == PDK_SEVERITY_BLOCK ? "block" : "warn");
    (void)pdk_json_set_str(body, "verdict", pdk_verdict_name(j->verdict));
    (void)pdk_json_set_str(body, "reason",
            j->reason == PDK_REASON_NONE ? NULL : pdk_reason_name(j->reason));
    (void)pdk_json_set_bytes(body, "detail", j->detail, strlen(j->detail));
    pdk_measures_record(measures, base_outcome(v), body);
    (void)pdk_json_append(v->outcomes, pdk_json_ref(body));
    if (v->spec.kind == PDK_VERIFY_CANDIDATE)
        pdk_record(v->c->run, PDK_EVENT_CHECK_ENDED, v->c, body);
    else
        pdk_json_free(body); /* it goes into the record of the whole */
}

/* Reasons that are about this attempt's host and hour, not about the tree. */
static bool is_sound(const struct pdk_exec_result *result)
{
    return result && result->start != PDK_EXEC_NO_SPAWN &&
            result->start != PDK_EXEC_NO_CONFINEMENT && !result->canceled &&
            !result->root_gone && !result->oom && result->leaked == 0;
}

static void judge_check(struct verification *v, const struct pdk_check *check,
        const struct pdk_exec_result *result)
{
    const struct task_run *task = &v->c->run->tasks[v->c->task_place];
    PDK_AUTO_FREE char *out = log_path(v, ".stdout");
    PDK_AUTO_FREE char *errors = log_path(v, ".stderr");
    PDK_AUTO_FREE char *results = check->results ? log_path(v, ".results.stdout") : NULL;
    struct pdk_evidence evidence = { result, out, errors, results };
    struct pdk_outcome outcome = { .judgement = { .verdict = PDK_VERDICT_ABSTAIN } };
    PDK_AUTO_MEASURES struct pdk_measures measures = { .has_score = false };
    struct pdk_err err = PDK_ERR_INIT;

    if (!out || !errors || v->results_lost ||
            pdk_evidence_judge(
                    check, task->patterns[v->check_at], &evidence, &outcome, &err) < 0 ||
            pdk_measure(check, task->gauges[v->check_at], &evidence,
                    v->session ? pdk_session_root(v->session) : NULL, &measures,
                    &err) < 0)
        outcome.judgement = (struct pdk_judgement){ PDK_VERDICT_ABSTAIN,
            PDK_REASON_OUTPUT_UNREADABLE, "" };
    pdk_measures_judge(check, &measures, base_outcome(v), &outcome.judgement);
    record_outcome(v, check, result, &outcome.judgement, &measures);
}

/* The check is over, with its results file if it has one. result NULL: the agent was lost. */
static void end_check(struct verification *v, const struct pdk_exec_result *result,
        const struct pdk_err *why)
{
    if (!is_sound(result) || v->results_lost)
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

static void verification_on_results(
        const struct pdk_exec_result *result, const struct pdk_err *why, void *user)
{
    struct verification *v = user;

    /* A file that is not there has nothing to say: what needs it finds nothing. */
    end_check(v, result ? &v->result : NULL, why);
}

/* A command of ours on the check's results file, in its sandbox and under its confinement. */
static void handle_results(struct verification *v, const char *suffix,
        const char *const *argv, size_t n, const struct pdk_exec_handlers *handlers)
{
    struct pdk_command command = { .shell = false };
    PDK_AUTO_FREE char *log = log_name(v, suffix);

    for (size_t i = 0; i < n; i++)
        pdk_strv_add(&command.argv, argv[i]);
    pdk_start_command(v->c, v->session, &command, "verify", log ? log : "results", 60000,
            handlers, v);
    pdk_strv_fini(&command.argv);
}

static void verification_on_check_end(
        const struct pdk_exec_result *result, const struct pdk_err *why, void *user)
{
    static const struct pdk_exec_handlers handlers = { NULL, verification_on_results };
    struct verification *v = user;
    const struct pdk_check *check = &v->c->task->verify.checks[v->check_at];
    const char *argv[] = { "cat", "--", check->results };

    if (!check->results || !result || result->start != PDK_EXEC_STARTED ||
            result->root_gone || result->canceled || v->c->canceled) {
        end_check(v, result, why);
        return;
    }
    v->result = *result;
    handle_results(v, ".results", argv, 3, &handlers);
}

static void verification_on_output(int fd, const char *data, size_t len, void *user)
{
    struct verification *v = user;
    const struct pdk_engine_listener *listener = &v->c->run->spec->listener;

    (void)fd;
    if (listener->on_output)
        listener->on_output(v->c->place, data, len, listener->user);
}

static void run_check(struct verification *v, const struct pdk_check *check)
{
    static const struct pdk_exec_handlers handlers = { verification_on_output,
        verification_on_check_end };
    PDK_AUTO_FREE char *log = log_name(v, "");

    pdk_start_command(v->c, v->session, &check->run, "verify", log ? log : "check",
            check->timeout_ms, &handlers, v);
}

static void verification_on_cleared(
        const struct pdk_exec_result *result, const struct pdk_err *why, void *user)
{
    struct verification *v = user;

    v->results_lost =
            !result || result->start != PDK_EXEC_STARTED || result->exit_code != 0;
    if (v->results_lost)
        end_check(v, result, why);
    else
        run_check(v, &v->c->task->verify.checks[v->check_at]);
}

static void start_check(struct verification *v, const struct pdk_check *check)
{
    static const struct pdk_exec_handlers handlers = { NULL, verification_on_cleared };
    const char *argv[] = { "rm", "-f", "--", check->results };
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "name", check->name);
    (void)pdk_json_set_int(body, "index", (int64_t)v->check_at);
    if (v->spec.kind == PDK_VERIFY_CANDIDATE)
        pdk_record(v->c->run, PDK_EVENT_CHECK_STARTED, v->c, pdk_json_ref(body));
    pdk_json_free(body);
    pdk_candidate_show(v->c, check->name);
    v->results_lost = false;
    if (check->results)
        handle_results(v, ".clear", argv, 4, &handlers);
    else
        run_check(v, check);
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
    else if (result->start == PDK_EXEC_NO_CONFINEMENT)
        fail(v, PDK_REASON_CONFINEMENT_FAILED, result->why);
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
    PDK_AUTO_FREE char *suffix = v->spec.kind == PDK_VERIFY_AGAIN
            ? pdk_strf(".again%d", v->spec.round)
            : strdup(v->spec.kind == PDK_VERIFY_BASE ? ".base" : ".verify");

    v->id = suffix ? pdk_strf("%s%s", c->attempt_id, suffix) : NULL;
    if (!v->id)
        return pdk_fail_nomem(err);
    if (pdk_session_for(c, suffix, &v->spec.tree, "check", &v->session, err) < 0)
        return err->code;
    v->own = true;
    pdk_record_then(c, open_session);
    return 0;
}

int pdk_verification_start(
        struct candidate *c, const struct verification_spec *spec, struct pdk_err *err)
{
    struct verification *v = calloc(1, sizeof(*v));

    if (!v)
        return pdk_fail_nomem(err);
    v->c = c;
    v->spec = *spec;
    v->session = spec->same;
    v->outcomes = pdk_json_array();
    if (!spec->same && needs_sandbox(c) && open_fresh(v, err) < 0) {
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
