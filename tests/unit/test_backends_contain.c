/* Where sandboxes may live. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/contain.h"
#include "base/error.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"

static int check(const char *dir)
{
    char *path = *dir == '/' ? strdup(dir) : pdk_test_path("%s", dir);
    char *lock = pdk_test_path("state/lock");
    struct pdk_err err = PDK_ERR_INIT;
    int rc = pdk_contain_check(path, lock, &err);

    ck_assert_int_eq(rc, err.code);
    free(lock);
    free(path);
    return rc;
}

START_TEST(below_sandboxes_is_fine_whether_it_is_there_or_not)
{
    ck_assert_int_eq(check("state/sandboxes/a"), 0);
    ck_assert_int_eq(check("state/sandboxes/run/a"), 0);
    free(pdk_test_sh(pdk_test_dir(), "mkdir -p state/sandboxes/run/a"));
    ck_assert_int_eq(check("state/sandboxes/run/a"), 0);
}
END_TEST

START_TEST(elsewhere_is_refused)
{
    static const char *const places[] = { "/tmp/x", "/", "state", "state/sandboxes",
        "state/sandboxes/", "state/sandboxes/.", "state/sandboxes/..",
        "state/sandboxes/a/../b", "state/sandboxes//a", "state/sandboxes/a/",
        "state/sandboxesX/a", "state/vault.git", "state/sandboxes/../../x" };

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        ck_assert_msg(check(places[i]) == PDK_ECONFLICT, "%s", places[i]);
}
END_TEST

START_TEST(a_link_on_the_way_is_refused)
{
    free(pdk_test_sh(pdk_test_dir(),
            "mkdir -p state/sandboxes/real target/b; ln -s ../../target state/sandboxes/link;"
            " ln -s real state/sandboxes/inside; touch state/sandboxes/file"));
    ck_assert_int_eq(check("state/sandboxes/real/b"), 0);
    ck_assert_int_eq(check("state/sandboxes/link"), PDK_ECONFLICT);
    ck_assert_int_eq(check("state/sandboxes/link/b"), PDK_ECONFLICT);
    ck_assert_int_eq(check("state/sandboxes/inside/b"), PDK_ECONFLICT);
    ck_assert_int_eq(check("state/sandboxes/file"), PDK_ECONFLICT);
    ck_assert_int_eq(check("state/sandboxes/file/b"), PDK_ECONFLICT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backends_contain");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(all, below_sandboxes_is_fine_whether_it_is_there_or_not);
    tcase_add_test(all, elsewhere_is_refused);
    tcase_add_test(all, a_link_on_the_way_is_refused);
    suite_add_tcase(suite, all);
    return pdk_test_main(suite);
}
