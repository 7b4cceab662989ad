/* Random edits to a checkout: the captured tree is the one that git makes of it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/trees.h"
#include "trees/repo.h"

/* Each repository is edited and captured again and again: making one takes longer than a round. */
enum { REPOSITORIES = 20, ROUNDS = 10, EDITS = 12 };

static size_t pick(unsigned int *seed, size_t n)
{
    return (size_t)rand_r(seed) % n;
}

/* Names as words of the shell. */
static const char *name_of(unsigned int *seed)
{
    static const char *const names[] = { "a", "b", "a.b", "d", "d/x", "d/y", "d/e/z",
        "a/q", "x.log", "d/x.log", "keep.log", "out/o", "'s p'", "\"$(printf 'n\\nl')\"",
        "'q\"'", "\"$(printf 'i\\377')\"", "./-dash", "' lead'", "crlf.txt", "d/bin.dat",
        "'*'", "d-e", "d.e" };

    return names[pick(seed, sizeof(names) / sizeof(names[0]))];
}

static void add_edit(struct pdk_buf *script, unsigned int *seed)
{
    static const char *const edits[] = { "rm -rf %s", "put %s 'a\\nb\\n'",
        "put %s 'a\\r\\nb\\r\\n'", "put %s 'x\\0y\\r\\n'", "put %s ''", "chmod +x %s",
        "chmod -x %s", "rm -rf %s; ln -s to/nowhere %s",
        "rm -rf %s; mkdir -p %s; put %s/in 'i\\n'", "put %s 'mixed\\r\\nlines\\n'",
        "touch %s", "mkdir -p %s" };
    const char *edit = edits[pick(seed, sizeof(edits) / sizeof(edits[0]))];
    const char *name = name_of(seed);

    for (; *edit; edit++) {
        if (edit[0] == '%' && edit[1] == 's') {
            pdk_buf_adds(script, name);
            edit++;
        } else {
            pdk_buf_addc(script, *edit);
        }
    }
    pdk_buf_adds(script, "\n");
    if (pick(seed, 4) == 0)
        pdk_buf_addf(script, "put %s.gitignore '%s'\n", pick(seed, 2) ? "" : "d/",
                pick(seed, 2) ? "*.log\\n!keep.log\\nout/\\n" : "/a\\ne\\n_dirs/y\\n");
}

static char *script_of(unsigned int *seed, size_t edits)
{
    PDK_AUTO_BUF struct pdk_buf script = PDK_BUF_INIT;

    pdk_buf_adds(&script,
            "exec 2>/dev/null\n"
            "put() { case $1 in */*) [ -d \"${1%/*}\" ] || mkdir -p \"${1%/*}\";; esac; [ -d \"$1\" ] || printf \"$2\" > \"$1\"; }\n");
    for (size_t i = 0; i < edits; i++)
        add_edit(&script, seed);
    pdk_buf_adds(&script, "true\n");
    return pdk_buf_take(&script);
}

static void configure(struct pdk_test_trees *t, unsigned int seed)
{
    static const char *const commands[] = { "true", "git config core.autocrlf true",
        "git config core.autocrlf input", "git config core.eol crlf" };

    free(pdk_test_sh(t->path, "%s", commands[seed % 4]));
}

static void compare(struct pdk_test_trees *t, const char *script)
{
    struct pdk_oid theirs = pdk_test_trees_git(t), ours;

    ours = pdk_test_trees_capture(t, NULL);
    if (!pdk_oid_equal(&ours, &theirs)) {
        PDK_AUTO_FREE char *list = pdk_test_trees_list(t, &ours);
        PDK_AUTO_FREE char *want = pdk_test_sh(t->path,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES='%s/../scratch-objects' git ls-tree -r %s",
                t->path, theirs.hex);

        ck_abort_msg("ours:\n%s\ngit's:\n%s\nscript:\n%s", list, want, script);
    }
    t->tree = ours;
}

START_TEST(captures_what_git_would)
{
    unsigned int seed = (unsigned int)_i * 104729U + 3;
    struct pdk_test_trees t;
    PDK_AUTO_BUF struct pdk_buf setup = PDK_BUF_INIT;
    PDK_AUTO_FREE char *first = script_of(&seed, EDITS);

    pdk_buf_adds(&setup, first);
    if (_i % 2)
        pdk_buf_adds(&setup,
                "printf '*.txt text\\n*.dat -text\\n_dirs/* text=auto\\na text eol=crlf\\n' "
                "> .gitattributes\n");
    pdk_test_trees_open(&t, pdk_buf_str(&setup));
    configure(&t, seed);
    pdk_repo_free(t.repo);
    t.repo = NULL;
    ck_assert_int_eq(pdk_repo_open(t.path, &t.repo, NULL), 0);
    pdk_test_trees_checkout(&t);
    compare(&t, "");
    for (int round = 0; round < ROUNDS; round++) {
        PDK_AUTO_FREE char *script = script_of(&seed, EDITS);

        free(pdk_test_sh(t.copy, "%s", script));
        compare(&t, script);
    }
    pdk_test_trees_close(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("property_capture");
    TCase *tc = tcase_create("capture");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_loop_test(tc, captures_what_git_would, 0, REPOSITORIES);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
