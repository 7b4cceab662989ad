#include "verify/evidence.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"
#include "base/utf8.h"
#include "plan/plan.h"
#include "sandbox/protocol.h"
#include "verify/pattern.h"

enum {
    LISTS = 4,
    OUTPUT_MAX = 256 << 20, /* of a captured file; caps are far below */
    SHELL_NOT_FOUND = 127
};

/* One list of expectations on one stream. */
struct list {
    struct pdk_pattern **items;
    size_t len;
};

/* In the order out, err, not_out, not_err: as list_of() gives them. */
struct pdk_patterns {
    struct list lists[LISTS];
};

static const struct pdk_strv *list_of(const struct pdk_check *check, size_t i)
{
    const struct pdk_strv *const lists[LISTS] = { &check->expect.out, &check->expect.err,
        &check->expect.not_out, &check->expect.not_err };

    return lists[i];
}

static bool is_stderr(size_t list)
{
    return list % 2 == 1;
}

static bool is_negative(size_t list)
{
    return list >= 2;
}

void pdk_patterns_free(struct pdk_patterns *patterns)
{
    if (!patterns)
        return;
    for (size_t i = 0; i < LISTS; i++) {
        for (size_t k = 0; k < patterns->lists[i].len; k++)
            pdk_pattern_free(patterns->lists[i].items[k]);
        free(patterns->lists[i].items);
    }
    free(patterns);
}

static int compile_list(
        const struct pdk_strv *texts, struct list *out, struct pdk_err *err)
{
    if (texts->len == 0)
        return 0;
    out->items = calloc(texts->len, sizeof(struct pdk_pattern *));
    if (!out->items)
        return pdk_fail_nomem(err);
    for (; out->len < texts->len; out->len++) {
        const char *text = texts->items[out->len];
        int rc = pdk_pattern_compile(text, &out->items[out->len], NULL, err);
        if (rc < 0) {
            (void)pdk_wrap(err, "pattern '%s'", text); /* rc is the code */
            return rc;
        }
    }
    return 0;
}

int pdk_patterns_compile(
        const struct pdk_check *check, struct pdk_patterns **out, struct pdk_err *err)
{
    PDK_AUTO_PATTERNS struct pdk_patterns *patterns = calloc(1, sizeof(*patterns));

    if (!patterns)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < LISTS; i++) {
        int rc = compile_list(list_of(check, i), &patterns->lists[i], err);
        if (rc < 0)
            return rc;
    }
    *out = pdk_take_ptr(&patterns);
    return 0;
}

/* Sets reason and detail: "<check>: <text>", printable. */
__attribute__((format(printf, 4, 5))) static void conclude(struct pdk_outcome *out,
        const struct pdk_check *check, enum pdk_reason reason, const char *fmt, ...)
{
    PDK_AUTO_BUF struct pdk_buf line = PDK_BUF_INIT;
    char text[200];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args); /* may be cut */
    va_end(args);
    out->judgement.verdict = pdk_reason_verdict(reason);
    out->judgement.reason = reason;
    out->pattern = NULL;
    pdk_buf_addf(&line, "%s: ", check->name ? check->name : "check");
    pdk_utf8_printable(text, strlen(text), &line);
    (void)snprintf(out->judgement.detail, sizeof(out->judgement.detail), "%s",
            pdk_buf_str(&line)); /* may be cut */
}

/* A command line that is words and nothing else: the shell does no more than run its first word. */
static bool is_plain(const char *line)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./+:@%,- ";

    return *line && *line != ' ' && line[strspn(line, plain)] == '\0';
}

/* Is text, but for its last newline, "…: WORD: not found" or the like, and one line? */
static bool says_not_found(const char *text, const char *word, size_t word_len)
{
    static const char *const endings[] = { ": not found", ": command not found",
        ": No such file or directory" };
    size_t len = strcspn(text, "\n");

    if (text[len] != '\0' && text[len + 1] != '\0')
        return false;
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t tail = strlen(endings[i]);
        if (len < tail + word_len + 2 || memcmp(text + len - tail, endings[i], tail) != 0)
            continue;
        const char *at = text + len - tail - word_len;
        if (memcmp(at, word, word_len) == 0 && memcmp(at - 2, ": ", 2) == 0)
            return true;
    }
    return false;
}

