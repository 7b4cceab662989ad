/* Policies and means as JSON and back. What comes from the other side is checked. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "sandbox/confine/confine.h"

enum { MAX_ITEMS = 256, EXIT_MAX = 255 };

/* ---- lists of texts: paths travel as bytes, one object each where they are not UTF-8 */

static int put_texts(struct pdk_json *v, const char *key, const struct pdk_strv *texts)
{
    struct pdk_json *array = pdk_json_array();

    for (size_t i = 0; array && i < texts->len; i++) {
        struct pdk_json *item = pdk_json_object();

        if (item)
            (void)pdk_json_set_bytes(
                    item, "text", texts->items[i], strlen(texts->items[i]));
        (void)pdk_json_append(array, item);
    }
    return pdk_json_set(v, key, array);
}

static int take_text(
        const struct pdk_json *item, struct pdk_strv *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;
    size_t len = 0;
    const char *plain = pdk_json_text(item, &len);

    if (plain)
        pdk_buf_add(&bytes, plain, len);
    else if (pdk_json_get_bytes(item, "text", &bytes, err) < 0)
        return PDK_EINVAL;
    if (!bytes.data || bytes.len == 0 || strlen(bytes.data) != bytes.len)
        return pdk_fail(err, PDK_EINVAL, 0, "an empty text, or none");
    pdk_strv_add(out, bytes.data);
    return 0;
}

/* A missing list is an empty one. */
static int take_texts(const struct pdk_json *v, const char *key, struct pdk_strv *out,
        struct pdk_err *err)
{
    const struct pdk_json *array = pdk_json_get(v, key);

    if (!array)
        return 0;
    if (pdk_json_type(array) != PDK_JSON_ARRAY || pdk_json_len(array) > MAX_ITEMS)
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' is no list of texts", key);
    for (size_t i = 0; i < pdk_json_len(array); i++)
        if (take_text(pdk_json_at(array, i), out, err) < 0)
            return pdk_fail(err, PDK_EINVAL, 0, "'%s' holds what is no text", key);
    return pdk_strv_ok(out, err);
}

/* ---- the runner */

static struct pdk_json *runner_to_json(const struct pdk_runner *runner)
{
    struct pdk_json *v = pdk_json_object();

    if (!v)
        return NULL;
    (void)put_texts(v, "argv", &runner->argv);
    (void)put_texts(v, "signatures", &runner->signatures);
    (void)put_texts(v, "failures", &runner->failures);
    (void)pdk_json_set_int(v, "failure_exit", runner->failure_exit);
    return v;
}

static int fill_runner(
        const struct pdk_json *v, struct pdk_runner *runner, struct pdk_err *err)
{
    int64_t code = pdk_json_get_int(v, "failure_exit", 125);

    if (pdk_json_type(v) != PDK_JSON_OBJECT)
        return pdk_fail(err, PDK_EINVAL, 0, "a runner is an object");
    if (take_texts(v, "argv", &runner->argv, err) < 0 ||
            take_texts(v, "signatures", &runner->signatures, err) < 0 ||
            take_texts(v, "failures", &runner->failures, err) < 0)
        return err->code;
    if (runner->argv.len == 0 || runner->argv.items[0][0] != '/')
        return pdk_fail(
                err, PDK_EINVAL, 0, "a runner's 'argv' begins with an absolute path");
    if (runner->signatures.len == 0) {
        (void)pdk_fail(err, PDK_EINVAL, 0, "a runner declares its 'signatures'");
        return pdk_hint(err,
                "what stderr says when it denies a write: \"Read-only file system\"");
    }
    if (code < 1 || code > EXIT_MAX)
        return pdk_fail(err, PDK_EINVAL, 0, "'failure_exit' is an exit code of 1 to 255");
    runner->failure_exit = (int)code;
    return 0;
}

int pdk_runner_from_json(
        const struct pdk_json *v, struct pdk_runner *out, struct pdk_err *err)
{
    struct pdk_policy holder = { 0 };

    if (fill_runner(v, &holder.runner, err) < 0) {
        pdk_policy_fini(&holder);
        return err->code;
    }
    *out = holder.runner;
    return 0;
}

/* ---- the policy */

int pdk_policy_to_json(
        const struct pdk_policy *policy, struct pdk_json **out, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *v = pdk_json_object();

    if (!v)
        return pdk_fail_nomem(err);
    (void)pdk_json_set_str(v, "mode", pdk_mode_name(policy->mode));
    (void)pdk_json_set_bool(v, "require_full", policy->require_full);
    if (policy->dialect != PDK_DIALECT_NONE)
        (void)pdk_json_set_str(v, "dialect", pdk_dialect_name(policy->dialect));
    (void)put_texts(v, "visible", &policy->visible);
    if (policy->runner.argv.len > 0)
        (void)pdk_json_set(v, "runner", runner_to_json(&policy->runner));
    if (pdk_json_ok(v, err) < 0)
        return PDK_ENOMEM;
    *out = pdk_take_ptr(&v);
    return 0;
}

