/* `paddock mission verdict`: a person's word on a candidate, and what becomes of its run by it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "orchestrator/cli/follow.h"
#include "orchestrator/cli/replay.h"
#include "promote/select.h"
#include "verify/verdict.h"

/* The candidate and the words about it. */
struct word {
    struct pdk_run_row run;
    struct pdk_candidate_row candidate;
    struct pdk_fold *fold; /* of the run, with the word in it */
};

static void word_fini(struct word *w)
{
    pdk_run_row_fini(&w->run);
    pdk_candidate_row_fini(&w->candidate);
    pdk_fold_free(w->fold);
}

static int find(
        struct pdk_cli *cli, const char *text, struct word *w, struct pdk_err *err)
{
    PDK_AUTO_RUN_NAME struct pdk_run_name name = { NULL, NULL, NULL };
    int index;

    if (pdk_run_name_parse(text, &name, err) < 0)
        return err->code;
    index = pdk_run_name_index(&name, err);
    if (index < 0 || pdk_cli_open_store(cli, err) < 0 ||
            pdk_store_run(cli->store, name.run, &w->run, err) < 0 ||
            pdk_store_candidate(
                    cli->store, w->run.id, name.task, index, &w->candidate, err) < 0)
        return err->code;
    if (!pdk_streq(w->run.state, "ended") || pdk_follow_is_live(cli, w->run.id))
        return pdk_fail(err, PDK_ECONFLICT, 0, "run %s has not ended", w->run.id);
    return pdk_replay_run(cli->store, w->run.id, &w->fold, err);
}

/* Who says so: as asked, else as the repository knows the user, else as the system does. */
static const char *who(const struct pdk_cli *cli, const struct pdk_args *args)
{
    const char *by = pdk_args_get(args, "by", NULL);
    const char *user =
            getenv("USER"); /* NOLINT(concurrency-mt-unsafe): nothing sets it */

    if (!by)
        by = cli->repo->user_email ? cli->repo->user_email : cli->repo->user_name;
    return by ? by : (user ? user : "unknown");
}

static struct pdk_json *word_json(const struct pdk_cli *cli, const struct pdk_args *args,
        const char *verdict, const char *rationale)
{
    struct pdk_json *body = pdk_json_object(), *waive = pdk_json_array();
    const char *by = who(cli, args), *name;

    for (size_t at = 0; (name = pdk_args_next(args, "waive", &at));)
        (void)pdk_json_append(waive, pdk_json_str(name));
    (void)pdk_json_set_str(body, "verdict", verdict);
    (void)pdk_json_set_bytes(body, "rationale", rationale, strlen(rationale));
    (void)pdk_json_set_bytes(body, "by", by, strlen(by));
    (void)pdk_json_set(body, "waive", waive);
    return body;
}

/* Appends an event of the run and folds it. body is taken. */
static int tell(struct pdk_cli *cli, struct word *w, enum pdk_event_type type,
        int candidate, struct pdk_json *body, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *owned = body;
    struct pdk_event event = { .run = w->run.id, .type = type, .body = owned };

    if (type != PDK_EVENT_RUN_REJUDGED)
        event.task = w->candidate.task;
    event.candidate = candidate;
    event.attempt = candidate ? (int)w->candidate.attempt : 0;
    if (pdk_json_ok(owned, err) < 0 || pdk_fold_event(w->fold, &event, err) < 0)
        return err->code;
    return pdk_store_append(cli->store, &event, 1, NULL, err);
}

static struct pdk_json *judgement_json(const struct pdk_judgement *j, int winner)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "verdict", pdk_verdict_name(j->verdict));
    (void)pdk_json_set_str(body, "reason",
            j->reason == PDK_REASON_NONE ? NULL : pdk_reason_name(j->reason));
    (void)pdk_json_set_bytes(body, "detail", j->detail, strlen(j->detail));
    if (winner > 0)
        (void)pdk_json_set_int(body, "winner", winner);
    return body;
}

/* The winner stays while it passes; else the smallest of those that do. */
static int choose(
        struct pdk_cli *cli, const struct word *w, int *winner, struct pdk_err *err)
{
    PDK_AUTO_CANDIDATE_ROWS struct pdk_candidate_rows rows = { NULL, 0 };
    PDK_AUTO_FREE struct pdk_select_candidate *all = NULL;
    PDK_AUTO_STRV struct pdk_strv order = PDK_STRV_INIT;
    struct pdk_selection selection = { 0 };

