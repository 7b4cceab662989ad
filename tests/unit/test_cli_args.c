/* The command line taken apart: options in every form, before and after words, and what is wrong told. */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "orchestrator/cli/cli.h"
#include "tests/support/fixture.h"

enum { WORDS_MAX = 16 };

/* The last command line parsed, for as long as a test runs. */
static struct pdk_args args;
static struct pdk_err err;
static const char *group;
static char *argv_now[WORDS_MAX + 1];

static void fini(void)
{
    pdk_args_fini(&args);
}

/* Parses "paddock" and the words, which end in NULL. */
static int parse(const char *const *words)
{
    int argc = 1;

    argv_now[0] = (char *)(uintptr_t) "paddock";
    for (size_t i = 0; words[i]; i++) {
        ck_assert_int_lt(argc, WORDS_MAX);
        argv_now[argc++] = (char *)(uintptr_t)words[i];
    }
    argv_now[argc] = NULL;
    pdk_args_fini(&args);
    err = (struct pdk_err)PDK_ERR_INIT;
    return pdk_args_parse(argc, argv_now, &args, &group, &err);
}

#define PARSE(...) parse((const char *const[]){ __VA_ARGS__, NULL })

START_TEST(a_command_is_found_with_its_group)
{
    ck_assert_int_eq(PARSE("mission", "run", "m.yaml"), 0);
    ck_assert_str_eq(args.row->group, "mission");
    ck_assert_str_eq(args.row->name, "run");
    ck_assert_uint_eq(args.words_len, 1);
    ck_assert_str_eq(args.words[0], "m.yaml");
    ck_assert_int_eq(PARSE("run", "m.yaml"), 0);
    ck_assert_ptr_null(args.row->group);
}
END_TEST

START_TEST(long_options_take_values_in_both_forms)
{
    ck_assert_int_eq(PARSE("mission", "run", "m", "--timeout", "5m", "--base=HEAD~1"), 0);
    ck_assert_str_eq(pdk_args_get(&args, "timeout", ""), "5m");
    ck_assert_str_eq(pdk_args_get(&args, "base", ""), "HEAD~1");
    ck_assert_int_eq(PARSE("mission", "run", "m", "--cmd=", "--set=a=b"), 0);
    ck_assert_str_eq(pdk_args_get(&args, "cmd", "none"), "");
    ck_assert_str_eq(pdk_args_get(&args, "set", ""), "a=b");
}
END_TEST

START_TEST(short_options_take_values_in_both_forms)
{
    ck_assert_int_eq(PARSE("mission", "run", "m", "-n4", "-j", "2"), 0);
    ck_assert_str_eq(pdk_args_get(&args, "candidates", ""), "4");
    ck_assert_str_eq(pdk_args_get(&args, "max-concurrent", ""), "2");
}
END_TEST

START_TEST(short_switches_stand_together)
{
    ck_assert_int_eq(PARSE("-qv", "mission", "run", "m", "-qn4"), 0);
    ck_assert(pdk_args_has(&args, "quiet"));
    ck_assert(pdk_args_has(&args, "verbose"));
    ck_assert_str_eq(pdk_args_get(&args, "candidates", ""), "4");
}
END_TEST

START_TEST(an_optional_value_comes_with_an_equals_sign_only)
{
    ck_assert_int_eq(PARSE("mission", "run", "--promote", "m.yaml"), 0);
    ck_assert(pdk_args_has(&args, "promote"));
    ck_assert_str_eq(pdk_args_get(&args, "promote", "none"), "none");
    ck_assert_uint_eq(args.words_len, 1);
    ck_assert_int_eq(PARSE("mission", "run", "m", "--promote=patch"), 0);
    ck_assert_str_eq(pdk_args_get(&args, "promote", "none"), "patch");
}
END_TEST

START_TEST(options_come_before_between_and_after_words)
{
    ck_assert_int_eq(PARSE("--json", "-C", "/repo", "diff", "--stat", "r/c1", "--state",
                             "/s", "r/c2"),
            0);
    ck_assert(pdk_args_has(&args, "json"));
    ck_assert(pdk_args_has(&args, "stat"));
    ck_assert_str_eq(pdk_args_get(&args, "directory", ""), "/repo");
    ck_assert_str_eq(pdk_args_get(&args, "state", ""), "/s");
    ck_assert_uint_eq(args.words_len, 2);
    ck_assert_str_eq(args.words[1], "r/c2");
}
END_TEST

START_TEST(after_two_dashes_all_belongs_to_the_command)
{
    ck_assert_int_eq(
            PARSE("sandbox", "exec", "s", "--timeout=5s", "--", "ls", "-l", "--json"), 0);
    ck_assert_uint_eq(args.words_len, 1);
    ck_assert_uint_eq(args.rest_len, 3);
    ck_assert_str_eq(args.rest[1], "-l");
    ck_assert(!pdk_args_has(&args, "json"));
}
END_TEST

START_TEST(a_dash_alone_is_a_word)
{
    ck_assert_int_eq(PARSE("mission", "run", "-"), 0);
    ck_assert_str_eq(args.words[0], "-");
    ck_assert_int_eq(PARSE("promote", "r", "-o", "-"), 0);
    ck_assert_str_eq(pdk_args_get(&args, "output", ""), "-");
}
END_TEST

START_TEST(the_last_value_counts_and_each_can_be_had)
{
    size_t at = 0;

    ck_assert_int_eq(PARSE("mission", "run", "--check", "a", "--cmd=x", "--check=b"), 0);
    ck_assert_str_eq(pdk_args_get(&args, "check", ""), "b");
    ck_assert_str_eq(pdk_args_next(&args, "check", &at), "a");
    ck_assert_str_eq(pdk_args_next(&args, "check", &at), "b");
    ck_assert_ptr_null(pdk_args_next(&args, "check", &at));
}
END_TEST

