/* `paddock report`: a run to hand on, as Markdown, JSON, JUnit XML or a page. */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/utf8.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "orchestrator/cli/render.h"
#include "orchestrator/cli/statistics.h"

/* Everything that is printed comes from somebody: escaped for where it stands. */
enum format { FORMAT_MD, FORMAT_JSON, FORMAT_JUNIT, FORMAT_HTML };

static void add_xml(struct pdk_buf *out, const char *text)
{
    PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;

    pdk_utf8_printable(text, strlen(text), &clean);
    for (const char *c = pdk_buf_str(&clean); *c; c++) {
        if (*c == '&')
            pdk_buf_adds(out, "&amp;");
        else if (*c == '<')
            pdk_buf_adds(out, "&lt;");
        else if (*c == '>')
            pdk_buf_adds(out, "&gt;");
        else if (*c == '"')
            pdk_buf_adds(out, "&quot;");
        else
            pdk_buf_addc(out, *c);
    }
}

/* Lines of ours with words of others in them. */
static void add_xml_lines(struct pdk_buf *out, const char *lines)
{
    for (const char *end; *lines; lines = end + (*end == '\n')) {
        PDK_AUTO_FREE char *line = NULL;

        end = strchrnul(lines, '\n');
        line = strndup(lines, (size_t)(end - lines));
        add_xml(out, line ? line : "");
        pdk_buf_addc(out, '\n');
    }
}

static void add_md(struct pdk_buf *out, const char *text)
{
    PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;

    pdk_utf8_printable(text, strlen(text), &clean);
    for (const char *c = pdk_buf_str(&clean); *c; c++) {
        if (strchr("\\`*_{}[]<>|#", *c))
            pdk_buf_addc(out, '\\');
        pdk_buf_addc(out, *c);
    }
}

static const char *text_of(const struct pdk_json *v, const char *key)
{
    return pdk_json_get_str(v, key, "");
}

/* ---- the parts of a run */

static size_t owners_len(const struct pdk_json *doc)
{
    const struct pdk_json *tasks = pdk_json_get(doc, "tasks");

    return tasks ? pdk_json_len(tasks) : 1;
}

/* A task, or the mission as its own. */
static const struct pdk_json *owner_at(const struct pdk_json *doc, size_t i)
{
    const struct pdk_json *tasks = pdk_json_get(doc, "tasks");

    return tasks ? pdk_json_at(tasks, i) : doc;
}

struct cells {
    char change[64], score[40];
};

static struct cells describe(const struct pdk_json *c)
{
    struct cells cells = { "", "" };

    (void)snprintf(cells.change, sizeof(cells.change), "%lld files +%lld -%lld",
            (long long)pdk_json_get_int(c, "files_changed", 0),
            (long long)pdk_json_get_int(c, "lines_added", 0),
            (long long)pdk_json_get_int(c, "lines_deleted", 0));
    if (pdk_json_type(pdk_json_get(c, "score")) == PDK_JSON_REAL)
        (void)snprintf(
                cells.score, sizeof(cells.score), "%g", pdk_json_get_real(c, "score", 0));
    return cells;
}

typedef void escape(struct pdk_buf *out, const char *text);

/* "unit pass, lint fail" */
static void add_checks(struct pdk_buf *out, const struct pdk_json *c, escape *add)
{
    const struct pdk_json *checks = pdk_json_get(c, "checks");

    for (size_t i = 0; i < pdk_json_len(checks); i++) {
        const struct pdk_json *check = pdk_json_at(checks, i);

        pdk_buf_adds(out, i ? ", " : "");
        add(out, text_of(check, "name"));
        pdk_buf_addf(out, " %s", text_of(check, "verdict"));
    }
}

static void add_reason(struct pdk_buf *out, const struct pdk_json *c, escape *add)
{
    pdk_buf_addf(out, "%s", text_of(c, "reason"));
    if (text_of(c, "detail")[0]) {
        pdk_buf_adds(out, ": ");
        add(out, text_of(c, "detail"));
    }
}

/* Why the winner won: what told it from the next. */
static void add_why(struct pdk_buf *out, const struct pdk_json *owner)
{
    if (text_of(owner, "winner")[0])
        pdk_buf_addf(out, "%s wins by %s", text_of(owner, "winner"),
                text_of(owner, "decided_by")[0] ? text_of(owner, "decided_by")
                                                : "verdict");
    else
        pdk_buf_adds(out, "nothing wins");
}

/* ---- Markdown */

