/* Environments: what passes and what does not. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "process/env.h"
#include "tests/support/fixture.h"

START_TEST(the_base_is_an_allow_list)
{
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;

    ck_assert_int_eq(setenv("LC_TIME", "C", 1), 0);
    ck_assert_int_eq(setenv("AWS_ACCESS_KEY_ID", "x", 1), 0);
    ck_assert_int_eq(setenv("GIT_DIR", "x", 1), 0);
    pdk_env_base(&env);
    ck_assert_int_eq(pdk_strv_ok(&env, NULL), 0);
    ck_assert_str_eq(pdk_env_get(&env, "LC_TIME"), "C");
    ck_assert_ptr_nonnull(pdk_env_get(&env, "PATH"));
    ck_assert_ptr_null(pdk_env_get(&env, "AWS_ACCESS_KEY_ID"));
    ck_assert_ptr_null(pdk_env_get(&env, "GIT_DIR"));
    ck_assert_int_eq(unsetenv("AWS_ACCESS_KEY_ID"), 0);
    ck_assert_int_eq(unsetenv("GIT_DIR"), 0);
    ck_assert_int_eq(unsetenv("LC_TIME"), 0);
}
END_TEST

START_TEST(path_and_home_have_defaults)
{
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;
    char *path = getenv("PATH") ? strdup(getenv("PATH")) : NULL;
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;

    (void)unsetenv("PATH");
    (void)unsetenv("HOME");
    pdk_env_base(&env);
    ck_assert_str_eq(pdk_env_get(&env, "PATH"), "/usr/local/bin:/usr/bin:/bin");
    ck_assert_str_eq(pdk_env_get(&env, "HOME"), "/");
    if (path)
        (void)setenv("PATH", path, 1);
    if (home)
        (void)setenv("HOME", home, 1);
    free(path);
    free(home);
}
END_TEST

START_TEST(set_replaces_and_does_not_take_a_prefix_for_the_name)
{
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;

    pdk_env_set(&env, "AB", "1");
    pdk_env_set(&env, "A", "2");
    pdk_env_set(&env, "AB", "a=b");
    ck_assert_int_eq((int)env.len, 2);
    ck_assert_str_eq(pdk_env_get(&env, "AB"), "a=b");
    ck_assert_str_eq(pdk_env_get(&env, "A"), "2");
    ck_assert_ptr_null(pdk_env_get(&env, "ABC"));
    pdk_env_pass(&env, "SURELY_NOT_SET_ANYWHERE");
    ck_assert_int_eq((int)env.len, 2);
}
END_TEST

START_TEST(names_of_credentials_are_known_in_any_case)
{
    ck_assert(pdk_env_is_secret("OPENAI_API_KEY"));
    ck_assert(pdk_env_is_secret("github_token"));
    ck_assert(pdk_env_is_secret("DbPassword"));
    ck_assert(pdk_env_is_secret("CLIENT_SECRET_ID"));
    ck_assert(!pdk_env_is_secret("PATH"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("process: env");
    TCase *tc = tcase_create("env");

    tcase_add_test(tc, the_base_is_an_allow_list);
    tcase_add_test(tc, path_and_home_have_defaults);
    tcase_add_test(tc, set_replaces_and_does_not_take_a_prefix_for_the_name);
    tcase_add_test(tc, names_of_credentials_are_known_in_any_case);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
