/*
 * One conversation with a provider under test, and what a case says about it. A helper returns false
 * (or NULL) once something is wrong, with the first reason in why; a case returns that.
 */
#ifndef PDK_SANDBOX_CHECK_TALK_H
#define PDK_SANDBOX_CHECK_TALK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/check/check.h"
#include "sandbox/protocol.h"

struct pdk_talk {
    const struct pdk_check_spec *spec;
    pid_t pid;
    int pidfd, in, out; /* in: of its stdin */
    struct pdk_framer framer;
    struct pdk_json *frames;     /* came, and not taken */
    struct pdk_json *descriptor; /* the answer to initialize; NULL before */
    int64_t last_id;
    bool ended; /* its output is at its end */
    char why[512];
};

struct pdk_check_case {
    const char *name;
    enum pdk_verb needs; /* PDK_VERB_COUNT: no verb */
    const char *
            init; /* params of initialize; NULL: the usual; "": the case does it itself */
    bool (*run)(struct pdk_talk *t);
};

/* The tables of frames.c, files.c and commands.c; a row without a name ends each. */
extern const struct pdk_check_case pdk_check_frames[], pdk_check_files[],
        pdk_check_commands[];

bool pdk_talk_open(
        struct pdk_talk *t, const struct pdk_check_spec *spec, const char *init);
void pdk_talk_close(struct pdk_talk *t); /* kills what is left */

/* Says what is wrong, unless something was said before; false. */
__attribute__((format(printf, 2, 3))) bool pdk_talk_wrong(
        struct pdk_talk *t, const char *fmt, ...);
#define PDK_TALK_EXPECT(t, holds, ...) ((holds) || pdk_talk_wrong(t, __VA_ARGS__))

bool pdk_talk_say(struct pdk_talk *t, const char *text, size_t len);
/* Sends a request, its params as JSON text ("" for none). Returns its id; 0 where it cannot. */
__attribute__((format(printf, 3, 4))) int64_t pdk_talk_send(
        struct pdk_talk *t, const char *method, const char *params, ...);
__attribute__((format(printf, 3, 4))) bool pdk_talk_notify(
        struct pdk_talk *t, const char *method, const char *params, ...);
/* The next frame that answers id, or that is a notification of method; owned by the caller. */
struct pdk_json *pdk_talk_answer(struct pdk_talk *t, int64_t id);
struct pdk_json *pdk_talk_heard(struct pdk_talk *t, const char *method);
/* Sends and waits for the result; owned by the caller. */
__attribute__((format(printf, 3, 4))) struct pdk_json *pdk_talk_ask(
        struct pdk_talk *t, const char *method, const char *params, ...);
/* Sends and waits for that error. */
__attribute__((format(printf, 4, 5))) bool pdk_talk_refused(struct pdk_talk *t,
        const char *code, const char *method, const char *params, ...);
/* An answer with id null and that code. */
bool pdk_talk_misunderstood(struct pdk_talk *t, const char *code);
/* Does it end by itself? */
bool pdk_talk_ends(struct pdk_talk *t);
bool pdk_talk_offers(const struct pdk_talk *t, const char *verb);

/* A shell command by exec, which must exit with that code; owned result or NULL. */
struct pdk_json *pdk_talk_run(struct pdk_talk *t, const char *sh, int exit_code);
/* Does the result hold these? why names the member. */
bool pdk_talk_int(
        struct pdk_talk *t, const struct pdk_json *v, const char *key, int64_t value);
bool pdk_talk_text(
        struct pdk_talk *t, const struct pdk_json *v, const char *key, const char *value);
bool pdk_talk_flag(
        struct pdk_talk *t, const struct pdk_json *v, const char *key, bool value);
bool pdk_talk_bytes(struct pdk_talk *t, const struct pdk_json *v, const char *key,
        const char *bytes, size_t len);

#endif