static void md_owner(struct pdk_buf *out, const struct pdk_json *owner, bool fleet)
{
    const struct pdk_json *all = pdk_json_get(owner, "candidates");

    if (fleet) {
        pdk_buf_adds(out, "## ");
        add_md(out, text_of(owner, "id"));
        pdk_buf_addf(out, ": %s\n\n", text_of(owner, "verdict"));
    }
    add_why(out, owner);
    pdk_buf_adds(out,
            ".\n\n| candidate | verdict | change | score | checks | reason |\n"
            "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < pdk_json_len(all); i++) {
        const struct pdk_json *c = pdk_json_at(all, i);
        struct cells cells = describe(c);

        pdk_buf_addf(out, "| %s | %s | %s | %s | ", text_of(c, "id"),
                text_of(c, "verdict"), cells.change, cells.score);
        add_checks(out, c, add_md);
        pdk_buf_adds(out, " | ");
        add_reason(out, c, add_md);
        pdk_buf_adds(out, " |\n");
    }
    pdk_buf_addc(out, '\n');
}

static void write_md(struct pdk_buf *out, const struct pdk_json *doc)
{
    PDK_AUTO_BUF struct pdk_buf numbers = PDK_BUF_INIT;

    pdk_buf_adds(out, "# ");
    add_md(out, text_of(doc, "id"));
    pdk_buf_addf(out, ": %s\n\nRun `%s` on base `%s`", text_of(doc, "verdict"),
            text_of(doc, "run"), text_of(pdk_json_get(doc, "base"), "commit"));
    pdk_buf_addf(out, "%s%s.\n\n", text_of(doc, "reason")[0] ? ", " : "",
            text_of(doc, "reason"));
    for (size_t i = 0; i < owners_len(doc); i++)
        md_owner(out, owner_at(doc, i), pdk_json_get(doc, "tasks") != NULL);
    pdk_statistics_text(pdk_json_get(doc, "statistics"), &numbers);
    if (numbers.len > 0)
        pdk_buf_addf(out, "```\n%s```\n", pdk_buf_str(&numbers));
}

/* ---- JUnit: a suite a candidate, a case a check; what abstained is skipped */

static void junit_check(
        struct pdk_buf *out, const struct pdk_json *check, const char *suite)
{
    const char *verdict = text_of(check, "verdict");

    pdk_buf_adds(out, "    <testcase classname=\"");
    add_xml(out, suite);
    pdk_buf_adds(out, "\" name=\"");
    add_xml(out, text_of(check, "name"));
    pdk_buf_addf(out, "\" time=\"%.3f\"",
            (double)pdk_json_get_int(check, "duration_ms", 0) / 1000);
    if (strcmp(verdict, "pass") == 0) {
        pdk_buf_adds(out, "/>\n");
        return;
    }
    pdk_buf_addf(
            out, "><%s message=\"", strcmp(verdict, "fail") == 0 ? "failure" : "skipped");
    add_reason(out, check, add_xml);
    pdk_buf_adds(out, "\"/></testcase>\n");
}

static size_t count_checks(const struct pdk_json *c, const char *verdict)
{
    const struct pdk_json *checks = pdk_json_get(c, "checks");
    size_t n = 0;

    for (size_t i = 0; i < pdk_json_len(checks); i++)
        n += strcmp(text_of(pdk_json_at(checks, i), "verdict"), verdict) == 0;
    return n;
}

static void junit_candidate(
        struct pdk_buf *out, const struct pdk_json *c, const char *task)
{
    PDK_AUTO_FREE char *suite =
            pdk_strf("%s%s%s", task, task[0] ? "/" : "", text_of(c, "id"));
    const struct pdk_json *checks = pdk_json_get(c, "checks");

    pdk_buf_adds(out, "  <testsuite name=\"");
    add_xml(out, suite ? suite : "");
    pdk_buf_addf(out, "\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n",
            pdk_json_len(checks), count_checks(c, "fail"), count_checks(c, "abstain"));
    for (size_t i = 0; i < pdk_json_len(checks); i++)
        junit_check(out, pdk_json_at(checks, i), suite ? suite : "");
    pdk_buf_adds(out, "  </testsuite>\n");
}

static void write_junit(struct pdk_buf *out, const struct pdk_json *doc)
{
    bool fleet = pdk_json_get(doc, "tasks") != NULL;

    pdk_buf_adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"");
    add_xml(out, text_of(doc, "run"));
    pdk_buf_adds(out, "\">\n");
    for (size_t i = 0; i < owners_len(doc); i++) {
        const struct pdk_json *owner = owner_at(doc, i);
        const struct pdk_json *all = pdk_json_get(owner, "candidates");

        for (size_t k = 0; k < pdk_json_len(all); k++)
            junit_candidate(out, pdk_json_at(all, k), fleet ? text_of(owner, "id") : "");
    }
    pdk_buf_adds(out, "</testsuites>\n");
}

/* ---- a page that needs nothing from elsewhere */

