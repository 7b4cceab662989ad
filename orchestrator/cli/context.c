#include "orchestrator/cli/context.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"
#include "orchestrator/cli/landing.h"

void pdk_cli_fini(struct pdk_cli *cli)
{
    pdk_vault_close(cli->vault);
    pdk_store_close(cli->store);
    pdk_state_fini(&cli->paths);
    pdk_repo_free(cli->repo);
    cli->vault = NULL;
    cli->store = NULL;
    cli->repo = NULL;
}

int pdk_cli_open_repo(struct pdk_cli *cli, struct pdk_err *err)
{
    return cli->repo ? 0 : pdk_repo_open(cli->dir, &cli->repo, err);
}

int pdk_cli_open_store(struct pdk_cli *cli, struct pdk_err *err)
{
    PDK_AUTO_FREE char *root = NULL;

    if (cli->store)
        return 0;
    if (pdk_cli_open_repo(cli, err) < 0 || pdk_state_root(cli->state, &root, err) < 0 ||
            pdk_state_open(
                    root, cli->repo->common_dir, cli->repo->root, &cli->paths, err) < 0)
        return err->code;
    if (pdk_store_open(cli->paths.store, 0, &cli->store, err) < 0)
        return err->code;
    pdk_landing_recover(cli);
    return 0;
}

static bool landing_was_cut_off(const struct pdk_cli *cli)
{
    PDK_AUTO_FREE char *journal = pdk_landing_journal(cli);

    return journal && pdk_fs_exists(journal);
}

int pdk_cli_find_store(struct pdk_cli *cli, struct pdk_err *err)
{
    PDK_AUTO_FREE char *root = NULL;

    if (cli->store)
        return 0;
    if (pdk_cli_open_repo(cli, err) < 0 || pdk_state_root(cli->state, &root, err) < 0 ||
            pdk_state_find(root, cli->repo->common_dir, &cli->paths, err) < 0)
        return err->code;
    if (!pdk_fs_exists(cli->paths.store))
        return 0;
    if (landing_was_cut_off(cli)) {
        pdk_state_fini(&cli->paths);
        return pdk_cli_open_store(cli, err);
    }
    return pdk_store_open(cli->paths.store, PDK_STORE_READ_ONLY, &cli->store, err);
}

int pdk_cli_open_store_ro(struct pdk_cli *cli, struct pdk_err *err)
{
    if (pdk_cli_find_store(cli, err) < 0)
        return err->code;
    if (cli->store)
        return 0;
    (void)pdk_fail(err, PDK_ENOTFOUND, 0, "nothing is recorded of this repository");
    return pdk_hint(err, "it is looked for below '%s'", cli->paths.root);
}

int pdk_cli_open_vault(struct pdk_cli *cli, struct pdk_err *err)
{
    if (cli->vault)
        return 0;
    if (pdk_cli_open_store(cli, err) < 0)
        return err->code;
    return pdk_vault_open(cli->paths.vault, cli->repo->objects, &cli->vault, err);
}

static void print_error_text(const struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf line = PDK_BUF_INIT;

    pdk_buf_adds(&line, "paddock: ");
    pdk_utf8_printable(err->msg, strlen(err->msg), &line);
    if (err->hint[0]) {
        pdk_buf_adds(&line, "\n  hint: ");
        pdk_utf8_printable(err->hint, strlen(err->hint), &line);
    }
    (void)fprintf(stderr, "%s\n", pdk_buf_str(&line));
}

int pdk_cli_fail(const struct pdk_cli *cli, const struct pdk_err *err)
{
    return pdk_cli_fail_with(cli, err, NULL, NULL);
}

int pdk_cli_fail_with(const struct pdk_cli *cli, const struct pdk_err *err,
        struct pdk_json *extra, const char *key)
{
    struct pdk_json *doc, *error;