/* Whether a string command's shell could not find what it was to run (evidence.h). */
static bool shell_found_nothing(
        const struct pdk_check *check, const struct pdk_evidence *evidence)
{
    enum { MESSAGE_MAX = 4096 };
    PDK_AUTO_BUF struct pdk_buf message = PDK_BUF_INIT;
    const struct pdk_strv *argv = &check->run.argv;

    if (!check->run.shell || evidence->result->exit_code != SHELL_NOT_FOUND ||
            !evidence->err_path || argv->len < 3)
        return false;
    const char *line = argv->items[2];
    if (!is_plain(line) ||
            pdk_fs_read(evidence->err_path, MESSAGE_MAX, &message, NULL) < 0)
        return false;
    return says_not_found(pdk_buf_str(&message), line, strcspn(line, " "));
}

static bool is_declared(const struct pdk_check *check, int exit_code)
{
    for (size_t i = 0; i < check->abstain_exit_len; i++) {
        if (check->abstain_exit[i] == exit_code)
            return true;
    }
    return false;
}

/* What kept the command from ending by itself. true: concluded. */
static bool judge_interruption(const struct pdk_check *check,
        const struct pdk_exec_result *r, struct pdk_outcome *out)
{
    bool full = r->start_errno == ENOSPC || r->start_errno == EDQUOT;
    enum pdk_reason late = check->on_timeout == PDK_ON_TIMEOUT_ABSTAIN
            ? PDK_REASON_TIMEOUT_NOT_JUDGED
            : PDK_REASON_CHECK_TIMED_OUT;

    if (r->root_gone) {
        conclude(out, check, PDK_REASON_SANDBOX_LOST, "the sandbox went away");
    } else if (r->canceled) {
        conclude(out, check, PDK_REASON_CANCELED, "canceled");
    } else if (r->start == PDK_EXEC_NO_CONFINEMENT) {
        conclude(out, check, PDK_REASON_CONFINEMENT_FAILED, "%s", r->why);
    } else if (r->start != PDK_EXEC_STARTED) {
        conclude(out, check, full ? PDK_REASON_DISK_FULL : PDK_REASON_SPAWN_FAILED,
                "its command could not be started%s%s", r->start_errno ? ": " : "",
                r->start_errno ? strerrordesc_np(r->start_errno) : "");
    } else if (r->oom) {
        conclude(out, check, PDK_REASON_OUT_OF_MEMORY, "ended for want of memory");
    } else if (r->timed_out) {
        conclude(out, check, late, "ran longer than %lld ms",
                (long long)check->timeout_ms);
    } else {
        return false;
    }
    return true;
}

/* How the command ended. true: concluded. */
static bool judge_ending(const struct pdk_check *check,
        const struct pdk_evidence *evidence, struct pdk_outcome *out)
{
    const struct pdk_exec_result *r = evidence->result;
    bool exited = r->signal == 0;

    if (exited && is_declared(check, r->exit_code))
        conclude(out, check, PDK_REASON_ABSTAIN_EXIT,
                "exit code %d means that it cannot judge", r->exit_code);
    else if (!exited)
        conclude(out, check, PDK_REASON_CHECK_FAILED, "ended by signal %d", r->signal);
    else if (!check->expect.has_exit || r->exit_code == check->expect.exit)
        return false;
    else if (shell_found_nothing(check, evidence))
        conclude(out, check, PDK_REASON_SPAWN_FAILED, "its command is not there");
    else
        conclude(out, check, PDK_REASON_CHECK_FAILED, "exit code %d, expected %d",
                r->exit_code, check->expect.exit);
    return true;
}

/* A stream's captured text. */
struct stream {
    struct pdk_buf text;
    bool utf8;
    bool truncated;
};

/* The outcome of one expectation; PASS when it is met. */
static int judge_pattern(const struct pdk_pattern *pattern, const struct stream *s,
        bool negative, enum pdk_reason *out, struct pdk_err *err)
{
    enum pdk_match match = PDK_MATCH_UNKNOWN;
    int rc = pdk_pattern_match(
            pattern, pdk_buf_str(&s->text), s->text.len, s->utf8, &match, err);

    if (rc < 0)
        return rc;
    if (match == PDK_MATCH_UNKNOWN)
        *out = PDK_REASON_OUTPUT_NOT_JUDGED;
    else if (match == PDK_MATCH_YES)
        *out = negative ? PDK_REASON_OUTPUT_MISMATCH : PDK_REASON_NONE;
    else if (s->truncated)
        *out = PDK_REASON_OUTPUT_TRUNCATED;
    else
        *out = negative ? PDK_REASON_NONE : PDK_REASON_OUTPUT_MISMATCH;
    return 0;
}

