/* What all engines share: the same words, said to another client. */
#include "backends/container/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "process/env.h"
#include "process/run.h"

enum { PULL_DEADLINE_MS = 1800000, MAX_TALK = 16 << 20, REMOVAL_POLL_MS = 50 };

enum { ENGINES = 2 };

static const struct pdk_engine *const engines[ENGINES] = {
    &pdk_docker_engine,
    &pdk_podman_engine,
};

size_t pdk_engine_count(void)
{
    return ENGINES;
}

const struct pdk_engine *pdk_engine_at(size_t i)
{
    return engines[i];
}

int pdk_engine_find(const char *name, const struct pdk_engine **out, struct pdk_err *err)
{
    for (size_t i = 0; i < pdk_engine_count(); i++) {
        if (pdk_streq(engines[i]->name, name)) {
            *out = engines[i];
            return 0;
        }
    }
    (void)pdk_fail(err, PDK_EINVAL, 0, "there is no container engine '%s'", name);
    return err ? pdk_hint(err, "there are: docker, podman") : PDK_EINVAL;
}

void pdk_engine_facts_fini(struct pdk_engine_facts *facts)
{
    free(facts->version);
    free(facts->runtime);
    free(facts->kernel);
    free(facts->image);
    *facts = (struct pdk_engine_facts){ 0 };
}

/* ---- calls */

void pdk_engine_env(struct pdk_strv *env)
{
    static const char *const names[] = { "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG",
        "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "CONTAINER_HOST", "CONTAINERS_CONF",
        "CONTAINERS_STORAGE_CONF", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR",
        "XDG_CONFIG_HOME", "XDG_DATA_HOME" };

    pdk_env_base(env);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        pdk_env_pass(env, names[i]);
}

/* words: NULL-terminated, after the program. Whatever its exit code; deadline_ms 0: the default. */
static int call(const struct pdk_engine *engine, const char *const *words,
        int64_t deadline_ms, struct pdk_run_result *out, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv argv = PDK_STRV_INIT, env = PDK_STRV_INIT;
    struct pdk_run_spec spec = { .max_output = MAX_TALK };

    pdk_strv_add(&argv, engine->program);
    for (; *words; words++)
        pdk_strv_add(&argv, *words);
    pdk_engine_env(&env);
    if (pdk_strv_ok(&argv, err) < 0 || pdk_strv_ok(&env, err) < 0)
        return err->code;
    spec.argv = (const char *const *)argv.items;
    spec.envp = (const char *const *)env.items;
    spec.timeout_ms = deadline_ms > 0 ? deadline_ms : PDK_ENGINE_DEADLINE_MS;
    if (pdk_run(&spec, out, err) == 0)
        return 0;
    if (err->os_errno == ENOENT) {
        (void)pdk_fail(err, PDK_EUNAVAIL, 0, "'%s' is not installed", engine->program);
        return pdk_hint(err, "install it, or name another engine");
    }
    return pdk_wrap(err, "%s %s", engine->name, argv.items[1]);
}

static const char *first_line(struct pdk_buf *text)
{
    char *end = strchr(pdk_buf_str(text), '\n');

    if (end)
        *end = '\0';
    return pdk_buf_str(text);
}

/* The same, where an exit code that is not 0 is a failure with what the client said. */
static int call_ok(const struct pdk_engine *engine, const char *const *words,
        int64_t deadline_ms, struct pdk_run_result *out, struct pdk_err *err)
{
    if (call(engine, words, deadline_ms, out, err) < 0)
        return err->code;
    if (out->exit_code == 0)
        return 0;
    return pdk_fail(err, PDK_EUNAVAIL, 0, "%s %s: %s", engine->name, words[0],
            first_line(&out->err));
}

/* ---- what it is */

static const char *dotted(const struct pdk_json *v, const char *path)
{
    char key[64];
    const char *dot;

    while ((dot = strchr(path, '.'))) {
        (void)snprintf(key, sizeof(key), "%.*s", (int)(dot - path), path);
        v = pdk_json_get(v, key);
        path = dot + 1;
    }
    return pdk_json_get_str(v, path, "");
}

static const char *complaint(const struct pdk_json *info)
{
    const char *text =
            pdk_json_text(pdk_json_at(pdk_json_get(info, "ServerErrors"), 0), NULL);

    return text ? text : "no version";
}

