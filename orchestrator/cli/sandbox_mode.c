/*
 * `paddock sandbox mode NAME [MODE]`: what a session of a sandbox may write, shown or changed; and
 * the same question for one call of `sandbox exec`.
 *
 * A session is a row that its events make: session.started pins the default, sandbox.mode,
 * sandbox.approval and sandbox.preset change it, and nothing else does. The session "main" is there
 * without a row, with full access, until somebody sets it: it is the person at the terminal.
 */
#include "orchestrator/cli/sandbox_mode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/path.h"
#include "orchestrator/cli/commands.h"
#include "process/env.h"
#include "sandbox/agent_path.h"
#include "sandbox/approve.h"
#include "sandbox/confinement.h"
#include "sandbox/policy.h"

/* What a session is that somebody names: for programs, so not the widest. */
static const enum pdk_confine session_default = PDK_CONFINE_WORKSPACE;

struct session {
    char *id; /* "<sandbox>/<name>" */
    const char *sandbox;
    bool named, stored;
    enum pdk_confine mode;
    enum pdk_approval approval;
    char *preset;
};

static void session_fini(struct session *s)
{
    free(s->id);
    free(s->preset);
}
#define AUTO_SESSION __attribute__((cleanup(session_fini)))

static int fill(struct session *s, struct pdk_session_row *row, struct pdk_err *err)
{
    if (pdk_mode_find(row->mode, &s->mode, err) < 0 ||
            pdk_approval_find(row->approval, &s->approval, err) < 0)
        return pdk_wrap(err, "session '%s'", s->id);
    s->preset = pdk_take_ptr(&row->preset);
    s->stored = true;
    return 0;
}

static int find(struct pdk_cli *cli, const struct pdk_args *args,
        const struct pdk_named *named, struct session *s, struct pdk_err *err)
{
    PDK_AUTO_SESSION_ROW struct pdk_session_row row = { 0 };
    const char *name = pdk_args_get(args, "session", NULL);
    struct pdk_err missing = PDK_ERR_INIT;
    int rc;

    if (name && !pdk_path_is_id(name))
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' is no name for a session", name);
    s->sandbox = named->row.id;
    s->named = name != NULL;
    s->mode = name ? session_default : PDK_CONFINE_NONE;
    s->id = pdk_strf("%s/%s", named->row.id, name ? name : "main");
    if (!s->id)
        return pdk_fail_nomem(err);
    rc = pdk_store_session(cli->store, s->id, &row, &missing);
    if (rc == 0)
        return fill(s, &row, err);
    if (rc == PDK_ENOTFOUND)
        return 0;
    *err = missing;
    return rc;
}

/* ---- events */

enum { BATCH = 4 };

struct batch {
    struct pdk_event events[BATCH];
    size_t len;
};

static struct pdk_json *add(
        struct batch *b, const struct session *s, enum pdk_event_type type)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "id", s->id);
    b->events[b->len++] = (struct pdk_event){ .type = type, .body = body };
    return body;
}

/* All of them, or none. */
static int append(struct pdk_cli *cli, struct batch *b, struct pdk_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < b->len; i++)
        rc = pdk_json_ok(b->events[i].body, err);
    if (rc == 0)
        rc = pdk_store_append(cli->store, b->events, b->len, NULL, err);
    for (size_t i = 0; i < b->len; i++)
        pdk_json_free(b->events[i].body);
    return rc;
}

static void add_start(struct batch *b, const struct session *s)
{
    struct pdk_json *body;

    if (s->stored)
        return;
    body = add(b, s, PDK_EVENT_SESSION_STARTED);
    (void)pdk_json_set_str(body, "sandbox", s->sandbox);
    (void)pdk_json_set_str(body, "mode", pdk_mode_name(s->mode));
    (void)pdk_json_set_str(body, "approval", pdk_approval_name(s->approval));
}

/* A session that is named begins with its first call, with what is the default then. */
static int begin(struct pdk_cli *cli, struct session *s, struct pdk_err *err)
{
    struct batch b = { .len = 0 };

    if (!s->named || s->stored)
        return 0;
    add_start(&b, s);
    s->stored = true;
    return append(cli, &b, err);
}

