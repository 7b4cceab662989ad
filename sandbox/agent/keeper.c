/*
 * The keeper of one process:
 *
 *   RUNNING --its process reaped--> ENDED
 *      +--proc_stop, or the socket's end--> STOPPING --no descendant left, or given up--> gone
 *
 * What the agent process had is not used any more: the loop is new, the descriptors are closed, and
 * libuv's signals, which belong to the whole process, are replaced by a descriptor of our own.
 */
#include "sandbox/agent/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "process/descend.h"
#include "process/proc.h"
#include "sandbox/agent/agent.h"
#include "sandbox/agent/fence.h"

enum {
    KEPT_MAX = 1 << 20,    /* bytes of each stream that nobody has taken */
    PENDING_MAX = 1 << 20, /* bytes of input that the process has not taken */
    WAIT_MAX_MS = 60000,
    SWEEP_MS = 20,
    SIZE_MAX_CELLS = 4096
};

enum keeper_state { KEEPER_RUNNING, KEEPER_ENDED, KEEPER_STOPPING };

struct kept {
    struct pdk_buf data;
    uint64_t dropped; /* the oldest bytes, since the last clear */
};

struct keeper {
    struct agent *agent;
    struct pdk_fence *fence; /* NULL: not confined */
    int sock;
    uv_loop_t loop;
    uv_poll_t from_agent, on_signal;
    uv_timer_t ladder_timer, wait_timer;
    uv_pipe_t tty; /* the terminal's other side, where there is one */
    bool pty, tty_ended, input_closed;
    struct pdk_framer framer;
    enum keeper_state state;
    struct pdk_exec_request request;
    struct pdk_proc *proc; /* NULL once it has reported its end */
    struct pdk_proc_end end;
    bool leader_gone;
    struct kept outputs[2];
    struct pdk_ladder ladder;
    int stragglers;
    int64_t handle;
    int64_t read_call, stop_call; /* 0: none waits */
    bool read_clear;
};

/* ---- frames: the agent always reads, so that sending may block */

static void send_all(const struct keeper *k, const struct pdk_buf *text)
{
    size_t done = 0;

    while (done < text->len) {
        struct pollfd room = { .fd = k->sock, .events = POLLOUT };
        ssize_t n = send(k->sock, text->data + done, text->len - done, MSG_NOSIGNAL);

        if (n < 0 && errno == EAGAIN)
            (void)poll(&room, 1, -1);
        else if (n < 0 && errno != EINTR)
            return; /* the agent is gone: the socket's end is seen next */
        done += n > 0 ? (size_t)n : 0;
    }
}

static void refuse(
        const struct keeper *k, int64_t id, enum pdk_wire_error code, const char *message)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (pdk_frame_error(&text, id, code, message, NULL) == 0)
        send_all(k, &text);
}

static void answer(const struct keeper *k, int64_t id, struct pdk_json *result)
{
    PDK_AUTO_JSON struct pdk_json *owned = result;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_frame_result(&text, id, owned, &err) == 0)
        send_all(k, &text);
    else
        refuse(k, id, PDK_WIRE_IO, err.msg);
}

/* ---- output */

static void put_end(const struct keeper *k, struct pdk_json *v)
{
    (void)pdk_json_set_str(v, "nonce", k->request.nonce);
    (void)pdk_json_set_bool(v, "running", !k->leader_gone);
    (void)pdk_json_set_int(v, "exit_code", k->leader_gone ? k->end.exit_code : -1);
    (void)pdk_json_set_int(v, "signal", k->leader_gone ? k->end.signal : 0);
}

static bool put_kept(
        struct keeper *k, int which, struct pdk_json *v, bool clear, size_t *room)
{
    static const char *const keys[2][2] = { { "stdout", "stdout_dropped" },
        { "stderr", "stderr_dropped" } };
    struct kept *kept = &k->outputs[which];
    size_t n = pdk_agent_fit(pdk_buf_str(&kept->data), kept->data.len, room);
    bool more = n < kept->data.len;

    (void)pdk_json_set_bytes(v, keys[which][0], pdk_buf_str(&kept->data), n);
    (void)pdk_json_set_int(v, keys[which][1], (int64_t)kept->dropped);
    if (clear) {
        pdk_buf_drop(&kept->data, n);
        kept->dropped = 0;
    }
    return more;
}

