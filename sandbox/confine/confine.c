#include "sandbox/confine/confine.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "sandbox/confine/landlock.h"

static void runner_fini(struct pdk_runner *runner)
{
    pdk_strv_fini(&runner->argv);
    pdk_strv_fini(&runner->signatures);
    pdk_strv_fini(&runner->failures);
}

void pdk_policy_fini(struct pdk_policy *policy)
{
    pdk_strv_fini(&policy->visible);
    runner_fini(&policy->runner);
}

int pdk_policy_copy(
        struct pdk_policy *to, const struct pdk_policy *from, struct pdk_err *err)
{
    struct pdk_policy made = { .mode = from->mode,
        .require_full = from->require_full,
        .dialect = from->dialect,
        .runner = { .failure_exit = from->runner.failure_exit } };

    if (pdk_strv_copy(&made.visible, &from->visible, err) < 0 ||
            pdk_strv_copy(&made.runner.argv, &from->runner.argv, err) < 0 ||
            pdk_strv_copy(&made.runner.signatures, &from->runner.signatures, err) < 0 ||
            pdk_strv_copy(&made.runner.failures, &from->runner.failures, err) < 0) {
        pdk_policy_fini(&made);
        return PDK_ENOMEM;
    }
    *to = made;
    return 0;
}

/* ---- names */

static const char *const mode_names[] = {
    [PDK_CONFINE_NONE] = "danger-full-access",
    [PDK_CONFINE_WORKSPACE] = "workspace-write",
    [PDK_CONFINE_READ_ONLY] = "read-only",
};

enum { MODES = sizeof(mode_names) / sizeof(mode_names[0]) };

const char *pdk_mode_name(enum pdk_confine mode)
{
    return mode_names[mode];
}

int pdk_mode_find(const char *name, enum pdk_confine *out, struct pdk_err *err)
{
    for (size_t i = 0; i < MODES; i++)
        if (strcmp(mode_names[i], name) == 0) {
            *out = (enum pdk_confine)i;
            return 0;
        }
    (void)pdk_fail(err, PDK_EINVAL, 0, "'%s' is no mode", name);
    return pdk_hint(err, "read-only, workspace-write or danger-full-access");
}

/* The enumeration goes from the widest to the narrowest. */
bool pdk_mode_is_wider(enum pdk_confine a, enum pdk_confine b)
{
    return a < b;
}

static const char *const dialect_names[PDK_DIALECT_COUNT] = { "none", "bubblewrap",
    "landlock", "runner" };
static const char *const enforced_names[] = { "none", "partial", "full" };

const char *pdk_dialect_name(enum pdk_dialect dialect)
{
    return dialect < PDK_DIALECT_COUNT ? dialect_names[dialect] : dialect_names[0];
}

const char *pdk_enforced_name(enum pdk_enforced enforced)
{
    return enforced_names[enforced];
}

