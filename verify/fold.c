/* The fold of verdict.h: what the events of one run say of each candidate so far. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "store/event.h"
#include "verify/verdict.h"
#include "verify/witness.h"

/* One finding of an attempt; of several of a kind the one with the lowest rank stands. */
struct finding {
    bool set;
    int64_t rank;
    enum pdk_reason reason;
    char detail[256];
};

/* The checks run again on the same tree: so many rounds, how they ended. */
struct rerun {
    int passed, failed, unseen;
    char policy[16]; /* "all", "majority", "any" */
};

/* What a candidate is held to beside its checks (candidate.planned), and what it did (capture.done). */
struct rules {
    bool tamper_fails, test_first;
    int64_t max_lines, max_files; /* 0: no limit */
};

struct changes {
    int64_t lines, files; /* -1: not on record */
    int64_t sources, tests;
    char tampered[200], outside[200]; /* the first path; "": none */
};

enum word { WORD_NONE, WORD_PASS, WORD_ATTENTION, WORD_REMEDIATION };

struct candidate {
    size_t task; /* index */
    int index;
    int attempt;
    bool allow_empty;
    struct pdk_strv checks; /* names of the blocking checks */
    struct rules rules;

    /* Of the present attempt. */
    struct pdk_strv ended; /* names of those that ended */
    struct finding failed, abstained, broken;
    bool captured, changed;
    int64_t leaked;
    struct changes changes;
    struct pdk_strv failing; /* names of the blocking checks that failed */
    enum word word;          /* a person's */
    struct pdk_strv waived;  /* with that word */
    size_t flips;            /* checks that failed on the base and pass here */
    struct rerun rerun;
};

struct task {
    char *id;
    bool allow_empty;
    struct pdk_witness witness;
};

struct pdk_fold {
    struct task *tasks;
    size_t tasks_len;
    struct candidate *candidates; /* in the order in which they were planned */
    size_t candidates_len;
};

struct pdk_fold *pdk_fold_new(void)
{
    return calloc(1, sizeof(struct pdk_fold));
}

void pdk_fold_free(struct pdk_fold *fold)
{
    if (!fold)
        return;
    for (size_t i = 0; i < fold->tasks_len; i++) {
        free(fold->tasks[i].id);
        pdk_witness_fini(&fold->tasks[i].witness);
    }
    for (size_t i = 0; i < fold->candidates_len; i++) {
        pdk_strv_fini(&fold->candidates[i].checks);
        pdk_strv_fini(&fold->candidates[i].ended);
        pdk_strv_fini(&fold->candidates[i].failing);
        pdk_strv_fini(&fold->candidates[i].waived);
    }
    free(fold->tasks);
    free(fold->candidates);
    free(fold);
}

static int fail_body(const struct pdk_event *e, const char *what, struct pdk_err *err)
{
    return pdk_fail(err, PDK_ECORRUPT, 0, "event %s of candidate %d: %s",
            pdk_event_name(e->type), e->candidate, what);
}

/* The task's index, or tasks_len. */
static size_t find_task(const struct pdk_fold *fold, const char *id)
{
    size_t i = 0;

    while (i < fold->tasks_len && !pdk_streq(fold->tasks[i].id, id))
        i++;
    return i;
}

static struct candidate *find_candidate(
        const struct pdk_fold *fold, const char *task, int index)
{
    size_t t = find_task(fold, task);
    /* Planned in their order: of a run with one task, this is where it is. */
    size_t guess = index > 0 ? (size_t)index - 1 : 0;

    if (guess < fold->candidates_len && fold->candidates[guess].task == t &&
            fold->candidates[guess].index == index)
        return &fold->candidates[guess];
    for (size_t i = 0; t < fold->tasks_len && i < fold->candidates_len; i++) {
        struct candidate *c = &fold->candidates[i];
        if (c->task == t && c->index == index)
            return c;
    }
    return NULL;
}

static int plan_task(struct pdk_fold *fold, const struct pdk_event *e, size_t *out,
        struct pdk_err *err)
{
    size_t t = find_task(fold, e->task);

