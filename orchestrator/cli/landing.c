/* Landing a candidate: what `paddock promote`, `run --promote` and fleets share. */
#include "orchestrator/cli/landing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"
#include "orchestrator/cli/context.h"
#include "orchestrator/cli/landing_internal.h"
#include "promote/land.h"
#include "promote/patch.h"
#include "store/event.h"

static const char *const as_names[] = { "worktree", "patch", "branch", "commit" };

int pdk_landing_find(const char *name, enum pdk_promote_as *out, struct pdk_err *err)
{
    for (size_t i = 0; i < sizeof(as_names) / sizeof(as_names[0]); i++) {
        if (strcmp(as_names[i], name) != 0)
            continue;
        *out = (enum pdk_promote_as)i;
        return 0;
    }
    return pdk_fail(err, PDK_EINVAL, 0,
            "a promotion is as worktree, patch, branch or commit, not '%s'", name);
}

const char *pdk_landing_name(enum pdk_promote_as as)
{
    return as_names[as];
}

/* All that a landing works with. */
struct job {
    struct pdk_cli *cli;
    const struct pdk_landing *landing;
    struct pdk_land_result *result; /* NULL: not asked for */
    struct pdk_run_row run;
    struct pdk_candidate_row candidate;
    struct pdk_oid from, tree;
    struct pdk_base base;
    char id[33]; /* of the promotion */
    char *target;
};

static void job_fini(struct job *job)
{
    pdk_run_row_fini(&job->run);
    pdk_candidate_row_fini(&job->candidate);
    free(job->target);
}

static bool parse_oid(const char *hex, struct pdk_oid *out)
{
    return hex && pdk_oid_parse(hex, out);
}

/* What abstained may be landed by somebody who says so; what failed by nobody. */
static bool may_land(const struct job *job)
{
    const struct pdk_candidate_row *c = &job->candidate;

    return pdk_streq(c->verdict, "pass") ||
            (job->landing->accept_unproven && pdk_streq(c->verdict, "abstain"));
}

/* What the log has of writing outside of the sandbox. */
struct outside {
    const struct job *job;
    bool blamed;
    size_t n;
    struct pdk_buf names;
};

static int add_leak(struct outside *o, const struct pdk_event *event)
{
    enum { MOST = 4 };
    PDK_AUTO_BUF struct pdk_buf path = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;

    if (pdk_json_get_bytes(event->body, "path", &path, &ignored) < 0)
        return 0;
    if (o->n++ < MOST)
        pdk_buf_addf(&o->names, "%s'%.60s'", o->n > 1 ? ", " : "", pdk_buf_str(&path));
    return pdk_land_add_conflict(
            o->job->result, pdk_buf_str(&path), PDK_LAND_OUTSIDE, &ignored);
}

static int visit_outside(const struct pdk_event *event, void *user)
{
    struct outside *o = user;

    if (event->candidate != (int)o->job->candidate.index ||
            event->attempt != (int)o->job->candidate.attempt ||
            !pdk_streq(event->task, o->job->candidate.task))
        return 0;
    if (event->type == PDK_EVENT_ATTEMPT_FAILED)
        o->blamed = o->blamed ||
                pdk_streq(pdk_json_get_str(event->body, "reason", ""), "wrote_outside");
    return event->type == PDK_EVENT_LEAK_FOUND ? add_leak(o, event) : 0;
}

/* A candidate that cheated lands by nobody's word, whatever its verdict is by now. */
static int check_outside(const struct job *job, struct pdk_err *err)
{
    struct outside o = { job, false, 0, PDK_BUF_INIT };
    int rc = pdk_store_events(job->cli->store, job->run.id, 0, visit_outside, &o, err);

    if (rc >= 0 && o.blamed)
        rc = pdk_fail(err, PDK_ECONFLICT, 0, "%s: %s%s", PDK_LAND_OUTSIDE,
                o.n > 0 ? pdk_buf_str(&o.names) : "see the run's warnings",
                o.n > 4 ? " and more" : "");
    else
        pdk_land_result_fini(job->result);
    pdk_buf_fini(&o.names);
    return rc;
}

