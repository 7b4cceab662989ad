/* child_probe: says what it was given: its descriptors, its signals, its session, its directory. One fact a line. */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void print_fds(void)
{
    (void)printf("fds");
    for (int fd = 0; fd < 1024; fd++)
        if (dup2(fd, fd) == fd)
            (void)printf(" %d", fd);
    (void)printf("\n");
}

static void print_signals(void)
{
    struct sigaction action;
    sigset_t mask;
    int blocked = 0, ignored = 0;

    (void)sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int sig = 1; sig < NSIG; sig++) {
        blocked += sigismember(&mask, sig) == 1;
        if (sigaction(sig, NULL, &action) == 0)
            ignored += action.sa_handler == SIG_IGN;
    }
    (void)printf("blocked %d\nignored %d\n", blocked, ignored);
}

int main(void)
{
    char cwd[PATH_MAX];

    print_fds();
    print_signals();
    (void)printf("session %s\n", getsid(0) == getpid() ? "own" : "shared");
    (void)printf("cwd %s\n", getcwd(cwd, sizeof(cwd)) ? cwd : "?");
    return fflush(stdout) == 0 ? 0 : 1;
}
