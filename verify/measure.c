#include "verify/measure.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/json.h"
#include "base/utf8.h"
#include "plan/plan.h"
#include "sandbox/protocol.h"
#include "verify/evidence.h"
#include "verify/pattern.h"

enum {
    OUTPUT_MAX = 256 << 20, /* of a captured file; caps are far below */
    NAMES_MAX = 10000       /* of failed tests in one record */
};

struct pdk_gauge {
    struct pdk_pattern *score, *passed, *failed, *error, *warning;
};

void pdk_gauge_free(struct pdk_gauge *gauge)
{
    if (!gauge)
        return;
    pdk_pattern_free(gauge->score);
    pdk_pattern_free(gauge->passed);
    pdk_pattern_free(gauge->failed);
    pdk_pattern_free(gauge->error);
    pdk_pattern_free(gauge->warning);
    free(gauge);
}

static int compile(const char *text, struct pdk_pattern **out, struct pdk_err *err)
{
    int rc = text ? pdk_pattern_compile(text, out, NULL, err) : 0;

    if (rc < 0)
        (void)pdk_wrap(err, "pattern '%s'", text); /* rc is the code */
    return rc;
}

int pdk_gauge_compile(
        const struct pdk_check *check, struct pdk_gauge **out, struct pdk_err *err)
{
    PDK_AUTO(pdk_gauge_free) struct pdk_gauge *gauge = calloc(1, sizeof(*gauge));
    int rc = gauge ? compile(check->score.stdout_pattern, &gauge->score, err)
                   : pdk_fail_nomem(err);

    if (rc == 0)
        rc = compile(check->tests.passed, &gauge->passed, err);
    if (rc == 0)
        rc = compile(check->tests.failed, &gauge->failed, err);
    if (rc == 0)
        rc = compile(check->diagnostics.error, &gauge->error, err);
    if (rc == 0)
        rc = compile(check->diagnostics.warning, &gauge->warning, err);
    if (rc == 0)
        *out = pdk_take_ptr(&gauge);
    return rc;
}

void pdk_measures_fini(struct pdk_measures *measures)
{
    pdk_tests_fini(&measures->tests);
}

/* Appends a captured file; one that cannot be read adds nothing. */
static int append(const char *path, struct pdk_buf *out, struct pdk_err *err)
{
    struct pdk_err ours = PDK_ERR_INIT;

    if (path && pdk_fs_read(path, OUTPUT_MAX, out, &ours) == PDK_ENOMEM)
        return pdk_fail_nomem(err);
    return 0;
}

/* ---- score */

/* A number and nothing else, finite. */
static bool read_number(const char *text, size_t len, double *out)
{
    char copy[64];
    char *end = NULL;
    double value;

    if (len == 0 || len >= sizeof(copy) || isspace((unsigned char)text[0]))
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    value = strtod(copy, &end);
    if (*end != '\0' || !isfinite(value))
        return false;
    *out = value;
    return true;
}

static int find_score(const struct pdk_gauge *gauge, const struct pdk_subject *s,
        struct pdk_measures *out, struct pdk_err *err)
{
    struct pdk_span whole = { 0, 0 }, group = { 0, 0 };
    enum pdk_match match = PDK_MATCH_NO;
    int rc = gauge->score
            ? pdk_pattern_find(gauge->score, s, 0, &whole, &group, &match, err)
            : 0;

    if (rc == 0 && match == PDK_MATCH_YES)
        out->has_score =
                read_number(s->text + group.start, group.end - group.start, &out->score);
    return rc;
}

bool pdk_measure_number(const char *pattern, const char *path, double *out)
{
    PDK_AUTO(pdk_gauge_free) struct pdk_gauge *gauge = calloc(1, sizeof(*gauge));
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_measures found = { .has_score = false };
    struct pdk_subject s;

    if (!gauge || pdk_pattern_compile(pattern, &gauge->score, NULL, NULL) < 0 ||
            append(path, &text, NULL) < 0)
        return false;
    s = (struct pdk_subject){ pdk_buf_str(&text), text.len,
        pdk_utf8_valid(pdk_buf_str(&text), text.len) };
    if (find_score(gauge, &s, &found, NULL) < 0 || !found.has_score)
        return false;
    *out = found.score;
    return true;
}

/* ---- tests */

static int find_tests(const struct pdk_check *check, const struct pdk_gauge *gauge,
        const struct pdk_subject *s, struct pdk_measures *out, struct pdk_err *err)
{
    if (pdk_streq(check->tests.format, "junit"))
        return pdk_tests_junit(s->text, s->len, &out->tests, err);
    if (pdk_streq(check->tests.format, "tap"))
        return pdk_tests_tap(s->text, s->len, &out->tests, err);
    if (check->tests.format)
        return pdk_tests_patterns(s, gauge->passed, gauge->failed, &out->tests, err);
    return 0;
}

/* ---- complaints, on both streams */

