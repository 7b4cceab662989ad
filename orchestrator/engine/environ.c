#include "orchestrator/engine/environ.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/path.h"
#include "missions/mission.h"
#include "process/env.h"

static void set_matrix(struct pdk_strv *env, const struct pdk_pairs *matrix)
{
    for (size_t i = 0; matrix && i < matrix->len; i++) {
        PDK_AUTO_FREE char *name = pdk_strf("PADDOCK_MATRIX_%s", matrix->items[i].key);

        if (!name) {
            env->failed = true;
            return;
        }
        for (char *at = name; *at; at++)
            *at = (char)(isalnum((unsigned char)*at) ? toupper((unsigned char)*at) : '_');
        pdk_env_set(env, name, matrix->items[i].value);
    }
}

static void set_scope(struct pdk_strv *env, const struct pdk_command_scope *scope)
{
    PDK_AUTO_FREE char *number = pdk_strf("%d", scope->candidate);
    PDK_AUTO_FREE char *ceiling = pdk_path_dirname(scope->sandbox);

    if (!number || !ceiling) {
        env->failed = true;
        return;
    }
    pdk_env_set(env, "PADDOCK_RUN", scope->run);
    pdk_env_set(env, "PADDOCK_CANDIDATE", number);
    pdk_env_set(env, "PADDOCK_ATTEMPT", scope->attempt);
    pdk_env_set(env, "PADDOCK_STAGE", scope->stage);
    pdk_env_set(env, "PADDOCK_SANDBOX", scope->sandbox);
    if (scope->objective_file)
        pdk_env_set(env, "PADDOCK_OBJECTIVE_FILE", scope->objective_file);
    if (scope->diffs) {
        pdk_strv_addf(env, "PADDOCK_DIFF_A=%s/a.diff", scope->diffs);
        pdk_strv_addf(env, "PADDOCK_DIFF_B=%s/b.diff", scope->diffs);
    }
    /* git in a copy that lost its .git must not climb to a repository around it. */
    pdk_env_set(env, "GIT_CEILING_DIRECTORIES", ceiling);
    pdk_env_set(env, "PWD", scope->sandbox);
    set_matrix(env, scope->matrix);
}

static int expand(const char *text, const struct pdk_command_scope *scope,
        struct pdk_buf *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *number = pdk_strf("%d", scope->candidate);
    struct pdk_template_values values = { scope->run, number, scope->matrix };

    if (!number)
        return pdk_fail_nomem(err);
    if (pdk_template_expand(text, &values, out, err) < 0)
        return err->code;
    return pdk_buf_ok(out, err);
}

/* Names cannot hold templates, values can. */
static int set_planned(struct pdk_strv *env, const struct pdk_pairs *pairs,
        const struct pdk_command_scope *scope, struct pdk_err *err)
{
    for (size_t i = 0; i < pairs->len; i++) {
        PDK_AUTO_BUF struct pdk_buf value = PDK_BUF_INIT;

        if (expand(pairs->items[i].value, scope, &value, err) < 0)
            return err->code;
        pdk_env_set(env, pairs->items[i].key, pdk_buf_str(&value));
    }
    return 0;
}

int pdk_command_env(const struct pdk_plan_sandbox *plan,
        const struct pdk_command_scope *scope, struct pdk_strv *out, struct pdk_err *err)
{
    if (!scope->elsewhere)
        pdk_env_base(out);
    for (size_t i = 0; i < plan->pass_env.len; i++)
        pdk_env_pass(out, plan->pass_env.items[i]);
    if (set_planned(out, &plan->env, scope, err) < 0)
        return err->code;
    set_scope(out, scope);
    return pdk_strv_ok(out, err);
}

int pdk_command_argv(const struct pdk_command *command,
        const struct pdk_command_scope *scope, struct pdk_strv *out, struct pdk_err *err)
{
    for (size_t i = 0; i < command->argv.len; i++) {
        PDK_AUTO_BUF struct pdk_buf word = PDK_BUF_INIT;

        if (expand(command->argv.items[i], scope, &word, err) < 0)
            return err->code;
        pdk_strv_take(out, pdk_buf_take(&word));
    }
    return pdk_strv_ok(out, err);
}
