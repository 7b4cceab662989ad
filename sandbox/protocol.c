#include "sandbox/protocol.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

/* ---- names */

static const char *const verb_names[] = {
    [PDK_VERB_DESCRIPTOR] = "descriptor",
    [PDK_VERB_READ] = "read",
    [PDK_VERB_READ_MANY] = "read_many",
    [PDK_VERB_WRITE] = "write",
    [PDK_VERB_REMOVE] = "remove",
    [PDK_VERB_STAT_MANY] = "stat_many",
    [PDK_VERB_GLOB] = "glob",
    [PDK_VERB_GREP] = "grep",
    [PDK_VERB_FINGERPRINT] = "fingerprint",
    [PDK_VERB_EXEC] = "exec",
    [PDK_VERB_SPAWN] = "spawn",
    [PDK_VERB_PROC_READ] = "proc_read",
    [PDK_VERB_PROC_STDIN] = "proc_stdin",
    [PDK_VERB_PROC_STOP] = "proc_stop",
    [PDK_VERB_PUSH_TREE] = "push_tree",
    [PDK_VERB_PULL_TREE] = "pull_tree",
};
_Static_assert(sizeof(verb_names) / sizeof(verb_names[0]) == 16,
        "a new verb is a reviewed change");
_Static_assert(PDK_VERB_COUNT == 16, "a new verb is a reviewed change");

static const char *const error_names[] = {
    [PDK_WIRE_BAD_FRAME] = "bad_frame",
    [PDK_WIRE_BAD_PARAMS] = "bad_params",
    [PDK_WIRE_UNKNOWN_METHOD] = "unknown_method",
    [PDK_WIRE_NOT_BUILT] = "not_built",
    [PDK_WIRE_BUSY] = "busy",
    [PDK_WIRE_NOT_FOUND] = "not_found",
    [PDK_WIRE_OUTSIDE] = "outside",
    [PDK_WIRE_TOO_LARGE] = "too_large",
    [PDK_WIRE_NOT_A_FILE] = "not_a_file",
    [PDK_WIRE_DENIED] = "denied",
    [PDK_WIRE_CANCELED] = "canceled",
    [PDK_WIRE_IO] = "io",
};
_Static_assert(sizeof(error_names) / sizeof(error_names[0]) == PDK_WIRE_COUNT,
        "every error has a name");

const char *pdk_verb_name(enum pdk_verb verb)
{
    return verb < PDK_VERB_COUNT ? verb_names[verb] : "unknown";
}

enum pdk_verb pdk_verb_find(const char *name)
{
    for (int i = 0; i < PDK_VERB_COUNT; i++)
        if (strcmp(verb_names[i], name) == 0)
            return (enum pdk_verb)i;
    return PDK_VERB_COUNT;
}

const char *pdk_wire_error_name(enum pdk_wire_error error)
{
    return error < PDK_WIRE_COUNT ? error_names[error] : "unknown";
}

enum pdk_wire_error pdk_wire_error_find(const char *name)
{
    for (int i = 0; i < PDK_WIRE_COUNT; i++)
        if (strcmp(error_names[i], name) == 0)
            return (enum pdk_wire_error)i;
    return PDK_WIRE_COUNT;
}

/* ---- bytes to frames */

void pdk_framer_fini(struct pdk_framer *f)
{
    pdk_buf_fini(&f->pending);
    f->dropping = false;
}

typedef int (*frame_visitor)(
        struct pdk_json *frame, const struct pdk_err *why, void *user);

static int refuse_frame(frame_visitor on_frame, void *user, const char *what)
{
    struct pdk_err why = PDK_ERR_INIT;

    (void)pdk_fail(&why, PDK_EPROTO, 0, "%s", what);
    return on_frame(NULL, &why, user);
}

static int take_line(const char *line, size_t len, frame_visitor on_frame, void *user)
{
    PDK_AUTO_JSON struct pdk_json *frame = NULL;
    struct pdk_err why = PDK_ERR_INIT;

    if (len > 0 && line[len - 1] == '\r')
        len--;
    if (len == 0)
        return 0; /* a blank line is no frame and no mistake */
    if (pdk_json_parse(line, len, &frame, &why) < 0) {
        why.code = PDK_EPROTO;
        return on_frame(NULL, &why, user);
    }
    if (pdk_json_type(frame) != PDK_JSON_OBJECT ||
            strcmp(pdk_json_get_str(frame, "jsonrpc", ""), "2.0") != 0)
        return refuse_frame(on_frame, user, "no JSON-RPC 2.0 object");
    return on_frame(frame, NULL, user);
}

/* Nothing of this frame is kept: it is reported now, once, and dropped up to its newline. */
static int drop_frame(
        struct pdk_framer *f, const char *what, frame_visitor on_frame, void *user)
{
    pdk_buf_fini(&f->pending);
    f->dropping = true;
    return refuse_frame(on_frame, user, what);
}

