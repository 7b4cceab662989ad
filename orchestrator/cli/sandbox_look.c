/* `paddock sandbox list`, `status`, `diff`, `pull`, and `paddock diff`. */
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/utf8.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/sandbox.h"
#include "trees/diff.h"

enum { OMITTED_MAX = 20 };

static struct pdk_json *item_json(const struct pdk_sandbox_row *row)
{
    struct pdk_json *item = pdk_json_object(), *base = pdk_json_object();
    PDK_AUTO_FREE char *path = pdk_strf("%s/tree", row->dir);

    (void)pdk_json_set_str(base, "commit", row->base_commit);
    (void)pdk_json_set_str(base, "tree", row->base_tree);
    (void)pdk_json_set_str(item, "id", row->id);
    (void)pdk_json_set_str(item, "backend", row->backend);
    (void)pdk_json_set_str(item, "fs_tier", row->backend);
    (void)pdk_json_set_str(item, "exec_tier", "host");
    (void)pdk_json_set(item, "base", base);
    (void)pdk_json_set_str(item, "branch", row->branch);
    (void)pdk_json_set_str(item, "path", path);
    (void)pdk_json_set_str(item, "run", row->run);
    (void)pdk_json_set_str(item, "status", row->status);
    return item;
}

static struct pdk_json *changes_json(const struct pdk_dirt *dirt)
{
    struct pdk_json *changes = pdk_json_array();

    for (size_t i = 0; i < dirt->len; i++) {
        struct pdk_json *change = pdk_json_object();
        char status[2] = { dirt->entries[i].status, '\0' };

        (void)pdk_json_set_str(change, "status", status);
        (void)pdk_json_set_bytes(
                change, "path", dirt->entries[i].path, strlen(dirt->entries[i].path));
        (void)pdk_json_append(changes, change);
    }
    return changes;
}

static int collect(struct pdk_cli *cli, const struct pdk_named *named,
        struct pdk_dirt *out, struct pdk_err *err)
{
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = NULL;

    if (pdk_named_open(cli, named, &sb, err) < 0)
        return err->code;
    return pdk_sandbox_collect_dirt(sb, cli->vault, out, err);
}

/* Adds dirt where the working copy is there; a vanished one says so. */
static void add_state(
        struct pdk_cli *cli, struct pdk_json *item, const struct pdk_named *named)
{
    PDK_AUTO_DIRT struct pdk_dirt dirt = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    if (collect(cli, named, &dirt, &err) == 0) {
        if (dirt.len > 0)
            (void)pdk_json_set_str(item, "status", "dirty");
        (void)pdk_json_set_bool(item, "dirty", dirt.len > 0);
        (void)pdk_json_set(item, "changes", changes_json(&dirt));
        (void)pdk_json_set_int(item, "ignored_files", (int64_t)dirt.ignored_files);
        return;
    }
    (void)pdk_json_set_str(
            item, "status", err.code == PDK_ENOTFOUND ? "lost" : "unreadable");
    (void)pdk_json_set(item, "dirty", pdk_json_null());
    (void)pdk_json_set(item, "changes", pdk_json_array());
    (void)pdk_json_set_bytes(item, "problem", err.msg, strlen(err.msg));
}

/* What the user's tree has beside the repository and the sandbox has not: a test may miss it. */
static int add_omitted(struct pdk_cli *cli, struct pdk_json *item,
        const struct pdk_named *named, struct pdk_err *err)
{
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = NULL;
    PDK_AUTO_STRV struct pdk_strv paths = PDK_STRV_INIT;
    struct pdk_json *omitted = pdk_json_object(), *list = pdk_json_array();
    size_t count = 0;

    (void)pdk_json_set(item, "omitted", omitted);
    (void)pdk_json_set(omitted, "paths", list);
    if (pdk_named_open(cli, named, &sb, err) < 0 ||
            pdk_sandbox_omitted(sb, OMITTED_MAX, &paths, &count, err) < 0)
        return err->code;
    for (size_t i = 0; i < paths.len; i++) {
        struct pdk_json *path = pdk_json_object();

        (void)pdk_json_set_bytes(path, "path", paths.items[i], strlen(paths.items[i]));
        (void)pdk_json_append(list, path);
    }
    (void)pdk_json_set_int(omitted, "count", (int64_t)count);
    return 0;
}

static void print_item(const struct pdk_json *item)
{
    printf("%-24s %-13s %-10s %s\n", pdk_json_get_str(item, "id", ""),
            pdk_json_get_str(item, "backend", ""), pdk_json_get_str(item, "status", ""),
            pdk_json_get_str(item, "path", ""));
}

static int add_items(struct pdk_cli *cli, enum pdk_sandbox_filter filter,
        struct pdk_json *items, struct pdk_err *err)
{
    PDK_AUTO_SANDBOX_ROWS struct pdk_sandbox_rows rows = { NULL, 0 };