static int count(const struct pdk_pattern *pattern, const struct pdk_subject *s,
        struct pdk_measures *out, int64_t *n, struct pdk_err *err)
{
    struct pdk_span whole = { 0, 0 }, group = { 0, 0 };
    enum pdk_match match = PDK_MATCH_YES;

    for (size_t from = 0; pattern && from <= s->len; from = whole.end + 1) {
        int rc = pdk_pattern_find(pattern, s, from, &whole, &group, &match, err);

        if (rc < 0)
            return rc;
        if (match == PDK_MATCH_UNKNOWN)
            out->counted = false;
        if (match != PDK_MATCH_YES)
            break;
        ++*n;
        while (s->utf8 && whole.end + 1 < s->len &&
                ((unsigned char)s->text[whole.end + 1] & 0xc0U) == 0x80U)
            whole.end++;
    }
    return 0;
}

static int count_complaints(const struct pdk_gauge *gauge,
        const struct pdk_evidence *evidence, struct pdk_measures *out,
        struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_subject s;

    if (!gauge->error && !gauge->warning)
        return 0;
    if (append(evidence->out_path, &text, err) < 0 ||
            append(evidence->err_path, &text, err) < 0)
        return PDK_ENOMEM;
    s = (struct pdk_subject){ pdk_buf_str(&text), text.len,
        pdk_utf8_valid(pdk_buf_str(&text), text.len) };
    out->counted = !evidence->result->out_dropped && !evidence->result->err_dropped &&
            !evidence->result->timed_out;
    if (count(gauge->error, &s, out, &out->errors, err) < 0)
        return PDK_ENOMEM;
    return count(gauge->warning, &s, out, &out->warnings, err);
}

/* What is new against the base: NONE where nothing that counts is. */
static enum pdk_reason judge_complaints(const struct pdk_check *check,
        const struct pdk_measures *measures, const struct pdk_json *base)
{
    const struct pdk_json *had = pdk_json_get(base, "diagnostics");

    if (!check->diagnostics.error || !base)
        return PDK_REASON_NONE;
    if (!had || !measures->counted)
        return PDK_REASON_DIAGNOSTICS_NOT_MEASURED;
    if (measures->errors > pdk_json_get_int(had, "errors", 0))
        return PDK_REASON_NEW_DIAGNOSTICS;
    if (check->diagnostics.warnings_block &&
            measures->warnings > pdk_json_get_int(had, "warnings", 0))
        return PDK_REASON_NEW_DIAGNOSTICS;
    return PDK_REASON_NONE;
}

/* ---- the mark of a failure */

/* Adds the text without what differs from run to run: numbers, and where the sandbox is. */
static void digest_text(
        struct pdk_digest *d, const struct pdk_buf *text, const char *root)
{
    size_t root_len = root ? strlen(root) : 0;
    const char *at = pdk_buf_str(text), *end = at + text->len;

    while (at < end) {
        const char *from = at;

        if (root_len > 0 && (size_t)(end - at) >= root_len &&
                memcmp(at, root, root_len) == 0) {
            pdk_digest_add(d, "@", 1);
            at += root_len;
            continue;
        }
        while (at < end && isdigit((unsigned char)*at))
            at++;
        if (at > from)
            pdk_digest_add(d, "0", 1);
        else
            pdk_digest_add(d, at++, 1);
    }
}

static int digest_names(
        struct pdk_digest *d, const struct pdk_strv *names, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv sorted = PDK_STRV_INIT;

    if (pdk_strv_copy(&sorted, names, err) < 0)
        return PDK_ENOMEM;
    pdk_strv_sort(&sorted);
    for (size_t i = 0; i < sorted.len; i++)
        pdk_digest_add(d, sorted.items[i], strlen(sorted.items[i]) + 1);
    return 0;
}

static int digest_outputs(struct pdk_digest *d, const struct pdk_evidence *evidence,
        const char *root, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (append(evidence->out_path, &text, err) < 0 ||
            append(evidence->err_path, &text, err) < 0)
        return PDK_ENOMEM;
    digest_text(d, &text, root);
    return 0;
}

static int mark(const struct pdk_evidence *evidence, const char *root,
        struct pdk_measures *out, struct pdk_err *err)
{
    struct pdk_digest *d = pdk_digest_new();
    char head[64], hex[65];
    int rc;

    if (!d)
        return pdk_fail_nomem(err);
    (void)snprintf(head, sizeof(head), "%d %d %d", evidence->result->exit_code,
            evidence->result->signal, evidence->result->timed_out);
    pdk_digest_add(d, head, strlen(head) + 1);
    rc = out->tests.failed.len > 0 ? digest_names(d, &out->tests.failed, err)
                                   : digest_outputs(d, evidence, root, err);
    pdk_digest_end(d, hex);
    pdk_digest_free(d);
    if (rc == 0)
        (void)snprintf(out->fingerprint, sizeof(out->fingerprint), "%.16s", hex);
    return rc;
}

