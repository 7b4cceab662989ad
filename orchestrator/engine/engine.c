/*
 * A run: base pinned, candidates started as the scheduler says, tasks judged as they end, the
 * verdict recorded, everything released.
 */
#include "orchestrator/engine/engine.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "orchestrator/engine/cleaner.h"
#include "orchestrator/engine/internal.h"
#include "store/store.h"

/* What the loop watches beside the candidates; lives on pdk_engine_run()'s stack. */
struct watch {
    uv_loop_t loop;
    uv_signal_t on_int, on_term;
    uv_timer_t tick;
    uv_prepare_t turn; /* before the loop waits again */
};

bool pdk_run_stopping(const struct run *run)
{
    return run->signals > 0 || run->fatal.code != 0;
}

/* ---- planning */

static int make_patterns(
        struct task_run *task, const struct pdk_plan_task *plan, struct pdk_err *err)
{
    task->patterns = calloc(plan->verify.checks_len + 1, sizeof(struct pdk_patterns *));
    task->gauges = calloc(plan->verify.checks_len + 1, sizeof(struct pdk_gauge *));
    if (!task->patterns || !task->gauges)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < plan->verify.checks_len; i++)
        if (pdk_patterns_compile(&plan->verify.checks[i], &task->patterns[i], err) < 0 ||
                pdk_gauge_compile(&plan->verify.checks[i], &task->gauges[i], err) < 0)
            return pdk_wrap(err, "check '%s'", plan->verify.checks[i].name);
    return pdk_rules_new(&plan->verify, &task->rules, err);
}

/* "auto" is an overlay where one can be had, else a directory; which one is on record. */
static int find_backend(struct run *run, const char *name, const struct pdk_backend **out,
        struct pdk_err *err)
{
    bool automatic = strcmp(name, "auto") == 0;
    struct pdk_err why = PDK_ERR_INIT;

    if (pdk_backend_find(automatic ? "overlay" : name, out, err) < 0)
        return err->code;
    if (pdk_backend_probe(*out, run->spec->state->dir, NULL, &why) == 0)
        return 0;
    if (automatic)
        return pdk_backend_find("directory", out, err);
    *err = why;
    return err->code;
}

static int make_tasks(struct run *run, struct pdk_err *err)
{
    const struct pdk_plan *plan = run->spec->plan;

    run->tasks = calloc(plan->tasks_len + 1, sizeof(*run->tasks));
    if (!run->tasks)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < plan->tasks_len; i++) {
        if (find_backend(run, plan->tasks[i].sandbox.backend, &run->tasks[i].backend,
                    err) < 0 ||
                pdk_tier_open(run->tasks[i].backend, &plan->tasks[i].sandbox,
                        run->spec->state->dir, &run->tasks[i].tier, err) < 0 ||
                make_patterns(&run->tasks[i], &plan->tasks[i], err) < 0)
            return err->code;
        run->candidates_len += plan->tasks[i].candidates_len;
    }
    return 0;
}

static int name_candidate(struct candidate *c, struct pdk_err *err)
{
    bool fleet = c->run->spec->plan->kind == PDK_PLAN_FLEET;

    c->name = pdk_strf(
            "%s%sc%d", fleet ? c->task->id : "", fleet ? "/" : "", c->plan->index);
    return c->name ? 0 : pdk_fail_nomem(err);
}

static int make_candidates(struct run *run, struct pdk_err *err)
{
    const struct pdk_plan *plan = run->spec->plan;
    struct candidate *c;

    run->candidates = calloc(run->candidates_len + 1, sizeof(*run->candidates));
    c = run->candidates;
    if (!c)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < plan->tasks_len; i++) {
        for (size_t j = 0; j < plan->tasks[i].candidates_len; j++, c++) {
            c->run = run;
            c->task = &plan->tasks[i];
            c->plan = &plan->tasks[i].candidates[j];
            c->task_place = i;
            c->place = (size_t)(c - run->candidates);
            if (name_candidate(c, err) < 0)
                return err->code;
        }
    }
    return 0;
}

