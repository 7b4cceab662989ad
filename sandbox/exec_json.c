/* exec's request and result, as JSON and back. What comes from the other side is checked. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "sandbox/protocol.h"

enum { MAX_WORDS = 65536 };

/* Of a time or a size: sums of a few stay in range. */
#define AMOUNT_MAX (INT64_MAX / 16)

void pdk_exec_request_fini(struct pdk_exec_request *r)
{
    pdk_strv_fini(&r->argv);
    pdk_strv_fini(&r->env);
    free(r->cwd);
    free(r->log);
    free(r->nonce);
    r->cwd = r->log = r->nonce = NULL;
    pdk_policy_fini(&r->policy);
}

/* Words may hold any bytes but NUL: those that are not UTF-8 travel as an object with "word_base64". */
static int put_words(struct pdk_json *v, const char *key, const struct pdk_strv *words)
{
    struct pdk_json *array = pdk_json_array();

    for (size_t i = 0; array && i < words->len; i++) {
        const char *word = words->items[i];
        size_t len = strlen(word);
        bool plain = pdk_utf8_valid(word, len);
        struct pdk_json *item = plain ? pdk_json_strn(word, len) : pdk_json_object();

        if (!plain && item)
            (void)pdk_json_set_bytes(item, "word", word, len);
        (void)pdk_json_append(array, item);
    }
    return pdk_json_set(v, key, array);
}

/* One that does not confine is not sent: agents that know nothing of it are told nothing. */
static int put_policy(
        struct pdk_json *v, const struct pdk_policy *policy, struct pdk_err *err)
{
    struct pdk_json *confine = NULL;

    if (policy->mode == PDK_CONFINE_NONE)
        return 0;
    if (pdk_policy_to_json(policy, &confine, err) < 0)
        return err ? err->code : PDK_ENOMEM;
    return pdk_json_set(v, "confine", confine);
}

static void put_limits(struct pdk_json *v, const struct pdk_exec_request *r)
{
    struct pdk_json *limits;

    if (r->limits.memory == 0 && r->limits.pids == 0 && r->limits.cpus <= 0)
        return;
    limits = pdk_json_object();
    (void)pdk_json_set_int(limits, "memory", r->limits.memory);
    (void)pdk_json_set_int(limits, "pids", r->limits.pids);
    (void)pdk_json_set(limits, "cpus", pdk_json_real(r->limits.cpus));
    (void)pdk_json_set_bool(limits, "require_full", r->limits_in_full);
    (void)pdk_json_set(v, "limits", limits);
}

int pdk_exec_request_to_json(
        const struct pdk_exec_request *r, struct pdk_json **out, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *v = pdk_json_object();
    struct pdk_json *graces = pdk_json_object();

    if (!v || !graces) {
        pdk_json_free(graces);
        return pdk_fail_nomem(err);
    }
    (void)pdk_json_set_int(graces, "int_ms", r->graces.int_ms);
    (void)pdk_json_set_int(graces, "term_ms", r->graces.term_ms);
    (void)pdk_json_set_int(graces, "kill_ms", r->graces.kill_ms);
    (void)put_words(v, "argv", &r->argv);
    (void)put_words(v, "env", &r->env);
    if (r->inherit_env)
        (void)pdk_json_set_bool(v, "inherit_env", true);
    if (r->cwd)
        (void)pdk_json_set_bytes(v, "cwd", r->cwd, strlen(r->cwd));
    (void)pdk_json_set_int(v, "timeout_ms", r->timeout_ms);
    (void)pdk_json_set(v, "graces", graces);
    if (r->log)
        (void)pdk_json_set_bytes(v, "log", r->log, strlen(r->log));
    (void)pdk_json_set_int(v, "output_cap", r->output_cap);
    (void)pdk_json_set_str(v, "nonce", r->nonce ? r->nonce : "");
    put_limits(v, r);
    if (put_policy(v, &r->policy, err) < 0 || pdk_json_ok(v, err) < 0)
        return err ? err->code : PDK_ENOMEM;
    *out = pdk_take_ptr(&v);
    return 0;
}