    if (!e->task)
        return fail_body(e, "no task", err);
    if (t == fold->tasks_len) {
        struct task *tasks = reallocarray(fold->tasks, t + 1, sizeof(*tasks));
        if (!tasks)
            return pdk_fail_nomem(err);
        fold->tasks = tasks;
        tasks[t] = (struct task){ .id = strdup(e->task) };
        if (!tasks[t].id)
            return pdk_fail_nomem(err);
        fold->tasks_len++;
    }
    if (e->type == PDK_EVENT_TASK_PLANNED) {
        fold->tasks[t].allow_empty = pdk_json_get_bool(e->body, "allow_empty", false);
        pdk_witness_ask(&fold->tasks[t].witness, e->body);
    }
    *out = t;
    return 0;
}

static int read_names(
        const struct pdk_event *e, struct pdk_strv *out, struct pdk_err *err)
{
    const struct pdk_json *names = pdk_json_get(e->body, "checks");

    if (pdk_json_type(names) != PDK_JSON_ARRAY)
        return fail_body(e, "no list of checks", err);
    for (size_t i = 0; i < pdk_json_len(names); i++) {
        const char *name = pdk_json_text(pdk_json_at(names, i), NULL);
        if (!name)
            return fail_body(e, "a check without a name", err);
        pdk_strv_add(out, name);
    }
    return pdk_strv_ok(out, err);
}

static struct rules read_rules(const struct pdk_json *v)
{
    return (struct rules){
        .tamper_fails = pdk_streq(pdk_json_get_str(v, "tamper", "fail"), "fail"),
        .test_first = pdk_json_get_bool(v, "test_first", false),
        .max_lines = pdk_json_get_int(v, "max_lines", 0),
        .max_files = pdk_json_get_int(v, "max_files", 0),
    };
}

static int plan_candidate(
        struct pdk_fold *fold, const struct pdk_event *e, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv checks = PDK_STRV_INIT;
    size_t task = 0;
    int rc = plan_task(fold, e, &task, err);

    if (rc == 0 && find_candidate(fold, e->task, e->candidate))
        rc = fail_body(e, "planned twice", err);
    if (rc == 0)
        rc = read_names(e, &checks, err);
    if (rc < 0)
        return rc;
    struct candidate *all = reallocarray(
            fold->candidates, fold->candidates_len + 1, sizeof(*fold->candidates));
    if (!all)
        return pdk_fail_nomem(err);
    fold->candidates = all;
    all[fold->candidates_len++] = (struct candidate){
        .task = task,
        .index = e->candidate,
        .allow_empty =
                pdk_json_get_bool(e->body, "allow_empty", fold->tasks[task].allow_empty),
        .checks = checks,
        .rules = read_rules(pdk_json_get(e->body, "rules")),
    };
    checks = (struct pdk_strv)PDK_STRV_INIT;
    return 0;
}

static void start_attempt(struct candidate *c, int attempt)
{
    pdk_strv_fini(&c->ended);
    pdk_strv_fini(&c->failing);
    pdk_strv_fini(&c->waived);
    *c = (struct candidate){
        .task = c->task,
        .index = c->index,
        .attempt = attempt,
        .allow_empty = c->allow_empty,
        .checks = c->checks,
        .rules = c->rules,
    };
}

static void keep(
        struct finding *f, int64_t rank, enum pdk_reason reason, const char *text)
{
    if (f->set && f->rank <= rank)
        return;
    f->set = true;
    f->rank = rank;
    f->reason = reason;
    (void)snprintf(f->detail, sizeof(f->detail), "%s", text); /* may be cut */
}

