/* What every backend keeps to when it must not make a sandbox, and when one is removed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/backend.h"
#include "base/error.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "tests/support/world.h"
#include "trees/vault.h"

static struct pdk_test_world world;
static struct pdk_err err;
static char *before;

static void setup(void)
{
    pdk_test_dir_setup();
    memset(&err, 0, sizeof(err));
    pdk_test_world_open(&world);
    before = pdk_test_world_fingerprint(&world);
}

static void teardown(void)
{
    free(before);
    pdk_test_world_close(&world);
    pdk_test_dir_discard();
}

static void expect_untouched(void)
{
    char *after = pdk_test_world_fingerprint(&world);

    pdk_test_same(before, after);
    free(after);
}

static bool shares_refs(const struct pdk_backend *be)
{
    return strcmp(pdk_backend_name(be), "git-worktree") == 0;
}

/* ---- creations that fail */

static void expect_refusal(
        const struct pdk_backend *be, const struct pdk_sandbox_spec *spec, int code)
{
    struct pdk_sandbox *sb = NULL;
    bool there = pdk_test_exists(spec->dir);
    int rc = pdk_sandbox_materialize(be, spec, &sb, NULL, &err);

    ck_assert_msg(rc == code, "%d, not %d: %s", rc, code, err.msg);
    ck_assert_ptr_null(sb);
    ck_assert_int_eq(pdk_test_exists(spec->dir), there);
    expect_untouched();
    memset(&err, 0, sizeof(err));
}

START_TEST(a_failed_creation_leaves_nothing)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    const struct pdk_sandbox_spec fine = spec;

    spec.branch = "sandbox/a1";
    (void)pdk_oid_parse("1234567890123456789012345678901234567890", &spec.tree);
    spec.base.tree = spec.tree; /* no such object, met when files are written */
    expect_refusal(be, &spec, PDK_ENOTFOUND);

    spec = fine;
    spec.id = "../x";
    expect_refusal(be, &spec, PDK_EINVAL);

    spec = fine;
    spec.branch = "main";
    expect_refusal(be, &spec, PDK_EINVAL);
    spec.branch = "sandbox/x.lock";
    expect_refusal(be, &spec, PDK_EINVAL);
    spec.branch = "sandbox/a..b";
    expect_refusal(be, &spec, PDK_EINVAL);

    /* And the same sandbox can be made now: nothing is in its way. */
    spec = fine;
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    pdk_test_world_unmake(&world, sb);
    expect_untouched();
    pdk_test_world_spec_fini(&spec);
}
END_TEST

START_TEST(a_missing_object_is_named_and_leaves_nothing)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    char *id = pdk_test_git(world.user, "rev-parse HEAD:README");

    spec.branch = "sandbox/a1";
    free(pdk_test_sh(world.user, "rm -f .git/objects/%.2s/%s", id, id + 2));
    struct pdk_sandbox *sb = NULL;
    int rc = pdk_sandbox_materialize(be, &spec, &sb, NULL, &err);
    ck_assert_msg(rc == PDK_ENOTFOUND, "%d: %s", rc, err.msg);
    ck_assert_msg(strstr(err.msg, id) != NULL, "%s", err.msg);
    ck_assert(!pdk_test_exists(spec.dir));
    expect_untouched();
    pdk_test_world_spec_fini(&spec);
    free(id);
}
END_TEST

START_TEST(what_is_there_is_never_used_again)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");

    pdk_test_mkdirs(spec.dir);
    free(pdk_test_sh(spec.dir, "echo precious >f"));
    expect_refusal(be, &spec, PDK_ECONFLICT);
    free(pdk_test_sh(spec.dir, "grep -q precious f"));
    pdk_test_world_spec_fini(&spec);
}
END_TEST

