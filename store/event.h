/*
 * What happened, as it stands in the log for good: event types, the members of their bodies, and
 * the states that a candidate and a sandbox go through. Pure.
 *
 * Bodies are JSON objects. Members marked * are required: an event without one is PDK_EBUG and
 * nothing of its batch is written. More members may stand in a body and stay there unread.
 * Object ids are 40 hex digits, times milliseconds, verdicts "pass", "fail" or "abstain".
 */
#ifndef PDK_STORE_EVENT_H
#define PDK_STORE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct pdk_json;

enum pdk_event_type {
    /* kind* ("mission", "fleet"), mission* (its id), title, base {commit, tree}, seed_tree,
     * max_concurrent, plan (as resolved). The run is planned. */
    PDK_EVENT_RUN_PLANNED,
    /* pid*. */
    PDK_EVENT_RUN_STARTED,
    /* verdict*, reason, winner (candidate index), canceled, peak_concurrent, duration_ms. */
    PDK_EVENT_RUN_ENDED,
    /* index* (place in the plan), needs, allow_empty, checks (names of the blocking ones). */
    PDK_EVENT_TASK_PLANNED,
    /* verdict*, reason, winner (candidate index). */
    PDK_EVENT_TASK_JUDGED,
    /* checks* (array of the names of all blocking checks; empty: none), allow_empty, matrix,
     * backend. */
    PDK_EVENT_CANDIDATE_PLANNED,
    /* from*, to* (names of states). The one way that a candidate moves: compare-and-set.
     * A new attempt carries the higher attempt number in the event. */
    PDK_EVENT_ATTEMPT_STATE,
    /* reason*, detail: this attempt cannot be judged by its checks alone, because something that
     * they need could not be had or seen. */
    PDK_EVENT_ATTEMPT_FAILED,
    /* id*, backend*, dir*, purpose* ("mission", "check", "named"), branch, engine (of a container),
     * base {commit, tree}, tree, spec. Before anything of the sandbox is made. */
    PDK_EVENT_SANDBOX_INTENT,
    /* id*, start (commit given to HEAD). */
    PDK_EVENT_SANDBOX_MADE,
    /* id*, status* (a name of enum pdk_sandbox_status). */
    PDK_EVENT_SANDBOX_STATUS,
    /* id*, discarded (by somebody's wish): nothing is left of it. */
    PDK_EVENT_SANDBOX_RELEASED,
    /* stage* ("setup", "mission", "exec", …), argv. */
    PDK_EVENT_COMMAND_STARTED,
    /* stage*, exit_code, signal, timed_out, canceled, leaked (processes still alive),
     * duration_ms, out_bytes, err_bytes. */
    PDK_EVENT_COMMAND_ENDED,
    /* tree*, changed*, files, added, deleted (lines). */
    PDK_EVENT_CAPTURE_DONE,
    /* name*, index* (place among the task's checks, from 0). */
    PDK_EVENT_CHECK_STARTED,
    /* name*, index*, severity* ("block", "warn"), verdict*, reason, detail, exit_code, signal,
     * timed_out, leaked, duration_ms. */
    PDK_EVENT_CHECK_ENDED,
    /* Of a task: tree*, checks* (bodies as of check.ended): what the checks say of the base. */
    PDK_EVENT_BASELINE_ENDED,
    /* round*, of*, verdict*, reason, detail, policy*, checks (bodies as of check.ended): the checks ran
     * once more on the candidate's tree. */
    PDK_EVENT_CONFIRM_ENDED,
    /* verdict*, reason, detail. The last one counts. */
    PDK_EVENT_CANDIDATE_JUDGED,
    /* Of a task: pairs* [{first, second, answers, winner}], position_bias* (pairs whose answers name the
     * same place both ways round). */
    PDK_EVENT_JUDGE_ENDED,
    /* verdict* ("pass", "needs-attention", "needs-remediation"), rationale*, by*, waive (names of
     * checks). A person's word on the candidate; the last one counts. */
    PDK_EVENT_MANUAL_VERDICT,
    /* verdict*, reason, winner (candidate index). Of a run that had ended: a person's word changed it. */
    PDK_EVENT_RUN_REJUDGED,
    /* id*, as*, tree, target. Before the first byte is written. */
    PDK_EVENT_PROMOTION_INTENT,
    /* id*, paths (number). */
    PDK_EVENT_PROMOTION_DONE,
    /* id*, detail: refused or failed; the user's tree is as it was. */
    PDK_EVENT_PROMOTION_FAILED,
    /* what* ("config", "hook", "info", "head", "ref", "stash", "file"), path*, before, after, restore
     * (a command): changed in the user's repository while the candidate ran. */
    PDK_EVENT_LEAK_FOUND,
    /* id*, sandbox*, mode*, approval*: a session begins, with what is the default then. */
    PDK_EVENT_SESSION_STARTED,
    /* id* (of the session), mode*. The one way that a session's mode changes. */
    PDK_EVENT_SANDBOX_MODE,
    /* id*, approval*. */
    PDK_EVENT_SANDBOX_APPROVAL,
    /* id*, preset*: beside the two that it stands for. */
    PDK_EVENT_SANDBOX_PRESET,
    /* id*, from*, to*, justification*, argv: always with the next one in the same batch. */
    PDK_EVENT_ESCALATION_ASKED,
    /* id*, decision*. */
    PDK_EVENT_ESCALATION_DECIDED,
    /* text*. */
    PDK_EVENT_WARNING,
    PDK_EVENT_COUNT
};

