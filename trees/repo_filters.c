/*
 * Filters of files run programs. Those that the user's own or the system's configuration names are the
 * user's; what the repository's configuration names may have been written by a mission that shares it
 * (a linked worktree), and does not run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "process/run.h"
#include "trees/repo.h"
#include "trees/repo_internal.h"

/* The words of a configuration as git lists them: "scope\0key\nvalue\0". */
struct entry {
    const char *scope, *value;
    char *key; /* owned */
};

/* Cuts the next entry off *at; false at the end, or where memory is short (key is NULL then). */
static bool next_entry(const char **at, const char *end, struct entry *out)
{
    const char *text, *newline;

    *out = (struct entry){ NULL, NULL, NULL };
    if (*at >= end)
        return false;
    out->scope = *at;
    text = *at + strlen(*at) + 1;
    if (text >= end)
        return false;
    newline = strchr(text, '\n'); /* none: a key without a value */
    out->value = newline ? newline + 1 : "";
    out->key = newline ? strndup(text, (size_t)(newline - text)) : strdup(text);
    *at = text + strlen(text) + 1;
    return out->key != NULL;
}

static bool is_trusted(const char *scope)
{
    return strcmp(scope, "global") == 0 || strcmp(scope, "system") == 0;
}

/* What the user's own configuration says of the key: the last word counts. "": nothing. Owned. */
static char *trusted_value(const struct pdk_buf *list, const char *key)
{
    const char *at = pdk_buf_str(list), *end = at + list->len;
    const char *value = "";
    struct entry e;

    while (next_entry(&at, end, &e)) {
        if (is_trusted(e.scope) && strcmp(e.key, key) == 0)
            value = e.value;
        free(e.key);
    }
    return strdup(value);
}

/* GIT_CONFIG_KEY_n and GIT_CONFIG_VALUE_n: any bytes may stand in a key there. */
static int override_all(
        const struct pdk_buf *list, struct pdk_strv *env, struct pdk_err *err)
{
    const char *at = pdk_buf_str(list), *end = at + list->len;
    struct entry e;
    int n = 0;

    while (next_entry(&at, end, &e)) {
        if (!is_trusted(e.scope)) {
            PDK_AUTO_FREE char *value = trusted_value(list, e.key);

            pdk_strv_addf(env, "GIT_CONFIG_KEY_%d=%s", n, e.key);
            pdk_strv_addf(env, "GIT_CONFIG_VALUE_%d=%s", n++, value ? value : "");
        }
        free(e.key);
    }
    pdk_strv_addf(env, "GIT_CONFIG_COUNT=%d", n);
    return at < end ? pdk_fail_nomem(err) : pdk_strv_ok(env, err);
}

int pdk_repo_filter_env(const struct pdk_repo *repo, const char *const *extra,
        struct pdk_strv *env, struct pdk_err *err)
{
    static const char *const args[] = { "config", "-z", "--show-scope", "--get-regexp",
        "^filter\\.", NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    struct pdk_git_spec spec = { .dir = repo->root, .args = args };

    for (size_t i = 0; extra && extra[i]; i++)
        pdk_strv_add(env, extra[i]);
    if (pdk_git_run(&spec, &result, err) < 0)
        return err->code;
    if (result.exit_code > 1)
        return pdk_git_complain(&spec, &result, err);
    return override_all(&result.out, env, err);
}

int pdk_repo_git_converting(const struct pdk_repo *repo, const char *const *args,
        const char *const *env, struct pdk_buf *out, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv all = PDK_STRV_INIT;

    if (pdk_repo_filter_env(repo, env, &all, err) < 0)
        return err->code;
    return pdk_repo_git(repo, args, (const char *const *)all.items, out, err);
}