/* Base and seed, once and for all. */
static int fix_base(struct run *run, struct pdk_err *err)
{
    const struct pdk_engine_spec *spec = run->spec;

    if (pdk_repo_resolve(spec->repo, spec->plan->base, &run->base, err) < 0)
        return err->code;
    run->start = run->base.tree;
    if (pdk_vaults_new(spec->state->vault, spec->repo->objects, &run->vaults, err) < 0 ||
            pdk_vault_open(spec->state->vault, spec->repo->objects, &run->vault, err) < 0)
        return err->code;
    if (spec->start.hex[0])
        run->start = spec->start;
    if (spec->plan->seed == PDK_SEED_HEAD || spec->start.hex[0])
        return 0;
    if (pdk_repo_snapshot(spec->repo, run->vault, &run->base, &run->start, err) < 0)
        return pdk_wrap(err, "taking your uncommitted work along");
    return 0;
}

/*
 * Many copies of one tree come from a template. One copy alone comes from objects, unless its backend
 * stands on a template anyhow.
 */
static int open_template(struct run *run, struct pdk_err *err)
{
    const struct pdk_engine_spec *spec = run->spec;
    PDK_AUTO_FREE char *dir = pdk_path_join(spec->state->dir, "templates");
    bool wanted = run->candidates_len > 1;
    int rc;

    if (!dir)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < spec->plan->tasks_len; i++)
        wanted = wanted || pdk_backend_needs_template(run->tasks[i].backend);
    if (!wanted)
        return 0;
    rc = pdk_template_open(
            run->vault, spec->repo, dir, &run->start, 0, &run->template, err);
    if (rc == 0)
        run->template_tree = run->start;
    /* An object is missing (a partial clone): each candidate meets that, and abstains naming it. */
    return rc == PDK_ENOTFOUND ? 0 : rc;
}

static struct pdk_json *blocking_checks(const struct pdk_plan_task *task)
{
    struct pdk_json *names = pdk_json_array();

    for (size_t i = 0; i < task->verify.checks_len; i++)
        if (task->verify.checks[i].severity == PDK_SEVERITY_BLOCK)
            (void)pdk_json_append(names, pdk_json_str(task->verify.checks[i].name));
    return names;
}

static void record_run_planned(struct run *run)
{
    const struct pdk_plan *plan = run->spec->plan;
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(
            body, "kind", plan->kind == PDK_PLAN_FLEET ? "fleet" : "mission");
    (void)pdk_json_set_str(body, "mission", plan->id);
    (void)pdk_json_set_str(body, "title", plan->title);
    (void)pdk_json_set(body, "base", pdk_base_json(&run->base));
    (void)pdk_json_set_str(
            body, "seed_tree", plan->seed == PDK_SEED_WORKTREE ? run->start.hex : NULL);
    (void)pdk_json_set_int(body, "max_concurrent", plan->max_concurrent);
    (void)pdk_json_set(body, "plan", pdk_json_ref(run->spec->plan_json));
    pdk_record(run, PDK_EVENT_RUN_PLANNED, NULL, body);
}

static void record_task_planned(struct run *run, size_t place)
{
    static const char *const baselines[] = { "skip", "pass", "fail" };
    const struct pdk_plan_task *task = &run->spec->plan->tasks[place];
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_int(body, "index", (int64_t)place);
    (void)pdk_json_set(body, "needs",
            pdk_json_strv((const char *const *)task->needs.items, task->needs.len));
    (void)pdk_json_set_bool(body, "allow_empty", task->allow_empty);
    (void)pdk_json_set(body, "checks", blocking_checks(task));
    (void)pdk_json_set_str(body, "baseline", baselines[task->verify.baseline]);
    pdk_record_task(run, PDK_EVENT_TASK_PLANNED, task->id, body);
}

/* What the fold holds a candidate to, beside its checks. */
static struct pdk_json *rules_json(const struct pdk_plan_verify *verify)
{
    struct pdk_json *rules = pdk_json_object();

