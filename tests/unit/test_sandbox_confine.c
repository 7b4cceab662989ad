/* Confinement, the pure part: which dialect, what may be said of it, the argv to the letter, what an ending means. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "sandbox/confine/bubblewrap.h"
#include "sandbox/confine/classify.h"
#include "sandbox/confine/confine.h"
#include "sandbox/confine/landlock.h"
#include "tests/support/fixture.h"

/* ---- which dialect */

static const struct choice {
    enum pdk_confine mode;
    bool full, bwrap;
    int landlock;
    enum pdk_dialect named;
    int rc;
    enum pdk_dialect dialect;
} choices[] = {
    { PDK_CONFINE_NONE, true, false, 0, PDK_DIALECT_NONE, 0, PDK_DIALECT_NONE },
    { PDK_CONFINE_WORKSPACE, false, true, 7, PDK_DIALECT_NONE, 0,
            PDK_DIALECT_BUBBLEWRAP },
    { PDK_CONFINE_READ_ONLY, true, true, 7, PDK_DIALECT_NONE, 0, PDK_DIALECT_BUBBLEWRAP },
    { PDK_CONFINE_WORKSPACE, false, true, 0, PDK_DIALECT_NONE, 0,
            PDK_DIALECT_BUBBLEWRAP },
    { PDK_CONFINE_WORKSPACE, true, true, 5, PDK_DIALECT_NONE, PDK_EUNAVAIL,
            PDK_DIALECT_NONE },
    { PDK_CONFINE_WORKSPACE, false, false, 7, PDK_DIALECT_NONE, 0, PDK_DIALECT_LANDLOCK },
    { PDK_CONFINE_WORKSPACE, true, false, 7, PDK_DIALECT_NONE, PDK_EUNAVAIL,
            PDK_DIALECT_NONE },
    { PDK_CONFINE_WORKSPACE, false, false, 0, PDK_DIALECT_NONE, PDK_EUNAVAIL,
            PDK_DIALECT_NONE },
    { PDK_CONFINE_READ_ONLY, false, true, 7, PDK_DIALECT_LANDLOCK, 0,
            PDK_DIALECT_LANDLOCK },
    { PDK_CONFINE_READ_ONLY, false, false, 7, PDK_DIALECT_BUBBLEWRAP, PDK_EUNAVAIL,
            PDK_DIALECT_NONE },
};

enum { CHOICES = sizeof(choices) / sizeof(choices[0]) };

START_TEST(a_dialect_is_chosen_or_nothing_runs)
{
    const struct choice *c = &choices[_i];
    struct pdk_policy policy = {
        .mode = c->mode, .require_full = c->full, .dialect = c->named
    };
    char program[] = "/usr/bin/bwrap";
    struct pdk_means means = { .bubblewrap = c->bwrap ? program : NULL,
        .landlock = c->landlock };
    struct pdk_err err = PDK_ERR_INIT;
    enum pdk_dialect got = PDK_DIALECT_NONE;

    ck_assert_int_eq(pdk_confine_choose(&policy, &means, &got, &err), c->rc);
    ck_assert_int_eq((int)got, (int)c->dialect);
    ck_assert(c->rc == 0 || pdk_starts_with(err.msg, "SANDBOX_UNAVAILABLE: "));
    ck_assert(c->rc == 0 || err.hint[0]);
}
END_TEST

START_TEST(what_is_named_is_taken_unprobed_and_nothing_else)
{
    struct pdk_policy policy = { .mode = PDK_CONFINE_READ_ONLY,
        .dialect = PDK_DIALECT_BUBBLEWRAP };
    struct pdk_err err = PDK_ERR_INIT;
    enum pdk_dialect got = PDK_DIALECT_NONE;

    ck_assert_int_eq(pdk_confine_choose(&policy, NULL, &got, &err), 0);
    ck_assert_int_eq((int)got, PDK_DIALECT_BUBBLEWRAP);
    policy.dialect = PDK_DIALECT_NONE;
    ck_assert_int_eq(pdk_confine_choose(&policy, NULL, &got, &err), PDK_EUNAVAIL);
}
END_TEST

