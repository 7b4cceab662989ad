/* Every call that can fail is made to fail, one a run: what was begun leaves nothing behind. */
/* wrap: mkdir link rename unlink strdup calloc */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/backend.h"
#include "base/error.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/world.h"

static struct pdk_test_world world;
static long countdown; /* the call that fails; 0: none */
static bool kills;     /* it does not fail: the process is killed there */

static bool fault_now(void)
{
    bool now = countdown > 0 && --countdown == 0;

    if (now && kills)
        (void)raise(SIGKILL);
    return now;
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static int fail_with(int os_errno)
{
    errno = os_errno;
    return -1;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    return fault_now() ? fail_with(ENOSPC) : __real_mkdir(path, mode);
}

int __wrap_link(const char *from, const char *to)
{
    return fault_now() ? fail_with(ENOSPC) : __real_link(from, to);
}

int __wrap_rename(const char *from, const char *to)
{
    return fault_now() ? fail_with(ENOSPC) : __real_rename(from, to);
}

int __wrap_unlink(const char *path)
{
    return fault_now() ? fail_with(EIO) : __real_unlink(path);
}

char *__wrap_strdup(const char *text)
{
    return fault_now() ? NULL : __real_strdup(text);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fault_now() ? NULL : __real_calloc(n, size);
}

static void setup(void)
{
    pdk_test_dir_setup();
    pdk_test_world_open(&world);
}

static void teardown(void)
{
    countdown = 0;
    pdk_test_world_close(&world);
    pdk_test_dir_discard();
}

/* True once the n-th call was reached. */
static bool make_with_fault(const struct pdk_backend *be, long n, const char *before)
{
    char id[32];
    struct pdk_sandbox *sb = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    (void)snprintf(id, sizeof(id), "a%ld", n);
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, id);
    spec.branch = "sandbox/x";
    countdown = n;
    int rc = pdk_sandbox_materialize(be, &spec, &sb, NULL, &err);
    bool met = countdown == 0;
    countdown = 0;
    if (rc == 0) {
        pdk_test_world_unmake(&world, sb);
    } else {
        ck_assert_int_eq(rc, err.code);
        ck_assert_ptr_null(sb);
        ck_assert_msg(!pdk_test_exists(spec.dir), "call %ld: %s", n, err.msg);
    }
    char *after = pdk_test_world_fingerprint(&world);
    pdk_test_same(before, after);
    free(after);
    pdk_test_world_spec_fini(&spec);
    return met;
}

START_TEST(making_one_survives_every_failure)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *before = pdk_test_world_fingerprint(&world);
    long n = 1;

    while (make_with_fault(be, n, before))
        n++;
    ck_assert_int_gt(n, 10);
    char *left = pdk_test_sh(world.state, "ls sandboxes");
    ck_assert_str_eq(left, "");
    free(left);
    free(before);
}
END_TEST

START_TEST(removing_one_can_be_repeated_after_every_failure)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *before = pdk_test_world_fingerprint(&world);
    bool met = true;

    for (long n = 1; met; n++) {
        char id[32];
        struct pdk_err err = PDK_ERR_INIT;

        (void)snprintf(id, sizeof(id), "a%ld", n);
        struct pdk_sandbox *sb = pdk_test_world_make(&world, be, id);
        countdown = n;
        (void)pdk_sandbox_teardown(
                pdk_sandbox_get_record(sb), world.repo, world.lock, 0, &err);
        met = countdown == 0;
        countdown = 0;
        pdk_test_world_unmake(&world, sb); /* whatever the first said */
        char *after = pdk_test_world_fingerprint(&world);
        pdk_test_same(before, after);
        free(after);
    }
    free(before);
}
END_TEST

/* A child makes one and is killed at its n-th call; waits for what it started, too. True if it was. */
static bool make_and_be_killed(
        const struct pdk_backend *be, const struct pdk_sandbox_spec *spec, long n)
{
    struct pdk_sandbox *sb = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    int status = 0;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        kills = true;
        countdown = n;
        _exit(pdk_sandbox_materialize(be, spec, &sb, NULL, &err) == 0 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    ck_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

START_TEST(what_a_kill_leaves_is_removed_by_the_record)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *before = pdk_test_world_fingerprint(&world);
    bool killed = true;

    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (long n = 1; killed; n++) {
        char id[32], name[32], branch[] = "sandbox/x";
        struct pdk_err err = PDK_ERR_INIT;

        (void)snprintf(id, sizeof(id), "a%ld", n);
        (void)snprintf(name, sizeof(name), "%s", pdk_backend_name(be));
        struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, id);
        spec.branch = branch;
        struct pdk_sandbox_record record = { .id = id,
            .backend = name,
            .branch = branch,
            .base = spec.base,
            .tree = spec.tree };
        record.dir = strdup(spec.dir);
        killed = make_and_be_killed(be, &spec, n);
        pdk_test_ok(pdk_sandbox_teardown(&record, world.repo, world.lock, 0, &err), &err);
        ck_assert(!pdk_test_exists(spec.dir));
        char *after = pdk_test_world_fingerprint(&world);
        pdk_test_same(before, after);
        free(after);
        free(record.dir);
        pdk_test_world_spec_fini(&spec);
    }
    free(before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backends_faults");
    TCase *each = tcase_create("each");

    tcase_add_checked_fixture(each, setup, teardown);
    tcase_set_timeout(each, 240);
    tcase_add_loop_test(
            each, making_one_survives_every_failure, 0, (int)pdk_backend_count());
    tcase_add_loop_test(each, removing_one_can_be_repeated_after_every_failure, 0,
            (int)pdk_backend_count());
    tcase_add_loop_test(each, what_a_kill_leaves_is_removed_by_the_record, 0,
            (int)pdk_backend_count());
    suite_add_tcase(suite, each);
    return pdk_test_main(suite);
}
