/*
 * The agent's other side, for tests: starts the real program and talks with it over pipes, frame by frame. All of it fails
 * the test rather than return an error, also when no answer comes within a (generous) deadline.
 *
 *     tcase_add_loop_test(tc, a_test, 0, pdk_peer_ways());
 *     struct pdk_peer p; pdk_peer_open(&p, _i); … pdk_peer_close(&p);
 */
#ifndef PDK_TESTS_SUPPORT_PEER_H
#define PDK_TESTS_SUPPORT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/protocol.h"

struct pdk_json;

/* How the agent is started. */
enum pdk_peer_way {
    PDK_PEER_SELF, /* as who we are: as root, in a pid namespace where the host allows one */
    PDK_PEER_NOBODY,  /* as root only: as user 65534, without any privilege */
    PDK_PEER_NO_MOUNT /* as root only: mount() is refused */
};

struct pdk_peer {
    pid_t pid;
    int in, out; /* ours of the agent's stdin and stdout; -1 once closed */
    char *dir, *root, *spool;
    struct pdk_framer framer;
    struct pdk_json *frames; /* those that came and were not taken yet */
    int64_t last_id;
    bool ended; /* its stdout is at its end */
};

int pdk_peer_ways(void); /* how many of them can be had: 3 as root, else 1 */

/* Makes a root and a spool, starts an agent on them and sends initialize; args (NULL allowed) go before the others. */
void pdk_peer_open(struct pdk_peer *p, int way);
void pdk_peer_open_with(struct pdk_peer *p, int way, const char *const *args);
/* Closes the agent's input, expects its end with 0 within the deadline, removes the directories. */
void pdk_peer_close(struct pdk_peer *p);
/* Waits for the agent's end: the exit code, or 128 + the signal. */
int pdk_peer_wait(struct pdk_peer *p);
/* Closes our ends and removes the directories: for an agent that has been waited for. */
void pdk_peer_fini(struct pdk_peer *p);
void pdk_peer_close_stdin(struct pdk_peer *p);

/* "<root>/<name>"; owned by the caller. */
char *pdk_peer_path(const struct pdk_peer *p, const char *name);

/* Sends a request; params is taken. Returns its id. */
int64_t pdk_peer_send(struct pdk_peer *p, const char *method, struct pdk_json *params);
void pdk_peer_notify(struct pdk_peer *p, const char *method, struct pdk_json *params);
void pdk_peer_send_text(struct pdk_peer *p, const char *text);
/* Waits for the frame that answers id; owned by the caller. */
struct pdk_json *pdk_peer_answer(struct pdk_peer *p, int64_t id);
/* The next frame of any kind; owned by the caller. NULL at the end of the agent's output. */
struct pdk_json *pdk_peer_next(struct pdk_peer *p);
/* send + answer, of which the result (or the error's code by name), which must be there. */
struct pdk_json *pdk_peer_ask(
        struct pdk_peer *p, const char *method, struct pdk_json *params);
void pdk_peer_refused(struct pdk_peer *p, const char *method, struct pdk_json *params,
        const char *code);

/* exec's params for `sh -c text` with graces of 10 s and the nonce "n": add to them, then send. */
struct pdk_json *pdk_peer_sh(const char *text);
struct pdk_json *pdk_peer_argv(const char *const *argv);
/* Waits until output of the stream of that call holds the text. */
void pdk_peer_await_output(struct pdk_peer *p, int64_t id, const char *text);
/* Waits for exec's answer; it must be a result. */
void pdk_peer_result(struct pdk_peer *p, int64_t id, struct pdk_exec_result *out);
void pdk_peer_run(struct pdk_peer *p, const char *sh, struct pdk_exec_result *out);

/* The agent proper: the inner process where it is in a pid namespace, else p->pid. */
pid_t pdk_peer_agent(const struct pdk_peer *p);
/* A number of /proc/PID/status, such as "VmHWM"; -1 where the process or the line is missing. */
int64_t pdk_peer_status(pid_t pid, const char *key);

#endif