START_TEST(enforcement_and_gaps_are_said_by_version)
{
    PDK_AUTO_STRV struct pdk_strv old = PDK_STRV_INIT, now = PDK_STRV_INIT,
                                  none = PDK_STRV_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(
            (int)pdk_confine_enforced(PDK_DIALECT_BUBBLEWRAP, 6), PDK_ENFORCED_FULL);
    ck_assert_int_eq(
            (int)pdk_confine_enforced(PDK_DIALECT_BUBBLEWRAP, 5), PDK_ENFORCED_PARTIAL);
    ck_assert_int_eq(
            (int)pdk_confine_enforced(PDK_DIALECT_LANDLOCK, 100), PDK_ENFORCED_PARTIAL);
    ck_assert_int_eq((int)pdk_confine_enforced(PDK_DIALECT_NONE, 7), PDK_ENFORCED_NONE);
    ck_assert_int_eq(pdk_confine_missing(PDK_DIALECT_LANDLOCK, 1, &old, &err), 0);
    ck_assert_int_eq(pdk_confine_missing(PDK_DIALECT_LANDLOCK, 7, &now, &err), 0);
    ck_assert_int_eq(pdk_confine_missing(PDK_DIALECT_BUBBLEWRAP, 7, &none, &err), 0);
    ck_assert(pdk_strv_has(&old, "files outside may be truncated"));
    ck_assert(!pdk_strv_has(&now, "files outside may be truncated"));
    ck_assert_uint_gt(now.len, 0);
    ck_assert_uint_eq(none.len, 0);
}
END_TEST

START_TEST(modes_are_three_and_ordered)
{
    static const char *const names[] = { "danger-full-access", "workspace-write",
        "read-only" };
    struct pdk_err err = PDK_ERR_INIT;
    enum pdk_confine mode;

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pdk_mode_find(names[i], &mode, &err), 0);
        ck_assert_str_eq(pdk_mode_name(mode), names[i]);
        for (int k = 0; k < 3; k++)
            ck_assert(pdk_mode_is_wider((enum pdk_confine)i, (enum pdk_confine)k) ==
                    (i < k));
    }
    ck_assert_int_eq(pdk_mode_find("x", &mode, &err), PDK_EINVAL);
    ck_assert_int_eq(pdk_mode_find("", &mode, &err), PDK_EINVAL);
}
END_TEST

/* ---- roots */

START_TEST(roots_are_resolved_and_none_lies_in_another)
{
    PDK_AUTO_FREE char *a = pdk_test_path("a"), *in = pdk_test_path("a/in"),
                       *ab = pdk_test_path("ab"), *link = pdk_test_path("link"),
                       *gone = pdk_test_path("gone");
    PDK_AUTO_STRV struct pdk_strv out = PDK_STRV_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_mkdirs(in);
    pdk_test_mkdirs(ab);
    ck_assert_int_eq(symlink(in, link), 0);
    const char *paths[] = { in, a, ab, link, a, gone, "relative", NULL };

    ck_assert_int_eq(pdk_confine_roots(paths, 8, &out, &err), 0);
    ck_assert_uint_eq(out.len, 2);
    ck_assert_str_eq(out.items[0], a);
    ck_assert_str_eq(out.items[1], ab);
    /* What is above a link is that of its target, not of its name. */
    PDK_AUTO_FREE char *above = pdk_test_path("link/..");
    PDK_AUTO_STRV struct pdk_strv resolved = PDK_STRV_INIT;
    paths[0] = above;
    ck_assert_int_eq(pdk_confine_roots(paths, 1, &resolved, &err), 0);
    ck_assert_str_eq(resolved.items[0], a);
}
END_TEST

START_TEST(within_knows_separators)
{
    ck_assert(pdk_path_is_within("/a", "/a"));
    ck_assert(pdk_path_is_within("/a/b", "/a"));
    ck_assert(pdk_path_is_within("/a/b", "/a/"));
    ck_assert(pdk_path_is_within("/a", "/"));
    ck_assert(!pdk_path_is_within("/ab", "/a"));
    ck_assert(!pdk_path_is_within("/", "/a"));
}
END_TEST

/* ---- the argv, to the letter */