START_TEST(a_place_outside_is_refused)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    const char *inside = spec.dir;
    char *outside = pdk_test_path("elsewhere");
    char *climbing = pdk_test_path("state/sandboxes/../x");
    char *beside = pdk_test_path("state/x");
    char *linked = pdk_test_path("state/sandboxes/link/x");

    spec.dir = outside;
    expect_refusal(be, &spec, PDK_ECONFLICT);
    spec.dir = climbing;
    expect_refusal(be, &spec, PDK_ECONFLICT);
    spec.dir = beside;
    expect_refusal(be, &spec, PDK_ECONFLICT);
    free(pdk_test_sh(world.state,
            "mkdir -p sandboxes ../target; ln -s ../../target sandboxes/link"));
    spec.dir = linked;
    expect_refusal(be, &spec, PDK_ECONFLICT);
    free(pdk_test_sh(world.state, "rm -r sandboxes; ln -s ../target sandboxes"));
    spec.dir = inside;
    expect_refusal(be, &spec, PDK_ECONFLICT);
    free(pdk_test_sh(world.state, "test -z \"$(ls ../target)\""));
    pdk_test_world_spec_fini(&spec);
    free(linked);
    free(beside);
    free(climbing);
    free(outside);
}
END_TEST

START_TEST(a_parent_that_cannot_be_written_leaves_nothing)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");

    /* A file where the parent should be: refused for root, too. */
    free(pdk_test_sh(world.state, "touch sandboxes"));
    expect_refusal(be, &spec, PDK_ECONFLICT);
    free(pdk_test_sh(world.state, "rm sandboxes; mkdir sandboxes; chmod 0500 sandboxes"));
    if (geteuid() != 0)
        expect_refusal(be, &spec, PDK_EIO);
    pdk_test_world_spec_fini(&spec);
}
END_TEST

/* ---- removal */

START_TEST(removal_follows_no_link)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *canary = pdk_test_path("canary");
    struct pdk_sandbox *inside = pdk_test_world_make(&world, be, "a1");
    struct pdk_sandbox *swapped = pdk_test_world_make(&world, be, "a2");

    free(pdk_test_sh(pdk_test_dir(), "mkdir -p canary/deep; echo alive >canary/deep/f"));
    free(pdk_test_sh(pdk_sandbox_root(inside),
            "ln -s '%s' link; ln -s '%s/deep/f' src/f; mkdir closed; touch closed/f; chmod 0 closed",
            canary, canary));
    free(pdk_test_sh(pdk_sandbox_get_record(swapped)->dir, "rm -rf tree; ln -s '%s' tree",
            canary));
    pdk_test_world_unmake(&world, inside);
    pdk_test_world_unmake(&world, swapped);
    char *left = pdk_test_sh(canary, "cat deep/f; find . | wc -l");
    ck_assert_str_eq(left, "alive\n3");
    expect_untouched();
    free(left);
    free(canary);
}
END_TEST

START_TEST(removal_works_from_the_record_alone_and_twice)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    struct pdk_sandbox *sb = NULL;

    spec.branch = "sandbox/a1";
    pdk_test_ok(pdk_sandbox_materialize(be, &spec, &sb, NULL, &err), &err);
    const struct pdk_sandbox_record *record = pdk_sandbox_get_record(sb);
    if (pdk_sandbox_way(sb) && !pdk_sandbox_namespace(sb))
        free(pdk_test_sh(record->dir, "umount -l tree")); /* else nobody can remove it */
    pdk_test_remove(record->dir);
    pdk_test_ok(pdk_sandbox_teardown(record, world.repo, world.lock, 0, &err), &err);
    pdk_test_ok(pdk_sandbox_teardown(record, world.repo, world.lock, 0, &err), &err);
    expect_untouched();
    pdk_sandbox_close(sb);
    pdk_test_world_spec_fini(&spec);
}
END_TEST

START_TEST(removal_works_when_the_user_was_faster)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    struct pdk_sandbox *sb = NULL;

    spec.branch = "sandbox/a1";
    pdk_test_ok(pdk_sandbox_materialize(be, &spec, &sb, NULL, &err), &err);
    if (shares_refs(be)) {
        free(pdk_test_git(
                world.user, "worktree remove --force '%s'", pdk_sandbox_root(sb)));
        free(pdk_test_git(world.user, "branch -q -D sandbox/a1"));
        free(before); /* git leaves a file of packed references behind */
        before = pdk_test_world_fingerprint(&world);
    }
    pdk_test_world_unmake(&world, sb);
    expect_untouched();
    pdk_test_world_spec_fini(&spec);
}
END_TEST

