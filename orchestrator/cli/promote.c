/* `paddock promote` and `paddock undo`. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "orchestrator/cli/landing.h"
#include "promote/land.h"

/* RUN: the winner of its only task. RUN/c2, RUN/TASK/c2: that one, as long as it may be landed. */
static int choose_candidate(struct pdk_cli *cli, const struct pdk_run_name *name,
        struct pdk_landing *landing, struct pdk_err *err)
{
    PDK_AUTO_RUN_ROW struct pdk_run_row run = { 0 };

    if (name->candidate) {
        landing->candidate = pdk_run_name_index(name, err);
        return landing->candidate < 0 ? landing->candidate : 0;
    }
    if (pdk_store_run(cli->store, name->run, &run, err) < 0)
        return err->code;
    landing->candidate = (int)run.winner;
    if (run.winner > 0)
        return 0;
    (void)pdk_fail(err, PDK_ECONFLICT, 0, "run %s has no winner: %s%s%s", run.id,
            run.verdict ? run.verdict : run.state, run.reason ? ", " : "",
            run.reason ? run.reason : "");
    return pdk_hint(err, "'paddock show %s' tells why", run.id);
}

/* ---- JSON */

static struct pdk_json *paths_json(const struct pdk_land_result *result)
{
    struct pdk_json *paths = pdk_json_array();

    for (size_t i = 0; i < result->len; i++) {
        const struct pdk_land_path *p = &result->paths[i];
        const char status[2] = { p->status, '\0' };
        struct pdk_json *entry = pdk_json_object();

        (void)pdk_json_set_str(entry, "status", status);
        (void)pdk_json_set_bytes(entry, "path", p->path, strlen(p->path));
        (void)pdk_json_set_bool(entry, "merged", p->merged);
        (void)pdk_json_append(paths, entry);
    }
    return paths;
}

static struct pdk_json *conflicts_json(const struct pdk_land_result *result)
{
    struct pdk_json *conflicts = pdk_json_array();

    for (size_t i = 0; i < result->n_conflicts; i++) {
        const struct pdk_land_conflict *c = &result->conflicts[i];
        bool outside = strcmp(c->why, PDK_LAND_OUTSIDE) == 0;
        struct pdk_json *entry = pdk_json_object();

        (void)pdk_json_set_bytes(entry, "path", c->path, strlen(c->path));
        (void)pdk_json_set_str(entry, "kind", outside ? c->why : PDK_LAND_CHANGED);
        (void)pdk_json_set_str(entry, "detail", outside ? NULL : c->why);
        (void)pdk_json_append(conflicts, entry);
    }
    return conflicts;
}

/* The failure, and all the paths that it comes from. */
static int refuse(const struct pdk_cli *cli, const struct pdk_land_result *result,
        const struct pdk_err *err)
{
    return pdk_cli_fail_with(
            cli, err, cli->json ? conflicts_json(result) : NULL, "conflicts");
}

static int print_landing(const struct pdk_cli *cli, const struct pdk_landing *landing,
        const struct pdk_land_result *result)
{
    struct pdk_json *doc;

    if (!cli->json)
        return 0;
    doc = pdk_json_object();
    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_set_str(doc, "run", landing->run);
    (void)pdk_json_set_int(doc, "candidate", landing->candidate);
    (void)pdk_json_set_str(doc, "as", pdk_landing_name(landing->as));
    (void)pdk_json_set_str(doc, "decision", landing->dry_run ? "previewed" : "promoted");
    (void)pdk_json_set(doc, "paths", paths_json(result));
    return pdk_cli_print(cli, doc);
}

