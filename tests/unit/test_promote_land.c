/* Landing: what it does to a working tree, and what keeps it from doing so. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"
#include "promote/land.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/landing.h"
#include "trees/repo.h"

#define SAMPLE                                                                           \
    "printf 'one\\n' > f; printf '#!' > run; chmod +x run; mkdir -p d/e; echo x > d/e/x; ln -s f l"

struct landing {
    const char *name, *before, *change;
    const char *
            user; /* what the user does meanwhile, outside of the change; NULL: nothing */
    const char *expect; /* shell that must succeed after; NULL: none */
};

static const struct landing landings[] = {
    { "nothing", SAMPLE, ":", NULL, NULL },
    { "modify", SAMPLE, "echo two > f", NULL, "test \"$(cat f)\" = two" },
    { "add in a new directory", SAMPLE, "mkdir -p n/m/o; echo a > n/m/o/a", NULL, NULL },
    { "delete with directories", SAMPLE, "rm -r d", NULL, "! test -e d" },
    { "delete, but keep an untracked neighbour", SAMPLE, "rm -r d",
            "echo u > .git/info/exclude; echo u > d/u", "test -e d/u && ! test -e d/e" },
    { "a directory keeps its mode", SAMPLE "; chmod 700 d/e", "rm d/e/x; echo y > d/e/y",
            NULL, "test \"$(stat -c %a d/e)\" = 700" },
    { "executable bit on", SAMPLE, "chmod +x f", NULL, "test -x f" },
    { "executable bit off", SAMPLE, "chmod -x run", NULL, "! test -x run" },
    { "other mode bits stay", SAMPLE "; chmod 640 f", "echo two > f", NULL,
            "test \"$(stat -c %a f)\" = 640" },
    { "binary", "printf 'a\\0b' > b", "head -c 100000 /dev/urandom > b; printf '\\0' > c",
            NULL, NULL },
    { "empty and without a newline", SAMPLE, ": > f; printf x > g", NULL, NULL },
    { "link changes", SAMPLE, "ln -sfn run l; ln -s /nowhere/at/all m", NULL,
            "test \"$(readlink l)\" = run" },
    { "link to file", SAMPLE, "rm l; echo l > l", NULL,
            "! test -L l && test \"$(cat f)\" = one" },
    { "file to link", SAMPLE, "ln -sf run f", NULL, "test -L f" },
    { "file to directory", SAMPLE, "rm f; mkdir f; echo a > f/a", NULL, "test -f f/a" },
    { "link to directory", "mkdir d; echo a > d/a; ln -s d l",
            "rm l; mkdir l; echo a > l/a", NULL, "test -d l && ! test -L l" },
    { "directory to file", SAMPLE, "rm -r d; echo d > d", NULL, "test -f d" },
    { "directory to link", SAMPLE, "rm -r d; ln -s f d", NULL, "test -L d" },
    { "deep directory to file", "mkdir -p d/e/f; echo 1 > d/e/f/g; echo 2 > d/h",
            "rm -r d/e; echo e > d/e", NULL, NULL },
    { "empty directories in the way", SAMPLE, "rm -r d; echo d > d; echo n > n",
            "mkdir -p d/1/2 n/3", "test -f d && test -f n" },
    { "odd names",
            "echo 1 > \"$(printf 'a\\nb\\t\"')\"; echo 1 > -- 2>/dev/null; echo 1 > ./-rf; echo 1 > 'c d'",
            "echo 2 > \"$(printf 'a\\nb\\t\"')\"; echo 2 > ./-rf; rm 'c d'; echo 3 > \"$(printf '\\377\\001')\"; echo 4 > '*'",
            NULL, NULL },
    { "CRLF by attribute",
            "echo '*.txt text eol=crlf' > .gitattributes; printf 'a\\r\\nb\\r\\n' > t.txt",
            "printf 'a\\r\\nc\\r\\n' > t.txt; printf 'n\\r\\n' > n.txt", NULL,
            "test \"$(od -An -c t.txt | tr -d ' ')\" = 'a\\r\\nc\\r\\n' && "
            "test \"$(od -An -c n.txt | tr -d ' ')\" = 'n\\r\\n'" },
    { "CRLF by configuration",
            "git config core.autocrlf true; mkdir d; printf 'a\\r\\n' > d/t",
            "printf 'b\\r\\n' > d/t", NULL,
            "test \"$(od -An -c d/t | tr -d ' ')\" = 'b\\r\\n'" },
    { "attributes of a directory",
            "mkdir d; echo '* eol=crlf' > d/.gitattributes; printf 'a\\r\\n' > d/t",
            "printf 'b\\r\\n' > d/t", NULL,
            "test \"$(od -An -c d/t | tr -d ' ')\" = 'b\\r\\n'" },
    { "what is staged stays", SAMPLE, "echo two > f", "echo s > s; git add s",
            "git diff --cached --quiet -- f" },
};