START_TEST(a_record_that_leads_elsewhere_is_refused)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    struct pdk_sandbox_record record = *pdk_sandbox_get_record(sb);
    struct pdk_sandbox *opened = NULL;
    const char *const places[] = { "victim", "state/vault.git", "state/sandboxes",
        "state/sandboxes/../../victim", "state/sandboxes/link" };

    free(pdk_test_sh(pdk_test_dir(),
            "mkdir -p victim/tree; echo alive >victim/tree/f; ln -s ../../victim state/sandboxes/link"));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        record.dir = pdk_test_path("%s", places[i]);
        ck_assert_int_eq(pdk_sandbox_teardown(&record, world.repo, world.lock, 0, &err),
                PDK_ECONFLICT);
        ck_assert_int_eq(pdk_sandbox_open(&record, world.repo, world.lock, &opened, &err),
                PDK_ECONFLICT);
        free(record.dir);
    }
    free(pdk_test_sh(
            pdk_test_dir(), "grep -q alive victim/tree/f; test -d state/vault.git"));
    pdk_test_world_unmake(&world, sb);
}
END_TEST

/* ---- named ones */

static struct pdk_sandbox *make_named(const struct pdk_backend *be, const char *id)
{
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, id);
    struct pdk_sandbox *sb = NULL;

    spec.branch = "sandbox/x";
    pdk_test_ok(pdk_sandbox_materialize(be, &spec, &sb, NULL, &err), &err);
    pdk_test_world_spec_fini(&spec);
    return sb;
}

static void expect_branches(const char *want)
{
    char *got = pdk_test_git(
            world.user, "for-each-ref --format='%%(refname:short)' refs/heads");

    ck_assert_str_eq(got, want);
    free(got);
}

START_TEST(a_named_sandbox_has_its_branch)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = make_named(be, "a1");
    const char *root = pdk_sandbox_root(sb);
    int count = 0;

    char *head = pdk_test_git(root, "symbolic-ref HEAD");
    ck_assert_str_eq(head, "refs/heads/sandbox/x");
    expect_branches(shares_refs(be) ? "main\nsandbox/x" : "main");
    free(pdk_test_repo_commit(root, "work"));
    pdk_test_ok(pdk_sandbox_count_commits(sb, 0, &count, &err), &err);
    ck_assert_int_eq(count, 1);
    pdk_test_ok(
            pdk_sandbox_count_commits(sb, PDK_TEARDOWN_KEEP_BRANCH, &count, &err), &err);
    ck_assert_int_eq(
            count, shares_refs(be) ? 0 : 1); /* a branch that is kept keeps them */
    pdk_test_world_unmake(&world, sb);
    expect_untouched();
    free(head);
}
END_TEST

START_TEST(a_branch_is_kept_where_it_can_be)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = make_named(be, "a1");
    const struct pdk_sandbox_record *record = pdk_sandbox_get_record(sb);

    int rc = pdk_sandbox_teardown(
            record, world.repo, world.lock, PDK_TEARDOWN_KEEP_BRANCH, &err);
    if (shares_refs(be)) {
        pdk_test_ok(rc, &err);
        expect_branches("main\nsandbox/x");
    } else {
        ck_assert_int_eq(rc, PDK_ECONFLICT);
        ck_assert(pdk_test_exists(pdk_sandbox_root(sb)));
    }
    pdk_test_world_unmake(&world, sb);
    expect_branches("main");
}
END_TEST

START_TEST(a_branch_of_somebody_else_stays)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = make_named(be, "a1");

    /* Made anew by the user, on a history that does not hold the start. */
    free(pdk_test_git(pdk_sandbox_root(sb), "checkout -q --detach"));
    if (shares_refs(be))
        free(pdk_test_git(world.user, "branch -q -D sandbox/x"));
    free(pdk_test_git(world.user, "branch sandbox/x HEAD~1"));
    if (shares_refs(be)) {
        struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a2");
        struct pdk_sandbox *second = NULL;

        spec.branch = "sandbox/x";
        ck_assert_int_eq(
                pdk_sandbox_materialize(be, &spec, &second, NULL, &err), PDK_ECONFLICT);
        ck_assert(!pdk_test_exists(spec.dir));
        pdk_test_world_spec_fini(&spec);
        memset(&err, 0, sizeof(err));
    }
    pdk_test_world_unmake(&world, sb);
    expect_branches("main\nsandbox/x");
}
END_TEST

