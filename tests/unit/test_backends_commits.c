/* Reading names of commits from a git directory that anybody may have written. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/commits.h"
#include "base/auto.h"
#include "base/error.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccc"
#define D "dddddddddddddddddddddddddddddddddddddddd"
#define Z "0000000000000000000000000000000000000000"

static int read_tips(struct pdk_strv *tips, struct pdk_err *err)
{
    PDK_AUTO_FD int fd = open(pdk_test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    return pdk_commits_tips(fd, tips, err);
}

static void expect_tips(const char *want)
{
    PDK_AUTO_STRV struct pdk_strv tips = PDK_STRV_INIT;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(read_tips(&tips, &err) == 0, "%s", err.msg);
    for (size_t i = 0; i < tips.len; i++)
        pdk_buf_addf(&text, "%.1s", tips.items[i]);
    ck_assert_str_eq(pdk_buf_str(&text), want);
}

START_TEST(every_place_is_read_and_each_id_comes_once)
{
    free(pdk_test_sh(pdk_test_dir(),
            "echo " A " >HEAD; mkdir -p logs refs/heads/deep refs/tags; cd refs;"
            " echo " B " >heads/deep/x; echo " A " >heads/y; printf " C " >tags/t;"
            " printf '# pack-refs with: peeled\\n" B " refs/heads/z\\n^" D
            "\\n' >../packed-refs;"
            " printf '" Z " " A " who 1 +0000\\tx\\n" A " " D
            " who 2 +0000\\n' >../logs/HEAD"));
    expect_tips("abcd");
}
END_TEST

START_TEST(an_empty_or_broken_one_names_nothing)
{
    expect_tips("");
    free(pdk_test_sh(pdk_test_dir(),
            "echo 'ref: refs/heads/main' >HEAD; mkdir refs logs; echo short >refs/a; : >refs/b;"
            " echo " Z " >refs/c; echo XAAA" A
            " >refs/d; head -c 100 /dev/zero >packed-refs;"
            " echo AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA >refs/e; echo x >logs/HEAD"));
    expect_tips("");
}
END_TEST

START_TEST(links_and_special_files_are_left_alone)
{
    free(pdk_test_sh(pdk_test_dir(),
            "mkdir -p out/logs refs; echo " A " >out/id; echo '" Z " " B
            "' >out/logs/HEAD;"
            " ln -s out/id HEAD; ln -s out/logs logs; mkfifo packed-refs refs/fifo;"
            " ln -s ../out refs/dir; ln -s ../out/id refs/file"));
    expect_tips("");
}
END_TEST

static void expect_head(const char *want)
{
    PDK_AUTO_FD int fd = open(pdk_test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    PDK_AUTO_FREE char *ref = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_oid id;

    ck_assert_int_eq(pdk_commits_head(fd, &id, &ref, &err), 0);
    if (ref)
        ck_assert_int_eq(pdk_commits_resolve(fd, ref, &id, &err), 0);
    ck_assert_str_eq(id.hex, want);
}

START_TEST(head_is_found_wherever_it_leads)
{
    expect_head("");
    free(pdk_test_sh(pdk_test_dir(), "echo " A " >HEAD"));
    expect_head(A);
    free(pdk_test_sh(pdk_test_dir(), "echo 'ref: refs/heads/x' >HEAD"));
    expect_head("");
    free(pdk_test_sh(pdk_test_dir(),
            "printf '# pack-refs with: peeled\n" B " refs/heads/x\n" C
            " refs/heads/xy\n' >packed-refs"));
    expect_head(B);
    free(pdk_test_sh(pdk_test_dir(), "mkdir -p refs/heads; echo " D " >refs/heads/x"));
    expect_head(D);
    free(pdk_test_sh(pdk_test_dir(), "echo " A " >out; echo 'ref: refs/../out' >HEAD"));
    expect_head("");
    free(pdk_test_sh(pdk_test_dir(), "echo 'ref: /etc/passwd' >HEAD"));
    expect_head("");
}
END_TEST

START_TEST(too_many_and_too_deep_are_said)
{
    PDK_AUTO_STRV struct pdk_strv tips = PDK_STRV_INIT;
    PDK_AUTO_STRV struct pdk_strv more = PDK_STRV_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    free(pdk_test_sh(pdk_test_dir(),
            "i=0; while test $i -lt 10001; do printf '%%040x refs/x\\n' $((i + 1)); i=$((i + 1)); done"
            " >packed-refs"));
    ck_assert_int_eq(read_tips(&tips, &err), PDK_EUNAVAIL);
    free(pdk_test_sh(pdk_test_dir(),
            "rm packed-refs; d=refs; for i in $(seq 40); do d=$d/x; done; mkdir -p $d"));
    ck_assert_int_eq(read_tips(&more, &err), PDK_EUNAVAIL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backends_commits");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(all, every_place_is_read_and_each_id_comes_once);
    tcase_add_test(all, an_empty_or_broken_one_names_nothing);
    tcase_add_test(all, links_and_special_files_are_left_alone);
    tcase_add_test(all, head_is_found_wherever_it_leads);
    tcase_add_test(all, too_many_and_too_deep_are_said);
    suite_add_tcase(suite, all);
    return pdk_test_main(suite);
}
