#include "sandbox/check/talk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "process/spawn.h"

enum { TIMEOUT_MS = 15000, CHUNK = 64 << 10 };

#define ENV "\"env\":[\"PATH=/usr/local/bin:/usr/bin:/bin\"]"

bool pdk_talk_wrong(struct pdk_talk *t, const char *fmt, ...)
{
    va_list args;

    if (t->why[0])
        return false;
    va_start(args, fmt);
    (void)vsnprintf(t->why, sizeof(t->why), fmt, args);
    va_end(args);
    return false;
}

/* ---- its life */

static bool start(struct pdk_talk *t)
{
    int in[2], out[2];
    struct pdk_child child = { 0, -1 };
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_spawn_spec spec = {
        .argv = t->spec->argv,
        .envp = t->spec->envp,
        .cwd_fd = -1,
        .flags = PDK_SPAWN_DIE_WITH_PARENT,
    };
    int rc;

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        return pdk_talk_wrong(t, "no pipe can be had");
    spec.fds[0] = in[0];
    spec.fds[1] = out[1];
    spec.fds[2] = -1;
    rc = pdk_spawn(&spec, &child, NULL, &err);
    (void)close(in[0]);
    (void)close(out[1]);
    t->in = in[1];
    t->out = out[0];
    if (rc < 0)
        return pdk_talk_wrong(t, "%s", err.msg);
    t->pid = child.pid;
    t->pidfd = child.pidfd;
    return true;
}

bool pdk_talk_open(
        struct pdk_talk *t, const struct pdk_check_spec *spec, const char *init)
{
    *t = (struct pdk_talk){ .spec = spec, .pidfd = -1, .in = -1, .out = -1 };
    t->frames = pdk_json_array();
    if (!start(t))
        return false;
    if (init && init[0] == '\0')
        return true;
    t->descriptor = pdk_talk_ask(
            t, "initialize", "%s", init ? init : "{\"protocol\":1,\"client\":\"check\"}");
    return t->descriptor != NULL;
}

void pdk_talk_close(struct pdk_talk *t)
{
    if (t->in >= 0)
        (void)close(t->in);
    if (t->out >= 0)
        (void)close(t->out);
    if (t->pid > 0) {
        (void)kill(-t->pid, SIGKILL);
        (void)waitpid(t->pid, NULL, 0);
        (void)close(t->pidfd);
    }
    pdk_framer_fini(&t->framer);
    pdk_json_free(t->frames);
    pdk_json_free(t->descriptor);
}

static int64_t limit(const struct pdk_talk *t)
{
    return pdk_clock_ms() + (t->spec->timeout_ms ? t->spec->timeout_ms : TIMEOUT_MS);
}

static bool wait_for(int fd, short events, int64_t until_ms)
{
    struct pollfd p = { .fd = fd, .events = events };
    int64_t left = until_ms - pdk_clock_ms();

    return left > 0 && poll(&p, 1, (int)left) > 0;
}

bool pdk_talk_ends(struct pdk_talk *t)
{
    if (!wait_for(t->pidfd, POLLIN, limit(t)))
        return pdk_talk_wrong(t, "it does not end");
    (void)waitpid(t->pid, NULL, 0);
    (void)close(t->pidfd);
    t->pid = 0;
    t->pidfd = -1;
    return true;
}

/* ---- frames */

static int talk_on_frame(struct pdk_json *frame, const struct pdk_err *why, void *user)
{
    struct pdk_talk *t = user;

    if (!frame) {
        (void)pdk_talk_wrong(t, "it sent what is no frame: %s", why->msg);
        return 1;
    }
    return pdk_json_append(t->frames, pdk_json_ref(frame));
}

static bool receive(struct pdk_talk *t, int64_t until_ms, const char *what)
{
    char chunk[CHUNK / 8];
    ssize_t n;

    if (t->ended)
        return pdk_talk_wrong(t, "it ended instead of %s", what);
    if (!wait_for(t->out, POLLIN, until_ms))
        return pdk_talk_wrong(t, "no sign of %s within the time limit", what);
    n = read(t->out, chunk, sizeof(chunk));
    t->ended = n <= 0;
    return n <= 0 || pdk_framer_feed(&t->framer, chunk, (size_t)n, talk_on_frame, t) == 0;
}

