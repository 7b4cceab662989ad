/* Files: whole or not at all, and trees removed without a step outside. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"

START_TEST(a_tree_goes_and_what_its_links_name_stays)
{
    PDK_AUTO_FREE char *tree = pdk_test_path("tree");
    PDK_AUTO_FREE char *kept = pdk_test_path("kept/file");
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_write_text(kept, "k");
    free(pdk_test_sh(pdk_test_dir(),
            "mkdir -p tree/a/b tree/closed/in; ln -s ../kept tree/link; ln -s ../../kept tree/a/l; "
            "printf x > tree/closed/in/f; chmod 0 tree/closed/in tree/closed; mkfifo tree/p"));
    ck_assert_msg(pdk_fs_remove_tree(tree, &err) == 0, "%s", err.msg);
    ck_assert(!pdk_fs_exists(tree));
    ck_assert(pdk_fs_exists(kept));
    ck_assert_int_eq(pdk_fs_remove_tree(tree, &err), 0);
}
END_TEST

START_TEST(a_link_goes_alone)
{
    PDK_AUTO_FREE char *link = pdk_test_path("link");
    PDK_AUTO_FREE char *kept = pdk_test_path("kept/file");

    pdk_test_write_text(kept, "k");
    ck_assert_int_eq(symlink("kept", link), 0);
    ck_assert(!pdk_fs_is_dir(link));
    ck_assert_int_eq(pdk_fs_remove_tree(link, NULL), 0);
    ck_assert(pdk_fs_exists(kept));
}
END_TEST

START_TEST(a_deep_tree_goes)
{
    PDK_AUTO_FREE char *tree = pdk_test_path("a");
    struct pdk_err err = PDK_ERR_INIT;

    free(pdk_test_sh(pdk_test_dir(),
            "python3 -c 'import os\n"
            "for i in range(800): os.mkdir(\"a\"); os.chdir(\"a\")'"));
    ck_assert_msg(pdk_fs_remove_tree(tree, &err) == 0, "%s", err.msg);
    ck_assert(!pdk_fs_exists(tree));
}
END_TEST

START_TEST(files_are_written_whole)
{
    PDK_AUTO_FREE char *file = pdk_test_path("file");
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;
    struct stat st;

    ck_assert_int_eq(pdk_fs_write(file, "a\0b", 3, 0640, PDK_FS_SYNC, &err), 0);
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0640);
    ck_assert_int_eq(pdk_fs_read(file, 2, &out, &err), PDK_EINVAL);
    pdk_buf_reset(&out);
    ck_assert_int_eq(pdk_fs_read(file, 3, &out, &err), 0);
    ck_assert_mem_eq(out.data, "a\0b", 3);
    ck_assert_int_eq(pdk_fs_read(pdk_test_dir(), 3, &out, &err), PDK_EINVAL);
    PDK_AUTO_FREE char *none = pdk_test_path("none");
    ck_assert_int_eq(pdk_fs_read(none, 3, &out, &err), PDK_ENOTFOUND);
    PDK_AUTO_FREE char *names = pdk_test_sh(pdk_test_dir(), "ls -A");
    ck_assert_str_eq(names, "file");
}
END_TEST

START_TEST(directories_are_made_once)
{
    PDK_AUTO_FREE char *dir = pdk_test_path("a/b/c");
    PDK_AUTO_FREE char *file = pdk_test_path("a/file");

    ck_assert_int_eq(pdk_fs_mkdirs(dir, 0700, NULL), 0);
    ck_assert_int_eq(pdk_fs_mkdirs(dir, 0700, NULL), 0);
    pdk_test_write_text(file, "");
    ck_assert_int_eq(pdk_fs_mkdirs(file, 0700, NULL), PDK_ECONFLICT);
}
END_TEST

START_TEST(locks_exclude_each_other)
{
    PDK_AUTO_FREE char *file = pdk_test_path("lock");
    PDK_AUTO_FD int first = -1;
    int second = -1;

    ck_assert_int_eq(pdk_fs_lock(file, false, &first, NULL), 0);
    ck_assert_int_eq(pdk_fs_lock(file, false, &second, NULL), PDK_ECONFLICT);
    ck_assert_int_eq(pdk_fs_lock_shared(file, false, &second, NULL), PDK_ECONFLICT);
    ck_assert_int_eq(second, -1);
}
END_TEST

START_TEST(a_lock_is_given_up_and_taken_again_until_its_file_is_gone)
{
    PDK_AUTO_FREE char *file = pdk_test_path("lock");
    PDK_AUTO_FD int ours = -1;
    PDK_AUTO_FD int other = -1;

    ck_assert_int_eq(pdk_fs_lock(file, false, &ours, NULL), 0);
    pdk_fs_unlock(ours);
    ck_assert_int_eq(pdk_fs_lock(file, false, &other, NULL), 0);
    ck_assert_int_eq(pdk_fs_relock(ours, false, NULL), PDK_ECONFLICT);
    pdk_fs_unlock(other);
    ck_assert_int_eq(pdk_fs_relock(ours, false, NULL), 0);
    ck_assert_int_eq(pdk_fs_relock(other, false, NULL), PDK_ECONFLICT);
    pdk_fs_unlock(ours);
    pdk_test_remove(file);
    ck_assert_int_eq(pdk_fs_relock(ours, false, NULL), PDK_ENOTFOUND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_fs");
    TCase *tc = tcase_create("fs");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, a_tree_goes_and_what_its_links_name_stays);
    tcase_add_test(tc, a_link_goes_alone);
    tcase_add_test(tc, a_deep_tree_goes);
    tcase_add_test(tc, files_are_written_whole);
    tcase_add_test(tc, directories_are_made_once);
    tcase_add_test(tc, locks_exclude_each_other);
    tcase_add_test(tc, a_lock_is_given_up_and_taken_again_until_its_file_is_gone);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