/* ---- one call */

static const char *words_of(const struct pdk_args *args, struct pdk_strv *out)
{
    for (size_t i = 0; i < args->rest_len; i++)
        pdk_strv_add(out, args->rest[i]);
    return getenv("PADDOCK_APPROVER"); /* the program never changes its environment */
}

static int ask(const struct pdk_args *args, const struct session *s,
        enum pdk_confine wanted, const char *why, enum pdk_decision *out,
        struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv argv = PDK_STRV_INIT, env = PDK_STRV_INIT;
    const char *approver = words_of(args, &argv);
    struct pdk_approval_request request = { .sandbox = s->sandbox,
        .session = s->id,
        .from = s->mode,
        .to = wanted,
        .justification = why,
        .argv = &argv,
        .approver = approver && *approver ? approver : NULL };

    pdk_env_base(&env);
    if (pdk_strv_ok(&argv, err) < 0 || pdk_strv_ok(&env, err) < 0)
        return PDK_ENOMEM;
    request.envp = (const char *const *)env.items;
    return pdk_approve(&request, out, err);
}

static int record_decision(struct pdk_cli *cli, const struct pdk_args *args,
        const struct session *s, enum pdk_confine wanted, const char *why,
        enum pdk_decision decision, struct pdk_err *err)
{
    struct batch b = { .len = 0 };
    struct pdk_json *asked, *argv = pdk_json_array();

    add_start(&b, s);
    asked = add(&b, s, PDK_EVENT_ESCALATION_ASKED);
    for (size_t i = 0; i < args->rest_len; i++)
        (void)pdk_json_append(argv, pdk_json_str(args->rest[i]));
    (void)pdk_json_set_str(asked, "from", pdk_mode_name(s->mode));
    (void)pdk_json_set_str(asked, "to", pdk_mode_name(wanted));
    (void)pdk_json_set_bytes(asked, "justification", why, strlen(why));
    (void)pdk_json_set(asked, "argv", argv);
    (void)pdk_json_set_str(add(&b, s, PDK_EVENT_ESCALATION_DECIDED), "decision",
            pdk_decision_name(decision));
    return append(cli, &b, err);
}

/* Asked, decided and on record before anything runs. */
static int escalate(struct pdk_cli *cli, const struct pdk_args *args,
        const struct session *s, bool *approved, enum pdk_confine *wanted,
        struct pdk_err *err)
{
    struct pdk_escalation asked = { pdk_args_get(args, "sandbox-permissions", NULL),
        pdk_args_get(args, "justification", NULL) };
    enum pdk_decision decision = PDK_REJECTED;
    enum pdk_ask plan = PDK_ASK_NOBODY;

    if (pdk_escalation_plan(&asked, s->mode, s->approval, wanted, &plan, err) < 0)
        return err->code;
    if (plan == PDK_ASK_NOBODY)
        return 0;
    if (plan == PDK_ASK_APPROVER &&
            ask(args, s, *wanted, asked.justification, &decision, err) < 0)
        return err->code;
    if (record_decision(cli, args, s, *wanted, asked.justification, decision, err) < 0)
        return err->code;
    *approved = decision == PDK_ALLOWED_ONCE;
    if (*approved)
        return 0;
    return pdk_fail(err,
            decision == PDK_DECISION_CANCELED ? PDK_ECANCELED : PDK_ECONFLICT, 0,
            "'%s' for one call: %s%s", pdk_mode_name(*wanted),
            pdk_decision_text(decision),
            plan == PDK_ASK_REFUSED ? " (this session's approval is 'never')" : "");
}

/* --mode narrows a call, no more. */
static int narrow(
        const struct pdk_args *args, enum pdk_confine *mode, struct pdk_err *err)
{
    const char *given = pdk_args_get(args, "mode", NULL);
    enum pdk_confine wanted;

    if (!given)
        return 0;
    if (pdk_mode_find(given, &wanted, err) < 0)
        return pdk_wrap(err, "--mode");
    if (pdk_mode_is_wider(wanted, *mode)) {
        (void)pdk_fail(err, PDK_ECONFLICT, 0,
                "--mode '%s' is wider than '%s', which holds", given,
                pdk_mode_name(*mode));
        return pdk_hint(
                err, "ask for it: --sandbox-permissions %s --justification TEXT", given);
    }
    *mode = wanted;
    return 0;
}