int pdk_command_promote(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_RUN_NAME struct pdk_run_name name = { NULL, NULL, NULL };
    PDK_AUTO_LAND_RESULT struct pdk_land_result result = { 0 };
    struct pdk_landing landing = {
        .output = pdk_args_get(args, "output", NULL),
        .branch = pdk_args_get(args, "branch", NULL),
        .dry_run = pdk_args_has(args, "dry-run"),
        .accept_unproven = pdk_args_has(args, "accept-unproven"),
        .again = pdk_args_has(args, "again"),
    };
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_run_name_parse(args->words[0], &name, &err) < 0 ||
            pdk_landing_find(pdk_args_get(args, "as", "worktree"), &landing.as, &err) <
                    0 ||
            pdk_cli_open_store(cli, &err) < 0)
        return pdk_cli_fail(cli, &err);
    landing.run = name.run;
    landing.task = name.task;
    if (choose_candidate(cli, &name, &landing, &err) < 0 ||
            pdk_landing_do(cli, &landing, &result, &err) < 0)
        return refuse(cli, &result, &err);
    return print_landing(cli, &landing, &result);
}

/* ---- undo */

static bool is_undone(const struct pdk_promotion_rows *rows, const char *id)
{
    for (size_t i = 0; i < rows->len; i++)
        if (pdk_streq(rows->items[i].as, "undo") &&
                pdk_streq(rows->items[i].state, "done") &&
                pdk_streq(rows->items[i].target, id))
            return true;
    return false;
}

/* By the beginning of its id; NULL: the latest that is in the working tree still. */
static int choose_promotion(const struct pdk_promotion_rows *rows, const char *id,
        const struct pdk_promotion_row **out, struct pdk_err *err)
{
    for (size_t i = 0; i < rows->len; i++) {
        const struct pdk_promotion_row *row = &rows->items[i];

        if (id ? !pdk_starts_with(row->id, id)
               : !pdk_streq(row->as, "worktree") || !pdk_streq(row->state, "done") ||
                                is_undone(rows, row->id))
            continue;
        if (*out)
            return pdk_fail(
                    err, PDK_EINVAL, 0, "more than one promotion begins with '%s'", id);
        *out = row;
        if (!id)
            return 0;
    }
    if (*out)
        return 0;
    if (id)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "there is no promotion '%s'", id);
    return pdk_fail(err, PDK_ENOTFOUND, 0, "there is no promotion to take back");
}

static int check_undo(const struct pdk_promotion_rows *rows,
        const struct pdk_promotion_row *row, struct pdk_err *err)
{
    if (!pdk_streq(row->state, "done"))
        return pdk_fail(err, PDK_ECONFLICT, 0, "promotion %s came to nothing", row->id);
    if (is_undone(rows, row->id))
        return pdk_fail(
                err, PDK_ECONFLICT, 0, "promotion %s was taken back already", row->id);
    if (pdk_streq(row->as, "worktree"))
        return 0;
    (void)pdk_fail(err, PDK_ECONFLICT, 0,
            "promotion %s is a %s: only changes of the working tree are taken back",
            row->id, row->as);
    return pdk_hint(err, "of commits and branches, git revert and git branch -D do");
}

static int print_undo(const struct pdk_cli *cli, const struct pdk_promotion_row *row,
        const struct pdk_land_result *result)
{
    struct pdk_json *doc;

    pdk_cli_say(cli, "took promotion %s of %s back: %zu path%s\n", row->id, row->run,
            result->len, result->len == 1 ? "" : "s");
    if (!cli->json)
        return 0;
    doc = pdk_json_object();
    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_set_str(doc, "promotion", row->id);
    (void)pdk_json_set_str(doc, "run", row->run);
    (void)pdk_json_set_str(doc, "decision", "undone");
    (void)pdk_json_set(doc, "paths", paths_json(result));
    return pdk_cli_print(cli, doc);
}

int pdk_command_undo(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_PROMOTION_ROWS struct pdk_promotion_rows rows = { NULL, 0 };
    PDK_AUTO_LAND_RESULT struct pdk_land_result result = { 0 };
    const struct pdk_promotion_row *row = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_cli_open_store(cli, &err) < 0 ||
            pdk_store_promotions(cli->store, NULL, &rows, &err) < 0 ||
            choose_promotion(
                    &rows, args->words_len > 0 ? args->words[0] : NULL, &row, &err) < 0 ||
            check_undo(&rows, row, &err) < 0 ||
            pdk_landing_undo(cli, row, &result, &err) < 0)
        return refuse(cli, &result, &err);
    return print_undo(cli, row, &result);
}