    (void)pdk_json_set_str(
            rules, "tamper", verify->tamper == PDK_TAMPER_FAIL ? "fail" : "report");
    (void)pdk_json_set_int(rules, "max_lines", verify->max_lines);
    (void)pdk_json_set_int(rules, "max_files", verify->max_files);
    (void)pdk_json_set_bool(rules, "test_first", verify->sources.len > 0);
    return rules;
}

static void record_candidate_planned(struct run *run, const struct candidate *c)
{
    struct pdk_json *body = pdk_json_object(), *matrix = pdk_json_object();

    for (size_t i = 0; i < c->plan->matrix.len; i++)
        (void)pdk_json_set_str(
                matrix, c->plan->matrix.items[i].key, c->plan->matrix.items[i].value);
    (void)pdk_json_set(body, "checks", blocking_checks(c->task));
    (void)pdk_json_set_bool(body, "allow_empty", c->task->allow_empty);
    (void)pdk_json_set(body, "matrix", matrix);
    (void)pdk_json_set(body, "rules", rules_json(&c->task->verify));
    (void)pdk_json_set_str(
            body, "backend", pdk_backend_name(run->tasks[c->task_place].backend));
    pdk_record(run, PDK_EVENT_CANDIDATE_PLANNED, c, body);
}

static void record_plan(struct run *run)
{
    struct pdk_json *body = pdk_json_object();

    record_run_planned(run);
    for (size_t i = 0; i < run->spec->plan->tasks_len; i++)
        record_task_planned(run, i);
    for (size_t i = 0; i < run->candidates_len; i++)
        record_candidate_planned(run, &run->candidates[i]);
    (void)pdk_json_set_int(body, "pid", getpid());
    pdk_record(run, PDK_EVENT_RUN_STARTED, NULL, body);
}

/* The log of the plan is one transaction. */
static int commit_plan(struct run *run, struct pdk_err *err)
{
    if (pdk_store_begin(run->spec->store, err) < 0)
        return err->code;
    record_plan(run);
    pdk_record_flush(run);
    if (run->fatal.code != 0) {
        pdk_store_rollback(run->spec->store);
        *err = run->fatal;
        return err->code;
    }
    return pdk_store_commit(run->spec->store, err);
}

/* ---- tasks */

/* The candidates of a task that have not started and will not. */
static void pass_over_rest(
        struct run *run, size_t place, enum pdk_reason reason, const char *detail)
{
    for (size_t i = 0; i < run->candidates_len; i++)
        if (run->candidates[i].task_place == place &&
                run->candidates[i].state == PDK_CANDIDATE_PLANNED)
            pdk_candidate_pass_over(&run->candidates[i], reason, detail);
}

static struct pdk_json *ranking_json(const struct pdk_selection *selection)
{
    struct pdk_json *list = pdk_json_array();

    for (size_t i = 0; i < selection->len; i++)
        (void)pdk_json_append(list, pdk_json_int(selection->ranking[i]));
    return list;
}

static void judge_task(struct run *run, size_t place)
{
    const struct pdk_plan_task *plan = &run->spec->plan->tasks[place];
    struct task_run *task = &run->tasks[place];
    struct pdk_json *body = pdk_json_object();
    struct pdk_selection selection = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    pass_over_rest(run, place, task->cut ? PDK_REASON_CENSORED : PDK_REASON_CANCELED,
            "not started");
    pdk_confirm_settle(run, place);
    if (pdk_fold_task(run->fold, plan->id, &task->judgement, &err) < 0 ||
            pdk_run_select(run, place, &selection, &err) < 0)
        run->fatal = err;
    task->winner = selection.winner;
    (void)pdk_json_set_str(body, "verdict", pdk_verdict_name(task->judgement.verdict));
    (void)pdk_json_set_str(body, "reason",
            task->judgement.reason ? pdk_reason_name(task->judgement.reason) : NULL);
    if (task->winner > 0) {
        (void)pdk_json_set_int(body, "winner", task->winner);
        (void)pdk_json_set_str(body, "decided_by", selection.decided_by);
    }
    (void)pdk_json_set(body, "ranking", ranking_json(&selection));
    pdk_selection_fini(&selection);
    pdk_record_task(run, PDK_EVENT_TASK_JUDGED, plan->id, body);
    pdk_sched_judged(run->sched, place, task->judgement.verdict == PDK_VERDICT_PASS);
}

