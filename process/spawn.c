/*
 * clone(CLONE_VM | CLONE_VFORK): the child borrows our memory until it has executed the program, so
 * the cost does not grow with our size, and what it writes to *report is seen here. All that it
 * needs is prepared before; it calls nothing but system calls.
 *
 * Sanitizers do not know such a child, so under them a plain fork reports through a pipe.
 */
#include "process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SPAWN_BY_FORK 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define SPAWN_BY_FORK 1
#    endif
#endif
#ifndef SPAWN_BY_FORK
#    define SPAWN_BY_FORK 0
#endif

enum { CHILD_STACK = 64 << 10, EXTRA_FIRST = 3 };

/* What the child says before it gives up. */
struct report {
    enum pdk_spawn_stage stage;
    int os_errno;
};

struct plan {
    const struct pdk_spawn_spec *spec;
    const char *const *paths; /* candidates for execve, NULL-terminated */
    sigset_t mask;            /* the empty one */
    pid_t parent;
    int null_fd;
    int *sources; /* what becomes 0, 1, 2, 3, …, moved out of the way first */
    size_t sources_len;
    struct report *report;
    int report_fd; /* of a forked child; -1 where memory is shared */
};

/* ---- in the child: system calls only */

static void give_up(const struct plan *p, enum pdk_spawn_stage stage)
{
    p->report->stage = stage;
    p->report->os_errno = errno;
    if (p->report_fd >= 0)
        (void)!write(
                p->report_fd, p->report, sizeof(*p->report)); /* nobody else to tell */
    _exit(127);
}

static void reset_signals(const struct plan *p)
{
    static const int polite[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = SIG_DFL;
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGKILL && sig != SIGSTOP)
            (void)sigaction(sig, &action, NULL); /* reserved ones refuse, which is fine */
    action.sa_handler = SIG_IGN;
    for (size_t i = 0; (p->spec->flags & PDK_SPAWN_DEAF) && i < 3; i++)
        (void)sigaction(polite[i], &action, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &p->mask, NULL);
}

/* First above all targets, then down: no source is overwritten before it was used. */
static void place_fds(const struct plan *p)
{
    int above = EXTRA_FIRST + (int)p->sources_len;

    for (size_t i = 0; i < p->sources_len; i++) {
        int from = p->sources[i] < 0 ? p->null_fd : p->sources[i];

        p->sources[i] = fcntl(from, F_DUPFD_CLOEXEC, above);
        if (p->sources[i] < 0)
            give_up(p, PDK_SPAWN_SETUP);
    }
    for (size_t i = 0; i < p->sources_len; i++)
        if (dup2(p->sources[i], (int)i) < 0)
            give_up(p, PDK_SPAWN_SETUP);
    /* Closed by a successful exec; until then the report needs its descriptor. */
    if (syscall(SYS_close_range, (unsigned int)p->sources_len, ~0U,
                4U /* CLOSE_RANGE_CLOEXEC */) < 0)
        give_up(p, PDK_SPAWN_SETUP);
}

static void enter_cwd(const struct plan *p)
{
    if (p->spec->cwd && chdir(p->spec->cwd) < 0)
        give_up(p, PDK_SPAWN_CWD);
    if (!p->spec->cwd && p->spec->cwd_fd >= 0 && fchdir(p->spec->cwd_fd) < 0)
        give_up(p, PDK_SPAWN_CWD);
}

/* In a pid namespace of its own, /proc must show that one. */
static void mount_proc(const struct plan *p)
{
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        give_up(p, PDK_SPAWN_SETUP);
}

static void die_with_parent(const struct plan *p)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        give_up(p, PDK_SPAWN_SETUP);
    /* It may have died before; inside of a pid namespace it has no number. */
    if (!(p->spec->flags & PDK_SPAWN_PIDNS) && getppid() != p->parent)
        _exit(127);
}

/* What is written is read as "the writer" by every cgroup version, whatever pid namespace it is in. */
static void enter_cgroups(const struct plan *p)
{
    for (size_t i = 0; i < p->spec->cgroup_fds_len; i++)
        if (write(p->spec->cgroup_fds[i], "0", 1) != 1)
            give_up(p, PDK_SPAWN_SETUP);
}

