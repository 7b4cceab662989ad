/*
 * The life of one candidate:
 *
 *   start -> materializing -> setup -> (baseline) -> running -> capturing -> close -> verifying
 *         -> judged -> released
 *
 * Each step is a function that begins something; its callback records what came of it and calls the
 * next. An attempt that fails goes on where that still makes sense (what was done is captured on
 * every ending), then to judged, or to another attempt when the fault was not the mission's.
 */
#include "orchestrator/engine/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"
#include "orchestrator/engine/work.h"
#include "promote/votes.h"

static void begin_setup(struct candidate *c);
static void begin_mission(struct candidate *c);
static void begin_capture(struct candidate *c);
static void begin_close(struct candidate *c);
static void take_given(struct candidate *c);
static void go_on(struct candidate *c);
static void begin_verify(struct candidate *c);
static void judge(struct candidate *c);

/* ---- small things */

void pdk_candidate_show(struct candidate *c, const char *stage)
{
    const struct pdk_engine_listener *listener = &c->run->spec->listener;
    struct pdk_candidate_view view = {
        .place = c->place,
        .name = c->name,
        .state = pdk_candidate_state_name(c->state),
        .stage = stage,
        .started_ms = c->started_ms,
        .ended_ms = c->ended_ms,
    };

    (void)snprintf(c->stage, sizeof(c->stage), "%s", stage);
    if (c->state >= PDK_CANDIDATE_JUDGED) {
        view.verdict = pdk_verdict_name(c->judgement.verdict);
        view.reason = pdk_reason_name(c->judgement.reason);
        view.reason = view.reason[0] ? view.reason : NULL;
    }
    if (listener->on_change)
        listener->on_change(&view, listener->user);
}

static void set_state(struct candidate *c, enum pdk_candidate_state to)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "from", pdk_candidate_state_name(c->state));
    (void)pdk_json_set_str(body, "to", pdk_candidate_state_name(to));
    c->state = to;
    pdk_record(c->run, PDK_EVENT_ATTEMPT_STATE, c, body);
    if (to != PDK_CANDIDATE_RELEASED)
        pdk_candidate_show(c, "");
}

/* The attempt cannot be judged by its checks alone. The first reason stays. */
static void fail_attempt(
        struct candidate *c, enum pdk_reason reason, const char *detail, bool retriable)
{
    pdk_record_attempt_failed(c, reason, detail);
    c->retriable = c->failed ? c->retriable && retriable : retriable;
    c->failed = true;
}

static void fail_with(struct candidate *c, enum pdk_reason stage,
        const struct pdk_err *why, bool retriable)
{
    fail_attempt(c, pdk_reason_of_error(stage, why), why->msg, retriable);
}

/* ---- an attempt begins */

static void reset_attempt(struct candidate *c)
{
    free(c->attempt_id);
    free(c->logs);
    free(c->objective);
    c->attempt_id = c->logs = c->objective = NULL;
    pdk_capture_fini(&c->capture);
    pdk_diff_fini(&c->diff);
    pdk_survey_fini(&c->survey);
    c->tree.hex[0] = c->verified.hex[0] = c->vote[0] = '\0';
    pdk_json_free(c->outcomes);
    c->outcomes = NULL;
    c->setup_at = 0;
    c->failed = c->retriable = false;
}

/* Ids are never used twice: the run's is new, and attempts count up. */
static int name_attempt(struct candidate *c, struct pdk_err *err)
{
    const struct pdk_engine_spec *spec = c->run->spec;
    bool fleet = spec->plan->kind == PDK_PLAN_FLEET;

    c->attempt_id = pdk_strf("%s%s%s.c%d.a%d", spec->run, fleet ? "." : "",
            fleet ? c->task->id : "", c->plan->index, c->attempt);
    c->logs = c->attempt_id ? pdk_path_join(spec->state->logs, c->attempt_id) : NULL;
    if (!c->logs)
        return pdk_fail_nomem(err);
    return pdk_fs_mkdirs(c->logs, 0700, err);
}

