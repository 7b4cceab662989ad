/* What a mission can change of the user's repository beside its files is seen, and what is not its doing is not. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "trees/repo.h"
#include "trees/shared.h"

static char *path;
static struct pdk_repo *repo;

static void setup(void)
{
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_dir_setup();
    path = pdk_test_path("repo");
    pdk_test_repo_sample(path);
    ck_assert_msg(pdk_repo_open(path, &repo, &err) == 0, "%s", err.msg);
}

static void teardown(void)
{
    pdk_repo_free(repo);
    free(path);
    pdk_test_dir_discard();
}

/* "kind path" of each change that a command makes, a line each; owned. */
static char *changes_of(const char *command, bool wide)
{
    PDK_AUTO_SHARED struct pdk_shared before = { 0 }, after = { 0 };
    PDK_AUTO_FREE struct pdk_shared_change *changes = NULL;
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;
    size_t n = 0;

    ck_assert_msg(pdk_shared_look(repo, wide, NULL, &before, &err) == 0, "%s", err.msg);
    free(pdk_test_sh(path, "%s", command));
    ck_assert_msg(pdk_shared_look(repo, wide, &before, &after, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(
            pdk_shared_compare(repo, wide, &before, &after, &changes, &n, &err), 0);
    for (size_t i = 0; i < n; i++)
        pdk_buf_addf(
                &out, "%s %s\n", pdk_shared_kind_name(changes[i].kind), changes[i].path);
    return pdk_buf_take(&out);
}

struct row {
    const char *command, *wide, *narrow;
};

static const struct row rows[] = {
    { "git config core.fsmonitor x", "config config\n", "config config\n" },
    { "git config branch.main.remote x", "config config\n", "" },
    { "echo '[broken' >> .git/config; rm -f .git/x", "config config\n",
            "config config\n" },
    { "mkdir -p .git/hooks; echo x > .git/hooks/post-checkout",
            "hook hooks/post-checkout\n", "hook hooks/post-checkout\n" },
    { "mkdir -p .git/hooks; ln -s /x .git/hooks/update", "hook hooks/update\n",
            "hook hooks/update\n" },
    { "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes",
            "info info/attributes\n", "info info/attributes\n" },
    { "mkdir -p .git/modules/a/b; echo x > .git/modules/a/b/config",
            "config modules/a/b/config\n", "config modules/a/b/config\n" },
    { "echo /x > .git/objects/info/alternates", "info objects/info/alternates\n",
            "info objects/info/alternates\n" },
    { "git branch other", "ref refs/heads/other\n", "ref refs/heads/other\n" },
    { "git commit -q --allow-empty -m x; git update-ref refs/heads/main HEAD~1", "", "" },
    { "git update-ref refs/heads/main $(git commit-tree HEAD^{tree} -m x)",
            "ref refs/heads/main\n", "ref refs/heads/main\n" },
    { "git tag t", "ref refs/tags/t\n", "" },
    { "git update-ref refs/remotes/o/main HEAD", "ref refs/remotes/o/main\n", "" },
    { "git update-ref refs/paddock/run/x HEAD; git branch sandbox/x", "", "" },
    { "git commit -q --allow-empty -m mine", "ref refs/heads/main\n", "" },
    { "git checkout -q -b mine", "head HEAD\nref refs/heads/mine\n", "" },
    { "git pack-refs --all", "", "" },
    { "git gc -q", "", "" },
    { "git stash list; echo x > README; git stash -q",
            "stash logs/refs/stash\nref refs/stash\n",
            "stash logs/refs/stash\nref refs/stash\n" },
    { "git symbolic-ref HEAD refs/heads/zz", "head HEAD\n", "head HEAD\n" },
    { "touch -r .git/config .git/x; printf '#' | dd of=.git/config conv=notrunc status=none;"
      " touch -r .git/x .git/config; rm .git/x",
            "config config\n", "config config\n" },
    { ":", "", "" },
};

START_TEST(each_change_is_seen)
{
    PDK_AUTO_FREE char *found = changes_of(rows[_i].command, true);

    ck_assert_msg(strcmp(found, rows[_i].wide) == 0, "'%s': %s", rows[_i].command, found);
}
END_TEST

START_TEST(what_people_do_in_passing_is_left_out)
{
    PDK_AUTO_FREE char *found = changes_of(rows[_i].command, false);

    ck_assert_msg(
            strcmp(found, rows[_i].narrow) == 0, "'%s': %s", rows[_i].command, found);
}
END_TEST

/* Runs what takes a change back, and says what is left of it. */
static void takes_back(const char *command)
{
    PDK_AUTO_SHARED struct pdk_shared before = { 0 }, after = { 0 }, last = { 0 };
    PDK_AUTO_FREE struct pdk_shared_change *changes = NULL, *left = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    size_t n = 0, n_left = 0;

    ck_assert_int_eq(pdk_shared_look(repo, true, NULL, &before, &err), 0);
    free(pdk_test_sh(path, "%s", command));
    ck_assert_int_eq(pdk_shared_look(repo, true, &before, &after, &err), 0);
    ck_assert_int_eq(
            pdk_shared_compare(repo, true, &before, &after, &changes, &n, &err), 0);
    ck_assert_uint_eq(n, 1);
    PDK_AUTO_FREE char *restore = pdk_shared_restore(&changes[0]);
    ck_assert_ptr_nonnull(restore);
    free(pdk_test_sh(path, "%s", restore));
    ck_assert_int_eq(pdk_shared_look(repo, true, &after, &last, &err), 0);
    ck_assert_int_eq(
            pdk_shared_compare(repo, true, &before, &last, &left, &n_left, &err), 0);
    ck_assert_uint_eq(n_left, 0);
}

START_TEST(a_moved_reference_is_offered_back)
{
    takes_back("git update-ref refs/heads/main $(git commit-tree HEAD^{tree} -m x)");
    takes_back("git branch \"it's\"");
    free(pdk_test_git(path, "tag t"));
    takes_back("git tag -d t");
}
END_TEST

START_TEST(what_is_no_reference_is_not_offered_back)
{
    struct pdk_shared_change hook = { PDK_SHARED_HOOK, "hooks/x", NULL, "1" };
    struct pdk_shared_change link = { PDK_SHARED_REF, "refs/x", "ref: refs/heads/main",
        NULL };

    ck_assert_ptr_null(pdk_shared_restore(&hook));
    ck_assert_ptr_null(pdk_shared_restore(&link));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shared");
    TCase *tc = tcase_create("shared");
    int n = (int)(sizeof(rows) / sizeof(rows[0]));

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, each_change_is_seen, 0, n);
    tcase_add_loop_test(tc, what_people_do_in_passing_is_left_out, 0, n);
    tcase_add_test(tc, a_moved_reference_is_offered_back);
    tcase_add_test(tc, what_is_no_reference_is_not_offered_back);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
