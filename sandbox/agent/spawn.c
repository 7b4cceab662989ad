/*
 * The agent's side of spawn and proc_*: starts a keeper for each process and passes frames on, both
 * ways. A request that a keeper did not answer before its end is answered here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "sandbox/agent/agent.h"
#include "sandbox/agent/keeper.h"

enum { KEEPERS_MAX = 32, OPEN_MAX_CALLS = 16 };

struct keeper {
    struct keeper *next;
    struct agent *agent;
    int64_t handle;
    pid_t pid;
    uv_pipe_t pipe;
    struct pdk_framer framer;
    int64_t stop; /* the id of a proc_stop that was passed on: no further call is taken */
    int64_t open[OPEN_MAX_CALLS]; /* ids of requests without their answer; 0: free */
};

/* ---- what a keeper says */

static bool note_open(struct keeper *k, int64_t from, int64_t to)
{
    for (size_t i = 0; i < OPEN_MAX_CALLS; i++) {
        if (k->open[i] != from)
            continue;
        k->open[i] = to;
        return true;
    }
    return false;
}

static int keeper_on_answer(struct pdk_json *frame, const struct pdk_err *why, void *user)
{
    struct keeper *k = user;
    struct pdk_json *result = pdk_json_get(frame, "result");
    const struct pdk_json *error = pdk_json_get(frame, "error");
    int64_t id = pdk_json_get_int(frame, "id", 0);

    (void)why;
    if (id <= 0 || !note_open(k, id, 0))
        return 0;
    if (id == k->stop && error)
        k->stop = 0; /* refused: it goes on */
    if (result)
        pdk_agent_result(k->agent, id, pdk_json_ref(result));
    else
        pdk_agent_error(k->agent, id,
                pdk_wire_error_find(
                        pdk_json_get_str(pdk_json_get(error, "data"), "code", "io")),
                pdk_json_get_str(error, "message", ""));
    return 0;
}

static void keeper_on_closed(uv_handle_t *handle)
{
    struct keeper *k = handle->data;
    struct agent *a = k->agent;
    struct keeper **at = &a->keepers;

    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    pdk_framer_fini(&k->framer);
    free(k);
    pdk_agent_idle(a);
}

/* Its socket is at its end: it has ended, or does so now. */
static void bury(struct keeper *k)
{
    (void)waitpid(k->pid, NULL, __WALL);
    for (size_t i = 0; i < OPEN_MAX_CALLS; i++)
        if (k->open[i])
            pdk_agent_error(k->agent, k->open[i], PDK_WIRE_IO,
                    "the process and its keeper are gone");
    uv_close((uv_handle_t *)&k->pipe, keeper_on_closed);
}

static void keeper_on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static char chunk[64 << 10];

    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(chunk, sizeof(chunk));
}

static void keeper_on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct keeper *k = stream->data;

    if (n > 0)
        (void)pdk_framer_feed(&k->framer, buf->base, (size_t)n, keeper_on_answer, k);
    else if (n < 0 && !uv_is_closing((uv_handle_t *)stream))
        bury(k);
}

/* ---- passing on */

struct passed {
    uv_write_t request;
    struct pdk_buf text;
};

static void keeper_on_passed(uv_write_t *request, int status)
{
    struct passed *p = request->data;

    (void)status; /* a keeper that is gone is seen by the end of its socket */
    pdk_buf_fini(&p->text);
    free(p);
}

static int pass(struct keeper *k, int64_t id, const char *method,
        const struct pdk_json *params, struct pdk_err *err)
{
    struct passed *p = calloc(1, sizeof(*p));
    uv_buf_t buf;

    if (!p)
        return pdk_fail_nomem(err);
    p->request.data = p;
    if (pdk_frame_request(&p->text, id, method, params, err) < 0) {
        free(p);
        return err->code;
    }
    buf = uv_buf_init(p->text.data, (unsigned int)p->text.len);
    if (uv_write(&p->request, (uv_stream_t *)&k->pipe, &buf, 1, keeper_on_passed) < 0) {
        keeper_on_passed(&p->request, 0);
        return pdk_fail(err, PDK_EIO, 0, "the process and its keeper are gone");
    }
    return 0;
}