/* The objective reaches commands as a file outside of the working copy. */
static int write_objective(struct candidate *c, struct pdk_err *err)
{
    const char *text =
            c->task->objective ? c->task->objective : c->run->spec->plan->objective;

    if (!text)
        return 0;
    c->objective = pdk_path_join(c->logs, "objective.txt");
    if (!c->objective)
        return pdk_fail_nomem(err);
    return pdk_fs_write(c->objective, text, strlen(text), 0644, 0, err);
}

static void candidate_on_open(const struct pdk_err *why, void *user)
{
    struct candidate *c = user;

    if (pdk_session_record(c->session))
        pdk_record_made(c, c->session);
    if (why->code != 0) {
        bool made = pdk_session_record(c->session) != NULL;

        fail_with(c, made ? PDK_REASON_AGENT_LOST : PDK_REASON_MATERIALIZE_FAILED, why,
                true);
        begin_close(c);
        return;
    }
    c->baseline = c->run->start;
    begin_setup(c);
}

/* Nothing is made that is not on record. */
static void open_session(struct candidate *c)
{
    if (c->run->fatal.code == 0) {
        pdk_session_open(c->session, candidate_on_open, c);
        return;
    }
    fail_with(c, PDK_REASON_MATERIALIZE_FAILED, &c->run->fatal, false);
    begin_close(c);
}

static void begin_open(struct candidate *c)
{
    struct pdk_err err = PDK_ERR_INIT;

    if (c->run->spec->trees) {
        take_given(c);
        return;
    }
    if (pdk_session_for(c, "", &c->run->start, "mission", &c->session, &err) < 0) {
        fail_with(c, PDK_REASON_MATERIALIZE_FAILED, &err, false);
        judge(c);
        return;
    }
    pdk_record_then(c, open_session);
}

static void after_baseline(struct candidate *c)
{
    if (c->canceled) {
        fail_attempt(c, PDK_REASON_CANCELED, "interrupted", false);
        judge(c);
    } else {
        begin_open(c);
    }
}

void pdk_candidate_start(struct candidate *c)
{
    struct pdk_err err = PDK_ERR_INIT;

    c->attempt++;
    if (c->started_ms == 0)
        c->started_ms = pdk_clock_ms();
    reset_attempt(c);
    set_state(c, PDK_CANDIDATE_MATERIALIZING);
    if (name_attempt(c, &err) < 0 || write_objective(c, &err) < 0) {
        fail_with(c, PDK_REASON_MATERIALIZE_FAILED, &err, false);
        judge(c);
    } else if (pdk_baseline_wanted(c)) {
        pdk_baseline_start(c, after_baseline);
    } else {
        begin_open(c);
    }
}

/* ---- setup and mission */

static void candidate_on_output(int fd, const char *data, size_t len, void *user)
{
    struct candidate *c = user;
    const struct pdk_engine_listener *listener = &c->run->spec->listener;

    (void)fd;
    if (listener->on_output)
        listener->on_output(c->place, data, len, listener->user);
}

/* What a finished command says about the attempt, whichever command it was. True: it may go on. */
static bool survey(struct candidate *c, const struct pdk_exec_result *result,
        const struct pdk_err *why, enum pdk_reason not_started)
{
    if (!result)
        fail_with(c, PDK_REASON_AGENT_LOST, why, true);
    else if (result->root_gone)
        fail_attempt(c, PDK_REASON_SANDBOX_LOST, "its directory went away", true);
    else if (result->start == PDK_EXEC_NO_CONFINEMENT)
        fail_attempt(c, PDK_REASON_CONFINEMENT_FAILED, result->why, true);
    else if (result->start != PDK_EXEC_STARTED)
        fail_attempt(c, not_started, strerrordesc_np(result->start_errno),
                result->start == PDK_EXEC_NO_SPAWN);
    else if (result->canceled || c->canceled)
        fail_attempt(c, PDK_REASON_CANCELED, "interrupted", false);
    else if (result->oom)
        fail_attempt(c, PDK_REASON_OUT_OF_MEMORY, "ended for want of memory", false);
    return !c->failed;
}

