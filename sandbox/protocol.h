/*
 * The protocol between orchestrator and agent: newline-delimited JSON-RPC 2.0 (docs/protocol.md).
 * Pure: bytes to frames and back, parameter and result structs to JSON and back. Both sides use it.
 * Not safe for concurrent use.
 */
#ifndef PDK_SANDBOX_PROTOCOL_H
#define PDK_SANDBOX_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "process/ladder.h"
#include "process/limits.h"
#include "sandbox/confine/confine.h"

struct pdk_err;
struct pdk_json;

enum {
    PDK_PROTOCOL_VERSION = 1,
    PDK_FRAME_MAX = 1 << 20,  /* bytes of one frame, without its newline */
    PDK_CHUNK_MAX = 32 << 10, /* bytes of output in one notification */
    PDK_READ_MAX = 512 << 10, /* bytes of one read */
    PDK_NONCE_MAX = 64        /* bytes */
};

/* The sixteen verbs (architecture.md section 3). A test holds their number. */
enum pdk_verb {
    PDK_VERB_DESCRIPTOR,
    PDK_VERB_READ,
    PDK_VERB_READ_MANY,
    PDK_VERB_WRITE,
    PDK_VERB_REMOVE,
    PDK_VERB_STAT_MANY,
    PDK_VERB_GLOB,
    PDK_VERB_GREP,
    PDK_VERB_FINGERPRINT,
    PDK_VERB_EXEC,
    PDK_VERB_SPAWN,
    PDK_VERB_PROC_READ,
    PDK_VERB_PROC_STDIN,
    PDK_VERB_PROC_STOP,
    PDK_VERB_PUSH_TREE,
    PDK_VERB_PULL_TREE,
    PDK_VERB_COUNT
};

const char *pdk_verb_name(enum pdk_verb verb);
/* PDK_VERB_COUNT where the name is none. */
enum pdk_verb pdk_verb_find(const char *name);

/* Error codes on the wire: a closed list, in the error's data.code; docs/protocol.md has the same. */
enum pdk_wire_error {
    PDK_WIRE_BAD_FRAME, /* not JSON, too long, no JSON-RPC, out of order */
    PDK_WIRE_BAD_PARAMS,
    PDK_WIRE_UNKNOWN_METHOD,
    PDK_WIRE_NOT_BUILT, /* a verb that this side does not offer */
    PDK_WIRE_BUSY,
    PDK_WIRE_NOT_FOUND,
    PDK_WIRE_OUTSIDE, /* the path leads out of the root */
    PDK_WIRE_TOO_LARGE,
    PDK_WIRE_NOT_A_FILE,
    PDK_WIRE_DENIED,
    PDK_WIRE_CANCELED,
    PDK_WIRE_IO,
    PDK_WIRE_COUNT
};

const char *pdk_wire_error_name(enum pdk_wire_error error); /* "bad_frame", … */
/* PDK_WIRE_COUNT where the name is none. */
enum pdk_wire_error pdk_wire_error_find(const char *name);

/* Cuts a byte stream into frames. */
struct pdk_framer {
    struct pdk_buf pending;
    bool dropping; /* the rest of a frame that was too long, up to its newline */
};

void pdk_framer_fini(struct pdk_framer *f);
/*
 * Feeds bytes; on_frame is called for each whole frame with its parsed JSON (borrowed), or with
 * NULL and why for one that is no frame. One that is too long is reported as soon as it is, once;
 * what follows up to its newline is dropped. Blank lines are nothing. Returns the first non-zero
 * that on_frame returned: the bytes after that frame are lost.
 */
int pdk_framer_feed(struct pdk_framer *f, const char *data, size_t len,
        int (*on_frame)(struct pdk_json *frame, const struct pdk_err *why, void *user),
        void *user);

/* Frames as text with the newline, appended. params, result are borrowed and may be NULL. */
int pdk_frame_request(struct pdk_buf *out, int64_t id, const char *method,
        const struct pdk_json *params, struct pdk_err *err);