static int check_verdict(const struct job *job, struct pdk_err *err)
{
    const struct pdk_candidate_row *c = &job->candidate;

    if (check_outside(job, err) < 0)
        return err->code;
    if (may_land(job))
        return 0;
    (void)pdk_fail(err, PDK_ECONFLICT, 0, "c%lld of run %s did not pass: %s%s%s",
            (long long)c->index, job->run.id, c->verdict ? c->verdict : "not judged",
            c->reason ? ", " : "", c->reason ? c->reason : "");
    return pdk_hint(err, "'paddock diff %s/c%lld' shows what it did", job->run.id,
            (long long)c->index);
}

static bool is_landed(const struct pdk_promotion_row *row)
{
    return pdk_streq(row->state, "done") &&
            (pdk_streq(row->as, "worktree") || pdk_streq(row->as, "commit"));
}

/* A run is brought home once: twice is a mistake, or somebody else's decision overturned. */
static int check_first(const struct job *job, struct pdk_err *err)
{
    PDK_AUTO_PROMOTION_ROWS struct pdk_promotion_rows rows = { NULL, 0 };
    bool undone = false;

    if (job->landing->as == PDK_AS_PATCH || job->landing->as == PDK_AS_BRANCH)
        return 0;
    if (pdk_store_promotions(job->cli->store, job->run.id, &rows, err) < 0)
        return err->code;
    for (size_t i = 0; i < rows.len; i++) {
        const struct pdk_promotion_row *row = &rows.items[i];

        undone = undone || (pdk_streq(row->as, "undo") && pdk_streq(row->state, "done"));
        if (!is_landed(row) || !pdk_streq(row->task, job->candidate.task))
            continue;
        if (undone && job->landing->again)
            return 0;
        (void)pdk_fail(err, PDK_ECONFLICT, 0, "c%lld of run %s was promoted already%s",
                (long long)row->candidate, job->run.id, undone ? ", and taken back" : "");
        return pdk_hint(err,
                undone ? "--again promotes all the same"
                       : "'paddock undo %.8s' takes that back",
                row->id);
    }
    return 0;
}

static int look_up(struct pdk_cli *cli, struct job *job, struct pdk_err *err)
{
    const struct pdk_landing *landing = job->landing;

    if (pdk_store_run(cli->store, landing->run, &job->run, err) < 0 ||
            pdk_store_candidate(cli->store, job->run.id, landing->task,
                    landing->candidate, &job->candidate, err) < 0 ||
            check_verdict(job, err) < 0 || check_first(job, err) < 0)
        return err->code;
    job->base.commit.hex[0] = '\0';
    (void)parse_oid(job->run.base_commit, &job->base.commit); /* none on an unborn HEAD */
    if (!parse_oid(job->run.base_tree, &job->base.tree) ||
            !parse_oid(job->candidate.tree, &job->tree) ||
            !parse_oid(job->run.seed_tree ? job->run.seed_tree : job->run.base_tree,
                    &job->from))
        return pdk_fail(
                err, PDK_ECORRUPT, 0, "run %s has no trees on record", job->run.id);
    return pdk_id_random(job->id, 16, err);
}

static int choose_target(struct pdk_cli *cli, struct job *job, struct pdk_err *err)
{
    const struct pdk_landing *landing = job->landing;

    switch (landing->as) {
    case PDK_AS_WORKTREE:
    case PDK_AS_COMMIT:
        job->target = strdup(cli->repo->root);
        break;
    case PDK_AS_PATCH:
        job->target = landing->output
                ? strdup(landing->output)
                : pdk_strf("%s-c%d.patch", job->run.id, landing->candidate);
        break;
    case PDK_AS_BRANCH:
        job->target = landing->branch
                ? strdup(landing->branch)
                : pdk_strf("paddock/%s%s%s", job->run.id, landing->task ? "/" : "",
                          landing->task ? landing->task : "");
        break;
    }
    return job->target ? 0 : pdk_fail_nomem(err);
}

