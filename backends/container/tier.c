/* The execution tier of containers: which engine, which image, and what starts the agent in one. */
#include "backends/tier.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/container/container.h"
#include "backends/container/engine.h"
#include "base/error.h"
#include "base/json.h"
#include "plan/plan.h"
#include "process/env.h"

enum { NFTW_DESCRIPTORS = 32 };

struct pdk_tier {
    const struct pdk_engine *engine;
    const struct pdk_plan_container *plan;
    struct pdk_engine_facts facts;
    char *owner;
    uid_t uid; /* as whom commands run */
    gid_t gid;
};

void pdk_tier_free(struct pdk_tier *tier)
{
    if (!tier)
        return;
    pdk_engine_facts_fini(&tier->facts);
    free(tier->owner);
    free(tier);
}

/* ---- choosing */

/* The first that answers; why none does is told by the last. */
static int choose_any(struct pdk_tier *tier, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf reasons = PDK_BUF_INIT;

    for (size_t i = 0; i < pdk_engine_count(); i++) {
        struct pdk_err why = PDK_ERR_INIT;

        if (pdk_engine_probe(pdk_engine_at(i), &tier->facts, &why) == 0) {
            tier->engine = pdk_engine_at(i);
            return 0;
        }
        pdk_buf_addf(&reasons, "%s%s", i > 0 ? "; " : "", why.msg);
    }
    (void)pdk_fail(err, PDK_EUNAVAIL, 0, "no container engine works here: %s",
            pdk_buf_str(&reasons));
    return pdk_hint(err, "install and start docker or podman");
}

static int choose_engine(struct pdk_tier *tier, struct pdk_err *err)
{
    const char *name = tier->plan->engine ? tier->plan->engine : getenv("PADDOCK_ENGINE");

    if (!name || !*name) {
        (void)pdk_fail(err, PDK_EUNAVAIL, 0, "no container engine is named");
        return pdk_hint(err,
                "set sandbox.container.engine or PADDOCK_ENGINE: docker, podman, or auto");
    }
    if (strcmp(name, "auto") == 0)
        return choose_any(tier, err);
    if (pdk_engine_find(name, &tier->engine, err) < 0)
        return err->code;
    return pdk_engine_probe(tier->engine, &tier->facts, err);
}

static int need_image(struct pdk_tier *tier, struct pdk_err *err)
{
    const struct pdk_plan_container *plan = tier->plan;

    if (!plan->image) {
        (void)pdk_fail(err, PDK_EUNAVAIL, 0, "no image is named");
        return pdk_hint(err, "set sandbox.container.image");
    }
    return pdk_engine_image(
            tier->engine, plan->image, plan->pull, &tier->facts.image, err);
}

/* A number at the start of text; NULL where there is none, else what follows it. */
static const char *parse_id(const char *text, id_t *out)
{
    char *end = NULL;
    unsigned long value;

    if (*text < '0' || *text > '9')
        return NULL;
    errno = 0;
    value = strtoul(text, &end, 10);
    *out = (id_t)value;
    return errno == 0 && value < UINT32_MAX ? end : NULL;
}

static bool parse_user(const char *text, uid_t *uid, gid_t *gid)
{
    id_t user = 0, group = 0;
    const char *rest = parse_id(text, &user);

    group = user;
    if (rest && *rest == ':')
        rest = parse_id(rest + 1, &group);
    *uid = user;
    *gid = group;
    return rest && !*rest;
}

/* Without capabilities nobody inside writes what is not its own, so only root may choose somebody else. */
static int choose_user(struct pdk_tier *tier, struct pdk_err *err)
{
    const char *user = tier->plan->user;

    tier->uid = geteuid();
    tier->gid = getegid();
    if (!user)
        return 0;
    if (!parse_user(user, &tier->uid, &tier->gid)) {
        (void)pdk_fail(
                err, PDK_EINVAL, 0, "container.user '%s' is no uid or uid:gid", user);
        return pdk_hint(err, "names are the image's own; give the numbers");
    }
    if (geteuid() != 0 && tier->uid != geteuid())
        return pdk_fail(err, PDK_EUNAVAIL, 0,
                "container.user %s: only root may run commands as somebody else", user);
    return 0;
}