static void html_owner(struct pdk_buf *out, const struct pdk_json *owner, bool fleet)
{
    const struct pdk_json *all = pdk_json_get(owner, "candidates");

    if (fleet) {
        pdk_buf_adds(out, "<h2>");
        add_xml(out, text_of(owner, "id"));
        pdk_buf_addf(out, ": %s</h2>\n", text_of(owner, "verdict"));
    }
    pdk_buf_adds(out, "<p>");
    add_why(out, owner);
    pdk_buf_adds(out,
            ".</p>\n<table><tr><th>candidate<th>verdict<th>change<th>score"
            "<th>checks<th>reason</tr>\n");
    for (size_t i = 0; i < pdk_json_len(all); i++) {
        const struct pdk_json *c = pdk_json_at(all, i);
        struct cells cells = describe(c);

        pdk_buf_addf(out, "<tr class=\"%s\"><td>%s<td>%s<td>%s<td>%s<td>",
                text_of(c, "verdict"), text_of(c, "id"), text_of(c, "verdict"),
                cells.change, cells.score);
        add_checks(out, c, add_xml);
        pdk_buf_adds(out, "<td>");
        add_reason(out, c, add_xml);
        pdk_buf_adds(out, "</tr>\n");
    }
    pdk_buf_adds(out, "</table>\n");
}

static void write_html(struct pdk_buf *out, const struct pdk_json *doc)
{
    PDK_AUTO_BUF struct pdk_buf numbers = PDK_BUF_INIT;

    pdk_buf_adds(
            out, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>");
    add_xml(out, text_of(doc, "id"));
    pdk_buf_adds(out,
            "</title>\n<style>body{font:16px sans-serif;margin:2em}"
            "td,th{padding:.3em .8em;text-align:left}.pass{background:#e6f4e6}"
            ".fail{background:#f9e4e4}.abstain{background:#f5f0dc}</style>\n<h1>");
    add_xml(out, text_of(doc, "id"));
    pdk_buf_addf(out, ": %s</h1>\n<p>Run %s on base %s</p>\n", text_of(doc, "verdict"),
            text_of(doc, "run"), text_of(pdk_json_get(doc, "base"), "commit"));
    for (size_t i = 0; i < owners_len(doc); i++)
        html_owner(out, owner_at(doc, i), pdk_json_get(doc, "tasks") != NULL);
    pdk_statistics_text(pdk_json_get(doc, "statistics"), &numbers);
    if (numbers.len > 0) {
        pdk_buf_adds(out, "<pre>");
        add_xml_lines(out, pdk_buf_str(&numbers));
        pdk_buf_adds(out, "</pre>\n");
    }
    pdk_buf_adds(out, "</html>\n");
}

/* ---- the command */

static int find_format(const char *name, enum format *out, struct pdk_err *err)
{
    static const char *const names[] = { "md", "json", "junit", "html" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i], name) == 0) {
            *out = (enum format)i;
            return 0;
        }
    return pdk_fail(
            err, PDK_EINVAL, 0, "--format is md, json, junit or html, not '%s'", name);
}

static int write_report(enum format format, const struct pdk_json *doc,
        struct pdk_buf *out, struct pdk_err *err)
{
    switch (format) {
    case FORMAT_MD:
        write_md(out, doc);
        break;
    case FORMAT_JSON:
        if (pdk_json_write(doc, PDK_JSON_PRETTY, out, err) < 0)
            return err->code;
        pdk_buf_addc(out, '\n');
        break;
    case FORMAT_JUNIT:
        write_junit(out, doc);
        break;
    case FORMAT_HTML:
        write_html(out, doc);
        break;
    }
    return pdk_buf_ok(out, err);
}

int pdk_command_report(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_RUN_ROW struct pdk_run_row row = { 0 };
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    const char *output = pdk_args_get(args, "output", "-");
    enum format format = FORMAT_MD;
    struct pdk_err err = PDK_ERR_INIT;

    if (find_format(pdk_args_get(args, "format", cli->json ? "json" : "md"), &format,
                &err) < 0 ||
            pdk_cli_open_store_ro(cli, &err) < 0 ||
            pdk_store_run(cli->store, args->words[0], &row, &err) < 0 ||
            pdk_render_run(cli->store, row.id, &doc, &err) < 0 ||
            write_report(format, doc, &text, &err) < 0)
        return pdk_cli_fail(cli, &err);
    if (strcmp(output, "-") == 0)
        (void)fputs(pdk_buf_str(&text), stdout); /* reported at the end */
    else if (pdk_fs_write(output, pdk_buf_str(&text), text.len, 0644, 0, &err) < 0)
        return pdk_cli_fail(cli, &err);
    return 0;
}