static void expect_argv(enum pdk_confine mode, const char *expected)
{
    PDK_AUTO_STRV struct pdk_strv temps = PDK_STRV_INIT, visible = PDK_STRV_INIT,
                                  sockets = PDK_STRV_INIT, kernel = PDK_STRV_INIT,
                                  argv = PDK_STRV_INIT;
    struct pdk_bubblewrap b = { "/usr/bin/bwrap", mode, "/home/u/s/tree", &temps,
        &visible, &sockets, &kernel };
    PDK_AUTO_BUF struct pdk_buf line = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_strv_add(&temps, "/tmp");
    pdk_strv_add(&temps, "/var/tmp");
    pdk_strv_add(&visible, "/tmp/repo/.git/objects");
    pdk_strv_add(&sockets, "/srv/daemon.sock");
    pdk_strv_add(&kernel, "/proc/sys");
    ck_assert_int_eq(pdk_bubblewrap_argv(&b, &argv, &err), 0);
    for (size_t i = 0; i < argv.len; i++)
        pdk_buf_addf(&line, "%s%s", i ? " " : "", argv.items[i]);
    ck_assert_str_eq(pdk_buf_str(&line), expected);
}

#define ARGV_HEAD                                                                        \
    "/usr/bin/bwrap --die-with-parent --new-session --unshare-user --unshare-pid "       \
    "--unshare-ipc --unshare-uts --unshare-cgroup-try --cap-drop ALL --ro-bind / / "     \
    "--dev /dev --proc /proc --ro-bind /proc/sys /proc/sys --tmpfs /tmp "                \
    "--tmpfs /var/tmp --tmpfs /run --ro-bind /tmp/repo/.git/objects "                    \
    "/tmp/repo/.git/objects --ro-bind /dev/null /srv/daemon.sock "
#define ARGV_TAIL                                                                        \
    " --json-status-fd 3 --chdir /home/u/s/tree -- /proc/self/fd/5 --shim 6 7"

START_TEST(the_profile_is_what_was_reviewed)
{
    expect_argv(PDK_CONFINE_WORKSPACE,
            ARGV_HEAD "--bind-fd 4 /home/u/s/tree --remount-ro /run" ARGV_TAIL);
    expect_argv(PDK_CONFINE_READ_ONLY,
            ARGV_HEAD "--ro-bind-fd 4 /home/u/s/tree --remount-ro /run --remount-ro /tmp "
                      "--remount-ro /var/tmp --remount-ro /dev" ARGV_TAIL);
}
END_TEST

/* ---- endings */

static const struct ending {
    enum pdk_dialect dialect;
    bool reported, has_exit;
    int exit_code, signal;
    const char *err;
    enum pdk_ending ending;
} endings[] = {
    { PDK_DIALECT_BUBBLEWRAP, true, true, 1, 0, "x: Read-only file system",
            PDK_ENDING_DENIED },
    { PDK_DIALECT_BUBBLEWRAP, true, true, 1, 0, "x: Permission denied",
            PDK_ENDING_ORDINARY },
    { PDK_DIALECT_BUBBLEWRAP, true, true, 0, 0, "Read-only file system",
            PDK_ENDING_ORDINARY },
    { PDK_DIALECT_BUBBLEWRAP, true, true, -1, 15, "Read-only file system",
            PDK_ENDING_ORDINARY },
    { PDK_DIALECT_BUBBLEWRAP, true, true, 1, 0, "bwrap: setting up uid map",
            PDK_ENDING_ORDINARY },
    { PDK_DIALECT_BUBBLEWRAP, false, false, 1, 0, "bwrap: setting up uid map",
            PDK_ENDING_RUNNER },
    { PDK_DIALECT_BUBBLEWRAP, false, false, 1, 0, "Read-only file system",
            PDK_ENDING_RUNNER },
    { PDK_DIALECT_BUBBLEWRAP, false, true, 1, 0, "", PDK_ENDING_ORDINARY },
    { PDK_DIALECT_BUBBLEWRAP, false, false, -1, 9, "", PDK_ENDING_ORDINARY },
    { PDK_DIALECT_LANDLOCK, false, false, 1, 0, "x: Permission denied",
            PDK_ENDING_DENIED },
    { PDK_DIALECT_LANDLOCK, false, false, 1, 0, "mv: Invalid cross-device link",
            PDK_ENDING_DENIED },
    { PDK_DIALECT_LANDLOCK, false, false, 1, 0, "x: Read-only file system",
            PDK_ENDING_ORDINARY },
    { PDK_DIALECT_RUNNER, false, false, 1, 0, "NO", PDK_ENDING_DENIED },
    { PDK_DIALECT_RUNNER, false, false, 1, 0, "Permission denied", PDK_ENDING_ORDINARY },
    { PDK_DIALECT_RUNNER, false, false, 125, 0, "NO BROKEN", PDK_ENDING_RUNNER },
    { PDK_DIALECT_RUNNER, false, false, 124, 0, "BROKEN", PDK_ENDING_ORDINARY },
    { PDK_DIALECT_RUNNER, false, false, 125, 0, "", PDK_ENDING_ORDINARY },
    { PDK_DIALECT_NONE, false, false, 1, 0, "Read-only file system",
            PDK_ENDING_ORDINARY },
};