static int take_dialect(
        const struct pdk_json *v, enum pdk_dialect *out, struct pdk_err *err)
{
    const struct pdk_json *member = pdk_json_get(v, "dialect");
    const char *name = pdk_json_get_str(v, "dialect", "");
    int found = pdk_dialect_find(name);

    if (member && found <= (int)PDK_DIALECT_NONE)
        return pdk_fail(err, PDK_EINVAL, 0, "'dialect' is none of its values");
    *out = member ? (enum pdk_dialect)found : PDK_DIALECT_NONE;
    return 0;
}

static int fill_policy(
        const struct pdk_json *v, struct pdk_policy *policy, struct pdk_err *err)
{
    const struct pdk_json *full = pdk_json_get(v, "require_full");
    const struct pdk_json *runner = pdk_json_get(v, "runner");

    if (pdk_json_type(v) != PDK_JSON_OBJECT)
        return pdk_fail(err, PDK_EINVAL, 0, "'confine' is no object");
    if (pdk_mode_find(pdk_json_get_str(v, "mode", ""), &policy->mode, err) < 0)
        return pdk_wrap(err, "'confine.mode'");
    if (full && pdk_json_type(full) != PDK_JSON_BOOL)
        return pdk_fail(err, PDK_EINVAL, 0, "'require_full' is neither true nor false");
    policy->require_full = full && pdk_json_bool_value(full);
    if (take_dialect(v, &policy->dialect, err) < 0 ||
            take_texts(v, "visible", &policy->visible, err) < 0)
        return err->code;
    if (runner && fill_runner(runner, &policy->runner, err) < 0)
        return pdk_wrap(err, "'runner'");
    if (policy->dialect == PDK_DIALECT_RUNNER && !runner)
        return pdk_fail(err, PDK_EINVAL, 0, "'dialect' is runner, and there is none");
    return 0;
}

int pdk_policy_from_json(
        const struct pdk_json *v, struct pdk_policy *out, struct pdk_err *err)
{
    struct pdk_policy policy = { 0 };

    if (fill_policy(v, &policy, err) < 0) {
        pdk_policy_fini(&policy);
        return err->code;
    }
    *out = policy;
    return 0;
}

/* ---- means */

void pdk_means_fini(struct pdk_means *means)
{
    free(means->bubblewrap);
    free(means->bubblewrap_why);
    free(means->landlock_why);
    *means = (struct pdk_means){ 0 };
}

static void put_bytes(struct pdk_json *v, const char *key, const char *text)
{
    if (text)
        (void)pdk_json_set_bytes(v, key, text, strlen(text));
}

int pdk_means_to_json(
        const struct pdk_means *means, struct pdk_json **out, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *v = pdk_json_object();

    if (!v)
        return pdk_fail_nomem(err);
    put_bytes(v, "bubblewrap", means->bubblewrap);
    put_bytes(v, "bubblewrap_why", means->bubblewrap_why);
    (void)pdk_json_set_int(v, "landlock", means->landlock);
    put_bytes(v, "landlock_why", means->landlock_why);
    if (pdk_json_ok(v, err) < 0)
        return PDK_ENOMEM;
    *out = pdk_take_ptr(&v);
    return 0;
}

static int take_bytes(
        const struct pdk_json *v, const char *key, char **out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;

    if (pdk_json_get_bytes(v, key, &bytes, err) < 0)
        return err->code;
    *out = bytes.data ? pdk_buf_take(&bytes) : NULL;
    return 0;
}

static int fill_means(
        const struct pdk_json *v, struct pdk_means *means, struct pdk_err *err)
{
    int64_t abi = pdk_json_get_int(v, "landlock", -1);

    if (abi < 0 || abi > 1000)
        return pdk_fail(err, PDK_EPROTO, 0, "'landlock' is no version");
    means->landlock = (int)abi;
    if (take_bytes(v, "bubblewrap", &means->bubblewrap, err) < 0 ||
            take_bytes(v, "bubblewrap_why", &means->bubblewrap_why, err) < 0)
        return err->code;
    return take_bytes(v, "landlock_why", &means->landlock_why, err);
}

int pdk_means_from_json(
        const struct pdk_json *v, struct pdk_means *out, struct pdk_err *err)
{
    struct pdk_means means = { 0 };
    int rc = fill_means(v, &means, err);

    if (rc < 0)
        pdk_means_fini(&means);
    else
        *out = means;
    return rc;
}
