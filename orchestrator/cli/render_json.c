/* The document of a run (cli.md section 3), folded from its events. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "orchestrator/cli/render.h"
#include "orchestrator/cli/statistics.h"
#include "store/store.h"

struct fold {
    struct pdk_json *doc;
    struct pdk_json *tasks; /* owned: documents of tasks, in the plan's order */
    bool fleet;
    bool failed;
};

static void copy(
        struct pdk_json *to, const char *as, const struct pdk_json *from, const char *key)
{
    struct pdk_json *value = pdk_json_get(from, key);

    (void)pdk_json_set(to, as, value ? pdk_json_ref(value) : pdk_json_null());
}

static void take_run_planned(struct fold *f, const struct pdk_event *event)
{
    const char *kind = pdk_json_get_str(event->body, "kind", "mission");

    f->fleet = strcmp(kind, "fleet") == 0;
    (void)pdk_json_set_int(f->doc, "schema_version", 1);
    (void)pdk_json_set_str(f->doc, "run", event->run);
    (void)pdk_json_set_str(f->doc, "kind", kind);
    copy(f->doc, "id", event->body, "mission");
    copy(f->doc, "title", event->body, "title");
    copy(f->doc, "base", event->body, "base");
    copy(f->doc, "seed_tree", event->body, "seed_tree");
    (void)pdk_json_set_str(f->doc, "state", "planned");
    (void)pdk_json_set(f->doc, "verdict", pdk_json_null());
    (void)pdk_json_set(f->doc, "reason", pdk_json_null());
    (void)pdk_json_set(f->doc, "winner", pdk_json_null());
    copy(f->doc, "max_concurrent", event->body, "max_concurrent");
    (void)pdk_json_set_int(f->doc, "peak_concurrent", 0);
    (void)pdk_json_set_int(f->doc, "duration_ms", 0);
    (void)pdk_json_set_bool(f->doc, "canceled", false);
}

static void set_winner(struct pdk_json *doc, const struct pdk_json *body)
{
    int64_t winner = pdk_json_get_int(body, "winner", 0);
    char name[24];

    (void)snprintf(name, sizeof(name), "c%lld", (long long)winner);
    (void)pdk_json_set_str(doc, "winner", winner > 0 ? name : NULL);
}

static void take_run_ended(struct fold *f, const struct pdk_event *event)
{
    (void)pdk_json_set_str(f->doc, "state", "ended");
    copy(f->doc, "verdict", event->body, "verdict");
    copy(f->doc, "reason", event->body, "reason");
    copy(f->doc, "canceled", event->body, "canceled");
    copy(f->doc, "peak_concurrent", event->body, "peak_concurrent");
    copy(f->doc, "duration_ms", event->body, "duration_ms");
    set_winner(f->doc, event->body);
}

static void take_rejudged(struct fold *f, const struct pdk_event *event)
{
    copy(f->doc, "verdict", event->body, "verdict");
    copy(f->doc, "reason", event->body, "reason");
    set_winner(f->doc, event->body);
}

static struct pdk_json *find_task(const struct pdk_json *tasks, const char *id)
{
    for (size_t i = 0; i < pdk_json_len(tasks); i++) {
        struct pdk_json *task = pdk_json_at(tasks, i);

        if (pdk_streq(pdk_json_get_str(task, "id", NULL), id))
            return task;
    }
    return NULL;
}

static void take_task_planned(struct fold *f, const struct pdk_event *event)
{
    struct pdk_json *task = pdk_json_object();

    (void)pdk_json_set_str(task, "id", event->task);
    copy(task, "needs", event->body, "needs");
    (void)pdk_json_set(task, "verdict", pdk_json_null());
    (void)pdk_json_set(task, "reason", pdk_json_null());
    (void)pdk_json_set(task, "winner", pdk_json_null());
    (void)pdk_json_set(task, "candidates", pdk_json_array());
    (void)pdk_json_append(f->tasks, task);
}