static void limit_self(const struct plan *p)
{
    for (size_t i = 0; i < p->spec->limits_len; i++) {
        struct rlimit limit = { p->spec->limits[i].value, p->spec->limits[i].value };

        if (syscall(SYS_prlimit64, 0, p->spec->limits[i].resource, &limit, NULL) < 0)
            give_up(p, PDK_SPAWN_SETUP);
    }
    if (p->spec->cpus &&
            syscall(SYS_sched_setaffinity, 0, p->spec->cpus_size, p->spec->cpus) < 0)
        give_up(p, PDK_SPAWN_SETUP);
}

/* A capability that cannot be in the bounding set is not gained by executing a file as root either. */
static void drop_privileges(const struct plan *p)
{
    for (int cap = 0; cap < 64; cap++)
        if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 &&
                prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EPERM)
            give_up(p, PDK_SPAWN_SETUP);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0,
            0); /* older kernels have none */
}

static void restrict_self(const struct plan *p)
{
    if (p->spec->flags & PDK_SPAWN_NO_PRIVILEGES)
        drop_privileges(p);
    if (!(p->spec->flags & PDK_SPAWN_NO_PRIVILEGES) && p->spec->ruleset_fd <= 0)
        return;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        give_up(p, PDK_SPAWN_SETUP);
    if (p->spec->ruleset_fd > 0 &&
            syscall(SYS_landlock_restrict_self, p->spec->ruleset_fd, 0) < 0)
        give_up(p, PDK_SPAWN_SETUP);
}

static void exec_first(const struct plan *p)
{
    int why = ENOENT;

    for (size_t i = 0; p->paths[i]; i++) {
        (void)execve(p->paths[i], (char *const *)(uintptr_t)p->spec->argv,
                (char *const *)(uintptr_t)p->spec->envp);
        if (errno == ENOENT || errno == ENOTDIR)
            continue;
        why = errno;
        if (errno != EACCES)
            break;
    }
    errno = why;
    give_up(p, PDK_SPAWN_EXEC);
}