static int read_facts(const struct pdk_engine *engine, const struct pdk_buf *text,
        struct pdk_engine_facts *facts, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *info = NULL;

    if (pdk_json_parse(text->data, text->len, &info, err) < 0)
        return pdk_fail(err, PDK_EUNAVAIL, 0, "%s info: no JSON", engine->name);
    facts->version = strdup(dotted(info, engine->version_at));
    facts->runtime = strdup(dotted(info, engine->runtime_at));
    facts->kernel = strdup(dotted(info, engine->kernel_at));
    if (!facts->version || !facts->runtime || !facts->kernel)
        return pdk_fail_nomem(err);
    if (*facts->version)
        return 0;
    /* a client without its daemon may end with 0 all the same */
    return pdk_fail(err, PDK_EUNAVAIL, 0, "%s info: %s", engine->name, complaint(info));
}

int pdk_engine_probe(const struct pdk_engine *engine, struct pdk_engine_facts *facts,
        struct pdk_err *err)
{
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    struct pdk_engine_facts seen = { 0 };
    int rc = call_ok(engine, engine->info_argv, 0, &result, err);

    if (rc == 0)
        rc = read_facts(engine, &result.out, &seen, err);
    if (rc < 0) {
        pdk_engine_facts_fini(&seen);
        err->code = PDK_EUNAVAIL;
        return err->hint[0] ? err->code
                            : pdk_hint(err, "start it, or name another engine");
    }
    *facts = seen;
    return 0;
}

static int inspect_image(const struct pdk_engine *engine, const char *image, char **id,
        struct pdk_err *err)
{
    const char *const words[] = { "image", "inspect", "--format", "{{.Id}}", "--", image,
        NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };

    if (call(engine, words, 0, &result, err) < 0)
        return err->code;
    if (result.exit_code != 0) {
        (void)pdk_fail(
                err, PDK_ENOTFOUND, 0, "%s has no image '%s'", engine->name, image);
        return pdk_hint(err, "%s pull '%s'; or set container.pull: missing",
                engine->program, image);
    }
    *id = strdup(first_line(&result.out));
    return *id ? 0 : pdk_fail_nomem(err);
}

static int pull_image(
        const struct pdk_engine *engine, const char *image, struct pdk_err *err)
{
    const char *const words[] = { "pull", "--quiet", "--", image, NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };

    return call_ok(engine, words, PULL_DEADLINE_MS, &result, err);
}

int pdk_engine_image(const struct pdk_engine *engine, const char *image, const char *pull,
        char **id, struct pdk_err *err)
{
    bool always = pdk_streq(pull, "always"), missing = pdk_streq(pull, "missing");
    int rc = always ? pull_image(engine, image, err) : 0;

    if (rc == 0)
        rc = inspect_image(engine, image, id, err);
    if (rc == PDK_ENOTFOUND && missing) {
        rc = pull_image(engine, image, err);
        if (rc == 0)
            rc = inspect_image(engine, image, id, err);
    }
    if (rc == PDK_ENOTFOUND)
        err->code = PDK_EUNAVAIL;
    return rc < 0 ? err->code : 0;
}

/* ---- containers */

/* One field of --mount, which is a line of CSV. */
static void add_field(struct pdk_buf *out, const char *key, const char *value)
{
    bool plain = !strpbrk(value, ",\"\n");

    pdk_buf_addf(out, ",%s%s=", plain ? "" : "\"", key);
    for (; *value; value++) {
        if (*value == '"')
            pdk_buf_addc(out, '"');
        pdk_buf_addc(out, *value);
    }
    if (!plain)
        pdk_buf_addc(out, '"');
}

static void add_bind(struct pdk_strv *argv, const struct pdk_bind *bind)
{
    struct pdk_buf text = PDK_BUF_INIT;

    pdk_buf_adds(&text, "type=bind");
    add_field(&text, "source", bind->path);
    add_field(&text, "target", bind->path);
    if (bind->read_only)
        pdk_buf_adds(&text, ",readonly");
    pdk_strv_add(argv, "--mount");
    pdk_strv_take(argv, pdk_buf_take(&text));
}

