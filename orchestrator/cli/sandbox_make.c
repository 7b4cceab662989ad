/* `paddock sandbox create` and `discard`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/id.h"
#include "base/json.h"
#include "base/path.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/sandbox.h"
#include "store/event.h"

/* All that create works with. */
struct making {
    const char *id;
    const struct pdk_backend *be;
    struct pdk_base base;
    struct pdk_oid tree;
    char *dir, *branch, *pin;
    struct pdk_strv include, warnings;
};

static void making_fini(struct making *m)
{
    free(m->dir);
    free(m->branch);
    free(m->pin);
    pdk_strv_fini(&m->include);
    pdk_strv_fini(&m->warnings);
}

static int check_name(struct pdk_cli *cli, const char *id, struct pdk_err *err)
{
    PDK_AUTO_SANDBOX_ROW struct pdk_sandbox_row row = { 0 };
    struct pdk_err ignored = PDK_ERR_INIT;

    if (!pdk_path_is_id(id)) {
        (void)pdk_fail(err, PDK_EINVAL, 0, "'%s' is no name for a sandbox", id);
        return pdk_hint(
                err, "letters, digits, '.', '_' and '-', the first a letter or digit");
    }
    if (pdk_store_sandbox(cli->store, id, &row, &ignored) < 0 || strcmp(row.id, id) != 0)
        return 0;
    (void)pdk_fail(err, PDK_ECONFLICT, 0, "the name '%s' %s", id,
            row.ended_ms > 0 ? "was used before" : "is taken");
    return pdk_hint(err, "names are never used twice: take another one");
}

static int choose_tree(struct pdk_cli *cli, const struct pdk_args *args, struct making *m,
        struct pdk_err *err)
{
    const char *seed = pdk_args_get(args, "seed", "head");

    if (pdk_repo_resolve(cli->repo, pdk_args_get(args, "base", "HEAD"), &m->base, err) <
            0)
        return err->code;
    m->tree = m->base.tree;
    if (strcmp(seed, "head") == 0)
        return 0;
    if (strcmp(seed, "worktree") != 0)
        return pdk_fail(err, PDK_EINVAL, 0, "--seed is head or worktree, not '%s'", seed);
    return pdk_repo_snapshot(cli->repo, cli->vault, &m->base, &m->tree, err);
}

/* Its commands must not run on the host instead. */
static int refuse_container(const struct pdk_backend *be, struct pdk_err *err)
{
    if (!pdk_backend_in_container(be))
        return 0;
    (void)pdk_fail(
            err, PDK_EUNSUPPORTED, 0, "named sandboxes in containers are not built yet");
    return pdk_hint(err, "missions run in containers: sandbox.backend of a mission file");
}

static int plan_sandbox(struct pdk_cli *cli, const struct pdk_args *args,
        struct making *m, struct pdk_err *err)
{
    const char *pattern;
    size_t at = 0;

    m->id = args->words[0];
    if (pdk_cli_open_vault(cli, err) < 0 || check_name(cli, m->id, err) < 0 ||
            pdk_backend_find(pdk_args_get(args, "backend", "git-worktree"), &m->be, err) <
                    0 ||
            refuse_container(m->be, err) < 0 || choose_tree(cli, args, m, err) < 0)
        return err->code;
    m->dir = pdk_path_join(cli->paths.sandboxes, m->id);
    m->branch = pdk_strf("sandbox/%s", m->id);
    m->pin = pdk_strf("sandbox/%s", m->id);
    while ((pattern = pdk_args_next(args, "include", &at)))
        pdk_strv_add(&m->include, pattern);
    if (!m->dir || !m->branch || !m->pin || m->include.failed)
        return pdk_fail_nomem(err);
    return 0;
}

static int record_intent(struct pdk_cli *cli, const struct making *m, struct pdk_err *err)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "id", m->id);
    (void)pdk_json_set_str(body, "backend", pdk_backend_name(m->be));
    (void)pdk_json_set_str(body, "dir", m->dir);
    (void)pdk_json_set_str(body, "branch", m->branch);
    (void)pdk_json_set_str(body, "purpose", "named");
    (void)pdk_json_set(body, "base", pdk_base_json(&m->base));
    (void)pdk_json_set_str(body, "tree", m->tree.hex);
    return pdk_named_event(cli, NULL, PDK_EVENT_SANDBOX_INTENT, body, err);
}

static int record_id(struct pdk_cli *cli, const struct pdk_sandbox_row *row, int type,
        const char *id, const char *key, const char *value, struct pdk_err *err)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "id", id);
    if (key)
        (void)pdk_json_set_str(body, key, value);
    return pdk_named_event(cli, row, type, body, err);
}

static int make(struct pdk_cli *cli, struct making *m, struct pdk_sandbox **out,
        struct pdk_err *err)
{
    struct pdk_sandbox_spec spec = {
        .id = m->id,
        .dir = m->dir,
        .lock = cli->paths.registry_lock,
        .repo = cli->repo,
        .vault = cli->vault,
        .base = m->base,
        .tree = m->tree,
        .branch = m->branch,
        .include = m->include.len ? &m->include : NULL,
    };
    struct pdk_err ignored = PDK_ERR_INIT;

