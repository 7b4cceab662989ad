/* Small files of git directories, as git reads them back. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/gitdir.h"
#include "backends/gitfile.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "trees/repo.h"

static struct pdk_err err;

START_TEST(an_existing_file_or_link_is_never_written)
{
    char *link = pdk_test_path("link");

    ck_assert_int_eq(pdk_gitfile_put(pdk_test_dir(), "f", "one\n", &err), 0);
    ck_assert_int_eq(pdk_gitfile_put(pdk_test_dir(), "f", "two\n", &err), PDK_ECONFLICT);
    ck_assert_int_eq(symlink("target", link), 0);
    ck_assert_int_eq(pdk_gitfile_put(pdk_test_dir(), "link", "x", &err), PDK_ECONFLICT);
    ck_assert_int_eq(pdk_gitfile_put(pdk_test_dir(), "no/f", "x", &err), PDK_ENOTFOUND);
    char *left = pdk_test_sh(pdk_test_dir(), "cat f; test ! -e target");
    ck_assert_str_eq(left, "one");
    free(left);
    free(link);
}
END_TEST

START_TEST(odd_settings_and_paths_come_back_from_git)
{
    static char name[] = "A \"B\" \\C # ; \ttab";
    static char email[] = " lead@example.org ";
    char *user = pdk_test_path("us\"er\nline");
    char *objects = pdk_test_path("us\"er\nline/.git/objects");
    char *common = pdk_test_path("us\"er\nline/.git");
    char *gitdir = pdk_test_path("copy/.git");
    char *copy = pdk_test_path("copy");
    struct pdk_repo repo = { .common_dir = common,
        .objects = objects,
        .user_name = name,
        .user_email = email,
        .file_mode = true };

    pdk_test_repo_sample(user);
    pdk_test_mkdirs(copy);
    ck_assert_int_eq(pdk_gitdir_make(gitdir, &repo, &err), 0);
    char *head = pdk_test_git(user, "rev-parse HEAD");
    ck_assert_int_eq(pdk_gitdir_start(gitdir, head, "sandbox/x", &err), 0);
    char *got = pdk_test_sh(copy,
            "git config user.name; git config user.email; git show -s --format=%%s;"
            " git symbolic-ref HEAD; git config core.bare; git fsck");
    ck_assert_str_eq(got,
            "A \"B\" \\C # ; \ttab\n lead@example.org \nfirst\nrefs/heads/sandbox/x\nfalse");
    free(got);
    free(head);
    free(copy);
    free(gitdir);
    free(common);
    free(objects);
    free(user);
}
END_TEST

START_TEST(paths_are_quoted_as_git_does)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    pdk_gitfile_quote_path(&text, "/a \"b\"\\\n\x7f\xff");
    ck_assert_str_eq(pdk_buf_str(&text), "\"/a \\\"b\\\"\\\\\\012\\177\xff\"");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backends_gitfile");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(all, an_existing_file_or_link_is_never_written);
    tcase_add_test(all, odd_settings_and_paths_come_back_from_git);
    tcase_add_test(all, paths_are_quoted_as_git_does);
    suite_add_tcase(suite, all);
    return pdk_test_main(suite);
}
