/*
 * paddock-agent --root DIR [--spool DIR] [--lease MS]
 *
 * With the privilege for it, the agent lives as the first process of a pid namespace of its own, so
 * that the kernel ends everything with it; the outer process only waits. Without, it is the reaper
 * of its descendants. It says which in its descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "process/descend.h"
#include "sandbox/agent/agent.h"

static int usage(void)
{
    (void)fputs("usage: paddock-agent --root DIR [--spool DIR] [--lease MS]\n", stderr);
    return 2;
}

static int parse(int argc, char **argv, struct agent *a)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--root") == 0)
            a->root = argv[i + 1];
        else if (strcmp(argv[i], "--spool") == 0)
            a->spool = argv[i + 1];
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

/* Outside of the namespace: nothing to do but to last as long as the inner one, and to tell its end. */
static int wait_for(pid_t inner)
{
    int status = 0;

    (void)signal(
            SIGTERM, SIG_IGN); /* it comes to the inner one by the end of its input */
    (void)signal(SIGINT, SIG_IGN);
    while (waitpid(inner, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * Tries to become the first process of a new pid namespace. Returns in the inner process, or where
 * no namespace can be had; ends the outer one.
 */
static void enter_namespace(struct agent *a)
{
    pid_t inner;

    if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
        return;
    inner = fork();
    if (inner > 0)
        _exit(wait_for(inner));
    /* UNTESTED: without a child there is no agent, and the other side sees its end. */
    if (inner < 0)
        _exit(1);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        _exit(1);
    a->pidns = true;
}

int main(int argc, char **argv)
{
    struct agent a = { .root_fd = -1 };
    struct pdk_err err = PDK_ERR_INIT;

    if (parse(argc, argv, &a) < 0)
        return usage();
    (void)signal(SIGPIPE, SIG_IGN);
    enter_namespace(&a);
    if (open_root(&a) < 0)
        return 1;
    if (pdk_descend_adopt(&err) < 0) {
        (void)fprintf(stderr, "paddock-agent: %s\n", err.msg);
        return 1;
    }
    return pdk_agent_serve(&a);
}