static void add_limits(struct pdk_strv *argv, const struct pdk_container *c)
{
    if (c->cpus > 0)
        pdk_strv_addf(argv, "--cpus=%g", c->cpus);
    if (c->pids > 0)
        pdk_strv_addf(argv, "--pids-limit=%d", c->pids);
    if (c->memory > 0) {
        pdk_strv_addf(argv, "--memory=%lld", (long long)c->memory);
        pdk_strv_addf(argv, "--memory-swap=%lld", (long long)c->memory); /* none beside */
    }
}

void pdk_engine_run_argv(const struct pdk_engine *engine, const struct pdk_container *c,
        struct pdk_strv *argv)
{
    pdk_strv_add(argv, engine->program);
    pdk_strv_add(argv, "run");
    pdk_strv_add(argv, "--interactive");
    pdk_strv_add(argv, "--rm");
    pdk_strv_addf(argv, "--name=%s", c->name);
    pdk_strv_addf(argv, "--label=paddock.owner=%s", c->owner);
    if (c->run)
        pdk_strv_addf(argv, "--label=paddock.run=%s", c->run);
    /* what the agent and we say to each other is no log of the engine's */
    pdk_strv_add(argv, "--log-driver=none");
    pdk_strv_addf(argv, "--network=%s", c->network);
    pdk_strv_add(argv, "--cap-drop=ALL");
    pdk_strv_add(argv, "--security-opt=no-new-privileges");
    pdk_strv_addf(argv, "--user=%s", c->user);
    pdk_strv_add(argv, "--env=HOME=/tmp");
    pdk_strv_add(argv, "--tmpfs=/tmp:rw,exec,mode=1777");
    add_limits(argv, c);
    for (size_t i = 0; i < c->binds_len; i++)
        add_bind(argv, &c->binds[i]);
    pdk_strv_addf(argv, "--entrypoint=%s", c->command[0]);
    if (engine->add_run)
        engine->add_run(argv);
    pdk_strv_add(argv, "--");
    pdk_strv_add(argv, c->image);
    for (size_t i = 1; c->command[i]; i++)
        pdk_strv_add(argv, c->command[i]);
}

/* 1: it is gone; 0: somebody else (its own --rm) is at it. */
static int remove_once(const struct pdk_engine *engine, const char *name,
        int64_t deadline_ms, struct pdk_err *err)
{
    const char *const words[] = { "rm", "--force", "--volumes", "--", name, NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    const char *said;

    if (call(engine, words, deadline_ms, &result, err) < 0)
        return err->code;
    said = pdk_buf_str(&result.err);
    if (result.exit_code == 0 || strcasestr(said, "no such container"))
        return 1;
    if (strcasestr(said, "already in progress"))
        return 0;
    return pdk_fail(
            err, PDK_EIO, 0, "%s rm %s: %s", engine->name, name, first_line(&result.err));
}

int pdk_engine_remove(const struct pdk_engine *engine, const char *name,
        int64_t deadline_ms, struct pdk_err *err)
{
    int64_t until =
            pdk_clock_ms() + (deadline_ms > 0 ? deadline_ms : PDK_ENGINE_DEADLINE_MS);
    int rc;

    while ((rc = remove_once(engine, name, deadline_ms, err)) == 0) {
        if (pdk_clock_ms() >= until)
            return pdk_fail(err, PDK_ETIMEDOUT, 0, "%s rm %s: its removal does not end",
                    engine->name, name);
        (void)poll(NULL, 0, REMOVAL_POLL_MS); /* the engine tells no other way */
    }
    return rc < 0 ? rc : 0;
}

int pdk_engine_list(const struct pdk_engine *engine, const char *owner,
        void (*visit)(const char *name, const char *run, void *user), void *user,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *filter = pdk_strf("label=paddock.owner=%s", owner);
    const char *const words[] = { "ps", "--all", "--no-trunc", "--filter", filter,
        "--format", engine->list_format, NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    char *line, *rest = NULL;

    if (!filter)
        return pdk_fail_nomem(err);
    if (call_ok(engine, words, 0, &result, err) < 0)
        return err->code;
    for (line = strtok_r(result.out.data, "\n", &rest); line;
            line = strtok_r(NULL, "\n", &rest)) {
        char *tab = strchr(line, '\t');

        if (tab)
            *tab = '\0';
        visit(line, tab ? tab + 1 : "", user);
    }
    return 0;
}