enum { ENDINGS = sizeof(endings) / sizeof(endings[0]) };

START_TEST(an_ending_is_runner_then_denial_then_ordinary)
{
    const struct ending *e = &endings[_i];
    struct pdk_runner runner = { .failure_exit = 125 };
    struct pdk_finish f = { e->dialect, &runner, e->reported, e->has_exit, e->exit_code,
        e->signal, e->err, strlen(e->err) };

    pdk_strv_add(&runner.signatures, "NO");
    pdk_strv_add(&runner.failures, "BROKEN");
    ck_assert_int_eq((int)pdk_classify(&f), (int)e->ending);
    pdk_strv_fini(&runner.signatures);
    pdk_strv_fini(&runner.failures);
}
END_TEST

/* ---- the wire */

START_TEST(a_policy_comes_back_as_it_went)
{
    struct pdk_policy policy = { .mode = PDK_CONFINE_READ_ONLY,
        .require_full = true,
        .dialect = PDK_DIALECT_LANDLOCK,
        .runner = { .failure_exit = 9 } },
                      copy, back;
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_strv_add(&policy.visible, "/a\xff");
    pdk_strv_add(&policy.runner.argv, "/bin/runner");
    pdk_strv_add(&policy.runner.signatures, "no");
    ck_assert_int_eq(pdk_policy_copy(&copy, &policy, &err), 0);
    ck_assert_int_eq(pdk_policy_to_json(&copy, &v, &err), 0);
    ck_assert_int_eq(pdk_policy_from_json(v, &back, &err), 0);
    ck_assert_int_eq((int)back.mode, PDK_CONFINE_READ_ONLY);
    ck_assert(back.require_full);
    ck_assert_int_eq((int)back.dialect, PDK_DIALECT_LANDLOCK);
    ck_assert_str_eq(back.visible.items[0], "/a\xff");
    ck_assert_str_eq(back.runner.argv.items[0], "/bin/runner");
    ck_assert_int_eq(back.runner.failure_exit, 9);
    pdk_policy_fini(&policy);
    pdk_policy_fini(&copy);
    pdk_policy_fini(&back);
}
END_TEST

START_TEST(means_come_back_as_they_went)
{
    struct pdk_means means = { .landlock = 7 }, back;
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    means.bubblewrap_why = strdup("no bwrap");
    ck_assert_int_eq(pdk_means_to_json(&means, &v, &err), 0);
    ck_assert_int_eq(pdk_means_from_json(v, &back, &err), 0);
    ck_assert_ptr_null(back.bubblewrap);
    ck_assert_str_eq(back.bubblewrap_why, "no bwrap");
    ck_assert_int_eq(back.landlock, 7);
    pdk_means_fini(&means);
    pdk_means_fini(&back);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sandbox: confine");
    TCase *tc = tcase_create("confine");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_loop_test(tc, a_dialect_is_chosen_or_nothing_runs, 0, CHOICES);
    tcase_add_test(tc, what_is_named_is_taken_unprobed_and_nothing_else);
    tcase_add_test(tc, enforcement_and_gaps_are_said_by_version);
    tcase_add_test(tc, modes_are_three_and_ordered);
    tcase_add_test(tc, roots_are_resolved_and_none_lies_in_another);
    tcase_add_test(tc, within_knows_separators);
    tcase_add_test(tc, the_profile_is_what_was_reviewed);
    tcase_add_loop_test(tc, an_ending_is_runner_then_denial_then_ordinary, 0, ENDINGS);
    tcase_add_test(tc, a_policy_comes_back_as_it_went);
    tcase_add_test(tc, means_come_back_as_they_went);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
