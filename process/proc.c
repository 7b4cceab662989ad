/*
 * One child on the loop:
 *
 *   RUNNING --child reaped--> DRAINING --outputs at their end, or drain timer--> CLOSING --all
 *   handles closed--> on_end, freed
 *
 * Callbacks record, then call step(), the only place that moves the state. Every handle is embedded;
 * `open` counts those that still have to report their close.
 */
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/auto.h"
#include "base/error.h"

enum { READ_CHUNK = 64 << 10, DRAIN_MS = 1000, LAST_CHUNKS = 16 /* a pipe holds less */ };

enum proc_state { PROC_RUNNING, PROC_DRAINING, PROC_CLOSING };

struct stream {
    uv_pipe_t pipe;
    bool used;  /* initialised: must be closed */
    bool ended; /* at its end, or never there */
};

struct pdk_proc {
    struct pdk_proc_handlers handlers;
    void *user;
    enum proc_state state;
    pid_t pid;
    int pidfd;
    uv_poll_t exit_watch;
    uv_timer_t drain;
    struct stream in, outputs[2];
    bool reaped, drained, paused;
    int open; /* handles not yet closed */
    struct pdk_proc_end end;
    char chunk[READ_CHUNK];
};

static void proc_on_closed(uv_handle_t *handle)
{
    struct pdk_proc *p = handle->data;
    struct pdk_proc_end end = p->end;

    /* Stdin may close early, by itself. */
    if (--p->open > 0 || p->state != PROC_CLOSING)
        return;
    if (p->pidfd >= 0)
        (void)close(p->pidfd);
    p->handlers.on_end(p, &end, p->user);
    free(p);
}

static void close_handle(struct pdk_proc *p, uv_handle_t *handle)
{
    if (uv_is_closing(handle))
        return;
    p->open++;
    uv_close(handle, proc_on_closed);
}

static void close_all(struct pdk_proc *p)
{
    close_handle(p, (uv_handle_t *)&p->exit_watch);
    close_handle(p, (uv_handle_t *)&p->drain);
    if (p->in.used)
        close_handle(p, (uv_handle_t *)&p->in.pipe);
    for (int i = 0; i < 2; i++)
        if (p->outputs[i].used)
            close_handle(p, (uv_handle_t *)&p->outputs[i].pipe);
}

/* What a pipe that stayed open still holds: its reading may have been paused until now. */
static void read_rest(struct pdk_proc *p, int which)
{
    struct stream *s = &p->outputs[which];
    uv_os_fd_t fd = -1;

    if (!s->used || s->ended || uv_fileno((uv_handle_t *)&s->pipe, &fd) < 0)
        return;
    for (int i = 0; i < LAST_CHUNKS; i++) {
        ssize_t n = read(fd, p->chunk, sizeof(p->chunk)); /* does not block */

        if (n <= 0)
            return;
        if (p->handlers.on_output)
            p->handlers.on_output(p, which + 1, p->chunk, (size_t)n, p->user);
    }
}

static void proc_on_drain(uv_timer_t *timer);

/* The only place that moves the state. */
static void step(struct pdk_proc *p)
{
    bool ended = p->outputs[0].ended && p->outputs[1].ended;

    switch (p->state) {
    case PROC_RUNNING:
        if (!p->reaped)
            return;
        p->state = PROC_DRAINING;
        (void)uv_timer_start(&p->drain, proc_on_drain, DRAIN_MS, 0);
        step(p);
        return;
    case PROC_DRAINING:
        if (!ended && !p->drained)
            return;
        read_rest(p, 0);
        read_rest(p, 1);
        p->state = PROC_CLOSING;
        close_all(p);
        return;
    case PROC_CLOSING:
        return;
    }
}

static void proc_on_drain(uv_timer_t *timer)
{
    struct pdk_proc *p = timer->data;

    p->drained = true;
    step(p);
}

static void proc_on_exit(uv_poll_t *poll, int status, int events)
{
    struct pdk_proc *p = poll->data;
    int wait_status = 0;
    pid_t pid = waitpid(p->pid, &wait_status, WNOHANG);

    (void)status;
    (void)events;
    if (pid == 0)
        return;
    /* Somebody else reaped it: an end that nobody saw is no exit with 0. */
    p->end.exit_code = pid > 0 && WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    p->end.signal = pid > 0 && WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    p->reaped = true;
    (void)uv_poll_stop(poll);
    if (p->handlers.on_reaped)
        p->handlers.on_reaped(p, &p->end, p->user);
    step(p);
}

