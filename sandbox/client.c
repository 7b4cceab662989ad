/*
 * One agent, spoken to:
 *
 *   CONNECTING --initialize answered--> READY --close()--> CLOSING --transport ended--> ENDED
 *        |                                |                   |                           ^
 *        +--------------------------------+-------------------+--> LOST --transport ended-+
 *
 * Lost: it ended, broke the protocol, was silent, or took too long. Its transport is killed; ENDED
 * ends every open call with the reason, and then on_closed comes.
 *
 * What happens is recorded (answered, asked, lost, ended), then step() moves the state: nothing else
 * does.
 */
#include "sandbox/client.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json.h"
#include "base/utf8.h"
#include "process/proc.h"

enum {
    HEARTBEAT_MS = 5000,
    READY_MS = 30000,
    SILENT_BEATS = 3,
    CLOSE_MS = 20000,       /* an agent that is asked to end stops its commands first */
    EXEC_MARGIN_MS = 30000, /* an exec is this late before its agent counts as lost */
    PENDING_MAX = 8 << 20,  /* bytes that the agent has not taken: no further call */
    STDERR_KEPT = 2048
};

enum client_state {
    CLIENT_CONNECTING,
    CLIENT_READY,
    CLIENT_CLOSING,
    CLIENT_LOST,
    CLIENT_ENDED
};

/* A request without its answer. */
struct call {
    struct call *next;
    int64_t id;
    int64_t deadline_ms; /* 0: none */
    pdk_call_done done;
    void *user;
    bool is_exec;
    struct pdk_exec_handlers exec;
    int64_t stop_ms; /* what its ladders may take, and the margin */
    char nonce[PDK_NONCE_MAX + 1];
};

struct pdk_client {
    struct pdk_client_handlers handlers;
    void *user;
    enum client_state state;
    bool asked, lost, ended;           /* recorded: close() was called, … */
    const struct pdk_json *descriptor; /* recorded, borrowed: initialize was answered */
    struct pdk_proc *proc;             /* NULL once it has ended */
    struct pdk_framer framer;
    uv_timer_t beat;
    int64_t heartbeat_ms, margin_ms, heard_ms, said_ms;
    int64_t ready_deadline_ms, close_deadline_ms;
    int64_t last_id, round_trips, ignored;
    struct call *calls;
    struct pdk_buf complaint; /* the end of its stderr, raw */
    struct pdk_err why;       /* of the loss; code 0 where the end was asked for */
};

/* ---- the end */

static void client_on_freed(uv_handle_t *handle)
{
    struct pdk_client *c = handle->data;

    c->handlers.on_closed(c, &c->why, c->user);
    pdk_framer_fini(&c->framer);
    pdk_buf_fini(&c->complaint);
    free(c);
}

static void end_call(
        struct call *call, const struct pdk_json *result, const struct pdk_err *why)
{
    if (!call->is_exec) {
        call->done(result, why, call->user);
        free(call);
        return;
    }
    call->exec.on_end(NULL, why, call->user);
    free(call);
}

static void end_all_calls(struct pdk_client *c, const struct pdk_err *why)
{
    struct call *list = c->calls;

    c->calls = NULL;
    while (list) {
        struct call *call = list;

        list = call->next;
        end_call(call, NULL, why);
    }
}

/* The last line of what it said on stderr, fit to be shown; "" where it said nothing. */
static void add_last_words(struct pdk_client *c, struct pdk_buf *out)
{
    const char *text = pdk_buf_str(&c->complaint), *newline;
    size_t len = c->complaint.len;

    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    newline = memrchr(text, '\n', len);
    if (newline) {
        len -= (size_t)(newline + 1 - text);
        text = newline + 1;
    }
    if (len > 0)
        pdk_buf_adds(out, "; it said: ");
    pdk_utf8_printable(text, len, out);
}

static void end(struct pdk_client *c)
{
    struct pdk_err closed = PDK_ERR_INIT;

    (void)pdk_fail(&closed, PDK_EPROTO, 0, "agent lost: it was told to end");
    end_all_calls(c, c->why.code ? &c->why : &closed);
    uv_close((uv_handle_t *)&c->beat, client_on_freed);
}