    if (!cli->json) {
        pdk_json_free(extra);
        print_error_text(err);
        return pdk_exit_status(err->code);
    }
    doc = pdk_json_object();
    error = pdk_json_object();
    (void)pdk_json_set_str(error, "code", pdk_code_name(err->code));
    (void)pdk_json_set_bytes(error, "message", err->msg, strlen(err->msg));
    (void)pdk_json_set_str(error, "hint", err->hint[0] ? err->hint : NULL);
    (void)pdk_json_set_str(error, "where", NULL);
    if (extra)
        (void)pdk_json_set(error, key, extra);
    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_set(doc, "error", error);
    (void)pdk_cli_print(cli, doc); /* the status below tells more */
    return pdk_exit_status(err->code);
}

int pdk_cli_print(const struct pdk_cli *cli, struct pdk_json *doc)
{
    PDK_AUTO_JSON struct pdk_json *owned = doc;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    (void)cli;
    if (pdk_json_write(owned, PDK_JSON_PRETTY, &text, &err) < 0) {
        print_error_text(&err);
        return pdk_exit_status(err.code);
    }
    puts(pdk_buf_str(&text));
    return 0;
}

struct pdk_json *pdk_cli_listing(struct pdk_json *items)
{
    struct pdk_json *doc = pdk_json_object();

    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_set(doc, "items", items);
    return doc;
}

void pdk_cli_say(const struct pdk_cli *cli, const char *fmt, ...)
{
    va_list args;

    if (cli->quiet)
        return;
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
}

void pdk_run_name_fini(struct pdk_run_name *name)
{
    free(name->run);
    free(name->task);
    free(name->candidate);
    *name = (struct pdk_run_name){ NULL, NULL, NULL };
}

static struct pdk_run_name take_name(struct pdk_run_name *name)
{
    struct pdk_run_name taken = *name;

    *name = (struct pdk_run_name){ NULL, NULL, NULL };
    return taken;
}

static int bad_name(const char *text, struct pdk_err *err)
{
    (void)pdk_fail(err, PDK_EINVAL, 0, "'%s' names no run or candidate", text);
    return pdk_hint(err, "write RUN, RUN/c1, or RUN/TASK/c1 for a fleet");
}

int pdk_run_name_parse(const char *text, struct pdk_run_name *out, struct pdk_err *err)
{
    PDK_AUTO_RUN_NAME struct pdk_run_name name = { NULL, NULL, NULL };
    const char *first = strchr(text, '/'), *last = strrchr(text, '/');

    name.run = first ? strndup(text, (size_t)(first - text)) : strdup(text);
    if (first && last != first)
        name.task = strndup(first + 1, (size_t)(last - first - 1));
    if (last)
        name.candidate = strdup(last + 1);
    if (!name.run || (last && !name.candidate))
        return pdk_fail_nomem(err);
    if (!pdk_path_is_id(name.run) || (name.task && !pdk_path_is_id(name.task)) ||
            (name.candidate && !pdk_path_is_id(name.candidate)))
        return bad_name(text, err);
    *out = take_name(&name);
    return 0;
}

int pdk_run_name_index(const struct pdk_run_name *name, struct pdk_err *err)
{
    const char *text = name->candidate;
    char *end = NULL;
    long index = text && text[0] == 'c' ? strtol(text + 1, &end, 10) : 0;

    if (index >= 1 && index <= INT_MAX && end && !*end)
        return (int)index;
    (void)pdk_fail(
            err, PDK_EINVAL, 0, "'%s' names no candidate", text ? text : name->run);
    return pdk_hint(err, "candidates are named c1, c2, …: write %s/c1", name->run);
}

int pdk_verdict_status(enum pdk_verdict verdict)
{
    switch (verdict) {
    case PDK_VERDICT_PASS:
        return 0;
    case PDK_VERDICT_FAIL:
        return 1;
    case PDK_VERDICT_ABSTAIN:
        break;
    }
    return 3;
}