START_TEST(a_change_lands_whole)
{
    const struct landing *c = &landings[_i];
    struct pdk_test_landing t;
    PDK_AUTO_LAND_RESULT struct pdk_land_result result = { 0 };
    PDK_AUTO_LAND_RESULT struct pdk_land_result dry = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_landing_open(&t, c->before, c->change);
    if (c->user)
        free(pdk_test_sh(t.path, "%s", c->user));
    PDK_AUTO_FREE char *index = pdk_test_sh(t.path, "sha1sum .git/index .git/HEAD");
    PDK_AUTO_FREE char *state = pdk_test_landing_state(&t);
    ck_assert_msg(
            pdk_test_landing_do(&t, true, &dry, &err) == 0, "%s: %s", c->name, err.msg);
    PDK_AUTO_FREE char *state_dry = pdk_test_landing_state(&t);
    ck_assert_str_eq(state, state_dry);
    ck_assert_msg(pdk_test_landing_do(&t, false, &result, &err) == 0, "%s: %s", c->name,
            err.msg);
    ck_assert_uint_eq(dry.len, result.len);
    PDK_AUTO_FREE char *index_after = pdk_test_sh(t.path, "sha1sum .git/index .git/HEAD");
    ck_assert_str_eq(index, index_after);
    PDK_AUTO_FREE char *differs = pdk_test_sh(t.path,
            "export GIT_INDEX_FILE='%s/i' GIT_ALTERNATE_OBJECT_DIRECTORIES='%s/objects'; cp .git/index \"$GIT_INDEX_FILE\";"
            " git add -A; rm -f s; git rm -q --cached --ignore-unmatch s; git diff --cached --name-status %s; rm -f \"$GIT_INDEX_FILE\"",
            t.vault_path, t.vault_path, t.to.hex);
    ck_assert_msg(differs[0] == '\0', "%s: differs: %s", c->name, differs);
    if (c->expect)
        free(pdk_test_sh(t.path, "%s", c->expect));
    free(pdk_test_sh(t.path, "! ls -A | grep paddock"));
    pdk_test_landing_close(&t);
}
END_TEST

struct refusal {
    const char *name, *before, *change, *user;
    const char *conflicts; /* "path: why" a line */
};

static const struct refusal refusals[] = {
    { "edited", SAMPLE, "echo two > f; echo new > n", "echo mine > f",
            "f: changed meanwhile\n" },
    { "same size", SAMPLE, "echo two > f", "echo six > f", "f: changed meanwhile\n" },
    { "staged", SAMPLE, "echo two > f", "echo mine > f; git add f",
            "f: changed meanwhile\n" },
    { "removed", SAMPLE, "echo two > f", "rm f", "f: removed meanwhile\n" },
    { "removed with its directory", SAMPLE, "echo y > d/e/x", "rm -r d",
            "d/e/x: removed meanwhile\n" },
    { "deleted here, edited there", SAMPLE, "rm f", "echo mine > f",
            "f: changed meanwhile\n" },
    { "link for a file", SAMPLE, "echo two > f", "ln -sf run f",
            "f: of another type now\n" },
    { "link moved", SAMPLE, "ln -sfn run l", "ln -sfn d l", "l: changed meanwhile\n" },
    { "executable bit added twice", SAMPLE, "echo n > n", "echo n > n; chmod +x n",
            "n: exists already\n" },
    { "binary on both sides", "printf 'a\\0\n\n\n\nb' > f", "printf 'A\\0\n\n\n\nb' > f",
            "printf 'a\\0\n\n\n\nB' > f", "f: changed meanwhile\n" },
    { "the same line on both sides", "seq 9 > f", "sed -i s/5/five/ f",
            "sed -i s/5/5th/ f", "f: changed meanwhile\n" },
    { "one clean, one not", "seq 9 > f; seq 9 > g", "sed -i s/1/one/ f g",
            "sed -i s/9/nine/ f; sed -i s/1/1st/ g", "g: changed meanwhile\n" },
    { "directory for a file", SAMPLE, "echo two > f", "rm f; mkdir f",
            "f: of another type now\n" },
    { "untracked file", SAMPLE, "echo n > n", "echo mine > n", "n: exists already\n" },
    { "ignored file", SAMPLE, "echo n > n", "echo n > .git/info/exclude; echo mine > n",
            "n: exists already\n" },
    { "untracked directory", SAMPLE, "echo n > n", "mkdir n; echo mine > n/m",
            "n: exists already\n" },
    { "dangling link", SAMPLE, "echo n > n", "ln -s /nowhere n", "n: exists already\n" },
    { "parent is a file", SAMPLE, "mkdir n; echo n > n/n", "echo mine > n",
            "n/n: below a file or a link\n" },
    { "parent is a link out", SAMPLE, "mkdir n; echo n > n/n", "ln -s /tmp n",
            "n/n: below a file or a link\n" },
    { "parent became a link", SAMPLE, "echo y > d/e/x", "mv d D; ln -s D d",
            "d/e/x: below a file or a link\n" },
    { "directory with more in it", SAMPLE, "rm -r d; echo d > d", "echo mine > d/mine",
            "d: exists already\n" },
    { "fifo", SAMPLE, "echo two > f", "rm f; mkfifo f", "f: of another type now\n" },
    { "CRLF with an edit",
            "echo '*.txt eol=crlf' > .gitattributes; printf 'a\\r\\n' > t.txt",
            "printf 'c\\r\\n' > t.txt", "printf 'b\\r\\n' > t.txt",
            "t.txt: changed meanwhile\n" },
    { "all are named", SAMPLE, "for i in 1 2 3 4 5 6; do echo $i > n$i; done",
            "for i in 1 2 3 4 5 6; do echo u > n$i; done",
            "n1: exists already\nn2: exists already\nn3: exists already\n"
            "n4: exists already\nn5: exists already\nn6: exists already\n" },
};

