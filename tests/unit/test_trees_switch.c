/* From one tree to another in place: what comes out is what a fresh checkout would be. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/trees.h"
#include "trees/checkout.h"
#include "trees/index.h"
#include "trees/repo.h"
#include "trees/vault.h"

#define SETUP                                                                             \
    "printf 'one\\n' > one; printf 'two\\n' > two; mkdir -p d/e/f; printf 'x\\n' > d/x; " \
    "printf 'y\\n' > d/e/f/y; printf '#!\\n' > run; chmod +x run; ln -s one link; "       \
    "printf 'a\\r\\nb\\n' > crlf.txt; printf n > d-e; printf n > d.e"

enum { ROUNDS = 60, EDITS = 8 };

static struct pdk_test_trees t;

static void setup(void)
{
    pdk_test_dir_setup();
    pdk_test_trees_open(&t, SETUP);
    pdk_test_trees_checkout(&t);
}

static void teardown(void)
{
    pdk_test_trees_close(&t);
    pdk_test_dir_discard();
}

/* The tree of the user's repository after the edits, with its history left alone. */
static struct pdk_oid edited(const char *script)
{
    PDK_AUTO_FREE char *text = pdk_test_sh(t.path,
            "exec 3>&1 1>/dev/null 2>&1\n%s\ngit add -A . && git write-tree >&3", script);
    struct pdk_oid tree;

    ck_assert_msg(pdk_oid_parse(text, &tree), "%s: %s", script, text);
    return tree;
}

static int try_switch(const struct pdk_oid *to, struct pdk_err *err)
{
    PDK_AUTO_FREE char *git_index = pdk_test_path("git-index");
    struct pdk_checkout_spec spec = { .repo = t.repo,
        .tree = *to,
        .dir = t.copy,
        .index = t.index,
        .git_index = git_index };
    int rc = pdk_checkout_switch(t.vault, &spec, &t.tree, err);

    if (rc == 0)
        t.tree = *to;
    return rc;
}

/* git's copy does not name its tree. */
static void expect_same_index(const char *path, const char *fresh_path, bool is_gits)
{
    PDK_AUTO_INDEX struct pdk_index ours = { 0 };
    PDK_AUTO_INDEX struct pdk_index fresh = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_index_read(path, &ours, &err) == 0, "%s", err.msg);
    ck_assert_msg(pdk_index_read(fresh_path, &fresh, &err) == 0, "%s", err.msg);
    ck_assert_str_eq(ours.tree.hex, is_gits ? "" : fresh.tree.hex);
    ck_assert_uint_eq(ours.len, fresh.len);
    for (size_t i = 0; i < ours.len; i++) {
        const struct pdk_index_entry *a = &ours.entries[i], *b = &fresh.entries[i];
        PDK_AUTO_FREE char *file = pdk_strf("%s/%s", t.copy, a->path);
        struct stat st;

        ck_assert_str_eq(a->path, b->path);
        ck_assert_uint_eq(a->mode, b->mode);
        ck_assert_str_eq(a->oid.hex, b->oid.hex);
        ck_assert_int_eq(lstat(file, &st), 0);
        ck_assert_msg(S_ISDIR(st.st_mode) || pdk_index_is_clean(&ours, a, &st),
                "stat data of '%s'", a->path);
    }
}

static void expect_like_fresh(const char *what)
{
    PDK_AUTO_FREE char *fresh = pdk_test_path("fresh");
    PDK_AUTO_FREE char *index = pdk_test_path("fresh-index");
    PDK_AUTO_FREE char *git_index = pdk_test_path("git-index");
    PDK_AUTO_FREE char *differ = NULL;
    struct pdk_checkout_spec spec = {
        .repo = t.repo, .tree = t.tree, .dir = fresh, .index = index
    };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_remove(fresh);
    pdk_test_mkdirs(fresh);
    ck_assert_msg(pdk_checkout(t.vault, &spec, &err) == 0, "%s", err.msg);
    differ = pdk_test_sh(pdk_test_dir(),
            "list() { cd \"$1\" && find . -mindepth 1 -printf '%%P %%y %%m %%l\\n' | sort; }; "
            "(list copy) > a; (list fresh) > b; diff a b; diff -r --no-dereference copy fresh; true");
    ck_assert_msg(differ[0] == '\0', "%s\nafter: %s", differ, what);
    expect_same_index(t.index, index, false);
    expect_same_index(git_index, index, true);
}