static void begin_closing(struct pdk_client *c);

/* The only place that moves the state. */
static void step(struct pdk_client *c)
{
    if (c->lost && c->state < CLIENT_LOST) {
        c->state = CLIENT_LOST;
        if (c->proc)
            pdk_proc_kill(c->proc, SIGKILL);
    }
    switch (c->state) {
    case CLIENT_CONNECTING:
    case CLIENT_READY:
        if (c->asked) {
            c->state = CLIENT_CLOSING;
            begin_closing(c);
        } else if (c->descriptor && c->state == CLIENT_CONNECTING) {
            c->state = CLIENT_READY;
            c->handlers.on_ready(c, c->descriptor, c->user);
        }
        return;
    case CLIENT_CLOSING:
    case CLIENT_LOST:
        if (c->ended) {
            c->state = CLIENT_ENDED;
            end(c);
        }
        return;
    case CLIENT_ENDED:
        return;
    }
}

/* The first reason counts, and none after the end was asked for. */
static void lose_with(struct pdk_client *c, int code, const char *text)
{
    PDK_AUTO_BUF struct pdk_buf words = PDK_BUF_INIT;

    if (c->lost)
        return;
    c->lost = true;
    if (!c->asked) {
        add_last_words(c, &words);
        (void)pdk_fail(&c->why, code, 0, "agent lost: %s%s", text, pdk_buf_str(&words));
    }
    step(c);
}

static void client_on_end(
        struct pdk_proc *proc, const struct pdk_proc_end *end, void *user)
{
    struct pdk_client *c = user;

    (void)proc;
    (void)end; /* an exit code proves nothing */
    c->proc = NULL;
    c->ended = true;
    lose_with(c, PDK_EPROTO, "it ended");
    step(c);
}

/* ---- sending */

static int send_text(
        struct pdk_client *c, const struct pdk_buf *text, struct pdk_err *err)
{
    if (!c->proc || c->lost)
        return pdk_fail(err, PDK_EPROTO, 0, "the agent is gone");
    c->said_ms = pdk_clock_ms();
    return pdk_proc_write(c->proc, pdk_buf_str(text), text->len, err);
}

static int send_request(struct pdk_client *c, int64_t id, const char *method,
        const struct pdk_json *params, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (pdk_frame_request(&text, id, method, params, err) < 0)
        return err->code;
    return send_text(c, &text, err);
}

static void notify(
        struct pdk_client *c, const char *method, const struct pdk_json *params)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_frame_notify(&text, method, params, &err) < 0 ||
            send_text(c, &text, &err) < 0)
        lose_with(c, err.code, err.msg);
}

static struct call *add_call(struct pdk_client *c, int64_t timeout_ms)
{
    struct call *call = calloc(1, sizeof(*call));

    if (!call)
        return NULL;
    call->id = ++c->last_id;
    call->deadline_ms = timeout_ms ? pdk_clock_ms() + timeout_ms : 0;
    call->next = c->calls;
    c->calls = call;
    return call;
}

static struct call *take_call(struct pdk_client *c, int64_t id)
{
    struct call **at = &c->calls;
    struct call *found;

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    found = *at;
    if (found)
        *at = found->next;
    return found;
}

static struct call *find_call(const struct pdk_client *c, int64_t id)
{
    for (struct call *at = c->calls; at; at = at->next)
        if (at->id == id)
            return at;
    return NULL;
}

/* ---- receiving */

static int code_of_wire(const char *name)
{
    static const struct {
        enum pdk_wire_error wire;
        int code;
    } rows[] = {
        { PDK_WIRE_BAD_PARAMS, PDK_EINVAL },
        { PDK_WIRE_NOT_BUILT, PDK_EUNSUPPORTED },
        { PDK_WIRE_UNKNOWN_METHOD, PDK_EUNSUPPORTED },
        { PDK_WIRE_BUSY, PDK_ECONFLICT },
        { PDK_WIRE_NOT_FOUND, PDK_ENOTFOUND },
        { PDK_WIRE_OUTSIDE, PDK_EINVAL },
        { PDK_WIRE_TOO_LARGE, PDK_EINVAL },
        { PDK_WIRE_NOT_A_FILE, PDK_EINVAL },
        { PDK_WIRE_CANCELED, PDK_ECANCELED },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(pdk_wire_error_name(rows[i].wire), name) == 0)
            return rows[i].code;
    return PDK_EIO;
}