    if (m->base.commit.hex[0] &&
            pdk_repo_pin(cli->repo, m->pin, &m->base.commit, err) < 0)
        return err->code;
    if (pdk_sandbox_materialize(m->be, &spec, out, &m->warnings, err) == 0)
        return 0;
    (void)pdk_repo_unpin(cli->repo, m->pin, &ignored); /* the first error matters */
    (void)record_id(cli, NULL, PDK_EVENT_SANDBOX_RELEASED, m->id, NULL, NULL, &ignored);
    return err->code;
}

static int print_made(
        const struct pdk_cli *cli, const struct making *m, struct pdk_sandbox *sb)
{
    struct pdk_json *doc;

    for (size_t i = 0; i < m->warnings.len; i++)
        pdk_cli_say(cli, "warning: %s\n", m->warnings.items[i]);
    if (!cli->json) {
        printf("%s\n", pdk_sandbox_root(sb));
        return 0;
    }
    doc = pdk_json_object();
    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_set_str(doc, "id", m->id);
    (void)pdk_json_set_str(doc, "backend", pdk_backend_name(m->be));
    (void)pdk_json_set(doc, "base", pdk_base_json(&m->base));
    (void)pdk_json_set_str(doc, "branch", m->branch);
    (void)pdk_json_set_str(doc, "path", pdk_sandbox_root(sb));
    (void)pdk_json_set_str(doc, "status", "created");
    (void)pdk_json_set_bool(doc, "dirty", false);
    (void)pdk_json_set(doc, "changes", pdk_json_array());
    return pdk_cli_print(cli, doc);
}

int pdk_command_sandbox_create(struct pdk_cli *cli, const struct pdk_args *args)
{
    __attribute__((cleanup(making_fini))) struct making m = { 0 };
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    const struct pdk_sandbox_record *record;

    if (plan_sandbox(cli, args, &m, &err) < 0 || record_intent(cli, &m, &err) < 0 ||
            make(cli, &m, &sb, &err) < 0)
        return pdk_cli_fail(cli, &err);
    record = pdk_sandbox_get_record(sb);
    if (record_id(cli, NULL, PDK_EVENT_SANDBOX_MADE, m.id, "start",
                record->start.hex[0] ? record->start.hex : NULL, &err) < 0)
        return pdk_cli_fail(cli, &err);
    return print_made(cli, &m, sb);
}

/* ---- discard */

/* What would be lost: PDK_ECONFLICT says so. */
static int check_loss(struct pdk_cli *cli, const struct pdk_named *named,
        unsigned int flags, struct pdk_err *err)
{
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = NULL;
    PDK_AUTO_DIRT struct pdk_dirt dirt = { 0 };
    int commits = 0;

    if (pdk_named_open(cli, named, &sb, err) < 0) {
        if (err->code == PDK_ENOTFOUND)
            err->code = PDK_ECONFLICT;
        return err->code;
    }
    if (pdk_sandbox_collect_dirt(sb, cli->vault, &dirt, err) < 0 ||
            pdk_sandbox_count_commits(sb, flags, &commits, err) < 0)
        return err->code;
    if (dirt.len == 0 && commits == 0)
        return 0;
    (void)pdk_fail(err, PDK_ECONFLICT, 0,
            "sandbox '%s' holds %zu uncommitted changes and %d commits that nothing else holds",
            named->row.id, dirt.len, commits);
    return pdk_hint(err,
            "'paddock sandbox pull %s' takes the changes out; --force discards them",
            named->row.id);
}

enum { CLEAN_MS = 300 };

int pdk_command_sandbox_discard(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_NAMED struct pdk_named named = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    unsigned int flags = pdk_args_has(args, "keep-branch") ? PDK_TEARDOWN_KEEP_BRANCH : 0;
    PDK_AUTO_FREE char *pin = NULL;
    struct pdk_err ignored = PDK_ERR_INIT;

    if (pdk_named_find(cli, args->words[0], &named, &err) < 0)
        return pdk_cli_fail(cli, &err);
    if (!pdk_args_has(args, "force") && check_loss(cli, &named, flags, &err) < 0)
        return pdk_cli_fail(cli, &err);
    pin = pdk_strf("sandbox/%s", named.row.id);
    if (pdk_sandbox_teardown(
                &named.record, cli->repo, cli->paths.registry_lock, flags, &err) < 0 ||
            !pin || pdk_repo_unpin(cli->repo, pin, &err) < 0)
        return pdk_cli_fail(cli, &err);
    if (record_id(cli, &named.row, PDK_EVENT_SANDBOX_RELEASED, named.row.id, NULL, NULL,
                &err) < 0)
        return pdk_cli_fail(cli, &err);
    /* Whatever takes longer is the next run's, or gc's. */
    (void)pdk_sandbox_clean(cli->paths.registry_lock, CLEAN_MS, NULL, NULL, &ignored);
    pdk_cli_say(cli, "discarded %s\n", named.row.id);
    if (cli->json) {
        struct pdk_json *doc = pdk_json_object();

        (void)pdk_json_set_int(doc, "schema_version", 1);
        (void)pdk_json_set_str(doc, "id", named.row.id);
        (void)pdk_json_set_str(doc, "status", "discarded");
        return pdk_cli_print(cli, doc);
    }
    return 0;
}