/* A string member, or "<key>_base64" beside it. NULL in *out where there is none. */
static int take_bytes(
        const struct pdk_json *v, const char *key, char **out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;

    if (pdk_json_get_bytes(v, key, &bytes, err) < 0)
        return err ? err->code : PDK_EINVAL;
    if (!bytes.data)
        return 0;
    if (strlen(bytes.data) != bytes.len)
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' holds a NUL", key);
    *out = pdk_buf_take(&bytes);
    return *out ? 0 : pdk_fail_nomem(err);
}

static int take_words(const struct pdk_json *v, const char *key, struct pdk_strv *out,
        struct pdk_err *err)
{
    const struct pdk_json *array = pdk_json_get(v, key);

    if (pdk_json_type(array) != PDK_JSON_ARRAY || pdk_json_len(array) > MAX_WORDS)
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' is no list of words", key);
    for (size_t i = 0; i < pdk_json_len(array); i++) {
        const struct pdk_json *item = pdk_json_at(array, i);
        PDK_AUTO_FREE char *word = NULL;
        size_t len = 0;
        const char *text = pdk_json_text(item, &len);

        if (text && strlen(text) == len)
            word = strdup(text);
        else if (text || take_bytes(item, "word", &word, err) < 0 || !word)
            return pdk_fail(err, PDK_EINVAL, 0, "'%s' holds what is no word", key);
        pdk_strv_take(out, pdk_take_ptr(&word));
    }
    return pdk_strv_ok(out, err);
}

/* A whole number from 0 up; *out stays where the member is missing. */
static int take_amount(
        const struct pdk_json *v, const char *key, int64_t *out, struct pdk_err *err)
{
    const struct pdk_json *member = pdk_json_get(v, key);
    int64_t value = pdk_json_int_value(member);

    if (!member)
        return 0;
    if (pdk_json_type(member) != PDK_JSON_INT)
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' is no whole number", key);
    if (value < 0 || value > AMOUNT_MAX)
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' is out of range", key);
    *out = value;
    return 0;
}

int pdk_graces_from_json(
        const struct pdk_json *v, struct pdk_graces *out, struct pdk_err *err)
{
    static const struct pdk_graces usual = PDK_GRACES_DEFAULT;
    const struct pdk_json *graces = pdk_json_get(v, "graces");

    if (!graces) {
        *out = usual;
        return 0;
    }
    if (pdk_json_type(graces) != PDK_JSON_OBJECT)
        return pdk_fail(err, PDK_EINVAL, 0, "'graces' is no object");
    if (take_amount(graces, "int_ms", &out->int_ms, err) < 0 ||
            take_amount(graces, "term_ms", &out->term_ms, err) < 0 ||
            take_amount(graces, "kill_ms", &out->kill_ms, err) < 0)
        return err ? err->code : PDK_EINVAL;
    return 0;
}

static int take_nonce(const struct pdk_json *v, char **out, struct pdk_err *err)
{
    size_t len = 0;
    const char *text = pdk_json_text(pdk_json_get(v, "nonce"), &len);

    if (!text || len == 0 || len > PDK_NONCE_MAX || strlen(text) != len)
        return pdk_fail(
                err, PDK_EINVAL, 0, "'nonce' is no text of 1 to %d bytes", PDK_NONCE_MAX);
    *out = strdup(text);
    return *out ? 0 : pdk_fail_nomem(err);
}

static int take_policy(
        const struct pdk_json *v, struct pdk_policy *out, struct pdk_err *err)
{
    const struct pdk_json *confine = pdk_json_get(v, "confine");

    return confine ? pdk_policy_from_json(confine, out, err) : 0;
}

static int take_limits(
        const struct pdk_json *v, struct pdk_exec_request *r, struct pdk_err *err)
{
    const struct pdk_json *limits = pdk_json_get(v, "limits");
    double cpus = pdk_json_get_real(limits, "cpus", 0);

    if (!limits)
        return 0;
    if (pdk_json_type(limits) != PDK_JSON_OBJECT || !(cpus >= 0 && cpus <= 1e6))
        return pdk_fail(err, PDK_EINVAL, 0, "'limits' is out of form");
    r->limits.cpus = cpus;
    r->limits_in_full = pdk_json_get_bool(limits, "require_full", false);
    if (take_amount(limits, "memory", &r->limits.memory, err) < 0)
        return err ? err->code : PDK_EINVAL;
    return take_amount(limits, "pids", &r->limits.pids, err);
}