static void pass_on(
        struct agent *a, int64_t id, enum pdk_verb verb, const struct pdk_json *params)
{
    int64_t handle = pdk_json_get_int(params, "handle", 0);
    struct keeper *k = a->keepers;
    struct pdk_err err = PDK_ERR_INIT;

    while (k && k->handle != handle)
        k = k->next;
    if (!k || k->stop || uv_is_closing((uv_handle_t *)&k->pipe))
        pdk_agent_error(a, id, PDK_WIRE_NOT_FOUND, "no process with that handle");
    else if (!note_open(k, 0, id))
        pdk_agent_error(
                a, id, PDK_WIRE_BUSY, "too many calls about that process are open");
    else if (pass(k, id, pdk_verb_name(verb), params, &err) < 0 && note_open(k, id, 0))
        pdk_agent_error(a, id, PDK_WIRE_IO, err.msg);
    else if (verb == PDK_VERB_PROC_STOP)
        k->stop = id;
}

void pdk_agent_proc_read(struct agent *a, int64_t id, const struct pdk_json *params)
{
    pass_on(a, id, PDK_VERB_PROC_READ, params);
}

void pdk_agent_proc_stdin(struct agent *a, int64_t id, const struct pdk_json *params)
{
    pass_on(a, id, PDK_VERB_PROC_STDIN, params);
}

void pdk_agent_proc_stop(struct agent *a, int64_t id, const struct pdk_json *params)
{
    pass_on(a, id, PDK_VERB_PROC_STOP, params);
}

/* ---- starting */

static int watch(struct keeper *k, int sock)
{
    (void)uv_pipe_init(k->agent->loop, &k->pipe, 0); /* cannot fail */
    k->pipe.data = k;
    k->next = k->agent->keepers;
    k->agent->keepers = k;
    if (uv_pipe_open(&k->pipe, sock) < 0)
        return -1;
    return uv_read_start((uv_stream_t *)&k->pipe, keeper_on_alloc, keeper_on_read);
}

/*
 * No exit signal: the keeper is none of the children that exec waits for. The clone copies this
 * thread alone, which is safe while no other is in the middle of something.
 */
static int start(
        struct agent *a, struct keeper *k, int64_t id, const struct pdk_json *params)
{
    int socks[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
        return -1;
    k->pid = (pid_t)syscall(SYS_clone, 0UL, NULL, NULL, NULL, NULL);
    if (k->pid == 0)
        pdk_keeper_main(a, socks[1], id, k->handle, params);
    (void)close(socks[1]);
    if (k->pid > 0)
        return watch(k, socks[0]);
    (void)close(socks[0]);
    return -1;
}

static int count(const struct agent *a)
{
    int n = 0;

    for (const struct keeper *k = a->keepers; k; k = k->next)
        n++;
    return n;
}

void pdk_agent_spawn(struct agent *a, int64_t id, const struct pdk_json *params)
{
    struct keeper *k;

    if (a->searches || count(a) >= KEEPERS_MAX) {
        pdk_agent_error(a, id, PDK_WIRE_BUSY,
                a->searches ? "a search is running" : "too many processes are kept");
        return;
    }
    k = calloc(1, sizeof(*k));
    if (k) {
        k->agent = a;
        k->handle = ++a->last_handle;
        k->open[0] = id;
    }
    if (!k || start(a, k, id, params) < 0) {
        pdk_agent_error(a, id, PDK_WIRE_IO, "no process can be kept");
        if (k && k->pid > 0)
            uv_close((uv_handle_t *)&k->pipe, keeper_on_closed);
        else
            free(k);
    }
}

static void keeper_on_shut(uv_shutdown_t *request, int status)
{
    (void)status;
    free(request);
}

void pdk_agent_end_keepers(struct agent *a)
{
    for (struct keeper *k = a->keepers; k; k = k->next) {
        uv_shutdown_t *request = malloc(sizeof(*request));

        if (request && uv_shutdown(request, (uv_stream_t *)&k->pipe, keeper_on_shut) == 0)
            continue;
        free(request);
        (void)kill(k->pid, SIGKILL);
    }
}
