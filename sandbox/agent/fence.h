/*
 * One confined command, from the agent's side: what is really started, and what came of it.
 *
 * open -> apply (to the spec that is started) -> started or free -> heard (stderr, as it comes) ->
 * finish -> free. Under bubblewrap a shim of ours (shim.c) runs inside, starts the command, ends
 * what outlives it and reports; under Landlock the child restricts itself before it executes.
 */
#ifndef PDK_SANDBOX_AGENT_FENCE_H
#define PDK_SANDBOX_AGENT_FENCE_H

#include "process/spawn.h"
#include "sandbox/agent/agent.h"

struct pdk_fence; /* opaque, heap */

/* The request's policy is not "danger-full-access". PDK_EUNAVAIL: it cannot be had, nothing may run. */
int pdk_fence_open(struct agent *a, const struct pdk_exec_request *request,
        struct pdk_fence **out, struct pdk_err *err);
/* Rewrites what is started; what the spec points at then is the fence's. */
void pdk_fence_apply(struct pdk_fence *f, struct pdk_spawn_spec *spec);
/* How many processes of ours there are beside the command's. */
int pdk_fence_processes(const struct pdk_fence *f);
/* What is started is a program that confines, not the command itself. */
bool pdk_fence_runs_own(const struct pdk_fence *f);
void pdk_fence_started(struct pdk_fence *f); /* closes the child's ends of the pipes */
void pdk_fence_heard(struct pdk_fence *f, const char *data, size_t len);
/*
 * The leader has ended, nothing of the command has run, and a socket that was to be masked has gone
 * meanwhile: another fence may be luckier.
 */
bool pdk_fence_is_outdated(struct pdk_fence *f);
/* The leader has ended as *result says: corrects that and classifies it. */
void pdk_fence_finish(struct pdk_fence *f, struct pdk_exec_result *result);
void pdk_fence_free(
        struct pdk_fence *f); /* NULL is fine; removes its temporary directory */

/* Tries every dialect with its real profile. Cached in the agent. Borrowed. */
const struct pdk_means *pdk_fence_means(struct agent *a);

/* ---- shim.c */

/* The program inside of bubblewrap: runs the job and reports. Returns the exit code. */
int pdk_agent_shim(int job_fd, int report_fd);

#endif
