/* The user's repository in every shape, and that nothing in it changes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "trees/repo.h"
#include "trees/vault.h"

static char *path;

static void setup(void)
{
    pdk_test_dir_setup();
    path = pdk_test_path("repo");
    pdk_test_repo_sample(path);
}

static void teardown(void)
{
    free(path);
    pdk_test_dir_discard();
}

static struct pdk_repo *opened(const char *dir)
{
    struct pdk_repo *repo = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_repo_open(dir, &repo, &err) == 0, "%s", err.msg);
    return repo;
}

static void refuses(const char *dir, int code, const char *text)
{
    struct pdk_repo *repo = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_repo_open(dir, &repo, &err), code);
    ck_assert_ptr_null(repo);
    ck_assert_msg(strstr(err.msg, text) != NULL, "%s", err.msg);
}

/* ---- opening */

START_TEST(the_top_and_a_folder_below)
{
    PDK_AUTO_FREE char *below = pdk_test_path("repo/src");
    PDK_AUTO_FREE char *git_dir = pdk_test_path("repo/.git");
    PDK_AUTO_FREE char *objects = pdk_test_path("repo/.git/objects");
    PDK_AUTO_REPO struct pdk_repo *top = opened(path);
    PDK_AUTO_REPO struct pdk_repo *sub = opened(below);

    ck_assert_str_eq(top->root, path);
    ck_assert_str_eq(top->prefix, "");
    ck_assert_str_eq(top->git_dir, git_dir);
    ck_assert_str_eq(top->common_dir, git_dir);
    ck_assert_str_eq(top->objects, objects);
    ck_assert(!top->unborn);
    ck_assert(top->file_mode);
    ck_assert_str_eq(sub->root, path);
    ck_assert_str_eq(sub->prefix, "src");
}
END_TEST

START_TEST(a_linked_worktree)
{
    PDK_AUTO_FREE char *linked = pdk_test_path("linked");
    PDK_AUTO_FREE char *common = pdk_test_path("repo/.git");
    PDK_AUTO_FREE char *own = pdk_test_path("repo/.git/worktrees/linked");

    free(pdk_test_git(path, "worktree add -q '%s' -b side", linked));
    PDK_AUTO_REPO struct pdk_repo *repo = opened(linked);
    ck_assert_str_eq(repo->root, linked);
    ck_assert_str_eq(repo->common_dir, common);
    ck_assert_str_eq(repo->git_dir, own);
}
END_TEST

START_TEST(a_path_through_a_link)
{
    PDK_AUTO_FREE char *link = pdk_test_path("link");

    ck_assert_int_eq(symlink(path, link), 0);
    PDK_AUTO_REPO struct pdk_repo *repo = opened(link);
    ck_assert_str_eq(repo->root, path);
}
END_TEST

START_TEST(settings_of_the_user)
{
    free(pdk_test_git(path,
            "config core.autocrlf input; git config core.eol lf; "
            "git config core.fileMode false; git config user.name 'A B'; "
            "git config core.excludesFile '~/mine'"));
    PDK_AUTO_REPO struct pdk_repo *repo = opened(path);
    PDK_AUTO_FREE char *want = pdk_strf("%s/mine", getenv("HOME"));
    ck_assert_str_eq(repo->autocrlf, "input");
    ck_assert_str_eq(repo->eol, "lf");
    ck_assert_str_eq(repo->user_name, "A B");
    ck_assert_str_eq(repo->excludes_file, want);
    ck_assert(!repo->file_mode);
}
END_TEST

