/*
 * One agent, spoken to:
 *
 *   CONNECTING --initialize answered--> READY --close()--> CLOSING --transport ended--> on_closed
 *        |                                |
 *        +------- lost (it ended, broke the protocol, was silent, took too long) --------+
 *
 * Losing it kills the transport, ends every open call with the reason, and then on_closed comes.
 * Callbacks record; lose() and proc's end are the only ways out.
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
    CLOSE_MS = 20000, /* an agent that is asked to end stops its commands first */
    STDERR_KEPT = 2048
};

enum client_state { CLIENT_CONNECTING, CLIENT_READY, CLIENT_CLOSING, CLIENT_LOST };

/* A request without its answer. */
struct call {
    struct call *next;
    int64_t id;
    int64_t deadline_ms; /* 0: none */
    pdk_call_done done;
    void *user;
    bool is_exec;
    struct pdk_exec_handlers exec;
    char nonce[65];
};

struct pdk_client {
    struct pdk_client_handlers handlers;
    void *user;
    enum client_state state;
    struct pdk_proc *proc; /* NULL once it has ended */
    struct pdk_framer framer;
    uv_timer_t beat;
    int64_t heartbeat_ms, ready_deadline_ms, close_deadline_ms, heard_ms, said_ms;
    int64_t last_id, round_trips;
    struct call *calls;
    struct pdk_buf complaint; /* the end of its stderr */
    struct pdk_err why;
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

/* The first reason stays. */
static void lose(struct pdk_client *c, const struct pdk_err *why)
{
    if (c->state == CLIENT_LOST)
        return;
    if (c->state != CLIENT_CLOSING)
        c->why = *why;
    c->state = CLIENT_LOST;
    if (c->proc)
        pdk_proc_kill(c->proc, SIGKILL);
}

static void lose_with(struct pdk_client *c, int code, const char *text)
{
    struct pdk_err why = PDK_ERR_INIT;

    (void)pdk_fail(&why, code, 0, "agent lost: %s", text);
    lose(c, &why);
}

static void client_on_end(
        struct pdk_proc *proc, const struct pdk_proc_end *end, void *user)
{
    struct pdk_client *c = user;
    struct pdk_err ended = PDK_ERR_INIT;
    bool asked = c->state == CLIENT_CLOSING;

