/* Ignored files come along: those that are named, as they are, and never over or through what is there. */
/* wrap: copy_file_range write */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "trees/checkout.h"
#include "trees/repo.h"

static bool by_hand;   /* the kernel cannot copy between these two */
static size_t at_most; /* bytes that one write takes; 0: all */
static bool disk_full;

ssize_t __real_copy_file_range(
        int in, off_t *in_at, int out, off_t *out_at, size_t len, unsigned int flags);
ssize_t __wrap_copy_file_range(
        int in, off_t *in_at, int out, off_t *out_at, size_t len, unsigned int flags);
ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);

ssize_t __wrap_copy_file_range(
        int in, off_t *in_at, int out, off_t *out_at, size_t len, unsigned int flags)
{
    if (!by_hand)
        return __real_copy_file_range(in, in_at, out, out_at, len, flags);
    errno = EXDEV;
    return -1;
}

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
    if (disk_full && by_hand) {
        errno = ENOSPC;
        return -1;
    }
    return __real_write(fd, data, at_most > 0 && at_most < len ? at_most : len);
}

static struct pdk_repo *repo;
static char *user, *copy;

static void setup(void)
{
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_dir_setup();
    user = pdk_test_path("user");
    copy = pdk_test_path("copy");
    pdk_test_repo_sample(user);
    free(pdk_test_sh(user,
            "printf '/node_modules/\\n*.env\\ncache/\\n' > .gitignore; git add -A; git commit -qm ignore; "
            "mkdir -p node_modules/a node_modules/.bin cache/deep ../outside; "
            "printf js > node_modules/a/b.js; chmod 755 node_modules/a/b.js; "
            "ln -s ../a/b.js node_modules/.bin/b; printf KEY > .env; chmod 600 .env; "
            "touch -d @1000000000.123456789 .env; printf x > cache/deep/x; printf u > untracked; "
            "printf o > ../outside/o; mkdir ../copy"));
    ck_assert_msg(pdk_repo_open(user, &repo, &err) == 0, "%s", err.msg);
}

static void teardown(void)
{
    by_hand = disk_full = false;
    at_most = 0;
    pdk_repo_free(repo);
    free(user);
    free(copy);
    pdk_test_dir_discard();
}

static int include(const char *patterns, char **warnings, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv list = PDK_STRV_INIT;
    PDK_AUTO_STRV struct pdk_strv told = PDK_STRV_INIT;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_FREE char *words = strdup(patterns);
    int rc;

    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        pdk_strv_add(&list, word);
    rc = pdk_checkout_include(repo, &list, copy, &told, err);
    for (size_t i = 0; i < told.len; i++)
        pdk_buf_addf(&text, "%s\n", told.items[i]);
    *warnings = pdk_buf_take(&text);
    return rc;
}

/* "type path" of all that came, sorted. */
static char *came(void)
{
    return pdk_test_sh(
            copy, "find . -mindepth 1 ! -type d -printf '%%y %%P\\n' | LC_ALL=C sort");
}

static void expect(const char *patterns, const char *files, const char *warnings)
{
    PDK_AUTO_FREE char *told = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(include(patterns, &told, &err) == 0, "%s", err.msg);
    PDK_AUTO_FREE char *found = came();
    ck_assert_str_eq(found, files);
    ck_assert_str_eq(told, warnings);
}

START_TEST(what_is_named_comes)
{
    static const struct {
        const char *patterns, *files;
    } rows[] = {
        { "", "" }, { "nothing", "" }, { ".env", "f .env" },
        { "*.env node_modules/a", "f .env\nf node_modules/a/b.js" },
        { "node_modules/", "f node_modules/a/b.js\nl node_modules/.bin/b" },
        { "node_modules !node_modules/a/b.js", "l node_modules/.bin/b" },
        { "*.js", "f node_modules/a/b.js" }, { "/deep", "" },
        { "deep", "f cache/deep/x" },
        { "*", "f .env\nf cache/deep/x\nf node_modules/a/b.js\nl node_modules/.bin/b" },
        { "untracked README", "" }, /* those are not ignored */
    };

    expect(rows[_i].patterns, rows[_i].files, "");
}
END_TEST

START_TEST(a_copy_has_bytes_mode_and_times)
{
    PDK_AUTO_FREE char *first = NULL, *second = NULL;

    by_hand = _i == 1;
    at_most = by_hand ? 2 : 0;
    expect("*", "f .env\nf cache/deep/x\nf node_modules/a/b.js\nl node_modules/.bin/b",
            "");
    first = pdk_test_sh(user,
            "cat .env node_modules/a/b.js; stat -c '%%a %%.Y %%n' .env node_modules/a/b.js; readlink node_modules/.bin/b");
    second = pdk_test_sh(copy,
            "cat .env node_modules/a/b.js; stat -c '%%a %%.Y %%n' .env node_modules/a/b.js; readlink node_modules/.bin/b");
    ck_assert_str_eq(second, first);
    ck_assert_ptr_nonnull(strstr(first, "600 1000000000.12"));
}
END_TEST

