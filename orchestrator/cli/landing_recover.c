/* After a landing: finishing one that was cut off, and taking one back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/id.h"
#include "base/json.h"
#include "base/path.h"
#include "orchestrator/cli/context.h"
#include "orchestrator/cli/landing.h"
#include "orchestrator/cli/landing_internal.h"
#include "promote/land.h"
#include "promote/patch.h"
#include "store/event.h"

char *pdk_landing_journal(const struct pdk_cli *cli)
{
    unsigned char sum[20];

    /* One state may be of several working trees. */
    pdk_digest_sha1(cli->repo->root, strlen(cli->repo->root), sum);
    return pdk_strf("%s/promote-%02x%02x%02x%02x.journal", cli->paths.dir, sum[0], sum[1],
            sum[2], sum[3]);
}

void pdk_landing_sign(const struct pdk_cli *cli, struct pdk_json *body)
{
    const char *name = cli->repo->user_name, *email = cli->repo->user_email;
    PDK_AUTO_FREE char *who = pdk_strf("%s <%s> (uid %u)", name ? name : "?",
            email ? email : "?", (unsigned int)getuid());

    if (who)
        (void)pdk_json_set_bytes(body, "by", who, strlen(who));
}

/* The event of an end, for the promotion of a row. Takes body. */
static int record_end(struct pdk_cli *cli, const struct pdk_promotion_row *row,
        enum pdk_event_type type, struct pdk_json *body, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *owned = body;
    struct pdk_event event = {
        .run = row->run,
        .task = row->task,
        .candidate = (int)row->candidate,
        .type = type,
        .body = owned,
    };

    (void)pdk_json_set_str(body, "id", row->id);
    if (pdk_json_ok(body, err) < 0)
        return err->code;
    return pdk_store_append(cli->store, &event, 1, NULL, err);
}

int pdk_landing_commit(struct pdk_cli *cli, const struct pdk_run_row *run, int candidate,
        const char *promotion, struct pdk_err *err)
{
    PDK_AUTO_FREE char *name = pdk_strf("promotions/%s", promotion);
    struct pdk_commit_spec spec = { .subject = run->title ? run->title : run->mission,
        .run = run->id,
        .candidate = candidate,
        .promotion = promotion };
    struct pdk_err why = PDK_ERR_INIT;
    int rc = name ? pdk_vault_find(cli->vault, name, &spec.before, &spec.after, &why)
                  : pdk_fail_nomem(&why);

    if (rc == PDK_ENOTFOUND)
        return 0; /* it changed nothing: an empty commit is of no use */
    if (rc == 0)
        return pdk_promote_commit(cli->repo, cli->vault, &spec, err);
    *err = why;
    return rc;
}

static int commit_row(
        struct pdk_cli *cli, const struct pdk_promotion_row *row, struct pdk_err *err)
{
    PDK_AUTO_RUN_ROW struct pdk_run_row run = { 0 };

    if (pdk_store_run(cli->store, row->run, &run, err) < 0)
        return err->code;
    return pdk_landing_commit(cli, &run, (int)row->candidate, row->id, err);
}

/* Ends the promotion in the log, unless the log knows its end. */
static int end_promotion(struct pdk_cli *cli, const char *id, enum pdk_event_type type,
        const char *detail, struct pdk_err *err)
{
    PDK_AUTO_PROMOTION_ROWS struct pdk_promotion_rows rows = { NULL, 0 };
    int rc = pdk_store_promotions(cli->store, NULL, &rows, err);

    for (size_t i = 0; rc == 0 && i < rows.len; i++) {
        struct pdk_json *body;

        if (strcmp(rows.items[i].id, id) != 0 ||
                !pdk_streq(rows.items[i].state, "intent"))
            continue;
        if (type == PDK_EVENT_PROMOTION_DONE && pdk_streq(rows.items[i].as, "commit") &&
                commit_row(cli, &rows.items[i], err) < 0)
            return err->code;
        body = pdk_json_object();
        (void)pdk_json_set_str(body, "detail", detail);
        rc = record_end(cli, &rows.items[i], type, body, err);
    }
    return rc;
}

static int recover_on_commit(const char *id, void *user, struct pdk_err *err)
{
    return end_promotion(
            user, id, PDK_EVENT_PROMOTION_DONE, "finished by a later command", err);
}