START_TEST(a_conflict_leaves_everything)
{
    const struct refusal *c = &refusals[_i];
    struct pdk_test_landing t;
    PDK_AUTO_LAND_RESULT struct pdk_land_result result = { 0 };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_landing_open(&t, c->before, c->change);
    free(pdk_test_sh(t.path, "%s", c->user));
    PDK_AUTO_FREE char *before = pdk_test_landing_state(&t);
    ck_assert_msg(pdk_test_landing_do(&t, false, &result, &err) == PDK_ECONFLICT,
            "%s: %s", c->name, err.msg);
    for (size_t i = 0; i < result.n_conflicts; i++)
        pdk_buf_addf(
                &text, "%s: %s\n", result.conflicts[i].path, result.conflicts[i].why);
    ck_assert_msg(strcmp(pdk_buf_str(&text), c->conflicts) == 0, "%s: %s", c->name,
            pdk_buf_str(&text));
    ck_assert_ptr_nonnull(strstr(err.msg, result.conflicts[0].path));
    ck_assert_uint_eq(result.len, 0);
    if (result.n_conflicts > 4)
        ck_assert_ptr_nonnull(strstr(err.msg, "and 2 more"));
    PDK_AUTO_FREE char *after = pdk_test_landing_state(&t);
    ck_assert_str_eq(before, after);
    pdk_test_landing_close(&t);
}
END_TEST

struct merging {
    const char *name, *before, *change, *user;
    const char *expect; /* shell that must succeed after */
    const char *paths;  /* "M f+" with + for merged, a line each */
};

static const struct merging mergings[] = {
    { "two places of a file", "seq 9 > f", "sed -i s/1/one/ f", "sed -i s/9/nine/ f",
            "grep -q one f && grep -q nine f", "M f+\n" },
    { "no newline at the end", "printf '1\n2\n3\n4\n5' > f", "sed -i s/1/one/ f",
            "printf '1\n2\n3\n4\n5\n6' > f",
            "test \"$(cat f)\" = \"$(printf 'one\n2\n3\n4\n5\n6')\"", "M f+\n" },
    { "bit here, content there", "seq 9 > f", "sed -i s/1/one/ f", "chmod +x f",
            "test -x f && grep -q one f", "M f\n" },
    { "content here, bit there", "seq 9 > f; chmod 600 f", "chmod +x f",
            "sed -i s/1/one/ f",
            "test -x f && grep -q one f && test $(stat -c %a f) = 700", "M f+\n" },
    { "the same edit", "seq 9 > f", "echo x > f", "echo x > f", "test \"$(cat f)\" = x",
            "" },
    { "the same deletion", "seq 9 > f; mkdir d; echo > d/g", "rm -r f d", "rm -r f d",
            "! test -e f", "" },
    { "an equal untracked file", SAMPLE, "echo n > n; ln -s n l2",
            "echo n > n; ln -s n l2", "test \"$(cat n)\" = n", "" },
    { "an edit beside equal ones", "seq 9 > f; seq 9 > g", "echo x > f; echo y > g",
            "echo x > f", "test \"$(cat g)\" = y", "M g\n" },
    { "staged and not", "seq 20 > f", "sed -i s/10/ten/ f",
            "sed -i s/^1$/one/ f; git add f; sed -i s/20/twenty/ f",
            "grep -q ten f && grep -q twenty f && "
            "test \"$(git diff --cached | grep -c '^[+-][^+-]')\" = 2 && ! git show :f | grep -q ten",
            "M f+\n" },
    { "CRLF", "echo '*.txt eol=crlf' > .gitattributes; seq 9 | sed 's/$/\r/' > t.txt",
            "sed -i 's/^1/one/' t.txt", "sed -i 's/^9/nine/' t.txt",
            "test $(grep -c \"$(printf '\r')\" t.txt) = 9 && grep -q one t.txt && grep -q nine t.txt",
            "M t.txt+\n" },
    { "room made for a directory on both sides", "echo 1 > f",
            "rm f; mkdir f; echo a > f/a", "rm f; mkdir f; echo b > f/b",
            "test -e f/a && test -e f/b", "A f/a\n" },
    { "a rename there, an edit elsewhere", "seq 9 > f; seq 9 > g", "git mv f h",
            "sed -i s/9/nine/ g", "test -e h && ! test -e f && grep -q nine g",
            "D f\nA h\n" },
};

