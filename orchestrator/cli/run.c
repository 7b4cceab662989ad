/* `paddock run`, `mission run`, `fleet run`: from a plan to a verdict, and to your tree if asked. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/json.h"
#include "base/path.h"
#include "missions/mission.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "orchestrator/cli/drive.h"
#include "orchestrator/cli/follow.h"
#include "orchestrator/cli/landing.h"
#include "orchestrator/cli/plan.h"
#include "orchestrator/cli/progress.h"
#include "orchestrator/cli/render.h"
#include "orchestrator/engine/engine.h"
#include "sandbox/agent_path.h"

static int choose_keep(
        const struct pdk_args *args, struct pdk_plan *plan, struct pdk_err *err)
{
    static const char *const names[] = { "winner", "all", "failed", "none" };
    const char *keep = pdk_args_get(args, "keep", NULL);

    if (!keep)
        return 0; /* as the file says */
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(keep, names[i]) == 0) {
            plan->keep = (enum pdk_keep)i;
            return 0;
        }
    return pdk_fail(
            err, PDK_EINVAL, 0, "--keep is all, winner, failed or none, not '%s'", keep);
}

static int choose_promotion(
        const struct pdk_args *args, struct pdk_plan *plan, struct pdk_err *err)
{
    const char *as = pdk_args_get(args, "promote", NULL);

    if (!pdk_args_has(args, "promote"))
        return 0;
    if (plan->kind == PDK_PLAN_FLEET)
        return pdk_fail(
                err, PDK_EINVAL, 0, "--promote is for missions; a fleet has 'land'");
    plan->policy = PDK_POLICY_AUTO_ON_PASS;
    return as ? pdk_landing_find(as, &plan->promote_as, err) : 0;
}

static int choose_run_id(struct pdk_cli *cli, const struct pdk_args *args, char out[129],
        struct pdk_err *err)
{
    PDK_AUTO_RUN_ROW struct pdk_run_row row = { 0 };
    const char *given = pdk_args_get(args, "run-id", NULL);
    struct pdk_err ignored = PDK_ERR_INIT;

    if (!given)
        return pdk_id_run(out, err);
    if (!pdk_path_is_id(given) || strlen(given) > 64) {
        (void)pdk_fail(err, PDK_EINVAL, 0, "'%.80s' is no run id", given);
        return pdk_hint(err,
                "at most 64 letters, digits, '.', '_' and '-', the first a letter or "
                "digit");
    }
    if (pdk_store_run(cli->store, given, &row, &ignored) == 0 &&
            strcmp(row.id, given) == 0)
        return pdk_fail(err, PDK_ECONFLICT, 0, "there is a run '%s' already", given);
    (void)snprintf(out, 129, "%s", given);
    return 0;
}

/* What somebody should know who expects their own edits in the sandboxes. */
static void say_dirty(const struct pdk_cli *cli, const struct pdk_plan *plan)
{
    struct pdk_err ignored = PDK_ERR_INIT;
    int dirty = 0;

    if (plan->seed == PDK_SEED_WORKTREE || cli->quiet ||
            pdk_repo_count_dirty(cli->repo, &dirty, &ignored) < 0 || dirty == 0)
        return;
    pdk_cli_say(cli,
            "note: %d uncommitted changes are not in the sandboxes (--seed worktree takes "
            "them along)\n",
            dirty);
}

static size_t count_candidates(const struct pdk_plan *plan)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->tasks_len; i++)
        n += plan->tasks[i].candidates_len;
    return n;
}

static void print_event(const struct pdk_event *event, void *user)
{
    (void)pdk_event_print(event, user);
    (void)fflush(stdout); /* reported at the end */
}

int pdk_drive(struct pdk_cli *cli, const struct pdk_args *args,
        struct pdk_engine_spec *spec, struct pdk_engine_result *result,
        struct pdk_err *err)
{
    struct pdk_progress *progress = NULL;
    bool live = isatty(STDERR_FILENO) == 1 && cli->color;
    int rc = pdk_progress_new(
            count_candidates(spec->plan), live, cli->quiet, &progress, err);

    if (rc < 0)
        return rc;
    pdk_progress_listen(progress, &spec->listener);
    if (pdk_args_has(args, "events"))
        spec->listener.on_event = print_event;
    rc = pdk_engine_run(spec, result, err);
    pdk_progress_end(progress);
    pdk_progress_free(progress);
    return rc;
}

