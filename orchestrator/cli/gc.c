/*
 * `paddock gc`: removes what ended runs left behind, proven by the record and the run's lock, never
 * by looking at directories. A run that a process still drives is left alone; working copies that
 * --keep left are removed (their trees stay in the vault).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/tier.h"
#include "base/json.h"
#include "base/path.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/follow.h"
#include "orchestrator/cli/sandbox.h"
#include "store/event.h"
#include "trees/template.h"

struct sweep {
    struct pdk_json *items;
    bool dry_run;
    int failed;
};

static void note(struct sweep *s, const struct pdk_sandbox_row *row, const char *what,
        const char *detail)
{
    struct pdk_json *item = pdk_json_object();

    (void)pdk_json_set_str(item, "sandbox", row->id);
    (void)pdk_json_set_str(item, "run", row->run);
    (void)pdk_json_set_str(item, "action", what);
    (void)pdk_json_set_bytes(item, "detail", detail, strlen(detail));
    (void)pdk_json_append(s->items, item);
}

static int remove_one(
        struct pdk_cli *cli, const struct pdk_sandbox_row *row, struct pdk_err *err)
{
    struct pdk_sandbox_record record = { 0 };
    struct pdk_json *body;
    int rc = pdk_named_record(row, &record, err);

    if (rc == 0)
        rc = pdk_sandbox_teardown(&record, cli->repo, cli->paths.registry_lock, 0, err);
    pdk_sandbox_record_fini(&record);
    if (rc < 0)
        return rc;
    body = pdk_json_object();
    (void)pdk_json_set_str(body, "id", row->id);
    return pdk_named_event(cli, row, PDK_EVENT_SANDBOX_RELEASED, body, err);
}

static void sweep_one(
        struct pdk_cli *cli, struct sweep *s, const struct pdk_sandbox_row *row)
{
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_follow_is_live(cli, row->run)) {
        note(s, row, "kept", "its run is live");
    } else if (s->dry_run) {
        note(s, row, "would remove", row->dir);
    } else if (remove_one(cli, row, &err) < 0) {
        note(s, row, "failed", err.msg);
        s->failed++;
    } else {
        note(s, row, "removed", row->dir);
    }
}

/* A base stays pinned only while its run lives. */
static void unpin_ended(struct pdk_cli *cli, const struct pdk_run_rows *runs)
{
    for (size_t i = 0; i < runs->len; i++) {
        PDK_AUTO_FREE char *pin = pdk_strf("run/%s", runs->items[i].id);
        struct pdk_err ignored = PDK_ERR_INIT;

        if (pin && strcmp(runs->items[i].state, "ended") != 0 &&
                !pdk_follow_is_live(cli, runs->items[i].id))
            (void)pdk_repo_unpin(
                    cli->repo, pin, &ignored); /* the next sweep tries again */
    }
}

/* What teardowns moved away, to the end; what cannot be removed is told, and stays for the next time. */
static void empty_trash(struct pdk_cli *cli, struct sweep *s)
{
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_sandbox_clean(cli->paths.registry_lock, 0, NULL, NULL, &err) == 0)
        return;
    pdk_cli_say(cli, "%s\n", err.msg);
    s->failed++;
}

enum { TEMPLATE_DAYS = 14 };
static const int64_t template_bytes = (int64_t)20 << 30;

/* Checkouts that runs share: those not used for two weeks, and the oldest over 20 GiB. */
static int sweep_templates(struct pdk_cli *cli, struct sweep *s, struct pdk_err *err)
{
    PDK_AUTO_FREE char *dir = pdk_path_join(cli->paths.dir, "templates");
    struct pdk_template_sweep templates = {
        .max_age_ms = (int64_t)TEMPLATE_DAYS * 86400000,
        .max_bytes = template_bytes,
        .dry_run = s->dry_run,
    };
    struct pdk_json *item;

    if (!dir)
        return pdk_fail_nomem(err);
    if (pdk_template_sweep(dir, &templates, err) < 0)
        return err->code;
    if (templates.removed == 0)
        return 0;
    item = pdk_json_object();
    (void)pdk_json_set_int(item, "templates", templates.removed);
    (void)pdk_json_set_str(item, "action", s->dry_run ? "would remove" : "removed");
    (void)pdk_json_set_int(item, "bytes", templates.freed);
    (void)pdk_json_append(s->items, item);
    return 0;
}