static int fill_rest(const struct pdk_cli *cli, const struct pdk_args *args,
        struct pdk_policy *out, struct pdk_err *err)
{
    const char *level = pdk_args_get(args, "require-enforcement", "any");

    if (strcmp(level, "full") != 0 && strcmp(level, "any") != 0)
        return pdk_fail(err, PDK_EINVAL, 0, "--require-enforcement is 'full' or 'any'");
    out->require_full = strcmp(level, "full") == 0;
    pdk_strv_add(&out->visible, cli->repo->common_dir);
    pdk_strv_add(&out->visible, cli->repo->git_dir);
    pdk_strv_add(&out->visible, cli->repo->objects);
    if (pdk_strv_ok(&out->visible, err) < 0)
        return err->code;
    return out->mode == PDK_CONFINE_NONE ? 0 : pdk_confinement_runner(&out->runner, err);
}

int pdk_call_policy(struct pdk_cli *cli, const struct pdk_args *args,
        const struct pdk_named *named, struct pdk_policy *out, struct pdk_err *err)
{
    AUTO_SESSION struct session s = { 0 };
    bool approved = false;
    enum pdk_confine wanted = PDK_CONFINE_NONE;
    struct pdk_mode_inputs in = { NULL, NULL, PDK_CONFINE_NONE };

    if (find(cli, args, named, &s, err) < 0 || begin(cli, &s, err) < 0 ||
            escalate(cli, args, &s, &approved, &wanted, err) < 0)
        return err->code;
    in.session = s.stored ? &s.mode : NULL;
    in.approved = approved ? &wanted : NULL;
    out->mode = pdk_mode_effective(&in);
    if (narrow(args, &out->mode, err) < 0)
        return err->code;
    return fill_rest(cli, args, out, err);
}

/* ---- terminals */

static int lock_terminal(struct pdk_cli *cli, const struct session *s,
        int (*lock)(const char *path, bool wait, int *out_fd, struct pdk_err *err),
        int *fd, struct pdk_err *err)
{
    PDK_AUTO_FREE char *name = pdk_strf("terminal.%s", s->id);
    PDK_AUTO_FREE char *path = NULL;

    if (!name)
        return pdk_fail_nomem(err);
    *strchr(name, '/') = '@'; /* the one in the id */
    path = pdk_path_join(cli->paths.locks, name);
    return path ? lock(path, false, fd, err) : pdk_fail_nomem(err);
}

int pdk_session_hold_terminal(struct pdk_cli *cli, const struct pdk_args *args,
        const struct pdk_named *named, int *fd, struct pdk_err *err)
{
    AUTO_SESSION struct session s = { 0 };

    if (find(cli, args, named, &s, err) < 0)
        return err->code;
    return lock_terminal(cli, &s, pdk_fs_lock_shared, fd, err);
}

/* ---- the command */

static int wanted_state(const struct pdk_args *args, struct session *s,
        const struct pdk_preset **preset, struct pdk_err *err)
{
    const char *name = pdk_args_get(args, "preset", NULL),
               *approval = pdk_args_get(args, "approval", NULL);

    if (name && (approval || args->words_len > 1))
        return pdk_fail(err, PDK_EINVAL, 0, "a preset sets mode and approval itself");
    if (name && pdk_preset_find(name, preset, err) < 0)
        return err->code;
    if (*preset) {
        s->mode = (*preset)->mode;
        s->approval = (*preset)->approval;
    }
    if (args->words_len > 1 && pdk_mode_find(args->words[1], &s->mode, err) < 0)
        return err->code;
    return approval ? pdk_approval_find(approval, &s->approval, err) : 0;
}

