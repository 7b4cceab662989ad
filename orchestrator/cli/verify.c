/*
 * `paddock verify`: the checks of a mission on trees that are there already, as a run of its own. The run
 * that a tree comes from keeps its verdicts; --again says how far both agree.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/json.h"
#include "missions/mission.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "orchestrator/cli/drive.h"
#include "orchestrator/cli/plan.h"
#include "orchestrator/cli/render.h"
#include "orchestrator/cli/sandbox.h"
#include "orchestrator/engine/engine.h"
#include "plan/plan.h"
#include "sandbox/agent_path.h"
#include "verify/stats.h"

/* What is verified. */
struct job {
    struct pdk_plan *plan;
    struct pdk_oid *trees; /* of the plan's candidates */
    struct pdk_oid start;
    struct pdk_run_row of; /* the run that they come from; id NULL: none */
    struct pdk_candidate_rows before;
    struct pdk_run_name name;
    char run[129]; /* the new one */
};

static void job_fini(struct job *job)
{
    pdk_plan_free(job->plan);
    free(job->trees);
    pdk_run_row_fini(&job->of);
    pdk_candidate_rows_fini(&job->before);
    pdk_run_name_fini(&job->name);
}

/* ---- trees of a run */

static const struct pdk_candidate_row *find_before(
        const struct job *job, const char *task, int index)
{
    for (size_t i = 0; i < job->before.len; i++)
        if (job->before.items[i].index == index &&
                strcmp(job->before.items[i].task, task) == 0)
            return &job->before.items[i];
    return NULL;
}

static bool is_wanted(const struct pdk_plan_task *task, int index, void *user)
{
    const struct job *job = user;
    const struct pdk_candidate_row *row = find_before(job, task->id, index);
    char name[24];

    (void)snprintf(name, sizeof(name), "c%d", index);
    if (!row || !row->tree || !row->tree[0])
        return false;
    return (!job->name.task || strcmp(job->name.task, task->id) == 0) &&
            (!job->name.candidate || strcmp(job->name.candidate, name) == 0);
}

/* The plan as the run resolved it, with nothing to carry out, and base as it was. */
static int read_plan(struct job *job, struct pdk_err *err)
{
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    struct pdk_mission_source source = {
        .path = job->of.id, .text = job->of.plan, .len = strlen(job->of.plan)
    };

    if (pdk_mission_load(&source, NULL, &job->plan, &diags, err) < 0)
        return pdk_wrap(err, "the plan of run %s", job->of.id);
    free(job->plan->base);
    job->plan->base = strdup(job->of.base_commit ? job->of.base_commit : "HEAD");
    return job->plan->base ? 0 : pdk_fail_nomem(err);
}

static int fill_trees(struct job *job, struct pdk_err *err)
{
    size_t n = 0;

    pdk_plan_keep(job->plan, is_wanted, job);
    for (size_t i = 0; i < job->plan->tasks_len; i++)
        n += job->plan->tasks[i].candidates_len;
    if (n == 0)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "run %s has no such tree", job->of.id);
    job->trees = calloc(n, sizeof(*job->trees));
    if (!job->trees)
        return pdk_fail_nomem(err);
    n = 0;
    for (size_t i = 0; i < job->plan->tasks_len; i++) {
        const struct pdk_plan_task *task = &job->plan->tasks[i];

        for (size_t k = 0; k < task->candidates_len; k++)
            (void)snprintf(job->trees[n++].hex, sizeof(job->trees->hex), "%s",
                    find_before(job, task->id, task->candidates[k].index)->tree);
    }
    return 0;
}

static int take_run(
        struct pdk_cli *cli, const char *text, struct job *job, struct pdk_err *err)
{
    const char *start;

    if (pdk_run_name_parse(text, &job->name, err) < 0 ||
            pdk_cli_open_store(cli, err) < 0 ||
            pdk_store_run(cli->store, job->name.run, &job->of, err) < 0 ||
            pdk_store_candidates(cli->store, job->of.id, NULL, &job->before, err) < 0)
        return err->code;
    start = job->of.seed_tree ? job->of.seed_tree : job->of.base_tree;
    if (!job->of.plan || !start)
        return pdk_fail(err, PDK_ECORRUPT, 0, "run %s has no plan on record", job->of.id);
    (void)snprintf(job->start.hex, sizeof(job->start.hex), "%s", start);
    return read_plan(job, err) < 0 ? err->code : fill_trees(job, err);
}