static void candidate_on_setup_end(
        const struct pdk_exec_result *result, const struct pdk_err *why, void *user)
{
    struct candidate *c = user;

    pdk_record_command_end(c, "setup", result, why);
    if (survey(c, result, why, PDK_REASON_SETUP_FAILED) && result->exit_code != 0)
        fail_attempt(
                c, PDK_REASON_SETUP_FAILED, "a setup command did not exit with 0", false);
    if (c->failed) {
        begin_close(c);
        return;
    }
    c->setup_at++;
    begin_setup(c);
}

/* What setup left behind is where the mission starts from, not what it did. */
static void candidate_on_baseline(const struct pdk_err *why, void *user)
{
    struct candidate *c = user;

    if (why->code != 0) {
        fail_with(c, PDK_REASON_CAPTURE_FAILED, why, false);
        begin_close(c);
        return;
    }
    c->baseline = c->capture.tree;
    pdk_capture_fini(&c->capture);
    begin_mission(c);
}

static void begin_setup(struct candidate *c)
{
    static const struct pdk_exec_handlers handlers = { candidate_on_output,
        candidate_on_setup_end };
    PDK_AUTO_FREE char *log = pdk_strf("setup-%zu", c->setup_at + 1);

    if (c->canceled) {
        fail_attempt(c, PDK_REASON_CANCELED, "interrupted", false);
        begin_close(c);
    } else if (c->setup_at < c->task->sandbox.setup_len) {
        if (c->setup_at == 0)
            set_state(c, PDK_CANDIDATE_SETUP);
        pdk_start_command(c, c->session, &c->task->sandbox.setup[c->setup_at], "setup",
                log ? log : "setup", 0, &handlers, c);
    } else if (c->task->sandbox.setup_len > 0 || c->task->sandbox.include.len > 0) {
        pdk_session_capture(c->session, &c->capture, candidate_on_baseline, c);
    } else {
        begin_mission(c);
    }
}

static void candidate_on_mission_end(
        const struct pdk_exec_result *result, const struct pdk_err *why, void *user)
{
    struct candidate *c = user;

    pdk_record_command_end(c, "mission", result, why);
    pdk_stop_count_cost(c, result);
    (void)survey(c, result, why, PDK_REASON_MISSION_NOT_STARTED);
    if (result && result->root_gone)
        begin_close(c);
    else
        begin_capture(c);
}

static void begin_mission(struct candidate *c)
{
    static const struct pdk_exec_handlers handlers = { candidate_on_output,
        candidate_on_mission_end };

    if (c->canceled) {
        fail_attempt(c, PDK_REASON_CANCELED, "interrupted", false);
        begin_close(c);
        return;
    }
    set_state(c, PDK_CANDIDATE_RUNNING);
    pdk_start_command(c, c->session, &c->task->run, "mission", "mission",
            c->task->timeout_ms, &handlers, c);
}

/* ---- capture: on every ending */

/* What it did before the mission's rules, and the tree for the checks: protected paths restored. */
static int survey_changes(struct candidate *c, struct pdk_vault *vault,
        const struct pdk_oid *tree, struct pdk_err *err)
{
    const struct pdk_rules *rules = c->run->tasks[c->task_place].rules;

    c->verified = *tree;
    if (pdk_rules_survey(rules, &c->diff, &c->survey, err) < 0)
        return err->code;
    if (c->survey.tampered.len == 0)
        return 0;
    return pdk_diff_take_back(
            vault, &c->diff, &c->survey.tampered, tree, &c->verified, err);
}

static int cast_vote(struct candidate *c, struct pdk_vault *vault,
        const struct pdk_oid *tree, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf patch = PDK_BUF_INIT;

    if (!pdk_strv_has(&c->task->select, "votes"))
        return 0;
    if (pdk_diff_patch(vault, &c->run->start, tree, &patch, err) < 0)
        return err->code;
    return pdk_votes_digest(pdk_buf_str(&patch), patch.len, c->vote, err);
}