static int find_name(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

int pdk_dialect_find(const char *name)
{
    return find_name(name, dialect_names, PDK_DIALECT_COUNT);
}

int pdk_enforced_find(const char *name)
{
    return find_name(
            name, enforced_names, sizeof(enforced_names) / sizeof(enforced_names[0]));
}

/* ---- which dialect */

static bool has(const struct pdk_means *means, enum pdk_dialect dialect)
{
    if (!means)
        return true; /* unprobed: a refusal at run time fails closed */
    return dialect == PDK_DIALECT_BUBBLEWRAP ? means->bubblewrap != NULL
                                             : means->landlock > 0;
}

static int unavailable(const struct pdk_policy *policy, const struct pdk_means *means,
        struct pdk_err *err)
{
    const char *bwrap =
            means && means->bubblewrap_why ? means->bubblewrap_why : "not there";
    const char *landlock =
            means && means->landlock_why ? means->landlock_why : "not there";

    (void)pdk_fail(err, PDK_EUNAVAIL, 0,
            "SANDBOX_UNAVAILABLE: '%s' cannot be enforced here (bubblewrap: %s; Landlock: %s)",
            pdk_mode_name(policy->mode), bwrap, landlock);
    return pdk_hint(err,
            "install bubblewrap, see `paddock doctor`, or give up confinement: confine: danger-full-access");
}

static int refuse_partial(enum pdk_dialect dialect, struct pdk_err *err)
{
    (void)pdk_fail(err, PDK_EUNAVAIL, 0,
            "SANDBOX_UNAVAILABLE: full enforcement is required, and %s enforces only in part here",
            pdk_dialect_name(dialect));
    return pdk_hint(err,
            "`paddock doctor` says what is not covered; require_enforcement: any accepts it");
}

int pdk_confine_choose(const struct pdk_policy *policy, const struct pdk_means *means,
        enum pdk_dialect *out, struct pdk_err *err)
{
    enum pdk_dialect dialect = policy->dialect;

    if (policy->mode == PDK_CONFINE_NONE) {
        *out = PDK_DIALECT_NONE;
        return 0;
    }
    if (policy->runner.argv.len > 0)
        dialect = PDK_DIALECT_RUNNER;
    else if (dialect == PDK_DIALECT_NONE && means)
        dialect = has(means, PDK_DIALECT_BUBBLEWRAP) ? PDK_DIALECT_BUBBLEWRAP
                                                     : PDK_DIALECT_LANDLOCK;
    if (dialect == PDK_DIALECT_NONE ||
            (dialect != PDK_DIALECT_RUNNER && !has(means, dialect)))
        return unavailable(policy, means, err);
    if (policy->require_full && means &&
            pdk_confine_enforced(dialect, means->landlock) != PDK_ENFORCED_FULL)
        return refuse_partial(dialect, err);
    *out = dialect;
    return 0;
}

enum pdk_enforced pdk_confine_enforced(enum pdk_dialect dialect, int landlock)
{
    switch (dialect) {
    case PDK_DIALECT_BUBBLEWRAP: /* abstract sockets are fenced by Landlock's scopes */
        return landlock >= PDK_LANDLOCK_SCOPES ? PDK_ENFORCED_FULL : PDK_ENFORCED_PARTIAL;
    case PDK_DIALECT_LANDLOCK:
        return PDK_ENFORCED_PARTIAL;
    case PDK_DIALECT_RUNNER:
        return PDK_ENFORCED_FULL;
    case PDK_DIALECT_NONE:
    case PDK_DIALECT_COUNT:
        break;
    }
    return PDK_ENFORCED_NONE;
}

int pdk_confine_missing(
        enum pdk_dialect dialect, int landlock, struct pdk_strv *out, struct pdk_err *err)
{
    if (dialect == PDK_DIALECT_BUBBLEWRAP && landlock < PDK_LANDLOCK_SCOPES)
        pdk_strv_add(out, "abstract sockets: a process outside may be asked to write");
    if (dialect == PDK_DIALECT_LANDLOCK)
        pdk_landlock_missing(landlock, out);
    return pdk_strv_ok(out, err);
}

/* ---- roots */

bool pdk_path_is_within(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    while (len > 1 && dir[len - 1] == '/')
        len--;
    if (len == 1)
        return path[0] == '/';
    return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool is_covered(const struct pdk_strv *paths, size_t but, const char *path)
{
    for (size_t i = 0; i < paths->len; i++) {
        bool same = i != but && strcmp(paths->items[i], path) == 0;

        if ((same && i < but) ||
                (i != but && !same && pdk_path_is_within(path, paths->items[i])))
            return true;
    }
    return false;
}

int pdk_confine_roots(
        const char *const *paths, size_t n, struct pdk_strv *out, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv found = PDK_STRV_INIT;

    for (size_t i = 0; i < n; i++) {
        char *resolved = NULL;
        struct pdk_err why = PDK_ERR_INIT;

        if (!paths[i] || paths[i][0] != '/')
            continue;
        if (pdk_fs_realpath(paths[i], &resolved, &why) == 0)
            pdk_strv_take(&found, resolved);
        else if (why.code == PDK_ENOMEM)
            return pdk_fail_nomem(err);
    }
    if (pdk_strv_ok(&found, err) < 0)
        return PDK_ENOMEM;
    for (size_t i = 0; i < found.len; i++)
        if (!is_covered(&found, i, found.items[i]))
            pdk_strv_add(out, found.items[i]);
    return pdk_strv_ok(out, err);
}
