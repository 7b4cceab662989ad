/*
 * Asking somebody whether one call may have a wider mode. Blocks; the calling thread's SIGINT and
 * SIGTERM are watched meanwhile: either cancels, and reaches who was asked.
 */
#ifndef PDK_SANDBOX_APPROVE_H
#define PDK_SANDBOX_APPROVE_H

#include <stdint.h>

#include "sandbox/policy.h"

struct pdk_err;
struct pdk_strv;

struct pdk_approval_request {
    const char *sandbox, *session;
    enum pdk_confine from, to;
    const char *justification;
    const struct pdk_strv *argv;
    /*
     * A program (absolute path, no shell) that gets the request as one JSON line on stdin and answers
     * with the name of a decision on stdout. NULL: the terminal, where there is one.
     */
    const char *approver;
    const char *const *envp; /* of the approver */
    int64_t timeout_ms;      /* 0: as long as it takes */
};

/*
 * Whatever goes wrong with who is asked is PDK_DECISION_UNAVAILABLE; an error is for want of memory
 * only. Text from outside is shown on a terminal with its control bytes escaped.
 */
int pdk_approve(const struct pdk_approval_request *request, enum pdk_decision *out,
        struct pdk_err *err);

#endif
