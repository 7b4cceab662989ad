/* `paddock provider check -- ARGV…`: the conformance kit's report as text, JSON or JUnit. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/str.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"
#include "process/env.h"
#include "sandbox/check/check.h"

enum { EXIT_FAIL = 1 };

static void provider_on_case(
        const char *name, const char *status, const char *why, void *user)
{
    const struct pdk_cli *cli = user;

    if (!cli->json)
        printf("%-4s  %s%s%s\n", status, name, why[0] ? ": " : "", why);
}

static void add_escaped(struct pdk_buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            pdk_buf_adds(out, "&lt;");
        else if (*text == '&')
            pdk_buf_adds(out, "&amp;");
        else if (*text == '"')
            pdk_buf_adds(out, "&quot;");
        else if (*text >= 0 && *text < 0x20)
            pdk_buf_adds(out, " ");
        else
            pdk_buf_add(out, text, 1);
    }
}

static void add_case(struct pdk_buf *out, const struct pdk_json *item)
{
    const char *status = pdk_json_get_str(item, "status", "");
    long long ms = pdk_json_get_int(item, "duration_ms", 0);

    pdk_buf_adds(out, "  <testcase classname=\"provider\" name=\"");
    add_escaped(out, pdk_json_get_str(item, "name", ""));
    pdk_buf_addf(out, "\" time=\"%lld.%03lld\"", ms / 1000, ms % 1000);
    if (strcmp(status, "pass") == 0) {
        pdk_buf_adds(out, "/>\n");
        return;
    }
    pdk_buf_addf(
            out, "><%s message=\"", strcmp(status, "skip") == 0 ? "skipped" : "failure");
    add_escaped(out, pdk_json_get_str(item, "why", ""));
    pdk_buf_adds(out, "\"/></testcase>\n");
}

static int write_junit(const char *path, const struct pdk_json *doc, struct pdk_err *err)
{
    const struct pdk_json *items = pdk_json_get(doc, "items");
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;

    pdk_buf_addf(&out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"provider\" "
            "tests=\"%zu\" failures=\"%lld\" skipped=\"%lld\">\n",
            pdk_json_len(items), (long long)pdk_json_get_int(doc, "failed", 0),
            (long long)pdk_json_get_int(doc, "skipped", 0));
    for (size_t i = 0; i < pdk_json_len(items); i++)
        add_case(&out, pdk_json_at(items, i));
    pdk_buf_adds(&out, "</testsuite>\n");
    if (pdk_buf_ok(&out, err) < 0)
        return err->code;
    return pdk_fs_write(path, out.data, out.len, 0644, 0, err);
}

static int report(const struct pdk_cli *cli, const struct pdk_args *args,
        struct pdk_json *doc, struct pdk_err *err)
{
    const char *junit = pdk_args_get(args, "junit", NULL);
    bool conforms = pdk_json_get_bool(doc, "conforms", false);

    if (junit && write_junit(junit, doc, err) < 0)
        return pdk_cli_fail(cli, err);
    if (!cli->json) {
        printf("%lld passed, %lld failed, %lld skipped: it %s\n",
                (long long)pdk_json_get_int(doc, "passed", 0),
                (long long)pdk_json_get_int(doc, "failed", 0),
                (long long)pdk_json_get_int(doc, "skipped", 0),
                conforms ? "conforms" : "does not conform");
    }
    (void)pdk_json_set_int(doc, "schema_version", 1);
    if (cli->json && pdk_cli_print(cli, pdk_json_ref(doc)) != 0)
        return pdk_exit_status(PDK_ENOMEM);
    return conforms ? 0 : EXIT_FAIL;
}

int pdk_command_provider_check(struct pdk_cli *cli, const struct pdk_args *args)
{
    const char *timeout = pdk_args_get(args, "timeout", NULL);
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_check_spec spec = { .only = pdk_args_get(args, "only", NULL),
        .argv = args->rest,
        .on_case = provider_on_case,
        .user = cli };

    if (args->rest_len == 0) {
        (void)pdk_fail(&err, PDK_EINVAL, 0, "no provider");
        (void)pdk_hint(&err, "paddock provider check -- paddock-agent --root DIR");
        return pdk_cli_fail(cli, &err);
    }
    pdk_env_base(&env);
    pdk_env_set(&env, "PADDOCK_CHECK_LEAK", "1");
    if (pdk_strv_ok(&env, &err) < 0 ||
            (timeout && pdk_duration_parse(timeout, &spec.timeout_ms, &err) < 0))
        return pdk_cli_fail(cli, &err);
    spec.envp = (const char *const *)env.items;
    if (pdk_check(&spec, &doc, &err) < 0)
        return pdk_cli_fail(cli, &err);
    return report(cli, args, doc, &err);
}