/* What the agent says is shown to people: nothing in it may move a terminal. */
static void fill_error(const struct pdk_json *error, struct pdk_err *out)
{
    const char *name = pdk_json_get_str(pdk_json_get(error, "data"), "code", "io");
    const char *message = pdk_json_get_str(error, "message", "");
    PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;

    pdk_utf8_printable(message, strlen(message), &clean);
    (void)pdk_fail(out, code_of_wire(name), 0, "%s",
            clean.len > 0 ? clean.data : "the agent refused, and gave no reason");
}

/* The call's answer is no answer: the call and the agent end with the same reason. */
static void lose_in_call(struct pdk_client *c, struct call *call, const char *text)
{
    struct pdk_err why = PDK_ERR_INIT;

    (void)pdk_fail(&why, PDK_EPROTO, 0, "agent lost: %s", text);
    lose_with(c, PDK_EPROTO, text);
    end_call(call, NULL, &why);
}

/* A result of another attempt would be believed: a wrong nonce ends the conversation. */
static void end_exec(
        struct pdk_client *c, struct call *call, const struct pdk_json *result)
{
    struct pdk_exec_result parsed;
    struct pdk_err err = PDK_ERR_INIT;
    int rc = pdk_exec_result_from_json(result, &parsed, &err);

    if (rc == 0 && strcmp(parsed.nonce, call->nonce) != 0)
        rc = pdk_fail(&err, PDK_EPROTO, 0, "a result with another nonce");
    if (rc < 0) {
        lose_in_call(c, call, err.msg);
        return;
    }
    call->exec.on_end(&parsed, &err, call->user);
    free(call);
}

/* Not about a call: it could not even read what was sent. */
static void take_refusal(struct pdk_client *c, const struct pdk_json *error)
{
    struct pdk_err why = PDK_ERR_INIT;

    fill_error(error, &why);
    (void)pdk_wrap(&why, "it did not understand");
    lose_with(c, PDK_EPROTO, why.msg);
}

static void take_answer(struct pdk_client *c, const struct pdk_json *frame)
{
    const struct pdk_json *error = pdk_json_get(frame, "error");
    const struct pdk_json *result = pdk_json_get(frame, "result");
    int64_t id = pdk_json_get_int(frame, "id", 0);
    struct call *call = take_call(c, id);
    struct pdk_err why = PDK_ERR_INIT;

    if (id <= 0 && error) {
        take_refusal(c, error);
    } else if (id <= 0) {
        lose_with(c, PDK_EPROTO, "a frame that is neither an answer nor a notification");
    } else if (!call) {
        c->ignored++; /* late, repeated or unknown: nobody waits for it */
    } else if (error) {
        fill_error(error, &why);
        end_call(call, NULL, &why);
    } else if (!result) {
        lose_in_call(c, call, "an answer without a result");
    } else if (call->is_exec) {
        end_exec(c, call, result);
    } else {
        end_call(call, result, &why);
    }
}

static void take_output(struct pdk_client *c, const struct pdk_json *params)
{
    const struct call *call = find_call(c, pdk_json_get_int(params, "call", 0));
    PDK_AUTO_BUF struct pdk_buf data = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (!call || !call->is_exec || !call->exec.on_output)
        return;
    if (pdk_json_get_bytes(params, "data", &data, &err) < 0) {
        lose_with(c, PDK_EPROTO, "output that is no bytes");
        return;
    }
    if (data.len > 0)
        call->exec.on_output(
                strcmp(pdk_json_get_str(params, "stream", ""), "stderr") == 0 ? 2 : 1,
                data.data, data.len, call->user);
}

