/*
 * One sandbox with its agent, in use: working copy made, commands run in it, captured, removed.
 * The blocking parts run on worker threads; every call and callback is on the loop thread, and
 * no callback comes from inside the call that asked. One operation at a time.
 *
 *   new -> opening -> open <-> busy (exec, capture) -> closing -> done, freed
 *
 * An agent that is lost ends the operation under way with its error; the session can then only
 * be captured and closed.
 */
#ifndef PDK_ORCHESTRATOR_ENGINE_SESSION_H
#define PDK_ORCHESTRATOR_ENGINE_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/backend.h"
#include "backends/tier.h"
#include "sandbox/client.h"

struct pdk_vaults;
struct uv_loop_s;
struct pdk_session; /* opaque, heap; frees itself after the callback of close */

/* Borrowed, all of it, for the life of the session; id and dir are copied. */
struct pdk_session_spec {
    struct uv_loop_s *loop;
    const struct pdk_backend *be;
    const struct pdk_repo *repo;
    struct pdk_vaults *vaults;
    const char *registry_lock;
    const struct pdk_tier *tier; /* where commands run; NULL: this host */
    const char *run;             /* id of the run */
    const char *agent;           /* path of the agent program */
    const char *spool;           /* directory of the command's output files; exists */
    const char *id;              /* of the attempt */
    const char *dir;             /* of the sandbox; not there yet */
    struct pdk_base base;
    struct pdk_oid tree;
    struct pdk_oid template; /* held open by the caller; "": none */
    const char *branch;      /* NULL: detached */
    const struct pdk_strv *include;
    enum pdk_submodules submodules;
};

/* why->code is 0 for success. */
typedef void (*pdk_session_done)(const struct pdk_err *why, void *user);

int pdk_session_new(const struct pdk_session_spec *spec, struct pdk_session **out,
        struct pdk_err *err);
/* Makes the sandbox, starts the agent. After a failure only close is left to do. */
void pdk_session_open(struct pdk_session *s, pdk_session_done done, void *user);
/* What was made, once open succeeded. Borrowed. NULL before. */
const struct pdk_sandbox_record *pdk_session_record(const struct pdk_session *s);
const char *pdk_session_way(const struct pdk_session *s);  /* pdk_sandbox_way() of it */
const char *pdk_session_root(const struct pdk_session *s); /* NULL before it is made */
/* Warnings of making it; borrowed. */
const struct pdk_strv *pdk_session_warnings(const struct pdk_session *s);
/* The agent's own word on how it keeps processes; "unknown" before. Borrowed. */
const char *pdk_session_containment(const struct pdk_session *s);

/* Runs one command. The handlers' on_end comes exactly once. */
void pdk_session_exec(struct pdk_session *s, const struct pdk_exec_request *request,
        const struct pdk_exec_handlers *handlers, void *user);
/* Stops the command under way, if any: the ladder, or at once. */
void pdk_session_stop(struct pdk_session *s, bool at_once);

/* Captures the working copy; *out is filled before done comes. */
void pdk_session_capture(struct pdk_session *s, struct pdk_capture *out,
        pdk_session_done done, void *user);

/* Ends agent and sandbox (kept: only the agent). The error of done tells what was left behind. */
void pdk_session_close(
        struct pdk_session *s, bool keep, pdk_session_done done, void *user);

#endif