START_TEST(what_is_no_checkout_is_said_by_name)
{
    PDK_AUTO_FREE char *none = pdk_test_path("none");
    PDK_AUTO_FREE char *nowhere = pdk_test_path("nowhere");
    PDK_AUTO_FREE char *bare = pdk_test_path("bare");
    PDK_AUTO_FREE char *git_dir = pdk_test_path("repo/.git");
    PDK_AUTO_FREE char *sha256 = pdk_test_path("sha256");
    PDK_AUTO_FREE char *newer = pdk_test_path("newer");

    pdk_test_mkdirs(none);
    pdk_test_mkdirs(bare);
    pdk_test_mkdirs(sha256);
    refuses(none, PDK_EUNAVAIL, "no git repository");
    refuses(nowhere, PDK_ENOTFOUND, "there is no directory");
    free(pdk_test_git(bare, "init -q --bare"));
    refuses(bare, PDK_EUNAVAIL, "bare");
    refuses(git_dir, PDK_EUNAVAIL, ".git directory");
    free(pdk_test_git(sha256, "init -q --object-format=sha256"));
    refuses(sha256, PDK_EUNAVAIL, "sha256");
    pdk_test_repo_init(newer);
    free(pdk_test_git(newer,
            "config core.repositoryFormatVersion 1; "
            "git config extensions.refStorage reftable"));
    refuses(newer, PDK_EUNAVAIL, "cannot read the repository");
}
END_TEST

START_TEST(a_repository_of_somebody_else)
{
    PDK_AUTO_REPO struct pdk_repo *repo = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (geteuid() != 0)
        return;
    free(pdk_test_sh(NULL, "chown -R 65534:65534 '%s'", path));
    ck_assert_int_eq(pdk_repo_open(path, &repo, &err), PDK_EUNAVAIL);
    ck_assert_ptr_nonnull(strstr(err.msg, "somebody else"));
    ck_assert_ptr_nonnull(strstr(err.hint, "safe.directory"));
}
END_TEST

/* ---- resolving */

START_TEST(revisions_resolve_to_commits)
{
    PDK_AUTO_REPO struct pdk_repo *repo = opened(path);
    PDK_AUTO_FREE char *head = pdk_test_git(path, "rev-parse HEAD");
    PDK_AUTO_FREE char *tree = pdk_test_git(path, "rev-parse HEAD^{tree}");
    static const char *const names[] = { "HEAD", "main", "refs/heads/main", "v1", "@" };
    struct pdk_err err = PDK_ERR_INIT;

    free(pdk_test_git(path, "tag -a -m tagged v1"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct pdk_base base;

        ck_assert_msg(pdk_repo_resolve(repo, names[i], &base, &err) == 0, "%s", err.msg);
        ck_assert_str_eq(base.commit.hex, head);
        ck_assert_str_eq(base.tree.hex, tree);
    }
}
END_TEST

START_TEST(unknown_revisions_are_named)
{
    PDK_AUTO_REPO struct pdk_repo *repo = opened(path);
    static const char *const names[] = { "nope", "HEAD~5", "HEAD:README", "HEAD^{tree}",
        "", "--all", "-h", "main..nope", "0123456789012345678901234567890123456789" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct pdk_err err = PDK_ERR_INIT;
        struct pdk_base base = { { "untouched" }, { "" } };

        ck_assert_int_eq(pdk_repo_resolve(repo, names[i], &base, &err), PDK_ENOTFOUND);
        ck_assert_ptr_nonnull(strstr(err.msg, names[i]));
        ck_assert_str_eq(base.commit.hex, "untouched");
    }
}
END_TEST

START_TEST(an_unborn_head_has_the_empty_tree)
{
    PDK_AUTO_FREE char *fresh = pdk_test_path("fresh");
    struct pdk_base base;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_repo_init(fresh);
    PDK_AUTO_REPO struct pdk_repo *repo = opened(fresh);
    ck_assert(repo->unborn);
    ck_assert_int_eq(pdk_repo_resolve(repo, "HEAD", &base, &err), 0);
    ck_assert_str_eq(base.commit.hex, "");
    ck_assert_str_eq(base.tree.hex, PDK_EMPTY_TREE);
    ck_assert_int_eq(pdk_repo_resolve(repo, "main", &base, &err), PDK_ENOTFOUND);
}
END_TEST

/* ---- the working tree */

struct seen {
    struct pdk_repo *repo;
    struct pdk_vault *vault;
    struct pdk_base base;
    struct pdk_oid tree;
};

static void seen_open(struct seen *s, const char *dir)
{
    PDK_AUTO_FREE char *vault = pdk_test_path("vault");
    struct pdk_err err = PDK_ERR_INIT;

    s->repo = opened(dir);
    ck_assert_int_eq(pdk_vault_open(vault, s->repo->objects, &s->vault, &err), 0);
    ck_assert_int_eq(pdk_repo_resolve(s->repo, "HEAD", &s->base, &err), 0);
}

static void seen_close(struct seen *s)
{
    pdk_vault_close(s->vault);
    pdk_repo_free(s->repo);
}

static void snap(struct seen *s)
{
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_repo_snapshot(s->repo, s->vault, &s->base, &s->tree, &err) == 0,
            "%s: %s", err.msg, err.hint);
}

