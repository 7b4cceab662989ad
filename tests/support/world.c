#include <stdio.h>

#include "tests/support/world.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "trees/vault.h"

void pdk_test_ok(int rc, const struct pdk_err *err)
{
    ck_assert_msg(rc == 0, "%d: %s", rc, err->msg);
}

void pdk_test_world_open_on(struct pdk_test_world *world, const char *revision)
{
    struct pdk_err err = PDK_ERR_INIT;

    world->state = pdk_test_path("state");
    world->lock = pdk_test_path("state/registry.lock");
    world->vault_path = pdk_test_path("state/vault.git");
    pdk_test_mkdirs(world->state);
    pdk_test_ok(pdk_repo_open(world->user, &world->repo, &err), &err);
    pdk_test_ok(
            pdk_vault_open(world->vault_path, world->repo->objects, &world->vault, &err),
            &err);
    pdk_test_ok(pdk_repo_resolve(world->repo, revision, &world->base, &err), &err);
}

void pdk_test_world_open(struct pdk_test_world *world)
{
    memset(world, 0, sizeof(*world));
    world->user = pdk_test_path("user");
    pdk_test_repo_sample(world->user);
    pdk_test_repo_write(world->user, ".gitignore", "*.ignored\n");
    free(pdk_test_repo_commit(world->user, "second"));
    pdk_test_world_open_on(world, "HEAD");
}

void pdk_test_world_close(struct pdk_test_world *world)
{
    pdk_vault_close(world->vault);
    pdk_repo_free(world->repo);
    free(world->vault_path);
    free(world->lock);
    free(world->state);
    free(world->user);
    memset(world, 0, sizeof(*world));
}

struct pdk_sandbox_spec pdk_test_world_spec(
        const struct pdk_test_world *world, const char *id)
{
    struct pdk_sandbox_spec spec = {
        .id = id,
        .dir = pdk_test_path("state/sandboxes/%s", id),
        .lock = world->lock,
        .repo = world->repo,
        .vault = world->vault,
        .base = world->base,
        .tree = world->base.tree,
    };
    return spec;
}

void pdk_test_world_spec_fini(struct pdk_sandbox_spec *spec)
{
    free((void *)(uintptr_t)spec->dir);
    spec->dir = NULL;
}

bool pdk_test_world_can(const struct pdk_test_world *world, const struct pdk_backend *be)
{
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_backend_probe(be, world->state, NULL, &err) == 0)
        return true;
    (void)fprintf(stderr, "skipped: %s\n", err.msg);
    return false;
}

struct pdk_sandbox *pdk_test_world_make(
        const struct pdk_test_world *world, const struct pdk_backend *be, const char *id)
{
    struct pdk_sandbox_spec spec = pdk_test_world_spec(world, id);
    struct pdk_sandbox *sb = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_ok(pdk_sandbox_materialize(be, &spec, &sb, NULL, &err), &err);
    pdk_test_world_spec_fini(&spec);
    return sb;
}

void pdk_test_world_unmake(const struct pdk_test_world *world, struct pdk_sandbox *sb)
{
    struct pdk_err err = PDK_ERR_INIT;
    const struct pdk_sandbox_record *record = pdk_sandbox_get_record(sb);

    pdk_test_ok(pdk_sandbox_teardown(record, world->repo, world->lock, 0, &err), &err);
    pdk_test_ok(pdk_sandbox_clean(world->lock, 0, NULL, NULL, &err), &err);
    ck_assert(!pdk_test_exists(record->dir));
    pdk_sandbox_close(sb);
}

char *pdk_test_world_fingerprint(const struct pdk_test_world *world)
{
    return pdk_test_sh(world->user,
            "export GIT_OPTIONAL_LOCKS=0; find .git -path .git/objects -prune -o -print | sort;"
            " find .git -path .git/objects -prune -o -type f -print0 | sort -z"
            " | xargs -0 sha256sum; git for-each-ref; git stash list; git worktree list;"
            " git status --porcelain -uall");
}

void pdk_test_same(const char *before, const char *after)
{
    while (*before && *before == *after) {
        size_t same = strcspn(before, "\n");

        if (strncmp(before, after, same + 1) != 0)
            break;
        before += same + (before[same] ? 1 : 0);
        after += same + (after[same] ? 1 : 0);
    }
    ck_assert_msg(
            strcmp(before, after) == 0, "before '%.300s', after '%.300s'", before, after);
}