int pdk_frame_notify(struct pdk_buf *out, const char *method,
        const struct pdk_json *params, struct pdk_err *err);
int pdk_frame_result(struct pdk_buf *out, int64_t id, const struct pdk_json *result,
        struct pdk_err *err);
int pdk_frame_error(struct pdk_buf *out, int64_t id, enum pdk_wire_error code,
        const char *message, struct pdk_err *err);

/* What exec is asked to do. Pointers are borrowed while a request is made, owned after a parse. */
struct pdk_exec_request {
    struct pdk_strv argv;
    char *cwd;           /* below the root; NULL: the root */
    struct pdk_strv env; /* the whole environment, but for: */
    bool inherit_env; /* stands on the agent's own (an image's PATH); env goes over it */
    int64_t timeout_ms;       /* 0: none */
    struct pdk_graces graces; /* on the wire, missing as a whole: PDK_GRACES_DEFAULT */
    char *log;                /* stem of the output files in the spool; NULL: not kept */
    int64_t output_cap;       /* bytes kept of each stream; 0: the default */
    char *nonce; /* comes back in the result: UTF-8, 1 to PDK_NONCE_MAX bytes */
    struct pdk_policy policy; /* what it may write */
    struct pdk_limits limits; /* what it and its descendants may use */
    bool limits_in_full;      /* nothing runs where they hold only in part */
};

enum pdk_exec_start {
    PDK_EXEC_STARTED,
    PDK_EXEC_NO_COMMAND,
    PDK_EXEC_NO_CWD,
    PDK_EXEC_NO_SPAWN,
    PDK_EXEC_NO_CONFINEMENT /* it cannot be had, or failed before the command; see why */
};

/* How it was confined; mode PDK_CONFINE_NONE: it was not, the rest is nothing. */
struct pdk_confined {
    enum pdk_confine mode;
    enum pdk_dialect dialect;
    enum pdk_enforced enforcement;
    bool denied; /* by its exit and its words: a write was refused. A diagnosis, no proof */
};

struct pdk_exec_result {
    char nonce[PDK_NONCE_MAX + 1];
    enum pdk_exec_start start; /* other than STARTED: nothing ran; see start_errno */
    int start_errno;
    int exit_code; /* -1 where a signal ended it or nothing ran */
    int signal;
    bool timed_out, canceled, oom, root_gone;
    int stragglers; /* descendants that had to be ended after it */
    int leaked;     /* of these, those that are still alive */
    int64_t duration_ms, cpu_ms, max_rss_kb;
    uint64_t out_bytes, out_dropped, err_bytes, err_dropped;
    bool spool_failed; /* an output could not be written whole, or not into order */
    struct pdk_confined confined;
    struct pdk_held held; /* what kept the limits */
    char why[512];        /* of NO_CONFINEMENT; "" */
};

/*
 * PDK_EINVAL for a request, PDK_EPROTO for a result that does not keep its form: a member of the
 * wrong type or out of its range, one that must be there and is not, a result that says two things.
 */
void pdk_exec_request_fini(struct pdk_exec_request *r);
int pdk_exec_request_to_json(
        const struct pdk_exec_request *r, struct pdk_json **out, struct pdk_err *err);
/* The member `graces` of v; PDK_GRACES_DEFAULT where it is missing. */
int pdk_graces_from_json(
        const struct pdk_json *v, struct pdk_graces *out, struct pdk_err *err);
int pdk_exec_request_from_json(
        const struct pdk_json *v, struct pdk_exec_request *out, struct pdk_err *err);
int pdk_exec_result_to_json(
        const struct pdk_exec_result *r, struct pdk_json **out, struct pdk_err *err);
int pdk_exec_result_from_json(
        const struct pdk_json *v, struct pdk_exec_result *out, struct pdk_err *err);

#endif
