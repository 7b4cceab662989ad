/* The conversation: frames in, answers out, heartbeats, the lease, the end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "paddock_config.h"
#include "sandbox/agent/agent.h"

enum {
    BEAT_MS = 5000,
    FLUSH_MS = 2000,
    READ_CHUNK = 64 << 10,
    END_SIGNALS = 3,
    BACKLOG_LOW = 256 << 10
};

/* What keeps the loop alive. */
struct wire {
    uv_pipe_t in, out;
    uv_signal_t on_child, on_end[END_SIGNALS];
    uv_timer_t beat;
    struct pdk_framer framer;
};

/* ---- out */

struct message {
    uv_write_t request;
    struct agent *agent;
    struct pdk_buf text;
};

static void server_on_sent(uv_write_t *request, int status)
{
    struct message *m = request->data;
    struct agent *a = m->agent;

    (void)status; /* a reader that went away is seen as the end of its input */
    pdk_buf_fini(&m->text);
    free(m);
    if (pdk_agent_backlog(a) < BACKLOG_LOW)
        pdk_agent_drained(a);
}

/* Takes the text. What cannot be sent is dropped: then the other side is gone or memory is. */
static void send_text(struct agent *a, struct pdk_buf *text)
{
    struct message *m = malloc(sizeof(*m));
    uv_buf_t buf;

    if (!m || text->failed || uv_is_closing((uv_handle_t *)&a->wire->out)) {
        free(m);
        pdk_buf_fini(text);
        return;
    }
    m->agent = a;
    m->text = *text;
    m->request.data = m;
    buf = uv_buf_init(m->text.data, (unsigned int)m->text.len);
    a->said_ms = pdk_clock_ms();
    if (uv_write(&m->request, (uv_stream_t *)&a->wire->out, &buf, 1, server_on_sent) <
            0) {
        pdk_buf_fini(&m->text);
        free(m);
    }
}

void pdk_agent_error(
        struct agent *a, int64_t id, enum pdk_wire_error code, const char *message)
{
    struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_frame_error(&text, id, code, message, &err) == 0)
        send_text(a, &text);
    else
        pdk_buf_fini(&text);
}

void pdk_agent_result(struct agent *a, int64_t id, struct pdk_json *result)
{
    PDK_AUTO_JSON struct pdk_json *owned = result;
    struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (owned && pdk_frame_result(&text, id, owned, &err) == 0) {
        send_text(a, &text);
        return;
    }
    pdk_buf_fini(&text);
    pdk_agent_error(
            a, id, err.code == PDK_EINVAL ? PDK_WIRE_TOO_LARGE : PDK_WIRE_IO, err.msg);
}

void pdk_agent_notify(struct agent *a, const char *method, struct pdk_json *params)
{
    PDK_AUTO_JSON struct pdk_json *owned = params;
    struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_frame_notify(&text, method, owned, &err) == 0)
        send_text(a, &text);
    else
        pdk_buf_fini(&text);
}

size_t pdk_agent_backlog(const struct agent *a)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&a->wire->out);
}

/* ---- the end */

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* The out pipe, and with it the last thing that keeps the loop alive. */
static void close_out(struct agent *a)
{
    close_handle((uv_handle_t *)&a->wire->beat);
    close_handle((uv_handle_t *)&a->wire->out);
}

static void server_on_flushed(uv_shutdown_t *request, int status)
{
    struct agent *a = request->data;

    (void)status;
    free(request);
    close_out(a);
}

/* A peer that holds the pipe and does not read: what it did not take is dropped. */
static void server_on_flush_late(uv_timer_t *timer)
{
    close_out(timer->data);
}

static void close_all(struct agent *a)
{
    uv_shutdown_t *flush;

    if (uv_is_closing((uv_handle_t *)&a->wire->in))
        return;
    flush = malloc(sizeof(*flush));
    close_handle((uv_handle_t *)&a->wire->in);
    close_handle((uv_handle_t *)&a->wire->on_child);
    for (size_t i = 0; i < END_SIGNALS; i++)
        close_handle((uv_handle_t *)&a->wire->on_end[i]);
    if (flush) {
        flush->data = a;
        if (uv_shutdown(flush, (uv_stream_t *)&a->wire->out, server_on_flushed) == 0) {
            (void)uv_timer_start(&a->wire->beat, server_on_flush_late, FLUSH_MS, 0);
            return;
        }
    }
    free(flush);
    close_out(a);
}

static void end(struct agent *a)
{
    if (a->ending)
        return;
    a->ending = true;
    pdk_agent_grep_cancel(a, 0);
    pdk_agent_end_keepers(a);
    if (a->job)
        pdk_agent_stop(a);
    pdk_agent_idle(a);
}

void pdk_agent_idle(struct agent *a)
{
    if (a->ending && !a->job && !a->searches && !a->keepers)
        close_all(a);
}

/* ---- time */