/* ---- one tree, by a file's checks */

static bool is_first(const struct pdk_plan_task *task, int index, void *user)
{
    (void)user;
    return index == task->candidates[0].index;
}

static int take_tree(struct pdk_cli *cli, const struct pdk_args *args, struct job *job,
        struct pdk_err *err)
{
    const char *tree = pdk_args_get(args, "tree", NULL);
    const char *sandbox = pdk_args_get(args, "sandbox", NULL);
    PDK_AUTO_NAMED struct pdk_named named = { 0 };
    struct pdk_oid any = { "" };

    if (job->plan->kind == PDK_PLAN_FLEET)
        return pdk_fail(err, PDK_EINVAL, 0, "a fleet has no checks of its own");
    pdk_plan_keep(job->plan, is_first, NULL);
    job->trees = calloc(1, sizeof(*job->trees));
    if (!job->trees)
        return pdk_fail_nomem(err);
    if (pdk_cli_open_store(cli, err) < 0)
        return err->code;
    if (sandbox && pdk_named_tree(cli, sandbox, &named, &job->trees[0], err) < 0)
        return err->code;
    if (sandbox)
        (void)snprintf(job->start.hex, sizeof(job->start.hex), "%s",
                named.row.tree ? named.row.tree : "");
    if (!tree)
        return 0;
    if (strlen(tree) != sizeof(any.hex) - 1 ||
            strspn(tree, "0123456789abcdef") != strlen(tree))
        return pdk_fail(err, PDK_EINVAL, 0, "--tree is 40 hex digits, not '%.60s'", tree);
    (void)snprintf(any.hex, sizeof(any.hex), "%s", tree);
    if (pdk_cli_open_vault(cli, err) < 0)
        return err->code;
    return pdk_vault_peel(cli->vault, &any, &job->trees[0], err);
}

/* ---- the run */

static int prepare(struct pdk_cli *cli, struct job *job, char **agent, int *lock,
        struct pdk_err *err)
{
    free(job->plan->stop_on);
    job->plan->stop_on = NULL; /* every tree is looked at */
    job->plan->stop_agree = 0;
    job->plan->stop_budget = 0;
    job->plan->keep = PDK_KEEP_NONE;
    job->plan->policy = PDK_POLICY_MANUAL;
    if (pdk_plan_require_built(job->plan, err) < 0 || pdk_agent_path(agent, err) < 0 ||
            pdk_id_run(job->run, err) < 0)
        return err->code;
    return pdk_state_lock_run(&cli->paths, job->run, lock, err);
}

static int run_checks(struct pdk_cli *cli, const struct pdk_args *args, struct job *job,
        struct pdk_engine_result *result, struct pdk_err *err)
{
    PDK_AUTO_FREE char *agent = NULL;
    PDK_AUTO_FD int lock = -1;
    PDK_AUTO_JSON struct pdk_json *json = NULL;
    struct pdk_engine_spec spec = { .repo = cli->repo,
        .state = &cli->paths,
        .store = cli->store,
        .run = job->run,
        .trees = job->trees,
        .start = job->start };

    if (prepare(cli, job, &agent, &lock, err) < 0)
        return err->code;
    json = pdk_plan_json(job->plan);
    spec.plan = job->plan;
    spec.plan_json = json;
    spec.agent = agent;
    return pdk_drive(cli, args, &spec, result, err);
}

/* How far the verdicts of now are those of before. */
static struct pdk_json *compare(
        const struct job *job, const struct pdk_candidate_rows *now, size_t *same)
{
    struct pdk_json *doc = pdk_json_object(), *items = pdk_json_array();
    struct pdk_interval i = { 0, 0 };

    for (size_t k = 0; k < now->len; k++) {
        const struct pdk_candidate_row *row = &now->items[k];
        const struct pdk_candidate_row *was =
                find_before(job, row->task, (int)row->index);
        struct pdk_json *item = pdk_json_object();
        char name[24];
        bool equal = was && pdk_streq(was->verdict, row->verdict);

        (void)snprintf(name, sizeof(name), "c%lld", (long long)row->index);
        (void)pdk_json_set_str(item, "task", row->task);
        (void)pdk_json_set_str(item, "id", name);
        (void)pdk_json_set_str(item, "before", was ? was->verdict : NULL);
        (void)pdk_json_set_str(item, "now", row->verdict);
        (void)pdk_json_set_bool(item, "same", equal);
        (void)pdk_json_append(items, item);
        *same += equal;
    }
    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_set_str(doc, "run", job->run);
    (void)pdk_json_set_str(doc, "of", job->of.id);
    (void)pdk_json_set_int(doc, "same", (int64_t)*same);
    (void)pdk_json_set_int(doc, "compared", (int64_t)now->len);
    if (pdk_stats_wilson(now->len, *same, &i)) {
        (void)pdk_json_set(doc, "low", pdk_json_real(i.low));
        (void)pdk_json_set(doc, "high", pdk_json_real(i.high));
    }
    (void)pdk_json_set(doc, "items", items);
    return doc;
}

