/* What a command in a sandbox sees: its environment by allow-list, its argv with names put in. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "orchestrator/engine/environ.h"
#include "process/env.h"
#include "tests/support/fixture.h"

/* A plan owns its text, and says so: not const. */
#define TEXT(text) ((char[]){ text })

static struct pdk_pair matrix_pairs[] = { { TEXT("agent"), TEXT("swift") },
    { TEXT("my-key.2"), TEXT("7") } };
static const struct pdk_pairs matrix = { matrix_pairs, 2 };

static const struct pdk_command_scope scope = {
    .run = "r1",
    .attempt = "r1.c3.a1",
    .stage = "mission",
    .sandbox = "/state/sandboxes/r1.c3.a1/tree",
    .objective_file = "/state/logs/r1.c3.a1/objective.txt",
    .candidate = 3,
    .matrix = &matrix,
};

static void make_env(const struct pdk_plan_sandbox *plan, struct pdk_strv *env)
{
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_command_env(plan, &scope, env, &err) == 0, "%s", err.msg);
}

static size_t count_name(const struct pdk_strv *env, const char *name)
{
    size_t n = 0, len = strlen(name);

    for (size_t i = 0; i < env->len; i++)
        if (strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=')
            n++;
    return n;
}

START_TEST(only_the_safe_base_crosses)
{
    struct pdk_plan_sandbox plan = { 0 };
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;

    ck_assert_int_eq(setenv("PDK_TEST_PLANTED", "x", 1), 0);
    ck_assert_int_eq(setenv("GIT_DIR", "/elsewhere", 1), 0);
    make_env(&plan, &env);
    (void)unsetenv("GIT_DIR");
    ck_assert_ptr_null(pdk_env_get(&env, "PDK_TEST_PLANTED"));
    ck_assert_ptr_null(pdk_env_get(&env, "GIT_DIR"));
    ck_assert_ptr_nonnull(pdk_env_get(&env, "PATH"));
    ck_assert_ptr_nonnull(pdk_env_get(&env, "HOME"));
}
END_TEST

START_TEST(what_the_plan_names_crosses)
{
    char *names[] = { TEXT("PDK_TEST_PLANTED"), TEXT("PDK_TEST_MISSING"), NULL };
    struct pdk_plan_sandbox plan = { .pass_env = { .items = names, .len = 2 } };
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;

    ck_assert_int_eq(setenv("PDK_TEST_PLANTED", "x", 1), 0);
    make_env(&plan, &env);
    ck_assert_str_eq(pdk_env_get(&env, "PDK_TEST_PLANTED"), "x");
    ck_assert_ptr_null(pdk_env_get(&env, "PDK_TEST_MISSING"));
}
END_TEST

START_TEST(what_the_plan_sets_is_expanded)
{
    struct pdk_pair pairs[] = { { TEXT("SEED"), TEXT("{{candidate}}-{{matrix.agent}}") },
        { TEXT("EMPTY"), TEXT("") } };
    struct pdk_plan_sandbox plan = { .env = { pairs, 2 } };
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;

    make_env(&plan, &env);
    ck_assert_str_eq(pdk_env_get(&env, "SEED"), "3-swift");
    ck_assert_str_eq(pdk_env_get(&env, "EMPTY"), "");
}
END_TEST

START_TEST(our_names_stand_over_planted_ones)
{
    struct pdk_pair pairs[] = { { TEXT("PADDOCK_RUN"), TEXT("forged") },
        { TEXT("PWD"), TEXT("/forged") } };
    struct pdk_plan_sandbox plan = { .env = { pairs, 2 } };
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;

    make_env(&plan, &env);
    ck_assert_str_eq(pdk_env_get(&env, "PADDOCK_RUN"), "r1");
    ck_assert_uint_eq(count_name(&env, "PADDOCK_RUN"), 1);
    ck_assert_str_eq(pdk_env_get(&env, "PWD"), scope.sandbox);
    ck_assert_str_eq(pdk_env_get(&env, "PADDOCK_CANDIDATE"), "3");
    ck_assert_str_eq(pdk_env_get(&env, "PADDOCK_ATTEMPT"), "r1.c3.a1");
    ck_assert_str_eq(pdk_env_get(&env, "PADDOCK_STAGE"), "mission");
    ck_assert_str_eq(pdk_env_get(&env, "PADDOCK_SANDBOX"), scope.sandbox);
    ck_assert_str_eq(pdk_env_get(&env, "PADDOCK_OBJECTIVE_FILE"), scope.objective_file);
    ck_assert_str_eq(
            pdk_env_get(&env, "GIT_CEILING_DIRECTORIES"), "/state/sandboxes/r1.c3.a1");
}
END_TEST

START_TEST(a_matrix_key_becomes_a_name_that_shells_take)
{
    struct pdk_plan_sandbox plan = { 0 };
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;

    make_env(&plan, &env);
    ck_assert_str_eq(pdk_env_get(&env, "PADDOCK_MATRIX_AGENT"), "swift");
    ck_assert_str_eq(pdk_env_get(&env, "PADDOCK_MATRIX_MY_KEY_2"), "7");
}
END_TEST

START_TEST(an_unknown_name_in_the_environment_is_refused)
{
    struct pdk_pair pairs[] = { { TEXT("GOOD"), TEXT("x") },
        { TEXT("BAD"), TEXT("{{nobody}}") } };
    struct pdk_plan_sandbox plan = { .env = { pairs, 2 } };
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_command_env(&plan, &scope, &env, &err), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "nobody"));
}
END_TEST

START_TEST(argv_has_its_names_put_in)
{
    char *words[] = { TEXT("run"), TEXT("{{run}}/{{ candidate }}"),
        TEXT("{{matrix.agent}}"), TEXT("{{{{run}}"), TEXT(""), NULL };
    struct pdk_command command = { .argv = { .items = words, .len = 5 } };
    PDK_AUTO_STRV struct pdk_strv argv = PDK_STRV_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_command_argv(&command, &scope, &argv, &err), 0);
    ck_assert_uint_eq(argv.len, 5);
    ck_assert_str_eq(argv.items[1], "r1/3");
    ck_assert_str_eq(argv.items[2], "swift");
    ck_assert_str_eq(argv.items[3], "{{run}}");
    ck_assert_str_eq(argv.items[4], "");
}
END_TEST

START_TEST(an_unknown_name_in_argv_is_refused)
{
    char *words[] = { TEXT("x"), TEXT("{{matrix.none}}"), NULL };
    struct pdk_command command = { .argv = { .items = words, .len = 2 } };
    PDK_AUTO_STRV struct pdk_strv argv = PDK_STRV_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_command_argv(&command, &scope, &argv, &err), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "matrix.none"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_environ");
    TCase *tc = tcase_create("environ");

    tcase_add_test(tc, only_the_safe_base_crosses);
    tcase_add_test(tc, what_the_plan_names_crosses);
    tcase_add_test(tc, what_the_plan_sets_is_expanded);
    tcase_add_test(tc, our_names_stand_over_planted_ones);
    tcase_add_test(tc, a_matrix_key_becomes_a_name_that_shells_take);
    tcase_add_test(tc, an_unknown_name_in_the_environment_is_refused);
    tcase_add_test(tc, argv_has_its_names_put_in);
    tcase_add_test(tc, an_unknown_name_in_argv_is_refused);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
