/*
 * Random edits of random trees, by a candidate and by the user: what lands is the tree, exactly; over the
 * user's edits it is the tree that git merges, and where git finds a conflict nothing is changed.
 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "promote/land.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/landing.h"
#include "trees/repo.h"

enum { CASES = 300 }; /* PDK_CASES in the environment says otherwise */

static uint32_t next(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525U + 1013904223U;
    return (*seed >> 8) % below;
}

/* Few names on few levels, so that files, links and directories meet at the same path. */
static void add_path(struct pdk_buf *out, uint32_t *seed)
{
    static const char *const names[] = { "a", "a.b", "b c", "-x", "q\"", "$z" };
    uint32_t depth = 1 + next(seed, 3);

    pdk_buf_adds(out, "'./");
    for (uint32_t i = 0; i < depth; i++)
        pdk_buf_addf(out, "%s%s", i > 0 ? "/" : "", names[next(seed, 6)]);
    pdk_buf_adds(out, "'");
}

/* Each edit clears what is in its way, so that it always succeeds. */
static void add_edit(struct pdk_buf *out, uint32_t *seed)
{
    pdk_buf_adds(out, "p=");
    add_path(out, seed);
    switch (next(seed, 9)) {
    case 5:
        pdk_buf_addf(out, "; put \"$p\" && seq 20 | sed 's/$/-%u/' > \"$p\"\n",
                next(seed, 1U << 20));
        return;
    case 6:
    case 7:
        pdk_buf_addf(out,
                "; test -f \"$p\" -a ! -L \"$p\" && sed -i 's/^%u-/x%u-/' \"$p\"; :\n",
                1 + next(seed, 20), next(seed, 3));
        return;
    case 8:
        pdk_buf_adds(out, "; test -f \"$p\" -a ! -L \"$p\" && chmod +x \"$p\"; :\n");
        return;
    case 4:
        pdk_buf_addf(out, "; put \"$p\" && seq 20 | sed 's/$/-%u\\r/' > \"$p\"\n",
                next(seed, 1U << 20));
        return;
    case 0:
        pdk_buf_adds(out, "; rm -rf \"$p\"\n");
        return;
    case 1:
        pdk_buf_addf(out, "; put \"$p\" && ln -s t%u \"$p\"\n", next(seed, 1U << 20));
        return;
    case 2:
        pdk_buf_addf(out,
                "; put \"$p\" && printf 'x\\000%u' > \"$p\" && chmod +x \"$p\"\n",
                next(seed, 1U << 20));
        return;
    default:
        pdk_buf_addf(
                out, "; put \"$p\" && printf '%u\\n' > \"$p\"\n", next(seed, 1U << 20));
    }
}

static char *edits(uint32_t *seed, uint32_t most)
{
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    uint32_t n = 1 + next(seed, most);

    pdk_buf_adds(&out,
            "put() { d=$(dirname \"$1\"); rm -rf \"$1\"; mkdir -p \"$d\" 2>/dev/null || "
            "{ top=${1#./}; rm -rf \"./${top%%/*}\"; mkdir -p \"$d\"; }; }\n");
    for (uint32_t i = 0; i < n; i++)
        add_edit(&out, seed);
    return pdk_buf_take(&out);
}

/*
 * What git merges of base, candidate and what the user has: a tree, or "conflict". No two contents are
 * alike, so that git finds no renames. Owned.
 */
static char *merged_by_git(const struct pdk_test_landing *t)
{
    PDK_AUTO_FREE char *mine = pdk_test_landing_tree(t);

    return pdk_test_sh(t->path,
            "export GIT_ALTERNATE_OBJECT_DIRECTORIES='%s/objects' GIT_OBJECT_DIRECTORY='%s/objects';"
            "GIT_ALTERNATE_OBJECT_DIRECTORIES=$GIT_ALTERNATE_OBJECT_DIRECTORIES:'%s';"
            "base=$(git commit-tree %s -m b); a=$(git commit-tree %s -p $base -m a);"
            "b=$(git commit-tree %s -p $base -m b);"
            "git -c merge.renames=false merge-tree --write-tree --no-messages $b $a > out.$$ && head -1 out.$$ || echo conflict;"
            "rm out.$$",
            t->vault_path, t->vault_path, t->repo->objects, t->from.hex, t->to.hex, mine);
}

START_TEST(what_lands_is_the_tree)
{
    uint32_t seed = (uint32_t)_i * 7919U + 1;
    PDK_AUTO_FREE char *before = edits(&seed, 20);
    PDK_AUTO_FREE char *change = edits(&seed, 12);
    PDK_AUTO_FREE char *user = edits(&seed, 4);
    PDK_AUTO_LAND_RESULT struct pdk_land_result refused = { 0 };
    PDK_AUTO_LAND_RESULT struct pdk_land_result result = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_test_landing t;
    int rc;

    pdk_test_landing_open(&t, before, change);
    free(pdk_test_sh(t.path, "cp -a . ../mine"));
    rc = pdk_test_landing_do(&t, false, &result, &err);
    ck_assert_msg(rc == 0, "case %d: %s\n%s\n--\n%s", _i, err.msg, before, change);
    PDK_AUTO_FREE char *tree = pdk_test_landing_tree(&t);
    ck_assert_msg(strcmp(tree, t.to.hex) == 0, "case %d: another tree\n%s\n--\n%s", _i,
            before, change);

    free(pdk_test_sh(
            t.path, "cd .. && rm -rf repo && mv mine repo && cd repo && { %s\n}", user));
    PDK_AUTO_FREE char *expected = merged_by_git(&t);
    PDK_AUTO_FREE char *state = pdk_test_landing_state(&t);
    rc = pdk_test_landing_do(&t, false, &refused, &err);
    ck_assert_msg(rc == 0 || (rc == PDK_ECONFLICT && refused.n_conflicts > 0),
            "case %d: %s", _i, err.msg);
    PDK_AUTO_FREE char *state_after = pdk_test_landing_state(&t);
    if (rc < 0)
        ck_assert_str_eq(state, state_after);
    PDK_AUTO_FREE char *mine = pdk_test_landing_tree(&t);
    ck_assert_msg(strcmp(rc < 0 ? "conflict" : mine, expected) == 0,
            "case %d: git: %s, here: %s %s\n%s\n--\n%s\n--\n%s", _i, expected,
            rc < 0 ? err.msg : "", mine, before, change, user);
    free(pdk_test_sh(t.path, "! ls -A | grep paddock"));
    pdk_test_landing_close(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("promote");
    TCase *tc = tcase_create("property");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    const char *cases = getenv("PDK_CASES");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(
            tc, what_lands_is_the_tree, 0, cases ? (int)strtol(cases, NULL, 10) : CASES);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