/* Bytes of one frame, without its newline. */
static int take_part(struct pdk_framer *f, const char *data, size_t n,
        frame_visitor on_frame, void *user)
{
    if (f->dropping)
        return 0;
    if (f->pending.len + n > PDK_FRAME_MAX)
        return drop_frame(f, "a frame longer than the limit", on_frame, user);
    pdk_buf_add(&f->pending, data, n);
    return f->pending.failed ? drop_frame(f, "out of memory", on_frame, user) : 0;
}

static int end_line(struct pdk_framer *f, frame_visitor on_frame, void *user)
{
    int rc = 0;

    if (!f->dropping)
        rc = take_line(pdk_buf_str(&f->pending), f->pending.len, on_frame, user);
    f->dropping = false;
    pdk_buf_reset(&f->pending);
    return rc;
}

int pdk_framer_feed(struct pdk_framer *f, const char *data, size_t len,
        int (*on_frame)(struct pdk_json *frame, const struct pdk_err *why, void *user),
        void *user)
{
    int rc = 0;

    while (rc == 0 && len > 0) {
        const char *newline = memchr(data, '\n', len);
        size_t n = newline ? (size_t)(newline - data) : len;

        rc = take_part(f, data, n, on_frame, user);
        if (rc == 0 && newline)
            rc = end_line(f, on_frame, user);
        n += newline ? 1 : 0;
        data += n;
        len -= n;
    }
    return rc;
}

/* ---- frames to bytes */

/* Appends the frame and frees it. */
static int put_frame(struct pdk_buf *out, struct pdk_json *frame, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *owned = frame;
    size_t before = out->len;

    if (pdk_json_write(owned, PDK_JSON_COMPACT, out, err) < 0)
        return err ? err->code : PDK_ENOMEM;
    if (out->len - before > PDK_FRAME_MAX) {
        out->len = before;
        return pdk_fail(
                err, PDK_EINVAL, 0, "a frame longer than %d bytes", PDK_FRAME_MAX);
    }
    pdk_buf_addc(out, '\n');
    return pdk_buf_ok(out, err);
}

static struct pdk_json *new_frame(void)
{
    struct pdk_json *frame = pdk_json_object();

    if (frame)
        (void)pdk_json_set_str(frame, "jsonrpc", "2.0");
    return frame;
}

/* A reference, though the caller only lent it: counting it changes no value. */
static struct pdk_json *share(const struct pdk_json *v)
{
    union {
        const struct pdk_json *lent;
        struct pdk_json *counted;
    } u = { .lent = v };

    return pdk_json_ref(u.counted);
}

int pdk_frame_request(struct pdk_buf *out, int64_t id, const char *method,
        const struct pdk_json *params, struct pdk_err *err)
{
    struct pdk_json *frame = new_frame();

    if (!frame)
        return pdk_fail_nomem(err);
    (void)pdk_json_set_int(frame, "id", id);
    (void)pdk_json_set_str(frame, "method", method);
    if (params)
        (void)pdk_json_set(frame, "params", share(params));
    return put_frame(out, frame, err);
}

int pdk_frame_notify(struct pdk_buf *out, const char *method,
        const struct pdk_json *params, struct pdk_err *err)
{
    struct pdk_json *frame = new_frame();

    if (!frame)
        return pdk_fail_nomem(err);
    (void)pdk_json_set_str(frame, "method", method);
    if (params)
        (void)pdk_json_set(frame, "params", share(params));
    return put_frame(out, frame, err);
}

int pdk_frame_result(struct pdk_buf *out, int64_t id, const struct pdk_json *result,
        struct pdk_err *err)
{
    struct pdk_json *frame = new_frame();

    if (!frame)
        return pdk_fail_nomem(err);
    (void)pdk_json_set_int(frame, "id", id);
    (void)pdk_json_set(frame, "result", result ? share(result) : pdk_json_object());
    return put_frame(out, frame, err);
}

int pdk_frame_error(struct pdk_buf *out, int64_t id, enum pdk_wire_error code,
        const char *message, struct pdk_err *err)
{
    struct pdk_json *frame = new_frame(), *error = pdk_json_object(),
                    *data = pdk_json_object();

    if (!frame || !error || !data) {
        pdk_json_free(frame);
        pdk_json_free(error);
        pdk_json_free(data);
        return pdk_fail_nomem(err);
    }
    (void)pdk_json_set_str(data, "code", pdk_wire_error_name(code));
    (void)pdk_json_set_int(error, "code", -32000 - (int)code);
    (void)pdk_json_set_bytes(error, "message", message, strlen(message));
    (void)pdk_json_set(error, "data", data);
    (void)pdk_json_set(frame, "id", id > 0 ? pdk_json_int(id) : pdk_json_null());
    (void)pdk_json_set(frame, "error", error);
    return put_frame(out, frame, err);
}
