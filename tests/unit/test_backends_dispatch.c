/* The table, and what the dispatcher does when a backend fails: by a fake one, whose failures are scripted. */
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "base/error.h"
#include "tests/support/fake_backend.h"
#include "tests/support/fixture.h"
#include "tests/support/world.h"

static struct pdk_test_world world;
static struct pdk_err err;

static void setup(void)
{
    pdk_test_dir_setup();
    memset(&err, 0, sizeof(err));
    pdk_fake_reset();
    pdk_test_world_open(&world);
}

static void teardown(void)
{
    pdk_test_world_close(&world);
    pdk_test_dir_discard();
}

START_TEST(backends_are_found_by_name)
{
    static const char *const names[] = { "directory", "git-worktree", "overlay",
        "container", "fake" };
    const struct pdk_backend *be = NULL;

    ck_assert_uint_eq(pdk_backend_count(), 5);
    ck_assert_ptr_null(pdk_backend_at(5));
    for (size_t i = 0; i < 5; i++) {
        pdk_test_ok(pdk_backend_find(names[i], &be, &err), &err);
        ck_assert_str_eq(pdk_backend_name(be), names[i]);
        ck_assert_ptr_nonnull(pdk_backend_claim(be));
    }
}
END_TEST

START_TEST(unknown_names_say_what_there_is)
{
    const struct pdk_backend *be = NULL;

    ck_assert_int_eq(pdk_backend_find("nope", &be, &err), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "nope"));
    ck_assert_str_eq(
            err.hint, "there are: directory, git-worktree, overlay, container, fake");
    ck_assert_int_eq(pdk_backend_find(NULL, &be, NULL), PDK_EINVAL);
    ck_assert_ptr_null(be);
}
END_TEST

START_TEST(a_failure_at_any_step_leaves_nothing)
{
    static const enum pdk_fake_step steps[] = { PDK_FAKE_MATERIALIZE, PDK_FAKE_FILLED };
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    struct pdk_sandbox *sb = NULL;

    for (size_t i = 0; i < 2; i++) {
        pdk_fake_reset();
        pdk_fake_fail(steps[i], PDK_EIO, 0, 1);
        ck_assert_int_eq(
                pdk_sandbox_materialize(pdk_fake_backend(), &spec, &sb, NULL, &err),
                PDK_EIO);
        ck_assert_ptr_null(sb);
        ck_assert(!pdk_test_exists(spec.dir));
        ck_assert_int_eq(pdk_fake_alive(), 0);
        ck_assert_ptr_nonnull(strstr(err.msg, "sandbox 'a1' (fake)"));
    }
    memset(&err, 0, sizeof(err));
    pdk_test_ok(
            pdk_sandbox_materialize(pdk_fake_backend(), &spec, &sb, NULL, &err), &err);
    ck_assert_int_eq(pdk_fake_alive(), 1);
    pdk_test_world_unmake(&world, sb);
    ck_assert_int_eq(pdk_fake_alive(), 0);
    ck_assert_int_eq(pdk_fake_peak(), 1);
    pdk_test_world_spec_fini(&spec);
}
END_TEST

START_TEST(what_was_made_is_taken_back_when_the_rest_fails)
{
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    struct pdk_sandbox *sb = NULL;
    PDK_AUTO_STRV struct pdk_strv include = PDK_STRV_INIT;

    /* The user's tree goes away before its ignored files can be copied. */
    pdk_strv_add(&include, "*.ignored");
    spec.include = &include;
    pdk_test_remove(world.user);
    ck_assert_int_lt(
            pdk_sandbox_materialize(pdk_fake_backend(), &spec, &sb, NULL, &err), 0);
    ck_assert_ptr_null(sb);
    ck_assert(!pdk_test_exists(spec.dir));
    ck_assert_int_eq(pdk_fake_alive(), 0);
    pdk_test_world_spec_fini(&spec);
}
END_TEST

START_TEST(a_failed_teardown_still_removes_the_directory_and_says_so)
{
    struct pdk_sandbox *sb = pdk_test_world_make(&world, pdk_fake_backend(), "a1");
    const struct pdk_sandbox_record *record = pdk_sandbox_get_record(sb);

    pdk_fake_fail(PDK_FAKE_TEARDOWN, PDK_EIO, 0, 1);
    ck_assert_int_eq(
            pdk_sandbox_teardown(record, world.repo, world.lock, 0, &err), PDK_EIO);
    ck_assert(!pdk_test_exists(record->dir));
    memset(&err, 0, sizeof(err));
    pdk_test_ok(pdk_sandbox_teardown(record, world.repo, world.lock, 0, &err), &err);
    ck_assert_int_eq(pdk_fake_calls(PDK_FAKE_TEARDOWN), 2);
    pdk_sandbox_close(sb);
}
END_TEST

START_TEST(answers_and_errors_of_a_backend_come_through)
{
    struct pdk_sandbox *sb = pdk_test_world_make(&world, pdk_fake_backend(), "a1");
    PDK_AUTO_DIRT struct pdk_dirt dirt = { 0 };
    int count = -1;

    pdk_fake_set_commits(3);
    pdk_test_ok(pdk_sandbox_count_commits(sb, 0, &count, &err), &err);
    ck_assert_int_eq(count, 3);
    pdk_fake_fail(PDK_FAKE_COUNT, PDK_EIO, 1, 1);
    pdk_fake_fail(PDK_FAKE_DIRT, PDK_ENOTFOUND, 0, 1);
    ck_assert_int_eq(pdk_sandbox_count_commits(sb, 0, &count, &err), PDK_EIO);
    ck_assert_int_eq(
            pdk_sandbox_collect_dirt(sb, world.vault, &dirt, &err), PDK_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.msg, "sandbox 'a1'"));
    memset(&err, 0, sizeof(err));
    pdk_test_world_unmake(&world, sb);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backends_dispatch");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, backends_are_found_by_name);
    tcase_add_test(all, unknown_names_say_what_there_is);
    tcase_add_test(all, a_failure_at_any_step_leaves_nothing);
    tcase_add_test(all, what_was_made_is_taken_back_when_the_rest_fails);
    tcase_add_test(all, a_failed_teardown_still_removes_the_directory_and_says_so);
    tcase_add_test(all, answers_and_errors_of_a_backend_come_through);
    suite_add_tcase(suite, all);
    return pdk_test_main(suite);
}