static int take_check(struct candidate *c, const struct pdk_witness *witness,
        const struct pdk_event *e, struct pdk_err *err)
{
    enum pdk_reason reason = pdk_reason_find(pdk_json_get_str(e->body, "reason", NULL));
    const char *name = pdk_json_get_str(e->body, "name", NULL);
    const char *severity = pdk_json_get_str(e->body, "severity", NULL);
    const char *detail = pdk_json_get_str(e->body, "detail", "");
    int64_t index = pdk_json_get_int(e->body, "index", 0);
    enum pdk_verdict verdict = PDK_VERDICT_ABSTAIN;

    if (!name || !severity || reason == PDK_REASON_COUNT ||
            pdk_verdict_find(pdk_json_get_str(e->body, "verdict", NULL), &verdict, NULL) <
                    0 ||
            pdk_reason_verdict(reason) != verdict)
        return fail_body(e, "no outcome of a check", err);
    c->leaked += pdk_json_get_int(e->body, "leaked", 0);
    if (!pdk_streq(severity, "block"))
        return 0;
    pdk_strv_add(&c->ended, name);
    c->flips += pdk_witness_compare(witness, e->body, &reason);
    verdict = pdk_reason_verdict(reason);
    if (verdict == PDK_VERDICT_FAIL)
        pdk_strv_add(&c->failing, name);
    if (verdict == PDK_VERDICT_FAIL)
        keep(&c->failed, index, reason, *detail ? detail : name);
    else if (verdict == PDK_VERDICT_ABSTAIN)
        keep(&c->abstained, index, reason, *detail ? detail : name);
    if (pdk_strv_ok(&c->failing, err) < 0)
        return PDK_ENOMEM;
    return pdk_strv_ok(&c->ended, err);
}

static int take_word(struct candidate *c, const struct pdk_event *e, struct pdk_err *err)
{
    const struct pdk_json *waive = pdk_json_get(e->body, "waive");
    const char *verdict = pdk_json_get_str(e->body, "verdict", "");

    if (pdk_streq(verdict, "pass"))
        c->word = WORD_PASS;
    else if (pdk_streq(verdict, "needs-attention"))
        c->word = WORD_ATTENTION;
    else if (pdk_streq(verdict, "needs-remediation"))
        c->word = WORD_REMEDIATION;
    else
        return fail_body(e, "no verdict of a person", err);
    pdk_strv_fini(&c->waived);
    for (size_t i = 0; i < pdk_json_len(waive); i++) {
        const char *name = pdk_json_text(pdk_json_at(waive, i), NULL);

        if (name)
            pdk_strv_add(&c->waived, name);
    }
    return pdk_strv_ok(&c->waived, err);
}

static int take_failure(
        struct candidate *c, const struct pdk_event *e, struct pdk_err *err)
{
    enum pdk_reason reason = pdk_reason_find(pdk_json_get_str(e->body, "reason", NULL));

    if (reason == PDK_REASON_COUNT || pdk_reason_verdict(reason) != PDK_VERDICT_ABSTAIN)
        return fail_body(e, "no reason to abstain", err);
    /* The first one is the cause, the others follow from it. */
    keep(&c->broken, 0, reason, pdk_json_get_str(e->body, "detail", ""));
    return 0;
}

static void take_first(const struct pdk_json *paths, char *out, size_t size)
{
    const char *first = pdk_json_text(pdk_json_at(paths, 0), NULL);

    (void)snprintf(out, size, "%s", first ? first : ""); /* may be cut */
}

static void take_changes(struct changes *out, const struct pdk_json *body)
{
    int64_t added = pdk_json_get_int(body, "added", -1);
    int64_t deleted = pdk_json_get_int(body, "deleted", -1);

    out->lines = added < 0 || deleted < 0 ? -1 : added + deleted;
    out->files = pdk_json_get_int(body, "files", -1);
    out->sources = pdk_json_get_int(body, "sources", 0);
    out->tests = pdk_json_get_int(body, "tests", 0);
    take_first(pdk_json_get(body, "tampered"), out->tampered, sizeof(out->tampered));
    take_first(pdk_json_get(body, "outside"), out->outside, sizeof(out->outside));
}

static void take_rerun(struct rerun *rerun, const struct pdk_json *body)
{
    const char *verdict = pdk_json_get_str(body, "verdict", "");

    rerun->passed += pdk_streq(verdict, "pass");
    rerun->failed += pdk_streq(verdict, "fail");
    rerun->unseen += pdk_streq(verdict, "abstain");
    (void)snprintf(rerun->policy, sizeof(rerun->policy), "%s",
            pdk_json_get_str(body, "policy", "all"));
}