static void take_task_judged(struct pdk_json *task, const struct pdk_event *event)
{
    copy(task, "verdict", event->body, "verdict");
    copy(task, "reason", event->body, "reason");
    set_winner(task, event->body);
    copy(task, "decided_by", event->body, "decided_by");
    copy(task, "ranking", event->body, "ranking");
    if (pdk_json_get(event->body, "skipped_by"))
        copy(task, "skipped_by", event->body, "skipped_by");
    if (pdk_json_get(event->body, "branch"))
        copy(task, "branch", event->body, "branch");
}

/* They are planned in their order: the place is the first guess. */
static struct pdk_json *find_candidate(const struct pdk_json *task, int index)
{
    const struct pdk_json *all = pdk_json_get(task, "candidates");
    size_t n = pdk_json_len(all), guess = index > 0 ? (size_t)index - 1 : n;

    if (guess < n && pdk_json_get_int(pdk_json_at(all, guess), "index", 0) == index)
        return pdk_json_at(all, guess);
    for (size_t i = 0; i < n; i++)
        if (pdk_json_get_int(pdk_json_at(all, i), "index", 0) == index)
            return pdk_json_at(all, i);
    return NULL;
}

static void clear_attempt(struct pdk_json *c)
{
    (void)pdk_json_set(c, "tree", pdk_json_null());
    (void)pdk_json_set_bool(c, "changed", false);
    (void)pdk_json_set_int(c, "files_changed", 0);
    (void)pdk_json_set_int(c, "lines_added", 0);
    (void)pdk_json_set_int(c, "lines_deleted", 0);
    (void)pdk_json_set(c, "mission", pdk_json_null());
    (void)pdk_json_set(c, "checks", pdk_json_array());
    (void)pdk_json_set_int(c, "leaked_processes", 0);
    (void)pdk_json_set(c, "warnings", pdk_json_array());
}

static void take_candidate_planned(struct pdk_json *task, const struct pdk_event *event)
{
    struct pdk_json *c = pdk_json_object();
    char name[24];

    (void)snprintf(name, sizeof(name), "c%d", event->candidate);
    (void)pdk_json_set_str(c, "id", name);
    (void)pdk_json_set_int(c, "index", event->candidate);
    (void)pdk_json_set_str(c, "state", "planned");
    (void)pdk_json_set(c, "verdict", pdk_json_null());
    (void)pdk_json_set(c, "reason", pdk_json_null());
    (void)pdk_json_set(c, "detail", pdk_json_null());
    (void)pdk_json_set_int(c, "attempts", 0);
    (void)pdk_json_set(c, "score", pdk_json_null());
    (void)pdk_json_set_int(c, "duration_ms", 0);
    copy(c, "backend", event->body, "backend");
    (void)pdk_json_set(c, "sandbox", pdk_json_null());
    (void)pdk_json_set(c, "execution", pdk_json_null());
    copy(c, "matrix", event->body, "matrix");
    clear_attempt(c);
    (void)pdk_json_append(pdk_json_get(task, "candidates"), c);
}

static void take_state(struct pdk_json *c, const struct pdk_event *event)
{
    copy(c, "state", event->body, "to");
    if (event->attempt > pdk_json_get_int(c, "attempts", 0)) {
        (void)pdk_json_set_int(c, "attempts", event->attempt);
        clear_attempt(c);
    }
}

static void take_command(struct pdk_json *c, const struct pdk_json *body)
{
    struct pdk_json *mission;
    int64_t signal = pdk_json_get_int(body, "signal", 0);

    (void)pdk_json_set_int(c, "leaked_processes",
            pdk_json_get_int(c, "leaked_processes", 0) +
                    pdk_json_get_int(body, "leaked", 0));
    if (strcmp(pdk_json_get_str(body, "stage", ""), "mission") != 0)
        return;
    mission = pdk_json_object();
    copy(mission, "exit_code", body, "exit_code");
    (void)pdk_json_set(
            mission, "signal", signal ? pdk_json_int(signal) : pdk_json_null());
    (void)pdk_json_set_bool(
            mission, "timed_out", pdk_json_get_bool(body, "timed_out", false));
    copy(mission, "duration_ms", body, "duration_ms");
    copy(mission, "stragglers", body, "stragglers");
    copy(mission, "stdout_bytes", body, "out_bytes");
    copy(mission, "stdout_dropped", body, "out_dropped");
    copy(mission, "stderr_bytes", body, "err_bytes");
    copy(mission, "stderr_dropped", body, "err_dropped");
    (void)pdk_json_set(c, "mission", mission);
}