/* Tasks that will never start have a verdict as well. */
static void judge_skipped(struct run *run)
{
    for (size_t i = 0; i < run->spec->plan->tasks_len; i++) {
        struct pdk_json *body;
        enum pdk_reason reason;
        size_t by;

        if (pdk_sched_task_state(run->sched, i) != PDK_SCHED_SKIPPED)
            continue;
        by = pdk_sched_skipped_by(run->sched, i);
        reason = by == (size_t)-1 ? PDK_REASON_CANCELED : PDK_REASON_SKIPPED;
        pass_over_rest(run, i, reason, "not started");
        body = pdk_json_object();
        (void)pdk_json_set_str(body, "verdict", pdk_verdict_name(PDK_VERDICT_ABSTAIN));
        (void)pdk_json_set_str(body, "reason", pdk_reason_name(reason));
        if (by != (size_t)-1)
            (void)pdk_json_set_str(body, "skipped_by", run->spec->plan->tasks[by].id);
        pdk_record_task(run, PDK_EVENT_TASK_JUDGED, run->spec->plan->tasks[i].id, body);
    }
}

/* ---- running */

static void start_ready(struct run *run)
{
    struct pdk_sched_unit unit;

    while (pdk_sched_next(run->sched, &unit)) {
        size_t place = unit.candidate;

        for (size_t i = 0; i < unit.task; i++)
            place += run->spec->plan->tasks[i].candidates_len;
        pdk_candidate_start(&run->candidates[place]);
    }
}

static void stop_watching(struct run *run)
{
    if (uv_is_closing((uv_handle_t *)&run->watch->tick))
        return;
    uv_close((uv_handle_t *)&run->watch->on_int, NULL);
    uv_close((uv_handle_t *)&run->watch->on_term, NULL);
    uv_close((uv_handle_t *)&run->watch->tick, NULL);
    uv_close((uv_handle_t *)&run->watch->turn, NULL);
}

static void end_unit(struct run *run, size_t task)
{
    if (!run->tasks[task].cut && pdk_stop_holds(run, task))
        pdk_stop_cut(run, task);
    if (pdk_sched_ended(run->sched, task))
        judge_task(run, task);
    if (run->fatal.code != 0)
        pdk_sched_cancel(run->sched);
    start_ready(run);
    if (pdk_sched_idle(run->sched))
        stop_watching(run);
}

/* Whether nobody but the one that ends now is left of its task. */
static bool is_last(const struct run *run, size_t task)
{
    for (size_t i = 0; i < run->candidates_len; i++)
        if (run->candidates[i].task_place == task &&
                run->candidates[i].state != PDK_CANDIDATE_RELEASED)
            return false;
    return true;
}

void pdk_run_candidate_ended(struct run *run, struct candidate *c)
{
    bool enough = is_last(run, c->task_place) || pdk_stop_holds(run, c->task_place);

    if (is_last(run, c->task_place) && pdk_judge_start(c))
        return;
    /* What is to end the rest has to be confirmed before. */
    if (!enough || !pdk_confirm_start(run, c->task_place))
        end_unit(run, c->task_place);
}

void pdk_run_task_judged(struct run *run, size_t task)
{
    if (!pdk_confirm_start(run, task))
        end_unit(run, task);
}

void pdk_run_task_confirmed(struct run *run, size_t task)
{
    end_unit(run, task);
}

