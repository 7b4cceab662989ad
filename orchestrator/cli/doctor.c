/* `paddock doctor`: what this host can do, as probed now, and what may be claimed of it. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "backends/backend.h"
#include "backends/tier.h"
#include "base/fs.h"
#include "base/json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "orchestrator/cli/replay.h"
#include "process/env.h"
#include "process/run.h"
#include "sandbox/agent_path.h"
#include "sandbox/confinement.h"

struct probe_list {
    struct pdk_json *items;
    int failed;
};

/* detail is borrowed; problem NULL means that it works. */
static void add(struct probe_list *list, const char *name, const char *detail,
        const struct pdk_err *problem)
{
    struct pdk_json *item = pdk_json_object();

    (void)pdk_json_set_str(item, "name", name);
    (void)pdk_json_set_bool(item, "ok", problem == NULL);
    (void)pdk_json_set_str(item, "detail", problem ? problem->msg : detail);
    (void)pdk_json_set_str(
            item, "hint", problem && problem->hint[0] ? problem->hint : NULL);
    (void)pdk_json_append(list->items, item);
    list->failed += problem != NULL;
}

static void probe_kernel(struct probe_list *list)
{
    struct utsname name;
    PDK_AUTO_FREE char *text = NULL;

    if (uname(&name) < 0)
        return;
    text = pdk_strf("%s %s %s", name.sysname, name.release, name.machine);
    add(list, "kernel", text ? text : "", NULL);
}

static void probe_git(struct probe_list *list)
{
    const char *argv[] = { "git", "--version", NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;
    struct pdk_run_spec spec = { .argv = argv };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_env_base(&env);
    spec.envp = (const char *const *)env.items;
    if (pdk_strv_ok(&env, &err) < 0 || pdk_run_ok(&spec, &result, &err) < 0) {
        (void)pdk_hint(&err, "install git");
        add(list, "git", NULL, &err);
        return;
    }
    if (result.out.len > 0 && result.out.data[result.out.len - 1] == '\n')
        result.out.data[result.out.len - 1] = '\0';
    add(list, "git", pdk_buf_str(&result.out), NULL);
}

static void probe_agent(struct probe_list *list)
{
    PDK_AUTO_FREE char *path = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_agent_path(&path, &err) < 0)
        add(list, "agent", NULL, &err);
    else
        add(list, "agent", path, NULL);
}

/* What the store says of its runs, held against their logs. */
static void probe_verdicts(struct pdk_cli *cli, struct probe_list *list)
{
    PDK_AUTO_FREE char *text = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    size_t runs = 0;
    int rc = pdk_replay_check(cli->store, &runs, &err);

    text = pdk_strf("%zu runs, as their logs say", runs);
    add(list, "verdicts", text ? text : "", rc < 0 ? &err : NULL);
}

static void probe_repository(struct pdk_cli *cli, struct probe_list *list)
{
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_cli_open_repo(cli, &err) < 0) {
        add(list, "repository", NULL, &err);
        return;
    }
    add(list, "repository", cli->repo->root, NULL);
    if (pdk_cli_open_vault(cli, &err) < 0 || pdk_store_check(cli->store, &err) < 0)
        add(list, "state", NULL, &err);
    else
        add(list, "state", cli->paths.dir, NULL);
    if (err.code == 0)
        probe_verdicts(cli, list);
}

/* dir: of the state, where they are tried; NULL: nowhere. */
static void probe_backends(struct probe_list *list, const char *dir)
{
    for (size_t i = 0; i < pdk_backend_count(); i++) {
        const struct pdk_backend *be = pdk_backend_at(i);
        PDK_AUTO_FREE char *name = pdk_strf("backend %s", pdk_backend_name(be));
        PDK_AUTO_FREE char *detail = NULL;
        struct pdk_err err = PDK_ERR_INIT;
        const char *way = NULL;
        int rc = dir ? pdk_backend_probe(be, dir, &way, &err) : 0;

        detail = pdk_strf("%s%s%s", pdk_backend_claim(be), way ? ", mounted: " : "",
                way ? way : "");
        add(list, name ? name : "backend", detail ? detail : pdk_backend_claim(be),
                rc < 0 ? &err : NULL);
        if (rc < 0)
            list->failed--; /* others work here */
    }
}

static void add_dialect(struct pdk_json *out, enum pdk_dialect dialect,
        const struct pdk_means *means, const char *detail, const char *why)
{
    PDK_AUTO_STRV struct pdk_strv missing = PDK_STRV_INIT;
    struct pdk_json *v = pdk_json_object();
    enum pdk_enforced enforced =
            why ? PDK_ENFORCED_NONE : pdk_confine_enforced(dialect, means->landlock);
    struct pdk_err err = PDK_ERR_INIT;

    if (!why)
        (void)pdk_confine_missing(dialect, means->landlock, &missing, &err);
    (void)pdk_json_set_str(v, "dialect", pdk_dialect_name(dialect));
    (void)pdk_json_set_str(v, "enforcement", pdk_enforced_name(enforced));
    (void)pdk_json_set_str(v, "detail", why ? why : detail);
    (void)pdk_json_set(v, "not_covered",
            pdk_json_strv((const char *const *)missing.items, missing.len));
    (void)pdk_json_append(out, v);
}