int pdk_measure(const struct pdk_check *check, const struct pdk_gauge *gauge,
        const struct pdk_evidence *evidence, const char *root, struct pdk_measures *out,
        struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_subject subject;
    int rc = 0;

    if (!evidence->result || evidence->result->start != PDK_EXEC_STARTED)
        return 0;
    out->cut = evidence->result->out_dropped > 0;
    if (gauge->score || check->tests.format) {
        rc = append(evidence->out_path, &text, err);
        pdk_buf_addc(&text, '\n');
        if (rc == 0)
            rc = append(evidence->results_path, &text, err);
        if (rc == 0)
            rc = pdk_buf_ok(&text, err);
    }
    subject = (struct pdk_subject){ pdk_buf_str(&text), text.len,
        pdk_utf8_valid(pdk_buf_str(&text), text.len) };
    if (rc == 0)
        rc = find_score(gauge, &subject, out, err);
    if (rc == 0)
        rc = find_tests(check, gauge, &subject, out, err);
    if (rc == 0)
        rc = count_complaints(gauge, evidence, out, err);
    return rc < 0 ? rc : mark(evidence, root, out, err);
}

__attribute__((format(printf, 3, 4))) static void conclude(
        struct pdk_judgement *judgement, enum pdk_reason reason, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(
            judgement->detail, sizeof(judgement->detail), fmt, args); /* may be cut */
    va_end(args);
    judgement->reason = reason;
    judgement->verdict = pdk_reason_verdict(reason);
}

void pdk_measures_judge(const struct pdk_check *check,
        const struct pdk_measures *measures, const struct pdk_json *base,
        struct pdk_judgement *judgement)
{
    size_t ran = measures->tests.passed.len + measures->tests.failed.len;
    const char *name = check->name ? check->name : "check";
    enum pdk_reason complaints = judge_complaints(check, measures, base);

    if (judgement->verdict != PDK_VERDICT_PASS)
        return;
    if (check->min_tests > 0 && !measures->tests.found)
        conclude(judgement, PDK_REASON_TESTS_NOT_MEASURED,
                "%s: its output names no tests", name);
    else if (check->min_tests > 0 && ran < (size_t)check->min_tests)
        conclude(judgement,
                measures->cut ? PDK_REASON_OUTPUT_TRUNCATED : PDK_REASON_TOO_FEW_TESTS,
                "%s: ran %zu of at least %d tests", name, ran, check->min_tests);
    else if (complaints != PDK_REASON_NONE)
        conclude(judgement, complaints, "%s: %lld errors and %lld warnings", name,
                (long long)measures->errors, (long long)measures->warnings);
    else if (check->score.stdout_pattern && !measures->has_score)
        conclude(
                judgement, PDK_REASON_SCORE_MISSING, "%s: its output has no score", name);
}

/* ---- the record */

static struct pdk_json *names_json(const struct pdk_strv *names)
{
    return pdk_json_strv((const char *const *)names->items,
            names->len < NAMES_MAX ? names->len : NAMES_MAX);
}

static struct pdk_json *missing_json(
        const struct pdk_tests *tests, const struct pdk_json *base)
{
    const struct pdk_json *failed =
            pdk_json_get(pdk_json_get(base, "tests"), "failed_names");
    struct pdk_json *missing = pdk_json_array();

    for (size_t i = 0; i < pdk_json_len(failed); i++) {
        const char *name = pdk_json_text(pdk_json_at(failed, i), NULL);

        if (name && !pdk_strv_has(&tests->passed, name))
            (void)pdk_json_append(missing, pdk_json_str(name)); /* pdk_json_ok() tells */
    }
    return missing;
}

void pdk_measures_record(const struct pdk_measures *measures, const struct pdk_json *base,
        struct pdk_json *body)
{
    struct pdk_json *tests = pdk_json_object();
    bool compare =
            pdk_json_len(pdk_json_get(pdk_json_get(base, "tests"), "failed_names")) > 0;

    /* pdk_json_ok() tells for all of these */
    (void)pdk_json_set_int(tests, "passed", (int64_t)measures->tests.passed.len);
    (void)pdk_json_set_int(tests, "failed", (int64_t)measures->tests.failed.len);
    (void)pdk_json_set_int(tests, "skipped", (int64_t)measures->tests.skipped);
    (void)pdk_json_set(tests, "failed_names", names_json(&measures->tests.failed));
    if (compare)
        (void)pdk_json_set(tests, "missing", missing_json(&measures->tests, base));
    if (measures->tests.found || compare)
        (void)pdk_json_set(body, "tests", pdk_json_ref(tests));
    pdk_json_free(tests);
    if (measures->has_score)
        (void)pdk_json_set(body, "score", pdk_json_real(measures->score));
    if (measures->counted) {
        struct pdk_json *diagnostics = pdk_json_object();

        (void)pdk_json_set_int(diagnostics, "errors", measures->errors);
        (void)pdk_json_set_int(diagnostics, "warnings", measures->warnings);
        (void)pdk_json_set(body, "diagnostics", diagnostics);
    }
    if (measures->fingerprint[0])
        (void)pdk_json_set_str(body, "fingerprint", measures->fingerprint);
}
