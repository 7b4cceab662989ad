/* The verdict table, from the document of a run. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "orchestrator/cli/render.h"

/* Untrusted text on stdout: control characters do not reach the terminal. */
static void print_clean(const char *text)
{
    PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;

    pdk_utf8_printable(text, strlen(text), &clean);
    fputs(pdk_buf_str(&clean), stdout);
}

static const char *text_or(
        const struct pdk_json *v, const char *key, const char *fallback)
{
    return pdk_json_get_str(v, key, fallback);
}

static void print_checks(const struct pdk_json *candidate)
{
    const struct pdk_json *checks = pdk_json_get(candidate, "checks");

    for (size_t i = 0; i < pdk_json_len(checks); i++) {
        const struct pdk_json *check = pdk_json_at(checks, i);
        const char *verdict = text_or(check, "verdict", "?");

        printf("%s", i > 0 ? ", " : "");
        print_clean(text_or(check, "name", "?"));
        printf(" %s%s",
                strcmp(text_or(check, "severity", ""), "warn") == 0 ? "warn:" : "",
                verdict);
    }
}

static void print_candidate(
        const struct pdk_json *c, const char *prefix, const char *winner)
{
    char name[64], elapsed[24], change[48];
    const char *id = text_or(c, "id", "?"), *reason = text_or(c, "reason", NULL);

    (void)snprintf(name, sizeof(name), "%s%s%s", prefix, prefix[0] ? "/" : "", id);
    (void)snprintf(change, sizeof(change), "%lld files +%lld -%lld",
            (long long)pdk_json_get_int(c, "files_changed", 0),
            (long long)pdk_json_get_int(c, "lines_added", 0),
            (long long)pdk_json_get_int(c, "lines_deleted", 0));
    pdk_duration_format(pdk_json_get_int(c, "duration_ms", 0), elapsed, sizeof(elapsed));
    printf("%c %-12s %-8s %-22s %8s  ", pdk_streq(winner, id) ? '*' : ' ', name,
            text_or(c, "verdict", text_or(c, "state", "?")), change, elapsed);
    print_checks(c);
    if (reason)
        printf("  (%s)", reason);
    putchar('\n');
}

static void print_warnings(const struct pdk_json *c)
{
    const struct pdk_json *warnings = pdk_json_get(c, "warnings");

    for (size_t i = 0; i < pdk_json_len(warnings); i++) {
        printf("  %s: warning: ", text_or(c, "id", "?"));
        print_clean(pdk_json_text(pdk_json_at(warnings, i), NULL));
        putchar('\n');
    }
}

static void print_candidates(const struct pdk_json *owner, const char *prefix)
{
    const struct pdk_json *all = pdk_json_get(owner, "candidates");
    const char *winner = text_or(owner, "winner", NULL);

    for (size_t i = 0; i < pdk_json_len(all); i++)
        print_candidate(pdk_json_at(all, i), prefix, winner);
    for (size_t i = 0; i < pdk_json_len(all); i++)
        print_warnings(pdk_json_at(all, i));
}

static void print_task(const struct pdk_json *task)
{
    const char *reason = text_or(task, "reason", NULL);

    printf("task %s: %s", text_or(task, "id", "?"), text_or(task, "verdict", "open"));
    if (reason)
        printf(" (%s)", reason);
    putchar('\n');
    print_candidates(task, text_or(task, "id", "?"));
}

static void print_promotion(const struct pdk_json *doc)
{
    const struct pdk_json *promotion = pdk_json_get(doc, "promotion");

    if (pdk_json_type(promotion) != PDK_JSON_OBJECT)
        return;
    printf("promotion: %s as %s", text_or(promotion, "decision", "?"),
            text_or(promotion, "as", "?"));
    if (pdk_json_get_str(promotion, "detail", NULL)) {
        printf(": ");
        print_clean(pdk_json_get_str(promotion, "detail", ""));
    }
    putchar('\n');
}

void pdk_render_text(const struct pdk_json *doc)
{
    const struct pdk_json *tasks = pdk_json_get(doc, "tasks");
    char elapsed[24];

    pdk_duration_format(
            pdk_json_get_int(doc, "duration_ms", 0), elapsed, sizeof(elapsed));
    printf("run %s (%s)  base %.12s\n", text_or(doc, "run", "?"), text_or(doc, "id", "?"),
            text_or(pdk_json_get(doc, "base"), "commit", "none"));
    print_candidates(doc, "");
    for (size_t i = 0; i < pdk_json_len(tasks); i++)
        print_task(pdk_json_at(tasks, i));
    printf("verdict: %s", text_or(doc, "verdict", text_or(doc, "state", "?")));
    if (text_or(doc, "reason", NULL))
        printf(" (%s)", text_or(doc, "reason", ""));
    if (text_or(doc, "winner", NULL))
        printf("  winner: %s", text_or(doc, "winner", ""));
    printf("  peak %lld of %lld, %s\n",
            (long long)pdk_json_get_int(doc, "peak_concurrent", 0),
            (long long)pdk_json_get_int(doc, "max_concurrent", 0), elapsed);
    print_promotion(doc);
}
