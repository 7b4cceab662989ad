/* Removal in two steps, for every backend: out of the way at once, gone for good by whoever has the time. */
/* wrap: unlinkat rename */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/backend.h"
#include "base/error.h"
#include "base/fs.h"
#include "orchestrator/engine/cleaner.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "tests/support/world.h"

static struct pdk_test_world world;
static struct pdk_err err;
static char *trash;
static int fuse;            /* calls until this process is killed; 0: it is not */
static bool rename_refuses; /* as between two file systems */

int __real_unlinkat(int at, const char *path, int flags);
int __wrap_unlinkat(int at, const char *path, int flags);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

int __wrap_unlinkat(int at, const char *path, int flags)
{
    if (fuse > 0 && --fuse == 0)
        (void)kill(getpid(), SIGKILL);
    return __real_unlinkat(at, path, flags);
}

int __wrap_rename(const char *from, const char *to)
{
    if (rename_refuses && strstr(to, "/trash/")) {
        errno = EXDEV;
        return -1;
    }
    return __real_rename(from, to);
}

static void setup(void)
{
    pdk_test_dir_setup();
    memset(&err, 0, sizeof(err));
    fuse = 0;
    rename_refuses = false;
    pdk_test_world_open(&world);
    trash = pdk_test_path("state/trash");
}

static void teardown(void)
{
    free(trash);
    pdk_test_world_close(&world);
    pdk_test_dir_discard();
}

static void expect_trash(const char *want)
{
    char *got = pdk_test_sh(world.state, "ls trash 2>/dev/null | sed 's/\\..*//'");

    ck_assert_str_eq(got, want);
    free(got);
}

/* With files to remove, and a link to what must stay. */
static struct pdk_sandbox *make_full(const struct pdk_backend *be, const char *id)
{
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, id);

    free(pdk_test_sh(pdk_test_dir(), "mkdir -p canary; echo alive >canary/f"));
    free(pdk_test_sh(pdk_sandbox_root(sb),
            "mkdir -p deep/er; touch deep/er/1 deep/er/2 deep/3; ln -s '%s/canary' link;"
            " ln -s '%s/canary/f' deep/f; mkdir closed; touch closed/f; chmod 0 closed",
            pdk_test_dir(), pdk_test_dir()));
    return sb;
}

static void tear_down(struct pdk_sandbox *sb)
{
    const struct pdk_sandbox_record *record = pdk_sandbox_get_record(sb);

    pdk_test_ok(pdk_sandbox_teardown(record, world.repo, world.lock, 0, &err), &err);
    ck_assert(!pdk_test_exists(record->dir));
    pdk_sandbox_close(sb);
}

static int clean(void)
{
    int removed = -1;

    pdk_test_ok(pdk_sandbox_clean(world.lock, 0, NULL, &removed, &err), &err);
    expect_trash("");
    free(pdk_test_sh(pdk_test_dir(), "grep -q alive canary/f"));
    return removed;
}

START_TEST(a_torn_down_one_is_out_of_the_way_and_then_gone)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *one = make_full(be, "a1"), *two = make_full(be, "a2");

    tear_down(one);
    tear_down(two);
    expect_trash("a1\na2");
    ck_assert_int_eq(clean(), 2);
    ck_assert_int_eq(pdk_sandbox_clean(world.lock, 0, NULL, NULL, &err), 0);
}
END_TEST

START_TEST(where_nothing_was_there_is_nothing_to_do)
{
    ck_assert_int_eq(pdk_sandbox_clean(world.lock, 0, NULL, NULL, &err), 0);
    ck_assert(!pdk_test_exists(trash));
}
END_TEST

