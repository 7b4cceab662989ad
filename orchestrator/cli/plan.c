/* `mission validate`, `mission show`, `schema`, and loading a plan for `run`. */
#include "orchestrator/cli/plan.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "missions/mission.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "plan/plan.h"
#include "verify/evidence.h"

/* A flag that stands for a key of the file. */
struct flag_row {
    const char *option;
    const char *key;
    enum pdk_override_kind kind;
};

static const struct flag_row flag_rows[] = {
    { "cmd", "mission.run", PDK_OVERRIDE_TEXT },
    { "timeout", "mission.timeout", PDK_OVERRIDE_TEXT },
    { "candidates", "candidates", PDK_OVERRIDE_YAML },
    { "max-concurrent", "max_concurrent", PDK_OVERRIDE_YAML },
    { "backend", "sandbox.backend", PDK_OVERRIDE_TEXT },
    { "seed", "seed", PDK_OVERRIDE_TEXT },
    { "base", "base", PDK_OVERRIDE_TEXT },
    { "setup", "sandbox.setup", PDK_OVERRIDE_APPEND },
    { "check", "verify.checks", PDK_OVERRIDE_APPEND },
};

enum { FLAG_ROWS = sizeof(flag_rows) / sizeof(flag_rows[0]) };

struct overrides {
    struct pdk_override *items;
    size_t len;
    struct pdk_strv flags, keys; /* what items point into */
};

static void overrides_fini(struct overrides *o)
{
    free(o->items);
    pdk_strv_fini(&o->flags);
    pdk_strv_fini(&o->keys);
}

static int add_override(struct overrides *o, const char *flag, const char *key,
        const char *value, enum pdk_override_kind kind, struct pdk_err *err)
{
    struct pdk_override *grown = reallocarray(o->items, o->len + 1, sizeof(*grown));

    if (!grown)
        return pdk_fail_nomem(err);
    o->items = grown;
    grown[o->len++] = (struct pdk_override){ flag, key, value, kind };
    return 0;
}

static int add_flag(const struct pdk_args *args, const struct flag_row *row,
        struct overrides *o, struct pdk_err *err)
{
    const char *value;
    size_t at = 0;

    pdk_strv_addf(&o->flags, "--%s", row->option);
    if (o->flags.failed)
        return pdk_fail_nomem(err);
    while ((value = pdk_args_next(args, row->option, &at)))
        if (add_override(o, o->flags.items[o->flags.len - 1], row->key, value, row->kind,
                    err) < 0)
            return err->code;
    return 0;
}

/* --set KEY=VALUE */
static int add_sets(const struct pdk_args *args, struct overrides *o, struct pdk_err *err)
{
    const char *text;
    size_t at = 0;

    while ((text = pdk_args_next(args, "set", &at))) {
        const char *eq = strchr(text, '=');

        if (!eq || eq == text)
            return pdk_fail(err, PDK_EINVAL, 0, "--set takes KEY=VALUE, not '%s'", text);
        pdk_strv_take(&o->keys, strndup(text, (size_t)(eq - text)));
        if (o->keys.failed ||
                add_override(o, "--set", o->keys.items[o->keys.len - 1], eq + 1,
                        PDK_OVERRIDE_YAML, err) < 0)
            return pdk_fail_nomem(err);
    }
    return 0;
}

static int collect_overrides(
        const struct pdk_args *args, struct overrides *o, struct pdk_err *err)
{
    for (size_t i = 0; i < FLAG_ROWS; i++)
        if (add_flag(args, &flag_rows[i], o, err) < 0)
            return err->code;
    if (pdk_args_has(args, "allow-empty") &&
            add_override(o, "--allow-empty", "allow_empty", "true", PDK_OVERRIDE_YAML,
                    err) < 0)
        return err->code;
    return add_sets(args, o, err);
}

/* The first thing wrong is the envelope's place; all of them go to stderr. */
static int fail_with(const struct pdk_cli *cli, const struct pdk_diags *diags,
        const struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_json *doc, *error, *all;

    pdk_diags_print(diags, &text);
    (void)fputs(pdk_buf_str(&text), stderr);
    if (!cli->json || diags->len == 0)
        return pdk_cli_fail(cli, err);
    doc = pdk_json_object();
    error = pdk_json_object();
    all = pdk_json_array();
    for (size_t i = 0; i < diags->len; i++) {
        const struct pdk_diag *d = &diags->items[i];
        PDK_AUTO_FREE char *where = pdk_strf("%s:%d:%d", d->file, d->line, d->col);
        struct pdk_json *item = pdk_json_object();

        (void)pdk_json_set_str(item, "code",
                d->severity == PDK_DIAG_ERROR ? pdk_code_name(err->code) : "warning");
        (void)pdk_json_set_str(item, "message", d->message);
        (void)pdk_json_set_str(item, "hint", d->hint);
        (void)pdk_json_set_str(item, "where", where);
        (void)pdk_json_append(all, item);
    }
    (void)pdk_json_set_str(error, "code", pdk_code_name(err->code));
    (void)pdk_json_set_str(error, "message", diags->items[0].message);
    (void)pdk_json_set_str(error, "hint", diags->items[0].hint);
    (void)pdk_json_set(
            error, "where", pdk_json_ref(pdk_json_get(pdk_json_at(all, 0), "where")));
    (void)pdk_json_set(error, "all", all);
    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_set(doc, "error", error);
    (void)pdk_cli_print(cli, doc); /* the status below tells more */
    return pdk_exit_status(err->code);
}