static int recover(struct pdk_cli *cli, const char *journal, struct pdk_err *err)
{
    PDK_AUTO_FREE char *lock = pdk_path_join(cli->paths.dir, "promote.lock");
    enum pdk_land_recovered what = PDK_LAND_NOTHING;
    struct pdk_land_spec spec = { .repo = cli->repo,
        .lock = lock,
        .journal = journal,
        .commit = recover_on_commit,
        .user = cli };
    char id[33] = "";
    int rc = lock ? pdk_cli_open_vault(cli, err) : pdk_fail_nomem(err);

    spec.vault = cli->vault;
    if (rc == 0)
        rc = pdk_land_recover(&spec, &what, id, err);
    if (rc == 0 && what == PDK_LAND_FINISHED)
        pdk_cli_say(cli, "a promotion that was cut off is finished: %s\n", id);
    if (rc < 0 || what != PDK_LAND_TAKEN_BACK)
        return rc;
    pdk_cli_say(cli, "a promotion that was cut off is taken back: %s\n", id);
    return end_promotion(cli, id, PDK_EVENT_PROMOTION_FAILED, "cut off, taken back", err);
}

void pdk_landing_recover(struct pdk_cli *cli)
{
    PDK_AUTO_FREE char *journal = pdk_landing_journal(cli);
    struct pdk_err err = PDK_ERR_INIT;

    if (!journal || !pdk_fs_exists(journal))
        return;
    if (recover(cli, journal, &err) < 0)
        pdk_cli_say(cli, "warning: %s%s%s\n", err.msg, err.hint[0] ? "; " : "", err.hint);
}

/* ---- undo */

struct undo {
    struct pdk_cli *cli;
    const struct pdk_promotion_row *row; /* what is taken back */
    struct pdk_promotion_row own;        /* borrows from row */
    char id[33];
};

static int undo_on_commit(const char *id, void *user, struct pdk_err *err)
{
    struct undo *u = user;

    (void)id; /* its own */
    return record_end(u->cli, &u->own, PDK_EVENT_PROMOTION_DONE, pdk_json_object(), err);
}

static int record_undo(struct undo *u, struct pdk_err *err)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "as", "undo");
    (void)pdk_json_set_str(body, "target", u->row->id);
    (void)pdk_json_set_int(body, "candidate", u->row->candidate);
    pdk_landing_sign(u->cli, body);
    return record_end(u->cli, &u->own, PDK_EVENT_PROMOTION_INTENT, body, err);
}

static int land_back(struct undo *u, const struct pdk_oid *from, const struct pdk_oid *to,
        struct pdk_land_result *result, struct pdk_err *err)
{
    PDK_AUTO_FREE char *lock = pdk_path_join(u->cli->paths.dir, "promote.lock");
    PDK_AUTO_FREE char *journal = pdk_landing_journal(u->cli);
    struct pdk_land_spec spec = { .repo = u->cli->repo,
        .vault = u->cli->vault,
        .from = *from,
        .to = *to,
        .lock = lock,
        .journal = journal,
        .id = u->id,
        .commit = undo_on_commit,
        .user = u,
        .strict = true };

    if (!lock || !journal)
        return pdk_fail_nomem(err);
    return pdk_land_worktree(&spec, result, err);
}

int pdk_landing_undo(struct pdk_cli *cli, const struct pdk_promotion_row *row,
        struct pdk_land_result *result, struct pdk_err *err)
{
    PDK_AUTO_FREE char *name = pdk_strf("promotions/%s", row->id);
    struct undo u = { .cli = cli, .row = row, .own = *row };
    struct pdk_oid before, after;
    struct pdk_err why = PDK_ERR_INIT;

    if (!name)
        return pdk_fail_nomem(err);
    if (pdk_cli_open_vault(cli, err) < 0 || pdk_id_random(u.id, 16, err) < 0)
        return err->code;
    if (pdk_vault_find(cli->vault, name, &before, &after, &why) < 0) {
        if (why.code != PDK_ENOTFOUND) {
            *err = why;
            return err->code;
        }
        before = after = (struct pdk_oid){ PDK_EMPTY_TREE }; /* it changed nothing */
    }
    u.own.id = u.id;
    if (record_undo(&u, err) < 0)
        return err->code;
    if (land_back(&u, &after, &before, result, err) == 0)
        return 0;
    (void)end_promotion(cli, u.id, PDK_EVENT_PROMOTION_FAILED, err->msg,
            &why); /* the cause is reported */
    return pdk_wrap(err, "taking promotion %s back", row->id);
}
