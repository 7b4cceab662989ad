#include "store/event.h"

#include <stddef.h>

#include "base/str.h"

static const char *const event_names[PDK_EVENT_COUNT] = {
    [PDK_EVENT_RUN_PLANNED] = "run.planned",
    [PDK_EVENT_RUN_STARTED] = "run.started",
    [PDK_EVENT_RUN_ENDED] = "run.ended",
    [PDK_EVENT_TASK_PLANNED] = "task.planned",
    [PDK_EVENT_TASK_JUDGED] = "task.judged",
    [PDK_EVENT_CANDIDATE_PLANNED] = "candidate.planned",
    [PDK_EVENT_ATTEMPT_STATE] = "attempt.state",
    [PDK_EVENT_ATTEMPT_FAILED] = "attempt.failed",
    [PDK_EVENT_SANDBOX_INTENT] = "sandbox.intent",
    [PDK_EVENT_SANDBOX_MADE] = "sandbox.made",
    [PDK_EVENT_SANDBOX_STATUS] = "sandbox.status",
    [PDK_EVENT_SANDBOX_RELEASED] = "sandbox.released",
    [PDK_EVENT_COMMAND_STARTED] = "command.started",
    [PDK_EVENT_COMMAND_ENDED] = "command.ended",
    [PDK_EVENT_CAPTURE_DONE] = "capture.done",
    [PDK_EVENT_CHECK_STARTED] = "check.started",
    [PDK_EVENT_CHECK_ENDED] = "check.ended",
    [PDK_EVENT_BASELINE_ENDED] = "baseline.ended",
    [PDK_EVENT_CONFIRM_ENDED] = "confirm.ended",
    [PDK_EVENT_CANDIDATE_JUDGED] = "candidate.judged",
    [PDK_EVENT_JUDGE_ENDED] = "judge.ended",
    [PDK_EVENT_MANUAL_VERDICT] = "manual.verdict",
    [PDK_EVENT_RUN_REJUDGED] = "run.rejudged",
    [PDK_EVENT_PROMOTION_INTENT] = "promotion.intent",
    [PDK_EVENT_PROMOTION_DONE] = "promotion.done",
    [PDK_EVENT_PROMOTION_FAILED] = "promotion.failed",
    [PDK_EVENT_LEAK_FOUND] = "leak.found",
    [PDK_EVENT_SESSION_STARTED] = "session.started",
    [PDK_EVENT_SANDBOX_MODE] = "sandbox.mode",
    [PDK_EVENT_SANDBOX_APPROVAL] = "sandbox.approval",
    [PDK_EVENT_SANDBOX_PRESET] = "sandbox.preset",
    [PDK_EVENT_ESCALATION_ASKED] = "escalation.asked",
    [PDK_EVENT_ESCALATION_DECIDED] = "escalation.decided",
    [PDK_EVENT_WARNING] = "warning",
};

static const char *const candidate_names[PDK_CANDIDATE_STATE_COUNT] = {
    [PDK_CANDIDATE_PLANNED] = "planned",
    [PDK_CANDIDATE_MATERIALIZING] = "materializing",
    [PDK_CANDIDATE_SETUP] = "setup",
    [PDK_CANDIDATE_RUNNING] = "running",
    [PDK_CANDIDATE_CAPTURING] = "capturing",
    [PDK_CANDIDATE_VERIFYING] = "verifying",
    [PDK_CANDIDATE_JUDGED] = "judged",
    [PDK_CANDIDATE_PROMOTED] = "promoted",
    [PDK_CANDIDATE_RELEASED] = "released",
};

static const char *const sandbox_names[PDK_SANDBOX_STATUS_COUNT] = {
    [PDK_SANDBOX_INTENDED] = "intended",
    [PDK_SANDBOX_CREATED] = "created",
    [PDK_SANDBOX_RUNNING] = "running",
    [PDK_SANDBOX_DIRTY] = "dirty",
    [PDK_SANDBOX_VERIFIED] = "verified",
    [PDK_SANDBOX_PROMOTED] = "promoted",
    [PDK_SANDBOX_DISCARDED] = "discarded",
    [PDK_SANDBOX_RELEASED] = "released",
};

/* The index of name, or n. */
static size_t find(const char *const *names, size_t n, const char *name)
{
    size_t i = 0;
    while (i < n && !pdk_streq(names[i], name))
        i++;
    return i;
}

const char *pdk_event_name(enum pdk_event_type type)
{
    return event_names[type];
}

enum pdk_event_type pdk_event_find(const char *name)
{
    return (enum pdk_event_type)find(event_names, PDK_EVENT_COUNT, name);
}

const char *pdk_candidate_state_name(enum pdk_candidate_state state)
{
    return candidate_names[state];
}

enum pdk_candidate_state pdk_candidate_state_find(const char *name)
{
    return (enum pdk_candidate_state)find(
            candidate_names, PDK_CANDIDATE_STATE_COUNT, name);
}

bool pdk_candidate_state_may(enum pdk_candidate_state from, enum pdk_candidate_state to)
{
    bool judged = from >= PDK_CANDIDATE_JUDGED;

    if (from >= PDK_CANDIDATE_STATE_COUNT || to >= PDK_CANDIDATE_STATE_COUNT)
        return false;
    if (judged)
        return to > PDK_CANDIDATE_JUDGED && to != from;
    if (from == PDK_CANDIDATE_PLANNED)
        return to == PDK_CANDIDATE_MATERIALIZING || to == PDK_CANDIDATE_JUDGED;
    return to == PDK_CANDIDATE_MATERIALIZING || (to > from && to <= PDK_CANDIDATE_JUDGED);
}

const char *pdk_sandbox_status_name(enum pdk_sandbox_status status)
{
    return sandbox_names[status];
}

enum pdk_sandbox_status pdk_sandbox_status_find(const char *name)
{
    return (enum pdk_sandbox_status)find(sandbox_names, PDK_SANDBOX_STATUS_COUNT, name);
}

bool pdk_sandbox_status_may(enum pdk_sandbox_status from, enum pdk_sandbox_status to)
{
    return from < PDK_SANDBOX_DISCARDED && to > PDK_SANDBOX_INTENDED &&
            to < PDK_SANDBOX_STATUS_COUNT;
}