static bool gc_is_live(const char *run, void *user)
{
    return pdk_follow_is_live(user, run);
}

/* Containers that carry our label and no live run: what no record leads to. */
static void sweep_containers(struct pdk_cli *cli, struct sweep *s)
{
    struct pdk_json *item;
    struct pdk_err err = PDK_ERR_INIT;
    int removed = 0;

    if (pdk_tier_sweep(cli->paths.dir, gc_is_live, cli, s->dry_run, &removed, &err) < 0)
        s->failed++;
    if (removed == 0 && err.code == 0)
        return;
    item = pdk_json_object();
    (void)pdk_json_set_int(item, "containers", removed);
    (void)pdk_json_set_str(item, "action",
            err.code != 0        ? "failed"
                    : s->dry_run ? "would remove"
                                 : "removed");
    (void)pdk_json_set_bytes(item, "detail", err.msg, strlen(err.msg));
    (void)pdk_json_append(s->items, item);
}

static void print_item(const struct pdk_json *item)
{
    const char *action = pdk_json_get_str(item, "action", "");

    if (pdk_json_get(item, "templates"))
        printf("%s %" PRId64 " templates (%" PRId64 " bytes)\n", action,
                pdk_json_get_int(item, "templates", 0),
                pdk_json_get_int(item, "bytes", 0));
    else if (pdk_json_get(item, "containers"))
        printf("%s %" PRId64 " containers without a record %s\n", action,
                pdk_json_get_int(item, "containers", 0),
                pdk_json_get_str(item, "detail", ""));
    else
        printf("%s %s: %s\n", action, pdk_json_get_str(item, "sandbox", ""),
                pdk_json_get_str(item, "detail", ""));
}

static int print_sweep(struct pdk_cli *cli, struct sweep *s)
{
    size_t n = pdk_json_len(s->items);

    if (cli->json) {
        int status = pdk_cli_print(cli, pdk_cli_listing(pdk_json_ref(s->items)));

        return s->failed ? 4 : status;
    }
    for (size_t i = 0; i < n; i++)
        print_item(pdk_json_at(s->items, i));
    pdk_cli_say(cli, "%zu things looked at, %d could not be removed\n", n, s->failed);
    return s->failed ? 4 : 0;
}

int pdk_command_gc(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_SANDBOX_ROWS struct pdk_sandbox_rows rows = { NULL, 0 };
    PDK_AUTO_RUN_ROWS struct pdk_run_rows runs = { NULL, 0 };
    PDK_AUTO_JSON struct pdk_json *items = pdk_json_array();
    struct sweep s = { .items = items, .dry_run = pdk_args_has(args, "dry-run") };
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_cli_open_store(cli, &err) < 0 ||
            pdk_store_sandboxes(cli->store, PDK_SANDBOXES_LEFTOVERS, &rows, &err) < 0 ||
            pdk_store_runs(cli->store, 0, &runs, &err) < 0)
        return pdk_cli_fail(cli, &err);
    for (size_t i = 0; i < rows.len; i++)
        sweep_one(cli, &s, &rows.items[i]);
    sweep_containers(cli, &s);
    if (!s.dry_run) {
        unpin_ended(cli, &runs);
        empty_trash(cli, &s);
    }
    if (sweep_templates(cli, &s, &err) < 0)
        return pdk_cli_fail(cli, &err);
    return print_sweep(cli, &s);
}