static void answer_read(struct keeper *k)
{
    struct pdk_json *result = pdk_json_object();
    size_t room = PDK_FRAME_MAX - 4096;
    bool more_out = put_kept(k, 0, result, k->read_clear, &room);
    bool more_err = put_kept(k, 1, result, k->read_clear, &room);

    (void)pdk_json_set_bool(result, "more", more_out || more_err);
    put_end(k, result);
    (void)uv_timer_stop(&k->wait_timer);
    answer(k, k->read_call, result);
    k->read_call = 0;
}

static bool has_news(const struct keeper *k)
{
    return k->outputs[0].data.len > 0 || k->outputs[1].data.len > 0 ||
            (k->leader_gone && !k->proc);
}

static void keep(struct keeper *k, int fd, const char *data, size_t len)
{
    struct kept *kept = &k->outputs[fd - 1];

    pdk_buf_add(&kept->data, data, len);
    if (kept->data.failed)
        pdk_buf_fini(&kept->data);
    if (kept->data.len > KEPT_MAX) {
        kept->dropped += kept->data.len - KEPT_MAX;
        pdk_buf_drop(&kept->data, kept->data.len - KEPT_MAX);
    }
    if (k->read_call && has_news(k))
        answer_read(k);
}

static void keeper_on_output(
        struct pdk_proc *proc, int fd, const char *data, size_t len, void *user)
{
    (void)proc;
    keep(user, fd, data, len);
}

/* ---- the end */

static void reap_orphans(const struct keeper *k)
{
    for (;;) {
        siginfo_t info = { 0 };

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
            return;
        if (k->proc && !k->leader_gone && info.si_pid == pdk_proc_pid(k->proc))
            return;
        (void)waitpid(info.si_pid, NULL, 0);
    }
}

_Noreturn static void finish(struct keeper *k, int leaked)
{
    struct pdk_json *result = pdk_json_object();

    if (k->read_call)
        answer_read(k);
    put_end(k, result);
    (void)pdk_json_set_int(result, "stragglers", k->stragglers);
    (void)pdk_json_set_int(result, "leaked", leaked);
    if (k->stop_call)
        answer(k, k->stop_call, result);
    pdk_fence_free(k->fence);
    _exit(0);
}

static void keeper_on_step(uv_timer_t *timer);

/* The only place that moves the state. */
static void step(struct keeper *k)
{
    struct pdk_err err = PDK_ERR_INIT;
    int64_t wait = -1;
    int sig;

    reap_orphans(k);
    if (k->state == KEEPER_RUNNING && k->leader_gone)
        k->state = KEEPER_ENDED;
    if (k->read_call && has_news(k))
        answer_read(k);
    if (k->state != KEEPER_STOPPING)
        return;
    if (pdk_descend_none() && !k->proc)
        finish(k, 0);
    sig = pdk_ladder_step(&k->ladder, pdk_clock_ms(), &wait);
    if (sig != 0)
        (void)pdk_descend_signal(
                sig, &err); /* what cannot be scanned is at the next step */
    if (sig == SIGTERM || sig == SIGINT)
        (void)pdk_descend_signal(SIGCONT, &err);
    if (k->ladder.state == PDK_LADDER_GIVEN_UP)
        finish(k, pdk_descend_count(&err) > 0 ? pdk_descend_count(&err) : 1);
    (void)uv_timer_start(&k->ladder_timer, keeper_on_step, SWEEP_MS, 0);
}

static void keeper_on_step(uv_timer_t *timer)
{
    step(timer->data);
}

static void begin_stop(struct keeper *k)
{
    struct pdk_err err = PDK_ERR_INIT;
    int alive;

    if (k->state == KEEPER_STOPPING)
        return;
    reap_orphans(k);
    alive = pdk_descend_none() ? 0 : pdk_descend_count(&err);
    k->stragglers = k->leader_gone && alive > 0 ? alive : 0;
    k->state = KEEPER_STOPPING;
    pdk_ladder_start(&k->ladder, &k->request.graces, pdk_clock_ms());
    step(k);
}

static void keeper_on_reaped(
        struct pdk_proc *proc, const struct pdk_proc_end *end, void *user)
{
    struct keeper *k = user;

    (void)proc;
    k->leader_gone = true;
    k->end = *end;
    step(k);
}

static void keeper_on_end(
        struct pdk_proc *proc, const struct pdk_proc_end *end, void *user)
{
    struct keeper *k = user;

    (void)proc;
    (void)end;
    k->proc = NULL;
    step(k);
}

static void keeper_on_signal(uv_poll_t *poll, int status, int events)
{
    struct keeper *k = poll->data;
    struct signalfd_siginfo info;
    uv_os_fd_t fd = -1;

    (void)status;
    (void)events;
    (void)uv_fileno((uv_handle_t *)poll, &fd);
    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        ;
    step(k);
}

