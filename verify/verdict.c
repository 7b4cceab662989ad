#include "verify/verdict.h"

#include <errno.h>

#include "base/error.h"
#include "base/str.h"

static const char *const verdict_names[] = {
    [PDK_VERDICT_PASS] = "pass",
    [PDK_VERDICT_FAIL] = "fail",
    [PDK_VERDICT_ABSTAIN] = "abstain",
};

static const struct {
    const char *name;
    enum pdk_verdict verdict;
    const char *text;
} reasons[PDK_REASON_COUNT] = {
    [PDK_REASON_NONE] = { "", PDK_VERDICT_PASS, "every blocking check passed" },
    [PDK_REASON_CHECK_FAILED] = { "check_failed", PDK_VERDICT_FAIL,
            "a check ended with another code than expected" },
    [PDK_REASON_OUTPUT_MISMATCH] = { "output_mismatch", PDK_VERDICT_FAIL,
            "a check's output is not as expected" },
    [PDK_REASON_CHECK_TIMED_OUT] = { "check_timed_out", PDK_VERDICT_FAIL,
            "a check ran longer than it may" },
    [PDK_REASON_TOO_FEW_TESTS] = { "too_few_tests", PDK_VERDICT_FAIL,
            "a check ran fewer tests than it must" },
    [PDK_REASON_TAMPERED] = { "tampered", PDK_VERDICT_FAIL,
            "it changed files that are protected" },
    [PDK_REASON_UNTESTED_CHANGE] = { "untested_change", PDK_VERDICT_FAIL,
            "it changed sources and no tests" },
    [PDK_REASON_NEW_DIAGNOSTICS] = { "new_diagnostics", PDK_VERDICT_FAIL,
            "a check complains more than on the base" },
    [PDK_REASON_NEEDS_REMEDIATION] = { "needs_remediation", PDK_VERDICT_FAIL,
            "a person found that it must be mended" },
    [PDK_REASON_NEEDS_ATTENTION] = { "needs_attention", PDK_VERDICT_ABSTAIN,
            "a person found that it needs a look" },
    [PDK_REASON_TIMEOUT_NOT_JUDGED] = { "timeout_not_judged", PDK_VERDICT_ABSTAIN,
            "a check ran longer than it may, which it asks not to count" },
    [PDK_REASON_MANUAL_CHECK] = { "manual_check", PDK_VERDICT_ABSTAIN,
            "a check needs a person" },
    [PDK_REASON_ABSTAIN_EXIT] = { "abstain_exit", PDK_VERDICT_ABSTAIN,
            "a check said that it cannot judge" },
    [PDK_REASON_SPAWN_FAILED] = { "spawn_failed", PDK_VERDICT_ABSTAIN,
            "a check's command could not be started" },
    [PDK_REASON_OUT_OF_MEMORY] = { "out_of_memory", PDK_VERDICT_ABSTAIN,
            "a check was ended for want of memory" },
    [PDK_REASON_OUTPUT_TRUNCATED] = { "output_truncated", PDK_VERDICT_ABSTAIN,
            "a check's output was too long to be kept whole" },
    [PDK_REASON_OUTPUT_NOT_JUDGED] = { "output_not_judged", PDK_VERDICT_ABSTAIN,
            "a pattern took too much work to match" },
    [PDK_REASON_OUTPUT_UNREADABLE] = { "output_unreadable", PDK_VERDICT_ABSTAIN,
            "a check's captured output cannot be read" },
    [PDK_REASON_CHECK_MISSING] = { "check_missing", PDK_VERDICT_ABSTAIN,
            "a blocking check did not run to its end" },
    [PDK_REASON_TESTS_NOT_MEASURED] = { "tests_not_measured", PDK_VERDICT_ABSTAIN,
            "a check's output does not say how many tests ran" },
    [PDK_REASON_SCORE_MISSING] = { "score_missing", PDK_VERDICT_ABSTAIN,
            "a check's output has no score" },
    [PDK_REASON_DIAGNOSTICS_NOT_MEASURED] = { "diagnostics_not_measured",
            PDK_VERDICT_ABSTAIN, "what a check complains about could not be counted" },
    [PDK_REASON_OVER_BUDGET] = { "over_budget", PDK_VERDICT_ABSTAIN,
            "it changed more than it may" },
    [PDK_REASON_BUDGET_NOT_MEASURED] = { "budget_not_measured", PDK_VERDICT_ABSTAIN,
            "how much it changed is not known" },
    [PDK_REASON_WITNESS_UNSATISFIABLE] = { "witness_unsatisfiable", PDK_VERDICT_ABSTAIN,
            "a check fails in the same way before and after" },
    [PDK_REASON_NO_FLIP] = { "no_flip", PDK_VERDICT_ABSTAIN,
            "no check failed on the base, so that its passing shows nothing" },
    [PDK_REASON_TESTS_MISSING] = { "tests_missing", PDK_VERDICT_ABSTAIN,
            "tests that failed on the base are not among those that pass" },
    [PDK_REASON_BASELINE_BROKEN] = { "baseline_broken", PDK_VERDICT_ABSTAIN,
            "a check fails on the base already" },
    [PDK_REASON_BASELINE_NOT_OBSERVED] = { "baseline_not_observed", PDK_VERDICT_ABSTAIN,
            "what the base does in the checks could not be seen" },
    [PDK_REASON_FLAKY] = { "flaky", PDK_VERDICT_ABSTAIN,
            "the same checks on the same tree did not always pass" },
    [PDK_REASON_NOT_CONFIRMED] = { "not_confirmed", PDK_VERDICT_ABSTAIN,
            "the checks could not be run again" },
    [PDK_REASON_NO_CHECKS] = { "no_checks", PDK_VERDICT_ABSTAIN,
            "there is no blocking check" },
    [PDK_REASON_NOTHING_ATTEMPTED] = { "nothing_attempted", PDK_VERDICT_ABSTAIN,
            "the tree is unchanged" },
    [PDK_REASON_NO_CANDIDATES] = { "no_candidates", PDK_VERDICT_ABSTAIN,
            "there is no candidate" },
    [PDK_REASON_MATERIALIZE_FAILED] = { "materialize_failed", PDK_VERDICT_ABSTAIN,
            "its sandbox could not be made" },
    [PDK_REASON_SETUP_FAILED] = { "setup_failed", PDK_VERDICT_ABSTAIN,
            "a setup command failed" },
    [PDK_REASON_MISSION_NOT_STARTED] = { "mission_not_started", PDK_VERDICT_ABSTAIN,
            "the mission's command could not be started" },
    [PDK_REASON_CONFINEMENT_FAILED] = { "confinement_failed", PDK_VERDICT_ABSTAIN,
            "the confinement of its command could not be set up" },
    [PDK_REASON_CAPTURE_FAILED] = { "capture_failed", PDK_VERDICT_ABSTAIN,
            "what it made could not be captured" },
    [PDK_REASON_SANDBOX_LOST] = { "sandbox_lost", PDK_VERDICT_ABSTAIN,
            "its sandbox went away" },
    [PDK_REASON_AGENT_LOST] = { "agent_lost", PDK_VERDICT_ABSTAIN,
            "the agent in its sandbox was lost" },
    [PDK_REASON_DISK_FULL] = { "disk_full", PDK_VERDICT_ABSTAIN, "the disk is full" },
    [PDK_REASON_CANCELED] = { "canceled", PDK_VERDICT_ABSTAIN, "it was canceled" },
    [PDK_REASON_CENSORED] = { "censored", PDK_VERDICT_ABSTAIN, "it was not waited for" },
    [PDK_REASON_PROCESSES_LEFT] = { "processes_left", PDK_VERDICT_ABSTAIN,
            "processes that it started could not be ended" },
    [PDK_REASON_WROTE_OUTSIDE] = { "wrote_outside", PDK_VERDICT_ABSTAIN,
            "the user's repository was changed while it ran" },
    [PDK_REASON_SKIPPED] = { "skipped", PDK_VERDICT_ABSTAIN,
            "a task that it needs did not pass" },
    [PDK_REASON_NOT_JUDGED] = { "not_judged", PDK_VERDICT_ABSTAIN,
            "it did not come to a verdict" },
};