static void take_capture(struct pdk_json *c, const struct pdk_json *body)
{
    copy(c, "tree", body, "tree");
    copy(c, "changed", body, "changed");
    copy(c, "files_changed", body, "files");
    copy(c, "lines_added", body, "added");
    copy(c, "lines_deleted", body, "deleted");
    if (pdk_json_get(body, "tampered"))
        copy(c, "tampered", body, "tampered");
}

/* How many, without their names: the log has those. */
static struct pdk_json *count_tests(const struct pdk_json *tests)
{
    struct pdk_json *counts = pdk_json_object();

    copy(counts, "passed", tests, "passed");
    copy(counts, "failed", tests, "failed");
    copy(counts, "skipped", tests, "skipped");
    return counts;
}

static void take_check(struct pdk_json *c, const struct pdk_json *body)
{
    static const char *const keys[] = { "name", "verdict", "reason", "detail", "severity",
        "exit_code", "timed_out", "duration_ms" };
    struct pdk_json *check = pdk_json_object();
    int64_t signal = pdk_json_get_int(body, "signal", 0);

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        copy(check, keys[i], body, keys[i]);
    (void)pdk_json_set(check, "signal", signal ? pdk_json_int(signal) : pdk_json_null());
    copy(check, "score", body, "score");
    if (pdk_json_get(body, "tests"))
        (void)pdk_json_set(check, "tests", count_tests(pdk_json_get(body, "tests")));
    (void)pdk_json_append(pdk_json_get(c, "checks"), check);
    (void)pdk_json_set_int(c, "leaked_processes",
            pdk_json_get_int(c, "leaked_processes", 0) +
                    pdk_json_get_int(body, "leaked", 0));
}

/* Where the mission ran; a kept working copy has a path that is there. */
static void take_sandbox(struct pdk_json *c, const struct pdk_event *event)
{
    if (event->type == PDK_EVENT_SANDBOX_INTENT &&
            strcmp(pdk_json_get_str(event->body, "purpose", ""), "mission") == 0)
        copy(c, "sandbox", event->body, "dir");
    else if (event->type == PDK_EVENT_SANDBOX_MADE)
        copy(c, "execution", event->body, "execution");
}

static void take_candidate_event(struct pdk_json *c, const struct pdk_event *event)
{
    switch ((int)event->type) {
    case PDK_EVENT_ATTEMPT_STATE:
        take_state(c, event);
        break;
    case PDK_EVENT_SANDBOX_INTENT:
    case PDK_EVENT_SANDBOX_MADE:
        take_sandbox(c, event);
        break;
    case PDK_EVENT_COMMAND_ENDED:
        take_command(c, event->body);
        break;
    case PDK_EVENT_CAPTURE_DONE:
        take_capture(c, event->body);
        break;
    case PDK_EVENT_CHECK_ENDED:
        take_check(c, event->body);
        break;
    case PDK_EVENT_CANDIDATE_JUDGED:
        copy(c, "verdict", event->body, "verdict");
        copy(c, "reason", event->body, "reason");
        copy(c, "detail", event->body, "detail");
        copy(c, "score", event->body, "score");
        copy(c, "cost", event->body, "cost");
        copy(c, "duration_ms", event->body, "duration_ms");
        break;
    case PDK_EVENT_MANUAL_VERDICT:
        (void)pdk_json_set(c, "manual", pdk_json_ref(event->body));
        break;
    case PDK_EVENT_WARNING:
        (void)pdk_json_append(pdk_json_get(c, "warnings"),
                pdk_json_ref(pdk_json_get(event->body, "text")));
        break;
    default:
        break;
    }
}