/* ---- requests */

static void keeper_on_waited(uv_timer_t *timer)
{
    answer_read(timer->data);
}

static void read_output(struct keeper *k, int64_t id, const struct pdk_json *params)
{
    int64_t wait = pdk_json_get_int(params, "wait_ms", 0);

    if (wait < 0 || wait > WAIT_MAX_MS) {
        refuse(k, id, PDK_WIRE_BAD_PARAMS, "wait_ms is 0 to 60000");
        return;
    }
    if (k->read_call) {
        refuse(k, id, PDK_WIRE_BUSY, "another proc_read waits");
        return;
    }
    k->read_call = id;
    k->read_clear = pdk_json_get_bool(params, "clear", false);
    if (wait == 0 || has_news(k))
        answer_read(k);
    else
        (void)uv_timer_start(&k->wait_timer, keeper_on_waited, (uint64_t)wait, 0);
}

struct tty_write {
    uv_write_t request;
    char data[];
};

static void keeper_on_written(uv_write_t *request, int status)
{
    (void)status; /* a terminal that nobody has open is seen by its end */
    free(request->data);
}

static int write_tty(struct keeper *k, const char *data, size_t len)
{
    struct tty_write *w = malloc(sizeof(*w) + len);
    uv_buf_t buf;

    if (!w)
        return -1;
    memcpy(w->data, data, len);
    w->request.data = w;
    buf = uv_buf_init(w->data, (unsigned int)len);
    if (uv_write(&w->request, (uv_stream_t *)&k->tty, &buf, 1, keeper_on_written) == 0)
        return 0;
    free(w);
    return -1;
}

static int write_input(struct keeper *k, const struct pdk_buf *data)
{
    if (data->len == 0)
        return 0;
    if (k->pty)
        return k->tty_ended ? -1 : write_tty(k, data->data, data->len);
    return k->proc ? pdk_proc_write(k->proc, data->data, data->len, NULL) : -1;
}

static void close_input(struct keeper *k)
{
    k->input_closed = true;
    if (k->pty)
        (void)write_tty(k, "\004", 1);
    else if (k->proc)
        pdk_proc_close_stdin(k->proc);
}

static size_t pending(const struct keeper *k)
{
    if (k->pty)
        return uv_stream_get_write_queue_size((const uv_stream_t *)&k->tty);
    return k->proc ? pdk_proc_pending(k->proc) : 0;
}

/* Fills a size from rows and cols; false where they are no size. */
static bool take_size(const struct pdk_json *params, struct winsize *size)
{
    int64_t rows = pdk_json_get_int(params, "rows", 24),
            cols = pdk_json_get_int(params, "cols", 80);

    if (rows < 1 || rows > SIZE_MAX_CELLS || cols < 1 || cols > SIZE_MAX_CELLS)
        return false;
    size->ws_row = (unsigned short)rows;
    size->ws_col = (unsigned short)cols;
    return true;
}

/* False where it was refused. */
static bool resize(struct keeper *k, int64_t id, const struct pdk_json *params)
{
    struct winsize size = { 0 };
    uv_os_fd_t fd = -1;

    if (!pdk_json_get(params, "rows") && !pdk_json_get(params, "cols"))
        return true;
    if (!k->pty || !take_size(params, &size)) {
        refuse(k, id, PDK_WIRE_BAD_PARAMS,
                "only a terminal has rows and cols, 1 to 4096");
        return false;
    }
    if (uv_fileno((uv_handle_t *)&k->tty, &fd) == 0)
        (void)ioctl(fd, TIOCSWINSZ, &size); /* a terminal that has ended has no size */
    return true;
}

static void take_input(struct keeper *k, int64_t id, const struct pdk_json *params)
{
    PDK_AUTO_BUF struct pdk_buf data = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_json *result;

    if (pdk_json_get_bytes(params, "data", &data, &err) < 0) {
        refuse(k, id, PDK_WIRE_BAD_PARAMS, err.msg);
        return;
    }
    if (!resize(k, id, params))
        return;
    if (data.len > 0 && pending(k) > PENDING_MAX) {
        refuse(k, id, PDK_WIRE_BUSY, "the process does not take its input");
        return;
    }
    if ((data.len > 0 && k->input_closed) || write_input(k, &data) < 0) {
        refuse(k, id, PDK_WIRE_IO, "its input is closed");
        return;
    }
    if (pdk_json_get_bool(params, "close", false) && !k->input_closed)
        close_input(k);
    result = pdk_json_object();
    (void)pdk_json_set_int(result, "accepted", (int64_t)data.len);
    (void)pdk_json_set_int(result, "pending", (int64_t)pending(k));
    answer(k, id, result);
}