static void list_paths(const struct pdk_land_result *result, struct pdk_buf *out)
{
    for (size_t i = 0; i < result->len; i++)
        pdk_buf_addf(out, "%c %s%s\n", result->paths[i].status, result->paths[i].path,
                result->paths[i].merged ? "+" : "");
}

START_TEST(both_sides_come_together)
{
    const struct merging *m = &mergings[_i];
    struct pdk_test_landing t;
    PDK_AUTO_LAND_RESULT struct pdk_land_result preview = { 0 }, result = { 0 };
    PDK_AUTO_BUF struct pdk_buf before = PDK_BUF_INIT, after = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_landing_open(&t, m->before, m->change);
    free(pdk_test_sh(t.path, "%s", m->user));
    PDK_AUTO_FREE char *index = pdk_test_sh(t.path, "sha1sum .git/index");
    PDK_AUTO_FREE char *state = pdk_test_landing_state(&t);
    ck_assert_msg(pdk_test_landing_do(&t, true, &preview, &err) == 0, "%s: %s", m->name,
            err.msg);
    PDK_AUTO_FREE char *same = pdk_test_landing_state(&t);
    ck_assert_str_eq(state, same);
    ck_assert_msg(pdk_test_landing_do(&t, false, &result, &err) == 0, "%s: %s", m->name,
            err.msg);
    list_paths(&preview, &before);
    list_paths(&result, &after);
    ck_assert_msg(strcmp(pdk_buf_str(&before), m->paths) == 0, "%s: %s", m->name,
            pdk_buf_str(&before));
    ck_assert_str_eq(pdk_buf_str(&before), pdk_buf_str(&after));
    free(pdk_test_sh(t.path, "%s", m->expect));
    PDK_AUTO_FREE char *index_after = pdk_test_sh(t.path, "sha1sum .git/index");
    ck_assert_str_eq(index, index_after);
    free(pdk_test_sh(t.path, "! ls -A | grep paddock"));
    pdk_test_landing_close(&t);
}
END_TEST

static void expect_refused(struct pdk_test_landing *t, int code, const char *word)
{
    PDK_AUTO_LAND_RESULT struct pdk_land_result result = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_FREE char *before = pdk_test_landing_state(t);

    ck_assert_int_eq(pdk_test_landing_do(t, false, &result, &err), code);
    ck_assert_msg(strstr(err.msg, word) != NULL, "%s", err.msg);
    PDK_AUTO_FREE char *after = pdk_test_landing_state(t);
    ck_assert_str_eq(before, after);
}

START_TEST(a_submodule_is_refused_by_name)
{
    struct pdk_test_landing t;

    pdk_test_landing_open(&t, SAMPLE,
            "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; mkdir sub;"
            " git init -q sub; git -C sub commit -q --allow-empty -m s");
    expect_refused(&t, PDK_EUNSUPPORTED, "'sub'");
    pdk_test_landing_close(&t);
}
END_TEST