int pdk_tier_open(const struct pdk_backend *be, const struct pdk_plan_sandbox *plan,
        const char *owner, struct pdk_tier **out, struct pdk_err *err)
{
    PDK_AUTO_TIER struct pdk_tier *tier = NULL;

    if (!be->in_container) {
        *out = NULL;
        return 0;
    }
    if (plan->confine != PDK_CONFINE_NONE)
        return pdk_fail(
                err, PDK_EUNSUPPORTED, 0, "'confine' inside containers is not built yet");
    tier = calloc(1, sizeof(*tier));
    if (!tier)
        return pdk_fail_nomem(err);
    tier->plan = &plan->container;
    tier->owner = strdup(owner);
    if (!tier->owner)
        return pdk_fail_nomem(err);
    if (choose_user(tier, err) < 0 || choose_engine(tier, err) < 0 ||
            need_image(tier, err) < 0)
        return pdk_wrap(err, "backend '%s'", be->name);
    *out = pdk_take_ptr(&tier);
    return 0;
}

const char *pdk_tier_engine(const struct pdk_tier *tier)
{
    return tier ? tier->engine->name : NULL;
}

int64_t pdk_tier_ready_ms(const struct pdk_tier *tier)
{
    return tier ? tier->plan->create_timeout_ms + tier->plan->start_timeout_ms : 0;
}

int64_t pdk_tier_delete_ms(const struct pdk_tier *tier)
{
    return tier ? tier->plan->delete_timeout_ms : 0;
}

static const char *network(const struct pdk_tier *tier)
{
    return tier->plan->network ? tier->plan->network : "none";
}

static void set_facts(struct pdk_json *out, const struct pdk_engine *engine,
        const struct pdk_engine_facts *facts)
{
    (void)pdk_json_set_str(out, "version", facts->version);
    (void)pdk_json_set_str(out, "runtime", facts->runtime);
    (void)pdk_json_set_str(out, "kernel", facts->kernel);
    (void)pdk_json_set_str(out, "claim", engine->claim);
}

void pdk_tier_describe(const struct pdk_tier *tier, const struct pdk_backend *be,
        struct pdk_json *execution)
{
    if (!tier) {
        (void)pdk_json_set_str(execution, "where", "local");
        (void)pdk_json_set_str(execution, "claim", be->claim);
        return;
    }
    (void)pdk_json_set_str(execution, "where", "container");
    (void)pdk_json_set_str(execution, "engine", tier->engine->name);
    (void)pdk_json_set_str(execution, "image", tier->plan->image);
    (void)pdk_json_set_str(execution, "image_id", tier->facts.image);
    (void)pdk_json_set_str(execution, "network", network(tier));
    set_facts(execution, tier->engine, &tier->facts);
}

/* ---- starting */

static __thread struct {
    uid_t uid;
    gid_t gid;
} give_to; /* nftw() hands nothing on to its visitor */

static int give_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return lchown(path, give_to.uid, give_to.gid) == 0 || errno == ENOENT ? 0 : -1;
}

int pdk_tier_give(const struct pdk_tier *tier, const char *path, struct pdk_err *err)
{
    if (!tier || tier->uid == geteuid())
        return 0;
    give_to.uid = tier->uid;
    give_to.gid = tier->gid;
    if (nftw(path, give_one, NFTW_DESCRIPTORS, FTW_PHYS) != 0)
        return pdk_fail(err, pdk_code_of_errno(errno), errno,
                "cannot give '%s' to the container's user", path);
    return 0;
}

static int agent_here(const struct pdk_sandbox *sb, const struct pdk_agent_start *start,
        struct pdk_strv *argv, struct pdk_strv *env, struct pdk_err *err)
{
    const char *space = pdk_sandbox_namespace(sb);

    pdk_env_base(env);
    pdk_strv_add(argv, start->agent);
    pdk_strv_add(argv, "--root");
    pdk_strv_add(argv, sb->root);
    if (start->spool) {
        pdk_strv_add(argv, "--spool");
        pdk_strv_add(argv, start->spool);
    }
    if (space) {
        pdk_strv_add(argv, "--namespace");
        pdk_strv_add(argv, space);
    }
    return pdk_strv_ok(argv, err) < 0 ? err->code : pdk_strv_ok(env, err);
}