static char *names_in(const struct seen *s)
{
    PDK_AUTO_FREE char *vault = pdk_test_path("vault");

    return pdk_test_git(vault, "diff-tree -r --no-renames --name-status %s %s",
            s->base.tree.hex, s->tree.hex);
}

/* Bytes and times of what is the user's: index, refs, stash, configuration, objects. */
static char *state_of(const char *dir)
{
    return pdk_test_sh(dir,
            "cd \"$(git rev-parse --git-common-dir)\" && "
            "find . -type f ! -path './hooks/*' ! -path './objects/*' -printf '%%p %%T@ %%s\\n' | sort; "
            "find . -name index | xargs md5sum");
}

START_TEST(everything_that_git_would_add_is_in_the_tree)
{
    struct seen s;

    free(pdk_test_sh(path,
            "printf '*.log\n' > .gitignore; printf x > f1; printf x > f2; printf x > f3; "
            "printf x > '-f4'; printf x > exec"));
    free(pdk_test_repo_commit(path, "more"));
    free(pdk_test_sh(path,
            "git config commit.gpgSign false; printf staged > f1; git add f1; "
            "printf unstaged > f2; rm f3; chmod +x exec; printf 'b\\0' > bin; "
            "printf u > untracked; printf u > ' odd\n'; printf u > x.log; "
            "printf both > README; git add README; printf later > README; "
            "printf i > intent; git add -N intent; git stash list; "
            "rm src/main.c; ln -s nowhere src/main.c"));
    PDK_AUTO_FREE char *before = state_of(path);
    seen_open(&s, path);
    snap(&s);
    PDK_AUTO_FREE char *after = state_of(path);
    PDK_AUTO_FREE char *names = names_in(&s);
    ck_assert_str_eq(names,
            "A\t\" odd\\n\"\nM\tREADME\nA\tbin\nM\texec\nM\tf1\nM\tf2\nD\tf3\n"
            "A\tintent\nT\tsrc/main.c\nA\tuntracked");
    ck_assert_str_eq(before, after);
    seen_close(&s);
}
END_TEST

START_TEST(a_clean_tree_is_the_bases)
{
    struct seen s;

    seen_open(&s, path);
    snap(&s);
    ck_assert_str_eq(s.tree.hex, s.base.tree.hex);
    seen_close(&s);
}
END_TEST

START_TEST(from_a_folder_below_all_of_it)
{
    PDK_AUTO_FREE char *below = pdk_test_path("repo/src");
    struct seen s;

    free(pdk_test_sh(path, "printf u > new; printf u > src/new"));
    seen_open(&s, below);
    snap(&s);
    PDK_AUTO_FREE char *names = names_in(&s);
    ck_assert_str_eq(names, "A\tnew\nA\tsrc/new");
    seen_close(&s);
}
END_TEST

