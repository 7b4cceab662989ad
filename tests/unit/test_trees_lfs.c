/* Pointers of Git LFS: what is one, and what is only like one. */
#include <check.h>
#include <string.h>

#include "base/error.h"
#include "tests/support/fixture.h"
#include "trees/lfs.h"

#define VERSION "version https://git-lfs.github.com/spec/v1\n"
#define SUM     "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

static const struct {
    const char *text;
    bool pointer;
} samples[] = {
    { VERSION "oid sha256:" SUM "\nsize 5\n", true },
    { VERSION "oid sha256:" SUM "\nsize 0\n", true },
    { "", false },
    { VERSION, false },
    { VERSION "oid sha256:" SUM "\nsize 5", false },
    { VERSION "oid sha256:" SUM "\nsize -5\n", false },
    { VERSION "oid sha256:" SUM "\nsize 5\n\n", false },
    { VERSION "oid sha256:" SUM "0\nsize 5\n", false },
    { VERSION "oid sha256:../../../../etc/passwd\nsize 5\n", false },
    { VERSION "oid sha256:" SUM "\nsize 99999999999999999999\n", false },
    { VERSION "ext-0-x sha256:" SUM "\noid sha256:" SUM "\nsize 5\n", false },
    { " " VERSION "oid sha256:" SUM "\nsize 5\n", false },
};

START_TEST(only_a_pointer_is_one)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_lfs_pointer pointer;

    pdk_buf_adds(&text, samples[_i].text);
    ck_assert_msg(pdk_lfs_parse(&text, &pointer) == samples[_i].pointer, "sample %d", _i);
    pdk_buf_addc(&text, '\0');
    ck_assert(!pdk_lfs_parse(&text, &pointer));
}
END_TEST

START_TEST(the_pointer_of_content_is_read_back)
{
    PDK_AUTO_BUF struct pdk_buf content = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_lfs_pointer made, read;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_buf_adds(&content, "hello");
    ck_assert_int_eq(pdk_lfs_point(&content, &made, &err), 0);
    ck_assert_str_eq(made.sha256, SUM);
    pdk_lfs_format(&made, &text);
    ck_assert_str_eq(pdk_buf_str(&text), samples[0].text);
    ck_assert(pdk_lfs_parse(&text, &read));
    ck_assert_str_eq(read.sha256, made.sha256);
    ck_assert_int_eq(read.size, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees_lfs");
    TCase *all = tcase_create("all");

    tcase_add_loop_test(
            all, only_a_pointer_is_one, 0, (int)(sizeof(samples) / sizeof(samples[0])));
    tcase_add_test(all, the_pointer_of_content_is_read_back);
    suite_add_tcase(suite, all);
    return pdk_test_main(suite);
}