START_TEST(an_unsafe_path_is_refused)
{
    struct pdk_test_landing t;
    PDK_AUTO_FREE char *tree = NULL;

    pdk_test_landing_open(&t, SAMPLE, "echo two > f");
    tree = pdk_test_sh(t.path,
            "b=$(git hash-object -w f); s=$(printf '100644 blob %%s\\tconfig\\n' $b | git mktree);"
            " printf '040000 tree %%s\\t.GIT\\n' $s | git mktree");
    ck_assert(pdk_oid_parse(tree, &t.to));
    expect_refused(&t, PDK_EINVAL, ".GIT/config");
    pdk_test_landing_close(&t);
}
END_TEST

START_TEST(a_merge_under_way_is_named)
{
    struct pdk_test_landing t;

    pdk_test_landing_open(&t, SAMPLE, "echo two > f");
    free(pdk_test_sh(t.path, "git rev-parse HEAD > .git/MERGE_HEAD"));
    expect_refused(&t, PDK_ECONFLICT, "merge");
    pdk_test_landing_close(&t);
}
END_TEST

START_TEST(the_lock_is_for_one)
{
    struct pdk_test_landing t;
    PDK_AUTO_LAND_RESULT struct pdk_land_result result = { 0 };
    PDK_AUTO_FREE char *lock = pdk_test_path("lock");
    PDK_AUTO_FD int held = -1;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_landing_open(&t, SAMPLE, "echo two > f");
    struct pdk_land_spec spec = {
        .repo = t.repo, .vault = t.vault, .from = t.from, .to = t.to, .lock = lock
    };
    ck_assert_int_eq(pdk_fs_lock(lock, false, &held, &err), 0);
    ck_assert_int_eq(pdk_land_worktree(&spec, &result, &err), PDK_ECONFLICT);
    (void)close(pdk_take_fd(&held));
    ck_assert_int_eq(pdk_land_worktree(&spec, &result, &err), 0);
    ck_assert_int_eq(result.paths[0].status, 'M');
    ck_assert_str_eq(result.paths[0].path, "f");
    pdk_test_landing_close(&t);
}
END_TEST

START_TEST(it_lands_from_a_subdirectory)
{
    struct pdk_test_landing t;
    PDK_AUTO_LAND_RESULT struct pdk_land_result result = { 0 };
    PDK_AUTO_FREE char *sub = pdk_test_path("repo/d/e");
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_landing_open(&t, SAMPLE, "echo two > f; rm d/e/x; echo y > d/y");
    pdk_repo_free(t.repo);
    ck_assert_int_eq(chdir(sub), 0);
    ck_assert_int_eq(pdk_repo_open(".", &t.repo, &err), 0);
    ck_assert_msg(pdk_test_landing_do(&t, false, &result, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(chdir("/"), 0);
    PDK_AUTO_FREE char *tree = pdk_test_landing_tree(&t);
    ck_assert_str_eq(tree, t.to.hex);
    pdk_test_landing_close(&t);
}
END_TEST

START_TEST(a_directory_that_refuses_leaves_everything)
{
    struct pdk_test_landing t;
    PDK_AUTO_LAND_RESULT struct pdk_land_result result = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    if (geteuid() == 0)
        return; /* nothing refuses root; the test of faults does it for both */
    pdk_test_landing_open(&t, SAMPLE, "echo two > f; rm d/e/x; echo z > z");
    free(pdk_test_sh(t.path, "chmod 555 d/e"));
    PDK_AUTO_FREE char *before = pdk_test_landing_state(&t);
    ck_assert_int_lt(pdk_test_landing_do(&t, false, &result, &err), 0);
    ck_assert_msg(strstr(err.msg, "d/e/x") != NULL, "%s", err.msg);
    PDK_AUTO_FREE char *after = pdk_test_landing_state(&t);
    ck_assert_str_eq(before, after);
    free(pdk_test_sh(t.path, "chmod 755 d/e"));
    free(pdk_test_sh(t.other, "chmod -R u+w ."));
    pdk_test_landing_close(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("promote_land");
    TCase *tc = tcase_create("land");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, both_sides_come_together, 0,
            (int)(sizeof(mergings) / sizeof(mergings[0])));
    tcase_add_loop_test(
            tc, a_change_lands_whole, 0, (int)(sizeof(landings) / sizeof(landings[0])));
    tcase_add_loop_test(tc, a_conflict_leaves_everything, 0,
            (int)(sizeof(refusals) / sizeof(refusals[0])));
    tcase_add_test(tc, a_submodule_is_refused_by_name);
    tcase_add_test(tc, an_unsafe_path_is_refused);
    tcase_add_test(tc, a_merge_under_way_is_named);
    tcase_add_test(tc, the_lock_is_for_one);
    tcase_add_test(tc, it_lands_from_a_subdirectory);
    tcase_add_test(tc, a_directory_that_refuses_leaves_everything);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