bool pdk_talk_say(struct pdk_talk *t, const char *text, size_t len)
{
    int64_t until = limit(t);

    while (len > 0) {
        ssize_t n = wait_for(t->in, POLLOUT, until)
                ? write(t->in, text, len < 4096 ? len : 4096)
                : -1;

        if (n <= 0)
            return pdk_talk_wrong(t, "it does not take what is sent");
        text += n;
        len -= (size_t)n;
    }
    return true;
}

__attribute__((format(printf, 2, 0))) static struct pdk_json *params_of(
        struct pdk_talk *t, const char *fmt, va_list args)
{
    char text[8192];
    struct pdk_json *params = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    int n = vsnprintf(text, sizeof(text), fmt, args);

    if (n > 0 && pdk_json_parse(text, (size_t)n, &params, &err) < 0)
        (void)pdk_talk_wrong(t, "the kit's own params are no JSON: %s", err.msg);
    return params;
}

static int64_t send_request(
        struct pdk_talk *t, const char *method, const struct pdk_json *params)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (pdk_frame_request(&text, ++t->last_id, method, params, NULL) < 0 ||
            !pdk_talk_say(t, text.data, text.len))
        return 0;
    return t->last_id;
}

int64_t pdk_talk_send(struct pdk_talk *t, const char *method, const char *params, ...)
{
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    va_list args;

    va_start(args, params);
    v = params_of(t, params, args);
    va_end(args);
    return send_request(t, method, v);
}

bool pdk_talk_notify(struct pdk_talk *t, const char *method, const char *params, ...)
{
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    va_list args;

    va_start(args, params);
    v = params_of(t, params, args);
    va_end(args);
    return pdk_frame_notify(&text, method, v, NULL) == 0 &&
            pdk_talk_say(t, text.data, text.len);
}

/* Takes the first frame that fits; NULL where none does. */
static struct pdk_json *take(struct pdk_talk *t, int64_t id, const char *method)
{
    struct pdk_json *rest = pdk_json_array(), *found = NULL;

    for (size_t i = 0; i < pdk_json_len(t->frames); i++) {
        struct pdk_json *frame = pdk_json_at(t->frames, i);
        const char *its = pdk_json_get_str(frame, "method", NULL);
        bool fits = method ? its && strcmp(its, method) == 0
                           : !its && pdk_json_get(frame, "id") &&
                        pdk_json_get_int(frame, "id", 0) == id;

        if (fits && !found)
            found = pdk_json_ref(frame);
        else
            (void)pdk_json_append(rest, pdk_json_ref(frame));
    }
    pdk_json_free(t->frames);
    t->frames = rest;
    return found;
}

static struct pdk_json *await(
        struct pdk_talk *t, int64_t id, const char *method, const char *what)
{
    int64_t until = limit(t);

    for (;;) {
        struct pdk_json *found = take(t, id, method);

        if (found || !receive(t, until, what))
            return found;
    }
}

struct pdk_json *pdk_talk_answer(struct pdk_talk *t, int64_t id)
{
    return id > 0 ? await(t, id, NULL, "an answer") : NULL;
}

struct pdk_json *pdk_talk_heard(struct pdk_talk *t, const char *method)
{
    return await(t, 0, method, method);
}

struct pdk_json *pdk_talk_ask(
        struct pdk_talk *t, const char *method, const char *params, ...)
{
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    PDK_AUTO_JSON struct pdk_json *frame = NULL;
    struct pdk_json *result;
    va_list args;

    va_start(args, params);
    v = params_of(t, params, args);
    va_end(args);
    frame = pdk_talk_answer(t, send_request(t, method, v));
    result = pdk_json_get(frame, "result");
    if (frame && pdk_json_type(result) != PDK_JSON_OBJECT) {
        (void)pdk_talk_wrong(t, "%s was refused with '%s'", method,
                pdk_json_get_str(
                        pdk_json_get(pdk_json_get(frame, "error"), "data"), "code", ""));
        return NULL;
    }
    return pdk_json_ref(result);
}