START_TEST(an_unborn_heads_files)
{
    PDK_AUTO_FREE char *fresh = pdk_test_path("fresh");
    struct seen s;

    pdk_test_repo_init(fresh);
    pdk_test_repo_write(fresh, "a", "a");
    seen_open(&s, fresh);
    snap(&s);
    PDK_AUTO_FREE char *names = names_in(&s);
    ck_assert_str_eq(names, "A\ta");
    seen_close(&s);
}
END_TEST

START_TEST(unmerged_paths_are_a_conflict)
{
    struct seen s;
    struct pdk_err err = PDK_ERR_INIT;

    free(pdk_test_sh(path,
            "git checkout -q -b side && printf side > README && git commit -qam s "
            "&& git checkout -q main && printf main > README && git commit -qam m "
            "&& ! git merge -q side >/dev/null"));
    seen_open(&s, path);
    ck_assert_int_eq(
            pdk_repo_snapshot(s.repo, s.vault, &s.base, &s.tree, &err), PDK_ECONFLICT);
    ck_assert_ptr_nonnull(strstr(err.msg, "README"));
    ck_assert_str_eq(pdk_repo_operation(s.repo), "merge");
    seen_close(&s);
}
END_TEST

START_TEST(nested_repositories_are_left_out)
{
    struct seen s;

    free(pdk_test_sh(path,
            "mkdir n '*m'; git init -q n; git init -q '*m'; printf a > n/a; "
            "printf b > zm; (cd n; git add -A; git commit -qm inside)"));
    seen_open(&s, path);
    snap(&s);
    PDK_AUTO_FREE char *names = names_in(&s);
    ck_assert_str_eq(names, "A\tzm");
    seen_close(&s);
}
END_TEST

START_TEST(a_submodule_stays_a_submodule)
{
    PDK_AUTO_FREE char *other = pdk_test_path("other");
    struct seen s;

    pdk_test_repo_sample(other);
    free(pdk_test_sh(path,
            "git -c protocol.file.allow=always submodule --quiet add '%s' sub && "
            "git commit -qm sub && printf dirt > sub/README",
            other));
    seen_open(&s, path);
    snap(&s);
    ck_assert_str_eq(s.tree.hex, s.base.tree.hex);
    seen_close(&s);
}
END_TEST

START_TEST(what_a_sparse_checkout_skips_is_not_gone)
{
    struct seen s;

    free(pdk_test_sh(path,
            "mkdir other; printf o > other/o; git add -A; git commit -qm o; "
            "git sparse-checkout set --cone other 2>/dev/null; test ! -e src; "
            "printf n > other/n"));
    seen_open(&s, path);
    snap(&s);
    PDK_AUTO_FREE char *names = names_in(&s);
    ck_assert_str_eq(names, "A\tother/n");
    seen_close(&s);
}
END_TEST

START_TEST(hooks_and_filters_of_the_user)
{
    struct seen s;

    pdk_test_repo_write(path, ".git/hooks/post-index-change", "#!/bin/sh\ntouch ran\n");
    free(pdk_test_sh(path, "chmod +x .git/hooks/*; printf n > new"));
    seen_open(&s, path);
    snap(&s);
    PDK_AUTO_FREE char *names = names_in(&s);
    ck_assert_str_eq(names, "A\tnew");
    seen_close(&s);
}
END_TEST

START_TEST(dirty_paths_are_counted)
{
    PDK_AUTO_REPO struct pdk_repo *repo = opened(path);
    struct pdk_err err = PDK_ERR_INIT;
    int n = -1;

    ck_assert_int_eq(pdk_repo_count_dirty(repo, &n, &err), 0);
    ck_assert_int_eq(n, 0);
    free(pdk_test_sh(path,
            "printf x > README; git mv src/main.c src/moved.c; "
            "mkdir u; printf u > u/a; printf u > u/b"));
    PDK_AUTO_FREE char *before = state_of(path);
    ck_assert_int_eq(pdk_repo_count_dirty(repo, &n, &err), 0);
    PDK_AUTO_FREE char *after = state_of(path);
    ck_assert_int_eq(n, 5);
    ck_assert_str_eq(before, after);
}
END_TEST

