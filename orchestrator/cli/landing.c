/* `paddock promote`, and what `run --promote` and fleets share with it. */
#include "orchestrator/cli/landing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "promote/land.h"
#include "promote/patch.h"
#include "store/event.h"

static const char *const as_names[] = { "worktree", "patch", "branch", "commit" };

int pdk_landing_find(const char *name, enum pdk_promote_as *out, struct pdk_err *err)
{
    for (size_t i = 0; i < sizeof(as_names) / sizeof(as_names[0]); i++) {
        if (strcmp(as_names[i], name) != 0)
            continue;
        if ((enum pdk_promote_as)i == PDK_AS_COMMIT)
            return pdk_fail(
                    err, PDK_EUNSUPPORTED, 0, "promotion as a commit is not built yet");
        *out = (enum pdk_promote_as)i;
        return 0;
    }
    return pdk_fail(err, PDK_EINVAL, 0,
            "a promotion is as worktree, patch or branch, not '%s'", name);
}

/* All that a landing works with. */
struct job {
    const struct pdk_landing *landing;
    struct pdk_run_row run;
    struct pdk_candidate_row candidate;
    struct pdk_oid from, tree;
    struct pdk_base base;
    char id[33]; /* of the promotion */
    char *target;
    size_t paths;
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

static int check_verdict(const struct job *job, struct pdk_err *err)
{
    const struct pdk_candidate_row *c = &job->candidate;

    if (pdk_streq(c->verdict, "pass"))
        return 0;
    (void)pdk_fail(err, PDK_ECONFLICT, 0, "c%lld of run %s did not pass: %s%s%s",
            (long long)c->index, job->run.id, c->verdict ? c->verdict : "not judged",
            c->reason ? ", " : "", c->reason ? c->reason : "");
    return pdk_hint(err, "'paddock diff %s/c%lld' shows what it did", job->run.id,
            (long long)c->index);
}

static int look_up(struct pdk_cli *cli, struct job *job, struct pdk_err *err)
{
    const struct pdk_landing *landing = job->landing;

    if (pdk_store_run(cli->store, landing->run, &job->run, err) < 0 ||
            pdk_store_candidate(cli->store, job->run.id, landing->task,
                    landing->candidate, &job->candidate, err) < 0 ||
            check_verdict(job, err) < 0)
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
        job->target = strdup(cli->repo->root);
        break;
    case PDK_AS_PATCH:
        job->target = landing->output
                ? strdup(landing->output)
                : pdk_strf("%s-c%d.patch", job->run.id, landing->candidate);
        break;
    case PDK_AS_BRANCH:
    case PDK_AS_COMMIT:
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

    (void)pdk_json_set_int(body, "paths", (int64_t)job->paths);
    return record(cli, job, PDK_EVENT_PROMOTION_DONE, body, err);
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

static int land_worktree(struct pdk_cli *cli, struct job *job, struct pdk_err *err)
{
    PDK_AUTO_FREE char *lock = pdk_path_join(cli->paths.dir, "promote.lock");
    struct pdk_land_result result = { 0 };
    struct pdk_land_spec spec = {
        .repo = cli->repo,
        .vault = cli->vault,
        .from = job->from,
        .to = job->tree,
        .lock = lock,
        .dry_run = job->landing->dry_run,
    };
    int rc = lock ? pdk_land_worktree(&spec, &result, err) : pdk_fail_nomem(err);

    job->paths = result.len;
    for (size_t i = 0; rc == 0 && job->landing->dry_run && i < result.len; i++) {
        PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;

        pdk_utf8_printable(result.paths[i].path, strlen(result.paths[i].path), &clean);
        if (!cli->json)
            printf("%c %s\n", result.paths[i].status, pdk_buf_str(&clean));
    }
    say_paths(cli, &result);
    pdk_land_result_fini(&result);
    return rc;
}

static int land_branch(struct pdk_cli *cli, const struct job *job, struct pdk_err *err)
{
    struct pdk_branch_spec spec = {
        .branch = job->target,
        .subject = job->run.title ? job->run.title : job->run.mission,
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
    switch (job->landing->as) {
    case PDK_AS_WORKTREE:
        return land_worktree(cli, job, err);
    case PDK_AS_PATCH:
        return pdk_promote_patch(cli->vault, &job->from, &job->tree, job->target, err);
    case PDK_AS_BRANCH:
        return land_branch(cli, job, err);
    case PDK_AS_COMMIT:
        break;
    }
    return pdk_fail(err, PDK_EUNSUPPORTED, 0, "promotion as a commit is not built yet");
}

static int land_recorded(struct pdk_cli *cli, struct job *job, struct pdk_err *err)
{
    if (job->landing->dry_run)
        return job->landing->as == PDK_AS_WORKTREE ? land(cli, job, err) : 0;
    if (record_intent(cli, job, err) < 0)
        return err->code;
    if (land(cli, job, err) < 0) {
        record_failed(cli, job, err);
        return err->code;
    }
    return record_done(cli, job, err);
}

int pdk_landing_do(
        struct pdk_cli *cli, const struct pdk_landing *landing, struct pdk_err *err)
{
    __attribute__((cleanup(job_fini))) struct job job = { .landing = landing };

    if (pdk_cli_open_vault(cli, err) < 0 || look_up(cli, &job, err) < 0 ||
            choose_target(cli, &job, err) < 0)
        return err->code;
    if (land_recorded(cli, &job, err) < 0)
        return pdk_wrap(err, "promoting c%d of %s", landing->candidate, job.run.id);
    if (!landing->dry_run && strcmp(job.target, "-") != 0)
        pdk_cli_say(cli, "promoted c%d of %s: %s %s\n", landing->candidate, job.run.id,
                as_names[landing->as], job.target);
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
            rc = pdk_landing_do(cli, &landing, err);
    }
    pdk_task_rows_fini(&tasks);
    return rc;
}

/* RUN: the winner of its only task. RUN/c2, RUN/TASK/c2: that one, as long as it passed. */
static int choose_candidate(struct pdk_cli *cli, const struct pdk_run_name *name,
        struct pdk_landing *landing, struct pdk_err *err)
{
    PDK_AUTO_RUN_ROW struct pdk_run_row run = { 0 };

    if (name->candidate) {
        landing->candidate = pdk_run_name_index(name, err);
        return landing->candidate < 0 ? landing->candidate : 0;
    }
    if (pdk_store_run(cli->store, name->run, &run, err) < 0)
        return err->code;
    landing->candidate = (int)run.winner;
    if (run.winner > 0)
        return 0;
    (void)pdk_fail(err, PDK_ECONFLICT, 0, "run %s has no winner: %s%s%s", run.id,
            run.verdict ? run.verdict : run.state, run.reason ? ", " : "",
            run.reason ? run.reason : "");
    return pdk_hint(err, "'paddock show %s' tells why", run.id);
}

/* The document of `promote --json`. */
static int print_landing(const struct pdk_cli *cli, const struct pdk_landing *landing)
{
    struct pdk_json *doc;

    if (!cli->json)
        return 0;
    doc = pdk_json_object();
    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_set_str(doc, "run", landing->run);
    (void)pdk_json_set_int(doc, "candidate", landing->candidate);
    (void)pdk_json_set_str(doc, "as", as_names[landing->as]);
    (void)pdk_json_set_str(doc, "decision", landing->dry_run ? "previewed" : "promoted");
    return pdk_cli_print(cli, doc);
}

int pdk_command_promote(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_RUN_NAME struct pdk_run_name name = { NULL, NULL, NULL };
    struct pdk_landing landing = {
        .output = pdk_args_get(args, "output", NULL),
        .branch = pdk_args_get(args, "branch", NULL),
        .dry_run = pdk_args_has(args, "dry-run"),
    };
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_run_name_parse(args->words[0], &name, &err) < 0 ||
            pdk_landing_find(pdk_args_get(args, "as", "worktree"), &landing.as, &err) <
                    0 ||
            pdk_cli_open_store(cli, &err) < 0)
        return pdk_cli_fail(cli, &err);
    landing.run = name.run;
    landing.task = name.task;
    if (choose_candidate(cli, &name, &landing, &err) < 0 ||
            pdk_landing_do(cli, &landing, &err) < 0)
        return pdk_cli_fail(cli, &err);
    return print_landing(cli, &landing);
}