static void run_on_signal(uv_signal_t *handle, int signum)
{
    struct run *run = handle->data;

    run->signal = run->signal ? run->signal : signum;
    run->signals++;
    pdk_sched_cancel(run->sched);
    for (size_t i = 0; i < run->candidates_len; i++)
        if (run->candidates[i].attempt > 0 &&
                (run->candidates[i].state < PDK_CANDIDATE_JUDGED ||
                        run->candidates[i].verification || run->candidates[i].judging))
            pdk_candidate_interrupt(&run->candidates[i], run->signals > 1);
    if (pdk_sched_idle(run->sched))
        stop_watching(run);
}

static void run_on_tick(uv_timer_t *timer)
{
    struct run *run = timer->data;

    run->spec->listener.on_tick(pdk_clock_ms(), run->spec->listener.user);
}

static void run_on_turn(uv_prepare_t *turn)
{
    pdk_record_flush(turn->data);
}

static void watch(struct run *run)
{
    /* None of these can fail on a fresh loop with valid signals. */
    (void)uv_signal_init(run->loop, &run->watch->on_int);
    (void)uv_signal_init(run->loop, &run->watch->on_term);
    (void)uv_timer_init(run->loop, &run->watch->tick);
    (void)uv_prepare_init(run->loop, &run->watch->turn);
    run->watch->turn.data = run;
    (void)uv_prepare_start(&run->watch->turn, run_on_turn);
    run->watch->on_int.data = run->watch->on_term.data = run->watch->tick.data = run;
    (void)uv_signal_start(&run->watch->on_int, run_on_signal, SIGINT);
    (void)uv_signal_start(&run->watch->on_term, run_on_signal, SIGTERM);
    if (run->spec->listener.on_tick)
        (void)uv_timer_start(&run->watch->tick, run_on_tick, 100, 100);
}

/* ---- the end */

static bool shall_keep(const struct run *run, const struct candidate *c)
{
    switch (run->spec->plan->keep) {
    case PDK_KEEP_ALL:
        return true;
    case PDK_KEEP_FAILED:
        return c->judgement.verdict != PDK_VERDICT_PASS;
    case PDK_KEEP_WINNER:
        return run->tasks[c->task_place].winner == c->plan->index;
    case PDK_KEEP_NONE:
        break;
    }
    return false;
}

static void release_kept(struct run *run)
{
    const struct pdk_engine_spec *spec = run->spec;

    for (size_t i = 0; i < run->candidates_len; i++) {
        struct candidate *c = &run->candidates[i];
        struct pdk_err err = PDK_ERR_INIT;

        if (!c->kept.id || shall_keep(run, c))
            continue;
        (void)pdk_sandbox_teardown(
                &c->kept, spec->repo, spec->state->registry_lock, 0, &err);
        pdk_record_released(c, c->kept.id, &err);
    }
}

static void record_end(struct run *run, struct pdk_engine_result *out)
{
    struct pdk_json *body = pdk_json_object();

    pdk_fold_run(run->fold, &out->judgement);
    if (run->spec->plan->kind == PDK_PLAN_MISSION)
        out->winner = run->tasks[0].winner;
    out->signal = run->signal;
    (void)pdk_json_set_str(body, "verdict", pdk_verdict_name(out->judgement.verdict));
    (void)pdk_json_set_str(body, "reason",
            out->judgement.reason ? pdk_reason_name(out->judgement.reason) : NULL);
    if (out->winner > 0)
        (void)pdk_json_set_int(body, "winner", out->winner);
    (void)pdk_json_set_bool(body, "canceled", run->signals > 0);
    (void)pdk_json_set_int(body, "peak_concurrent", pdk_sched_peak(run->sched));
    (void)pdk_json_set_int(body, "duration_ms", pdk_clock_ms() - run->started_ms);
    pdk_record(run, PDK_EVENT_RUN_ENDED, NULL, body);
}

