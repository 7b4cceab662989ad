/* What the vault keeps lasts, whatever becomes of the user's repository. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "trees/diff.h"
#include "trees/repo.h"
#include "trees/vault.h"

struct world {
    char *path, *vault_path;
    struct pdk_repo *repo;
    struct pdk_vault *vault;
    struct pdk_oid base, tree;
};

static void open_vault(struct world *w)
{
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_vault_open(w->vault_path, w->repo->objects, &w->vault, &err) == 0,
            "%s", err.msg);
}

static void take(const struct world *w, struct pdk_oid *out)
{
    PDK_AUTO_FREE char *tree = pdk_test_git(w->path, "rev-parse HEAD^{tree}");

    ck_assert(pdk_oid_parse(tree, out));
}

/* Base and tree are two commits of one branch; the user has no other. */
static void world_open(struct world *w)
{
    struct pdk_err err = PDK_ERR_INIT;

    *w = (struct world){ .path = pdk_test_path("repo"),
        .vault_path = pdk_test_path("vault") };
    pdk_test_repo_sample(w->path);
    free(pdk_test_sh(w->path,
            "printf t > run; printf g > gone; mkdir deep; printf a > deep/a; "
            "seq 1000 > long"));
    free(pdk_test_repo_commit(w->path, "base"));
    take(w, &w->base);
    free(pdk_test_sh(w->path,
            "chmod +x run; rm gone; printf b > deep/a; printf n > deep/new; "
            "seq 2 1000 > long; rm README; ln -s x README"));
    free(pdk_test_repo_commit(w->path, "tree"));
    take(w, &w->tree);
    ck_assert_int_eq(pdk_repo_open(w->path, &w->repo, &err), 0);
    open_vault(w);
}

static void world_close(struct world *w)
{
    pdk_vault_close(w->vault);
    pdk_repo_free(w->repo);
    free(w->path);
    free(w->vault_path);
}

/* History is written anew and everything unreachable goes. */
static void lose_history(const struct world *w)
{
    free(pdk_test_git(w->path,
            "checkout -q --orphan other && git rm -rfq . && "
            "git commit -q --allow-empty -m other && git branch -D main && "
            "git reflog expire --expire=now --all && git gc -q --prune=now"));
}

static void check_all_there(struct world *w)
{
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_DIFF struct pdk_diff diff = { 0 };
    PDK_AUTO_BUF struct pdk_buf patch = PDK_BUF_INIT;

    ck_assert_msg(pdk_diff_trees(
                          w->vault, &w->base, &w->tree, PDK_DIFF_LINES, &diff, &err) == 0,
            "%s", err.msg);
    ck_assert_uint_eq(diff.len, 6);
    for (size_t i = 0; i < diff.len; i++) {
        PDK_AUTO_BUF struct pdk_buf blob = PDK_BUF_INIT;
        const struct pdk_change *c = &diff.changes[i];

        if (c->old_mode)
            ck_assert_msg(
                    pdk_vault_read_blob(w->vault, &c->old_oid, 1 << 20, &blob, &err) == 0,
                    "%s", err.msg);
        if (c->new_mode)
            ck_assert_msg(
                    pdk_vault_read_blob(w->vault, &c->new_oid, 1 << 20, &blob, &err) == 0,
                    "%s", err.msg);
    }
    ck_assert_msg(pdk_diff_patch(w->vault, &w->base, &w->tree, &patch, &err) == 0, "%s",
            err.msg);
    ck_assert_ptr_nonnull(strstr(pdk_buf_str(&patch), "deep/new"));
}

START_TEST(what_is_kept_outlives_the_history)
{
    struct world w;
    struct pdk_err err = PDK_ERR_INIT;

    world_open(&w);
    ck_assert_msg(pdk_vault_keep(w.vault, "run/a-1", &w.base, &w.tree, &err) == 0, "%s",
            err.msg);
    pdk_vault_close(w.vault);
    lose_history(&w);
    free(pdk_test_sh(w.path, "! git cat-file -e %s", w.base.hex));
    open_vault(&w);
    check_all_there(&w);
    world_close(&w);
}
END_TEST

START_TEST(even_the_repository)
{
    struct world w;
    struct pdk_err err = PDK_ERR_INIT;

    world_open(&w);
    ck_assert_int_eq(pdk_vault_keep(w.vault, "a", &w.base, &w.tree, &err), 0);
    ck_assert_int_eq(pdk_vault_keep(w.vault, "a", &w.base, &w.tree, &err), 0);
    pdk_vault_close(w.vault);
    pdk_test_remove(w.path);
    open_vault(&w);
    check_all_there(&w);
    world_close(&w);
}
END_TEST

START_TEST(what_is_forgotten_has_no_refs)
{
    struct world w;
    struct pdk_err err = PDK_ERR_INIT;

    world_open(&w);
    ck_assert_int_eq(pdk_vault_keep(w.vault, "run/a-1", &w.base, &w.tree, &err), 0);
    PDK_AUTO_FREE char *kept =
            pdk_test_git(w.vault_path, "for-each-ref --format='%%(refname)'");
    ck_assert_str_eq(kept, "refs/paddock/run/a-1\nrefs/paddock/run/a-1.base");
    ck_assert_int_eq(pdk_vault_forget(w.vault, "run/a-1", &err), 0);
    ck_assert_int_eq(pdk_vault_forget(w.vault, "run/a-1", &err), 0);
    PDK_AUTO_FREE char *refs = pdk_test_git(w.vault_path, "for-each-ref");
    ck_assert_str_eq(refs, "");
    world_close(&w);
}
END_TEST

