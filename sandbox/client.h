/*
 * The orchestrator's end of one agent: a process that speaks the protocol on its stdin and stdout.
 * Loop thread only. Every callback comes from the loop, never from inside the call that asked.
 *
 * connecting -> ready -> (calls …) -> closing -> on_closed once. When the agent dies, breaks the
 * protocol, is silent for three heartbeats or long past an exec's time limit, each open call ends
 * with PDK_EPROTO or PDK_ETIMEDOUT ("agent lost: …", with the last line of its stderr) and then
 * on_closed comes with the reason. A transport's exit code proves nothing. The process must ignore
 * SIGPIPE.
 */
#ifndef PDK_SANDBOX_CLIENT_H
#define PDK_SANDBOX_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/protocol.h"

struct uv_loop_s;
struct pdk_client; /* opaque, heap; frees itself after on_closed */

struct pdk_client_spec {
    const char *const *argv; /* what starts the agent */
    const char *const *envp;
    int64_t heartbeat_ms;     /* 0: 5000 */
    int64_t ready_timeout_ms; /* to the first answer; 0: 30000 */
    int64_t exec_margin_ms; /* past timeout and graces before it counts as lost; 0: 30000 */
};

struct pdk_client_handlers {
    /* The agent answered its descriptor (borrowed). */
    void (*on_ready)(struct pdk_client *c, const struct pdk_json *descriptor, void *user);
    /* Everything has ended; why->code is 0 after pdk_client_close(). c is gone after it. */
    void (*on_closed)(struct pdk_client *c, const struct pdk_err *why, void *user);
};

int pdk_client_open(struct uv_loop_s *loop, const struct pdk_client_spec *spec,
        const struct pdk_client_handlers *handlers, void *user, struct pdk_client **out,
        struct pdk_err *err);
/* Asks the agent to end (it ends its commands first), then closes. Idempotent. */
void pdk_client_close(struct pdk_client *c);
/* Kills the transport at once and closes: why->code is 0 as well. */
void pdk_client_kill(struct pdk_client *c);

/* result is NULL when err says why there is none. Both borrowed. */
typedef void (*pdk_call_done)(
        const struct pdk_json *result, const struct pdk_err *err, void *user);

/*
 * Any verb; params are borrowed (NULL: none). timeout_ms 0: none. *call (NULL allowed) names it.
 * PDK_EPROTO where the agent is not ready (any more), PDK_EIO while it does not take its input,
 * PDK_EINVAL for params over a frame's limit; done is called only after a 0.
 */
int pdk_client_call(struct pdk_client *c, enum pdk_verb verb,
        const struct pdk_json *params, int64_t timeout_ms, pdk_call_done done, void *user,
        int64_t *call, struct pdk_err *err);

struct pdk_exec_handlers {
    /* Live output, bounded in rate: what is for the eye, not the record. fd is 1 or 2. */
    void (*on_output)(
            int fd, const char *data, size_t len, void *user); /* NULL: not wanted */
    /* Exactly once; result is NULL where err says that none is known. */
    void (*on_end)(
            const struct pdk_exec_result *result, const struct pdk_err *err, void *user);
};

/*
 * One command. request is borrowed during the call; an empty nonce is filled in, PDK_EINVAL for one
 * over PDK_NONCE_MAX. Codes as pdk_client_call(). Where on_output is given, all output comes if
 * request->log is NULL.
 */
int pdk_client_exec(struct pdk_client *c, const struct pdk_exec_request *request,
        const struct pdk_exec_handlers *handlers, void *user, int64_t *call,
        struct pdk_err *err);
/* Starts the stop ladder of an open exec; at_once goes straight to KILL. It still ends in on_end. */
void pdk_client_cancel(struct pdk_client *c, int64_t call, bool at_once);

/* Requests sent so far: tests hold operations to their number of round trips. */
int64_t pdk_client_round_trips(const struct pdk_client *c);
/* Answers that nobody waited for: late, repeated, of no call. */
int64_t pdk_client_ignored(const struct pdk_client *c);

#endif