    if (pdk_store_sandboxes(cli->store, filter, &rows, err) < 0)
        return err->code;
    for (size_t i = 0; i < rows.len; i++) {
        struct pdk_named named = { .row = rows.items[i] };
        struct pdk_json *item = item_json(&rows.items[i]);

        if (pdk_named_record(&rows.items[i], &named.record, err) < 0) {
            pdk_json_free(item);
            return err->code;
        }
        add_state(cli, item, &named);
        pdk_sandbox_record_fini(&named.record); /* the row stays with the list */
        (void)pdk_json_append(items, item);
    }
    return 0;
}

static int add_all_items(struct pdk_cli *cli, struct pdk_json *items, struct pdk_err *err)
{
    if (pdk_cli_open_vault(cli, err) < 0 ||
            add_items(cli, PDK_SANDBOXES_NAMED, items, err) < 0 ||
            add_items(cli, PDK_SANDBOXES_LEFTOVERS, items, err) < 0)
        return err->code;
    return 0;
}

int pdk_command_sandbox_list(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_JSON struct pdk_json *items = pdk_json_array();
    struct pdk_err err = PDK_ERR_INIT;

    (void)args;
    if (pdk_cli_find_store(cli, &err) < 0 ||
            (cli->store && add_all_items(cli, items, &err) < 0))
        return pdk_cli_fail(cli, &err);
    if (cli->json)
        return pdk_cli_print(cli, pdk_cli_listing(pdk_take_ptr(&items)));
    for (size_t i = 0; i < pdk_json_len(items); i++)
        print_item(pdk_json_at(items, i));
    return 0;
}

static void print_change(const struct pdk_json *change)
{
    const char *path = pdk_json_get_str(change, "path", "");
    PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;

    pdk_utf8_printable(path, strlen(path), &clean);
    printf("  %s %s\n", pdk_json_get_str(change, "status", "?"), pdk_buf_str(&clean));
}

/* Ignored files: those in it, which no capture takes, and those it lacks. */
static void print_beside(const struct pdk_json *item)
{
    const struct pdk_json *omitted = pdk_json_get(item, "omitted");
    const struct pdk_json *paths = pdk_json_get(omitted, "paths");
    int64_t inside = pdk_json_get_int(item, "ignored_files", 0);
    int64_t count = pdk_json_get_int(omitted, "count", 0);

    if (inside > 0)
        printf("  and %lld ignored files\n", (long long)inside);
    if (count == 0)
        return;
    printf("  not here, for they are ignored (--include brings them):");
    for (size_t i = 0; i < pdk_json_len(paths); i++) {
        const char *path = pdk_json_get_str(pdk_json_at(paths, i), "path", "");
        PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;

        pdk_utf8_printable(path, strlen(path), &clean);
        printf(" %s", pdk_buf_str(&clean));
    }
    printf("%s\n", count > OMITTED_MAX ? " …" : "");
}

int pdk_command_sandbox_status(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_NAMED struct pdk_named named = { 0 };
    PDK_AUTO_JSON struct pdk_json *item = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    const struct pdk_json *changes;

    if (pdk_cli_open_store_ro(cli, &err) < 0 ||
            pdk_named_find(cli, args->words[0], &named, &err) < 0)
        return pdk_cli_fail(cli, &err);
    item = item_json(&named.row);
    add_state(cli, item, &named);
    if (add_omitted(cli, item, &named, &err) < 0 && err.code != PDK_ENOTFOUND)
        pdk_cli_say(cli, "%s\n", err.msg); /* the rest of the status stands without it */
    (void)pdk_json_set_int(item, "schema_version", 1);
    if (cli->json)
        return pdk_cli_print(cli, pdk_take_ptr(&item));
    print_item(item);
    changes = pdk_json_get(item, "changes");
    for (size_t i = 0; i < pdk_json_len(changes); i++)
        print_change(pdk_json_at(changes, i));
    print_beside(item);
    return 0;
}

/* ---- diffs */

static int print_stat(struct pdk_cli *cli, const struct pdk_oid *from,
        const struct pdk_oid *to, struct pdk_err *err)
{
    PDK_AUTO_DIFF struct pdk_diff diff = { 0 };
    PDK_AUTO_JSON struct pdk_json *items = pdk_json_array();

    if (pdk_diff_trees(cli->vault, from, to, PDK_DIFF_LINES, &diff, err) < 0)
        return err->code;
    for (size_t i = 0; i < diff.len; i++) {
        const struct pdk_change *change = &diff.changes[i];
        PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;
        struct pdk_json *item = pdk_json_object();
        char status[2] = { change->status, '\0' };

        (void)pdk_json_set_str(item, "status", status);
        (void)pdk_json_set_bytes(item, "path", change->path, strlen(change->path));
        (void)pdk_json_set_int(item, "added", change->added);
        (void)pdk_json_set_int(item, "deleted", change->deleted);
        (void)pdk_json_set_bool(item, "binary", change->binary);
        (void)pdk_json_append(items, item);
        pdk_utf8_printable(change->path, strlen(change->path), &clean);
        if (!cli->json)
            printf("%s %6lld %6lld %s\n", status, (long long)change->added,
                    (long long)change->deleted, pdk_buf_str(&clean));
    }
    if (cli->json)
        (void)pdk_cli_print(cli, pdk_cli_listing(pdk_take_ptr(&items)));
    return 0;
}

