/*
 * Who decides what a command may write. Pure: states in, decisions out.
 *
 * The mode of a call is that of an approval given for it, else the last that its session was set to,
 * else the default. An escalation asks, for one call, for a mode that is strictly wider; it is
 * settled before anything runs, and only "allowed-once" runs anything.
 */
#ifndef PDK_SANDBOX_POLICY_H
#define PDK_SANDBOX_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"

struct pdk_err;

enum pdk_approval { PDK_APPROVAL_ASK, PDK_APPROVAL_NEVER };
enum pdk_decision {
    PDK_ALLOWED_ONCE,
    PDK_REJECTED,
    PDK_DECISION_CANCELED,
    PDK_DECISION_UNAVAILABLE,
    PDK_DECISION_COUNT
};

/* NULL: not given. */
struct pdk_mode_inputs {
    const enum pdk_confine *approved, *session;
    enum pdk_confine fallback;
};

enum pdk_confine pdk_mode_effective(const struct pdk_mode_inputs *in);

/* What a request for more comes to. */
enum pdk_ask {
    PDK_ASK_NOBODY,   /* nothing more was asked for */
    PDK_ASK_APPROVER, /* somebody is to decide */
    PDK_ASK_REFUSED   /* nobody is asked: the session's approval is "never" */
};

struct pdk_escalation {
    const char *permissions, *justification; /* both, or neither (NULL) */
};

/*
 * PDK_EINVAL for one of the two alone, an empty justification, no mode, or one that is not strictly
 * wider than base: such a request asks nobody. *wanted is filled for ASK_APPROVER and ASK_REFUSED.
 */
int pdk_escalation_plan(const struct pdk_escalation *asked, enum pdk_confine base,
        enum pdk_approval approval, enum pdk_confine *wanted, enum pdk_ask *out,
        struct pdk_err *err);

const char *pdk_approval_name(enum pdk_approval approval); /* "ask", "never" */
int pdk_approval_find(const char *name, enum pdk_approval *out, struct pdk_err *err);
const char *pdk_decision_name(
        enum pdk_decision decision); /* "allowed-once", "rejected", … */
/* PDK_DECISION_UNAVAILABLE for what is none. */
enum pdk_decision pdk_decision_find(const char *name);
/* What is told to whoever asked: one text for each. */
const char *pdk_decision_text(enum pdk_decision decision);

/* A mode and an approval policy under one name. */
struct pdk_preset {
    const char *name;
    enum pdk_confine mode;
    enum pdk_approval approval;
};

size_t pdk_preset_count(void);
const struct pdk_preset *pdk_preset_at(size_t index);
/* NULL in *out never: PDK_EINVAL lists those there are. */
int pdk_preset_find(const char *name, const struct pdk_preset **out, struct pdk_err *err);

#endif