static int fill_request(
        const struct pdk_json *v, struct pdk_exec_request *r, struct pdk_err *err)
{
    if (take_words(v, "argv", &r->argv, err) < 0 ||
            take_words(v, "env", &r->env, err) < 0 ||
            take_bytes(v, "cwd", &r->cwd, err) < 0 ||
            take_bytes(v, "log", &r->log, err) < 0 || take_nonce(v, &r->nonce, err) < 0 ||
            take_amount(v, "timeout_ms", &r->timeout_ms, err) < 0 ||
            take_amount(v, "output_cap", &r->output_cap, err) < 0 ||
            pdk_graces_from_json(v, &r->graces, err) < 0 ||
            take_policy(v, &r->policy, err) < 0 || take_limits(v, r, err) < 0)
        return err ? err->code : PDK_EINVAL;
    r->inherit_env = pdk_json_get_bool(v, "inherit_env", false);
    if (r->argv.len == 0)
        return pdk_fail(err, PDK_EINVAL, 0, "'argv' is empty");
    return 0;
}

int pdk_exec_request_from_json(
        const struct pdk_json *v, struct pdk_exec_request *out, struct pdk_err *err)
{
    struct pdk_exec_request r = { 0 };

    if (fill_request(v, &r, err) < 0) {
        pdk_exec_request_fini(&r);
        return err ? err->code : PDK_EINVAL;
    }
    *out = r;
    return 0;
}

/* ---- the result */

static const char *const start_names[] = { "started", "no_command", "no_cwd", "no_spawn",
    "no_confinement" };

static struct pdk_json *held_to_json(const struct pdk_held *held)
{
    struct pdk_json *v = pdk_json_object();

    (void)pdk_json_set_str(v, "memory", pdk_hold_name(held->memory));
    (void)pdk_json_set_str(v, "pids", pdk_hold_name(held->pids));
    (void)pdk_json_set_str(v, "cpus", pdk_hold_name(held->cpus));
    return v;
}

static struct pdk_json *confined_to_json(const struct pdk_confined *c)
{
    struct pdk_json *v = pdk_json_object();

    (void)pdk_json_set_str(v, "mode", pdk_mode_name(c->mode));
    (void)pdk_json_set_str(v, "dialect", pdk_dialect_name(c->dialect));
    (void)pdk_json_set_str(v, "enforcement", pdk_enforced_name(c->enforcement));
    (void)pdk_json_set_bool(v, "denied", c->denied);
    return v;
}

int pdk_exec_result_to_json(
        const struct pdk_exec_result *r, struct pdk_json **out, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *v = pdk_json_object();

    if (!v)
        return pdk_fail_nomem(err);
    (void)pdk_json_set_str(v, "nonce", r->nonce);
    (void)pdk_json_set_str(v, "start", start_names[r->start]);
    (void)pdk_json_set_int(v, "start_errno", r->start_errno);
    (void)pdk_json_set_int(v, "exit_code", r->exit_code);
    (void)pdk_json_set_int(v, "signal", r->signal);
    (void)pdk_json_set_bool(v, "timed_out", r->timed_out);
    (void)pdk_json_set_bool(v, "canceled", r->canceled);
    (void)pdk_json_set_bool(v, "oom", r->oom);
    (void)pdk_json_set_bool(v, "root_gone", r->root_gone);
    (void)pdk_json_set_int(v, "stragglers", r->stragglers);
    (void)pdk_json_set_int(v, "leaked", r->leaked);
    (void)pdk_json_set_int(v, "duration_ms", r->duration_ms);
    (void)pdk_json_set_int(v, "cpu_ms", r->cpu_ms);
    (void)pdk_json_set_int(v, "max_rss_kb", r->max_rss_kb);
    (void)pdk_json_set_int(v, "out_bytes", (int64_t)r->out_bytes);
    (void)pdk_json_set_int(v, "out_dropped", (int64_t)r->out_dropped);
    (void)pdk_json_set_int(v, "err_bytes", (int64_t)r->err_bytes);
    (void)pdk_json_set_int(v, "err_dropped", (int64_t)r->err_dropped);
    (void)pdk_json_set_bool(v, "spool_failed", r->spool_failed);
    if (r->confined.mode != PDK_CONFINE_NONE)
        (void)pdk_json_set(v, "confined", confined_to_json(&r->confined));
    if (r->held.memory || r->held.pids || r->held.cpus)
        (void)pdk_json_set(v, "held", held_to_json(&r->held));
    if (r->why[0])
        (void)pdk_json_set_bytes(v, "why", r->why, strlen(r->why));
    if (pdk_json_ok(v, err) < 0)
        return err ? err->code : PDK_ENOMEM;
    *out = pdk_take_ptr(&v);
    return 0;
}