/* The mission's own changes, put on the tree it started from, kept in the vault. */
static int settle(struct candidate *c, struct pdk_vault *vault, struct pdk_err *err)
{
    const struct pdk_oid *start = &c->run->start;
    PDK_AUTO_FREE char *name = NULL;
    struct pdk_oid tree = c->capture.tree;

    if (!pdk_oid_equal(&c->baseline, start) &&
            pdk_diff_transplant(
                    vault, &c->baseline, &c->capture.tree, start, &tree, err) < 0)
        return err->code;
    if (pdk_diff_trees(vault, start, &tree, PDK_DIFF_LINES, &c->diff, err) < 0)
        return err->code;
    name = pdk_strf("runs/%s/%s", c->run->spec->run, tree.hex);
    if (!name)
        return pdk_fail_nomem(err);
    if (pdk_vault_keep(vault, name, start, &tree, err) < 0 ||
            survey_changes(c, vault, &tree, err) < 0 ||
            cast_vote(c, vault, &tree, err) < 0)
        return err->code;
    c->tree = tree;
    return 0;
}

static int candidate_run_settle(void *user, struct pdk_err *err)
{
    struct candidate *c = user;
    struct pdk_vault *vault = NULL;
    int rc = pdk_vaults_take(c->run->vaults, &vault, err);

    if (rc == 0)
        rc = settle(c, vault, err);
    pdk_vaults_give(c->run->vaults, vault);
    return rc;
}

/* Paths as the log can hold them. */
static struct pdk_json *paths_json(const struct pdk_strv *paths)
{
    struct pdk_json *list = pdk_json_array();

    for (size_t i = 0; i < paths->len; i++) {
        PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

        pdk_utf8_clean(paths->items[i], strlen(paths->items[i]), &text);
        (void)pdk_json_append(list, pdk_json_str(pdk_buf_str(&text)));
    }
    return list;
}

static void record_survey(const struct candidate *c, struct pdk_json *body)
{
    if (c->survey.tampered.len > 0) {
        (void)pdk_json_set(body, "tampered", paths_json(&c->survey.tampered));
        (void)pdk_json_set_str(body, "verified_tree", c->verified.hex);
    }
    if (c->survey.outside.len > 0)
        (void)pdk_json_set(body, "outside", paths_json(&c->survey.outside));
    if (c->survey.sources + c->survey.tests > 0) {
        (void)pdk_json_set_int(body, "sources", (int64_t)c->survey.sources);
        (void)pdk_json_set_int(body, "tests", (int64_t)c->survey.tests);
    }
}

static void record_capture(struct candidate *c)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "tree", c->tree.hex);
    (void)pdk_json_set_bool(body, "changed", !pdk_oid_equal(&c->tree, &c->run->start));
    (void)pdk_json_set_int(body, "files", (int64_t)c->diff.len);
    (void)pdk_json_set_int(body, "added", c->diff.added);
    (void)pdk_json_set_int(body, "deleted", c->diff.deleted);
    (void)pdk_json_set_int(body, "ignored_files", (int64_t)c->capture.ignored_files);
    record_survey(c, body);
    pdk_record(c->run, PDK_EVENT_CAPTURE_DONE, c, body);
    pdk_record_warnings(c, &c->capture.warnings);
}

/* A sandbox in which protected files changed is no place to check in: a fresh one has them restored. */
static bool verifies_in_same(const struct candidate *c)
{
    return c->task->verify.in_same && c->survey.tampered.len == 0 && !c->run->spec->trees;
}

static void after_capture(struct candidate *c)
{
    if (!c->session)
        go_on(c); /* the tree was given */
    else if (verifies_in_same(c) && !c->failed && !c->canceled)
        begin_verify(c);
    else
        begin_close(c);
}

static void candidate_on_settled(const struct pdk_err *why, void *user)
{
    struct candidate *c = user;

    if (why->code != 0)
        fail_with(c, PDK_REASON_CAPTURE_FAILED, why, false);
    else
        record_capture(c);
    after_capture(c);
}

static void candidate_on_captured(const struct pdk_err *why, void *user)
{
    static const struct pdk_work_handlers handlers = { candidate_run_settle,
        candidate_on_settled };
    struct candidate *c = user;

    if (why->code == 0) {
        pdk_work_queue(c->run->loop, &handlers, c);
        return;
    }
    fail_with(c,
            why->code == PDK_ENOTFOUND ? PDK_REASON_SANDBOX_LOST
                                       : PDK_REASON_CAPTURE_FAILED,
            why, false);
    begin_close(c);
}

