/* Templates that somebody holds or stands on: put aside when damaged, and swept when nobody does. */
#include <check.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "tests/support/trees.h"
#include "trees/repo.h"
#include "trees/template.h"
#include "trees/vault.h"

enum { ALL_BYTES = 1 << 30, MINUTE_MS = 60000 };

static struct pdk_test_trees t;
static struct pdk_base base;
static struct pdk_err err;
static char *dir;

static void setup(void)
{
    pdk_test_dir_setup();
    err = (struct pdk_err)PDK_ERR_INIT;
    pdk_test_trees_open(&t, "printf 'one\\n' > one; mkdir d; printf x > d/x");
    ck_assert_msg(pdk_repo_resolve(t.repo, "HEAD", &base, &err) == 0, "%s", err.msg);
    dir = pdk_test_path("templates");
}

static void teardown(void)
{
    free(dir);
    pdk_test_trees_close(&t);
    pdk_test_dir_discard();
}

static struct pdk_template *open_one(void)
{
    struct pdk_template *out = NULL;
    int rc = pdk_template_open(t.vault, t.repo, dir, &base.tree, 0, &out, &err);

    ck_assert_msg(rc == 0, "%s", err.msg);
    return out;
}

static void damage(const struct pdk_template *one)
{
    PDK_AUTO_FREE char *path = pdk_strf("%s/one", pdk_template_root(one));

    pdk_test_write_text(path, "changed");
}

static void expect_sound(const struct pdk_template *one)
{
    PDK_AUTO_FREE char *text = pdk_test_sh(pdk_template_root(one), "cat one d/x");

    ck_assert_str_eq(text, "one\nx");
}

/* How many it removed. */
static int sweep(int64_t max_age_ms, int64_t max_bytes)
{
    struct pdk_template_sweep out = { .max_age_ms = max_age_ms, .max_bytes = max_bytes };

    ck_assert_msg(pdk_template_sweep(dir, &out, &err) == 0, "%s", err.msg);
    return out.removed;
}

static int count_old(void)
{
    PDK_AUTO_FREE char *out = pdk_test_sh(dir, "ls | grep -c '\\.old-' || true");

    return atoi(out);
}

/* Neither this process nor another one has to let go of it first. */
START_TEST(a_damaged_one_is_made_anew_while_it_is_held)
{
    struct pdk_template *held = open_one();

    damage(held);
    struct pdk_template *other = open_one();
    expect_sound(other);
    pdk_template_close(other);
    pdk_template_close(held);
}
END_TEST

START_TEST(a_damaged_one_stays_while_somebody_stands_on_it)
{
    struct pdk_template *one = open_one();

    ck_assert_int_eq(pdk_template_use(one, "r1.c1", &err), 0);
    damage(one);
    pdk_template_close(one);
    one = open_one();
    expect_sound(one);
    pdk_template_close(one);
    ck_assert_int_eq(sweep(MINUTE_MS, ALL_BYTES), 0);
    ck_assert_int_eq(count_old(), 1);
    ck_assert_int_eq(pdk_template_release(dir, "r1.c1", &err), 0);
    ck_assert_int_eq(sweep(MINUTE_MS, ALL_BYTES), 1);
    ck_assert_int_eq(count_old(), 0);
    one = open_one();
    expect_sound(one);
    pdk_template_close(one);
}
END_TEST

/* Locks go with what they lock, and no sooner. */
START_TEST(a_sweep_takes_locks_along)
{
    struct pdk_template *one = open_one();

    ck_assert_int_eq(sweep(MINUTE_MS, 0), 0);
    ck_assert(pdk_test_exists(pdk_template_index(one)));
    pdk_template_close(one);
    ck_assert_int_eq(sweep(MINUTE_MS, 0), 1);
    PDK_AUTO_FREE char *left = pdk_test_sh(dir, "ls -A");
    ck_assert_str_eq(left, "");
    one = open_one();
    expect_sound(one);
    pdk_template_close(one);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees_template_aside");
    TCase *tc = tcase_create("aside");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_damaged_one_is_made_anew_while_it_is_held);
    tcase_add_test(tc, a_damaged_one_stays_while_somebody_stands_on_it);
    tcase_add_test(tc, a_sweep_takes_locks_along);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
