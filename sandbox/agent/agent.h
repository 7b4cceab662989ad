/*
 * The far side: one program, one root directory, one conversation on stdin and stdout.
 * main.c starts it (and its pid namespace where that can be had), server.c holds the conversation,
 * exec.c runs commands, the others serve one verb or a few. Everything but the inside of a search
 * runs on one loop thread.
 */
#ifndef PDK_SANDBOX_AGENT_AGENT_H
#define PDK_SANDBOX_AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/confine/confine.h"
#include "sandbox/protocol.h"

struct job;    /* a command under way */
struct search; /* of grep.c */
struct keeper; /* of spawn.c */
struct wire;   /* pipes, signals, timers */
struct stat;
struct uv_loop_s;

struct agent {
    struct uv_loop_s *loop;
    struct wire *wire;        /* of server.c */
    const char *root, *spool; /* spool NULL: outputs are not kept */
    const char *space;        /* mount namespace to enter first; NULL: none */
    int root_fd;
    dev_t root_dev;
    ino_t root_ino;
    bool pidns;
    bool initialized;
    bool ending; /* nothing new starts */
    int64_t lease_ms, heartbeat_ms, heard_ms, said_ms;
    struct job *job; /* one at a time */
    struct search *searches;
    bool probed;
    struct pdk_means means; /* of fence.c, once probed */
    struct keeper *keepers;
    int64_t last_handle;
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

/* ---- spawn.c */

void pdk_agent_spawn(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_proc_read(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_proc_stdin(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_proc_stop(struct agent *a, int64_t id, const struct pdk_json *params);
/* Every kept process is stopped; pdk_agent_idle() comes as each is gone. */
void pdk_agent_end_keepers(struct agent *a);

/* ---- paths.c */

/* Opens a path below the root, never outside of it; -1 with errno (EXDEV: it leads outside). */
int pdk_agent_open(const struct agent *a, const char *path, int flags);
/* A regular file; -1 with *why. */
int pdk_agent_open_regular(const struct agent *a, const char *path, struct stat *st,
        enum pdk_wire_error *why);
/* Up to len bytes from offset, fewer only at the end; -1 with errno. */
ssize_t pdk_agent_read_at(int fd, char *to, size_t len, int64_t offset);
bool pdk_agent_root_gone(const struct agent *a);
enum pdk_wire_error pdk_agent_wire_of_errno(int os_errno);
void pdk_agent_fail_errno(struct agent *a, int64_t id, int os_errno);
/* A member that holds a path: owned by the caller; NULL where it is missing, empty or holds a NUL. */
char *pdk_agent_take_path(const struct pdk_json *params, const char *key);
/* The same of an item of a list: a string, or an object with that key. */
char *pdk_agent_take_word(const struct pdk_json *item, const char *key);
void pdk_agent_append_path(struct pdk_json *list, const char *path);
const char *pdk_agent_type_name(mode_t mode);
/* How many of the bytes fit into *room bytes of a frame, which it lessens. */
size_t pdk_agent_fit(const char *bytes, size_t len, size_t *room);

/* ---- files.c, change.c, tree.c, glob.c, grep.c: each answers the request */

void pdk_agent_read(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_read_many(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_write(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_remove(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_stat_many(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_fingerprint(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_glob(struct agent *a, int64_t id, const struct pdk_json *params);
void pdk_agent_grep(struct agent *a, int64_t id, const struct pdk_json *params);
/* Ends the search of that call; 0: all of them. */
void pdk_agent_grep_cancel(struct agent *a, int64_t call);

#endif