static void task_fini(struct task_run *task, size_t checks)
{
    for (size_t i = 0; task->patterns && i < checks; i++)
        pdk_patterns_free(task->patterns[i]);
    for (size_t i = 0; task->gauges && i < checks; i++)
        pdk_gauge_free(task->gauges[i]);
    free(task->patterns);
    free(task->gauges);
    pdk_rules_free(task->rules);
    pdk_json_free(task->baseline);
    pdk_tier_free(task->tier);
    pdk_policy_fini(&task->policy);
    pdk_strv_fini(&task->missing);
}

static void run_fini(struct run *run)
{
    for (size_t i = 0; run->candidates && i < run->candidates_len; i++)
        pdk_candidate_fini(&run->candidates[i]);
    free(run->candidates);
    for (size_t i = 0; run->tasks && i < run->spec->plan->tasks_len; i++)
        task_fini(&run->tasks[i], run->spec->plan->tasks[i].verify.checks_len);
    free(run->tasks);
    while (run->memos) {
        struct tree_memo *gone = run->memos;

        run->memos = gone->next;
        pdk_json_free(gone->outcomes);
        free(gone);
    }
    pdk_leaks_close(run);
    pdk_template_close(run->template);
    pdk_record_fini(run);
    pdk_sched_free(run->sched);
    pdk_fold_free(run->fold);
    pdk_vault_close(run->vault);
    pdk_vaults_free(run->vaults);
}

static int prepare(struct run *run, struct pdk_err *err)
{
    const struct pdk_engine_spec *spec = run->spec;

    run->fold = pdk_fold_new();
    if (!run->fold)
        return pdk_fail_nomem(err);
    if (make_tasks(run, err) < 0 || pdk_confine_tasks(run, err) < 0 ||
            make_candidates(run, err) < 0 ||
            pdk_sched_new(spec->plan, spec->plan->max_concurrent, &run->sched, err) < 0)
        return err->code;
    if (fix_base(run, err) < 0)
        return err->code;
    return open_template(run, err);
}

/* On the loop, from the first candidate to the last. */
static void carry_out(struct run *run, struct pdk_engine_result *out)
{
    watch(run);
    run->cleaner = pdk_cleaner_open(run->spec->state->registry_lock);
    start_ready(run);
    if (pdk_sched_idle(run->sched))
        stop_watching(run);
    (void)uv_run(run->loop, UV_RUN_DEFAULT);
    judge_skipped(run);
    release_kept(run);
    record_end(run, out);
    pdk_record_flush(run);
    pdk_cleaner_close(pdk_take_ptr(&run->cleaner));
}

int pdk_engine_run(const struct pdk_engine_spec *spec, struct pdk_engine_result *out,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *pin = pdk_strf("run/%s", spec->run);
    struct watch watch;
    struct run run = {
        .spec = spec, .watch = &watch, .loop = &watch.loop, .started_ms = pdk_clock_ms()
    };
    struct pdk_err unpin = PDK_ERR_INIT;
    int rc = pin ? prepare(&run, err) : pdk_fail_nomem(err);

    if (rc == 0 && run.base.commit.hex[0])
        rc = pdk_repo_pin(spec->repo, pin, &run.base.commit, err);
    if (rc == 0)
        rc = pdk_leaks_open(&run, err);
    if (rc == 0)
        rc = commit_plan(&run, err);
    if (rc == 0 && uv_loop_init(&watch.loop) < 0)
        rc = pdk_fail(err, PDK_EIO, 0, "cannot make an event loop");
    if (rc == 0) {
        carry_out(&run, out);
        if (uv_loop_close(&watch.loop) != 0)
            run.fatal.code = run.fatal.code
                    ? run.fatal.code
                    : pdk_fail(&run.fatal, PDK_EBUG, 0, "handles are left on the loop");
        if (run.fatal.code != 0) {
            *err = run.fatal;
            rc = err->code;
        }
    }
    if (pin && run.base.commit.hex[0])
        (void)pdk_repo_unpin(
                spec->repo, pin, &unpin); /* gc finds a pin without its run */
    run_fini(&run);
    return rc;
}
