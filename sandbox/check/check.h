/* Does a provider keep docs/protocol.md? Blocks its thread; used by one at a time. */
#ifndef PDK_SANDBOX_CHECK_H
#define PDK_SANDBOX_CHECK_H

#include <stdint.h>

struct pdk_err;
struct pdk_json;

struct pdk_check_spec {
    const char *const *argv; /* starts the provider, on an empty root of its own */
    const char *const *envp;
    int64_t timeout_ms; /* for each answer; 0: 15000 */
    const char *only;   /* cases whose name holds it; NULL: all */
    /* After each case; NULL: not wanted. status: "pass", "fail" or "skip"; why: "" for a pass. */
    void (*on_case)(const char *name, const char *status, const char *why, void *user);
    void *user;
};

/*
 * Runs each case with a provider started for it. *out (owned by the caller) is {conforms, passed,
 * failed, skipped, items: [{name, status, why, duration_ms}]}. A verb that is not offered is skipped.
 * One that cannot be started fails each case. PDK_EINVAL where `only` fits none.
 */
int pdk_check(
        const struct pdk_check_spec *spec, struct pdk_json **out, struct pdk_err *err);
#endif
