/* Cases about commands and kept processes. */
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "sandbox/check/talk.h"

#define ENV "\"env\":[\"PATH=/usr/local/bin:/usr/bin:/bin\",\"CHECK=yes\"]"

static struct pdk_json *exec(struct pdk_talk *t, const char *sh, const char *more)
{
    return pdk_talk_ask(t, "exec",
            "{\"argv\":[\"sh\",\"-c\",\"%s\"]," ENV ",\"nonce\":\"check\"%s}", sh, more);
}

/* The result has every member that it must have, and the nonce. */
static bool is_whole(struct pdk_talk *t, const struct pdk_json *result)
{
    struct pdk_exec_result parsed;
    struct pdk_err err = PDK_ERR_INIT;

    if (!result)
        return false;
    if (pdk_exec_result_from_json(result, &parsed, &err) < 0)
        return pdk_talk_wrong(t, "the result is out of form: %s", err.msg);
    return PDK_TALK_EXPECT(
            t, strcmp(parsed.nonce, "check") == 0, "the result has another nonce");
}

static bool ends(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *code = exec(t, "exit 3", "");
    PDK_AUTO_JSON struct pdk_json *sig = code ? exec(t, "kill -9 $$", "") : NULL;

    return is_whole(t, code) && is_whole(t, sig) &&
            pdk_talk_int(t, code, "exit_code", 3) && pdk_talk_int(t, code, "signal", 0) &&
            pdk_talk_int(t, sig, "signal", 9) && pdk_talk_int(t, sig, "exit_code", -1);
}

static bool nonce(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *result = exec(t, ":", "");

    return is_whole(t, result) &&
            pdk_talk_refused(t, "bad_params", "exec", "{\"argv\":[\"true\"]," ENV "}") &&
            pdk_talk_refused(
                    t, "bad_params", "exec", "{\"argv\":[]," ENV ",\"nonce\":\"n\"}");
}

static bool environment(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *result = exec(
            t, "test \\\"$CHECK\\\" = yes && test -z \\\"$PADDOCK_CHECK_LEAK\\\"", "");

    return is_whole(t, result) && pdk_talk_int(t, result, "exit_code", 0);
}

static bool unstarted(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *command = pdk_talk_ask(
            t, "exec", "{\"argv\":[\"/no/such/command\"]," ENV ",\"nonce\":\"check\"}");
    PDK_AUTO_JSON struct pdk_json *cwd =
            command ? exec(t, ":", ",\"cwd\":\"no/such\"") : NULL;

    return is_whole(t, command) && is_whole(t, cwd) &&
            pdk_talk_text(t, command, "start", "no_command") &&
            pdk_talk_text(t, cwd, "start", "no_cwd");
}

/* All output of one stream, in order, as it came before the answer. */
static bool gather(
        struct pdk_talk *t, int64_t call, const char *stream, struct pdk_buf *out)
{
    for (size_t i = 0; i < pdk_json_len(t->frames); i++) {
        const struct pdk_json *frame = pdk_json_at(t->frames, i);
        const struct pdk_json *params = pdk_json_get(frame, "params");

        if (strcmp(pdk_json_get_str(frame, "method", ""), "exec.output") != 0 ||
                pdk_json_get_int(params, "call", 0) != call ||
                strcmp(pdk_json_get_str(params, "stream", ""), stream) != 0)
            continue;
        if (pdk_json_get_bytes(params, "data", out, NULL) < 0)
            return pdk_talk_wrong(t, "output that is no bytes");
    }
    return true;
}

static bool output(struct pdk_talk *t)
{
    int64_t call = pdk_talk_send(t, "exec",
            "{\"argv\":[\"sh\",\"-c\",\"printf 'a\\\\377'; printf err >&2; printf b; yes | head -c "
            "200000\"]," ENV ",\"nonce\":\"check\",\"stream\":\"full\"}");
    PDK_AUTO_JSON struct pdk_json *frame = pdk_talk_answer(t, call);
    const struct pdk_json *result = pdk_json_get(frame, "result");
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf err = PDK_BUF_INIT;

    return frame && is_whole(t, result) && gather(t, call, "stdout", &out) &&
            gather(t, call, "stderr", &err) &&
            PDK_TALK_EXPECT(t, out.len == 200003 && memcmp(out.data, "a\377b", 3) == 0,
                    "stdout is not what was written: %zu bytes", out.len) &&
            PDK_TALK_EXPECT(t, err.len == 3 && memcmp(err.data, "err", 3) == 0,
                    "stderr is not what was written") &&
            pdk_talk_int(t, result, "out_bytes", 200003) &&
            pdk_talk_int(t, result, "err_bytes", 3);
}