START_TEST(a_branch_that_is_checked_out_elsewhere_stays)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = make_named(be, "a1");
    const struct pdk_sandbox_record *record = pdk_sandbox_get_record(sb);

    if (shares_refs(be)) {
        free(pdk_test_git(pdk_sandbox_root(sb), "checkout -q --detach"));
        free(pdk_test_git(world.user, "checkout -q sandbox/x"));
        ck_assert_int_eq(pdk_sandbox_teardown(record, world.repo, world.lock, 0, &err),
                PDK_ECONFLICT);
        expect_branches("main\nsandbox/x");
        ck_assert(!pdk_test_exists(record->dir));
        free(pdk_test_git(world.user, "checkout -q main"));
        memset(&err, 0, sizeof(err));
    }
    pdk_test_world_unmake(&world, sb);
    expect_branches("main");
}
END_TEST

START_TEST(the_users_prune_leaves_a_live_one_alone)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1.b");
    const char *root = pdk_sandbox_root(sb);

    free(pdk_test_git(world.user, "worktree prune --expire=now"));
    char *listed = pdk_test_git(world.user, "worktree list --porcelain");
    ck_assert_int_eq(strstr(listed, root) != NULL, shares_refs(be));
    ck_assert_ptr_null(strstr(listed, "prunable"));
    ck_assert_ptr_null(strstr(listed, "locked"));
    free(listed);
    listed = pdk_test_git(root, "status --porcelain");
    ck_assert_str_eq(listed, "");
    free(listed);
    pdk_test_world_unmake(&world, sb);
    expect_untouched();
}
END_TEST

START_TEST(the_users_own_worktrees_stay)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *mine = pdk_test_path("mine");

    free(pdk_test_git(world.user, "worktree add -q --detach '%s'", mine));
    free(pdk_test_sh(mine, "mv '%s' '%s.away'", mine,
            mine)); /* on a drive that is not plugged in */
    char *listed = pdk_test_git(world.user, "worktree list");
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "mine");
    pdk_test_world_unmake(&world, sb);
    char *after = pdk_test_git(world.user, "worktree list");
    ck_assert_str_eq(listed, after);
    free(after);
    free(listed);
    free(mine);
}
END_TEST

/* ---- many at once */

enum { THREADS = 40, ROUNDS = 10 };

struct job {
    const struct pdk_backend *be;
    int round, index;
    int rc;
    struct pdk_err err;
};

static int live_once(struct job *job)
{
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = NULL;
    PDK_AUTO_VAULT struct pdk_vault *vault = NULL;
    char id[32], dir[4096], branch[64];
    struct pdk_sandbox_spec spec = {
        .id = id,
        .dir = dir,
        .lock = world.lock,
        .repo = world.repo,
        .base = world.base,
        .tree = world.base.tree,
    };

    (void)snprintf(id, sizeof(id), "r%d.c%d", job->round, job->index);
    (void)snprintf(dir, sizeof(dir), "%s/sandboxes/%s", world.state, id);
    (void)snprintf(branch, sizeof(branch), "sandbox/%s", id);
    spec.branch = job->index % 4 == 0 ? branch : NULL;
    int rc = pdk_vault_open(world.vault_path, world.repo->objects, &vault, &job->err);
    if (rc < 0)
        return rc;
    spec.vault = vault;
    rc = pdk_sandbox_materialize(job->be, &spec, &sb, NULL, &job->err);
    if (rc < 0)
        return rc;
    return pdk_sandbox_teardown(
            pdk_sandbox_get_record(sb), world.repo, world.lock, 0, &job->err);
}

static void *thread(void *arg)
{
    struct job *job = arg;

    job->rc = live_once(job);
    return NULL;
}