    (void)proc;
    (void)end; /* an exit code proves nothing */
    c->proc = NULL;
    (void)pdk_fail(&ended, PDK_EPROTO, 0, "agent lost: it ended%s%s",
            c->complaint.len > 0 ? ", saying: " : "", pdk_buf_str(&c->complaint));
    if (!asked)
        lose(c, &ended);
    end_all_calls(c, c->why.code ? &c->why : &ended);
    uv_close((uv_handle_t *)&c->beat, client_on_freed);
}

/* ---- sending */

static int send_text(
        struct pdk_client *c, const struct pdk_buf *text, struct pdk_err *err)
{
    if (!c->proc || c->state == CLIENT_LOST)
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
        lose(c, &err);
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
    for (struct call **at = &c->calls; *at; at = &(*at)->next)
        if ((*at)->id == id) {
            struct call *found = *at;

            *at = found->next;
            return found;
        }
    return NULL;
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

static void fill_error(const struct pdk_json *error, struct pdk_err *out)
{
    const char *name = pdk_json_get_str(pdk_json_get(error, "data"), "code", "io");

    (void)pdk_fail(out, code_of_wire(name), 0, "%s",
            pdk_json_get_str(error, "message", "the agent refused, and gave no reason"));
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
    if (rc == 0) {
        call->exec.on_end(&parsed, &err, call->user);
        free(call);
        return;
    }
    (void)pdk_wrap(&err, "agent lost");
    end_call(call, NULL, &err);
    lose(c, &err);
}

static void take_answer(struct pdk_client *c, const struct pdk_json *frame)
{
    const struct pdk_json *error = pdk_json_get(frame, "error");
    const struct pdk_json *result = pdk_json_get(frame, "result");
    struct call *call = take_call(c, pdk_json_get_int(frame, "id", 0));
    struct pdk_err why = PDK_ERR_INIT;

    if (!call)
        return; /* late, repeated or unknown: nobody waits for it */
    if (error) {
        fill_error(error, &why);
        end_call(call, NULL, &why);
    } else if (!result) {
        (void)pdk_fail(&why, PDK_EPROTO, 0, "agent lost: an answer without a result");
        end_call(call, NULL, &why);
        lose(c, &why);
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
        lose(c, &err);
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
    const char *method;

    if (!frame) {
        struct pdk_err err = *why;

        (void)pdk_wrap(&err, "agent lost: it sent what is no frame");
        lose(c, &err);
        return 1;
    }
    method = pdk_json_get_str(frame, "method", NULL);
    if (!method)
        take_answer(c, frame);
    else if (strcmp(method, "exec.output") == 0)
        take_output(c, pdk_json_get(frame, "params"));
    /* Other notifications, "ping" among them: having heard of it is all. */
    return c->state == CLIENT_LOST ? 1 : 0;
}

static void keep_complaint(struct pdk_client *c, const char *data, size_t len)
{
    pdk_utf8_printable(data, len < STDERR_KEPT ? len : STDERR_KEPT, &c->complaint);
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
    if (c->state == CLIENT_LOST)
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

static void end_overdue(struct pdk_client *c, int64_t now_ms)
{
    struct pdk_err late = PDK_ERR_INIT;
    struct call *call;

    (void)pdk_fail(&late, PDK_ETIMEDOUT, 0, "no answer within its time limit");
    while ((call = overdue(c, now_ms)))
        end_call(take_call(c, call->id), NULL, &late);
}

static void client_on_beat(uv_timer_t *timer)
{
    struct pdk_client *c = timer->data;
    int64_t now = pdk_clock_ms();

    if (c->state == CLIENT_LOST)
        return;
    end_overdue(c, now);
    if (c->state == CLIENT_CONNECTING && now >= c->ready_deadline_ms)
        lose_with(c, PDK_ETIMEDOUT, "it never became ready");
    else if (c->state == CLIENT_CLOSING && now >= c->close_deadline_ms)
        lose_with(c, PDK_ETIMEDOUT, "it does not end");
    else if (c->state == CLIENT_READY &&
            now - c->heard_ms > SILENT_BEATS * c->heartbeat_ms)
        lose_with(c, PDK_ETIMEDOUT, "it is silent");
    else if (c->state != CLIENT_CLOSING && now - c->said_ms >= c->heartbeat_ms)
        notify(c, "ping", NULL);
}

/* ---- opening */

static void client_on_initialized(
        const struct pdk_json *result, const struct pdk_err *err, void *user)
{
    struct pdk_client *c = user;
    struct pdk_err why = *err;

    if (result && pdk_json_get_int(result, "protocol", 0) != PDK_PROTOCOL_VERSION)
        (void)pdk_fail(&why, PDK_EPROTO, 0, "it speaks protocol version %lld, not %d",
                (long long)pdk_json_get_int(result, "protocol", 0), PDK_PROTOCOL_VERSION);
    if (why.code != 0) {
        lose(c, &why);
        return;
    }
    if (c->state != CLIENT_CONNECTING)
        return;
    c->state = CLIENT_READY;
    c->handlers.on_ready(c, result, c->user);
}

static int initialize(struct pdk_client *c, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *params = pdk_json_object();
    struct call *call = add_call(c, 0);

    if (!call || !params)
        return pdk_fail_nomem(err);
    call->done = client_on_initialized;
    call->user = c;
    (void)pdk_json_set_int(params, "protocol", PDK_PROTOCOL_VERSION);
    (void)pdk_json_set_str(params, "client", "paddock");
    (void)pdk_json_set_int(params, "lease_ms", 2 * SILENT_BEATS * c->heartbeat_ms);
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
        lose(c, &unsent);
    *out = c;
    return 0;
}

/* ---- calls */

static int ask(struct pdk_client *c, struct call *call, enum pdk_verb verb,
        const struct pdk_json *params, struct pdk_err *err)
{
    int rc = c->state == CLIENT_READY
            ? send_request(c, call->id, pdk_verb_name(verb), params, err)
            : pdk_fail(err, PDK_EPROTO, 0, "the agent is not ready");

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

int pdk_client_exec(struct pdk_client *c, const struct pdk_exec_request *request,
        const struct pdk_exec_handlers *handlers, void *user, int64_t *call_id,
        struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *params = NULL;
    struct call *call = add_call(c, 0);
    int64_t id = call ? call->id : 0;
    int rc = 0;

    if (!call)
        return pdk_fail_nomem(err);
    call->is_exec = true;
    call->exec = *handlers;
    call->user = user;
    if (request->nonce && request->nonce[0])
        (void)snprintf(call->nonce, sizeof(call->nonce), "%s", request->nonce);
    else
        rc = pdk_id_random(call->nonce, 16, err);
    if (rc == 0)
        rc = exec_params(request, call->nonce, handlers->on_output != NULL, &params, err);
    if (rc < 0) {
        free(take_call(c, id));
        return rc;
    }
    rc = ask(c, call, PDK_VERB_EXEC, params, err);
    if (rc == 0 && call_id)
        *call_id = id;
    return rc;
}

void pdk_client_cancel(struct pdk_client *c, int64_t call, bool at_once)
{
    PDK_AUTO_JSON struct pdk_json *params = pdk_json_object();

    if (!params || c->state != CLIENT_READY || !find_call(c, call))
        return;
    (void)pdk_json_set_int(params, "call", call);
    (void)pdk_json_set_bool(params, "at_once", at_once);
    notify(c, "cancel", params);
}

void pdk_client_close(struct pdk_client *c)
{
    if (c->state == CLIENT_CLOSING || c->state == CLIENT_LOST)
        return;
    notify(c, "shutdown", NULL);
    if (c->state == CLIENT_LOST)
        return;
    c->state = CLIENT_CLOSING;
    c->close_deadline_ms = pdk_clock_ms() + CLOSE_MS;
    if (c->proc)
        pdk_proc_close_stdin(c->proc);
}

void pdk_client_kill(struct pdk_client *c)
{
    if (c->state != CLIENT_LOST)
        c->state = CLIENT_CLOSING;
    lose_with(c, PDK_ECANCELED, "ended by us");
}

int64_t pdk_client_round_trips(const struct pdk_client *c)
{
    return c->round_trips;
}