int pdk_drive_status(const struct pdk_engine_result *result)
{
    if (result->signal != 0)
        return 128 + result->signal;
    return pdk_verdict_status(result->judgement.verdict);
}

/* The document or the table of the run, after everything. */
static int print_run(struct pdk_cli *cli, const struct pdk_args *args, const char *run)
{
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_render_run(cli->store, run, &doc, &err) < 0)
        return pdk_cli_fail(cli, &err);
    if (cli->json)
        return pdk_cli_print(cli, pdk_take_ptr(&doc));
    if (pdk_args_has(args, "events"))
        return 0;
    return pdk_render_text(doc, &err) < 0 ? pdk_cli_fail(cli, &err) : 0;
}

static int land(struct pdk_cli *cli, const struct pdk_plan *plan, const char *run,
        const struct pdk_engine_result *result, struct pdk_err *err)
{
    struct pdk_landing landing = { .run = run, .as = plan->promote_as };

    if (plan->kind == PDK_PLAN_FLEET)
        return plan->land == PDK_LAND_BRANCHES ? pdk_landing_branches(cli, plan, run, err)
                                               : 0;
    if (plan->policy != PDK_POLICY_AUTO_ON_PASS || result->winner == 0 ||
            result->signal != 0)
        return 0;
    landing.candidate = result->winner;
    return pdk_landing_do(cli, &landing, NULL, err);
}

static int carry_out(
        struct pdk_cli *cli, const struct pdk_args *args, struct pdk_plan *plan)
{
    PDK_AUTO_FREE char *agent = NULL;
    PDK_AUTO_JSON struct pdk_json *json = pdk_plan_json(plan);
    PDK_AUTO_FD int lock = -1;
    struct pdk_engine_spec spec = { .plan = plan, .plan_json = json };
    struct pdk_engine_result result = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    char run[129];
    int status, printed;

    if (pdk_plan_require_built(plan, &err) < 0 || choose_keep(args, plan, &err) < 0 ||
            choose_promotion(args, plan, &err) < 0 || pdk_agent_path(&agent, &err) < 0 ||
            pdk_cli_open_store(cli, &err) < 0 ||
            choose_run_id(cli, args, run, &err) < 0 ||
            pdk_state_lock_run(&cli->paths, run, &lock, &err) < 0)
        return pdk_cli_fail(cli, &err);
    say_dirty(cli, plan);
    spec.repo = cli->repo;
    spec.state = &cli->paths;
    spec.store = cli->store;
    spec.agent = agent;
    spec.run = run;
    if (pdk_drive(cli, args, &spec, &result, &err) < 0)
        return pdk_cli_fail(cli, &err);
    status = pdk_drive_status(&result);
    if (land(cli, plan, run, &result, &err) < 0) {
        bool as_json = cli->json;

        /* The document below holds the promotion's record: the error goes to stderr. */
        cli->json = false;
        status = pdk_cli_fail(cli, &err);
        cli->json = as_json;
    }
    printed = print_run(cli, args, run);
    return status ? status : printed;
}

int pdk_command_run(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = NULL;
    const char *path = args->words_len > 0 ? args->words[0] : NULL;
    struct pdk_err err = PDK_ERR_INIT;
    int status;

    if (!path && !pdk_args_has(args, "cmd")) {
        (void)pdk_fail(&err, PDK_EINVAL, 0, "neither a mission file nor --cmd");
        (void)pdk_hint(
                &err, "paddock mission run --cmd './fix.sh' --check 'make test' -n 4");
        return pdk_cli_fail(cli, &err);
    }
    status = pdk_cli_load_plan(cli, args, path, &plan);
    if (status == 0 && args->row->group &&
            strcmp(args->row->group,
                    plan->kind == PDK_PLAN_FLEET ? "fleet" : "mission") != 0) {
        (void)pdk_fail(&err, PDK_EINVAL, 0, "'%s' is no %s", path, args->row->group);
        (void)pdk_hint(&err, "'paddock run %s' takes either", path);
        return pdk_cli_fail(cli, &err);
    }
    return status ? status : carry_out(cli, args, plan);
}
