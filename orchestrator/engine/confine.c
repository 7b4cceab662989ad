/* The confinement of a run's tasks: settled once, before anything is made or runs. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "orchestrator/engine/internal.h"
#include "sandbox/confinement.h"

static bool asks(const struct pdk_plan_sandbox *plan)
{
    return plan->confine != PDK_CONFINE_NONE;
}

static bool any_asks(const struct pdk_plan *plan)
{
    for (size_t i = 0; i < plan->tasks_len; i++)
        if (asks(&plan->tasks[i].sandbox))
            return true;
    return false;
}

/* What commands need to read, wherever it lies: objects, and what paddock itself gives them. */
static int add_visible(
        const struct run *run, struct pdk_policy *policy, struct pdk_err *err)
{
    const struct pdk_repo *repo = run->spec->repo;

    pdk_strv_add(&policy->visible, repo->common_dir);
    pdk_strv_add(&policy->visible, repo->git_dir);
    pdk_strv_add(&policy->visible, repo->objects);
    pdk_strv_add(&policy->visible, run->spec->state->logs);
    return pdk_strv_ok(&policy->visible, err);
}

static int settle(const struct run *run, const struct pdk_plan_sandbox *plan,
        const struct pdk_means *means, const struct pdk_runner *runner,
        struct task_run *task, struct pdk_err *err)
{
    struct pdk_policy wanted = { .mode = plan->confine,
        .require_full = plan->enforce == PDK_ENFORCE_FULL,
        .runner = task->tier ? (struct pdk_runner){ .failure_exit = 0 } : *runner };

    /* What is borrowed here is copied, so that every task owns its policy. */
    if (pdk_policy_copy(&task->policy, &wanted, err) < 0)
        return err->code;
    /* What this host has says nothing of a container: the agent in it tries, or refuses, itself. */
    if (task->tier)
        return 0;
    if (add_visible(run, &task->policy, err) < 0 ||
            pdk_confine_choose(&task->policy, means, &task->policy.dialect, err) < 0)
        return err->code;
    task->enforcement = pdk_confine_enforced(task->policy.dialect, means->landlock);
    return pdk_confine_missing(
            task->policy.dialect, means->landlock, &task->missing, err);
}

struct pdk_limits pdk_confine_limits(const struct pdk_plan_sandbox *plan)
{
    return (struct pdk_limits){ plan->memory, plan->pids, plan->cpus };
}

/* Tried here: the agent is in the same cgroup as we are. */
static int settle_limits(
        const struct pdk_plan_sandbox *plan, struct task_run *task, struct pdk_err *err)
{
    struct pdk_limits limits = pdk_confine_limits(plan);
    struct pdk_limiter *limiter = NULL;

    if (pdk_limiter_new(&limits, 0, &limiter, err) < 0)
        return err->code;
    task->held = pdk_limiter_held(limiter);
    pdk_limiter_free(limiter);
    if (plan->enforce != PDK_ENFORCE_FULL || pdk_held_in_full(&limits, &task->held))
        return 0;
    (void)pdk_fail(err, PDK_EUNAVAIL, 0,
            "SANDBOX_UNAVAILABLE: full enforcement is required, and no cgroup can be had for "
            "the limits (memory: %s, pids: %s, cpus: %s)",
            pdk_hold_name(task->held.memory), pdk_hold_name(task->held.pids),
            pdk_hold_name(task->held.cpus));
    return pdk_hint(
            err, "start it in a cgroup that it may write, or require_enforcement: any");
}

int pdk_confine_tasks(struct run *run, struct pdk_err *err)
{
    const struct pdk_plan *plan = run->spec->plan;
    PDK_AUTO_MEANS struct pdk_means means = { 0 };
    struct pdk_policy holder = { 0 };
    int rc;

    for (size_t i = 0; i < plan->tasks_len; i++)
        if (!run->tasks[i].tier &&
                settle_limits(&plan->tasks[i].sandbox, &run->tasks[i], err) < 0)
            return err->code;
    if (!any_asks(plan))
        return 0;
    rc = pdk_confinement_runner(&holder.runner, err);
    if (rc == 0)
        rc = pdk_confinement_probe(
                run->spec->agent, run->spec->state->sandboxes, &means, err);
    for (size_t i = 0; rc == 0 && i < plan->tasks_len; i++)
        if (asks(&plan->tasks[i].sandbox))
            rc = settle(run, &plan->tasks[i].sandbox, &means, &holder.runner,
                    &run->tasks[i], err);
    pdk_policy_fini(&holder);
    return rc;
}

static void describe_limits(const struct pdk_held *held, struct pdk_json *execution)
{
    struct pdk_json *v = pdk_json_object();

    (void)pdk_json_set_str(v, "memory", pdk_hold_name(held->memory));
    (void)pdk_json_set_str(v, "pids", pdk_hold_name(held->pids));
    (void)pdk_json_set_str(v, "cpus", pdk_hold_name(held->cpus));
    (void)pdk_json_set(execution, "limits", v);
}

void pdk_confine_describe(const struct task_run *task, struct pdk_json *execution)
{
    struct pdk_json *v = pdk_json_object();

    (void)pdk_json_set_str(
            execution, "enforcement", pdk_enforced_name(task->enforcement));
    (void)pdk_json_set_str(v, "mode", pdk_mode_name(task->policy.mode));
    (void)pdk_json_set_str(v, "dialect", pdk_dialect_name(task->policy.dialect));
    (void)pdk_json_set(v, "not_covered",
            pdk_json_strv((const char *const *)task->missing.items, task->missing.len));
    (void)pdk_json_set(execution, "confinement", v);
    describe_limits(&task->held, execution);
}

void pdk_confine_warn(struct candidate *c)
{
    const struct task_run *task = &c->run->tasks[c->task_place];
    PDK_AUTO_STRV struct pdk_strv warnings = PDK_STRV_INIT;

    if (task->policy.mode == PDK_CONFINE_NONE || !pdk_backend_shares_refs(task->backend))
        return;
    pdk_strv_add(&warnings,
            "git cannot commit in this sandbox: the repository that it shares is read-only to "
            "confined commands; use backend: directory where commits are wanted");
    pdk_record_warnings(c, &warnings);
}

void pdk_confine_record_denial(
        struct candidate *c, const char *stage, const struct pdk_exec_result *result)
{
    PDK_AUTO_STRV struct pdk_strv warnings = PDK_STRV_INIT;

    if (!result || !result->confined.denied)
        return;
    pdk_strv_addf(&warnings, "%s: a write was denied, it seems, by %s (%s)", stage,
            pdk_mode_name(result->confined.mode),
            pdk_dialect_name(result->confined.dialect));
    pdk_record_warnings(c, &warnings);
}
