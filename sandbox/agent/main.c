/*
 * paddock-agent --root DIR [--spool DIR] [--lease MS] [--namespace FILE]
 * paddock-agent --root DIR --probe       what confines commands here, as one JSON document
 *
 * With the privilege for it, the agent lives as the first process of a pid namespace of its own, so
 * that the kernel ends everything with it; the outer process only waits. Without, it is the reaper
 * of its descendants. It says which in its descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "process/descend.h"
#include "sandbox/agent/agent.h"
#include "sandbox/agent/fence.h"

static int usage(void)
{
    (void)fputs("usage: paddock-agent --root DIR [--spool DIR] [--lease MS] "
                "[--namespace FILE] | --root DIR --probe\n",
            stderr);
    return 2;
}

static int parse(int argc, char **argv, struct agent *a)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--root") == 0)
            a->root = argv[i + 1];
        else if (strcmp(argv[i], "--spool") == 0)
            a->spool = argv[i + 1];
        else if (strcmp(argv[i], "--namespace") == 0)
            a->space = argv[i + 1];
        else if (strcmp(argv[i], "--lease") == 0)
            a->lease_ms = strtol(argv[i + 1], NULL, 10);
        else
            return -1;
    }
    return a->root && argc % 2 == 1 && a->lease_ms >= 0 ? 0 : -1;
}

static int open_root(struct agent *a)
{
    struct stat st;

    a->root_fd = open(a->root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (a->root_fd < 0 || fstat(a->root_fd, &st) < 0) {
        (void)fprintf(stderr, "paddock-agent: cannot open '%s': %s\n", a->root,
                strerrordesc_np(errno));
        return -1;
    }
    a->root_dev = st.st_dev;
    a->root_ino = st.st_ino;
    return 0;
}

/*
 * Into the mount namespace where the root is mounted, and the user namespace that owns it. There we have
 * every capability, for the namespaces of our own that come next; commands get none of them.
 */
static int enter_mounts(const struct agent *a)
{
    int mounts = open(a->space, O_RDONLY | O_CLOEXEC);
    int user = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);
    bool in = user >= 0 && setns(user, CLONE_NEWUSER) == 0 &&
            setns(mounts, CLONE_NEWNS) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;

    if (!in)
        (void)fprintf(stderr, "paddock-agent: cannot enter the namespace '%s': %s\n",
                a->space, strerrordesc_np(errno));
    if (user >= 0)
        (void)close(user);
    if (mounts >= 0)
        (void)close(mounts);
    return in ? 0 : -1;
}

/* For good, also for what is started from here on: nothing may be unmounted by a command. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

    for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
        if (prctl(PR_CAPBSET_DROP, cap) < 0 && errno != EINVAL)
            return -1;
    return syscall(SYS_capset, &head, none) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0 ? 0
                                                                                   : -1;
}

/* The signals that the outer process waits for; the inner one has them blocked until it listens. */
static void watched_signals(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGHUP);
    (void)sigaddset(set, SIGCHLD);
}

/* Outside of the namespace: passes on that the end is wanted, lasts as long as the inner one. */
static int wait_for(pid_t inner)
{
    sigset_t watched;
    int status = 0;

    watched_signals(&watched);
    while (waitpid(inner, &status, WNOHANG) == 0) {
        int sig = sigwaitinfo(&watched, NULL);

        if (sig > 0 && sig != SIGCHLD)
            (void)kill(inner, SIGTERM); /* our child until it is reaped: never another */
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * In the inner process. The byte is sent when all is well; where nobody holds the other end any
 * more, the outer one has died before the kernel was told to end us with it.
 */
static void settle_inside(int ready)
{
    bool ok = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
            mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
            mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0 &&
            write(ready, "", 1) == 1;

    if (!ok)
        _exit(1);
    (void)close(ready);
}

static bool is_ready(int ready)
{
    char byte;
    ssize_t n;

    do
        n = read(ready, &byte, 1);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

/*
 * Tries to start the agent as the first process of a new pid namespace. Returns in that process, or
 * in this one where none can be had (no privilege, /proc cannot be mounted, no process); else ends
 * with it. Only the inner process is in the namespace, so that without it this one is as before.
 */
static void enter_namespace(struct agent *a)
{
    unsigned long flags = (unsigned long)(CLONE_NEWPID | CLONE_NEWNS) | SIGCHLD;
    int ready[2];
    pid_t inner;

    if (pipe2(ready, O_CLOEXEC) < 0)
        return;
    inner = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
    if (inner == 0) {
        (void)close(ready[0]);
        settle_inside(ready[1]);
        a->pidns = true;
        return;
    }
    (void)close(ready[1]);
    if (inner > 0 && is_ready(ready[0]))
        _exit(wait_for(inner));
    (void)close(ready[0]);
    if (inner > 0)
        (void)waitpid(inner, NULL, 0);
}

static int print_means(struct agent *a)
{
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_means_to_json(pdk_fence_means(a), &v, &err) < 0 ||
            pdk_json_write(v, PDK_JSON_COMPACT, &text, &err) < 0 ||
            puts(pdk_buf_str(&text)) < 0 || fflush(stdout) != 0)
        return 1;
    pdk_means_fini(&a->means);
    return 0;
}

int main(int argc, char **argv)
{
    struct agent a = { .root_fd = -1 };
    struct pdk_err err = PDK_ERR_INIT;
    bool probe = argc > 1 && strcmp(argv[argc - 1], "--probe") == 0;
    sigset_t watched;

    if (argc == 4 && strcmp(argv[1], "--shim") == 0)
        return pdk_agent_shim(
                (int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10));
    if (parse(probe ? argc - 1 : argc, argv, &a) < 0)
        return usage();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(
            SIGCHLD, SIG_DFL); /* ignored, as some starters leave it, it hides ends */
    watched_signals(&watched);
    (void)pthread_sigmask(SIG_BLOCK, &watched, NULL);
    if (a.space && enter_mounts(&a) < 0)
        return 1;
    enter_namespace(&a);
    if (a.space && drop_capabilities() < 0) {
        (void)fprintf(stderr, "paddock-agent: cannot drop capabilities: %s\n",
                strerrordesc_np(errno));
        return 1;
    }
    if (open_root(&a) < 0)
        return 1;
    if (pdk_descend_adopt(&err) < 0) {
        (void)fprintf(stderr, "paddock-agent: %s\n", err.msg);
        return 1;
    }
    return probe ? print_means(&a) : pdk_agent_serve(&a);
}