static void take_stop(struct keeper *k, int64_t id, const struct pdk_json *params)
{
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_json_get(params, "graces") &&
            pdk_graces_from_json(params, &k->request.graces, &err) < 0) {
        refuse(k, id, PDK_WIRE_BAD_PARAMS, err.msg);
        return;
    }
    k->stop_call = id;
    begin_stop(k);
}

static int keeper_on_frame(struct pdk_json *frame, const struct pdk_err *why, void *user)
{
    struct keeper *k = user;
    const char *method = pdk_json_get_str(frame, "method", "");
    const struct pdk_json *params = pdk_json_get(frame, "params");
    int64_t id = pdk_json_get_int(frame, "id", 0);

    (void)why;
    if (k->state == KEEPER_STOPPING) {
        refuse(k, id, PDK_WIRE_BUSY, "the process is being stopped");
    } else if (strcmp(method, pdk_verb_name(PDK_VERB_PROC_READ)) == 0) {
        read_output(k, id, params);
    } else if (strcmp(method, pdk_verb_name(PDK_VERB_PROC_STDIN)) == 0) {
        take_input(k, id, params);
    } else if (strcmp(method, pdk_verb_name(PDK_VERB_PROC_STOP)) == 0) {
        take_stop(k, id, params);
    }
    return 0;
}

static void keeper_on_agent(uv_poll_t *poll, int status, int events)
{
    struct keeper *k = poll->data;
    char chunk[8192];
    ssize_t n = recv(k->sock, chunk, sizeof(chunk), MSG_DONTWAIT);

    (void)status;
    (void)events;
    if (n > 0)
        (void)pdk_framer_feed(&k->framer, chunk, (size_t)n, keeper_on_frame, k);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        (void)uv_poll_stop(poll);
        begin_stop(k);
    }
}

/* ---- the start */

static void keeper_on_tty_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static char chunk[64 << 10];

    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(chunk, sizeof(chunk));
}

static void keeper_on_tty(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct keeper *k = stream->data;

    if (n > 0)
        keep(k, 1, buf->base, (size_t)n);
    if (n >= 0)
        return;
    k->tty_ended = true; /* nobody has it open any more */
    (void)uv_read_stop(stream);
}

static int open_tty(
        struct keeper *k, const struct pdk_json *params, int *theirs, struct pdk_err *err)
{
    struct winsize size = { 0 };
    int ours = -1;

    if (!take_size(params, &size))
        return pdk_fail(err, PDK_EINVAL, 0, "rows and cols are 1 to 4096");
    if (openpty(&ours, theirs, NULL, NULL, &size) < 0)
        return pdk_fail(err, PDK_EIO, errno, "no terminal can be had");
    (void)fcntl(ours, F_SETFD, FD_CLOEXEC);
    (void)fcntl(*theirs, F_SETFD, FD_CLOEXEC);
    (void)uv_pipe_init(&k->loop, &k->tty, 0);
    k->tty.data = k;
    k->pty = true;
    if (uv_pipe_open(&k->tty, ours) < 0)
        return pdk_fail(err, PDK_EIO, 0, "cannot watch the terminal");
    return 0;
}

/* Where the confinement that was asked for cannot be had, nothing runs. */
static int start_fenced(struct keeper *k, struct pdk_spawn_spec *spec,
        const struct pdk_proc_handlers *handlers, struct pdk_err *err)
{
    int rc;

    if (k->request.policy.mode != PDK_CONFINE_NONE &&
            pdk_fence_open(k->agent, &k->request, &k->fence, err) < 0)
        return err->code;
    if (k->fence)
        pdk_fence_apply(k->fence, spec);
    /* A shim makes the terminal that of the command's session, which is inside. */
    if (k->pty && !(k->fence && pdk_fence_processes(k->fence) > 0))
        spec->flags |= PDK_SPAWN_TTY;
    rc = pdk_proc_start(&k->loop, spec, true, handlers, k, &k->proc, err);
    if (k->fence)
        pdk_fence_started(k->fence);
    if (rc < 0)
        pdk_fence_free(k->fence);
    return rc;
}