/* Keeps the finding where it outranks what is there: the first fail, else the first abstain. */
static void find(struct pdk_outcome *out, const struct pdk_check *check, size_t list,
        const char *pattern, enum pdk_reason reason)
{
    bool fails = pdk_reason_verdict(reason) == PDK_VERDICT_FAIL;
    const char *stream = is_stderr(list) ? "stderr" : "stdout";
    const char *verb = is_negative(list) ? "matches" : "does not match";

    if (reason == PDK_REASON_NONE || out->judgement.verdict == PDK_VERDICT_FAIL ||
            (!fails && out->judgement.verdict == PDK_VERDICT_ABSTAIN))
        return;
    if (fails)
        conclude(out, check, reason, "%s %s /%s/", stream, verb, pattern);
    else
        conclude(out, check, reason, "%s and /%s/: %s", stream, pattern,
                pdk_reason_text(reason));
    out->pattern = pattern;
}

static int judge_list(const struct pdk_check *check, const struct pdk_patterns *patterns,
        size_t list, const struct stream *s, struct pdk_outcome *out, struct pdk_err *err)
{
    const struct list *l = &patterns->lists[list];

    for (size_t i = 0; i < l->len; i++) {
        enum pdk_reason reason = PDK_REASON_NONE;
        int rc = judge_pattern(l->items[i], s, is_negative(list), &reason, err);
        if (rc < 0)
            return rc;
        find(out, check, list, list_of(check, list)->items[i], reason);
    }
    return 0;
}

/* The stream's text; false in *readable where it cannot be read. */
static int read_stream(
        const char *path, struct stream *s, bool *readable, struct pdk_err *err)
{
    struct pdk_err ours = PDK_ERR_INIT;
    int rc = path ? pdk_fs_read(path, OUTPUT_MAX, &s->text, &ours) : PDK_EIO;

    if (rc == PDK_ENOMEM)
        return pdk_fail_nomem(err);
    *readable = rc == 0;
    s->utf8 = pdk_utf8_valid(pdk_buf_str(&s->text), s->text.len);
    return 0;
}

static int judge_stream(const struct pdk_check *check,
        const struct pdk_patterns *patterns, const struct pdk_evidence *evidence,
        bool is_err, struct pdk_outcome *out, struct pdk_err *err)
{
    const size_t positive = is_err ? 1 : 0;
    const size_t negative = is_err ? 3 : 2;
    struct stream s = { PDK_BUF_INIT, false, false };
    bool readable = false;
    int rc;

    if (patterns->lists[positive].len + patterns->lists[negative].len == 0)
        return 0;
    rc = read_stream(
            is_err ? evidence->err_path : evidence->out_path, &s, &readable, err);
    s.truncated =
            (is_err ? evidence->result->err_dropped : evidence->result->out_dropped) > 0;
    if (rc == 0 && !readable) {
        if (out->judgement.verdict == PDK_VERDICT_PASS)
            conclude(out, check, PDK_REASON_OUTPUT_UNREADABLE, "%s cannot be read",
                    is_err ? "stderr" : "stdout");
    } else if (rc == 0) {
        rc = judge_list(check, patterns, positive, &s, out, err);
        if (rc == 0)
            rc = judge_list(check, patterns, negative, &s, out, err);
    }
    pdk_buf_fini(&s.text);
    return rc;
}

int pdk_evidence_judge(const struct pdk_check *check, const struct pdk_patterns *patterns,
        const struct pdk_evidence *evidence, struct pdk_outcome *out, struct pdk_err *err)
{
    struct pdk_outcome result = { { PDK_VERDICT_PASS, PDK_REASON_NONE, "" }, NULL };
    int rc = 0;

    if (check->run.argv.len == 0)
        conclude(&result, check, PDK_REASON_MANUAL_CHECK, "needs a person");
    else if (!evidence || !evidence->result)
        conclude(&result, check, PDK_REASON_AGENT_LOST, "the agent was lost");
    else if (!judge_interruption(check, evidence->result, &result) &&
            !judge_ending(check, evidence, &result)) {
        rc = judge_stream(check, patterns, evidence, false, &result, err);
        if (rc == 0)
            rc = judge_stream(check, patterns, evidence, true, &result, err);
    }
    if (rc == 0)
        *out = result;
    return rc;
}