START_TEST(forty_at_once_ten_times_over)
{
    static struct job jobs[THREADS]; /* too large for a stack */
    pthread_t threads[THREADS];

    for (int round = 0; round < ROUNDS; round++) {
        memset(jobs, 0, sizeof(jobs));
        for (int i = 0; i < THREADS; i++) {
            jobs[i].be = pdk_backend_at((size_t)_i);
            jobs[i].round = round;
            jobs[i].index = i;
            ck_assert_int_eq(pthread_create(&threads[i], NULL, thread, &jobs[i]), 0);
        }
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < THREADS; i++)
            pdk_test_ok(jobs[i].rc, &jobs[i].err);
    }
    char *left = pdk_test_sh(world.state, "ls sandboxes");
    ck_assert_str_eq(left, "");
    expect_untouched();
    free(left);
}
END_TEST

/* What the user, or a gc of the user's, does meanwhile. */
static void *prune_all_the_time(void *arg)
{
    static const char *const args[] = { "worktree", "prune", "--expire=now", NULL };
    const atomic_bool *over = arg;
    struct pdk_err ignored = PDK_ERR_INIT;

    while (!atomic_load(over))
        (void)pdk_repo_git(
                world.repo, args, NULL, NULL, &ignored); /* races are its own affair */
    return NULL;
}

START_TEST(creations_do_not_mind_a_prune_at_any_moment)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    atomic_bool over = false;
    pthread_t pruner;

    ck_assert_int_eq(pthread_create(&pruner, NULL, prune_all_the_time, &over), 0);
    for (int i = 0; i < 60; i++) {
        char id[32];

        (void)snprintf(id, sizeof(id), "a%d", i);
        struct pdk_sandbox *sb = pdk_test_world_make(&world, be, id);
        char *head = pdk_test_git(pdk_sandbox_root(sb), "rev-parse HEAD");
        ck_assert_str_eq(head, world.base.commit.hex);
        free(head);
        pdk_test_world_unmake(&world, sb);
    }
    atomic_store(&over, true);
    ck_assert_int_eq(pthread_join(pruner, NULL), 0);
    expect_untouched();
}
END_TEST

static void setup_with_remote(void)
{
    pdk_test_dir_setup();
    memset(&err, 0, sizeof(err));
    pdk_test_world_open(&world);
    free(pdk_test_git(world.user, "clone -q --bare . ../origin.git"));
    free(pdk_test_git(world.user, "remote add origin ../origin.git"));
    free(pdk_test_git(world.user, "fetch -q origin"));
    free(pdk_test_git(world.user, "branch -q -u origin/main main"));
    before = pdk_test_world_fingerprint(&world);
}

int main(void)
{
    const TTest *const tests[] = { a_failed_creation_leaves_nothing,
        a_missing_object_is_named_and_leaves_nothing, what_is_there_is_never_used_again,
        a_place_outside_is_refused, a_parent_that_cannot_be_written_leaves_nothing,
        removal_follows_no_link, removal_works_from_the_record_alone_and_twice,
        removal_works_when_the_user_was_faster, a_record_that_leads_elsewhere_is_refused,
        a_named_sandbox_has_its_branch, a_branch_is_kept_where_it_can_be,
        a_branch_of_somebody_else_stays, a_branch_that_is_checked_out_elsewhere_stays,
        the_users_prune_leaves_a_live_one_alone, the_users_own_worktrees_stay };
    Suite *suite = suite_create("backends_removal");
    TCase *each = tcase_create("each");
    TCase *many = tcase_create("many");

    tcase_add_checked_fixture(each, setup, teardown);
    tcase_set_timeout(each, 60);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_loop_test(each, tests[i], 0, (int)pdk_backend_count());
    suite_add_tcase(suite, each);
    tcase_add_checked_fixture(many, setup_with_remote, teardown);
    tcase_set_timeout(many, 280);
    tcase_add_loop_test(many, forty_at_once_ten_times_over, 0, (int)pdk_backend_count());
    tcase_add_loop_test(many, creations_do_not_mind_a_prune_at_any_moment, 0,
            (int)pdk_backend_count());
    suite_add_tcase(suite, many);
    return pdk_test_main(suite);
}