static int record(struct pdk_cli *cli, const struct job *job, enum pdk_event_type type,
        struct pdk_json *body, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *owned = body;
    struct pdk_event event = {
        .run = job->run.id,
        .task = job->candidate.task,
        .candidate = (int)job->candidate.index,
        .attempt = (int)job->candidate.attempt,
        .type = type,
        .body = owned,
    };

    (void)pdk_json_set_str(body, "id", job->id);
    if (pdk_json_ok(body, err) < 0)
        return err->code;
    return pdk_store_append(cli->store, &event, 1, NULL, err);
}

static int record_intent(struct pdk_cli *cli, const struct job *job, struct pdk_err *err)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "as", as_names[job->landing->as]);
    (void)pdk_json_set_int(body, "candidate", job->candidate.index);
    (void)pdk_json_set_str(body, "tree", job->tree.hex);
    (void)pdk_json_set_bytes(body, "target", job->target, strlen(job->target));
    pdk_landing_sign(cli, body);
    (void)pdk_json_set_str(body, "decision", "promoted");
    (void)pdk_json_set_str(body, "verdict", job->candidate.verdict);
    if (!pdk_streq(job->candidate.verdict, "pass"))
        (void)pdk_json_set_bool(body, "unproven", true);
    return record(cli, job, PDK_EVENT_PROMOTION_INTENT, body, err);
}

static void record_failed(
        struct pdk_cli *cli, const struct job *job, const struct pdk_err *why)
{
    struct pdk_json *body = pdk_json_object();
    struct pdk_err ignored = PDK_ERR_INIT;

    (void)pdk_json_set_bytes(body, "detail", why->msg, strlen(why->msg));
    (void)record(cli, job, PDK_EVENT_PROMOTION_FAILED, body,
            &ignored); /* the cause is reported */
}

static int record_done(struct pdk_cli *cli, const struct job *job, struct pdk_err *err)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_int(body, "paths", job->result ? (int64_t)job->result->len : 0);
    return record(cli, job, PDK_EVENT_PROMOTION_DONE, body, err);
}

static const char *subject_of(const struct job *job)
{
    return job->run.title ? job->run.title : job->run.mission;
}

static void say_paths(const struct pdk_cli *cli, const struct pdk_land_result *result)
{
    for (size_t i = 0; i < result->n_conflicts; i++) {
        const struct pdk_land_conflict *conflict = &result->conflicts[i];
        PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;

        pdk_utf8_printable(conflict->path, strlen(conflict->path), &clean);
        pdk_cli_say(cli, "  conflict: %s: %s\n", pdk_buf_str(&clean), conflict->why);
    }
}

/* With everything in place: the commit, where one is wanted, and the record. */
static int land_on_commit(const char *id, void *user, struct pdk_err *err)
{
    struct job *job = user;

    (void)id; /* the job's own */
    if (job->landing->as == PDK_AS_COMMIT &&
            pdk_landing_commit(
                    job->cli, &job->run, (int)job->candidate.index, job->id, err) < 0)
        return err->code;
    return record_done(job->cli, job, err);
}

static void print_preview(const struct pdk_cli *cli, const struct pdk_land_result *result)
{
    for (size_t i = 0; !cli->json && i < result->len; i++) {
        PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;

        pdk_utf8_printable(result->paths[i].path, strlen(result->paths[i].path), &clean);
        printf("%c %s\n", result->paths[i].status, pdk_buf_str(&clean));
    }
}

static int land_worktree(struct pdk_cli *cli, struct job *job, struct pdk_err *err)
{
    PDK_AUTO_FREE char *lock = pdk_path_join(cli->paths.dir, "promote.lock");
    PDK_AUTO_FREE char *journal = pdk_landing_journal(cli);
    struct pdk_land_spec spec = {
        .repo = cli->repo,
        .vault = cli->vault,
        .from = job->from,
        .to = job->tree,
        .lock = lock,
        .journal = journal,
        .id = job->id,
        .commit = land_on_commit,
        .user = job,
        .dry_run = job->landing->dry_run,
    };
    int rc;

    if (!lock || !journal)
        return pdk_fail_nomem(err);
    if (job->landing->as == PDK_AS_COMMIT && pdk_promote_check_clean(cli->repo, err) < 0)
        return err->code;
    rc = pdk_land_worktree(&spec, job->result, err);
    if (rc == 0 && job->landing->dry_run)
        print_preview(cli, job->result);
    say_paths(cli, job->result);
    return rc;
}