/* "run.planned", …: static. PDK_EVENT_COUNT where the name is none. */
const char *pdk_event_name(enum pdk_event_type type);
enum pdk_event_type pdk_event_find(const char *name);

/*
 * One event. Everything is borrowed: by the store from who appends, by a visitor from the store.
 * run and task are NULL where none belongs to it, candidate and attempt count from 1 (0: none).
 */
struct pdk_event {
    int64_t seq;   /* given by the store: 1, 2, … */
    int64_t ts_ms; /* wall clock; 0 when appending: now */
    const char *run;
    const char *task;
    int candidate;
    int attempt;
    enum pdk_event_type type;
    struct pdk_json *body; /* NULL when appending: {} */
};

enum pdk_candidate_state {
    PDK_CANDIDATE_PLANNED,
    PDK_CANDIDATE_MATERIALIZING,
    PDK_CANDIDATE_SETUP,
    PDK_CANDIDATE_RUNNING,
    PDK_CANDIDATE_CAPTURING,
    PDK_CANDIDATE_VERIFYING,
    PDK_CANDIDATE_JUDGED,
    PDK_CANDIDATE_PROMOTED,
    PDK_CANDIDATE_RELEASED,
    PDK_CANDIDATE_STATE_COUNT
};

const char *pdk_candidate_state_name(enum pdk_candidate_state state);
enum pdk_candidate_state pdk_candidate_state_find(const char *name);
/*
 * Forward along the life of a candidate, stages without work left out; from every stage before
 * judged to judged (it ended early) or back to materializing (another attempt); a released one may
 * still be promoted from the vault, and is released again after.
 */
bool pdk_candidate_state_may(enum pdk_candidate_state from, enum pdk_candidate_state to);

enum pdk_sandbox_status {
    PDK_SANDBOX_INTENDED, /* recorded before the act; after a crash: maybe there, maybe in part */
    PDK_SANDBOX_CREATED,
    PDK_SANDBOX_RUNNING,
    PDK_SANDBOX_DIRTY,
    PDK_SANDBOX_VERIFIED,
    PDK_SANDBOX_PROMOTED,
    PDK_SANDBOX_DISCARDED, /* gone by somebody's wish */
    PDK_SANDBOX_RELEASED,  /* gone in the course of a run */
    PDK_SANDBOX_STATUS_COUNT
};

const char *pdk_sandbox_status_name(enum pdk_sandbox_status status);
enum pdk_sandbox_status pdk_sandbox_status_find(const char *name);
/* Nothing comes back from discarded or released, nothing returns to intended. */
bool pdk_sandbox_status_may(enum pdk_sandbox_status from, enum pdk_sandbox_status to);

#endif
