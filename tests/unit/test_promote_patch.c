/* Patches and branches, against git itself. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "promote/patch.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "trees/repo.h"
#include "trees/vault.h"

struct world {
    char *path, *vault_path;
    struct pdk_repo *repo;
    struct pdk_vault *vault;
    struct pdk_base base;
    struct pdk_oid tree;
};

static void world_open(struct world *w)
{
    struct pdk_err err = PDK_ERR_INIT;

    w->path = pdk_test_path("repo");
    w->vault_path = pdk_test_path("vault");
    pdk_test_repo_sample(w->path);
    ck_assert_msg(pdk_repo_open(w->path, &w->repo, &err) == 0, "%s", err.msg);
    ck_assert_msg(pdk_vault_open(w->vault_path, w->repo->objects, &w->vault, &err) == 0,
            "%s", err.msg);
    ck_assert_msg(pdk_repo_resolve(w->repo, "HEAD", &w->base, &err) == 0, "%s", err.msg);
    free(pdk_test_sh(w->path,
            "printf 'a\\0b' > bin; printf 'no newline' > README;"
            "rm src/main.c; ln -s README link; printf x > \"$(printf 'q\"\\n')\";"
            "printf '#!' > run; chmod +x run"));
    ck_assert_msg(pdk_repo_snapshot(w->repo, w->vault, &w->base, &w->tree, &err) == 0,
            "%s", err.msg);
}

static void world_close(struct world *w)
{
    pdk_vault_close(w->vault);
    pdk_repo_free(w->repo);
    free(w->path);
    free(w->vault_path);
}

START_TEST(git_apply_makes_the_same_tree_of_a_patch)
{
    struct world w = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_FREE char *patch = pdk_test_path("patch");

    world_open(&w);
    ck_assert_msg(pdk_promote_patch(w.vault, &w.base.tree, &w.tree, patch, &err) == 0,
            "%s", err.msg);
    free(pdk_test_git(w.path, "apply --cached %s", patch));
    PDK_AUTO_FREE char *tree = pdk_test_git(w.path, "write-tree");
    ck_assert_msg(strncmp(tree, w.tree.hex, 40) == 0, "%s is not %s", tree, w.tree.hex);
    world_close(&w);
}
END_TEST

START_TEST(a_branch_holds_the_tree_and_is_made_once)
{
    struct world w = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_oid made;

    world_open(&w);
    struct pdk_branch_spec spec = { .branch = "fix/one",
        .subject = "fix: it",
        .run = "r1",
        .candidate = 2,
        .parent = w.base.commit,
        .base_tree = w.base.tree,
        .tree = w.tree };
    free(pdk_test_git(w.path, "config user.name T"));
    free(pdk_test_git(w.path, "config user.email t@example.invalid"));
    ck_assert_msg(
            pdk_promote_branch(w.repo, w.vault, &spec, &made, &err) == 0, "%s", err.msg);
    PDK_AUTO_FREE char *tree = pdk_test_git(w.path, "rev-parse fix/one^{tree}");
    PDK_AUTO_FREE char *body = pdk_test_git(w.path, "log -1 --format=%%B fix/one");
    ck_assert_int_eq(strncmp(tree, w.tree.hex, 40), 0);
    ck_assert_int_eq(strncmp(body, "paddock: fix: it\n", 17), 0);
    ck_assert_ptr_nonnull(strstr(body, "Paddock-Run: r1\nPaddock-Candidate: 2\n"));
    free(pdk_test_git(w.path, "fsck --strict"));
    ck_assert_int_eq(
            pdk_promote_branch(w.repo, w.vault, &spec, NULL, &err), PDK_ECONFLICT);
    world_close(&w);
}
END_TEST

START_TEST(a_bad_name_makes_nothing_and_no_identity_is_needed)
{
    static const char *const bad[] = { "-x", "a..b", "HEAD", "a b", "", "x.lock", "a/" };
    struct world w = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    world_open(&w);
    struct pdk_branch_spec spec = { .subject = "fix",
        .run = "r1",
        .candidate = 2,
        .parent = w.base.commit,
        .base_tree = w.base.tree,
        .tree = w.tree };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        spec.branch = bad[i];
        ck_assert_int_eq(
                pdk_promote_branch(w.repo, w.vault, &spec, NULL, &err), PDK_EINVAL);
    }
    free(w.repo->user_name);
    w.repo->user_name = NULL;
    spec.branch = "good";
    ck_assert_msg(
            pdk_promote_branch(w.repo, w.vault, &spec, NULL, &err) == 0, "%s", err.msg);
    PDK_AUTO_FREE char *who = pdk_test_git(w.path, "log -1 --format=%%an/%%cn good");
    ck_assert_int_eq(strncmp(who, "Paddock/Paddock", 15), 0);
    world_close(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("promote_patch");
    TCase *tc = tcase_create("patch");
    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, git_apply_makes_the_same_tree_of_a_patch);
    tcase_add_test(tc, a_branch_holds_the_tree_and_is_made_once);
    tcase_add_test(tc, a_bad_name_makes_nothing_and_no_identity_is_needed);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
