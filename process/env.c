#include "process/env.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static const char *const base_names[] = { "PATH", "HOME", "LANG", "TERM", "TMPDIR", "TZ",
    "USER", "LOGNAME", "SHELL" };

/* The place of NAME= in env; env->len where there is none. */
static size_t find(const struct pdk_strv *env, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < env->len; i++)
        if (strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=')
            return i;
    return env->len;
}

void pdk_env_set(struct pdk_strv *env, const char *name, const char *value)
{
    size_t at = find(env, name);
    char *entry;

    if (at == env->len) {
        pdk_strv_addf(env, "%s=%s", name, value);
        return;
    }
    entry = pdk_strf("%s=%s", name, value);
    if (!entry) {
        env->failed = true;
        return;
    }
    free(env->items[at]);
    env->items[at] = entry;
}

void pdk_env_pass(struct pdk_strv *env, const char *name)
{
    const char *value = getenv(name); /* the program never changes its own environment */

    if (value)
        pdk_env_set(env, name, value);
}

const char *pdk_env_get(const struct pdk_strv *env, const char *name)
{
    size_t at = find(env, name);

    return at < env->len ? env->items[at] + strlen(name) + 1 : NULL;
}

/* LC_ALL, LC_CTYPE, …: whatever of them is set. */
static void pass_locale(struct pdk_strv *env)
{
    for (char **at = environ; at && *at; at++) {
        const char *eq = strchr(*at, '=');

        if (eq && strncmp(*at, "LC_", 3) == 0)
            pdk_strv_add(env, *at);
    }
}

void pdk_env_base(struct pdk_strv *env)
{
    for (size_t i = 0; i < sizeof(base_names) / sizeof(base_names[0]); i++)
        pdk_env_pass(env, base_names[i]);
    pass_locale(env);
    if (!pdk_env_get(env, "PATH"))
        pdk_env_set(env, "PATH", "/usr/local/bin:/usr/bin:/bin");
    if (!pdk_env_get(env, "HOME"))
        pdk_env_set(env, "HOME", "/");
}

bool pdk_env_is_secret(const char *name)
{
    static const char *const marks[] = { "KEY", "SECRET", "TOKEN", "PASSWORD" };

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (strcasestr(name, marks[i]))
            return true;
    return false;
}
