#include "orchestrator/cli/sandbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "store/event.h"

void pdk_named_fini(struct pdk_named *named)
{
    pdk_sandbox_row_fini(&named->row);
    pdk_sandbox_record_fini(&named->record);
}

static void set_oid(struct pdk_oid *to, const char *hex)
{
    to->hex[0] = '\0';
    if (hex)
        (void)pdk_oid_parse(hex, to); /* what is no id stays empty */
}

static char *copy_text(const char *text, bool *failed)
{
    char *made = text ? strdup(text) : NULL;

    *failed = *failed || (text && !made);
    return made;
}

int pdk_named_record(const struct pdk_sandbox_row *row, struct pdk_sandbox_record *out,
        struct pdk_err *err)
{
    bool failed = false;

    out->id = copy_text(row->id, &failed);
    out->backend = copy_text(row->backend, &failed);
    out->dir = copy_text(row->dir, &failed);
    out->branch = copy_text(row->branch, &failed);
    out->engine = copy_text(row->engine, &failed);
    set_oid(&out->base.commit, row->base_commit);
    set_oid(&out->base.tree, row->base_tree);
    set_oid(&out->tree, row->tree);
    set_oid(&out->start, row->start);
    if (!failed)
        return 0;
    pdk_sandbox_record_fini(out);
    return pdk_fail_nomem(err);
}

static bool is_gone(const struct pdk_sandbox_row *row)
{
    enum pdk_sandbox_status status = pdk_sandbox_status_find(row->status);

    return status == PDK_SANDBOX_DISCARDED || status == PDK_SANDBOX_RELEASED;
}

static int none_such(struct pdk_cli *cli, const char *name, struct pdk_err *err)
{
    PDK_AUTO_SANDBOX_ROWS struct pdk_sandbox_rows rows = { NULL, 0 };
    PDK_AUTO_BUF struct pdk_buf names = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;

    (void)pdk_fail(err, PDK_ENOTFOUND, 0, "there is no sandbox '%s'", name);
    if (pdk_store_sandboxes(cli->store, PDK_SANDBOXES_NAMED, &rows, &ignored) < 0 ||
            rows.len == 0)
        return pdk_hint(err, "'paddock sandbox create %s' makes it", name);
    for (size_t i = 0; i < rows.len && i < 8; i++)
        pdk_buf_addf(&names, "%s%s", i > 0 ? ", " : "", rows.items[i].id);
    return pdk_hint(err, "there are: %s", pdk_buf_str(&names));
}

int pdk_named_find(
        struct pdk_cli *cli, const char *name, struct pdk_named *out, struct pdk_err *err)
{
    int rc;

    if (pdk_cli_open_vault(cli, err) < 0)
        return err->code;
    rc = pdk_store_sandbox(cli->store, name, &out->row, err);
    if (rc == PDK_ENOTFOUND || (rc == 0 && is_gone(&out->row)))
        return none_such(cli, name, err);
    return rc < 0 ? rc : pdk_named_record(&out->row, &out->record, err);
}

int pdk_named_open(struct pdk_cli *cli, const struct pdk_named *named,
        struct pdk_sandbox **out, struct pdk_err *err)
{
    int rc = pdk_sandbox_open(
            &named->record, cli->repo, cli->paths.registry_lock, out, err);

    if (rc == PDK_ENOTFOUND)
        (void)pdk_hint(err,
                "its working copy is gone; 'paddock sandbox discard %s --force' removes "
                "what is left of it",
                named->row.id);
    return rc;
}

int pdk_named_event(struct pdk_cli *cli, const struct pdk_sandbox_row *row, int type,
        struct pdk_json *body, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *owned = body;
    struct pdk_event event = {
        .run = row ? row->run : NULL,
        .task = row ? row->task : NULL,
        .candidate = row ? (int)row->candidate : 0,
        .attempt = row ? (int)row->attempt : 0,
        .type = (enum pdk_event_type)type,
        .body = owned,
    };

    if (pdk_json_ok(body, err) < 0)
        return err->code;
    return pdk_store_append(cli->store, &event, 1, NULL, err);
}