START_TEST(an_unknown_option_is_named_with_the_nearest)
{
    ck_assert_int_eq(PARSE("mission", "run", "m", "--timout=3s"), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "--timout"));
    ck_assert_ptr_nonnull(strstr(err.hint, "--timeout"));
    ck_assert_int_eq(PARSE("mission", "run", "m", "-z"), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.hint, "paddock mission run --help"));
    ck_assert_int_eq(PARSE("runs", "--candidates", "4"), PDK_EINVAL);
}
END_TEST

START_TEST(an_unknown_command_is_named_with_the_nearest)
{
    ck_assert_int_eq(PARSE("mision", "run"), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.hint, "mission"));
    ck_assert_int_eq(PARSE("sandbox", "creat", "s"), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "sandbox creat"));
    ck_assert_ptr_nonnull(strstr(err.hint, "create"));
    ck_assert_int_eq(PARSE("qqqqqqqq"), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.hint, "--help"));
}
END_TEST

START_TEST(a_missing_value_is_an_error)
{
    ck_assert_int_eq(PARSE("mission", "run", "m", "--timeout"), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "needs a value"));
    ck_assert_int_eq(PARSE("mission", "run", "m", "-n"), PDK_EINVAL);
    ck_assert_int_eq(PARSE("runs", "--json=yes"), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "takes no value"));
}
END_TEST

START_TEST(too_few_and_too_many_words_are_errors)
{
    ck_assert_int_eq(PARSE("show"), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "missing"));
    ck_assert_ptr_nonnull(strstr(err.hint, "paddock show RUN"));
    ck_assert_int_eq(PARSE("show", "a", "b"), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "too many"));
}
END_TEST

START_TEST(help_needs_no_words)
{
    ck_assert_int_eq(PARSE("show", "--help"), 0);
    ck_assert(pdk_args_has(&args, "help"));
    ck_assert_int_eq(PARSE("mission", "-h"), 0);
    ck_assert_ptr_null(args.row);
    ck_assert_str_eq(group, "mission");
    ck_assert_int_eq(PARSE("--help"), 0);
    ck_assert_ptr_null(group);
}
END_TEST

START_TEST(numbers_are_whole_and_in_range)
{
    int n = 0;

    ck_assert_int_eq(PARSE("mission", "run", "m", "-n", "7"), 0);
    ck_assert_int_eq(pdk_args_int(&args, "candidates", 1, 64, 1, &n, &err), 0);
    ck_assert_int_eq(n, 7);
    ck_assert_int_eq(pdk_args_int(&args, "max-concurrent", 1, 64, 5, &n, &err), 0);
    ck_assert_int_eq(n, 5);
    ck_assert_int_eq(pdk_args_int(&args, "candidates", 1, 6, 1, &n, &err), PDK_EINVAL);
    ck_assert_int_eq(PARSE("mission", "run", "m", "-n", "7x"), 0);
    ck_assert_int_eq(pdk_args_int(&args, "candidates", 1, 64, 1, &n, &err), PDK_EINVAL);
    ck_assert_int_eq(PARSE("mission", "run", "m", "-n", "99999999999999999999"), 0);
    ck_assert_int_eq(pdk_args_int(&args, "candidates", 1, 64, 1, &n, &err), PDK_EINVAL);
}
END_TEST

static int compare_rows(const struct pdk_command_row *a, const struct pdk_command_row *b)
{
    int groups = strcmp(a->group ? a->group : "", b->group ? b->group : "");

    return groups ? groups : strcmp(a->name, b->name);
}

START_TEST(the_table_is_sorted_and_no_name_is_taken_twice)
{
    size_t n;
    const struct pdk_command_row *table = pdk_command_table(&n);

    for (size_t i = 1; i < n; i++)
        ck_assert_msg(compare_rows(&table[i - 1], &table[i]) < 0, "%s", table[i].name);
}
END_TEST

START_TEST(no_option_hides_a_global_one)
{
    size_t n;
    const struct pdk_command_row *table = pdk_command_table(&n);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < table[i].options_len; k++)
            for (size_t g = 0; g < pdk_global_options_len; g++) {
                const struct pdk_option *own = &table[i].options[k];
                const struct pdk_option *global = &pdk_global_options[g];

                ck_assert_str_ne(own->name, global->name);
                ck_assert(!own->letter || own->letter != global->letter);
            }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_args");
    TCase *tc = tcase_create("args");

    tcase_add_checked_fixture(tc, NULL, fini);
    tcase_add_test(tc, a_command_is_found_with_its_group);
    tcase_add_test(tc, long_options_take_values_in_both_forms);
    tcase_add_test(tc, short_options_take_values_in_both_forms);
    tcase_add_test(tc, short_switches_stand_together);
    tcase_add_test(tc, an_optional_value_comes_with_an_equals_sign_only);
    tcase_add_test(tc, options_come_before_between_and_after_words);
    tcase_add_test(tc, after_two_dashes_all_belongs_to_the_command);
    tcase_add_test(tc, a_dash_alone_is_a_word);
    tcase_add_test(tc, the_last_value_counts_and_each_can_be_had);
    tcase_add_test(tc, an_unknown_option_is_named_with_the_nearest);
    tcase_add_test(tc, an_unknown_command_is_named_with_the_nearest);
    tcase_add_test(tc, a_missing_value_is_an_error);
    tcase_add_test(tc, too_few_and_too_many_words_are_errors);
    tcase_add_test(tc, help_needs_no_words);
    tcase_add_test(tc, numbers_are_whole_and_in_range);
    tcase_add_test(tc, the_table_is_sorted_and_no_name_is_taken_twice);
    tcase_add_test(tc, no_option_hides_a_global_one);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