static int print_agreement(struct pdk_cli *cli, const struct job *job)
{
    PDK_AUTO_CANDIDATE_ROWS struct pdk_candidate_rows now = { NULL, 0 };
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    const struct pdk_json *items;
    struct pdk_err err = PDK_ERR_INIT;
    size_t same = 0;
    int status = 0;

    if (pdk_store_candidates(cli->store, job->run, NULL, &now, &err) < 0)
        return pdk_cli_fail(cli, &err);
    doc = compare(job, &now, &same);
    items = pdk_json_get(doc, "items");
    for (size_t i = 0; !cli->json && i < pdk_json_len(items); i++) {
        const struct pdk_json *item = pdk_json_at(items, i);

        printf("%-6s %-8s %-8s %s\n", pdk_json_get_str(item, "id", ""),
                pdk_json_get_str(item, "before", "-"), pdk_json_get_str(item, "now", "-"),
                pdk_json_get_bool(item, "same", false) ? "same" : "differs");
    }
    if (cli->json)
        status = pdk_cli_print(cli, pdk_take_ptr(&doc));
    else
        printf("%zu of %zu as before; 95 %% interval %.3f to %.3f\n", same, now.len,
                pdk_json_get_real(doc, "low", 0), pdk_json_get_real(doc, "high", 1));
    return status ? status : same == now.len ? 0 : 3;
}

static int print_run(struct pdk_cli *cli, const struct job *job)
{
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_render_run(cli->store, job->run, &doc, &err) < 0)
        return pdk_cli_fail(cli, &err);
    if (cli->json)
        return pdk_cli_print(cli, pdk_take_ptr(&doc));
    return pdk_render_text(doc, &err) < 0 ? pdk_cli_fail(cli, &err) : 0;
}

static int carry_out(struct pdk_cli *cli, const struct pdk_args *args, struct job *job)
{
    struct pdk_engine_result result = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    int printed;

    if (run_checks(cli, args, job, &result, &err) < 0)
        return pdk_cli_fail(cli, &err);
    if (pdk_args_has(args, "again") && result.signal == 0)
        return print_agreement(cli, job);
    printed = print_run(cli, job);
    return printed ? printed : pdk_drive_status(&result);
}

static int check_words(const struct pdk_args *args, struct pdk_err *err)
{
    int given = (args->words_len > 0) + pdk_args_has(args, "tree") +
            pdk_args_has(args, "sandbox");
    bool file = pdk_args_has(args, "file");

    if (given != 1)
        (void)pdk_fail(err, PDK_EINVAL, 0, "one of a run, --tree or --sandbox");
    else if (file != (args->words_len == 0))
        (void)pdk_fail(err, PDK_EINVAL, 0,
                file ? "a run has its own checks" : "--file has the checks to run");
    else if (pdk_args_has(args, "again") && file)
        (void)pdk_fail(err, PDK_EINVAL, 0, "--again is for trees of a run");
    else
        return 0;
    return pdk_hint(err,
            "paddock verify RUN[/CAND] [--again] | --tree OID -f FILE | --sandbox NAME -f "
            "FILE");
}

int pdk_command_verify(struct pdk_cli *cli, const struct pdk_args *args)
{
    struct job job = { .plan = NULL };
    const char *file = pdk_args_get(args, "file", NULL);
    struct pdk_err err = PDK_ERR_INIT;
    int status = 0;

    if (check_words(args, &err) < 0)
        return pdk_cli_fail(cli, &err);
    if (file)
        status = pdk_cli_load_plan(cli, args, file, &job.plan);
    if (status == 0 &&
            (file ? take_tree(cli, args, &job, &err)
                  : take_run(cli, args->words[0], &job, &err)) < 0)
        status = pdk_cli_fail(cli, &err);
    if (status == 0)
        status = carry_out(cli, args, &job);
    job_fini(&job);
    return status;
}
