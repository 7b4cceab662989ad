/*
 * Runs a program and kills it, with all that it started, at the k-th system call by which it would change a
 * file: before the call is made. `child_killer K FILE PROGRAM ARG…`; K 0 kills nothing. FILE gets the number
 * of such calls seen. Exits with 99 when it killed, 77 where nothing can be traced here, else as PROGRAM.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLED = 99, SKIPPED = 77 };

static const long calls[] = {
#ifdef __NR_rename
    __NR_rename,
#endif
#ifdef __NR_unlink
    __NR_unlink,
#endif
#ifdef __NR_mkdir
    __NR_mkdir,
#endif
#ifdef __NR_rmdir
    __NR_rmdir,
#endif
#ifdef __NR_link
    __NR_link,
#endif
#ifdef __NR_open
    __NR_open,
#endif
#ifdef __NR_renameat
    __NR_renameat,
#endif
    __NR_renameat2, __NR_unlinkat, __NR_mkdirat, __NR_symlinkat, __NR_linkat, __NR_openat,
    __NR_openat2, __NR_write, __NR_pwrite64, __NR_fsync, __NR_fdatasync, __NR_ftruncate,
    __NR_fchmod, __NR_fchmodat, __NR_fallocate
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

/* Every one of those calls stops for the tracer; all others run at full speed. */
static int filter_calls(void)
{
    struct sock_filter code[CALLS + 3];
    struct sock_fprog program = { CALLS + 3, code };

    code[0] = (struct sock_filter)BPF_STMT(
            BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CALLS; i++)
        code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                (unsigned int)calls[i], (unsigned char)(CALLS - i), 0);
    code[CALLS + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[CALLS + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void run_program(char **argv)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit(SKIPPED);
    (void)raise(SIGSTOP);
    if (filter_calls() < 0)
        _exit(SKIPPED);
    (void)execv(argv[0], argv);
    _exit(126);
}

/* Opening only counts where it may make or empty a file, writing not on the standard streams. */
static int changes_files(pid_t pid)
{
    struct __ptrace_syscall_info info;
    unsigned long flags;

    memset(&info, 0, sizeof(info));
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) <= 0)
        return 0;
    switch ((long)info.seccomp.nr) {
#ifdef __NR_open
    case __NR_open:
        flags = info.seccomp.args[1];
        break;
#endif
    case __NR_openat:
        flags = info.seccomp.args[2];
        break;
    case __NR_openat2:
        return 0; /* only ever to look, here */
    case __NR_write:
        return info.seccomp.args[0] > 2;
    default:
        return 1;
    }
    return (flags & (O_CREAT | O_TRUNC)) != 0;
}

static void tell(const char *path, long seen)
{
    FILE *file = fopen(path, "we");

    if (!file)
        exit(125);
    (void)fprintf(file, "%ld\n", seen);
    (void)fclose(file);
}

/* Nobody makes that call any more, nor another one; returns once all are dead. */
static void end_all(pid_t pid, pid_t first)
{
    int status;

    (void)kill(first, SIGKILL);
    while (pid > 0) {
        (void)kill(pid, SIGKILL);
        pid = waitpid(-1, &status, __WALL);
    }
    _exit(KILLED);
}

/* Until the first child has ended, and with it, as all are traced to the death, everything. */
static int trace(pid_t first, long at, const char *path)
{
    long seen = 0;
    int status, code = 125;

    for (;;) {
        pid_t pid = waitpid(-1, &status, __WALL);
        int sig = 0;

        if (pid < 0)
            break;
        if (!WIFSTOPPED(status)) {
            if (pid == first)
                code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_SECCOMP << 8))) {
            if (changes_files(pid) && ++seen == at) {
                tell(path, seen);
                end_all(pid, first);
            }
        } else if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP) {
            sig = WSTOPSIG(status);
        }
        (void)ptrace(PTRACE_CONT, pid, NULL, (void *)(long)sig);
    }
    tell(path, seen);
    return code;
}

int main(int argc, char **argv)
{
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
            PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    int status = 0;
    pid_t pid;

    if (argc < 4)
        return 2;
    pid = fork();
    if (pid == 0)
        run_program(argv + 3);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status) ||
            ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)options) < 0)
        return SKIPPED;
    (void)ptrace(PTRACE_CONT, pid, NULL, NULL);
    return trace(pid, strtol(argv[1], NULL, 10), argv[2]);
}