static void expect_switch(const char *script)
{
    struct pdk_oid to = edited(script);
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(try_switch(&to, &err) == 0, "%s: %s", script, err.msg);
    expect_like_fresh(script);
}

/* ---- row by row */

static const char *const rows[] = {
    "true",
    "printf 'ONE\\n' > one",
    "printf n > new; mkdir -p n/m; printf n > n/m/o",
    "rm one",
    "rm -r d",
    "rm d/e/f/y",
    "rm -r d; printf f > d",
    "rm one; mkdir one; printf in > one/in",
    "rm one; mkdir -p one/deep/er; printf in > one/deep/er/in",
    "rm -r d/e; printf f > d/e",
    "rm -r d; ln -s one d",
    "rm link; mkdir link; printf in > link/in",
    "rm link; printf one > link",
    "rm one; ln -s two one",
    "ln -sfn two link",
    "chmod +x one; chmod -x run",
    "mv d moved",
    "mv one d/one; mv d/x one",
    "rm -rf *",
    "rm d/x; mkdir d/x; printf in > d/x/in; rm -r d/e; ln -s x d/e",
    "printf n > d/e/f.y; printf n > d/e/f-y; rm d/e/f/y; printf n > 'd/e/f'",
    ("H=$(git rev-parse HEAD); git update-index --add --cacheinfo 160000,$H,sub; mkdir sub; git -C sub init -q; git -C sub "
     "commit -q --allow-empty -m x"),
};

START_TEST(each_row_is_as_a_fresh_checkout)
{
    struct pdk_oid back = t.tree;
    struct pdk_err err = PDK_ERR_INIT;

    expect_switch(rows[_i]);
    ck_assert_msg(try_switch(&back, &err) == 0, "%s", err.msg);
    expect_like_fresh("back");
}
END_TEST

START_TEST(submodules_come_change_and_go)
{
    static const char *const steps[] = {
        "rm -rf sub; git rm -q --cached sub",
        "rm -rf sub; git rm -q --cached sub; printf f > sub",
        "rm -rf sub; git rm -q --cached sub; mkdir sub; printf f > sub/f",
        "git -C sub commit -q --allow-empty -m y",
    };
    struct pdk_oid back;
    struct pdk_err err = PDK_ERR_INIT;

    expect_switch(
            "mkdir sub; git -C sub init -q; git -C sub commit -q --allow-empty -m x");
    back = t.tree;
    expect_switch(steps[_i]);
    ck_assert_msg(try_switch(&back, &err) == 0, "%s", err.msg);
    expect_like_fresh("back");
}
END_TEST

START_TEST(the_empty_tree_is_a_tree)
{
    struct pdk_oid empty, back = t.tree;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert(pdk_oid_parse("4b825dc642cb6eb9a060e54bf8d69288fbee4904", &empty));
    ck_assert_msg(try_switch(&empty, &err) == 0, "%s", err.msg);
    expect_like_fresh("empty");
    ck_assert_msg(try_switch(&back, &err) == 0, "%s", err.msg);
    expect_like_fresh("back");
}
END_TEST

