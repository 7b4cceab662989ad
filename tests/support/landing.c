#include "tests/support/landing.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "trees/repo.h"
#include "trees/vault.h"

static void take_oid(char *text, struct pdk_oid *out)
{
    ck_assert_msg(pdk_oid_parse(text, out), "'%s' is no object", text);
    free(text);
}

void pdk_test_landing_open(
        struct pdk_test_landing *t, const char *before, const char *change)
{
    struct pdk_err err = PDK_ERR_INIT;

    t->path = pdk_test_path("repo");
    t->other = pdk_test_path("other");
    t->vault_path = pdk_test_path("vault");
    pdk_test_mkdirs(t->path);
    free(pdk_test_sh(t->path,
            "git init -q . && { %s\n} && git add -A && git commit -q --allow-empty -m base",
            before));
    ck_assert_msg(pdk_repo_open(t->path, &t->repo, &err) == 0, "%s", err.msg);
    ck_assert_msg(pdk_vault_open(t->vault_path, t->repo->objects, &t->vault, &err) == 0,
            "%s", err.msg);
    take_oid(pdk_test_sh(t->path, "git rev-parse HEAD^{tree}"), &t->from);
    free(pdk_test_sh(t->path, "cp -a . '%s'", t->other));
    take_oid(
            pdk_test_sh(t->other,
                    "{ %s\n} >&2 && export GIT_OBJECT_DIRECTORY='%s/objects' "
                    "GIT_ALTERNATE_OBJECT_DIRECTORIES='%s' && git add -A && git write-tree",
                    change, t->vault_path, t->repo->objects),
            &t->to);
}

void pdk_test_landing_close(struct pdk_test_landing *t)
{
    pdk_vault_close(t->vault);
    pdk_repo_free(t->repo);
    pdk_test_remove(t->path);
    pdk_test_remove(t->other);
    pdk_test_remove(t->vault_path);
    free(t->path);
    free(t->other);
    free(t->vault_path);
    memset(t, 0, sizeof(*t));
}

int pdk_test_landing_do(struct pdk_test_landing *t, bool dry_run,
        struct pdk_land_result *out, struct pdk_err *err)
{
    struct pdk_land_spec spec = { .repo = t->repo,
        .vault = t->vault,
        .from = t->from,
        .to = t->to,
        .dry_run = dry_run };

    return pdk_land_worktree(&spec, out, err);
}

char *pdk_test_landing_tree(const struct pdk_test_landing *t)
{
    return pdk_test_sh(t->path,
            "export GIT_INDEX_FILE='%s/index'; cp .git/index \"$GIT_INDEX_FILE\"; git add -A && "
            "git write-tree && rm -f \"$GIT_INDEX_FILE\"",
            t->vault_path);
}

char *pdk_test_landing_state(const struct pdk_test_landing *t)
{
    return pdk_test_sh(t->path,
            "find . -path ./.git -prune -o -printf '%%p %%y %%m %%l\\n' | LC_ALL=C sort;"
            "find . -path ./.git -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0r sha1sum;"
            "sha1sum .git/index .git/HEAD; git for-each-ref; git stash list");
}
