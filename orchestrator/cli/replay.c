/* `paddock verdict`: the verdicts of a run, folded from its log or from one that is given. */
#include "orchestrator/cli/replay.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "verify/replay.h"
#include "verify/verdict.h"

enum { LOG_MAX = 1 << 30 };

struct folding {
    struct pdk_fold *fold;
    struct pdk_err *err;
};

static int fold_event(const struct pdk_event *event, void *user)
{
    struct folding *f = user;

    return pdk_fold_event(f->fold, event, f->err);
}

int pdk_replay_run(struct pdk_store *store, const char *run, struct pdk_fold **out,
        struct pdk_err *err)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = pdk_fold_new();
    struct folding f = { fold, err };

    if (!fold)
        return pdk_fail_nomem(err);
    if (pdk_store_events(store, run, 0, fold_event, &f, err) < 0)
        return err->code;
    *out = pdk_take_ptr(&fold);
    return 0;
}

static bool agrees(const struct pdk_judgement *j, const char *verdict, const char *reason)
{
    return pdk_streq(pdk_verdict_name(j->verdict), verdict) &&
            strcmp(pdk_reason_name(j->reason), reason ? reason : "") == 0;
}

static int check_candidates(struct pdk_store *store, const char *run,
        const struct pdk_fold *fold, struct pdk_err *err)
{
    PDK_AUTO_CANDIDATE_ROWS struct pdk_candidate_rows rows = { NULL, 0 };

    if (pdk_store_candidates(store, run, NULL, &rows, err) < 0)
        return err->code;
    for (size_t i = 0; i < rows.len; i++) {
        const struct pdk_candidate_row *row = &rows.items[i];
        struct pdk_judgement j;

        if (!row->verdict)
            continue;
        if (pdk_fold_candidate(fold, row->task, (int)row->index, &j, err) < 0)
            return err->code;
        if (!agrees(&j, row->verdict, row->reason))
            return pdk_fail(err, PDK_ECORRUPT, 0,
                    "candidate c%lld of run %s is recorded as %s and its log says %s",
                    (long long)row->index, run, row->verdict,
                    pdk_verdict_name(j.verdict));
    }
    return 0;
}

static int check_run(
        struct pdk_store *store, const struct pdk_run_row *row, struct pdk_err *err)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = NULL;
    struct pdk_judgement j;

    if (pdk_replay_run(store, row->id, &fold, err) < 0)
        return pdk_wrap(err, "run %s", row->id);
    pdk_fold_run(fold, &j);
    if (!agrees(&j, row->verdict, row->reason))
        return pdk_fail(err, PDK_ECORRUPT, 0,
                "run %s is recorded as %s and its log says %s", row->id, row->verdict,
                pdk_verdict_name(j.verdict));
    return check_candidates(store, row->id, fold, err);
}

int pdk_replay_check(struct pdk_store *store, size_t *runs, struct pdk_err *err)
{
    PDK_AUTO_RUN_ROWS struct pdk_run_rows rows = { NULL, 0 };

    *runs = 0;
    if (pdk_store_runs(store, 0, &rows, err) < 0)
        return err->code;
    for (size_t i = 0; i < rows.len; i++) {
        if (!pdk_streq(rows.items[i].state, "ended"))
            continue;
        if (check_run(store, &rows.items[i], err) < 0)
            return err->code;
        ++*runs;
    }
    return 0;
}

static int replay_file(const char *path, struct pdk_fold **out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_FOLD struct pdk_fold *fold = pdk_fold_new();
    int rc = strcmp(path, "-") == 0 ? pdk_fs_read_fd(STDIN_FILENO, LOG_MAX, &text, err)
                                    : pdk_fs_read(path, LOG_MAX, &text, err);

    if (rc == 0 && !fold)
        rc = pdk_fail_nomem(err);
    if (rc == 0)
        rc = pdk_replay(fold, pdk_buf_str(&text), text.len, err);
    if (rc == 0)
        *out = pdk_take_ptr(&fold);
    return rc;
}

static int replay_stored(struct pdk_cli *cli, const struct pdk_args *args,
        struct pdk_fold **out, struct pdk_err *err)
{
    PDK_AUTO_RUN_ROW struct pdk_run_row row = { 0 };

    if (args->words_len == 0) {
        (void)pdk_fail(err, PDK_EINVAL, 0, "neither a run nor --replay");
        return pdk_hint(err, "paddock events RUN | paddock verdict --replay -");
    }
    if (pdk_cli_open_store_ro(cli, err) < 0 ||
            pdk_store_run(cli->store, args->words[0], &row, err) < 0)
        return err->code;
    return pdk_replay_run(cli->store, row.id, out, err);
}

/* The document is the answer, whether or not --json asks for it. */
int pdk_command_verdict(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = NULL;
    const char *file = pdk_args_get(args, "replay", NULL);
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_judgement j;
    int status;

    if ((file ? replay_file(file, &fold, &err) : replay_stored(cli, args, &fold, &err)) <
            0)
        return pdk_cli_fail(cli, &err);
    status = pdk_cli_print(cli, pdk_fold_json(fold));
    pdk_fold_run(fold, &j);
    return status ? status : pdk_verdict_status(j.verdict);
}