/* One that is missing is no failure: nobody has asked for it yet. */
static struct pdk_json *probe_confinement(const struct pdk_cli *cli)
{
    struct pdk_json *out = pdk_json_array();
    PDK_AUTO_FREE char *agent = NULL;
    PDK_AUTO_MEANS struct pdk_means means = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    char abi[32];

    if (pdk_agent_path(&agent, &err) < 0 ||
            pdk_confinement_probe(agent, cli->paths.dir ? cli->paths.dir : "/var/tmp",
                    &means, &err) < 0) {
        add_dialect(out, PDK_DIALECT_NONE, &means, NULL, err.msg);
        return out;
    }
    (void)snprintf(abi, sizeof(abi), "ABI %d", means.landlock);
    add_dialect(out, PDK_DIALECT_BUBBLEWRAP, &means, means.bubblewrap,
            means.bubblewrap ? NULL : means.bubblewrap_why);
    add_dialect(out, PDK_DIALECT_LANDLOCK, &means, abi,
            means.landlock > 0 ? NULL : means.landlock_why);
    return out;
}

static void print_confinement(const struct pdk_json *dialects)
{
    for (size_t i = 0; i < pdk_json_len(dialects); i++) {
        const struct pdk_json *v = pdk_json_at(dialects, i);
        const struct pdk_json *gaps = pdk_json_get(v, "not_covered");

        printf("confinement by %-11s %s (%s)\n", pdk_json_get_str(v, "dialect", ""),
                pdk_json_get_str(v, "enforcement", ""),
                pdk_json_get_str(v, "detail", ""));
        for (size_t k = 0; k < pdk_json_len(gaps); k++)
            printf("    not covered: %s\n", pdk_json_text(pdk_json_at(gaps, k), NULL));
    }
}

/* What is not there is no fault of the host: a mission may ask for it or not. */
static void probe_engines(struct probe_list *list)
{
    for (size_t i = 0; i < pdk_tier_engines(); i++) {
        PDK_AUTO_JSON struct pdk_json *facts = NULL;
        PDK_AUTO_FREE char *name = NULL, *detail = NULL;
        const char *engine = NULL;
        struct pdk_err err = PDK_ERR_INIT;

        if (pdk_tier_probe(i, &engine, &facts, &err) < 0)
            detail = pdk_strf("none: %s", err.msg);
        else
            detail = pdk_strf("%s, runtime %s, kernel %s",
                    pdk_json_get_str(facts, "version", ""),
                    pdk_json_get_str(facts, "runtime", ""),
                    pdk_json_get_str(facts, "kernel", ""));
        name = pdk_strf("engine %s", engine);
        add(list, name ? name : "engine", detail ? detail : "", NULL);
    }
}

static void print_list(const struct probe_list *list)
{
    for (size_t i = 0; i < pdk_json_len(list->items); i++) {
        const struct pdk_json *item = pdk_json_at(list->items, i);

        printf("%-3s %-22s %s\n", pdk_json_get_bool(item, "ok", false) ? "ok" : "no",
                pdk_json_get_str(item, "name", ""), pdk_json_get_str(item, "detail", ""));
        if (pdk_json_get_str(item, "hint", NULL))
            printf("    hint: %s\n", pdk_json_get_str(item, "hint", ""));
    }
}

int pdk_command_doctor(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_JSON struct pdk_json *items = pdk_json_array();
    struct probe_list list = { .items = items };
    struct pdk_json *doc, *dialects;
    int status;

    (void)args;
    probe_kernel(&list);
    probe_git(&list);
    probe_agent(&list);
    probe_repository(cli, &list);
    probe_backends(&list,
            cli->paths.dir && pdk_fs_exists(cli->paths.dir) ? cli->paths.dir : NULL);
    probe_engines(&list);
    dialects = probe_confinement(cli);
    if (!cli->json) {
        print_list(&list);
        print_confinement(dialects);
        pdk_json_free(dialects);
        printf("execution isolation: none (commands run on this host), but for what is confined on request\n");
        return list.failed ? 4 : 0;
    }
    doc = pdk_cli_listing(pdk_take_ptr(&items));
    (void)pdk_json_set(doc, "confinement", dialects);
    (void)pdk_json_set_str(doc, "claim",
            "none: commands run on this host, unconfined unless it is asked for");
    status = pdk_cli_print(cli, doc);
    return list.failed ? 4 : status;
}
