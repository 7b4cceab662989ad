/*
 * What a candidate changed, before the rules of a mission's `verify`: protected paths, the budget's
 * paths, sources and tests. Pure.
 */
#ifndef PDK_VERIFY_SURVEY_H
#define PDK_VERIFY_SURVEY_H

#include "base/auto.h"
#include "base/str.h"

struct pdk_err;
struct pdk_diff;
struct pdk_plan_verify;

struct pdk_rules; /* opaque, heap; any thread may read it */

int pdk_rules_new(const struct pdk_plan_verify *verify, struct pdk_rules **out,
        struct pdk_err *err);
void pdk_rules_free(struct pdk_rules *rules);
PDK_DEFINE_AUTO(struct pdk_rules, pdk_rules_free)

struct pdk_survey {
    struct pdk_strv
            tampered; /* paths that are protected: by pattern, or a check runs them */
    struct pdk_strv outside; /* paths that the budget's `paths` do not have */
    size_t sources, tests;   /* changed paths of the test-first gate */
};

void pdk_survey_fini(struct pdk_survey *survey);

/* Fills a survey of zeros from what differs between base and candidate. PDK_ENOMEM. */
int pdk_rules_survey(const struct pdk_rules *rules, const struct pdk_diff *diff,
        struct pdk_survey *out, struct pdk_err *err);

#endif