START_TEST(what_does_not_differ_is_not_touched)
{
    struct stat before, after;
    PDK_AUTO_FREE char *two = pdk_strf("%s/two", t.copy);
    PDK_AUTO_FREE char *text = NULL;

    pdk_test_write_text(two, "kept");
    ck_assert_int_eq(lstat(two, &before), 0);
    struct pdk_oid to = edited("printf 'ONE\\n' > one; rm -r d");
    struct pdk_err err = PDK_ERR_INIT;
    ck_assert_msg(try_switch(&to, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(lstat(two, &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    text = pdk_test_read(two, NULL);
    ck_assert_str_eq(text, "kept");
}
END_TEST

START_TEST(other_attributes_are_refused_with_nothing_done)
{
    static const char *const scripts[] = { "printf '* text\\n' > .gitattributes; rm one",
        "printf '* text\\n' > d/e/.gitattributes; rm -r d/x",
        "printf n > a; mkdir .gitattributes; printf n > .gitattributes/x; rm -r two" };
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_FREE char *before = pdk_test_sh(pdk_test_dir(),
            "find copy index | sort | xargs stat -c '%%n %%i %%Y %%s %%a' | md5sum");
    struct pdk_oid from = t.tree, to;
    int want = _i < 2 ? PDK_EUNSUPPORTED
                      : 0; /* a directory of that name holds no attributes */

    to = edited(scripts[_i]);
    ck_assert_int_eq(try_switch(&to, &err), want);
    if (want == 0)
        return;
    PDK_AUTO_FREE char *after = pdk_test_sh(pdk_test_dir(),
            "find copy index | sort | xargs stat -c '%%n %%i %%Y %%s %%a' | md5sum");
    ck_assert_str_eq(before, after);
    /* Changed and gone is the same. */
    pdk_test_remove(t.copy);
    (void)close(t.root_fd);
    ck_assert_int_eq(pdk_test_trees_try(&t, &to, &err), 0);
    ck_assert_int_eq(try_switch(&from, &err), PDK_EUNSUPPORTED);
    to = edited(
            "find . -name .gitattributes -exec sh -c 'printf \"*.x text\\n\" >> {}' ';'");
    ck_assert_int_eq(try_switch(&to, &err), PDK_EUNSUPPORTED);
}
END_TEST

/* Attributes that stay hold for what is written. */
START_TEST(line_ends_are_as_in_a_fresh_checkout)
{
    struct pdk_oid to = edited("printf '*.txt text eol=crlf\\n' > .gitattributes");
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_remove(t.copy);
    (void)close(t.root_fd);
    ck_assert_int_eq(pdk_test_trees_try(&t, &to, &err), 0);
    expect_switch(
            "printf 'p\\nq\\n' > new.txt; printf 'p\\nq\\n' > new; printf 'z\\n' > crlf.txt");
}
END_TEST

/* ---- at random */

static size_t pick(unsigned int *seed, size_t n)
{
    return (size_t)rand_r(seed) % n;
}

static char *random_script(unsigned int *seed)
{
    static const char *const names[] = { "a", "b", "one", "two", "d", "d/x", "d/e",
        "d/e/f", "d/e/f/y", "d-e", "d.e", "run", "link", "a/b", "a/b/c", "one/in",
        "' s p'" };
    static const char *const edits[] = { "rm -rf %s", "put %s 'p\\n'", "put %s 'q\\n'",
        "rm -rf %s; put %s 'r\\n'", "chmod +x %s", "chmod -x %s", "rm -rf %s; ln -s a %s",
        "rm -rf %s; put %s/in 'i\\n'", "put %s/deep/er 'i\\n'", "put %s ''" };
    PDK_AUTO_BUF struct pdk_buf script = PDK_BUF_INIT;

    pdk_buf_adds(&script,
            "put() { mkdir -p \"$(dirname \"$1\")\"; [ -d \"$1\" ] || printf \"$2\" > \"$1\"; }\n");
    for (int i = 0; i < EDITS; i++) {
        const char *name = names[pick(seed, sizeof(names) / sizeof(names[0]))];

        for (const char *edit = edits[pick(seed, sizeof(edits) / sizeof(edits[0]))];
                *edit; edit++) {
            if (edit[0] == '%' && edit[1] == 's') {
                pdk_buf_adds(&script, name);
                edit++;
            } else {
                pdk_buf_addc(&script, *edit);
            }
        }
        pdk_buf_adds(&script, "\n");
    }
    return pdk_buf_take(&script);
}

START_TEST(random_pairs_are_as_a_fresh_checkout)
{
    unsigned int seed = (unsigned int)_i * 7919U + 1;

    for (int i = 0; i < 4; i++) {
        PDK_AUTO_FREE char *script = random_script(&seed);

        expect_switch(script);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees_switch");
    TCase *tc = tcase_create("switch");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(
            tc, each_row_is_as_a_fresh_checkout, 0, sizeof(rows) / sizeof(rows[0]));
    tcase_add_loop_test(tc, submodules_come_change_and_go, 0, 4);
    tcase_add_test(tc, the_empty_tree_is_a_tree);
    tcase_add_test(tc, what_does_not_differ_is_not_touched);
    tcase_add_loop_test(tc, other_attributes_are_refused_with_nothing_done, 0, 3);
    tcase_add_test(tc, line_ends_are_as_in_a_fresh_checkout);
    tcase_add_loop_test(tc, random_pairs_are_as_a_fresh_checkout, 0, ROUNDS);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
