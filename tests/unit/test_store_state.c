/* Where the state lies, and who holds a run. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "store/state.h"
#include "tests/support/fixture.h"

static void check_root(const char *given, const char *expected)
{
    char *root = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_state_root(given, &root, &err), 0);
    ck_assert_str_eq(root, expected);
    free(root);
}

START_TEST(root_prefers_flag_then_variables_then_home)
{
    (void)setenv("HOME", "/h", 1);
    (void)setenv("XDG_STATE_HOME", "/x", 1);
    (void)setenv("PADDOCK_STATE", "/p", 1);
    check_root("/given", "/given");
    check_root(NULL, "/p");
    (void)setenv("PADDOCK_STATE", "", 1);
    check_root(NULL, "/x/paddock");
    (void)setenv("XDG_STATE_HOME", "relative", 1);
    check_root("", "/h/.local/state/paddock");
    (void)unsetenv("XDG_STATE_HOME");
    check_root(NULL, "/h/.local/state/paddock");
    (void)unsetenv("HOME");
    struct pdk_err err = PDK_ERR_INIT;
    char *root = NULL;
    ck_assert_int_eq(pdk_state_root(NULL, &root, &err), PDK_EINVAL);
    ck_assert_ptr_null(root);
    ck_assert_ptr_nonnull(strstr(err.hint, "--state"));
}
END_TEST

START_TEST(a_relative_root_is_made_absolute)
{
    PDK_AUTO_FREE char *cwd = getcwd(NULL, 0);
    PDK_AUTO_FREE char *expected =
            pdk_strf("%s/sub/state", pdk_streq(cwd, "/") ? "" : cwd);

    check_root("sub/state", expected);
}
END_TEST

static void check_mode(const char *path)
{
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert(S_ISDIR(st.st_mode));
    ck_assert_uint_eq(st.st_mode & 07777U, 0700);
}

START_TEST(open_makes_private_directories_named_after_the_repository)
{
    PDK_AUTO_FREE char *root = pdk_test_path("deep/state");
    PDK_AUTO_FREE char *common = pdk_test_path("my proj/.git");
    PDK_AUTO_STATE struct pdk_state s = { .root = NULL };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_mkdirs(common);
    ck_assert_int_eq(pdk_state_open(root, common, NULL, &s, &err), 0);
    ck_assert_ptr_nonnull(strstr(s.dir, "/deep/state/my_proj-"));
    ck_assert_uint_eq(strlen(strrchr(s.dir, '-')), 13);
    check_mode(root);
    check_mode(s.dir);
    check_mode(s.sandboxes);
    check_mode(s.logs);
    check_mode(s.locks);
    ck_assert(pdk_ends_with(s.store, "/store.db"));
    ck_assert(pdk_ends_with(s.vault, "/vault.git"));
    ck_assert(pdk_ends_with(s.registry_lock, "/registry.lock"));
}
END_TEST

START_TEST(one_repository_has_one_state_by_every_path)
{
    PDK_AUTO_FREE char *root = pdk_test_path("state");
    PDK_AUTO_FREE char *common = pdk_test_path("bare.git");
    PDK_AUTO_FREE char *link = pdk_test_path("link");
    PDK_AUTO_STATE struct pdk_state one = { .root = NULL };
    PDK_AUTO_STATE struct pdk_state two = { .root = NULL };

    pdk_test_mkdirs(common);
    ck_assert_int_eq(symlink("bare.git", link), 0);
    ck_assert_int_eq(pdk_state_open(root, common, NULL, &one, NULL), 0);
    ck_assert_int_eq(pdk_state_find(root, link, &two, NULL), 0);
    ck_assert_str_eq(one.dir, two.dir);
    ck_assert_ptr_nonnull(strstr(one.dir, "/bare.git-"));
}
END_TEST

START_TEST(find_makes_nothing)
{
    PDK_AUTO_FREE char *root = pdk_test_path("state");
    PDK_AUTO_FREE char *common = pdk_test_path("repo/.git");
    PDK_AUTO_STATE struct pdk_state s = { .root = NULL };

    pdk_test_mkdirs(common);
    ck_assert_int_eq(pdk_state_find(root, common, &s, NULL), 0);
    ck_assert(!pdk_test_exists(root));
    ck_assert(pdk_starts_with(s.dir, root));
}
END_TEST

START_TEST(a_root_inside_the_tree_is_hidden_from_git)
{
    PDK_AUTO_FREE char *top = pdk_test_path("repo");
    PDK_AUTO_FREE char *common = pdk_test_path("repo/.git");
    PDK_AUTO_FREE char *inside = pdk_test_path("repo/.paddock");
    PDK_AUTO_FREE char *beside = pdk_test_path("repo-state");
    PDK_AUTO_FREE char *ignore = pdk_test_path("repo/.paddock/.gitignore");
    PDK_AUTO_FREE char *other = pdk_test_path("repo-state/.gitignore");
    PDK_AUTO_STATE struct pdk_state s = { .root = NULL };

    pdk_test_mkdirs(common);
    ck_assert_int_eq(pdk_state_open(inside, common, top, &s, NULL), 0);
    PDK_AUTO_FREE char *text = pdk_test_read(ignore, NULL);
    ck_assert_str_eq(text, "*\n");
    pdk_state_fini(&s);
    ck_assert_int_eq(pdk_state_open(beside, common, top, &s, NULL), 0);
    ck_assert(!pdk_test_exists(other));
}
END_TEST

START_TEST(a_missing_repository_is_an_error)
{
    PDK_AUTO_FREE char *root = pdk_test_path("state");
    PDK_AUTO_STATE struct pdk_state s = { .root = NULL };

    ck_assert_int_lt(pdk_state_open(root, "/nowhere/at/all", NULL, &s, NULL), 0);
    ck_assert_ptr_null(s.dir);
}
END_TEST

START_TEST(a_run_is_live_while_its_lock_is_held)
{
    PDK_AUTO_FREE char *root = pdk_test_path("state");
    PDK_AUTO_FREE char *common = pdk_test_path("repo/.git");
    PDK_AUTO_STATE struct pdk_state s = { .root = NULL };
    struct pdk_err err = PDK_ERR_INIT;
    bool live = true;
    int fd = -1;
    int other = -1;

    pdk_test_mkdirs(common);
    ck_assert_int_eq(pdk_state_open(root, common, NULL, &s, NULL), 0);
    ck_assert_int_eq(pdk_state_run_is_live(&s, "r1", &live, NULL), 0);
    ck_assert(!live);
    ck_assert_int_eq(pdk_state_lock_run(&s, "../r1", &fd, &err), PDK_EINVAL);
    ck_assert_int_eq(pdk_state_lock_run(&s, "r1", &fd, NULL), 0);
    ck_assert_int_eq(pdk_state_run_is_live(&s, "r1", &live, NULL), 0);
    ck_assert(live);
    ck_assert_int_eq(pdk_state_lock_run(&s, "r1", &other, &err), PDK_ECONFLICT);
    ck_assert_ptr_nonnull(strstr(err.msg, "run r1"));
    ck_assert_int_eq(close(fd), 0);
    ck_assert_int_eq(pdk_state_run_is_live(&s, "r1", &live, NULL), 0);
    ck_assert(!live);
}
END_TEST

START_TEST(the_driver_is_who_holds_the_lock_and_nobody_else)
{
    PDK_AUTO_FREE char *root = pdk_test_path("state");
    PDK_AUTO_FREE char *common = pdk_test_path("repo/.git");
    PDK_AUTO_STATE struct pdk_state s = { .root = NULL };
    PDK_AUTO_FD int pidfd = -1;
    int fd = -1;

    pdk_test_mkdirs(common);
    ck_assert_int_eq(pdk_state_open(root, common, NULL, &s, NULL), 0);
    ck_assert_int_eq(
            pdk_state_run_driver(&s, "r1", getpid(), &pidfd, NULL), PDK_ENOTFOUND);
    ck_assert_int_eq(pdk_state_lock_run(&s, "r1", &fd, NULL), 0);
    ck_assert_int_eq(
            pdk_state_run_driver(&s, "r1", getppid(), &pidfd, NULL), PDK_ENOTFOUND);
    ck_assert_int_eq(pdk_state_run_driver(&s, "r1", 0, &pidfd, NULL), PDK_ENOTFOUND);
    ck_assert_int_eq(pdk_state_run_driver(&s, "r1", getpid(), &pidfd, NULL), 0);
    ck_assert_int_ge(pidfd, 0);
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store state");
    TCase *tc = tcase_create("state");
    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, root_prefers_flag_then_variables_then_home);
    tcase_add_test(tc, a_relative_root_is_made_absolute);
    tcase_add_test(tc, open_makes_private_directories_named_after_the_repository);
    tcase_add_test(tc, one_repository_has_one_state_by_every_path);
    tcase_add_test(tc, find_makes_nothing);
    tcase_add_test(tc, a_root_inside_the_tree_is_hidden_from_git);
    tcase_add_test(tc, a_missing_repository_is_an_error);
    tcase_add_test(tc, a_run_is_live_while_its_lock_is_held);
    tcase_add_test(tc, the_driver_is_who_holds_the_lock_and_nobody_else);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