#define SOON ",\"graces\":{\"int_ms\":100,\"term_ms\":100,\"kill_ms\":10000}"

static bool timeout(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *result =
            exec(t, "trap '' INT TERM; sleep 1000", ",\"timeout_ms\":100" SOON);

    return is_whole(t, result) && pdk_talk_flag(t, result, "timed_out", true) &&
            pdk_talk_int(t, result, "leaked", 0);
}

static bool cancel(struct pdk_talk *t)
{
    int64_t call = pdk_talk_send(t, "exec",
            "{\"argv\":[\"sleep\",\"1000\"]," ENV ",\"nonce\":\"check\"" SOON "}");
    PDK_AUTO_JSON struct pdk_json *frame = NULL;

    if (!call || !pdk_talk_notify(t, "cancel", "{\"call\":%lld}", (long long)call))
        return false;
    frame = pdk_talk_answer(t, call);
    return frame && is_whole(t, pdk_json_get(frame, "result")) &&
            pdk_talk_flag(t, pdk_json_get(frame, "result"), "canceled", true);
}

static bool stragglers(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *result = exec(
            t, "setsid sleep 1000 >/dev/null 2>&1 & echo $! >check-pid; exit 5", SOON);
    PDK_AUTO_JSON struct pdk_json *gone =
            result ? exec(t, "kill -0 $(cat check-pid)", "") : NULL;
    PDK_AUTO_JSON struct pdk_json *swept = gone ? exec(t, "rm -f check-pid", "") : NULL;

    return is_whole(t, result) && is_whole(t, gone) && swept &&
            pdk_talk_int(t, result, "exit_code", 5) &&
            PDK_TALK_EXPECT(t, pdk_json_get_int(result, "stragglers", 0) >= 1,
                    "what outlived the command is not counted") &&
            PDK_TALK_EXPECT(t, pdk_json_get_int(gone, "exit_code", 0) != 0,
                    "what outlived the command still lives");
}

static bool end_stops(struct pdk_talk *t)
{
    if (!pdk_talk_send(t, "exec",
                "{\"argv\":[\"sleep\",\"1000\"]," ENV ",\"nonce\":\"check\"" SOON "}"))
        return false;
    (void)close(t->in);
    t->in = -1;
    return pdk_talk_ends(t);
}

/* ---- kept processes */

static struct pdk_json *read_kept(struct pdk_talk *t, int64_t handle, const char *text)
{
    for (;;) {
        struct pdk_json *r = pdk_talk_ask(
                t, "proc_read", "{\"handle\":%lld,\"wait_ms\":10000}", (long long)handle);

        if (!r || strstr(pdk_json_get_str(r, "stdout", ""), text))
            return r;
        if (!pdk_json_get_bool(r, "running", false)) {
            (void)pdk_talk_wrong(t, "the process ended without '%s'", text);
            pdk_json_free(r);
            return NULL;
        }
        pdk_json_free(r);
    }
}

static bool clears(struct pdk_talk *t, int64_t handle)
{
    PDK_AUTO_JSON struct pdk_json *taken = pdk_talk_ask(
            t, "proc_read", "{\"handle\":%lld,\"clear\":true}", (long long)handle);
    PDK_AUTO_JSON struct pdk_json *empty = taken
            ? pdk_talk_ask(t, "proc_read", "{\"handle\":%lld}", (long long)handle)
            : NULL;

    return empty && pdk_talk_text(t, taken, "stdout", "kept\n") &&
            pdk_talk_text(t, empty, "stdout", "");
}

