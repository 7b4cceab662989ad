/* Paths as text: joining, ids, and what spells .git. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "tests/support/fixture.h"

START_TEST(spellings_of_dotgit)
{
    static const struct {
        const char *name;
        bool is;
    } rows[] = { { ".git", true }, { ".GIT", true }, { ".Git", true }, { ".git.", true },
        { ".git ", true }, { ".git . .", true }, { ".git:x", true },
        { ".git::$INDEX", true }, { "git~1", true }, { "GIT~1", true },
        { "git~1.", true }, { ".g\xe2\x80\x8cit", true }, { "\xef\xbb\xbf.git", true },
        { ".git\xe2\x80\xae", true }, { ".gi\xe2\x81\xaft", true }, { "git", false },
        { ".gitignore", false }, { ".gitx", false }, { ".gi", false }, { "git~2", false },
        { "git~10", false }, { "x.git", false }, { ". git", false },
        { ".git\xff", false }, { "", false }, { ".g\xe2\x80\x90it", false } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        ck_assert_msg(
                pdk_path_is_dotgit(rows[i].name, strlen(rows[i].name)) == rows[i].is,
                "'%s'", rows[i].name);
}
END_TEST

START_TEST(safe_paths)
{
    static const char *const safe[] = { "a", "a/b", ".a", "..a", "a..", "a/.b/...",
        "\xff\n" };
    static const char *const unsafe[] = { "", "/a", "a/", "a//b", ".", "..", "a/../b",
        "a/.", ".git", "a/.GIT/b", "a/git~1" };

    for (size_t i = 0; i < sizeof(safe) / sizeof(safe[0]); i++)
        ck_assert_msg(pdk_path_is_safe(safe[i], strlen(safe[i])), "'%s'", safe[i]);
    for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++)
        ck_assert_msg(!pdk_path_is_safe(unsafe[i], strlen(unsafe[i])), "'%s'", unsafe[i]);
    ck_assert(!pdk_path_is_safe("a\0b", 3));
}
END_TEST

START_TEST(ids)
{
    ck_assert(pdk_path_is_id("a"));
    ck_assert(pdk_path_is_id("20240101T000000Z-a.b_c"));
    ck_assert(!pdk_path_is_id(""));
    ck_assert(!pdk_path_is_id(".a"));
    ck_assert(!pdk_path_is_id("-a"));
    ck_assert(!pdk_path_is_id("a/b"));
    ck_assert(!pdk_path_is_id("a b"));
}
END_TEST

START_TEST(joins_and_parts)
{
    PDK_AUTO_FREE char *plain = pdk_path_join("a", "b");
    PDK_AUTO_FREE char *slash = pdk_path_join("a/", "b");
    PDK_AUTO_FREE char *absolute = pdk_path_join("a", "/b");
    PDK_AUTO_FREE char *none = pdk_path_join("", "b");
    PDK_AUTO_FREE char *dir = pdk_path_dirname("a/b/c");
    PDK_AUTO_FREE char *here = pdk_path_dirname("a");
    PDK_AUTO_FREE char *root = pdk_path_dirname("/a");

    ck_assert_str_eq(plain, "a/b");
    ck_assert_str_eq(slash, "a/b");
    ck_assert_str_eq(absolute, "/b");
    ck_assert_str_eq(none, "b");
    ck_assert_str_eq(dir, "a/b");
    ck_assert_str_eq(here, ".");
    ck_assert_str_eq(root, "/");
    ck_assert_str_eq(pdk_path_basename("a/b"), "b");
    ck_assert_str_eq(pdk_path_basename("b"), "b");
}
END_TEST

START_TEST(the_directories_of_a_path)
{
    static const struct {
        const char *before, *path, *dirs;
    } rows[] = { { "", "a", "" }, { "", "a/b/c", "a a/b " }, { "a/b/x", "a/b/y", "" },
        { "a/bc/x", "a/bd/y", "a/bd " }, { "a", "a/x", "a " }, { "ab", "a/x", "a " },
        { "a/b/c", "a/b.d", "" }, { "a/b", "a/b/c/d", "a/b a/b/c " },
        { "", "a/12345678/c", "a " } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t at = pdk_path_shared(rows[i].before, rows[i].path);
        PDK_AUTO_BUF struct pdk_buf all = PDK_BUF_INIT;
        char dir[8];

        while (pdk_path_next_dir(rows[i].path, &at, dir, sizeof(dir)))
            pdk_buf_addf(&all, "%s ", dir);
        ck_assert_str_eq(pdk_buf_str(&all), rows[i].dirs);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base_path");
    TCase *tc = tcase_create("path");

    tcase_add_test(tc, spellings_of_dotgit);
    tcase_add_test(tc, safe_paths);
    tcase_add_test(tc, ids);
    tcase_add_test(tc, joins_and_parts);
    tcase_add_test(tc, the_directories_of_a_path);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