    if (pdk_store_candidates(cli->store, w->run.id, w->candidate.task, &rows, err) < 0)
        return err->code;
    all = calloc(rows.len + 1, sizeof(*all));
    if (!all)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < rows.len; i++) {
        const struct pdk_candidate_row *row = &rows.items[i];
        struct pdk_judgement j = { PDK_VERDICT_ABSTAIN, PDK_REASON_NOT_JUDGED, "" };

        if (pdk_fold_candidate(w->fold, row->task, (int)row->index, &j, err) < 0)
            return err->code;
        all[i] = (struct pdk_select_candidate){ .index = (int)row->index,
            .passed = j.verdict == PDK_VERDICT_PASS,
            .changed = row->changed,
            .allow_empty = true, /* the fold has looked at that */
            .files = row->files,
            .lines = row->added + row->deleted,
            .has_cost = row->index == w->run.winner };
    }
    pdk_strv_add(&order, "cost"); /* what had won before goes first */
    pdk_strv_add(&order, "smaller-diff");
    if (pdk_strv_ok(&order, err) < 0 ||
            pdk_select(&order, all, rows.len, &selection, err) < 0)
        return err->code;
    *winner = selection.winner;
    pdk_selection_fini(&selection);
    return 0;
}

static int rejudge(struct pdk_cli *cli, struct word *w, struct pdk_err *err)
{
    struct pdk_judgement candidate, task, run;
    int winner = 0, index = (int)w->candidate.index;

    if (pdk_fold_candidate(w->fold, w->candidate.task, index, &candidate, err) < 0 ||
            pdk_fold_task(w->fold, w->candidate.task, &task, err) < 0 ||
            choose(cli, w, &winner, err) < 0)
        return err->code;
    pdk_fold_run(w->fold, &run);
    if (tell(cli, w, PDK_EVENT_CANDIDATE_JUDGED, index, judgement_json(&candidate, 0),
                err) < 0 ||
            tell(cli, w, PDK_EVENT_TASK_JUDGED, 0, judgement_json(&task, winner), err) <
                    0)
        return err->code;
    return tell(cli, w, PDK_EVENT_RUN_REJUDGED, 0,
            judgement_json(&run, strcmp(w->run.kind, "fleet") == 0 ? 0 : winner), err);
}

/* The word and all that follows from it, in one transaction. */
static int record(struct pdk_cli *cli, const struct pdk_args *args, struct word *w,
        const char *rationale, struct pdk_err *err)
{
    if (pdk_store_begin(cli->store, err) < 0)
        return err->code;
    if (tell(cli, w, PDK_EVENT_MANUAL_VERDICT, (int)w->candidate.index,
                word_json(cli, args, args->words[1], rationale), err) < 0 ||
            rejudge(cli, w, err) < 0) {
        pdk_store_rollback(cli->store);
        return err->code;
    }
    return pdk_store_commit(cli->store, err);
}

int pdk_command_mission_verdict(struct pdk_cli *cli, const struct pdk_args *args)
{
    const char *rationale = pdk_args_get(args, "rationale", NULL);
    struct word w = { .fold = NULL };
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_judgement j;
    int status = 0;

    if (!rationale || !*rationale) {
        (void)pdk_fail(&err, PDK_EINVAL, 0, "a verdict needs its --rationale");
        return pdk_cli_fail(cli, &err);
    }
    if (find(cli, args->words[0], &w, &err) < 0 ||
            record(cli, args, &w, rationale, &err) < 0 ||
            pdk_fold_candidate(
                    w.fold, w.candidate.task, (int)w.candidate.index, &j, &err) < 0)
        status = pdk_cli_fail(cli, &err);
    else if (cli->json)
        status = pdk_cli_print(cli, pdk_fold_json(w.fold));
    else
        printf("%s/c%lld: %s%s%s\n", w.run.id, (long long)w.candidate.index,
                pdk_verdict_name(j.verdict), j.reason ? ", " : "",
                pdk_reason_name(j.reason));
    word_fini(&w);
    return status;
}