static int client_on_frame(struct pdk_json *frame, const struct pdk_err *why, void *user)
{
    struct pdk_client *c = user;
    const char *method = pdk_json_get_str(frame, "method", NULL);
    PDK_AUTO_BUF struct pdk_buf what = PDK_BUF_INIT;

    if (!frame) {
        pdk_buf_addf(&what, "it sent what is no frame: %s", why->msg);
        lose_with(c, PDK_EPROTO, pdk_buf_str(&what));
        return 1;
    }
    if (!method)
        take_answer(c, frame);
    else if (strcmp(method, "exec.output") == 0)
        take_output(c, pdk_json_get(frame, "params"));
    /* Other notifications, "ping" among them: having heard of it is all. */
    return c->lost ? 1 : 0;
}

/* The last bytes. Without memory there are none: it is only for the eye. */
static void keep_complaint(struct pdk_client *c, const char *data, size_t len)
{
    if (len > STDERR_KEPT) {
        data += len - STDERR_KEPT;
        len = STDERR_KEPT;
    }
    pdk_buf_add(&c->complaint, data, len);
    if (c->complaint.failed)
        pdk_buf_fini(&c->complaint);
    if (c->complaint.len > STDERR_KEPT)
        pdk_buf_drop(&c->complaint, c->complaint.len - STDERR_KEPT);
}

static void client_on_output(
        struct pdk_proc *proc, int fd, const char *data, size_t len, void *user)
{
    struct pdk_client *c = user;

    (void)proc;
    if (fd == 2) {
        keep_complaint(c, data, len);
        return;
    }
    if (c->lost)
        return;
    c->heard_ms = pdk_clock_ms();
    (void)pdk_framer_feed(&c->framer, data, len, client_on_frame, c);
}

/* ---- time */

static struct call *overdue(const struct pdk_client *c, int64_t now_ms)
{
    for (struct call *at = c->calls; at; at = at->next)
        if (at->deadline_ms && now_ms >= at->deadline_ms)
            return at;
    return NULL;
}

/* The agent keeps an exec's timeout itself: one that does not cannot be believed any more. */
static void end_overdue(struct pdk_client *c, int64_t now_ms)
{
    struct pdk_err late = PDK_ERR_INIT;
    struct call *call;

    (void)pdk_fail(&late, PDK_ETIMEDOUT, 0, "no answer within its time limit");
    while ((call = overdue(c, now_ms)) && !c->lost) {
        if (call->is_exec)
            lose_with(c, PDK_ETIMEDOUT, "a command is long past its time limit");
        else
            end_call(take_call(c, call->id), NULL, &late);
    }
}

static void client_on_beat(uv_timer_t *timer)
{
    struct pdk_client *c = timer->data;
    int64_t now = pdk_clock_ms();

    end_overdue(c, now);
    if (c->lost)
        return;
    if (c->state == CLIENT_CONNECTING && now >= c->ready_deadline_ms)
        lose_with(c, PDK_ETIMEDOUT, "it never became ready");
    else if (c->state == CLIENT_CLOSING && now >= c->close_deadline_ms)
        lose_with(c, PDK_ETIMEDOUT, "it does not end");
    else if (c->state == CLIENT_READY &&
            now - c->heard_ms > c->heartbeat_ms * SILENT_BEATS)
        lose_with(c, PDK_ETIMEDOUT, "it is silent");
    else if (c->state != CLIENT_CLOSING && now - c->said_ms >= c->heartbeat_ms)
        notify(c, "ping", NULL);
}

/* ---- opening */

static void client_on_initialized(
        const struct pdk_json *result, const struct pdk_err *err, void *user)
{
    struct pdk_client *c = user;
    int64_t version = pdk_json_get_int(result, "protocol", 0);
    struct pdk_err why = *err;

    if (result && version != PDK_PROTOCOL_VERSION)
        (void)pdk_fail(&why, PDK_EPROTO, 0, "it speaks protocol version %lld, not %d",
                (long long)version, PDK_PROTOCOL_VERSION);
    if (why.code != 0) {
        lose_with(c, why.code, why.msg);
        return;
    }
    c->descriptor = result;
    step(c);
    c->descriptor = NULL;
}

