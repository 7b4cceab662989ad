/*
 * Verdicts: a pure fold over events (architecture.md section 6). The engine folds live what it
 * appends, and anybody can fold the log again later: same events, same verdicts.
 *
 * fail outranks abstain outranks pass. Only blocking checks count. A candidate
 *   fails     when a blocking check determinately did not meet its expectation;
 *   abstains  when none did, but something needed could not be seen: a check abstained or did not
 *             end, the attempt failed, processes outlived it, there is no check at all, or the tree
 *             is unchanged (unless allow_empty); the base was to be seen and does not make its
 *             passing tell (witness.h); the checks ran again and did not always pass;
 *   passes    else.
 * A person's word (manual.verdict) comes before that of the checks, but a pass does not stand before a
 * blocking check that failed and is not waived, nor where the attempt itself came to nothing.
 * A task and a mission's run pass when a candidate passed, fail when every candidate failed, abstain
 * else. A fleet's run fails when a task failed, abstains when none did but one abstained, passes else.
 */
#ifndef PDK_VERIFY_VERDICT_H
#define PDK_VERIFY_VERDICT_H

#include <stddef.h>

#include "base/auto.h"

struct pdk_err;
struct pdk_event;
struct pdk_json;

enum pdk_verdict { PDK_VERDICT_PASS, PDK_VERDICT_FAIL, PDK_VERDICT_ABSTAIN };

const char *pdk_verdict_name(enum pdk_verdict verdict); /* "pass", "fail", "abstain" */
/* 0 and *out, or PDK_EINVAL. */
int pdk_verdict_find(const char *name, enum pdk_verdict *out, struct pdk_err *err);

enum pdk_reason {
    PDK_REASON_NONE, /* of a pass */
    /* Of a fail. */
    PDK_REASON_CHECK_FAILED,    /* exit code or signal */
    PDK_REASON_OUTPUT_MISMATCH, /* a pattern */
    PDK_REASON_CHECK_TIMED_OUT,
    PDK_REASON_TOO_FEW_TESTS,     /* fewer than min_tests */
    PDK_REASON_TAMPERED,          /* it changed what is protected */
    PDK_REASON_UNTESTED_CHANGE,   /* test_first: sources and no tests */
    PDK_REASON_NEW_DIAGNOSTICS,   /* complaints that the base does not have */
    PDK_REASON_NEEDS_REMEDIATION, /* a person says so */
    /* Of an abstain, from a check. */
    PDK_REASON_TIMEOUT_NOT_JUDGED, /* timed out, and on_timeout: abstain */
    PDK_REASON_MANUAL_CHECK,
    PDK_REASON_ABSTAIN_EXIT,       /* an exit code that the check declared */
    PDK_REASON_SPAWN_FAILED,       /* its command could not be started */
    PDK_REASON_OUT_OF_MEMORY,      /* ended by the kernel for want of memory */
    PDK_REASON_OUTPUT_TRUNCATED,   /* what decides may be in the part that was dropped */
    PDK_REASON_OUTPUT_NOT_JUDGED,  /* a pattern met its match limit */
    PDK_REASON_OUTPUT_UNREADABLE,  /* the captured output cannot be read */
    PDK_REASON_CHECK_MISSING,      /* a blocking check did not end */
    PDK_REASON_TESTS_NOT_MEASURED, /* min_tests, and no tests in its output */
    PDK_REASON_SCORE_MISSING,      /* a score was asked for, and none was found */
    PDK_REASON_DIAGNOSTICS_NOT_MEASURED, /* here or on the base */
    PDK_REASON_OVER_BUDGET,              /* larger, or elsewhere, than it may be */
    PDK_REASON_BUDGET_NOT_MEASURED,      /* how large it is is not on record */
    /* Of an abstain, from comparing with the base. */
    PDK_REASON_WITNESS_UNSATISFIABLE, /* baseline: fail, and the same failure before and after */
    PDK_REASON_NO_FLIP,       /* baseline: fail, and no check failed on the base */
    PDK_REASON_TESTS_MISSING, /* tests that failed on the base are not among those that pass */
    PDK_REASON_BASELINE_BROKEN,       /* baseline: pass, and the base failed */
    PDK_REASON_BASELINE_NOT_OBSERVED, /* what the base does could not be seen */
    /* Of an abstain, from running checks again. */
    PDK_REASON_FLAKY,           /* mixed results on the same tree */
    PDK_REASON_NOT_CONFIRMED,   /* the checks could not be run again */
    PDK_REASON_NEEDS_ATTENTION, /* a person says so */
    /* Of an abstain, from the attempt. */
    PDK_REASON_NO_CHECKS,
    PDK_REASON_NOTHING_ATTEMPTED, /* unchanged tree */
    PDK_REASON_NO_CANDIDATES,     /* a task or run without any */
    PDK_REASON_MATERIALIZE_FAILED,
    PDK_REASON_SETUP_FAILED,
    PDK_REASON_MISSION_NOT_STARTED,
    PDK_REASON_CONFINEMENT_FAILED, /* nothing ran: what confines it could not be set up */
    PDK_REASON_CAPTURE_FAILED,
    PDK_REASON_SANDBOX_LOST, /* its directory went away */
    PDK_REASON_AGENT_LOST,   /* or was never reached */
    PDK_REASON_DISK_FULL,
    PDK_REASON_CANCELED,
    PDK_REASON_CENSORED,       /* ended early: enough was known without it */
    PDK_REASON_PROCESSES_LEFT, /* descendants that could not be ended */
    PDK_REASON_WROTE_OUTSIDE,  /* to the user's repository: never promoted */
    PDK_REASON_SKIPPED,        /* a task that it needs did not pass */
    PDK_REASON_NOT_JUDGED,     /* the events end before a verdict */
    PDK_REASON_COUNT
};

