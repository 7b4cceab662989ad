/* Handles on a vault go from thread to thread, one at a time. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "tests/support/trees.h"
#include "trees/repo.h"
#include "trees/vault.h"
#include "trees/vaults.h"

static struct pdk_test_trees t;
static struct pdk_vaults *vaults;
static struct pdk_oid tree; /* of HEAD */

static void setup(void)
{
    pdk_test_dir_setup();
    pdk_test_trees_open(&t, "printf a > a; mkdir d; printf b > d/b");
    PDK_AUTO_FREE char *head = pdk_test_git(t.path, "rev-parse HEAD^{tree}");
    ck_assert(pdk_oid_parse(head, &tree));
    ck_assert_int_eq(pdk_vaults_new(t.vault_path, t.repo->objects, &vaults, NULL), 0);
}

static void teardown(void)
{
    pdk_vaults_free(vaults);
    pdk_test_trees_close(&t);
    pdk_test_dir_discard();
}

START_TEST(one_that_came_back_is_given_out_again)
{
    struct pdk_vault *first = NULL, *second = NULL, *again = NULL;

    ck_assert_int_eq(pdk_vaults_take(vaults, &first, NULL), 0);
    ck_assert_int_eq(pdk_vaults_take(vaults, &second, NULL), 0);
    ck_assert_ptr_ne(first, second);
    pdk_vaults_give(vaults, first);
    ck_assert_int_eq(pdk_vaults_take(vaults, &again, NULL), 0);
    ck_assert_ptr_eq(again, first);
    pdk_vaults_give(vaults, again);
    pdk_vaults_give(vaults, second);
    pdk_vaults_give(vaults, NULL);
}
END_TEST

START_TEST(more_than_worker_threads_are_not_hoarded)
{
    enum { MANY = 12 };
    struct pdk_vault *all[MANY];

    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(pdk_vaults_take(vaults, &all[i], NULL), 0);
    for (int i = 0; i < MANY; i++)
        pdk_vaults_give(vaults, all[i]);
}
END_TEST

START_TEST(a_vault_that_cannot_be_is_told)
{
    PDK_AUTO_VAULTS struct pdk_vaults *bad = NULL;
    PDK_AUTO_FREE char *file = pdk_test_path("file");
    PDK_AUTO_FREE char *path = pdk_strf("%s/vault", file);
    struct pdk_vault *vault = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_write_text(file, "x");
    ck_assert_int_eq(pdk_vaults_new(path, t.repo->objects, &bad, NULL), 0);
    ck_assert_int_lt(pdk_vaults_take(bad, &vault, &err), 0);
    ck_assert_ptr_null(vault);
}
END_TEST

static void *keep_the_tree(void *user)
{
    struct pdk_oid empty;
    struct pdk_vault *vault = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    int *rc = user;

    (void)pdk_oid_parse(PDK_EMPTY_TREE, &empty);
    for (int i = 0; i < 20 && *rc == 0; i++) {
        *rc = pdk_vaults_take(vaults, &vault, &err);
        if (*rc == 0)
            *rc = pdk_vault_keep(vault, "runs/r1/tree", &empty, &tree, &err);
        pdk_vaults_give(vaults, vault);
    }
    return NULL;
}

START_TEST(threads_that_keep_one_tree_do_not_meet)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    int results[THREADS] = { 0 };

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(
                pthread_create(&threads[i], NULL, keep_the_tree, &results[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(results[i], 0);
    }
    free(pdk_test_git(t.vault_path, "archive -o /dev/null refs/paddock/runs/r1/tree"));
    PDK_AUTO_FREE char *kept =
            pdk_test_git(t.vault_path, "rev-parse refs/paddock/runs/r1/tree^{tree}");
    ck_assert_str_eq(kept, tree.hex);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees_vaults");
    TCase *tc = tcase_create("vaults");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, one_that_came_back_is_given_out_again);
    tcase_add_test(tc, more_than_worker_threads_are_not_hoarded);
    tcase_add_test(tc, a_vault_that_cannot_be_is_told);
    tcase_add_test(tc, threads_that_keep_one_tree_do_not_meet);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