static void server_on_beat(uv_timer_t *timer)
{
    struct agent *a = timer->data;
    int64_t now = pdk_clock_ms();

    if (a->lease_ms > 0 && now - a->heard_ms > a->lease_ms)
        end(a);
    else if (a->initialized && now - a->said_ms >= a->heartbeat_ms)
        pdk_agent_notify(a, "ping", NULL);
}

/* Often enough for the heartbeat and the lease both. */
static void start_beat(struct agent *a)
{
    int64_t shorter = a->lease_ms > 0 && a->lease_ms < a->heartbeat_ms ? a->lease_ms
                                                                       : a->heartbeat_ms;
    uint64_t tick = shorter >= 5 ? (uint64_t)shorter / 5 : 1;

    (void)uv_timer_start(&a->wire->beat, server_on_beat, tick, tick);
}

/* ---- in */

typedef void (*verb_function)(struct agent *a, int64_t id, const struct pdk_json *params);

static verb_function find_function(enum pdk_verb verb);

static struct pdk_json *verbs_here(void)
{
    struct pdk_json *names = pdk_json_array();

    for (int verb = 0; verb < PDK_VERB_COUNT; verb++)
        if (find_function((enum pdk_verb)verb))
            (void)pdk_json_append(
                    names, pdk_json_str(pdk_verb_name((enum pdk_verb)verb)));
    return names;
}

static struct pdk_json *describe(const struct agent *a)
{
    struct pdk_json *v = pdk_json_object();
    PDK_AUTO_BUF struct pdk_buf boot = PDK_BUF_INIT;

    if (!v)
        return NULL;
    (void)pdk_fs_read(
            "/proc/sys/kernel/random/boot_id", 64, &boot, NULL); /* "" where unknown */
    (void)pdk_json_set_str(v, "agent", "paddock-agent " PDK_VERSION);
    (void)pdk_json_set_int(v, "protocol", PDK_PROTOCOL_VERSION);
    (void)pdk_json_set(v, "verbs", verbs_here());
    (void)pdk_json_set_str(v, "containment", a->pidns ? "pidns" : "subreaper");
    (void)pdk_json_set_str(v, "location", "local");
    (void)pdk_json_set_bytes(v, "root", a->root, strlen(a->root));
    (void)pdk_json_set_int(v, "pid", getpid());
    (void)pdk_json_set(v, "boot_id",
            pdk_json_strn(pdk_buf_str(&boot), strcspn(pdk_buf_str(&boot), "\n")));
    return v;
}

static void initialize(struct agent *a, int64_t id, const struct pdk_json *params)
{
    int64_t lease = pdk_json_get_int(params, "lease_ms", -1);
    int64_t heartbeat = pdk_json_get_int(params, "heartbeat_ms", BEAT_MS);

    if (a->initialized) {
        pdk_agent_error(a, id, PDK_WIRE_BAD_FRAME, "initialize comes once");
        return;
    }
    if (pdk_json_get_int(params, "protocol", 0) != PDK_PROTOCOL_VERSION ||
            heartbeat < 1) {
        pdk_agent_error(
                a, id, PDK_WIRE_BAD_PARAMS, "this agent speaks protocol version 1");
        return;
    }
    if (lease >= 0 && a->lease_ms == 0)
        a->lease_ms = lease;
    a->heartbeat_ms = heartbeat;
    a->initialized = true;
    start_beat(a);
    pdk_agent_result(a, id, describe(a));
}

static void descriptor(struct agent *a, int64_t id, const struct pdk_json *params)
{
    (void)params;
    pdk_agent_result(a, id, describe(a));
}

/* NULL: a verb that this agent does not offer. */
static verb_function find_function(enum pdk_verb verb)
{
    static const verb_function functions[PDK_VERB_COUNT] = {
        [PDK_VERB_DESCRIPTOR] = descriptor,
        [PDK_VERB_READ] = pdk_agent_read,
        [PDK_VERB_READ_MANY] = pdk_agent_read_many,
        [PDK_VERB_WRITE] = pdk_agent_write,
        [PDK_VERB_REMOVE] = pdk_agent_remove,
        [PDK_VERB_STAT_MANY] = pdk_agent_stat_many,
        [PDK_VERB_GLOB] = pdk_agent_glob,
        [PDK_VERB_GREP] = pdk_agent_grep,
        [PDK_VERB_FINGERPRINT] = pdk_agent_fingerprint,
        [PDK_VERB_EXEC] = pdk_agent_exec,
        [PDK_VERB_SPAWN] = pdk_agent_spawn,
        [PDK_VERB_PROC_READ] = pdk_agent_proc_read,
        [PDK_VERB_PROC_STDIN] = pdk_agent_proc_stdin,
        [PDK_VERB_PROC_STOP] = pdk_agent_proc_stop,
    };

    return functions[verb];
}

static void dispatch(
        struct agent *a, int64_t id, const char *method, const struct pdk_json *params)
{
    enum pdk_verb verb = pdk_verb_find(method);
    verb_function function = verb < PDK_VERB_COUNT ? find_function(verb) : NULL;