/* ---- pins, operations */

START_TEST(a_pin_leaves_nothing_behind)
{
    PDK_AUTO_REPO struct pdk_repo *repo = opened(path);
    PDK_AUTO_FREE char *refs = pdk_test_path("repo/.git/refs/paddock");
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_base base;

    ck_assert_int_eq(pdk_repo_resolve(repo, "HEAD", &base, &err), 0);
    PDK_AUTO_FREE char *before = state_of(path);
    ck_assert_int_eq(pdk_repo_pin(repo, "runs/a-1", &base.commit, &err), 0);
    ck_assert_int_eq(pdk_repo_pin(repo, "runs/a-2", &base.commit, &err), 0);
    PDK_AUTO_FREE char *pinned = pdk_test_git(path, "rev-parse refs/paddock/runs/a-1");
    ck_assert_str_eq(pinned, base.commit.hex);
    ck_assert_int_eq(pdk_repo_unpin(repo, "runs/a-1", &err), 0);
    ck_assert(pdk_test_exists(refs));
    ck_assert_int_eq(pdk_repo_unpin(repo, "runs/a-2", &err), 0);
    ck_assert_int_eq(pdk_repo_unpin(repo, "runs/a-2", &err), 0);
    ck_assert(!pdk_test_exists(refs));
    PDK_AUTO_FREE char *after = state_of(path);
    ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(operations_under_way_have_names)
{
    PDK_AUTO_REPO struct pdk_repo *repo = opened(path);
    static const struct {
        const char *file, *name;
    } rows[] = { { "MERGE_HEAD", "merge" }, { "rebase-merge", "rebase" },
        { "rebase-apply", "rebase" }, { "CHERRY_PICK_HEAD", "cherry-pick" },
        { "REVERT_HEAD", "revert" } };

    ck_assert_ptr_null(pdk_repo_operation(repo));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        PDK_AUTO_FREE char *file = pdk_test_path("repo/.git/%s", rows[i].file);

        pdk_test_write_text(file, "");
        ck_assert_str_eq(pdk_repo_operation(repo), rows[i].name);
        pdk_test_remove(file);
    }
    pdk_test_repo_write(path, ".git/BISECT_LOG", "");
    ck_assert_ptr_null(pdk_repo_operation(repo));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees_repo");
    TCase *tc = tcase_create("repo");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_top_and_a_folder_below);
    tcase_add_test(tc, a_linked_worktree);
    tcase_add_test(tc, a_path_through_a_link);
    tcase_add_test(tc, settings_of_the_user);
    tcase_add_test(tc, what_is_no_checkout_is_said_by_name);
    tcase_add_test(tc, a_repository_of_somebody_else);
    tcase_add_test(tc, revisions_resolve_to_commits);
    tcase_add_test(tc, unknown_revisions_are_named);
    tcase_add_test(tc, an_unborn_head_has_the_empty_tree);
    tcase_add_test(tc, everything_that_git_would_add_is_in_the_tree);
    tcase_add_test(tc, a_clean_tree_is_the_bases);
    tcase_add_test(tc, from_a_folder_below_all_of_it);
    tcase_add_test(tc, an_unborn_heads_files);
    tcase_add_test(tc, unmerged_paths_are_a_conflict);
    tcase_add_test(tc, nested_repositories_are_left_out);
    tcase_add_test(tc, a_submodule_stays_a_submodule);
    tcase_add_test(tc, what_a_sparse_checkout_skips_is_not_gone);
    tcase_add_test(tc, hooks_and_filters_of_the_user);
    tcase_add_test(tc, dirty_paths_are_counted);
    tcase_add_test(tc, a_pin_leaves_nothing_behind);
    tcase_add_test(tc, operations_under_way_have_names);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