__attribute__((no_sanitize("address", "undefined"))) static int child_main(void *user)
{
    struct plan *p = user;

    reset_signals(p);
    if (p->spec->flags & PDK_SPAWN_DIE_WITH_PARENT)
        die_with_parent(p);
    if (!(p->spec->flags & PDK_SPAWN_SAME_SESSION) && setsid() < 0)
        give_up(p, PDK_SPAWN_SETUP);
    if (p->spec->flags & PDK_SPAWN_PIDNS)
        mount_proc(p);
    enter_cwd(p);
    enter_cgroups(p);
    limit_self(p);
    restrict_self(p);
    place_fds(p);
    if ((p->spec->flags & PDK_SPAWN_TTY) && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
        give_up(p, PDK_SPAWN_SETUP);
    exec_first(p);
    return 127;
}

/* ---- in the parent */

static const char *find_path(const char *const *envp)
{
    for (size_t i = 0; envp[i]; i++)
        if (strncmp(envp[i], "PATH=", 5) == 0)
            return envp[i] + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

/* Where argv[0] may be; an empty component of PATH counts for nothing, not for the directory here. */
static int list_paths(
        const struct pdk_spawn_spec *spec, struct pdk_strv *out, struct pdk_err *err)
{
    const char *at = find_path(spec->envp);

    if (strchr(spec->argv[0], '/')) {
        pdk_strv_add(out, spec->argv[0]);
        return pdk_strv_ok(out, err);
    }
    while (*at) {
        size_t len = strcspn(at, ":");

        if (len > 0 && len < PATH_MAX)
            pdk_strv_addf(out, "%.*s/%s", (int)len, at, spec->argv[0]);
        at += len + (at[len] == ':');
    }
    if (out->len == 0)
        pdk_strv_addf(out, "/bin/%s", spec->argv[0]);
    return pdk_strv_ok(out, err);
}

#if SPAWN_BY_FORK
static pid_t start_child(struct plan *p, int *pidfd)
{
    int pipe_fds[2];
    bool pidns = p->spec->flags & PDK_SPAWN_PIDNS;
    unsigned long flags = (unsigned long)SIGCHLD | (unsigned long)CLONE_PIDFD |
            (pidns ? (unsigned long)(CLONE_NEWPID | CLONE_NEWNS) : 0UL);
    pid_t pid;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return -1;
    pid = (pid_t)syscall(SYS_clone, flags, NULL, pidfd, NULL, NULL);
    if (pid == 0) {
        p->report_fd = fcntl(pipe_fds[1], F_DUPFD_CLOEXEC, 512);
        if (p->report_fd < 0)
            p->report_fd = pipe_fds[1];
        _exit(child_main(p));
    }
    (void)close(pipe_fds[1]);
    if (pid > 0)
        (void)!read(pipe_fds[0], p->report,
                sizeof(*p->report)); /* nothing comes after an exec */
    (void)close(pipe_fds[0]);
    return pid;
}
#else
static pid_t start_child(struct plan *p, int *pidfd)
{
    char *stack = malloc(CHILD_STACK);
    int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
    pid_t pid;

    if (!stack)
        return -1;
    if (p->spec->flags & PDK_SPAWN_PIDNS)
        flags |= CLONE_NEWPID | CLONE_NEWNS;
    pid = clone(child_main, stack + CHILD_STACK, flags, p, pidfd);
    free(stack);
    return pid;
}
#endif

static int fail_start(const struct pdk_spawn_spec *spec, const struct report *report,
        enum pdk_spawn_stage *stage, struct pdk_err *err)
{
    int code = report->os_errno == ENOENT || report->os_errno == ENOTDIR ? PDK_ENOTFOUND
                                                                         : PDK_EIO;

    if (stage)
        *stage = report->stage;
    if (report->stage == PDK_SPAWN_CWD)
        return pdk_fail(err, code, report->os_errno, "cannot enter '%s' for '%s'",
                spec->cwd ? spec->cwd : "its directory", spec->argv[0]);
    return pdk_fail(err, code, report->os_errno, "cannot start '%s'", spec->argv[0]);
}

/* All signals are blocked around it: a handler of ours must not run in the child's borrowed memory. */
static pid_t start_blocked(struct plan *p, int *pidfd)
{
    sigset_t all, old;
    int saved;
    pid_t pid;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    pid = start_child(p, pidfd);
    saved = errno;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = saved;
    return pid;
}

int pdk_spawn(const struct pdk_spawn_spec *spec, struct pdk_child *out,
        enum pdk_spawn_stage *stage, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv paths = PDK_STRV_INIT;
    PDK_AUTO_FD int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    PDK_AUTO_FREE int *sources = calloc(3 + spec->extra_fds_len, sizeof(*sources));
    struct report report = { PDK_SPAWN_OK, 0 };
    struct plan plan = {
        .spec = spec, .parent = getpid(), .report = &report, .report_fd = -1
    };
    int pidfd = -1;
    pid_t pid;

    if (!sources || list_paths(spec, &paths, err) < 0)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < 3; i++)
        sources[i] = spec->fds[i];
    for (size_t i = 0; i < spec->extra_fds_len; i++)
        sources[3 + i] = spec->extra_fds[i];
    plan.paths = (const char *const *)paths.items;
    plan.null_fd = null_fd;
    plan.sources = sources;
    plan.sources_len = 3 + spec->extra_fds_len;
    (void)sigemptyset(&plan.mask);
    pid = null_fd < 0 ? -1 : start_blocked(&plan, &pidfd);
    if (pid < 0) {
        report = (struct report){ PDK_SPAWN_CLONE, errno };
        return fail_start(spec, &report, stage, err);
    }
    if (report.stage != PDK_SPAWN_OK) {
        (void)waitpid(pid, NULL, 0);
        (void)close(pidfd);
        return fail_start(spec, &report, stage, err);
    }
    *out = (struct pdk_child){ pid, pidfd };
    return 0;
}