static int take_start(
        const struct pdk_json *v, enum pdk_exec_start *out, struct pdk_err *err)
{
    const char *name = pdk_json_get_str(v, "start", "");

    for (size_t i = 0; i < sizeof(start_names) / sizeof(start_names[0]); i++)
        if (strcmp(start_names[i], name) == 0) {
            *out = (enum pdk_exec_start)i;
            return 0;
        }
    return pdk_fail(err, PDK_EPROTO, 0, "'start' is none of its values");
}

static int take_int(const struct pdk_json *v, const char *key, int64_t min, int64_t max,
        int64_t *out, struct pdk_err *err)
{
    if (pdk_json_type(pdk_json_get(v, key)) != PDK_JSON_INT)
        return pdk_fail(err, PDK_EPROTO, 0, "'%s' is no whole number", key);
    *out = pdk_json_get_int(v, key, 0);
    if (*out < min || *out > max)
        return pdk_fail(err, PDK_EPROTO, 0, "'%s' is out of range", key);
    return 0;
}

/* An exit is either a code or a signal, and both are in the range that the system knows. */
static int take_exit(
        const struct pdk_json *v, struct pdk_exec_result *r, struct pdk_err *err)
{
    int64_t code, signal;

    if (take_int(v, "exit_code", -1, 255, &code, err) < 0 ||
            take_int(v, "signal", 0, 64, &signal, err) < 0)
        return err ? err->code : PDK_EPROTO;
    if (r->start == PDK_EXEC_STARTED && (code < 0) != (signal > 0))
        return pdk_fail(err, PDK_EPROTO, 0, "neither an exit code nor a signal, or both");
    if (r->start != PDK_EXEC_STARTED && (code != -1 || signal != 0))
        return pdk_fail(err, PDK_EPROTO, 0, "an exit of what was never started");
    r->exit_code = (int)code;
    r->signal = (int)signal;
    return 0;
}

static int take_bool(
        const struct pdk_json *v, const char *key, bool *out, struct pdk_err *err)
{
    if (pdk_json_type(pdk_json_get(v, key)) != PDK_JSON_BOOL)
        return pdk_fail(err, PDK_EPROTO, 0, "'%s' is neither true nor false", key);
    *out = pdk_json_get_bool(v, key, false);
    return 0;
}

static int take_flags(
        const struct pdk_json *v, struct pdk_exec_result *r, struct pdk_err *err)
{
    if (take_bool(v, "timed_out", &r->timed_out, err) < 0 ||
            take_bool(v, "canceled", &r->canceled, err) < 0 ||
            take_bool(v, "oom", &r->oom, err) < 0 ||
            take_bool(v, "root_gone", &r->root_gone, err) < 0 ||
            take_bool(v, "spool_failed", &r->spool_failed, err) < 0)
        return err ? err->code : PDK_EPROTO;
    return 0;
}

static int take_count(
        const struct pdk_json *v, const char *key, int *out, struct pdk_err *err)
{
    int64_t value;

    if (take_int(v, key, 0, INT_MAX, &value, err) < 0)
        return err ? err->code : PDK_EPROTO;
    *out = (int)value;
    return 0;
}

static int take_size(
        const struct pdk_json *v, const char *key, uint64_t *out, struct pdk_err *err)
{
    int64_t value;

    if (take_int(v, key, 0, INT64_MAX, &value, err) < 0)
        return err ? err->code : PDK_EPROTO;
    *out = (uint64_t)value;
    return 0;
}

