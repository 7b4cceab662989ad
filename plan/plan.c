#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void pdk_pairs_fini(struct pdk_pairs *pairs)
{
    for (size_t i = 0; i < pairs->len; i++) {
        free(pairs->items[i].key);
        free(pairs->items[i].value);
    }
    free(pairs->items);
    pairs->items = NULL;
    pairs->len = 0;
}

int pdk_pairs_add(struct pdk_pairs *pairs, const char *key, const char *value)
{
    struct pdk_pair made = { strdup(key), strdup(value) };
    struct pdk_pair *grown = reallocarray(pairs->items, pairs->len + 1, sizeof(*grown));

    if (grown)
        pairs->items = grown;
    if (!grown || !made.key || !made.value) {
        free(made.key);
        free(made.value);
        return PDK_ENOMEM;
    }
    grown[pairs->len++] = made;
    return 0;
}

const char *pdk_pairs_get(const struct pdk_pairs *pairs, const char *key)
{
    for (size_t i = 0; i < pairs->len; i++)
        if (strcmp(pairs->items[i].key, key) == 0)
            return pairs->items[i].value;
    return NULL;
}

static void command_fini(struct pdk_command *command)
{
    pdk_strv_fini(&command->argv);
}

static void sandbox_fini(struct pdk_plan_sandbox *sandbox)
{
    free(sandbox->backend);
    pdk_strv_fini(&sandbox->include);
    for (size_t i = 0; i < sandbox->setup_len; i++)
        command_fini(&sandbox->setup[i]);
    free(sandbox->setup);
    free(sandbox->container.engine);
    free(sandbox->container.image);
    free(sandbox->container.network);
    free(sandbox->container.user);
    free(sandbox->container.pull);
    free(sandbox->container.transfer);
    pdk_pairs_fini(&sandbox->env);
    pdk_strv_fini(&sandbox->pass_env);
}

static void check_fini(struct pdk_check *check)
{
    free(check->name);
    command_fini(&check->run);
    pdk_strv_fini(&check->expect.out);
    pdk_strv_fini(&check->expect.err);
    pdk_strv_fini(&check->expect.not_out);
    pdk_strv_fini(&check->expect.not_err);
    free(check->abstain_exit);
    free(check->score.stdout_pattern);
    free(check->results);
    free(check->tests.format);
    free(check->tests.passed);
    free(check->tests.failed);
    free(check->diagnostics.error);
    free(check->diagnostics.warning);
}

static void verify_fini(struct pdk_plan_verify *verify)
{
    pdk_strv_fini(&verify->protect);
    pdk_strv_fini(&verify->paths);
    pdk_strv_fini(&verify->sources);
    pdk_strv_fini(&verify->tests);
    for (size_t i = 0; i < verify->checks_len; i++)
        check_fini(&verify->checks[i]);
    free(verify->checks);
}

static void task_fini(struct pdk_plan_task *task)
{
    free(task->id);
    free(task->title);
    free(task->objective);
    sandbox_fini(&task->sandbox);
    command_fini(&task->run);
    free(task->cost);
    verify_fini(&task->verify);
    pdk_strv_fini(&task->select);
    pdk_strv_fini(&task->needs);
    pdk_strv_fini(&task->uses);
    pdk_strv_fini(&task->claims);
    command_fini(&task->judge);
    for (size_t i = 0; i < task->axes_len; i++) {
        free(task->axes[i].key);
        pdk_strv_fini(&task->axes[i].values);
    }
    free(task->axes);
    for (size_t i = 0; i < task->candidates_len; i++)
        pdk_pairs_fini(&task->candidates[i].matrix);
    free(task->candidates);
}

void pdk_plan_free(struct pdk_plan *plan)
{
    if (!plan)
        return;
    free(plan->id);
    free(plan->title);
    free(plan->objective);
    free(plan->base);
    free(plan->stop_on);
    free(plan->tasks_from_file);
    free(plan->tasks_from_csv);
    pdk_pairs_fini(&plan->slots);
    for (size_t i = 0; i < plan->tasks_len; i++)
        task_fini(&plan->tasks[i]);
    free(plan->tasks);
    for (size_t i = 0; i < plan->unbuilt_len; i++) {
        free(plan->unbuilt[i].key);
        free(plan->unbuilt[i].where);
    }
    free(plan->unbuilt);
    free(plan);
}

static void keep_candidates(struct pdk_plan_task *task,
        bool (*keep)(const struct pdk_plan_task *task, int index, void *user), void *user)
{
    size_t n = 0;

    for (size_t i = 0; i < task->candidates_len; i++) {
        if (keep(task, task->candidates[i].index, user))
            task->candidates[n++] = task->candidates[i];
        else
            pdk_pairs_fini(&task->candidates[i].matrix);
    }
    task->candidates_len = n;
    pdk_strv_fini(&task->needs);
}

void pdk_plan_keep(struct pdk_plan *plan,
        bool (*keep)(const struct pdk_plan_task *task, int index, void *user), void *user)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->tasks_len; i++) {
        keep_candidates(&plan->tasks[i], keep, user);
        if (plan->tasks[i].candidates_len > 0)
            plan->tasks[n++] = plan->tasks[i];
        else
            task_fini(&plan->tasks[i]);
    }
    plan->tasks_len = n;
}
