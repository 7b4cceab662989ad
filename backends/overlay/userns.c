#include "backends/overlay/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"

/* What the helper has come to; the last one is success. */
enum step { STEP_MAP, STEP_PRIVATE, STEP_MOUNT, STEP_OPEN, STEP_DONE };

struct answer {
    enum step step;
    int os_errno;
};

/* Made before the helper is: between clone and exit it may call little. */
struct plan {
    const char *options, *target;
    char uid_map[64], gid_map[64];
    int socket;
};

static int put(const char *path, const char *text)
{
    size_t len = strlen(text);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, text, len);

    if (fd >= 0)
        (void)close(fd);
    return n == (ssize_t)len ? 0 : -1;
}

static void send_answer(int sock, struct answer answer, const int *fds)
{
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control = { .bytes = { 0 } };
    struct iovec data = { &answer, sizeof(answer) };
    struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

    if (fds) {
        struct cmsghdr *head;

        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(2 * sizeof(int));
        memcpy(CMSG_DATA(head), fds, 2 * sizeof(int));
    }
    (void)sendmsg(sock, &message, MSG_NOSIGNAL);
}

/* In the helper, which has its namespaces and all capabilities in them. */
static struct answer set_up(const struct plan *plan, int *fds)
{
    struct answer answer = { STEP_MAP, 0 };

    /* The same ids as outside: the user stays who they are, and nothing more. */
    if (put("/proc/self/setgroups", "deny") == 0 &&
            put("/proc/self/uid_map", plan->uid_map) == 0 &&
            put("/proc/self/gid_map", plan->gid_map) == 0)
        answer.step = STEP_PRIVATE;
    if (answer.step == STEP_PRIVATE &&
            mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        answer.step = STEP_MOUNT;
    if (answer.step == STEP_MOUNT &&
            mount("overlay", plan->target, "overlay", MS_NODEV | MS_NOSUID,
                    plan->options) == 0)
        answer.step = STEP_OPEN;
    if (answer.step == STEP_OPEN) {
        fds[0] = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
        fds[1] = open(plan->target, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fds[0] >= 0 && fds[1] >= 0)
            answer.step = STEP_DONE;
    }
    answer.os_errno = answer.step == STEP_DONE ? 0 : errno;
    return answer;
}

__attribute__((noreturn)) static void help(const struct plan *plan)
{
    int fds[2] = { -1, -1 };
    struct answer answer = set_up(plan, fds);

    send_answer(plan->socket, answer, answer.step == STEP_DONE ? fds : NULL);
    _exit(0);
}

static int receive(int sock, struct answer *answer, struct pdk_overlay_ns *out)
{
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec data = { answer, sizeof(*answer) };
    struct msghdr message = { .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes) };
    const struct cmsghdr *head;
    ssize_t n;
    int fds[2];

    do
        n = recvmsg(sock, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    head = n == (ssize_t)sizeof(*answer) ? CMSG_FIRSTHDR(&message) : NULL;
    if (head && head->cmsg_type == SCM_RIGHTS &&
            head->cmsg_len == CMSG_LEN(2 * sizeof(int))) {
        memcpy(fds, CMSG_DATA(head), sizeof(fds));
        *out = (struct pdk_overlay_ns){ fds[0], fds[1] };
    }
    return n == (ssize_t)sizeof(*answer) ? 0 : -1;
}

static int complain(const struct answer *answer, const char *target, struct pdk_err *err)
{
    static const char *const steps[] = {
        [STEP_MAP] = "its user namespace cannot be given this user's ids",
        [STEP_PRIVATE] = "its mounts cannot be made private",
        [STEP_MOUNT] = "the kernel refuses an overlay in a user namespace",
        [STEP_OPEN] = "it cannot be opened",
        [STEP_DONE] = "it was made, but not handed over",
    };

    return pdk_fail(err, PDK_EUNAVAIL, answer->os_errno,
            "an overlay at '%s' in a user namespace: %s", target, steps[answer->step]);
}

/* clone() as fork() is, but into new namespaces, which a process with threads cannot enter itself. */
static int ask_helper(struct plan *plan, struct pdk_overlay_ns *out, struct pdk_err *err)
{
    unsigned long flags = (unsigned long)(CLONE_NEWUSER | CLONE_NEWNS) | SIGCHLD;
    struct answer answer = { STEP_MAP, 0 };
    int ends[2];
    pid_t pid;
    int rc;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make a pair of sockets");
    plan->socket = ends[1];
    pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
    if (pid == 0)
        help(plan);
    if (pid < 0) {
        (void)pdk_fail(err, PDK_EUNAVAIL, errno, "user namespaces are refused here");
        (void)pdk_hint(err, "see user.max_user_namespaces, or the container's policy");
    }
    (void)close(ends[1]);
    rc = pid < 0 ? -1 : receive(ends[0], &answer, out);
    (void)close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (pid < 0)
        return err->code;
    if (rc == 0 && answer.step == STEP_DONE && out->root_fd >= 0)
        return 0;
    return complain(&answer, plan->target, err);
}

int pdk_overlay_ns_mount(const struct pdk_overlay_spec *spec, struct pdk_overlay_ns *out,
        struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf options = PDK_BUF_INIT;
    struct plan plan = { .target = spec->target };
    unsigned int uid = geteuid(), gid = getegid();

    *out = (struct pdk_overlay_ns)PDK_OVERLAY_NS_INIT;
    pdk_overlay_options(spec, &options);
    pdk_buf_adds(&options, ",userxattr");
    if (pdk_buf_ok(&options, err) < 0)
        return err->code;
    plan.options = options.data;
    (void)snprintf(plan.uid_map, sizeof(plan.uid_map), "%u %u 1", uid, uid);
    (void)snprintf(plan.gid_map, sizeof(plan.gid_map), "%u %u 1", gid, gid);
    return ask_helper(&plan, out, err);
}

void pdk_overlay_ns_close(struct pdk_overlay_ns *ns)
{
    if (ns->mnt_fd >= 0)
        (void)close(ns->mnt_fd);
    if (ns->root_fd >= 0)
        (void)close(ns->root_fd);
    *ns = (struct pdk_overlay_ns)PDK_OVERLAY_NS_INIT;
}