static bool kept(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *made = pdk_talk_ask(
            t, "spawn", "{\"argv\":[\"cat\"]," ENV ",\"nonce\":\"check\"" SOON "}");
    int64_t handle = pdk_json_get_int(made, "handle", 0);
    PDK_AUTO_JSON struct pdk_json *typed = made
            ? pdk_talk_ask(t, "proc_stdin", "{\"handle\":%lld,\"data\":\"kept\\n\"}",
                      (long long)handle)
            : NULL;
    PDK_AUTO_JSON struct pdk_json *seen = typed ? read_kept(t, handle, "kept\n") : NULL;
    PDK_AUTO_JSON struct pdk_json *end = NULL;

    if (!seen || !pdk_talk_text(t, made, "nonce", "check") ||
            !pdk_talk_int(t, typed, "accepted", 5) || !clears(t, handle))
        return false;
    end = pdk_talk_ask(t, "proc_stop", "{\"handle\":%lld}", (long long)handle);
    return end && pdk_talk_flag(t, end, "running", false) &&
            pdk_talk_text(t, end, "nonce", "check") &&
            pdk_talk_int(t, end, "leaked", 0) &&
            pdk_talk_refused(
                    t, "not_found", "proc_read", "{\"handle\":%lld}", (long long)handle);
}

static bool kept_apart(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *made = pdk_talk_ask(
            t, "spawn", "{\"argv\":[\"cat\"]," ENV ",\"nonce\":\"check\"" SOON "}");
    PDK_AUTO_JSON struct pdk_json *result = made ? exec(t, "exit 4", "") : NULL;
    PDK_AUTO_JSON struct pdk_json *still = result
            ? pdk_talk_ask(t, "proc_read", "{\"handle\":%lld}",
                      (long long)pdk_json_get_int(made, "handle", 0))
            : NULL;

    return is_whole(t, result) && still && pdk_talk_int(t, result, "exit_code", 4) &&
            pdk_talk_flag(t, still, "running", true);
}

static bool unkept(struct pdk_talk *t)
{
    return pdk_talk_refused(t, "not_found", "spawn",
                   "{\"argv\":[\"/no/such/command\"]," ENV ",\"nonce\":\"check\"}") &&
            pdk_talk_refused(t, "bad_params", "spawn", "{\"argv\":[]}") &&
            pdk_talk_refused(t, "not_found", "proc_stop", "{\"handle\":4711}");
}

static bool terminal(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *made = pdk_talk_ask(t, "spawn",
            "{\"argv\":[\"sh\",\"-c\",\"stty size; cat\"]," ENV
            ",\"nonce\":\"check\",\"pty\":true,\"rows\":7,\"cols\":33" SOON "}");
    PDK_AUTO_JSON struct pdk_json *seen =
            made ? read_kept(t, pdk_json_get_int(made, "handle", 0), "7 33") : NULL;

    return seen != NULL;
}

const struct pdk_check_case pdk_check_commands[] = {
    { "exec: how a command ended", PDK_VERB_EXEC, NULL, ends },
    { "exec: the nonce is required and comes back", PDK_VERB_EXEC, NULL, nonce },
    { "exec: the environment is the one that was given", PDK_VERB_EXEC, NULL,
            environment },
    { "exec: what cannot be started says why", PDK_VERB_EXEC, NULL, unstarted },
    { "exec: all output comes before the answer", PDK_VERB_EXEC, NULL, output },
    { "exec: a timeout ends what ignores signals", PDK_VERB_EXEC, NULL, timeout },
    { "exec: a cancel ends it", PDK_VERB_EXEC, NULL, cancel },
    { "exec: nothing outlives its command", PDK_VERB_EXEC, NULL, stragglers },
    { "end: the end of its input stops a command", PDK_VERB_EXEC, NULL, end_stops },
    { "spawn: a kept process is typed to, read and stopped", PDK_VERB_SPAWN, NULL, kept },
    { "spawn: a kept process outlives commands", PDK_VERB_SPAWN, NULL, kept_apart },
    { "spawn: refusals", PDK_VERB_SPAWN, NULL, unkept },
    { "spawn: a terminal has its size", PDK_VERB_SPAWN, NULL, terminal },
    { NULL, PDK_VERB_COUNT, NULL, NULL },
};