/* A mode that cannot be enforced here is not set: every call would be refused. */
static int can_be_had(
        const struct pdk_cli *cli, enum pdk_confine mode, struct pdk_err *err)
{
    struct pdk_policy policy = { .mode = mode };
    PDK_AUTO_MEANS struct pdk_means means = { 0 };
    PDK_AUTO_FREE char *agent = NULL;
    enum pdk_dialect dialect;
    int rc = mode == PDK_CONFINE_NONE ? 0 : pdk_confinement_runner(&policy.runner, err);

    if (rc == 0 && mode != PDK_CONFINE_NONE)
        rc = pdk_agent_path(&agent, err);
    if (rc == 0 && mode != PDK_CONFINE_NONE)
        rc = pdk_confinement_probe(agent, cli->paths.sandboxes, &means, err);
    if (rc == 0)
        rc = pdk_confine_choose(&policy, &means, &dialect, err);
    pdk_policy_fini(&policy);
    return rc;
}

static int record_change(struct pdk_cli *cli, const struct session *old,
        const struct session *now, const struct pdk_preset *preset, struct pdk_err *err)
{
    struct batch b = { .len = 0 };

    add_start(&b, old);
    if (preset || now->mode != old->mode)
        (void)pdk_json_set_str(
                add(&b, now, PDK_EVENT_SANDBOX_MODE), "mode", pdk_mode_name(now->mode));
    if (preset || now->approval != old->approval)
        (void)pdk_json_set_str(add(&b, now, PDK_EVENT_SANDBOX_APPROVAL), "approval",
                pdk_approval_name(now->approval));
    if (preset)
        (void)pdk_json_set_str(
                add(&b, now, PDK_EVENT_SANDBOX_PRESET), "preset", preset->name);
    return append(cli, &b, err);
}

static int change(struct pdk_cli *cli, const struct pdk_args *args, struct session *s,
        struct pdk_err *err)
{
    const struct pdk_preset *preset = NULL;
    struct session old = *s;
    PDK_AUTO_FD int lock = -1;
    int rc;

    if (wanted_state(args, s, &preset, err) < 0 || can_be_had(cli, s->mode, err) < 0)
        return err->code;
    rc = lock_terminal(cli, s, pdk_fs_lock, &lock, err);
    if (rc == PDK_ECONFLICT) {
        (void)pdk_fail(err, PDK_ECONFLICT, 0, "a terminal of '%s' is open", s->id);
        return pdk_hint(err, "close it; its mode stays as long as it lives");
    }
    if (rc < 0)
        return rc;
    if (record_change(cli, &old, s, preset, err) < 0)
        return err->code;
    free(s->preset);
    s->preset = preset ? strdup(preset->name) : NULL;
    return 0;
}

static int show(const struct pdk_cli *cli, const struct session *s)
{
    struct pdk_json *doc;

    if (!cli->json) {
        printf("%s  mode %s  approval %s%s%s\n", s->id, pdk_mode_name(s->mode),
                pdk_approval_name(s->approval), s->preset ? "  preset " : "",
                s->preset ? s->preset : "");
        return 0;
    }
    doc = pdk_json_object();
    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_set_str(doc, "session", s->id);
    (void)pdk_json_set_str(doc, "sandbox", s->sandbox);
    (void)pdk_json_set_str(doc, "mode", pdk_mode_name(s->mode));
    (void)pdk_json_set_str(doc, "approval", pdk_approval_name(s->approval));
    (void)pdk_json_set_str(doc, "preset", s->preset);
    return pdk_cli_print(cli, doc);
}

int pdk_command_sandbox_mode(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_NAMED struct pdk_named named = { 0 };
    AUTO_SESSION struct session s = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    bool changes = args->words_len > 1 || pdk_args_has(args, "preset") ||
            pdk_args_has(args, "approval");
    int rc = pdk_named_find(cli, args->words[0], &named, &err);

    if (rc == 0)
        rc = find(cli, args, &named, &s, &err);
    if (rc == 0 && changes)
        rc = change(cli, args, &s, &err);
    return rc < 0 ? pdk_cli_fail(cli, &err) : show(cli, &s);
}