/* The result is there already: what is left is to look at it. */
static void take_given(struct candidate *c)
{
    static const struct pdk_work_handlers handlers = { candidate_run_settle,
        candidate_on_settled };

    set_state(c, PDK_CANDIDATE_CAPTURING);
    c->baseline = c->run->start;
    c->capture.tree = c->run->spec->trees[c->place];
    pdk_work_queue(c->run->loop, &handlers, c);
}

static void begin_capture(struct candidate *c)
{
    set_state(c, PDK_CANDIDATE_CAPTURING);
    pdk_session_capture(c->session, &c->capture, candidate_on_captured, c);
}

/* ---- the mission's sandbox goes */

static bool may_keep(const struct candidate *c)
{
    return c->run->spec->plan->keep != PDK_KEEP_NONE;
}

/* Remembers a working copy that stays until the run knows whom to keep. */
static void keep_record(struct candidate *c)
{
    const struct pdk_sandbox_record *record = pdk_session_record(c->session);

    pdk_sandbox_record_fini(&c->kept);
    c->kept = (struct pdk_sandbox_record){
        .id = strdup(record->id),
        .backend = strdup(record->backend),
        .dir = strdup(record->dir),
        .base = record->base,
        .tree = record->tree,
        .start = record->start,
    };
}

static void go_on(struct candidate *c)
{
    bool again = c->failed && c->retriable && c->attempt <= c->task->retries &&
            !c->canceled && !pdk_run_stopping(c->run);

    if (again)
        pdk_candidate_start(c);
    else if (c->failed || c->canceled || verifies_in_same(c))
        judge(c);
    else
        begin_verify(c);
}

static void candidate_on_closed(const struct pdk_err *why, void *user)
{
    struct candidate *c = user;
    bool made = pdk_session_record(c->session) != NULL;

    if (made && may_keep(c))
        keep_record(c);
    else
        pdk_record_released(c, c->attempt_id, why);
    c->session = NULL;
    go_on(c);
}

static void close_session(struct candidate *c)
{
    pdk_session_close(c->session, may_keep(c), candidate_on_closed, c);
}

/* What came of it is on record before it goes. */
static void begin_close(struct candidate *c)
{
    pdk_record_then(c, close_session);
}

/* ---- verdict */

static struct tree_memo *find_memo(struct candidate *c)
{
    for (struct tree_memo *m = c->run->memos; m; m = m->next)
        if (m->task_place == c->task_place && pdk_oid_equal(&m->tree, &c->tree))
            return m;
    return NULL;
}

static struct tree_memo *add_memo(struct candidate *c)
{
    struct tree_memo *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL; /* then this tree is verified once more than needed */
    m->task_place = c->task_place;
    m->tree = c->tree;
    m->next = c->run->memos;
    c->run->memos = m;
    return m;
}

/* Another candidate made the same tree: what its checks said holds for this one. */
static void share_outcomes(struct candidate *c, const struct tree_memo *memo)
{
    c->outcomes = pdk_json_ref(memo->outcomes);
    for (size_t i = 0; i < pdk_json_len(memo->outcomes); i++)
        pdk_record(c->run, PDK_EVENT_CHECK_ENDED, c,
                pdk_json_ref(pdk_json_at(memo->outcomes, i)));
}

static void release_waiting(struct tree_memo *memo)
{
    struct candidate *c = memo->waiting;

    if (memo->done) {
        memo->waiting = NULL;
        while (c) {
            struct candidate *next = c->next_waiting;

            share_outcomes(c, memo);
            judge(c);
            c = next;
        }
    } else if (c) {
        memo->waiting = c->next_waiting;
        begin_verify(c);
    }
}

static void candidate_on_verified(
        struct candidate *c, bool whole, struct pdk_json *outcomes)
{
    struct tree_memo *memo = verifies_in_same(c) ? NULL : find_memo(c);

    c->verification = NULL;
    c->outcomes = outcomes ? pdk_json_ref(outcomes) : NULL;
    if (memo)
        memo->busy = false;
    if (memo && whole) {
        memo->done = true;
        memo->outcomes = pdk_json_ref(outcomes);
    }
    if (c->session)
        begin_close(c);
    else
        judge(c);
    if (memo)
        release_waiting(memo);
}