static void proc_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct pdk_proc *p = handle->data;

    (void)suggested;
    *buf = uv_buf_init(p->chunk, sizeof(p->chunk));
}

static void proc_on_read(uv_stream_t *pipe, ssize_t n, const uv_buf_t *buf)
{
    struct pdk_proc *p = pipe->data;
    int which = pipe == (uv_stream_t *)&p->outputs[1].pipe;

    if (n > 0 && p->state != PROC_CLOSING && p->handlers.on_output)
        p->handlers.on_output(p, which + 1, buf->base, (size_t)n, p->user);
    if (n >= 0)
        return;
    p->outputs[which].ended = true;
    (void)uv_read_stop(pipe);
    step(p);
}

/* ---- starting */

/* A pipe whose one end the child gets in *theirs. */
static int make_stream(struct pdk_proc *p, uv_loop_t *loop, struct stream *s,
        bool we_write, int *theirs, struct pdk_err *err)
{
    int fds[2];
    int ours, rc;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make a pipe");
    ours = fds[we_write ? 1 : 0];
    *theirs = fds[we_write ? 0 : 1];
    (void)uv_pipe_init(loop, &s->pipe, 0); /* cannot fail */
    s->used = true;
    s->pipe.data = p;
    rc = uv_pipe_open(&s->pipe, ours);
    if (rc < 0) {
        (void)close(ours);
        return pdk_fail(err, PDK_EIO, -rc, "cannot watch a pipe");
    }
    return 0;
}

struct ends {
    int fds[3];
};

static void close_ends(struct ends *ends)
{
    for (int i = 0; i < 3; i++)
        if (ends->fds[i] >= 0)
            (void)close(ends->fds[i]);
}

static int make_streams(struct pdk_proc *p, uv_loop_t *loop,
        const struct pdk_spawn_spec *spec, bool want_stdin, struct ends *ends,
        struct pdk_err *err)
{
    p->outputs[0].ended = p->outputs[1].ended = true;
    if (want_stdin && spec->fds[0] < 0 &&
            make_stream(p, loop, &p->in, true, &ends->fds[0], err) < 0)
        return err->code;
    for (int i = 0; i < 2; i++) {
        if (spec->fds[i + 1] >= 0)
            continue;
        if (make_stream(p, loop, &p->outputs[i], false, &ends->fds[i + 1], err) < 0)
            return err->code;
        p->outputs[i].ended = false;
    }
    return 0;
}

static int start_child(struct pdk_proc *p, uv_loop_t *loop,
        const struct pdk_spawn_spec *spec, const struct ends *ends, struct pdk_err *err)
{
    struct pdk_spawn_spec own = *spec;
    struct pdk_child child;

    for (int i = 0; i < 3; i++)
        if (ends->fds[i] >= 0)
            own.fds[i] = ends->fds[i];
    if (pdk_spawn(&own, &child, NULL, err) < 0)
        return err->code;
    p->pid = child.pid;
    p->pidfd = child.pidfd;
    /* UNTESTED: polling a fresh pidfd fails only when epoll does. */
    if (uv_poll_init(loop, &p->exit_watch, p->pidfd) < 0) {
        (void)kill(-child.pid, SIGKILL);
        (void)waitpid(child.pid, NULL, 0);
        return pdk_fail(err, PDK_EIO, 0, "cannot watch the child");
    }
    p->exit_watch.data = p;
    return 0;
}

static void proc_on_abandoned(uv_handle_t *handle)
{
    struct pdk_proc *p = handle->data;

    if (--p->open == 0)
        free(p);
}

/* Gives up one that never started: its handles still have to close. */
static void abandon(struct pdk_proc *p)
{
    uv_handle_t *handles[] = { (uv_handle_t *)&p->in.pipe,
        (uv_handle_t *)&p->outputs[0].pipe, (uv_handle_t *)&p->outputs[1].pipe,
        (uv_handle_t *)&p->drain };
    bool used[] = { p->in.used, p->outputs[0].used, p->outputs[1].used, true };

    if (p->pidfd >= 0)
        (void)close(p->pidfd);
    for (size_t i = 0; i < 4; i++)
        if (used[i]) {
            p->open++;
            uv_close(handles[i], proc_on_abandoned);
        }
}