static int land_branch(struct pdk_cli *cli, const struct job *job, struct pdk_err *err)
{
    struct pdk_branch_spec spec = {
        .branch = job->target,
        .subject = subject_of(job),
        .run = job->run.id,
        .candidate = (int)job->candidate.index,
        .parent = job->base.commit,
        .base_tree = job->base.tree,
        .tree = job->tree,
    };

    return pdk_promote_branch(cli->repo, cli->vault, &spec, NULL, err);
}

static int land(struct pdk_cli *cli, struct job *job, struct pdk_err *err)
{
    int rc;

    switch (job->landing->as) {
    case PDK_AS_WORKTREE:
    case PDK_AS_COMMIT:
        return land_worktree(cli, job, err);
    case PDK_AS_PATCH:
        rc = pdk_promote_patch(cli->vault, &job->from, &job->tree, job->target, err);
        return rc < 0 ? rc : record_done(cli, job, err);
    case PDK_AS_BRANCH:
        rc = land_branch(cli, job, err);
        return rc < 0 ? rc : record_done(cli, job, err);
    }
    return pdk_fail(err, PDK_EBUG, 0, "no way to land");
}

static bool touches_worktree(const struct pdk_landing *landing)
{
    return landing->as == PDK_AS_WORKTREE || landing->as == PDK_AS_COMMIT;
}

static int land_recorded(struct pdk_cli *cli, struct job *job, struct pdk_err *err)
{
    if (job->landing->dry_run)
        return touches_worktree(job->landing) ? land(cli, job, err) : 0;
    if (record_intent(cli, job, err) < 0)
        return err->code;
    if (land(cli, job, err) < 0) {
        record_failed(cli, job, err);
        return err->code;
    }
    return 0;
}

int pdk_landing_do(struct pdk_cli *cli, const struct pdk_landing *landing,
        struct pdk_land_result *result, struct pdk_err *err)
{
    PDK_AUTO_LAND_RESULT struct pdk_land_result own = { 0 };
    __attribute__((cleanup(job_fini))) struct job job = {
        .cli = cli, .landing = landing, .result = result ? result : &own
    };

    if (pdk_cli_open_vault(cli, err) < 0 || look_up(cli, &job, err) < 0 ||
            choose_target(cli, &job, err) < 0)
        return err->code;
    if (land_recorded(cli, &job, err) < 0)
        return pdk_wrap(err, "promoting c%d of %s", landing->candidate, job.run.id);
    if (!landing->dry_run && strcmp(job.target, "-") != 0)
        pdk_cli_say(cli, "promoted c%d of %s: %s %s%s\n", landing->candidate, job.run.id,
                as_names[landing->as], job.target,
                pdk_streq(job.candidate.verdict, "pass") ? "" : " (unproven)");
    return 0;
}

int pdk_landing_branches(struct pdk_cli *cli, const struct pdk_plan *plan,
        const char *run, struct pdk_err *err)
{
    struct pdk_task_rows tasks = { NULL, 0 };
    int rc = pdk_store_tasks(cli->store, run, &tasks, err);

    (void)plan;
    for (size_t i = 0; rc == 0 && i < tasks.len; i++) {
        struct pdk_landing landing = { .run = run,
            .task = tasks.items[i].id,
            .candidate = (int)tasks.items[i].winner,
            .as = PDK_AS_BRANCH };

        if (landing.candidate > 0)
            rc = pdk_landing_do(cli, &landing, NULL, err);
    }
    pdk_task_rows_fini(&tasks);
    return rc;
}