static void start_verification(struct candidate *c)
{
    struct verification_spec spec = { .kind = PDK_VERIFY_CANDIDATE,
        .same = c->session,
        .tree = c->verified,
        .done = candidate_on_verified };
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_verification_start(c, &spec, &err) == 0)
        return;
    fail_with(c, PDK_REASON_MATERIALIZE_FAILED, &err, false);
    candidate_on_verified(c, false, NULL);
}

static void begin_verify(struct candidate *c)
{
    struct tree_memo *memo = c->session ? NULL : find_memo(c);

    if (c->state != PDK_CANDIDATE_VERIFYING)
        set_state(c, PDK_CANDIDATE_VERIFYING);
    c->next_waiting = NULL;
    if (c->canceled) {
        fail_attempt(c, PDK_REASON_CANCELED, "interrupted", false);
        candidate_on_verified(c, false, NULL);
    } else if (pdk_baseline_wait(c, begin_verify)) {
        pdk_candidate_show(c, "baseline");
    } else if (memo && memo->done) {
        share_outcomes(c, memo);
        judge(c);
    } else if (memo && memo->busy) {
        c->next_waiting = memo->waiting;
        memo->waiting = c;
    } else {
        if (!memo && !c->session)
            memo = add_memo(c);
        if (memo)
            memo->busy = true;
        start_verification(c);
    }
}

/* What the events amount to. */
void pdk_candidate_judge(struct candidate *c, bool again)
{
    struct pdk_json *body = pdk_json_object();
    struct pdk_err err = PDK_ERR_INIT;
    double score = 0;

    if (pdk_fold_candidate(
                c->run->fold, c->task->id, c->plan->index, &c->judgement, &err) < 0)
        c->judgement =
                (struct pdk_judgement){ PDK_VERDICT_ABSTAIN, PDK_REASON_NOT_JUDGED, "" };
    if (!again)
        set_state(c, PDK_CANDIDATE_JUDGED);
    (void)pdk_json_set_str(body, "verdict", pdk_verdict_name(c->judgement.verdict));
    (void)pdk_json_set_str(body, "reason",
            c->judgement.reason == PDK_REASON_NONE
                    ? NULL
                    : pdk_reason_name(c->judgement.reason));
    (void)pdk_json_set_bytes(
            body, "detail", c->judgement.detail, strlen(c->judgement.detail));
    (void)pdk_json_set_int(body, "duration_ms", c->ended_ms - c->started_ms);
    if (c->has_cost)
        (void)pdk_json_set(body, "cost", pdk_json_real(c->cost));
    if (pdk_candidate_score(c, true, &score))
        (void)pdk_json_set(body, "score", pdk_json_real(score));
    pdk_record(c->run, PDK_EVENT_CANDIDATE_JUDGED, c, body);
    if (again)
        pdk_candidate_show(c, "");
}

/* The end of its life. */
static void record_judgement(struct candidate *c)
{
    pdk_candidate_judge(c, false);
    set_state(c, PDK_CANDIDATE_RELEASED);
}

static void pronounce(struct candidate *c)
{
    c->ended_ms = pdk_clock_ms();
    record_judgement(c);
    pdk_run_candidate_ended(c->run, c);
}

/* What it did outside of its sandbox counts as well, whatever way it came here. */
static void judge(struct candidate *c)
{
    pdk_leaks_look(c, pronounce);
}

void pdk_candidate_pass_over(
        struct candidate *c, enum pdk_reason reason, const char *detail)
{
    fail_attempt(c, reason, detail, false);
    record_judgement(c);
}

/* ---- interruption and the end */

void pdk_candidate_interrupt(struct candidate *c, bool at_once)
{
    c->canceled = true;
    if (c->verification)
        pdk_verification_stop(c->verification, at_once);
    else if (c->judging)
        pdk_judge_stop(c->judging, at_once);
    else if (c->session)
        pdk_session_stop(c->session, at_once);
}

void pdk_candidate_fini(struct candidate *c)
{
    reset_attempt(c);
    pdk_sandbox_record_fini(&c->kept);
    free(c->blame);
    free(c->name);
}