static int take_numbers(
        const struct pdk_json *v, struct pdk_exec_result *r, struct pdk_err *err)
{
    if (take_count(v, "start_errno", &r->start_errno, err) < 0 ||
            take_count(v, "stragglers", &r->stragglers, err) < 0 ||
            take_count(v, "leaked", &r->leaked, err) < 0 ||
            take_int(v, "duration_ms", 0, INT64_MAX, &r->duration_ms, err) < 0 ||
            take_int(v, "cpu_ms", 0, INT64_MAX, &r->cpu_ms, err) < 0 ||
            take_int(v, "max_rss_kb", 0, INT64_MAX, &r->max_rss_kb, err) < 0 ||
            take_size(v, "out_bytes", &r->out_bytes, err) < 0 ||
            take_size(v, "out_dropped", &r->out_dropped, err) < 0 ||
            take_size(v, "err_bytes", &r->err_bytes, err) < 0 ||
            take_size(v, "err_dropped", &r->err_dropped, err) < 0)
        return err ? err->code : PDK_EPROTO;
    return 0;
}

static int take_confined(
        const struct pdk_json *v, struct pdk_confined *out, struct pdk_err *err)
{
    const struct pdk_json *member = pdk_json_get(v, "confined");
    int dialect = pdk_dialect_find(pdk_json_get_str(member, "dialect", ""));
    int enforcement = pdk_enforced_find(pdk_json_get_str(member, "enforcement", ""));
    struct pdk_err wrong = PDK_ERR_INIT;

    if (!member)
        return 0;
    if (pdk_mode_find(pdk_json_get_str(member, "mode", ""), &out->mode, &wrong) < 0 ||
            dialect < 0 || enforcement < 0)
        return pdk_fail(err, PDK_EPROTO, 0, "'confined' is out of form");
    out->dialect = (enum pdk_dialect)dialect;
    out->enforcement = (enum pdk_enforced)enforcement;
    return take_bool(member, "denied", &out->denied, err);
}

static int take_hold(const struct pdk_json *v, const char *key, enum pdk_hold *out,
        struct pdk_err *err)
{
    int found = pdk_hold_find(pdk_json_get_str(v, key, ""));

    if (found < 0)
        return pdk_fail(err, PDK_EPROTO, 0, "'held' is out of form");
    *out = (enum pdk_hold)found;
    return 0;
}

static int take_held(const struct pdk_json *v, struct pdk_held *out, struct pdk_err *err)
{
    const struct pdk_json *held = pdk_json_get(v, "held");

    if (!held)
        return 0;
    if (take_hold(held, "memory", &out->memory, err) < 0 ||
            take_hold(held, "pids", &out->pids, err) < 0)
        return err ? err->code : PDK_EPROTO;
    return take_hold(held, "cpus", &out->cpus, err);
}

static int take_why(const struct pdk_json *v, char *out, size_t size, struct pdk_err *err)
{
    PDK_AUTO_FREE char *text = NULL;

    if (take_bytes(v, "why", &text, err) < 0)
        return pdk_fail(err, PDK_EPROTO, 0, "'why' is no text");
    (void)snprintf(out, size, "%s", text ? text : "");
    return 0;
}

int pdk_exec_result_from_json(
        const struct pdk_json *v, struct pdk_exec_result *out, struct pdk_err *err)
{
    struct pdk_exec_result r = { 0 };
    size_t len = 0;
    const char *nonce = pdk_json_text(pdk_json_get(v, "nonce"), &len);

    if (!nonce || len > PDK_NONCE_MAX || strlen(nonce) != len)
        return pdk_fail(
                err, PDK_EPROTO, 0, "'nonce' is no text of %d bytes", PDK_NONCE_MAX);
    memcpy(r.nonce, nonce, len + 1);
    if (take_start(v, &r.start, err) < 0 || take_exit(v, &r, err) < 0 ||
            take_flags(v, &r, err) < 0 || take_numbers(v, &r, err) < 0 ||
            take_confined(v, &r.confined, err) < 0 || take_held(v, &r.held, err) < 0 ||
            take_why(v, r.why, sizeof(r.why), err) < 0)
        return err ? err->code : PDK_EPROTO;
    *out = r;
    return 0;
}
