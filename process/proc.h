/*
 * A child process on a libuv loop, with its three streams. Loop thread only.
 *
 * start -> running -> (exited and both outputs at their end, or drained) -> on_end once -> closed.
 * on_end never comes from inside start. pdk_proc_kill() is idempotent and still ends in on_end.
 */
#ifndef PDK_PROCESS_PROC_H
#define PDK_PROCESS_PROC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/spawn.h"

struct uv_loop_s;
struct pdk_err;
struct pdk_proc; /* opaque, heap; frees itself after on_end */

struct pdk_proc_end {
    int exit_code; /* -1 where a signal ended it, or nobody saw how */
    int signal;
};

struct pdk_proc_handlers {
    /* Output as it comes; fd is 1 or 2; data is valid during the call only. */
    void (*on_output)(
            struct pdk_proc *p, int fd, const char *data, size_t len, void *user);
    /* The child itself was reaped; its outputs may still be open. NULL: not wanted. */
    void (*on_reaped)(struct pdk_proc *p, const struct pdk_proc_end *end, void *user);
    /* Reaped and drained: the last call; p is gone after it. */
    void (*on_end)(struct pdk_proc *p, const struct pdk_proc_end *end, void *user);
};

/*
 * spec's fds: -1 means a pipe of ours for 1 and 2, and for 0 as well when want_stdin.
 * After the exit of the child the outputs get a second to reach their end (a stray grandchild may
 * hold them open, or they may be paused); what is in them then still comes.
 */
int pdk_proc_start(struct uv_loop_s *loop, const struct pdk_spawn_spec *spec,
        bool want_stdin, const struct pdk_proc_handlers *handlers, void *user,
        struct pdk_proc **out, struct pdk_err *err);
/* Queues bytes for stdin (copied). PDK_EIO once it is closed. */
int pdk_proc_write(struct pdk_proc *p, const void *data, size_t len, struct pdk_err *err);
/* Bytes queued and not yet taken by the child: back-pressure. */
size_t pdk_proc_pending(const struct pdk_proc *p);
void pdk_proc_close_stdin(struct pdk_proc *p); /* after what is queued */
/* Stops reading the outputs (back-pressure on the child), and goes on. */
void pdk_proc_pause(struct pdk_proc *p);
void pdk_proc_resume(struct pdk_proc *p);
/* Signals its session's process group; no effect once it is reaped. */
void pdk_proc_kill(struct pdk_proc *p, int sig);
pid_t pdk_proc_pid(const struct pdk_proc *p);

#endif
