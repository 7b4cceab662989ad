#include "process/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "process/spawn.h"

enum { DEFAULT_TIMEOUT_MS = 60000, DEFAULT_OUTPUT = 64 << 20, CHUNK = 64 << 10 };

/* Our ends of the child's three streams; -1 once closed. */
struct talk {
    const struct pdk_run_spec *spec;
    struct pdk_run_result *result;
    int in, out, err;
    size_t written;
    size_t max;
    int64_t deadline_ms;
};

void pdk_run_result_fini(struct pdk_run_result *result)
{
    pdk_buf_fini(&result->out);
    pdk_buf_fini(&result->err);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static int read_some(int *fd, struct pdk_buf *to, size_t max, struct pdk_err *err)
{
    char *room = pdk_buf_room(to, CHUNK);
    ssize_t n = room ? read(*fd, room, CHUNK) : -1;

    if (!room)
        return pdk_fail_nomem(err);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN
                ? 0
                : pdk_fail(err, PDK_EIO, errno, "cannot read its output");
    if (n == 0)
        close_fd(fd);
    to->len += (size_t)n;
    to->data[to->len] = '\0';
    if (to->len > max)
        return pdk_fail(err, PDK_EIO, 0, "it wrote more than %zu bytes", max);
    return 0;
}

/* A child that takes no more input has its reasons; its exit code tells. */
static void write_some(struct talk *t)
{
    const char *from = t->spec->input;
    ssize_t n = write(t->in, from + t->written, t->spec->input_len - t->written);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0)
        t->written += (size_t)n;
    if (n < 0 || t->written == t->spec->input_len)
        close_fd(&t->in);
}

static int talk_once(struct talk *t, struct pdk_err *err)
{
    struct pollfd fds[3] = { { t->in, POLLOUT, 0 }, { t->out, POLLIN, 0 },
        { t->err, POLLIN, 0 } };
    int64_t left = t->deadline_ms - pdk_clock_ms();
    int n = left > 0 ? poll(fds, 3, (int)left) : 0;

    if (n < 0 && errno != EINTR)
        return pdk_fail(err, PDK_EIO, errno, "cannot wait for it");
    if (n == 0)
        return pdk_fail(err, PDK_ETIMEDOUT, 0, "no end after its time limit");
    if (fds[0].revents)
        write_some(t);
    if (fds[1].revents && read_some(&t->out, &t->result->out, t->max, err) < 0)
        return err->code;
    if (fds[2].revents && read_some(&t->err, &t->result->err, t->max, err) < 0)
        return err->code;
    return 0;
}

/* After its streams have ended: the child itself, within the same deadline. */
static int await_end(
        const struct pdk_child *child, int64_t deadline_ms, struct pdk_err *err)
{
    struct pollfd fd = { child->pidfd, POLLIN, 0 };

    for (;;) {
        int64_t left = deadline_ms - pdk_clock_ms();
        int n = left > 0 ? poll(&fd, 1, (int)left) : 0;

        if (n > 0)
            return 0;
        if (n == 0)
            return pdk_fail(err, PDK_ETIMEDOUT, 0, "no end after its time limit");
        if (errno != EINTR)
            return pdk_fail(err, PDK_EIO, errno, "cannot wait for it");
    }
}

static void reap(const struct pdk_child *child, struct pdk_run_result *result)
{
    int status = 0;

    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int converse(struct talk *t, const struct pdk_child *child, struct pdk_err *err)
{
    int rc = 0;

    while (rc == 0 && (t->in >= 0 || t->out >= 0 || t->err >= 0))
        rc = talk_once(t, err);
    if (rc == 0)
        rc = await_end(child, t->deadline_ms, err);
    if (rc < 0)
        (void)kill(-child->pid, SIGKILL); /* its session is its own: the group goes */
    reap(child, t->result);
    return rc;
}

/* One pipe; ours does not block where we write. */
static int make_pipe(int *ours, int *theirs, bool we_write, struct pdk_err *err)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make a pipe");
    *ours = fds[we_write ? 1 : 0];
    *theirs = fds[we_write ? 0 : 1];
    (void)fcntl(*ours, F_SETFL, O_NONBLOCK); /* cannot fail on a fresh pipe */
    return 0;
}

int pdk_run(
        const struct pdk_run_spec *spec, struct pdk_run_result *out, struct pdk_err *err)
{
    PDK_AUTO_FD int child_in = -1;
    PDK_AUTO_FD int child_out = -1;
    PDK_AUTO_FD int child_err = -1;
    struct talk t = { .spec = spec, .result = out, .in = -1, .out = -1, .err = -1 };
    struct pdk_spawn_spec child_spec = {
        .argv = spec->argv, .envp = spec->envp, .cwd = spec->cwd, .cwd_fd = -1
    };
    struct pdk_child child = { -1, -1 };
    int rc = 0;

    t.max = spec->max_output ? spec->max_output : DEFAULT_OUTPUT;
    t.deadline_ms =
            pdk_clock_ms() + (spec->timeout_ms ? spec->timeout_ms : DEFAULT_TIMEOUT_MS);
    if (spec->input)
        rc = make_pipe(&t.in, &child_in, true, err);
    if (rc == 0)
        rc = make_pipe(&t.out, &child_out, false, err);
    if (rc == 0)
        rc = make_pipe(&t.err, &child_err, false, err);
    child_spec.fds[0] = child_in;
    child_spec.fds[1] = child_out;
    child_spec.fds[2] = child_err;
    if (rc == 0)
        rc = pdk_spawn(&child_spec, &child, NULL, err);
    close_fd(&child_in);
    close_fd(&child_out);
    close_fd(&child_err);
    if (rc == 0) {
        rc = converse(&t, &child, err);
        close_fd(&child.pidfd);
        if (rc < 0)
            (void)pdk_wrap(err, "'%s'", spec->argv[0]);
    }
    close_fd(&t.in);
    close_fd(&t.out);
    close_fd(&t.err);
    return rc;
}

int pdk_run_ok(
        const struct pdk_run_spec *spec, struct pdk_run_result *out, struct pdk_err *err)
{
    const char *said;

    if (pdk_run(spec, out, err) < 0)
        return err->code;
    if (out->exit_code == 0)
        return 0;
    said = pdk_buf_str(&out->err);
    if (out->signal)
        return pdk_fail(err, PDK_EIO, 0, "'%s %s' was ended by signal %d", spec->argv[0],
                spec->argv[1] ? spec->argv[1] : "", out->signal);
    return pdk_fail(err, PDK_EIO, 0, "'%s %s' exited with %d: %.*s", spec->argv[0],
            spec->argv[1] ? spec->argv[1] : "", out->exit_code, (int)strcspn(said, "\n"),
            said);
}