    if (strcmp(method, "initialize") == 0)
        initialize(a, id, params);
    else if (!a->initialized)
        pdk_agent_error(a, id, PDK_WIRE_BAD_FRAME, "initialize comes first");
    else if (verb == PDK_VERB_COUNT)
        pdk_agent_error(a, id, PDK_WIRE_UNKNOWN_METHOD, "unknown method");
    else if (!function)
        pdk_agent_error(a, id, PDK_WIRE_NOT_BUILT, "this agent does not offer that verb");
    else if (a->ending)
        pdk_agent_error(a, id, PDK_WIRE_CANCELED, "the agent is ending");
    else
        function(a, id, params);
}

static void cancel(struct agent *a, int64_t call, bool at_once)
{
    if (call <= 0)
        return;
    pdk_agent_cancel(a, call, at_once);
    pdk_agent_grep_cancel(a, call);
}

static void take_notification(
        struct agent *a, const char *method, const struct pdk_json *params)
{
    if (strcmp(method, "shutdown") == 0)
        end(a);
    else if (strcmp(method, "cancel") == 0)
        cancel(a, pdk_json_get_int(params, "call", 0),
                pdk_json_get_bool(params, "at_once", false));
    /* "ping" and notifications of a later version: having heard of it is all. */
}

static int server_on_frame(struct pdk_json *frame, const struct pdk_err *why, void *user)
{
    struct agent *a = user;
    const char *method = pdk_json_get_str(frame, "method", NULL);
    int64_t id = pdk_json_get_int(frame, "id", 0);

    if (!frame)
        pdk_agent_error(a, 0, PDK_WIRE_BAD_FRAME, why->msg);
    else if (!method)
        pdk_agent_error(a, id, PDK_WIRE_BAD_FRAME, "a frame without a method");
    else if (!pdk_json_get(frame, "id"))
        take_notification(a, method, pdk_json_get(frame, "params"));
    else if (id <= 0)
        pdk_agent_error(a, 0, PDK_WIRE_BAD_FRAME, "an id is a whole number above 0");
    else
        dispatch(a, id, method, pdk_json_get(frame, "params"));
    return 0;
}

static void server_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static char chunk[READ_CHUNK];

    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(chunk, sizeof(chunk));
}

static void server_on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct agent *a = stream->data;

    if (n > 0) {
        a->heard_ms = pdk_clock_ms();
        (void)pdk_framer_feed(&a->wire->framer, buf->base, (size_t)n, server_on_frame, a);
    } else if (n < 0) {
        end(a);
    }
}

/* ---- signals */

static void server_on_end_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    end(handle->data);
}

static void server_on_child(uv_signal_t *handle, int signum)
{
    (void)signum;
    pdk_agent_on_child(handle->data);
}

/* Keeps 0, 1 and 2 for nobody: a command's descriptors never meet the conversation's. */
static int open_pipes(struct agent *a)
{
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (in < 0 || out < 0 || null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 ||
            dup2(null_fd, STDOUT_FILENO) < 0)
        return -1;
    (void)close(null_fd);
    (void)uv_pipe_init(a->loop, &a->wire->in, 0);
    (void)uv_pipe_init(a->loop, &a->wire->out, 0);
    a->wire->in.data = a->wire->out.data = a;
    if (uv_pipe_open(&a->wire->in, in) < 0 || uv_pipe_open(&a->wire->out, out) < 0)
        return -1;
    return uv_read_start((uv_stream_t *)&a->wire->in, server_on_alloc, server_on_read);
}

/* Both were blocked since the start: none that came meanwhile is lost. */
static void listen_to_signals(struct agent *a)
{
    static const int numbers[END_SIGNALS] = { SIGTERM, SIGINT, SIGHUP };
    sigset_t none;

    (void)uv_signal_init(a->loop, &a->wire->on_child);
    a->wire->on_child.data = a;
    (void)uv_signal_start(&a->wire->on_child, server_on_child, SIGCHLD);
    for (size_t i = 0; i < END_SIGNALS; i++) {
        (void)uv_signal_init(a->loop, &a->wire->on_end[i]);
        a->wire->on_end[i].data = a;
        (void)uv_signal_start(&a->wire->on_end[i], server_on_end_signal, numbers[i]);
    }
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

int pdk_agent_serve(struct agent *a)
{
    uv_loop_t loop;
    struct wire wire;

    memset(&wire, 0, sizeof(wire));
    a->loop = &loop;
    a->wire = &wire;
    if (uv_loop_init(&loop) < 0 || open_pipes(a) < 0)
        return 1;
    a->heartbeat_ms = BEAT_MS;
    a->heard_ms = a->said_ms = pdk_clock_ms();
    (void)uv_timer_init(&loop, &wire.beat);
    wire.beat.data = a;
    start_beat(a);
    listen_to_signals(a);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    pdk_framer_fini(&wire.framer);
    pdk_means_fini(&a->means);
    (void)close(a->root_fd);
    return uv_loop_close(&loop) == 0 ? 0 : 1;
}