START_TEST(what_is_there_stays)
{
    free(pdk_test_sh(copy,
            "printf mine > .env; mkdir -p node_modules/.bin; ln -s mine node_modules/.bin/b"));
    expect(".env .bin", "f .env\nl node_modules/.bin/b", "");
    PDK_AUTO_FREE char *kept =
            pdk_test_sh(copy, "cat .env; readlink node_modules/.bin/b");
    ck_assert_str_eq(kept, "minemine");
}
END_TEST

START_TEST(nothing_is_written_through_a_link)
{
    free(pdk_test_sh(copy, "ln -s ../outside node_modules; printf f > cache"));
    expect("*", "f .env\nf cache\nl node_modules",
            "cache/deep/x has something else in its way: it was left out\n"
            "node_modules/.bin/b has something else in its way: it was left out\n"
            "node_modules/a/b.js has something else in its way: it was left out\n");
    PDK_AUTO_FREE char *outside = pdk_test_sh(pdk_test_dir(), "ls -A outside");
    ck_assert_str_eq(outside, "o");
}
END_TEST

START_TEST(links_that_lead_out_are_left)
{
    free(pdk_test_sh(user,
            "ln -s /etc/passwd cache/abs; ln -s ../../outside cache/up; ln -s deep/../../.. cache/round; "
            "ln -s ../README cache/in; ln -s ./deep/./x cache/dots"));
    expect("cache", "f cache/deep/x\nl cache/dots\nl cache/in",
            "cache/abs is a link that leads out of the tree: it was left out\n"
            "cache/round is a link that leads out of the tree: it was left out\n"
            "cache/up is a link that leads out of the tree: it was left out\n");
}
END_TEST

START_TEST(only_regular_files_and_links_come)
{
    free(pdk_test_sh(user,
            "mkfifo cache/fifo; printf e > \"cache/$(printf 'bad\\nname')\"; "
            "mkdir cache/nested; git init -q cache/nested; printf n > cache/nested/n"));
    PDK_AUTO_FREE char *told = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(include("cache", &told, &err) == 0, "%s", err.msg);
    PDK_AUTO_FREE char *found = came();
    ck_assert_ptr_null(strstr(found, "fifo"));
    ck_assert_ptr_null(strstr(found, ".git")); /* nor a repository's own directory */
    PDK_AUTO_FREE char *bytes = pdk_test_sh(copy, "cat \"cache/$(printf 'bad\\nname')\"");
    ck_assert_str_eq(bytes, "e");
}
END_TEST

START_TEST(what_cannot_be_read_is_told)
{
    if (geteuid() == 0)
        return; /* root reads everything */
    free(pdk_test_sh(user, "chmod 0 .env"));
    expect("*.env", "", ".env cannot be read: it was left out\n");
}
END_TEST

START_TEST(a_full_disk_is_an_error)
{
    PDK_AUTO_FREE char *told = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    by_hand = disk_full = true;
    int rc = include(".env", &told, &err);
    disk_full = false;
    ck_assert_int_eq(rc, PDK_EIO);
    ck_assert_int_eq(err.os_errno, ENOSPC);
    ck_assert_msg(strstr(err.msg, ".env") != NULL, "%s", err.msg);
}
END_TEST

START_TEST(warnings_are_bounded)
{
    PDK_AUTO_FREE char *told = NULL;
    size_t lines = 0;

    free(pdk_test_sh(user, "for i in $(seq 70); do ln -s / cache/p$i; done"));
    ck_assert_int_eq(include("cache", &told, NULL), 0);
    for (const char *at = told; (at = strchr(at, '\n')); at++)
        lines++;
    ck_assert_uint_eq(lines, 50);
    PDK_AUTO_STRV struct pdk_strv list = PDK_STRV_INIT;
    pdk_strv_add(&list, "cache");
    ck_assert_int_eq(
            pdk_checkout_include(repo, &list, copy, NULL, NULL), 0); /* unheard */
}
END_TEST

START_TEST(a_target_that_is_none_is_an_error)
{
    PDK_AUTO_STRV struct pdk_strv list = PDK_STRV_INIT;
    PDK_AUTO_FREE char *none = pdk_test_path("none");
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_checkout_include(repo, &list, none, NULL, &err), PDK_EIO);
    ck_assert_ptr_nonnull(strstr(err.msg, none));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees/include");
    TCase *tc = tcase_create("include");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, what_is_named_comes, 0, 11);
    tcase_add_loop_test(tc, a_copy_has_bytes_mode_and_times, 0, 2);
    tcase_add_test(tc, what_is_there_stays);
    tcase_add_test(tc, nothing_is_written_through_a_link);
    tcase_add_test(tc, links_that_lead_out_are_left);
    tcase_add_test(tc, only_regular_files_and_links_come);
    tcase_add_test(tc, what_cannot_be_read_is_told);
    tcase_add_test(tc, a_full_disk_is_an_error);
    tcase_add_test(tc, warnings_are_bounded);
    tcase_add_test(tc, a_target_that_is_none_is_an_error);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