/*
 * Only what it needs is there: its copy, the objects that the copy's git stands on, the agent, and where
 * output goes. Nothing of the engine, nothing of the user's repository beside the objects.
 */
static int agent_inside(const struct pdk_tier *tier, const struct pdk_sandbox *sb,
        const struct pdk_agent_start *start, struct pdk_strv *argv, struct pdk_err *err)
{
    PDK_AUTO_FREE char *name = pdk_container_name(&sb->record);
    PDK_AUTO_FREE char *user =
            pdk_strf("%u:%u", (unsigned int)tier->uid, (unsigned int)tier->gid);
    const char *const command[] = { start->agent, "--root", sb->root, "--spool",
        start->spool, NULL };
    const struct pdk_bind binds[] = { { sb->root, false }, { sb->repo->objects, true },
        { start->agent, true }, { start->spool, false } };
    const struct pdk_container container = {
        .name = name,
        .owner = tier->owner,
        .run = start->run,
        .image = tier->facts.image,
        .network = network(tier),
        .user = user,
        .cpus = tier->plan->cpus,
        .memory = tier->plan->memory,
        .pids = tier->plan->pids,
        .binds = binds,
        .binds_len = sizeof(binds) / sizeof(*binds),
        .command = command,
    };

    if (!name || !user)
        return pdk_fail_nomem(err);
    if (pdk_tier_give(tier, start->spool, err) < 0)
        return err->code;
    pdk_engine_run_argv(tier->engine, &container, argv);
    return pdk_strv_ok(argv, err);
}

int pdk_tier_agent(const struct pdk_tier *tier, const struct pdk_sandbox *sb,
        const struct pdk_agent_start *start, struct pdk_strv *argv, struct pdk_strv *env,
        struct pdk_err *err)
{
    if (!tier)
        return agent_here(sb, start, argv, env, err);
    pdk_engine_env(env);
    if (pdk_strv_ok(env, err) < 0)
        return err->code;
    return agent_inside(tier, sb, start, argv, err);
}

/* ---- what was left */

struct sweep {
    const struct pdk_engine *engine;
    bool (*is_live)(const char *run, void *user);
    void *user;
    bool dry_run;
    int removed;
    struct pdk_err failure; /* the last one */
};

static void sweep_one(const char *name, const char *run, void *user)
{
    struct sweep *s = user;

    if (*run && s->is_live(run, s->user))
        return;
    if (s->dry_run || pdk_engine_remove(s->engine, name, 0, &s->failure) == 0)
        s->removed++;
}

int pdk_tier_sweep(const char *owner, bool (*is_live)(const char *run, void *user),
        void *user, bool dry_run, int *removed, struct pdk_err *err)
{
    struct sweep s = { NULL, is_live, user, dry_run, 0, PDK_ERR_INIT };

    for (size_t i = 0; i < pdk_engine_count(); i++) {
        struct pdk_err absent = PDK_ERR_INIT;

        s.engine = pdk_engine_at(i);
        (void)pdk_engine_list(s.engine, owner, sweep_one, &s, &absent);
    }
    *removed += s.removed;
    if (s.failure.code == 0)
        return 0;
    *err = s.failure;
    return err->code;
}

size_t pdk_tier_engines(void)
{
    return pdk_engine_count();
}

int pdk_tier_probe(
        size_t i, const char **name, struct pdk_json **out, struct pdk_err *err)
{
    const struct pdk_engine *engine = pdk_engine_at(i);
    struct pdk_engine_facts facts = { 0 };

    *name = engine->name;
    if (pdk_engine_probe(engine, &facts, err) < 0)
        return err->code;
    *out = pdk_json_object();
    (void)pdk_json_set_str(*out, "name", engine->name);
    set_facts(*out, engine, &facts);
    pdk_engine_facts_fini(&facts);
    return pdk_json_ok(*out, err);
}
