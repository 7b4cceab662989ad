/*
 * One long-lived process and the process that keeps it. Each is a child of the agent that stands
 * apart (process/descend.h), reaps what comes of its own one, and answers the agent's frames on a
 * socket: commands of exec and kept processes never meet.
 */
#ifndef PDK_SANDBOX_AGENT_KEEPER_H
#define PDK_SANDBOX_AGENT_KEEPER_H

#include <stdint.h>

struct agent;
struct pdk_json;

/* In the new process, which has one thread: answers spawn, serves, ends with the socket. */
_Noreturn void pdk_keeper_main(struct agent *a, int sock, int64_t call, int64_t handle,
        const struct pdk_json *params);

#endif