/* The patch, exact bytes, to stdout or into a file. */
static int put_patch(struct pdk_cli *cli, const struct pdk_oid *from,
        const struct pdk_oid *to, const char *file, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf patch = PDK_BUF_INIT;

    if (pdk_diff_patch(cli->vault, from, to, &patch, err) < 0)
        return err->code;
    if (file && strcmp(file, "-") != 0)
        return pdk_fs_write(file, pdk_buf_str(&patch), patch.len, 0644, 0, err);
    if (fwrite(pdk_buf_str(&patch), 1, patch.len, stdout) != patch.len)
        return pdk_fail(err, PDK_EIO, 0, "cannot write to stdout");
    return 0;
}

int pdk_named_tree(struct pdk_cli *cli, const char *name, struct pdk_named *named,
        struct pdk_oid *to, struct pdk_err *err)
{
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = NULL;
    PDK_AUTO_CAPTURE struct pdk_capture capture = { 0 };

    if (pdk_cli_open_store_ro(cli, err) < 0 ||
            pdk_named_find(cli, name, named, err) < 0 ||
            pdk_named_open(cli, named, &sb, err) < 0 ||
            pdk_sandbox_capture(sb, cli->vault, &capture, err) < 0)
        return err->code;
    for (size_t i = 0; i < capture.warnings.len; i++)
        pdk_cli_say(cli, "warning: %s\n", capture.warnings.items[i]);
    *to = capture.tree;
    return 0;
}

static int sandbox_patch(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_NAMED struct pdk_named named = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_oid to = { "" };
    int rc = pdk_named_tree(cli, args->words[0], &named, &to, &err);

    if (rc == 0 && pdk_args_has(args, "stat"))
        rc = print_stat(cli, &named.record.tree, &to, &err);
    else if (rc == 0)
        rc = put_patch(
                cli, &named.record.tree, &to, pdk_args_get(args, "output", NULL), &err);
    return rc < 0 ? pdk_cli_fail(cli, &err) : 0;
}

int pdk_command_sandbox_diff(struct pdk_cli *cli, const struct pdk_args *args)
{
    return sandbox_patch(cli, args);
}

int pdk_command_sandbox_pull(struct pdk_cli *cli, const struct pdk_args *args)
{
    return sandbox_patch(cli, args);
}

/* The tree of RUN/CAND, and the one that its run started from. */
static int candidate_trees(struct pdk_cli *cli, const char *text, struct pdk_oid *start,
        struct pdk_oid *tree, struct pdk_err *err)
{
    PDK_AUTO_RUN_NAME struct pdk_run_name name = { NULL, NULL, NULL };
    PDK_AUTO_RUN_ROW struct pdk_run_row run = { 0 };
    PDK_AUTO_CANDIDATE_ROW struct pdk_candidate_row row = { 0 };
    int index;

    if (pdk_run_name_parse(text, &name, err) < 0)
        return err->code;
    index = pdk_run_name_index(&name, err);
    if (index < 0 || pdk_store_run(cli->store, name.run, &run, err) < 0 ||
            pdk_store_candidate(cli->store, run.id, name.task, index, &row, err) < 0)
        return err->code;
    if (!row.tree || !pdk_oid_parse(row.tree, tree))
        return pdk_fail(err, PDK_ENOTFOUND, 0, "nothing was captured of %s", text);
    if (!pdk_oid_parse(run.seed_tree ? run.seed_tree : run.base_tree, start))
        return pdk_fail(err, PDK_ECORRUPT, 0, "run %s has no base tree", run.id);
    return 0;
}

int pdk_command_diff(struct pdk_cli *cli, const struct pdk_args *args)
{
    struct pdk_oid from = { "" }, to = { "" }, other = { "" };
    struct pdk_err err = PDK_ERR_INIT;
    int rc = pdk_cli_open_store_ro(cli, &err);

    if (rc == 0)
        rc = pdk_cli_open_vault(cli, &err);
    if (rc == 0)
        rc = candidate_trees(cli, args->words[0], &from, &to, &err);
    if (rc == 0 && args->words_len > 1) {
        from = to;
        rc = candidate_trees(cli, args->words[1], &other, &to, &err);
    }
    if (rc == 0 && pdk_args_has(args, "stat"))
        rc = print_stat(cli, &from, &to, &err);
    else if (rc == 0)
        rc = put_patch(cli, &from, &to, NULL, &err);
    return rc < 0 ? pdk_cli_fail(cli, &err) : 0;
}