static int initialize(struct pdk_client *c, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *params = pdk_json_object();
    struct call *call = params ? add_call(c, 0) : NULL;

    if (!call)
        return pdk_fail_nomem(err);
    call->done = client_on_initialized;
    call->user = c;
    (void)pdk_json_set_int(params, "protocol", PDK_PROTOCOL_VERSION);
    (void)pdk_json_set_str(params, "client", "paddock");
    (void)pdk_json_set_int(params, "lease_ms", c->heartbeat_ms * SILENT_BEATS * 2);
    (void)pdk_json_set_int(params, "heartbeat_ms", c->heartbeat_ms);
    return send_request(c, call->id, "initialize", params, err);
}

static int start(struct pdk_client *c, struct uv_loop_s *loop,
        const struct pdk_client_spec *spec, struct pdk_err *err)
{
    static const struct pdk_proc_handlers handlers = { .on_output = client_on_output,
        .on_end = client_on_end };
    struct pdk_spawn_spec child = { .argv = spec->argv,
        .envp = spec->envp,
        .cwd = "/",
        .cwd_fd = -1,
        .fds = { -1, -1, -1 } };

    return pdk_proc_start(loop, &child, true, &handlers, c, &c->proc, err);
}

int pdk_client_open(struct uv_loop_s *loop, const struct pdk_client_spec *spec,
        const struct pdk_client_handlers *handlers, void *user, struct pdk_client **out,
        struct pdk_err *err)
{
    struct pdk_client *c = calloc(1, sizeof(*c));
    struct pdk_err unsent = PDK_ERR_INIT;
    int64_t tick;

    if (!c)
        return pdk_fail_nomem(err);
    c->handlers = *handlers;
    c->user = user;
    c->heartbeat_ms = spec->heartbeat_ms ? spec->heartbeat_ms : HEARTBEAT_MS;
    c->margin_ms = spec->exec_margin_ms ? spec->exec_margin_ms : EXEC_MARGIN_MS;
    c->heard_ms = c->said_ms = pdk_clock_ms();
    c->ready_deadline_ms =
            c->heard_ms + (spec->ready_timeout_ms ? spec->ready_timeout_ms : READY_MS);
    if (start(c, loop, spec, err) < 0) {
        free(c);
        return err->code;
    }
    (void)uv_timer_init(loop, &c->beat); /* cannot fail */
    c->beat.data = c;
    tick = c->heartbeat_ms / 5 > 0 ? c->heartbeat_ms / 5 : 1;
    (void)uv_timer_start(&c->beat, client_on_beat, (uint64_t)tick, (uint64_t)tick);
    if (initialize(c, &unsent) < 0)
        lose_with(c, unsent.code, unsent.msg);
    *out = c;
    return 0;
}

/* ---- calls */

static int may_ask(const struct pdk_client *c, struct pdk_err *err)
{
    if (c->state != CLIENT_READY || !c->proc)
        return pdk_fail(err, PDK_EPROTO, 0, "the agent is not ready");
    if (pdk_proc_pending(c->proc) > PENDING_MAX)
        return pdk_fail(err, PDK_EIO, 0, "the agent does not take what it is sent");
    return 0;
}

static int ask(struct pdk_client *c, struct call *call, enum pdk_verb verb,
        const struct pdk_json *params, struct pdk_err *err)
{
    int rc = may_ask(c, err);

    if (rc == 0)
        rc = send_request(c, call->id, pdk_verb_name(verb), params, err);
    if (rc < 0)
        free(take_call(c, call->id));
    else
        c->round_trips++;
    return rc;
}

int pdk_client_call(struct pdk_client *c, enum pdk_verb verb,
        const struct pdk_json *params, int64_t timeout_ms, pdk_call_done done, void *user,
        int64_t *call_id, struct pdk_err *err)
{
    struct call *call = add_call(c, timeout_ms);
    int64_t id = call ? call->id : 0;

    if (!call)
        return pdk_fail_nomem(err);
    call->done = done;
    call->user = user;
    if (ask(c, call, verb, params, err) < 0)
        return err->code;
    if (call_id)
        *call_id = id;
    return 0;
}