static bool is_error(struct pdk_talk *t, const struct pdk_json *frame, const char *what,
        const char *code)
{
    const struct pdk_json *error = pdk_json_get(frame, "error");
    const char *got = pdk_json_get_str(pdk_json_get(error, "data"), "code", "");

    if (!frame)
        return false;
    if (!error)
        return pdk_talk_wrong(t, "%s was not refused, as '%s'", what, code);
    if (strcmp(got, code) != 0)
        return pdk_talk_wrong(t, "%s was refused with '%s', not '%s'", what, got, code);
    return PDK_TALK_EXPECT(t,
            pdk_json_get_int(error, "code", 0) ==
                    -32000 - (int64_t)pdk_wire_error_find(code),
            "'%s' does not have the number of its row", code);
}

bool pdk_talk_refused(
        struct pdk_talk *t, const char *code, const char *method, const char *params, ...)
{
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    PDK_AUTO_JSON struct pdk_json *frame = NULL;
    va_list args;

    va_start(args, params);
    v = params_of(t, params, args);
    va_end(args);
    frame = pdk_talk_answer(t, send_request(t, method, v));
    return is_error(t, frame, method, code);
}

bool pdk_talk_misunderstood(struct pdk_talk *t, const char *code)
{
    PDK_AUTO_JSON struct pdk_json *frame = await(t, 0, NULL, "a refusal with id null");

    return is_error(t, frame, "what is no request", code) &&
            PDK_TALK_EXPECT(t, pdk_json_type(pdk_json_get(frame, "id")) == PDK_JSON_NULL,
                    "the refusal's id is not null");
}

bool pdk_talk_offers(const struct pdk_talk *t, const char *verb)
{
    const struct pdk_json *verbs = pdk_json_get(t->descriptor, "verbs");

    for (size_t i = 0; i < pdk_json_len(verbs); i++) {
        const char *text = pdk_json_text(pdk_json_at(verbs, i), NULL);

        if (text && strcmp(text, verb) == 0)
            return true;
    }
    return false;
}

/* ---- results */

struct pdk_json *pdk_talk_run(struct pdk_talk *t, const char *sh, int exit_code)
{
    struct pdk_json *result = pdk_talk_ask(
            t, "exec", "{\"argv\":[\"sh\",\"-c\",\"%s\"]," ENV ",\"nonce\":\"k\"}", sh);

    if (result && pdk_talk_text(t, result, "start", "started") &&
            pdk_talk_int(t, result, "exit_code", exit_code))
        return result;
    pdk_json_free(result);
    return NULL;
}

bool pdk_talk_int(
        struct pdk_talk *t, const struct pdk_json *v, const char *key, int64_t value)
{
    const struct pdk_json *member = pdk_json_get(v, key);

    return PDK_TALK_EXPECT(t,
            pdk_json_type(member) == PDK_JSON_INT && pdk_json_int_value(member) == value,
            "'%s' is %lld, not %lld", key, (long long)pdk_json_int_value(member),
            (long long)value);
}

bool pdk_talk_text(
        struct pdk_talk *t, const struct pdk_json *v, const char *key, const char *value)
{
    const char *got = pdk_json_get_str(v, key, "(none)");

    return PDK_TALK_EXPECT(
            t, strcmp(got, value) == 0, "'%s' is '%.80s', not '%.80s'", key, got, value);
}

bool pdk_talk_flag(
        struct pdk_talk *t, const struct pdk_json *v, const char *key, bool value)
{
    return PDK_TALK_EXPECT(t, pdk_json_get_bool(v, key, !value) == value,
            "'%s' is not %s", key, value ? "true" : "false");
}

bool pdk_talk_bytes(struct pdk_talk *t, const struct pdk_json *v, const char *key,
        const char *bytes, size_t len)
{
    PDK_AUTO_BUF struct pdk_buf got = PDK_BUF_INIT;

    if (pdk_json_get_bytes(v, key, &got, NULL) < 0)
        return pdk_talk_wrong(t, "'%s' is no bytes", key);
    return PDK_TALK_EXPECT(t,
            got.len == len && memcmp(pdk_buf_str(&got), bytes, len) == 0,
            "'%s' holds other bytes (%zu, not %zu)", key, got.len, len);
}
