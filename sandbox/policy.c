#include "sandbox/policy.h"

#include <string.h>

#include "base/error.h"
#include "sandbox/confine/confine.h"

enum pdk_confine pdk_mode_effective(const struct pdk_mode_inputs *in)
{
    if (in->approved)
        return *in->approved;
    return in->session ? *in->session : in->fallback;
}

int pdk_escalation_plan(const struct pdk_escalation *asked, enum pdk_confine base,
        enum pdk_approval approval, enum pdk_confine *wanted, enum pdk_ask *out,
        struct pdk_err *err)
{
    const char *why = asked->justification;
    enum pdk_confine mode;

    if (!asked->permissions && !why) {
        *out = PDK_ASK_NOBODY;
        return 0;
    }
    if (!asked->permissions || !why || why[strspn(why, " \t\n")] == '\0') {
        (void)pdk_fail(
                err, PDK_EINVAL, 0, "more permissions need a justification, and it them");
        return pdk_hint(err, "--sandbox-permissions MODE --justification TEXT");
    }
    if (pdk_mode_find(asked->permissions, &mode, err) < 0)
        return pdk_wrap(err, "sandbox permissions");
    if (!pdk_mode_is_wider(mode, base))
        return pdk_fail(err, PDK_EINVAL, 0,
                "'%s' is not wider than '%s', which holds already", pdk_mode_name(mode),
                pdk_mode_name(base));
    *wanted = mode;
    *out = approval == PDK_APPROVAL_NEVER ? PDK_ASK_REFUSED : PDK_ASK_APPROVER;
    return 0;
}

/* ---- names */

static const char *const approval_names[] = { "ask", "never" };

const char *pdk_approval_name(enum pdk_approval approval)
{
    return approval_names[approval];
}

int pdk_approval_find(const char *name, enum pdk_approval *out, struct pdk_err *err)
{
    for (size_t i = 0; i < sizeof(approval_names) / sizeof(approval_names[0]); i++)
        if (strcmp(approval_names[i], name) == 0) {
            *out = (enum pdk_approval)i;
            return 0;
        }
    (void)pdk_fail(err, PDK_EINVAL, 0, "'%s' is no approval policy", name);
    return pdk_hint(err, "ask or never");
}

static const struct {
    const char *name, *text;
} decisions[PDK_DECISION_COUNT] = {
    [PDK_ALLOWED_ONCE] = { "allowed-once", "allowed, for this call" },
    [PDK_REJECTED] = { "rejected", "rejected: the command was not run" },
    [PDK_DECISION_CANCELED] = { "cancelled",
            "cancelled before a decision: the command was not run" },
    [PDK_DECISION_UNAVAILABLE] = { "unavailable",
            "nobody was there to decide: the command was not run" },
};

const char *pdk_decision_name(enum pdk_decision decision)
{
    return decisions[decision].name;
}

const char *pdk_decision_text(enum pdk_decision decision)
{
    return decisions[decision].text;
}

enum pdk_decision pdk_decision_find(const char *name)
{
    for (size_t i = 0; i < PDK_DECISION_COUNT; i++)
        if (strcmp(decisions[i].name, name) == 0)
            return (enum pdk_decision)i;
    return PDK_DECISION_UNAVAILABLE;
}

/* ---- presets */

static const struct pdk_preset presets[] = {
    { "look", PDK_CONFINE_READ_ONLY, PDK_APPROVAL_ASK },
    { "work", PDK_CONFINE_WORKSPACE, PDK_APPROVAL_ASK },
    { "unattended", PDK_CONFINE_WORKSPACE, PDK_APPROVAL_NEVER },
    { "trusted", PDK_CONFINE_NONE, PDK_APPROVAL_NEVER },
};

enum { PRESETS = sizeof(presets) / sizeof(presets[0]) };

size_t pdk_preset_count(void)
{
    return PRESETS;
}

const struct pdk_preset *pdk_preset_at(size_t index)
{
    return &presets[index];
}

int pdk_preset_find(const char *name, const struct pdk_preset **out, struct pdk_err *err)
{
    for (size_t i = 0; i < PRESETS; i++)
        if (strcmp(presets[i].name, name) == 0) {
            *out = &presets[i];
            return 0;
        }
    (void)pdk_fail(err, PDK_EINVAL, 0, "'%s' is no preset", name);
    return pdk_hint(err, "look, work, unattended or trusted");
}