const char *pdk_verdict_name(enum pdk_verdict verdict)
{
    return verdict_names[verdict];
}

int pdk_verdict_find(const char *name, enum pdk_verdict *out, struct pdk_err *err)
{
    for (size_t i = 0; i < sizeof(verdict_names) / sizeof(*verdict_names); i++) {
        if (pdk_streq(verdict_names[i], name)) {
            *out = (enum pdk_verdict)i;
            return 0;
        }
    }
    return pdk_fail(err, PDK_EINVAL, 0, "'%s' is no verdict", name ? name : "");
}

const char *pdk_reason_name(enum pdk_reason reason)
{
    return reasons[reason].name;
}

const char *pdk_reason_text(enum pdk_reason reason)
{
    return reasons[reason].text;
}

enum pdk_reason pdk_reason_find(const char *name)
{
    int i = 0;

    if (!name)
        return PDK_REASON_NONE;
    while (i < PDK_REASON_COUNT && !pdk_streq(reasons[i].name, name))
        i++;
    return (enum pdk_reason)i;
}

enum pdk_verdict pdk_reason_verdict(enum pdk_reason reason)
{
    return reasons[reason].verdict;
}

enum pdk_reason pdk_reason_of_error(enum pdk_reason stage, const struct pdk_err *err)
{
    if (err->os_errno == ENOSPC || err->os_errno == EDQUOT)
        return PDK_REASON_DISK_FULL;
    if (err->code == PDK_ECANCELED)
        return PDK_REASON_CANCELED;
    if (err->code == PDK_EPROTO)
        return PDK_REASON_AGENT_LOST;
    return stage;
}