static int start(struct keeper *k, const struct pdk_json *params, struct pdk_err *err)
{
    static const struct pdk_proc_handlers handlers = { keeper_on_output, keeper_on_reaped,
        keeper_on_end };
    static const char *const no_env[] = { NULL };
    PDK_AUTO_FD int theirs = -1;
    PDK_AUTO_FD int cwd = pdk_agent_open(
            k->agent, k->request.cwd ? k->request.cwd : ".", O_RDONLY | O_DIRECTORY);
    struct pdk_spawn_spec spec = {
        .argv = (const char *const *)k->request.argv.items,
        .envp = k->request.env.items ? (const char *const *)k->request.env.items : no_env,
        .cwd_fd = cwd,
        .fds = { -1, -1, -1 },
    };
    int rc;

    if (cwd < 0)
        return pdk_fail(
                err, pdk_code_of_errno(errno), errno, "cannot enter its directory");
    if (pdk_json_get_bool(params, "pty", false)) {
        if (open_tty(k, params, &theirs, err) < 0)
            return err->code;
        spec.fds[0] = spec.fds[1] = spec.fds[2] = theirs;
    }
    rc = start_fenced(k, &spec, &handlers, err);
    if (rc < 0)
        return rc;
    if (k->pty)
        (void)uv_read_start((uv_stream_t *)&k->tty, keeper_on_tty_alloc, keeper_on_tty);
    return 0;
}

static void answer_spawn(struct keeper *k, int64_t call)
{
    struct pdk_json *result = pdk_json_object();

    (void)pdk_json_set_str(result, "nonce", k->request.nonce);
    (void)pdk_json_set_int(result, "handle", k->handle);
    (void)pdk_json_set_int(result, "pid", pdk_proc_pid(k->proc));
    answer(k, call, result);
}

/* Of the agent's descriptors only the root's and stderr stay, and our own socket. */
static void close_others(int keep_one, int keep_two)
{
    unsigned int low = (unsigned int)(keep_one < keep_two ? keep_one : keep_two);
    unsigned int high = (unsigned int)(keep_one < keep_two ? keep_two : keep_one);

    if (low > 3)
        (void)syscall(SYS_close_range, 3U, low - 1, 0U);
    if (high > low + 1)
        (void)syscall(SYS_close_range, low + 1, high - 1, 0U);
    (void)syscall(SYS_close_range, high + 1, ~0U, 0U);
}

/* A descriptor that is readable when a child has ended; other signals are for the agent. */
static int listen_to_children(void)
{
    static const int others[] = { SIGTERM, SIGINT, SIGHUP };
    sigset_t set;

    (void)signal(SIGCHLD, SIG_DFL);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        (void)signal(others[i], SIG_IGN);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void watch(struct keeper *k, int signals)
{
    (void)uv_timer_init(&k->loop, &k->ladder_timer);
    (void)uv_timer_init(&k->loop, &k->wait_timer);
    k->ladder_timer.data = k->wait_timer.data = k;
    k->from_agent.data = k->on_signal.data = k;
    if (uv_poll_init(&k->loop, &k->from_agent, k->sock) < 0 ||
            uv_poll_init(&k->loop, &k->on_signal, signals) < 0)
        _exit(1);
    (void)uv_poll_start(&k->from_agent, UV_READABLE, keeper_on_agent);
    (void)uv_poll_start(&k->on_signal, UV_READABLE, keeper_on_signal);
}

static enum pdk_wire_error wire_of(const struct pdk_err *err)
{
    if (err->code == PDK_EUNAVAIL)
        return PDK_WIRE_DENIED;
    if (err->os_errno)
        return pdk_agent_wire_of_errno(err->os_errno);
    return err->code == PDK_EINVAL ? PDK_WIRE_BAD_PARAMS : PDK_WIRE_IO;
}

_Noreturn void pdk_keeper_main(struct agent *a, int sock, int64_t call, int64_t handle,
        const struct pdk_json *params)
{
    static struct keeper k;
    struct pdk_err err = PDK_ERR_INIT;
    int signals;

    close_others(sock, a->root_fd);
    (void)setsid(); /* signals to the agent's group are not for us */
    signals = listen_to_children();
    k.agent = a;
    k.sock = sock;
    k.handle = handle;
    if (signals < 0 || uv_loop_init(&k.loop) < 0 || pdk_descend_adopt(&err) < 0)
        _exit(1);
    watch(&k, signals);
    if (pdk_exec_request_from_json(params, &k.request, &err) < 0 ||
            start(&k, params, &err) < 0) {
        refuse(&k, call, wire_of(&err), err.msg);
        _exit(0);
    }
    answer_spawn(&k, call);
    (void)uv_run(&k.loop, UV_RUN_DEFAULT);
    _exit(0);
}
