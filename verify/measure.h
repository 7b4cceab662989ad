/*
 * What a check's output says beside its verdict: a score, the tests that it ran, the mark of a
 * failure. Pure but for reading the captured output.
 */
#ifndef PDK_VERIFY_MEASURE_H
#define PDK_VERIFY_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "verify/tests.h"
#include "verify/verdict.h"

struct pdk_err;
struct pdk_check;
struct pdk_evidence;
struct pdk_json;

struct pdk_gauge; /* opaque, heap: the compiled patterns that measure. Any thread. */

int pdk_gauge_compile(
        const struct pdk_check *check, struct pdk_gauge **out, struct pdk_err *err);
void pdk_gauge_free(struct pdk_gauge *gauge);
PDK_DEFINE_AUTO(struct pdk_gauge, pdk_gauge_free)

struct pdk_measures {
    bool has_score;
    bool cut; /* part of the output was dropped */
    double score;
    struct pdk_tests tests;
    bool counted; /* of complaints, as far as the check has patterns for them */
    int64_t errors, warnings;
    /*
     * Equal for equal failures: of the names of failed tests where there are some, else of what was
     * printed, without numbers and without the sandbox's path; and of how the command ended.
     */
    char fingerprint[17];
};

void pdk_measures_fini(struct pdk_measures *measures);
#define PDK_AUTO_MEASURES __attribute__((cleanup(pdk_measures_fini)))

/* root: the sandbox's path, which differs from one to the next. Fails for want of memory alone. */
int pdk_measure(const struct pdk_check *check, const struct pdk_gauge *gauge,
        const struct pdk_evidence *evidence, const char *root, struct pdk_measures *out,
        struct pdk_err *err);

/*
 * Takes a pass back where what the check asks to be measured is missing, too little or too much: a
 * score, a number of tests, complaints that the base does not have. Other judgements stay. base: the
 * record of this check on the base; NULL: this is the base.
 */
void pdk_measures_judge(const struct pdk_check *check,
        const struct pdk_measures *measures, const struct pdk_json *base,
        struct pdk_judgement *judgement);

/*
 * The number that a pattern finds in the file at path: its named or first group. False where there is
 * none, or the pattern or the file is none.
 */
bool pdk_measure_number(const char *pattern, const char *path, double *out);

/*
 * Members of a check's record: score, tests {passed, failed, skipped, failed_names, missing},
 * diagnostics {errors, warnings}, fingerprint. missing: the tests that failed on the base and did not pass here. base: the record of
 * this check on the base; NULL: none.
 */
void pdk_measures_record(const struct pdk_measures *measures, const struct pdk_json *base,
        struct pdk_json *body);

#endif
