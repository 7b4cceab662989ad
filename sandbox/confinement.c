#include "sandbox/confinement.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/path.h"
#include "process/env.h"
#include "process/run.h"

enum { MAX_RUNNER_FILE = 64 << 10 };

int pdk_confinement_probe(
        const char *agent, const char *root, struct pdk_means *out, struct pdk_err *err)
{
    const char *argv[] = { agent, "--root", root, "--probe", NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    struct pdk_run_spec spec = { .argv = argv, .cwd = "/" };

    pdk_env_base(&env);
    spec.envp = (const char *const *)env.items;
    if (pdk_strv_ok(&env, err) < 0 || pdk_run_ok(&spec, &result, err) < 0)
        return pdk_wrap(err, "probing confinement");
    if (pdk_json_parse(pdk_buf_str(&result.out), result.out.len, &v, err) < 0)
        return pdk_wrap(err, "probing confinement");
    return pdk_means_from_json(v, out, err);
}

/* The program never changes its environment. NULL in *out where there is no place for it. */
static int runner_path(char **out, struct pdk_err *err)
{
    const char *given = getenv("PADDOCK_RUNNER"), *config = getenv("XDG_CONFIG_HOME"),
               *home = getenv("HOME");

    if (given && *given)
        *out = pdk_strf("%s", given);
    else if (config && *config == '/')
        *out = pdk_path_join(config, "paddock/runner.json");
    else if (home && *home == '/')
        *out = pdk_path_join(home, ".config/paddock/runner.json");
    else
        return 0;
    return *out ? 0 : pdk_fail_nomem(err);
}

int pdk_confinement_runner(struct pdk_runner *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = NULL;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    const char *given = getenv("PADDOCK_RUNNER");
    struct pdk_err why = PDK_ERR_INIT;

    *out = (struct pdk_runner){ .failure_exit = 0 };
    if (runner_path(&path, err) < 0)
        return err->code;
    if (!path || (!(given && *given) && !pdk_fs_exists(path)))
        return 0;
    if (pdk_fs_read(path, MAX_RUNNER_FILE, &text, &why) < 0 ||
            pdk_json_parse(pdk_buf_str(&text), text.len, &v, &why) < 0 ||
            pdk_runner_from_json(v, out, &why) < 0) {
        *err = why;
        return pdk_wrap(err, "runner '%s'", path);
    }
    return 0;
}