static void take_promotion(struct fold *f, const struct pdk_event *event)
{
    struct pdk_json *promotion = pdk_json_get(f->doc, "promotion");

    if (event->type == PDK_EVENT_PROMOTION_INTENT) {
        (void)pdk_json_set(f->doc, "promotion", pdk_json_ref(event->body));
        promotion = pdk_json_get(f->doc, "promotion");
        (void)pdk_json_set_str(promotion, "decision", "started");
    } else if (event->type == PDK_EVENT_PROMOTION_DONE) {
        (void)pdk_json_set_str(promotion, "decision", "promoted");
        copy(promotion, "paths", event->body, "paths");
    } else {
        (void)pdk_json_set_str(promotion, "decision", "refused");
        copy(promotion, "detail", event->body, "detail");
    }
}

static int take_event(const struct pdk_event *event, void *user)
{
    struct fold *f = user;
    struct pdk_json *task = find_task(f->tasks, event->task);

    if (event->type == PDK_EVENT_RUN_PLANNED)
        take_run_planned(f, event);
    else if (event->type == PDK_EVENT_RUN_STARTED)
        (void)pdk_json_set_str(f->doc, "state", "running");
    else if (event->type == PDK_EVENT_RUN_ENDED)
        take_run_ended(f, event);
    else if (event->type == PDK_EVENT_RUN_REJUDGED)
        take_rejudged(f, event);
    else if (event->type == PDK_EVENT_TASK_PLANNED)
        take_task_planned(f, event);
    else if (event->type == PDK_EVENT_PROMOTION_INTENT ||
            event->type == PDK_EVENT_PROMOTION_DONE ||
            event->type == PDK_EVENT_PROMOTION_FAILED)
        take_promotion(f, event);
    else if (task && event->type == PDK_EVENT_JUDGE_ENDED)
        (void)pdk_json_set(task, "judge", pdk_json_ref(event->body));
    else if (task && event->type == PDK_EVENT_TASK_JUDGED)
        take_task_judged(task, event);
    else if (task && event->type == PDK_EVENT_CANDIDATE_PLANNED)
        take_candidate_planned(task, event);
    else if (task && find_candidate(task, event->candidate))
        take_candidate_event(find_candidate(task, event->candidate), event);
    return 0;
}

/* A mission's document is its one task's as well. */
static void take_only_task(struct pdk_json *doc, const struct pdk_json *task)
{
    copy(doc, "decided_by", task, "decided_by");
    copy(doc, "ranking", task, "ranking");
    if (pdk_json_get(task, "judge"))
        copy(doc, "judge", task, "judge");
    copy(doc, "candidates", task, "candidates");
}

int pdk_render_run(struct pdk_store *store, const char *run, struct pdk_json **out,
        struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *doc = pdk_json_object();
    PDK_AUTO_JSON struct pdk_json *tasks = pdk_json_array();
    struct fold f = { .doc = doc, .tasks = tasks };

    if (!doc || !tasks)
        return pdk_fail_nomem(err);
    if (pdk_store_events(store, run, 0, take_event, &f, err) < 0)
        return err->code;
    if (f.fleet)
        (void)pdk_json_set(doc, "tasks", pdk_json_ref(tasks));
    else
        take_only_task(doc, pdk_json_at(tasks, 0));
    if (!pdk_json_get(doc, "promotion"))
        (void)pdk_json_set(doc, "promotion", pdk_json_null());
    (void)pdk_json_set(doc, "statistics", pdk_statistics(doc));
    if (pdk_json_ok(doc, err) < 0)
        return err->code;
    *out = pdk_take_ptr(&doc);
    return 0;
}

struct pdk_json *pdk_render_candidate(
        const struct pdk_json *doc, const char *task, const char *candidate)
{
    const struct pdk_json *tasks = pdk_json_get(doc, "tasks");
    const struct pdk_json *owner = tasks ? find_task(tasks, task) : doc;
    const struct pdk_json *all;

    if (tasks && !task && pdk_json_len(tasks) == 1)
        owner = pdk_json_at(tasks, 0);
    all = pdk_json_get(owner, "candidates");
    for (size_t i = 0; i < pdk_json_len(all); i++)
        if (pdk_streq(pdk_json_get_str(pdk_json_at(all, i), "id", NULL), candidate))
            return pdk_json_at(all, i);
    return NULL;
}
