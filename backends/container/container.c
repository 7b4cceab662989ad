/*
 * The container backend: files as the directory backend keeps them, on this host; commands in a
 * container that has the working copy mounted at the same path. tier.c starts the agent there.
 */
#include "backends/container/container.h"

#include <string.h>

#include "backends/container/engine.h"
#include "backends/gitdir.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/id.h"

/* The directory is unique on this host, and the id within the repository. */
char *pdk_container_name(const struct pdk_sandbox_record *record)
{
    char digest[65];

    pdk_digest_hex(record->dir, strlen(record->dir), digest);
    return pdk_strf("paddock-%.12s-%s", digest, record->id);
}

static int container_materialize(struct pdk_sandbox *sb,
        const struct pdk_sandbox_spec *spec, struct pdk_strv *warnings,
        struct pdk_err *err)
{
    if (pdk_gitdir_materialize(sb, spec, warnings, err) < 0)
        return err->code;
    return pdk_tier_give(spec->tier, sb->root, err);
}

/*
 * Whatever the working copy has come to: the record alone leads to the container. Its first process has
 * ended its own by now, as a rule.
 */
static int container_teardown(const struct pdk_sandbox_record *record,
        const struct pdk_repo *repo, const char *lock, unsigned int flags,
        struct pdk_err *err)
{
    const struct pdk_engine *engine = NULL;
    PDK_AUTO_FREE char *name = pdk_container_name(record);

    (void)repo;
    (void)lock;
    (void)flags;
    if (!name)
        return pdk_fail_nomem(err);
    if (!record->engine) /* nothing was ever started */
        return 0;
    if (pdk_engine_find(record->engine, &engine, err) < 0 ||
            pdk_engine_remove(engine, name, record->engine_deadline_ms, err) < 0)
        return pdk_wrap(err, "container '%s' is left behind", name);
    return 0;
}

const struct pdk_backend pdk_container_backend = {
    .name = "container",
    .claim = "directory copy; commands in a container",
    .in_container = true,
    .materialize = container_materialize,
    .teardown = container_teardown,
    .count_commits = pdk_gitdir_count_commits,
    .find_head = pdk_gitdir_find_head,
};
