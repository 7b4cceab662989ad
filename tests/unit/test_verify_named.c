/* Which files a check runs. */
#include <check.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "plan/plan.h"
#include "tests/support/fixture.h"
#include "verify/named.h"

static const struct {
    const char *line, *paths;
} table[] = {
    { "", "" },
    { "make test", "make" },
    { "./verify.sh", "verify.sh" },
    { "sh verify.sh", "sh verify.sh" },
    { "sh -e ./verify.sh now", "sh verify.sh" },
    { "bash 'my tests/run it.sh'", "bash my tests/run it.sh" },
    { "python3.11 tools/check.py data.json", "python3.11 tools/check.py" },
    { "A=1 B=x/y ./t", "t" },
    { "! ./t", "t" },
    { "grep -q two f", "grep" },
    { "a && ./b || c; d | ./e", "a b c d e" },
    { "if ./a; then ./b; fi", "a b fi" },
    { "(cd tests && ./run)", "tests/run" },
    { "cd a/; cd ./b; sh x", "a/b/sh a/b/x" },
    { ". ./lib.sh; go", "lib.sh go" },
    { "/bin/sh check", "check" },
    { "./x > f 2>&1", "x 1" },
    { "sh $SCRIPT; sh ../up; ./a\\ b", "sh sh a b" },
    { "exec env X=1 ./t", "t" },
    { "'unended ./a", "unended ./a" },
};

START_TEST(a_line_names_its_programs_and_scripts)
{
    struct pdk_command command = { .shell = true };
    PDK_AUTO_STRV struct pdk_strv names = PDK_STRV_INIT;
    PDK_AUTO_BUF struct pdk_buf joined = PDK_BUF_INIT;

    pdk_strv_add(&command.argv, "sh");
    pdk_strv_add(&command.argv, "-c");
    pdk_strv_add(&command.argv, table[_i].line);
    pdk_named_files(&command, &names);
    for (size_t i = 0; i < names.len; i++)
        pdk_buf_addf(&joined, "%s%s", i ? " " : "", names.items[i]);
    ck_assert_str_eq(pdk_buf_str(&joined), table[_i].paths);
    pdk_strv_fini(&command.argv);
}
END_TEST

START_TEST(an_argv_names_its_program_and_script)
{
    struct pdk_command command = { .shell = false };
    PDK_AUTO_STRV struct pdk_strv names = PDK_STRV_INIT;

    pdk_strv_add(&command.argv, "./bin/t");
    pdk_strv_add(&command.argv, "; ./other");
    pdk_named_files(&command, &names);
    ck_assert_uint_eq(names.len, 1);
    ck_assert_str_eq(names.items[0], "bin/t");
    pdk_strv_fini(&command.argv);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verify_named");
    TCase *tc = tcase_create("named");

    tcase_add_loop_test(tc, a_line_names_its_programs_and_scripts, 0,
            (int)(sizeof(table) / sizeof(*table)));
    tcase_add_test(tc, an_argv_names_its_program_and_script);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
