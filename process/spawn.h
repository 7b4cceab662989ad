/*
 * Starting child processes, without a loop. argv arrays only; the working directory and the
 * environment are always explicit. The child gets its own session, reset signal mask and
 * dispositions, and no descriptor but those named (close_range on the rest).
 *
 * vfork-style (CLONE_VM | CLONE_VFORK): its cost does not grow with the parent's memory.
 * Safe on every thread.
 */
#ifndef PDK_PROCESS_SPAWN_H
#define PDK_PROCESS_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pdk_err;

enum pdk_spawn_flags {
    PDK_SPAWN_PIDNS =
            1U << 0, /* new pid namespace with its own /proc (needs privilege) */
    PDK_SPAWN_DIE_WITH_PARENT = 1U
            << 1, /* SIGKILL when the spawning thread's process dies */
    PDK_SPAWN_SAME_SESSION = 1U << 2, /* keep the caller's session and terminal */
    PDK_SPAWN_NO_PRIVILEGES = 1U
            << 3, /* none of root's capabilities, and none to be gained by executing a file */
    PDK_SPAWN_DEAF =
            1U << 4,        /* INT, TERM and HUP stay ignored: for one that only waits */
    PDK_SPAWN_TTY = 1U << 5 /* what becomes 0 is a terminal, and the session's own */
};

/* A limit that the child puts on itself. */
struct pdk_spawn_limit {
    int resource; /* RLIMIT_… */
    uint64_t value;
};

struct pdk_spawn_spec {
    const char *const *
            argv; /* NULL-terminated; argv[0] looked up in envp's PATH if it has no slash */
    const char *const *envp; /* NULL-terminated; required */
    const char *cwd;         /* NULL: the caller's */
    int cwd_fd; /* used when >= 0 and cwd is NULL; 0 is not special: set -1 for none */
    int fds[3]; /* what becomes 0, 1, 2; -1: /dev/null */
    const int *extra_fds; /* passed on as 3, 4, …; borrowed */
    size_t extra_fds_len;
    unsigned int flags;
    int ruleset_fd; /* > 0: a Landlock ruleset that the child restricts itself to */
    const struct pdk_spawn_limit *limits; /* limits_len of them; borrowed */
    size_t limits_len;
    const int *
            cgroup_fds; /* cgroup.procs files, opened for writing, that the child enters */
    size_t cgroup_fds_len;
    const void
            *cpus; /* a cpu_set_t of cpus_size bytes that the child keeps to; NULL: any */
    size_t cpus_size;
};

/* What could not be done, for PDK_EIO/PDK_ENOTFOUND of pdk_spawn(): told apart by the child. */
enum pdk_spawn_stage {
    PDK_SPAWN_OK,
    PDK_SPAWN_CLONE,
    PDK_SPAWN_CWD,
    PDK_SPAWN_EXEC,
    PDK_SPAWN_SETUP
};

struct pdk_child {
    pid_t pid;
    int pidfd; /* owned; close-on-exec */
};

/*
 * Returns once exec has succeeded or failed (errno is reported by the child). On failure nothing
 * is left and *stage (NULL allowed) says which step failed.
 */
int pdk_spawn(const struct pdk_spawn_spec *spec, struct pdk_child *out,
        enum pdk_spawn_stage *stage, struct pdk_err *err);

#endif