/* Whatever a killed process left, the next one removes. */
START_TEST(a_kill_in_the_middle_leaves_what_the_next_one_finishes)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);
    bool killed = true;

    if (!pdk_test_world_can(&world, be))
        return;
    for (int at = 1; killed; at += 3) {
        char id[16];
        int status = 0;

        (void)snprintf(id, sizeof(id), "k%d", at);
        tear_down(make_full(be, id));
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            fuse = at;
            _exit(pdk_sandbox_clean(world.lock, 0, NULL, NULL, NULL) == 0 ? 0 : 1);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        killed = WIFSIGNALED(status);
        ck_assert(killed || status == 0);
        ck_assert_int_eq(clean(), killed ? 1 : 0);
        ck_assert_int_lt(at, 200);
    }
}
END_TEST

START_TEST(one_that_is_told_to_stop_leaves_the_rest)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);
    const atomic_bool stop = true;

    if (!pdk_test_world_can(&world, be))
        return;
    tear_down(make_full(be, "a1"));
    ck_assert_int_eq(
            pdk_sandbox_clean(world.lock, 1000, &stop, NULL, &err), PDK_ECANCELED);
    expect_trash("a1");
    ck_assert_int_eq(clean(), 1);
}
END_TEST

START_TEST(one_process_at_a_time_is_at_it)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *path = pdk_test_path("state/trash.lock");
    PDK_AUTO_FD int held = -1;

    tear_down(make_full(be, "a1"));
    pdk_test_ok(pdk_fs_lock(path, true, &held, &err), &err);
    ck_assert_int_eq(
            pdk_sandbox_clean(world.lock, 60000, NULL, NULL, &err), PDK_ECONFLICT);
    expect_trash("a1");
    free(path);
}
END_TEST

START_TEST(what_cannot_be_moved_is_removed_at_once)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    rename_refuses = true;
    tear_down(make_full(be, "a1"));
    rename_refuses = false;
    ck_assert_int_eq(clean(), 0);
}
END_TEST

/* A link where the trash should be is not gone through. */
START_TEST(a_trash_that_leads_elsewhere_is_not_used)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    free(pdk_test_sh(world.state, "mkdir ../elsewhere; ln -s ../elsewhere trash"));
    tear_down(make_full(be, "a1"));
    free(pdk_test_sh(world.state, "touch ../elsewhere/f"));
    pdk_test_ok(pdk_sandbox_clean(world.lock, 0, NULL, NULL, &err), &err);
    char *left = pdk_test_sh(pdk_test_dir(), "ls elsewhere");
    ck_assert_str_eq(left, "f");
    free(left);
}
END_TEST

START_TEST(the_cleaner_takes_what_was_left_and_what_comes)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    tear_down(make_full(be, "a1"));
    struct pdk_cleaner *cleaner = pdk_cleaner_open(world.lock);
    ck_assert_ptr_nonnull(cleaner);
    free(pdk_test_sh(world.state, "while test -n \"$(ls trash)\"; do :; done"));
    tear_down(make_full(be, "a2"));
    pdk_cleaner_kick(cleaner);
    free(pdk_test_sh(world.state, "while test -n \"$(ls trash)\"; do :; done"));
    pdk_cleaner_close(cleaner);
    pdk_cleaner_close(NULL);
    pdk_cleaner_kick(NULL);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { a_torn_down_one_is_out_of_the_way_and_then_gone,
        a_kill_in_the_middle_leaves_what_the_next_one_finishes,
        one_that_is_told_to_stop_leaves_the_rest, one_process_at_a_time_is_at_it,
        what_cannot_be_moved_is_removed_at_once, a_trash_that_leads_elsewhere_is_not_used,
        the_cleaner_takes_what_was_left_and_what_comes };
    Suite *suite = suite_create("backends_trash");
    TCase *each = tcase_create("each");

    tcase_add_checked_fixture(each, setup, teardown);
    tcase_set_timeout(each, 120);
    tcase_add_test(each, where_nothing_was_there_is_nothing_to_do);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_loop_test(each, tests[i], 0, (int)pdk_backend_count());
    suite_add_tcase(suite, each);
    return pdk_test_main(suite);
}
