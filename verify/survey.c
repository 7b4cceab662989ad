#include "verify/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/ignore.h"
#include "plan/plan.h"
#include "trees/diff.h"
#include "verify/named.h"

struct pdk_rules {
    struct pdk_strv named;                                /* what the checks run */
    struct pdk_ignore *protect, *paths, *sources, *tests; /* NULL: no such rule */
};

void pdk_rules_free(struct pdk_rules *rules)
{
    if (!rules)
        return;
    pdk_strv_fini(&rules->named);
    pdk_ignore_free(rules->protect);
    pdk_ignore_free(rules->paths);
    pdk_ignore_free(rules->sources);
    pdk_ignore_free(rules->tests);
    free(rules);
}

static int parse(
        const struct pdk_strv *patterns, struct pdk_ignore **out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (patterns->len == 0)
        return 0;
    for (size_t i = 0; i < patterns->len; i++)
        pdk_buf_addf(&text, "%s\n", patterns->items[i]);
    if (pdk_buf_ok(&text, err) < 0)
        return PDK_ENOMEM;
    return pdk_ignore_parse(pdk_buf_str(&text), text.len, "", out, err);
}

int pdk_rules_new(
        const struct pdk_plan_verify *verify, struct pdk_rules **out, struct pdk_err *err)
{
    PDK_AUTO(pdk_rules_free) struct pdk_rules *rules = calloc(1, sizeof(*rules));
    int rc;

    if (!rules)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < verify->checks_len; i++)
        pdk_named_files(&verify->checks[i].run, &rules->named);
    rc = pdk_strv_ok(&rules->named, err);
    if (rc == 0)
        rc = parse(&verify->protect, &rules->protect, err);
    if (rc == 0)
        rc = parse(&verify->paths, &rules->paths, err);
    if (rc == 0)
        rc = parse(&verify->sources, &rules->sources, err);
    if (rc == 0)
        rc = parse(&verify->tests, &rules->tests, err);
    if (rc == 0)
        *out = pdk_take_ptr(&rules);
    return rc;
}

void pdk_survey_fini(struct pdk_survey *survey)
{
    pdk_strv_fini(&survey->tampered);
    pdk_strv_fini(&survey->outside);
    survey->sources = survey->tests = 0;
}

/* The nearest of the path and the directories above it that a pattern speaks of decides. */
static enum pdk_ignore_match match(const struct pdk_ignore *rule, char *path)
{
    enum pdk_ignore_match found = PDK_IGNORE_NONE;

    if (!rule)
        return found;
    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        enum pdk_ignore_match above;

        *slash = '\0';
        above = pdk_ignore_match(rule, path, true);
        *slash = '/';
        found = above == PDK_IGNORE_NONE ? found : above;
    }
    enum pdk_ignore_match own = pdk_ignore_match(rule, path, false);
    return own == PDK_IGNORE_NONE ? found : own;
}

/* What a check runs is protected where the base has it; `!path` in protect takes it out. */
static bool is_protected(
        const struct pdk_rules *rules, const struct pdk_change *change, char *path)
{
    switch (match(rules->protect, path)) {
    case PDK_IGNORE_YES:
        return true;
    case PDK_IGNORE_NO:
        return false;
    case PDK_IGNORE_NONE:
        break;
    }
    return change->old_mode != 0 && pdk_strv_has(&rules->named, path);
}

int pdk_rules_survey(const struct pdk_rules *rules, const struct pdk_diff *diff,
        struct pdk_survey *out, struct pdk_err *err)
{
    for (size_t i = 0; i < diff->len; i++) {
        PDK_AUTO_FREE char *path = strdup(diff->changes[i].path);

        if (!path)
            return pdk_fail_nomem(err);
        if (is_protected(rules, &diff->changes[i], path))
            pdk_strv_add(&out->tampered, path);
        if (rules->paths && match(rules->paths, path) != PDK_IGNORE_YES)
            pdk_strv_add(&out->outside, path);
        if (match(rules->tests, path) == PDK_IGNORE_YES)
            out->tests++;
        else if (match(rules->sources, path) == PDK_IGNORE_YES)
            out->sources++;
    }
    if (pdk_strv_ok(&out->tampered, err) < 0)
        return PDK_ENOMEM;
    return pdk_strv_ok(&out->outside, err);
}
