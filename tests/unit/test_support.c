/* The helpers that other tests stand on. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"

START_TEST(a_written_file_reads_back)
{
    char *path = pdk_test_path("a/%s/c", "b");
    size_t size = 0;
    pdk_test_write(path, "x\0y", 3);
    char *data = pdk_test_read(path, &size);
    ck_assert_uint_eq(size, 3);
    ck_assert_mem_eq(data, "x\0y", 4);
    free(data);
    free(path);
}
END_TEST

START_TEST(a_large_file_reads_back)
{
    char *path = pdk_test_path("large");
    size_t size = 100000;
    char *data = malloc(size);
    ck_assert_ptr_nonnull(data);
    memset(data, 'x', size);
    pdk_test_write(path, data, size);
    size_t got = 0;
    char *read = pdk_test_read(path, &got);
    ck_assert_uint_eq(got, size);
    ck_assert_mem_eq(read, data, size);
    free(read);
    free(data);
    free(path);
}
END_TEST

START_TEST(remove_takes_closed_folders_and_leaves_what_links_lead_to)
{
    char *kept = pdk_test_path("kept/file");
    char *tree = pdk_test_path("tree");
    char *closed = pdk_test_path("tree/closed/file");
    char *link = pdk_test_path("tree/link");
    pdk_test_write_text(kept, "kept");
    pdk_test_write_text(closed, "");
    ck_assert_int_eq(symlink("../kept", link), 0);
    free(pdk_test_sh(tree, "chmod 0 closed"));
    pdk_test_remove(tree);
    pdk_test_remove(tree);
    ck_assert(!pdk_test_exists(tree));
    ck_assert(pdk_test_exists(kept));
    free(link);
    free(closed);
    free(tree);
    free(kept);
}
END_TEST

START_TEST(run_keeps_both_outputs_and_the_code)
{
    const char *const argv[] = { "sh", "-c", "echo out; echo err >&2; pwd; exit 7",
        NULL };
    struct pdk_test_output output;
    pdk_test_run(argv, "/", &output);
    ck_assert_int_eq(output.status, 7);
    ck_assert_str_eq(output.out, "out\n/\n");
    ck_assert_str_eq(output.err, "err\n");
    pdk_test_output_fini(&output);
}
END_TEST

START_TEST(run_tells_a_signal)
{
    const char *const argv[] = { "sh", "-c", "kill -9 $$", NULL };
    struct pdk_test_output output;
    pdk_test_run(argv, NULL, &output);
    ck_assert_int_eq(output.status, 128 + 9);
    pdk_test_output_fini(&output);
}
END_TEST

START_TEST(sample_repositories_have_equal_ids)
{
    char *one = pdk_test_path("one");
    char *two = pdk_test_path("two");
    pdk_test_repo_sample(one);
    pdk_test_repo_sample(two);
    char *first = pdk_test_git(one, "rev-parse HEAD");
    char *second = pdk_test_git(two, "rev-parse main");
    ck_assert_uint_eq(strlen(first), 40);
    ck_assert_str_eq(first, second);
    free(second);
    free(first);
    free(two);
    free(one);
}
END_TEST

START_TEST(an_empty_directory_satisfies_the_strict_teardown)
{
    struct stat st;
    ck_assert_int_eq(stat(pdk_test_dir(), &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777U, 0700);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("support");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(files, a_written_file_reads_back);
    tcase_add_test(files, a_large_file_reads_back);
    tcase_add_test(files, remove_takes_closed_folders_and_leaves_what_links_lead_to);
    tcase_add_test(files, run_keeps_both_outputs_and_the_code);
    tcase_add_test(files, run_tells_a_signal);
    tcase_add_test(files, sample_repositories_have_equal_ids);
    suite_add_tcase(suite, files);
    TCase *strict = tcase_create("strict");
    tcase_add_checked_fixture(strict, pdk_test_dir_setup, pdk_test_dir_teardown);
    tcase_add_test(strict, an_empty_directory_satisfies_the_strict_teardown);
    suite_add_tcase(suite, strict);
    return pdk_test_main(suite);
}