static int take(struct pdk_fold *fold, struct candidate *c, const struct pdk_event *e,
        struct pdk_err *err)
{
    if (e->type == PDK_EVENT_CHECK_ENDED)
        return take_check(c, &fold->tasks[c->task].witness, e, err);
    if (e->type == PDK_EVENT_MANUAL_VERDICT)
        return take_word(c, e, err);
    if (e->type == PDK_EVENT_CONFIRM_ENDED)
        take_rerun(&c->rerun, e->body);
    if (e->type == PDK_EVENT_ATTEMPT_FAILED)
        return take_failure(c, e, err);
    if (e->type == PDK_EVENT_COMMAND_ENDED)
        c->leaked += pdk_json_get_int(e->body, "leaked", 0);
    if (e->type == PDK_EVENT_CAPTURE_DONE) {
        c->captured = true;
        c->changed = pdk_json_get_bool(e->body, "changed", false);
        take_changes(&c->changes, e->body);
    }
    return 0;
}

/* A task that was skipped says so for all of its candidates: none of them will start. */
static void take_skip(struct pdk_fold *fold, const struct pdk_event *e)
{
    const char *reason = pdk_json_get_str(e->body, "reason", NULL);
    size_t task = find_task(fold, e->task);

    if (pdk_reason_find(reason) != PDK_REASON_SKIPPED)
        return;
    for (size_t i = 0; i < fold->candidates_len; i++) {
        if (fold->candidates[i].task == task)
            keep(&fold->candidates[i].broken, 0, PDK_REASON_SKIPPED, "");
    }
}

static int take_baseline(
        struct pdk_fold *fold, const struct pdk_event *e, struct pdk_err *err)
{
    size_t task = find_task(fold, e->task);

    if (task == fold->tasks_len)
        return fail_body(e, "no such task", err);
    return pdk_witness_take(&fold->tasks[task].witness, e->body, err);
}

static bool matters(enum pdk_event_type type)
{
    return type == PDK_EVENT_ATTEMPT_STATE || type == PDK_EVENT_ATTEMPT_FAILED ||
            type == PDK_EVENT_COMMAND_ENDED || type == PDK_EVENT_CAPTURE_DONE ||
            type == PDK_EVENT_CHECK_ENDED || type == PDK_EVENT_CONFIRM_ENDED ||
            type == PDK_EVENT_MANUAL_VERDICT;
}

int pdk_fold_event(
        struct pdk_fold *fold, const struct pdk_event *event, struct pdk_err *err)
{
    size_t task = 0;

    if (event->type == PDK_EVENT_TASK_PLANNED)
        return plan_task(fold, event, &task, err);
    if (event->type == PDK_EVENT_CANDIDATE_PLANNED)
        return plan_candidate(fold, event, err);
    if (event->type == PDK_EVENT_TASK_JUDGED)
        take_skip(fold, event);
    if (event->type == PDK_EVENT_BASELINE_ENDED)
        return take_baseline(fold, event, err);
    if (!matters(event->type) || event->candidate == 0)
        return 0;
    struct candidate *c = find_candidate(fold, event->task, event->candidate);
    if (!c)
        return fail_body(event, "it was never planned", err);
    if (event->attempt < c->attempt)
        return 0;
    if (event->attempt > c->attempt)
        start_attempt(c, event->attempt);
    return take(fold, c, event, err);
}

static void say(struct pdk_judgement *out, enum pdk_reason reason, const char *detail)
{
    out->verdict = pdk_reason_verdict(reason);
    out->reason = reason;
    (void)snprintf(out->detail, sizeof(out->detail), "%s", detail); /* may be cut */
}

/* The first blocking check that did not end, or NULL. */
static const char *missing_check(const struct candidate *c)
{
    for (size_t i = 0; i < c->checks.len; i++) {
        if (!pdk_strv_has(&c->ended, c->checks.items[i]))
            return c->checks.items[i];
    }
    return NULL;
}

/* What a candidate did that fails it whatever its checks say. False: nothing. */
static bool judge_conduct(const struct candidate *c, struct pdk_judgement *out)
{
    bool untested =
            c->rules.test_first && c->changes.sources > 0 && c->changes.tests == 0;

    if (c->rules.tamper_fails && c->changes.tampered[0])
        say(out, PDK_REASON_TAMPERED, c->changes.tampered);
    else if (!c->failed.set && untested)
        say(out, PDK_REASON_UNTESTED_CHANGE, "");
    else
        return false;
    return true;
}

/* One number before its limit: NONE where it is within, or there is none. */
static enum pdk_reason judge_limit(int64_t value, int64_t limit)
{
    if (limit == 0)
        return PDK_REASON_NONE;
    if (value < 0)
        return PDK_REASON_BUDGET_NOT_MEASURED;
    return value > limit ? PDK_REASON_OVER_BUDGET : PDK_REASON_NONE;
}