START_TEST(the_empty_tree_as_a_base)
{
    struct world w;
    struct pdk_err err = PDK_ERR_INIT;

    world_open(&w);
    (void)pdk_oid_parse(PDK_EMPTY_TREE, &w.base);
    ck_assert_msg(
            pdk_vault_keep(w.vault, "a", &w.base, &w.tree, &err) == 0, "%s", err.msg);
    pdk_vault_close(w.vault);
    pdk_test_remove(w.path);
    free(pdk_test_sh(w.vault_path,
            "git ls-tree -r refs/paddock/a | while read m t o p; do "
            "git cat-file -e $o || exit 1; done"));
    open_vault(&w);
    world_close(&w);
}
END_TEST

START_TEST(a_missing_object_is_named)
{
    struct world w;
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_oid none = { "0123456789012345678901234567890123456789" }, tree;
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;

    world_open(&w);
    ck_assert_int_eq(pdk_vault_read_blob(w.vault, &none, 100, &out, &err), PDK_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.msg, none.hex));
    ck_assert_int_eq(pdk_vault_peel(w.vault, &none, &tree, &err), PDK_ENOTFOUND);
    ck_assert_int_eq(pdk_vault_keep(w.vault, "a", &w.base, &none, &err), PDK_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.msg, none.hex));
    none.hex[3] = 'x';
    ck_assert_int_eq(pdk_vault_read_blob(w.vault, &none, 100, &out, &err), PDK_EINVAL);
    world_close(&w);
}
END_TEST

START_TEST(blobs_go_in_and_out)
{
    struct world w;
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_oid oid;
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;

    world_open(&w);
    ck_assert_int_eq(pdk_vault_write_blob(w.vault, "a\0b", 3, &oid, &err), 0);
    ck_assert_int_eq(pdk_vault_read_blob(w.vault, &oid, 2, &out, &err), PDK_EINVAL);
    ck_assert_int_eq(pdk_vault_read_blob(w.vault, &oid, 3, &out, &err), 0);
    ck_assert_uint_eq(out.len, 3);
    ck_assert_mem_eq(out.data, "a\0b", 3);
    world_close(&w);
}
END_TEST

START_TEST(commits_and_tags_lead_to_trees)
{
    struct world w;
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_oid any, tree;

    world_open(&w);
    free(pdk_test_git(w.path, "tag -a -m t v1"));
    PDK_AUTO_FREE char *tag = pdk_test_git(w.path, "rev-parse v1");
    ck_assert(pdk_oid_parse(tag, &any));
    ck_assert_int_eq(pdk_vault_peel(w.vault, &any, &tree, &err), 0);
    ck_assert_str_eq(tree.hex, w.tree.hex);
    ck_assert_int_eq(pdk_vault_peel(w.vault, &w.base, &tree, &err), 0);
    ck_assert_str_eq(tree.hex, w.base.hex);
    PDK_AUTO_FREE char *blob = pdk_test_git(w.path, "rev-parse v1:long");
    ck_assert(pdk_oid_parse(blob, &any));
    ck_assert_int_lt(pdk_vault_peel(w.vault, &any, &tree, &err), 0);
    world_close(&w);
}
END_TEST

START_TEST(an_export_and_its_seal_stand_on_the_base)
{
    struct world w;
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_oid none = { "" }, commit;
    PDK_AUTO_FREE char *other = pdk_test_path("other");
    PDK_AUTO_FREE char *objects = pdk_test_path("other/.git/objects");

    world_open(&w);
    /* a clone that has the base alone */
    free(pdk_test_git(w.path,
            "branch old HEAD~1; git clone -q --no-local --single-branch "
            "-b old . '%s'",
            other));
    free(pdk_test_sh(other, "! git cat-file -e %s 2>/dev/null", w.tree.hex));
    ck_assert_msg(pdk_vault_export(w.vault, objects, &w.base, &w.tree, &err) == 0, "%s",
            err.msg);
    ck_assert_msg(pdk_vault_seal(w.vault, objects, &none, &w.tree, &commit, &err) == 0,
            "%s", err.msg);
    free(pdk_test_git(
            other, "reset -q --hard %s && git fsck --full --strict", commit.hex));
    PDK_AUTO_FREE char *tree = pdk_test_git(other, "rev-parse HEAD^{tree}");
    ck_assert_str_eq(tree, w.tree.hex);
    PDK_AUTO_FREE char *who = pdk_test_git(other, "log -1 --format='%%an %%ae %%at'");
    ck_assert_str_eq(who, "Paddock paddock@localhost 0");
    world_close(&w);
}
END_TEST

START_TEST(opening_again_follows_a_repository_that_moved)
{
    struct world w;
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_FREE char *moved = pdk_test_path("moved");
    struct pdk_oid tree;

    world_open(&w);
    pdk_vault_close(w.vault);
    pdk_repo_free(w.repo);
    w.repo = NULL;
    free(pdk_test_sh(NULL, "mv '%s' '%s'", w.path, moved));
    ck_assert_int_eq(pdk_repo_open(moved, &w.repo, &err), 0);
    open_vault(&w);
    ck_assert_int_eq(pdk_vault_peel(w.vault, &w.tree, &tree, &err), 0);
    world_close(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees_vault");
    TCase *tc = tcase_create("vault");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, what_is_kept_outlives_the_history);
    tcase_add_test(tc, even_the_repository);
    tcase_add_test(tc, what_is_forgotten_has_no_refs);
    tcase_add_test(tc, the_empty_tree_as_a_base);
    tcase_add_test(tc, a_missing_object_is_named);
    tcase_add_test(tc, blobs_go_in_and_out);
    tcase_add_test(tc, commits_and_tags_lead_to_trees);
    tcase_add_test(tc, an_export_and_its_seal_stand_on_the_base);
    tcase_add_test(tc, opening_again_follows_a_repository_that_moved);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
