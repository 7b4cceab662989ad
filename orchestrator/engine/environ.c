#include "orchestrator/engine/environ.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/path.h"
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
            *at = isalnum((unsigned char)*at) ? (char)toupper((unsigned char)*at) : '_';
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
    /* git in a copy that lost its .git must not climb to a repository around it. */
    pdk_env_set(env, "GIT_CEILING_DIRECTORIES", ceiling);
    pdk_env_set(env, "PWD", scope->sandbox);
    set_matrix(env, scope->matrix);
}

int pdk_command_env(const struct pdk_plan_sandbox *plan,
        const struct pdk_command_scope *scope, struct pdk_strv *out, struct pdk_err *err)
{
    pdk_env_base(out);
    for (size_t i = 0; i < plan->pass_env.len; i++)
        pdk_env_pass(out, plan->pass_env.items[i]);
    for (size_t i = 0; i < plan->env.len; i++)
        pdk_env_set(out, plan->env.items[i].key, plan->env.items[i].value);
    set_scope(out, scope);
    return pdk_strv_ok(out, err);
}

/* The value behind a template's name, or NULL; number holds the candidate's as text. */
static const char *look_up(const struct pdk_command_scope *scope, const char *name,
        size_t len, const char *number)
{
    static const char matrix[] = "matrix.";

    if (len == 9 && strncmp(name, "candidate", len) == 0)
        return number;
    if (len == 3 && strncmp(name, "run", len) == 0)
        return scope->run;
    if (len <= strlen(matrix) || strncmp(name, matrix, strlen(matrix)) != 0 ||
            !scope->matrix)
        return NULL;
    for (size_t i = 0; i < scope->matrix->len; i++) {
        const struct pdk_pair *pair = &scope->matrix->items[i];

        if (strlen(pair->key) == len - strlen(matrix) &&
                strncmp(pair->key, name + strlen(matrix), strlen(pair->key)) == 0)
            return pair->value;
    }
    return NULL;
}

static void trim(const char **name, size_t *len)
{
    while (*len > 0 && isspace((unsigned char)**name)) {
        ++*name;
        --*len;
    }
    while (*len > 0 && isspace((unsigned char)(*name)[*len - 1]))
        --*len;
}

static int expand(const char *text, const struct pdk_command_scope *scope,
        const char *number, struct pdk_buf *out, struct pdk_err *err)
{
    for (;;) {
        const char *open = strstr(text, "{{");
        const char *close = open ? strstr(open, "}}") : NULL;
        const char *name = open ? open + 2 : NULL, *value;
        size_t len;

        if (!close) {
            pdk_buf_adds(out, text);
            return pdk_buf_ok(out, err);
        }
        len = (size_t)(close - name);
        trim(&name, &len);
        value = look_up(scope, name, len, number);
        if (!value)
            return pdk_fail(err, PDK_EINVAL, 0, "unknown name {{%.*s}}", (int)len, name);
        pdk_buf_add(out, text, (size_t)(open - text));
        pdk_buf_adds(out, value);
        text = close + 2;
    }
}

int pdk_command_argv(const struct pdk_command *command,
        const struct pdk_command_scope *scope, struct pdk_strv *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *number = pdk_strf("%d", scope->candidate);

    if (!number)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < command->argv.len; i++) {
        PDK_AUTO_BUF struct pdk_buf word = PDK_BUF_INIT;

        if (expand(command->argv.items[i], scope, number, &word, err) < 0)
            return err->code;
        pdk_strv_take(out, pdk_buf_take(&word));
    }
    return pdk_strv_ok(out, err);
}