static bool judge_budget(const struct candidate *c, struct pdk_judgement *out)
{
    enum pdk_reason lines = judge_limit(c->changes.lines, c->rules.max_lines);
    enum pdk_reason files = judge_limit(c->changes.files, c->rules.max_files);
    char text[96];

    (void)snprintf(text, sizeof(text), "%lld lines in %lld files",
            (long long)c->changes.lines, (long long)c->changes.files);
    if (c->changes.outside[0])
        say(out, PDK_REASON_OVER_BUDGET, c->changes.outside);
    else if (lines != PDK_REASON_NONE || files != PDK_REASON_NONE)
        say(out, lines != PDK_REASON_NONE ? lines : files, text);
    else
        return false;
    return true;
}

/* The first run counts as well. False: it may pass. */
static bool judge_rerun(const struct rerun *rerun, struct pdk_judgement *out)
{
    int passed = 1 + rerun->passed, runs = passed + rerun->failed;
    bool enough = pdk_streq(rerun->policy, "any") ||
            (pdk_streq(rerun->policy, "majority") ? 2 * passed > runs : passed == runs);
    char count[64];

    if (rerun->policy[0] == '\0')
        return false;
    (void)snprintf(count, sizeof(count), "passed %d of %d runs", passed, runs);
    if (!enough)
        say(out, PDK_REASON_FLAKY, count);
    else if (rerun->unseen > 0)
        say(out, PDK_REASON_NOT_CONFIRMED, count);
    return !enough || rerun->unseen > 0;
}

static void judge_pass(const struct candidate *c, const struct pdk_witness *witness,
        struct pdk_judgement *out)
{
    const char *check = "";
    enum pdk_reason reason = pdk_witness_judge(witness, c->flips, &check);

    if (judge_budget(c, out))
        return;
    if (reason != PDK_REASON_NONE)
        say(out, reason, check);
    else if (!judge_rerun(&c->rerun, out))
        say(out, PDK_REASON_NONE, "");
}

static bool all_waived(const struct candidate *c)
{
    for (size_t i = 0; i < c->failing.len; i++)
        if (!pdk_strv_has(&c->waived, c->failing.items[i]))
            return false;
    return true;
}

/* A person's word. False: there is none, or it does not stand. */
static bool judge_word(const struct candidate *c, struct pdk_judgement *out)
{
    switch (c->word) {
    case WORD_NONE:
        return false;
    case WORD_ATTENTION:
        if (c->failed.set)
            return false;
        say(out, PDK_REASON_NEEDS_ATTENTION, "");
        return true;
    case WORD_REMEDIATION:
        say(out, PDK_REASON_NEEDS_REMEDIATION, "");
        return true;
    case WORD_PASS:
        break;
    }
    if (!all_waived(c) || c->broken.set || c->leaked > 0 || !c->captured ||
            (!c->changed && !c->allow_empty))
        return false;
    say(out, PDK_REASON_NONE, "");
    return true;
}

static void judge(
        const struct pdk_fold *fold, const struct candidate *c, struct pdk_judgement *out)
{
    const char *missing = missing_check(c);

    if (judge_conduct(c, out) || judge_word(c, out))
        return;
    if (c->failed.set)
        say(out, c->failed.reason, c->failed.detail);
    else if (c->broken.set)
        say(out, c->broken.reason, c->broken.detail);
    else if (c->leaked > 0)
        say(out, PDK_REASON_PROCESSES_LEFT, "");
    else if (!c->captured)
        say(out, PDK_REASON_NOT_JUDGED, "");
    else if (c->abstained.set)
        say(out, c->abstained.reason, c->abstained.detail);
    else if (missing)
        say(out, PDK_REASON_CHECK_MISSING, missing);
    else if (c->checks.len == 0)
        say(out, PDK_REASON_NO_CHECKS, "");
    else if (!c->changed && !c->allow_empty)
        say(out, PDK_REASON_NOTHING_ATTEMPTED, "");
    else
        judge_pass(c, &fold->tasks[c->task].witness, out);
}