static int exec_params(const struct pdk_exec_request *request, const char *nonce,
        bool live, struct pdk_json **out, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *params = NULL;

    if (pdk_exec_request_to_json(request, &params, err) < 0)
        return err->code;
    (void)pdk_json_set_str(params, "nonce", nonce);
    (void)pdk_json_set_str(params, "stream",
            !live                  ? "none"
                    : request->log ? "live"
                                   : "full");
    *out = pdk_take_ptr(&params);
    return 0;
}

static int choose_nonce(const char *given, char *out, struct pdk_err *err)
{
    size_t len = given ? strlen(given) : 0;

    if (len > PDK_NONCE_MAX || !pdk_utf8_valid(given ? given : "", len))
        return pdk_fail(err, PDK_EINVAL, 0, "a nonce is a text of at most %d bytes",
                PDK_NONCE_MAX);
    if (len == 0)
        return pdk_id_random(out, 16, err);
    memcpy(out, given, len + 1);
    return 0;
}

/* Two ladders at most: one ends the command, one what outlives it. */
static void set_limits(
        struct pdk_client *c, struct call *call, const struct pdk_exec_request *request)
{
    const struct pdk_graces *g = &request->graces;

    call->stop_ms = 2 * (g->int_ms + g->term_ms + g->kill_ms) + c->margin_ms;
    if (request->timeout_ms > 0)
        call->deadline_ms = pdk_clock_ms() + request->timeout_ms + call->stop_ms;
}

int pdk_client_exec(struct pdk_client *c, const struct pdk_exec_request *request,
        const struct pdk_exec_handlers *handlers, void *user, int64_t *call_id,
        struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *params = NULL;
    char nonce[PDK_NONCE_MAX + 1];
    struct call *call;
    int64_t id;

    if (choose_nonce(request->nonce, nonce, err) < 0 ||
            exec_params(request, nonce, handlers->on_output != NULL, &params, err) < 0)
        return err->code;
    call = add_call(c, 0);
    if (!call)
        return pdk_fail_nomem(err);
    id = call->id;
    call->is_exec = true;
    call->exec = *handlers;
    call->user = user;
    memcpy(call->nonce, nonce, sizeof(nonce));
    set_limits(c, call, request);
    if (ask(c, call, PDK_VERB_EXEC, params, err) < 0)
        return err->code;
    if (call_id)
        *call_id = id;
    return 0;
}

void pdk_client_cancel(struct pdk_client *c, int64_t call_id, bool at_once)
{
    PDK_AUTO_JSON struct pdk_json *params = pdk_json_object();
    struct call *call = find_call(c, call_id);
    int64_t limit;

    if (!params || c->state != CLIENT_READY || !call || !call->is_exec)
        return;
    limit = pdk_clock_ms() + call->stop_ms;
    if (call->deadline_ms == 0 || limit < call->deadline_ms)
        call->deadline_ms = limit;
    (void)pdk_json_set_int(params, "call", call_id);
    (void)pdk_json_set_bool(params, "at_once", at_once);
    notify(c, "cancel", params);
}

static void begin_closing(struct pdk_client *c)
{
    c->close_deadline_ms = pdk_clock_ms() + CLOSE_MS;
    notify(c, "shutdown", NULL);
    if (c->proc)
        pdk_proc_close_stdin(c->proc);
}

void pdk_client_close(struct pdk_client *c)
{
    c->asked = true;
    step(c);
}

void pdk_client_kill(struct pdk_client *c)
{
    c->asked = true;
    lose_with(c, PDK_ECANCELED, "ended by us");
}

int64_t pdk_client_round_trips(const struct pdk_client *c)
{
    return c->round_trips;
}

int64_t pdk_client_ignored(const struct pdk_client *c)
{
    return c->ignored;
}