const char *pdk_reason_name(enum pdk_reason reason); /* "check_failed", …; "" for NONE */
const char *pdk_reason_text(enum pdk_reason reason); /* one line for people */
/* PDK_REASON_COUNT where the name is none; NULL and "" are NONE. */
enum pdk_reason pdk_reason_find(const char *name);
/* The verdict that a reason goes with. */
enum pdk_verdict pdk_reason_verdict(enum pdk_reason reason);
/*
 * The reason for a step of ours that failed with err: a full disk, a cancellation, a lost agent
 * where err says so, else `stage` (the reason that belongs to the step).
 */
enum pdk_reason pdk_reason_of_error(enum pdk_reason stage, const struct pdk_err *err);

struct pdk_judgement {
    enum pdk_verdict verdict;
    enum pdk_reason reason;
    char detail[256]; /* which check, what is unmet; may be empty */
};

struct pdk_fold; /* opaque, heap: what the events of one run say so far */

struct pdk_fold *pdk_fold_new(void); /* NULL when out of memory */
void pdk_fold_free(struct pdk_fold *fold);
PDK_DEFINE_AUTO(struct pdk_fold, pdk_fold_free)
#define PDK_AUTO_FOLD PDK_AUTO(pdk_fold_free)

/*
 * Takes the next event; borrows it. A task.judged with the reason skipped counts for its candidates;
 * other verdicts in events are results and not read. Events that say nothing about verdicts, and those of attempts
 * that a later one replaced, have no effect. PDK_ENOMEM, or PDK_ECORRUPT for a body that is not as
 * store/event.h says.
 */
int pdk_fold_event(
        struct pdk_fold *fold, const struct pdk_event *event, struct pdk_err *err);

/* A candidate that was never planned: PDK_ENOTFOUND. */
int pdk_fold_candidate(const struct pdk_fold *fold, const char *task, int candidate,
        struct pdk_judgement *out, struct pdk_err *err);
/* By all candidates planned so far; the reason is that of the first with the verdict. */
int pdk_fold_task(const struct pdk_fold *fold, const char *task,
        struct pdk_judgement *out, struct pdk_err *err);
void pdk_fold_run(const struct pdk_fold *fold, struct pdk_judgement *out);
/*
 * All of it as a document: {schema_version, verdict, reason, detail, tasks: [{id, verdict, reason,
 * detail, candidates: [{id, verdict, reason, detail}]}]}. The same events give the same bytes. Owned by
 * the caller; pdk_json_ok() tells.
 */
struct pdk_json *pdk_fold_json(const struct pdk_fold *fold);

#endif