int pdk_fold_candidate(const struct pdk_fold *fold, const char *task, int candidate,
        struct pdk_judgement *out, struct pdk_err *err)
{
    const struct candidate *c = find_candidate(fold, task, candidate);

    if (!c)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "no candidate %d of task '%s'", candidate,
                task ? task : "");
    judge(fold, c, out);
    return 0;
}

/* The first judgement of each verdict among several. */
struct tally {
    bool has[3];
    struct pdk_judgement first[3];
};

static void count(struct tally *t, const struct pdk_judgement *j)
{
    if (!t->has[j->verdict])
        t->first[j->verdict] = *j;
    t->has[j->verdict] = true;
}

/* The first of the verdicts, in this order, that occurs. */
static void pick(
        const struct tally *t, const enum pdk_verdict order[3], struct pdk_judgement *out)
{
    for (size_t i = 0; i < 3; i++) {
        if (t->has[order[i]]) {
            *out = t->first[order[i]];
            return;
        }
    }
    say(out, PDK_REASON_NO_CANDIDATES, "");
}

static void judge_task(
        const struct pdk_fold *fold, size_t task, struct pdk_judgement *out)
{
    static const enum pdk_verdict order[3] = { PDK_VERDICT_PASS, PDK_VERDICT_ABSTAIN,
        PDK_VERDICT_FAIL };
    struct tally tally = { .has = { false } };

    for (size_t i = 0; i < fold->candidates_len; i++) {
        struct pdk_judgement j;
        if (fold->candidates[i].task != task)
            continue;
        judge(fold, &fold->candidates[i], &j);
        count(&tally, &j);
    }
    pick(&tally, order, out);
}

int pdk_fold_task(const struct pdk_fold *fold, const char *task,
        struct pdk_judgement *out, struct pdk_err *err)
{
    size_t t = find_task(fold, task);

    if (t == fold->tasks_len)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "no task '%s'", task ? task : "");
    judge_task(fold, t, out);
    return 0;
}

void pdk_fold_run(const struct pdk_fold *fold, struct pdk_judgement *out)
{
    static const enum pdk_verdict order[3] = { PDK_VERDICT_FAIL, PDK_VERDICT_ABSTAIN,
        PDK_VERDICT_PASS };
    struct tally tally = { .has = { false } };

    for (size_t t = 0; t < fold->tasks_len; t++) {
        struct pdk_judgement j;
        judge_task(fold, t, &j);
        count(&tally, &j);
    }
    pick(&tally, order, out);
}

/* ---- as a document */

static struct pdk_json *judgement_json(const char *id, const struct pdk_judgement *j)
{
    struct pdk_json *v = pdk_json_object();

    if (id)
        (void)pdk_json_set_str(v, "id", id);
    (void)pdk_json_set_str(v, "verdict", pdk_verdict_name(j->verdict));
    (void)pdk_json_set_str(v, "reason",
            j->reason == PDK_REASON_NONE ? NULL : pdk_reason_name(j->reason));
    (void)pdk_json_set_bytes(v, "detail", j->detail, strlen(j->detail));
    return v;
}

static struct pdk_json *task_json(const struct pdk_fold *fold, size_t task)
{
    struct pdk_json *v, *list = pdk_json_array();
    struct pdk_judgement j;

    judge_task(fold, task, &j);
    v = judgement_json(fold->tasks[task].id, &j);
    for (size_t i = 0; i < fold->candidates_len; i++) {
        const struct candidate *c = &fold->candidates[i];
        char name[24];

        if (c->task != task)
            continue;
        (void)snprintf(name, sizeof(name), "c%d", c->index);
        judge(fold, c, &j);
        (void)pdk_json_append(list, judgement_json(name, &j));
    }
    (void)pdk_json_set(v, "candidates", list);
    return v;
}

struct pdk_json *pdk_fold_json(const struct pdk_fold *fold)
{
    struct pdk_json *v, *tasks = pdk_json_array();
    struct pdk_judgement j;

    pdk_fold_run(fold, &j);
    v = judgement_json(NULL, &j);
    (void)pdk_json_set_int(v, "schema_version", 1);
    for (size_t i = 0; i < fold->tasks_len; i++)
        (void)pdk_json_append(tasks, task_json(fold, i));
    (void)pdk_json_set(v, "tasks", tasks);
    return v;
}
