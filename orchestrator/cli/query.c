/* Commands that only read what the store knows: runs, show, events. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "orchestrator/cli/follow.h"
#include "orchestrator/cli/render.h"
#include "orchestrator/cli/statistics.h"

static struct pdk_json *run_item(const struct pdk_run_row *row)
{
    struct pdk_json *item = pdk_json_object();
    char created[32];

    pdk_clock_format(row->created_ms, created, sizeof(created));
    (void)pdk_json_set_str(item, "run", row->id);
    (void)pdk_json_set_str(item, "kind", row->kind);
    (void)pdk_json_set_str(item, "id", row->mission);
    (void)pdk_json_set_str(item, "state", row->state);
    (void)pdk_json_set_str(item, "verdict", row->verdict);
    (void)pdk_json_set_str(item, "reason", row->reason);
    (void)pdk_json_set_str(item, "created", created);
    (void)pdk_json_set_int(item, "duration_ms", row->duration_ms);
    return item;
}

static void print_run(const struct pdk_run_row *row)
{
    char created[32];

    pdk_clock_format(row->created_ms, created, sizeof(created));
    printf("%-28s %-8s %-20s %-9s %-8s %s\n", row->id, row->kind, row->mission,
            row->state, row->verdict ? row->verdict : "-", created);
}

int pdk_command_runs(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_RUN_ROWS struct pdk_run_rows rows = { NULL, 0 };
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_json *items;

    (void)args;
    if (pdk_cli_find_store(cli, &err) < 0 ||
            (cli->store && pdk_store_runs(cli->store, 0, &rows, &err) < 0))
        return pdk_cli_fail(cli, &err);
    if (!cli->json) {
        for (size_t i = 0; i < rows.len; i++)
            print_run(&rows.items[i]);
        return 0;
    }
    items = pdk_json_array();
    for (size_t i = 0; i < rows.len; i++)
        (void)pdk_json_append(items, run_item(&rows.items[i]));
    return pdk_cli_print(cli, pdk_cli_listing(items));
}

/* One candidate: its document, as JSON or as text with the tail of its output named. */
static int show_candidate(const struct pdk_cli *cli, const struct pdk_json *doc,
        const struct pdk_run_name *name)
{
    struct pdk_json *candidate = pdk_render_candidate(doc, name->task, name->candidate);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (!candidate) {
        (void)pdk_fail(&err, PDK_ENOTFOUND, 0, "run %s has no candidate '%s'",
                pdk_json_get_str(doc, "run", ""), name->candidate);
        (void)pdk_hint(&err, "'paddock show %s' lists them", name->run);
        return pdk_cli_fail(cli, &err);
    }
    if (pdk_json_write(candidate, PDK_JSON_PRETTY, &text, &err) < 0)
        return pdk_cli_fail(cli, &err);
    puts(pdk_buf_str(&text));
    return 0;
}

int pdk_command_show(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_RUN_NAME struct pdk_run_name name = { NULL, NULL, NULL };
    PDK_AUTO_RUN_ROW struct pdk_run_row row = { 0 };
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    PDK_AUTO_BUF struct pdk_buf numbers = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_run_name_parse(args->words[0], &name, &err) < 0 ||
            pdk_cli_open_store_ro(cli, &err) < 0 ||
            pdk_store_run(cli->store, name.run, &row, &err) < 0 ||
            pdk_render_run(cli->store, row.id, &doc, &err) < 0)
        return pdk_cli_fail(cli, &err);
    if (name.candidate)
        return show_candidate(cli, doc, &name);
    if (cli->json)
        return pdk_cli_print(cli, pdk_take_ptr(&doc));
    if (pdk_render_text(doc, &err) < 0)
        return pdk_cli_fail(cli, &err);
    pdk_statistics_text(pdk_json_get(doc, "statistics"), &numbers);
    (void)fputs(pdk_buf_str(&numbers), stdout); /* reported at the end */
    return 0;
}

int pdk_event_print(const struct pdk_event *event, void *user)
{
    PDK_AUTO_JSON struct pdk_json *line = pdk_json_object();
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    (void)user;
    (void)pdk_json_set_int(line, "seq", event->seq);
    (void)pdk_json_set_int(line, "ts_ms", event->ts_ms);
    (void)pdk_json_set_str(line, "run", event->run);
    if (event->task)
        (void)pdk_json_set_str(line, "task", event->task);
    if (event->candidate > 0)
        (void)pdk_json_set_int(line, "candidate", event->candidate);
    if (event->attempt > 0)
        (void)pdk_json_set_int(line, "attempt", event->attempt);
    (void)pdk_json_set_str(line, "type", pdk_event_name(event->type));
    (void)pdk_json_set(line, "body", pdk_json_ref(event->body));
    if (pdk_json_write(line, PDK_JSON_COMPACT, &text, &err) == 0)
        puts(pdk_buf_str(&text));
    return ferror(stdout) ? 1 : 0;
}

/* Remembers how far it got and prints. */
static int print_and_count(const struct pdk_event *event, void *user)
{
    int64_t *last = user;

    *last = event->seq;
    return pdk_event_print(event, NULL);
}

int pdk_command_events(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_RUN_ROW struct pdk_run_row row = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    int64_t last = 0;
    bool live = pdk_args_has(args, "follow");

    if (pdk_cli_open_store_ro(cli, &err) < 0 ||
            pdk_store_run(cli->store, args->words[0], &row, &err) < 0)
        return pdk_cli_fail(cli, &err);
    do {
        live = live && pdk_follow_is_live(cli, row.id);
        if (pdk_store_events(cli->store, row.id, last, print_and_count, &last, &err) < 0)
            return pdk_cli_fail(cli, &err);
        (void)fflush(stdout); /* reported at the end */
        if (live)
            pdk_follow_wait();
    } while (live);
    return 0;
}