static int check_pattern(
        const char *pattern, size_t *offset, struct pdk_err *err, void *user)
{
    (void)user;
    return pdk_pattern_check(pattern, offset, err);
}

int pdk_cli_load_plan(struct pdk_cli *cli, const struct pdk_args *args, const char *path,
        struct pdk_plan **out)
{
    static const struct pdk_mission_hooks hooks = { check_pattern, NULL };
    __attribute__((cleanup(overrides_fini))) struct overrides o = { 0 };
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    struct pdk_mission_source source = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    if (collect_overrides(args, &o, &err) < 0)
        return pdk_cli_fail(cli, &err);
    source.path = path;
    source.overrides = o.items;
    source.overrides_len = o.len;
    if (pdk_mission_load(&source, &hooks, out, &diags, &err) < 0)
        return fail_with(cli, &diags, &err);
    if (diags.len > 0 && !cli->quiet) {
        PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

        pdk_diags_print(&diags, &text);
        (void)fputs(pdk_buf_str(&text), stderr);
    }
    return 0;
}

static const char *kind_name(enum pdk_plan_kind kind)
{
    return kind == PDK_PLAN_FLEET ? "fleet" : "mission";
}

/* `fleet validate` of a mission is a mistake that should be heard. */
static int check_kind(const struct pdk_cli *cli, const struct pdk_args *args,
        const struct pdk_plan *plan, const char *path)
{
    struct pdk_err err = PDK_ERR_INIT;

    assert(plan);
    if (!args->row->group || strcmp(args->row->group, kind_name(plan->kind)) == 0)
        return 0;
    (void)pdk_fail(&err, PDK_EINVAL, 0, "'%s' is a %s", path, kind_name(plan->kind));
    (void)pdk_hint(&err, "use 'paddock %s %s'", kind_name(plan->kind), args->row->name);
    return pdk_cli_fail(cli, &err);
}

static int validate_one(struct pdk_cli *cli, const struct pdk_args *args,
        const char *path, struct pdk_json *items)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = NULL;
    struct pdk_json *item, *unbuilt;
    int status = pdk_cli_load_plan(cli, args, path, &plan);

    if (status == 0)
        status = check_kind(cli, args, plan, path);
    if (status != 0)
        return status;
    assert(plan); /* it was loaded */
    item = pdk_json_object();
    unbuilt = pdk_json_array();
    for (size_t i = 0; i < plan->unbuilt_len; i++) {
        (void)pdk_json_append(unbuilt, pdk_json_str(plan->unbuilt[i].key));
        pdk_cli_say(cli, "%s: note: '%s' is not built yet\n", plan->unbuilt[i].where,
                plan->unbuilt[i].key);
    }
    (void)pdk_json_set_str(item, "file", path);
    (void)pdk_json_set_str(item, "kind", kind_name(plan->kind));
    (void)pdk_json_set_str(item, "id", plan->id);
    (void)pdk_json_set_bool(item, "valid", true);
    (void)pdk_json_set(item, "not_built", unbuilt);
    (void)pdk_json_append(items, item);
    if (!cli->json)
        printf("%s: %s '%s' is valid\n", path, kind_name(plan->kind), plan->id);
    return 0;
}

int pdk_command_validate(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_JSON struct pdk_json *items = pdk_json_array();
    int status = 0;

    for (size_t i = 0; i < args->words_len; i++) {
        int one = validate_one(cli, args, args->words[i], items);

        status = status ? status : one;
        if (one != 0 && cli->json)
            return status; /* one document at the most */
    }
    if (cli->json)
        return pdk_cli_print(cli, pdk_cli_listing(pdk_take_ptr(&items)));
    return status;
}

int pdk_command_plan(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = NULL;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;
    int status = pdk_cli_load_plan(cli, args, args->words[0], &plan);

    if (status == 0)
        status = check_kind(cli, args, plan, args->words[0]);
    if (status != 0)
        return status;
    if (cli->json)
        return pdk_cli_print(cli, pdk_plan_json(plan));
    if (pdk_plan_show(plan, &text, &err) < 0)
        return pdk_cli_fail(cli, &err);
    (void)fputs(pdk_buf_str(&text), stdout);
    return 0;
}

int pdk_command_schema(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (strcmp(args->words[0], "mission") != 0 && strcmp(args->words[0], "fleet") != 0) {
        (void)pdk_fail(&err, PDK_EINVAL, 0, "there is no schema '%s'", args->words[0]);
        (void)pdk_hint(&err, "'mission' covers missions and fleets");
        return pdk_cli_fail(cli, &err);
    }
    if (pdk_mission_schema(&text, &err) < 0)
        return pdk_cli_fail(cli, &err);
    (void)fputs(pdk_buf_str(&text), stdout);
    return 0;
}
