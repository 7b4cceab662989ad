/* The verdict table, from the document of a run. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "orchestrator/cli/render.h"

/* Untrusted text: control characters do not reach the terminal. */
static void add_clean(struct pdk_buf *out, const char *text)
{
    pdk_utf8_printable(text, strlen(text), out);
}

static const char *text_or(
        const struct pdk_json *v, const char *key, const char *fallback)
{
    return pdk_json_get_str(v, key, fallback);
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- one candidate, one line: columns as wide as their widest cell */

enum { CELL = 160 };

/* What stands in the columns that are aligned. */
struct cells {
    char name[CELL], verdict[CELL], change[CELL], elapsed[CELL];
};

struct widths {
    int name, verdict, change, elapsed;
};

static void describe_change(const struct pdk_json *c, char *out, size_t size)
{
    int64_t files = pdk_json_get_int(c, "files_changed", 0);

    if (!pdk_json_get_str(c, "tree", NULL))
        (void)snprintf(out, size, "-");
    else if (files == 0)
        (void)snprintf(out, size, "unchanged");
    else
        (void)snprintf(out, size, "%lld file%s +%lld -%lld", (long long)files,
                plural(files), (long long)pdk_json_get_int(c, "lines_added", 0),
                (long long)pdk_json_get_int(c, "lines_deleted", 0));
}

static struct cells describe(const struct pdk_json *c, const char *task)
{
    struct cells cells;

    (void)snprintf(
            cells.name, CELL, "%s%s%s", task, task[0] ? "/" : "", text_or(c, "id", "?"));
    (void)snprintf(
            cells.verdict, CELL, "%s", text_or(c, "verdict", text_or(c, "state", "?")));
    describe_change(c, cells.change, CELL);
    pdk_duration_format(pdk_json_get_int(c, "duration_ms", 0), cells.elapsed, CELL);
    return cells;
}

static void widen(int *width, const char *cell)
{
    int len = (int)strlen(cell);

    *width = len > *width ? len : *width;
}

static void measure(const struct pdk_json *owner, const char *task, struct widths *w)
{
    const struct pdk_json *all = pdk_json_get(owner, "candidates");

    for (size_t i = 0; i < pdk_json_len(all); i++) {
        struct cells cells = describe(pdk_json_at(all, i), task);

        widen(&w->name, cells.name);
        widen(&w->verdict, cells.verdict);
        widen(&w->change, cells.change);
        widen(&w->elapsed, cells.elapsed);
    }
}

static void add_checks(struct pdk_buf *out, const struct pdk_json *candidate)
{
    const struct pdk_json *checks = pdk_json_get(candidate, "checks");

    for (size_t i = 0; i < pdk_json_len(checks); i++) {
        const struct pdk_json *check = pdk_json_at(checks, i);
        bool warns = strcmp(text_or(check, "severity", ""), "warn") == 0;

        pdk_buf_adds(out, i > 0 ? ", " : "  ");
        add_clean(out, text_or(check, "name", "?"));
        pdk_buf_addf(
                out, " %s%s", text_or(check, "verdict", "?"), warns ? " (warns)" : "");
    }
}

/* Checks explain a verdict that came from them; else its reason does, in words. */
static void add_reason(struct pdk_buf *out, const struct pdk_json *c)
{
    const char *reason = text_or(c, "reason", NULL), *detail = text_or(c, "detail", "");

    if (!reason)
        return;
    pdk_buf_addf(out, "  (%s", reason);
    if (detail[0]) {
        pdk_buf_adds(out, ": ");
        add_clean(out, detail);
    }
    pdk_buf_addc(out, ')');
}

static void add_candidate(struct pdk_buf *out, const struct pdk_json *c, const char *task,
        const char *winner, const struct widths *w)
{
    struct cells cells = describe(c, task);

    pdk_buf_addf(out, "%c %-*s  %-*s  %-*s  %*s",
            pdk_streq(winner, text_or(c, "id", "?")) ? '*' : ' ', w->name, cells.name,
            w->verdict, cells.verdict, w->change, cells.change, w->elapsed,
            cells.elapsed);
    add_checks(out, c);
    add_reason(out, c);
    pdk_buf_addc(out, '\n');
}

static void add_warnings(struct pdk_buf *out, const struct pdk_json *c, const char *task)
{
    const struct pdk_json *warnings = pdk_json_get(c, "warnings");

    for (size_t i = 0; i < pdk_json_len(warnings); i++) {
        pdk_buf_addf(out, "  %s%s%s: warning: ", task, task[0] ? "/" : "",
                text_or(c, "id", "?"));
        if (pdk_json_text(pdk_json_at(warnings, i), NULL))
            add_clean(out, pdk_json_text(pdk_json_at(warnings, i), NULL));
        pdk_buf_addc(out, '\n');
    }
}

static void add_candidates(struct pdk_buf *out, const struct pdk_json *owner,
        const char *task, const struct widths *w)
{
    const struct pdk_json *all = pdk_json_get(owner, "candidates");
    const char *winner = text_or(owner, "winner", NULL);

    for (size_t i = 0; i < pdk_json_len(all); i++)
        add_candidate(out, pdk_json_at(all, i), task, winner, w);
    for (size_t i = 0; i < pdk_json_len(all); i++)
        add_warnings(out, pdk_json_at(all, i), task);
}

/* ---- the whole */

static void add_verdict(struct pdk_buf *out, const struct pdk_json *v)
{
    const char *reason = text_or(v, "reason", NULL);

    pdk_buf_adds(out, text_or(v, "verdict", text_or(v, "state", "open")));
    if (reason)
        pdk_buf_addf(out, " (%s)", reason);
}

static void add_tasks(
        struct pdk_buf *out, const struct pdk_json *tasks, const struct widths *w)
{
    for (size_t i = 0; i < pdk_json_len(tasks); i++) {
        const struct pdk_json *task = pdk_json_at(tasks, i);
        const char *branch = text_or(task, "branch", NULL);

        pdk_buf_addf(out, "task %s: ", text_or(task, "id", "?"));
        add_verdict(out, task);
        if (branch) {
            pdk_buf_adds(out, "  branch: ");
            add_clean(out, branch);
        }
        pdk_buf_addc(out, '\n');
        add_candidates(out, task, text_or(task, "id", "?"), w);
    }
}

static void add_summary(struct pdk_buf *out, const struct pdk_json *doc)
{
    int64_t peak = pdk_json_get_int(doc, "peak_concurrent", 0);
    const char *winner = text_or(doc, "winner", NULL);
    char elapsed[32];

    pdk_duration_format(
            pdk_json_get_int(doc, "duration_ms", 0), elapsed, sizeof(elapsed));
    pdk_buf_adds(out, "verdict: ");
    add_verdict(out, doc);
    if (winner)
        pdk_buf_addf(out, "  winner: %s", winner);
    pdk_buf_addf(out, "  peak: %lld of %lld  time: %s\n", (long long)peak,
            (long long)pdk_json_get_int(doc, "max_concurrent", 0), elapsed);
}

static void add_promotion(struct pdk_buf *out, const struct pdk_json *doc)
{
    const struct pdk_json *promotion = pdk_json_get(doc, "promotion");
    const char *detail = text_or(promotion, "detail", NULL);

    if (pdk_json_type(promotion) != PDK_JSON_OBJECT)
        return;
    pdk_buf_addf(out, "promotion: %s as %s", text_or(promotion, "decision", "?"),
            text_or(promotion, "as", "?"));
    if (detail) {
        pdk_buf_adds(out, ": ");
        add_clean(out, detail);
    }
    pdk_buf_addc(out, '\n');
}

void pdk_render_table(const struct pdk_json *doc, struct pdk_buf *out)
{
    const struct pdk_json *tasks = pdk_json_get(doc, "tasks");
    struct widths w = { 0 };

    measure(doc, "", &w);
    for (size_t i = 0; i < pdk_json_len(tasks); i++)
        measure(pdk_json_at(tasks, i), text_or(pdk_json_at(tasks, i), "id", "?"), &w);
    pdk_buf_addf(out, "run %s (%s)  base %.12s\n", text_or(doc, "run", "?"),
            text_or(doc, "id", "?"),
            text_or(pdk_json_get(doc, "base"), "commit", "none"));
    add_candidates(out, doc, "", &w);
    add_tasks(out, tasks, &w);
    add_summary(out, doc);
    add_promotion(out, doc);
}

int pdk_render_text(const struct pdk_json *doc, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    pdk_render_table(doc, &text);
    if (pdk_buf_ok(&text, err) < 0)
        return err->code;
    if (fputs(pdk_buf_str(&text), stdout) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot write to stdout");
    return 0;
}
