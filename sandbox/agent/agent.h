/*
 * The far side: one program, one root directory, one conversation on stdin and stdout.
 * main.c starts it (and its pid namespace where that can be had), server.c holds the conversation,
 * exec.c runs commands, files.c serves the file verbs. Everything runs on one loop thread.
 */
#ifndef PDK_SANDBOX_AGENT_AGENT_H
#define PDK_SANDBOX_AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/protocol.h"

struct job;  /* a command under way */
struct wire; /* pipes, signals, timers */
struct uv_loop_s;

struct agent {
    struct uv_loop_s *loop;
    struct wire *wire;        /* of server.c */
    const char *root, *spool; /* spool NULL: outputs are not kept */
    int root_fd;
    dev_t root_dev;
    ino_t root_ino;
    bool pidns;
    bool initialized;
    bool ending; /* nothing new starts */
    int64_t lease_ms, heartbeat_ms, heard_ms, said_ms;
    struct job *job; /* one at a time */
};

/* ---- server.c */

int pdk_agent_serve(struct agent *a);
/* Answers; result is taken. */
void pdk_agent_result(struct agent *a, int64_t id, struct pdk_json *result);
void pdk_agent_error(
        struct agent *a, int64_t id, enum pdk_wire_error code, const char *message);
/* Sends a notification; params is taken. */
void pdk_agent_notify(struct agent *a, const char *method, struct pdk_json *params);
/* Bytes that the other side has not taken yet. */
size_t pdk_agent_backlog(const struct agent *a);
/* A job has ended: when the agent is to end, it ends now. */
void pdk_agent_idle(struct agent *a);

/* ---- exec.c */

void pdk_agent_exec(struct agent *a, int64_t id, const struct pdk_json *params);
/* Starts the ladder of the command that the call began; at_once: KILL. */
void pdk_agent_cancel(struct agent *a, int64_t call, bool at_once);
void pdk_agent_stop(struct agent *a);     /* whatever runs */
void pdk_agent_on_child(struct agent *a); /* SIGCHLD came */
void pdk_agent_drained(struct agent *a);  /* the backlog is small again */

/* ---- files.c, tree.c: each answers the request */

void pdk_agent_read(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_write(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_stat_many(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_fingerprint(struct agent *a, int64_t id, const struct pdk_json *params);
/* Opens a path below the root, never outside of it; -1 with errno (EXDEV: it leads outside). */
int pdk_agent_open(const struct agent *a, const char *path, int flags);
bool pdk_agent_root_gone(const struct agent *a);

#endif