static void begin_reading(struct pdk_proc *p)
{
    for (int i = 0; i < 2; i++)
        if (p->outputs[i].used && !p->outputs[i].ended)
            (void)uv_read_start(
                    (uv_stream_t *)&p->outputs[i].pipe, proc_on_alloc, proc_on_read);
}

int pdk_proc_start(struct uv_loop_s *loop, const struct pdk_spawn_spec *spec,
        bool want_stdin, const struct pdk_proc_handlers *handlers, void *user,
        struct pdk_proc **out, struct pdk_err *err)
{
    struct pdk_proc *p = calloc(1, sizeof(*p));
    struct ends ends = { { -1, -1, -1 } };
    int rc;

    if (!p)
        return pdk_fail_nomem(err);
    p->handlers = *handlers;
    p->user = user;
    p->pidfd = -1;
    (void)uv_timer_init(loop, &p->drain); /* cannot fail */
    p->drain.data = p;
    rc = make_streams(p, loop, spec, want_stdin, &ends, err);
    if (rc == 0)
        rc = start_child(p, loop, spec, &ends, err);
    close_ends(&ends);
    if (rc < 0) {
        abandon(p);
        return rc;
    }
    (void)uv_poll_start(&p->exit_watch, UV_READABLE, proc_on_exit);
    begin_reading(p);
    *out = p;
    return 0;
}

/* ---- in use */

struct write {
    uv_write_t request;
    char data[];
};

static void proc_on_written(uv_write_t *request, int status)
{
    (void)status; /* a reader that went away is seen as the child's end */
    free(request->data);
}

int pdk_proc_write(struct pdk_proc *p, const void *data, size_t len, struct pdk_err *err)
{
    struct write *w;
    uv_buf_t buf;
    int rc;

    if (!p->in.used || p->state == PROC_CLOSING ||
            uv_is_closing((uv_handle_t *)&p->in.pipe))
        return pdk_fail(err, PDK_EIO, 0, "its input is closed");
    w = malloc(sizeof(*w) + len);
    if (!w)
        return pdk_fail_nomem(err);
    memcpy(w->data, data, len);
    w->request.data = w;
    buf = uv_buf_init(w->data, (unsigned int)len);
    rc = uv_write(&w->request, (uv_stream_t *)&p->in.pipe, &buf, 1, proc_on_written);
    if (rc < 0) {
        free(w);
        return pdk_fail(err, PDK_EIO, -rc, "cannot write to it");
    }
    return 0;
}

size_t pdk_proc_pending(const struct pdk_proc *p)
{
    return p->in.used ? uv_stream_get_write_queue_size((const uv_stream_t *)&p->in.pipe)
                      : 0;
}

static void proc_on_shutdown(uv_shutdown_t *request, int status)
{
    struct pdk_proc *p = request->data;

    (void)status;
    free(request);
    if (p->in.used)
        close_handle(p, (uv_handle_t *)&p->in.pipe);
}

void pdk_proc_close_stdin(struct pdk_proc *p)
{
    uv_shutdown_t *request;

    if (!p->in.used || uv_is_closing((uv_handle_t *)&p->in.pipe))
        return;
    request = malloc(sizeof(*request));
    if (request) {
        request->data = p;
        if (uv_shutdown(request, (uv_stream_t *)&p->in.pipe, proc_on_shutdown) == 0)
            return;
        free(request);
    }
    close_handle(p, (uv_handle_t *)&p->in.pipe);
}

void pdk_proc_pause(struct pdk_proc *p)
{
    if (p->paused)
        return;
    p->paused = true;
    for (int i = 0; i < 2; i++)
        if (p->outputs[i].used && !p->outputs[i].ended)
            (void)uv_read_stop((uv_stream_t *)&p->outputs[i].pipe);
}

void pdk_proc_resume(struct pdk_proc *p)
{
    if (!p->paused || p->state == PROC_CLOSING)
        return;
    p->paused = false;
    begin_reading(p);
}

void pdk_proc_kill(struct pdk_proc *p, int sig)
{
    if (!p->reaped)
        (void)kill(-p->pid, sig); /* a group that is gone needs no signal */
}

pid_t pdk_proc_pid(const struct pdk_proc *p)
{
    return p->pid;
}
