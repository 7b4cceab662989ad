/*
 * Ways out of a confined command. Each is shown to work for an ordinary process of the same user (the guard off), then not
 * to work under each dialect (the guard on). What counts is the file outside, not what the program says.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/str.h"
#include "tests/support/fixture.h"
#include "tests/support/peer.h"

enum { NOBODY = 65534 };

enum who { ROOT_ONLY = 1U << 0, ANYBODY = 0 };

static const struct escape {
    const char *name;
    unsigned int who;
    bool by_exit;      /* nothing of it shows outside: the program's word counts */
    bool landlock_too; /* false: one of the gaps that Landlock is said to have */
} escapes[] = {
    { "computed", ANYBODY, false, true },
    { "dotdot", ANYBODY, false, true },
    { "symlink", ANYBODY, false, true },
    { "swap", ANYBODY, false, true },
    { "hardlink", ANYBODY, false, true },
    { "procroot", ANYBODY, false, true },
    { "mount", ANYBODY, false, true },
    { "descriptor", ANYBODY, false, true },
    { "truncate", ANYBODY, false, true },
    { "remove", ANYBODY, false, true },
    { "rename", ANYBODY, false, true },
    { "make", ANYBODY, false, true },
    { "handle", ROOT_ONLY, false, true },
    { "device", ROOT_ONLY, true, true },
    { "kernel", ROOT_ONLY, true, true },
    { "ptrace", ANYBODY, true, true },
    { "socket", ANYBODY, true, false },
    { "abstract", ANYBODY, true, true },
    { "mode", ANYBODY, true, false },
};

enum { ESCAPES = sizeof(escapes) / sizeof(escapes[0]) };

static const char *const dialects[] = { "bubblewrap", "landlock" };

static struct pdk_peer peer;
static char *outside, *target, *program;
static int leak = -1, listeners[2] = { -1, -1 };

/* ---- the world outside */

/* Not below a temporary directory, which would be masked: where a user's files are. */
static void make_outside(uid_t owner)
{
    outside = strdup(PDK_TEST_CHILD_DIR "/outside-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(outside));
    ck_assert_int_eq(chown(outside, owner, owner), 0);
    ck_assert_int_eq(chmod(outside, 0755), 0);
    target = pdk_strf("%s/f", outside);
    pdk_test_write_text(target, "kept\n");
    ck_assert_int_eq(chown(target, owner, owner), 0);
    ck_assert_int_eq(chmod(target, 0644), 0);
    leak = open(target, O_WRONLY | O_APPEND); /* inherited on purpose */
    ck_assert_int_ge(leak, 3);
}

static int listen_at(const struct sockaddr_un *address, socklen_t len)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (const struct sockaddr *)address, len), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    return fd;
}

static void listen_outside(uid_t owner)
{
    struct sockaddr_un path = { .sun_family = AF_UNIX }, name = { .sun_family = AF_UNIX };
    int n;

    (void)snprintf(path.sun_path, sizeof(path.sun_path), "%s/socket", outside);
    listeners[0] = listen_at(&path, sizeof(path));
    ck_assert_int_eq(chown(path.sun_path, owner, owner), 0);
    n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "%s",
            strrchr(outside, '/') + 1);
    listeners[1] = listen_at(
            &name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n));
}

/* A copy in the root, since the build folder may be closed to that user. */
static void bring_program(void)
{
    PDK_AUTO_FREE char *from = pdk_strf("%s/child_escape", PDK_TEST_CHILD_DIR);
    PDK_AUTO_FREE char *bytes = NULL;
    size_t size;

    program = pdk_peer_path(&peer, "escape");
    bytes = pdk_test_read(from, &size);
    pdk_test_write(program, bytes, size);
    ck_assert_int_eq(chmod(program, 0755), 0);
}

static void open_world(int way)
{
    uid_t owner = way == PDK_PEER_NOBODY ? NOBODY : geteuid();

    make_outside(owner);
    listen_outside(owner);
    pdk_peer_open(&peer, way);
    bring_program();
}

static void close_world(void)
{
    pdk_peer_close(&peer);
    (void)close(leak);
    (void)close(listeners[0]);
    (void)close(listeners[1]);
    pdk_test_remove(outside);
    free(outside);
    free(target);
    free(program);
}

static bool is_whole(void)
{
    PDK_AUTO_FREE char *fresh = pdk_strf("%s/new", outside);
    PDK_AUTO_FREE char *text = NULL;

    if (pdk_test_exists(fresh) || !pdk_test_exists(target))
        return false;
    text = pdk_test_read(target, NULL);
    return strcmp(text, "kept\n") == 0;
}

/* ---- off and on */

static void become(int way)
{
    if (way == PDK_PEER_NOBODY &&
            (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                    setresuid(NOBODY, NOBODY, NOBODY) < 0))
        _exit(125);
}

/* An ordinary process of that user, in the root. */
static int run_free(const char *name, int way)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        become(way);
        /* The test's own stay out of it. */
        (void)close_range(3, (unsigned int)leak - 1, 0);
        (void)close_range((unsigned int)leak + 1, ~0U, 0);
        if (chdir(peer.root) < 0)
            _exit(126);
        (void)execl(program, program, name, outside, NULL);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static struct pdk_json *confined(
        struct pdk_json *params, const char *mode, const char *dialect)
{
    struct pdk_json *confine = pdk_json_object();

    (void)pdk_json_set_str(confine, "mode", mode);
    if (dialect)
        (void)pdk_json_set_str(confine, "dialect", dialect);
    (void)pdk_json_set(params, "confine", confine);
    return params;
}

static void run_confined(struct pdk_json *params, const char *mode, const char *dialect,
        struct pdk_exec_result *r)
{
    pdk_peer_result(
            &peer, pdk_peer_send(&peer, "exec", confined(params, mode, dialect)), r);
    ck_assert_msg(r->start == PDK_EXEC_STARTED, "%s: %s", dialect, r->why);
}

static int way_of(int i)
{
    return i % 2 == 0 ? PDK_PEER_SELF : PDK_PEER_NOBODY;
}

/* Whom we can be: the second way is root's to try. */
static int ways(void)
{
    return geteuid() == 0 ? 2 : 1;
}

START_TEST(a_way_out_is_open_without_and_closed_with_confinement)
{
    const struct escape *e = &escapes[_i / 4];
    int way = way_of(_i % 4 / 2), code;
    const char *dialect = dialects[_i % 2];
    struct pdk_exec_result r;

    if ((way == PDK_PEER_NOBODY && geteuid() != 0) ||
            ((e->who & ROOT_ONLY) && (way == PDK_PEER_NOBODY || geteuid() != 0)))
        return;
    open_world(way);
    const char *argv[] = { program, e->name, outside, NULL };

    run_confined(pdk_peer_argv(argv), "workspace-write", dialect, &r);
    if (e->landlock_too || strcmp(dialect, "bubblewrap") == 0) {
        ck_assert_msg(is_whole(), "%s got out of %s", e->name, dialect);
        ck_assert_msg(!e->by_exit || r.exit_code == 1, "%s worked in %s: %d, signal %d",
                e->name, dialect, r.exit_code, r.signal);
    } else {
        ck_assert_msg(r.exit_code == 0, "%s does more than it says", dialect);
    }
    pdk_peer_run(&peer,
            "cp escape e; rm -rf link real other hard mounted mine disk; mv e escape",
            &r);
    code = run_free(e->name, way);
    ck_assert_msg(
            e->by_exit ? code == 0 : !is_whole(), "%s does nothing when it may", e->name);
    close_world();
}
END_TEST

START_TEST(the_shim_cannot_be_traced)
{
    struct pdk_exec_result r;
    open_world(way_of(_i));
    const char *argv[] = { program, "shim", outside, NULL };

    run_confined(pdk_peer_argv(argv), "workspace-write", "bubblewrap", &r);
    ck_assert_int_eq(r.exit_code, 1);
    close_world();
}
END_TEST

/* ---- what the modes allow */

START_TEST(read_only_allows_the_sink_and_nothing_else)
{
    struct pdk_exec_result r;
    open_world(way_of(_i / 2));

    run_confined(
            pdk_peer_sh(
                    "echo gone > /dev/null && for d in . /tmp /var/tmp /dev/shm /dev "
                    "/run \"$OUTSIDE\"; do ! touch $d/probe 2>/dev/null || exit 3; done"),
            "read-only", dialects[_i % 2], &r);
    ck_assert_int_eq(r.exit_code, 0);
    ck_assert(is_whole());
    close_world();
}
END_TEST

START_TEST(workspace_write_allows_the_root_and_a_temporary_directory)
{
    struct pdk_exec_result r;
    PDK_AUTO_FREE char *made = NULL;
    open_world(way_of(_i / 2));

    run_confined(
            pdk_peer_sh("mkdir -p a/b && echo x > a/b/c && mv a/b/c c && "
                        "echo t > \"${TMPDIR:-/tmp}/t\" && rm \"${TMPDIR:-/tmp}/t\""),
            "workspace-write", dialects[_i % 2], &r);
    ck_assert_int_eq(r.exit_code, 0);
    made = pdk_peer_path(&peer, "c");
    ck_assert(pdk_test_exists(made));
    close_world();
}
END_TEST

/* ---- diagnosis */

START_TEST(a_denial_is_told_with_its_mode)
{
    struct pdk_exec_result r;
    open_world(way_of(_i / 2));
    PDK_AUTO_FREE char *text = pdk_strf("echo no >> %s", target);

    run_confined(pdk_peer_sh(text), "workspace-write", dialects[_i % 2], &r);
    ck_assert_int_ne(r.exit_code, 0);
    ck_assert(is_whole());
    ck_assert(r.confined.denied);
    ck_assert_int_eq((int)r.confined.mode, (int)PDK_CONFINE_WORKSPACE);
    ck_assert_str_eq(pdk_dialect_name(r.confined.dialect), dialects[_i % 2]);
    ck_assert_str_eq(
            pdk_enforced_name(r.confined.enforcement), _i % 2 ? "partial" : "full");
    close_world();
}
END_TEST

START_TEST(a_spoofed_signature_spoils_the_diagnosis_alone)
{
    struct pdk_exec_result r;
    open_world(way_of(_i / 2));
    PDK_AUTO_FREE char *text = pdk_strf("echo no > %s; echo 'Read-only file system' >&2; "
                                        "echo 'Permission denied' >&2; exit 1",
            target);

    run_confined(pdk_peer_sh(text), "workspace-write", dialects[_i % 2], &r);
    ck_assert(r.confined.denied);
    ck_assert(is_whole());
    run_confined(pdk_peer_sh("echo 'bwrap: cannot' >&2; exit 1"), "workspace-write",
            dialects[_i % 2], &r);
    ck_assert_int_eq(r.exit_code, 1);
    ck_assert(!r.confined.denied);
    close_world();
}
END_TEST

START_TEST(a_signal_death_is_never_a_denial)
{
    struct pdk_exec_result r;
    open_world(way_of(_i / 2));

    run_confined(
            pdk_peer_sh(
                    "echo 'Read-only file system: Permission denied' >&2; kill -TERM $$"),
            "workspace-write", dialects[_i % 2], &r);
    ck_assert_int_eq(r.signal, SIGTERM);
    ck_assert(!r.confined.denied);
    run_confined(pdk_peer_sh("exit 143"), "workspace-write", dialects[_i % 2], &r);
    ck_assert_int_eq(r.exit_code, 143);
    ck_assert_int_eq(r.signal, 0);
    close_world();
}
END_TEST

/* ---- how commands end in it */

START_TEST(what_outlives_the_command_is_ended_politely_and_counted)
{
    struct pdk_exec_result r;
    PDK_AUTO_FREE char *heard = NULL;
    open_world(way_of(_i / 2));

    run_confined(
            pdk_peer_sh(
                    "(setsid sh -c 'trap \"echo heard > heard; exit\" TERM; echo up > up; "
                    "while :; do sleep 0.02; done' >/dev/null 2>&1 &); "
                    "while [ ! -e up ]; do sleep 0.01; done"),
            "workspace-write", dialects[_i % 2], &r);
    ck_assert_int_eq(r.exit_code, 0);
    ck_assert_int_ge(r.stragglers, 1);
    ck_assert_int_eq(r.leaked, 0);
    heard = pdk_peer_path(&peer, "heard");
    ck_assert(pdk_test_exists(heard));
    close_world();
}
END_TEST

START_TEST(a_timeout_climbs_its_ladder_inside)
{
    struct pdk_exec_result r;
    PDK_AUTO_FREE char *heard = NULL;
    open_world(way_of(_i / 2));
    struct pdk_json *params = pdk_peer_sh(
            "trap 'echo heard > heard; exit 7' INT TERM; while :; do sleep 0.02; done");

    (void)pdk_json_set_int(params, "timeout_ms", 500);
    run_confined(params, "workspace-write", dialects[_i % 2], &r);
    ck_assert(r.timed_out);
    ck_assert_int_eq(r.exit_code, 7);
    heard = pdk_peer_path(&peer, "heard");
    ck_assert(pdk_test_exists(heard));
    params = pdk_peer_sh("trap '' INT TERM; while :; do sleep 0.02; done");
    struct pdk_json *graces = pdk_json_object();
    (void)pdk_json_set_int(graces, "int_ms", 30);
    (void)pdk_json_set_int(graces, "kill_ms", 10000);
    (void)pdk_json_set(params, "graces", graces);
    (void)pdk_json_set_int(params, "timeout_ms", 300);
    run_confined(params, "workspace-write", dialects[_i % 2], &r);
    ck_assert(r.timed_out);
    ck_assert_int_eq(r.signal, SIGKILL);
    ck_assert_int_eq(r.leaked, 0);
    close_world();
}
END_TEST

START_TEST(what_cannot_start_says_so_from_inside)
{
    struct pdk_exec_result r;
    open_world(way_of(_i / 2));
    const char *argv[] = { "/no/such/program", NULL };

    pdk_peer_result(&peer,
            pdk_peer_send(&peer, "exec",
                    confined(pdk_peer_argv(argv), "workspace-write", dialects[_i % 2])),
            &r);
    ck_assert_int_eq((int)r.start, PDK_EXEC_NO_COMMAND);
    ck_assert_int_eq(r.start_errno, ENOENT);
    close_world();
}
END_TEST

/* Where mount() is refused bubblewrap cannot work: nothing runs by it, and a choice falls on Landlock. */
START_TEST(a_dialect_that_cannot_be_had_runs_nothing)
{
    struct pdk_exec_result r;
    PDK_AUTO_FREE char *ran = NULL;
    open_world(PDK_PEER_NO_MOUNT);
    ran = pdk_peer_path(&peer, "ran");

    pdk_peer_result(&peer,
            pdk_peer_send(&peer, "exec",
                    confined(pdk_peer_sh("echo > ran"), "workspace-write", "bubblewrap")),
            &r);
    ck_assert_int_eq((int)r.start, PDK_EXEC_NO_CONFINEMENT);
    ck_assert_ptr_nonnull(strstr(r.why, "SANDBOX_UNAVAILABLE"));
    ck_assert(!pdk_test_exists(ran));
    run_confined(pdk_peer_sh("echo > ran"), "workspace-write", NULL, &r);
    ck_assert_int_eq((int)r.confined.dialect, PDK_DIALECT_LANDLOCK);
    ck_assert(pdk_test_exists(ran));
    close_world();
}
END_TEST

START_TEST(full_enforcement_refuses_a_partial_one)
{
    struct pdk_exec_result r;
    PDK_AUTO_FREE char *ran = NULL;
    open_world(PDK_PEER_SELF);
    ran = pdk_peer_path(&peer, "ran");
    struct pdk_json *params =
            confined(pdk_peer_sh("echo > ran"), "workspace-write", "landlock");

    (void)pdk_json_set_bool(pdk_json_get(params, "confine"), "require_full", true);
    pdk_peer_result(&peer, pdk_peer_send(&peer, "exec", params), &r);
    ck_assert_int_eq((int)r.start, PDK_EXEC_NO_CONFINEMENT);
    ck_assert(!pdk_test_exists(ran));
    params = confined(pdk_peer_sh("echo > ran"), "workspace-write", NULL);
    (void)pdk_json_set_bool(pdk_json_get(params, "confine"), "require_full", true);
    pdk_peer_result(&peer, pdk_peer_send(&peer, "exec", params), &r);
    ck_assert_int_eq((int)r.start, PDK_EXEC_STARTED);
    ck_assert_int_eq((int)r.confined.dialect, PDK_DIALECT_BUBBLEWRAP);
    close_world();
}
END_TEST

/* A bubblewrap before which the socket goes that was to be masked, as its owner may end at any time. */
START_TEST(a_socket_that_goes_meanwhile_costs_a_second_start)
{
    struct pdk_exec_result r;
    PDK_AUTO_FREE char *dir =
            pdk_strf("%s/../racing-%d", PDK_TEST_CHILD_DIR, (int)getpid());
    PDK_AUTO_FREE char *script = pdk_strf("%s/bwrap", dir);
    PDK_AUTO_FREE char *before = strdup(getenv("PATH"));
    PDK_AUTO_FREE char *path = pdk_strf("%s:%s", dir, before);
    PDK_AUTO_FREE char *text = NULL;

    ck_assert_int_eq(setenv("PATH", path, 1), 0);
    open_world(PDK_PEER_SELF);
    ck_assert_int_eq(setenv("PATH", before, 1), 0);
    text = pdk_strf(
            "#!/bin/sh\necho >> '%s/tries'\nrm -f '%s/socket'\nPATH='%s'\nexec bwrap \"$@\"\n",
            outside, outside, before);
    pdk_test_write_text(script, text);
    ck_assert_int_eq(chmod(script, 0755), 0);
    run_confined(
            pdk_peer_sh("echo ran >> ran; exit 6"), "workspace-write", "bubblewrap", &r);
    ck_assert_int_eq(r.exit_code, 6);
    PDK_AUTO_FREE char *tries = pdk_strf("%s/tries", outside),
                       *ran = pdk_peer_path(&peer, "ran");
    PDK_AUTO_FREE char *tried = pdk_test_read(tries, NULL),
                       *once = pdk_test_read(ran, NULL);
    ck_assert_str_eq(tried, "\n\n");
    ck_assert_str_eq(once, "ran\n");
    pdk_test_remove(dir);
    close_world();
}
END_TEST

/* ---- terminals */

/* All that a kept process writes, to its end; owned by the caller. */
static char *output_of(int64_t handle)
{
    struct pdk_buf all = PDK_BUF_INIT;

    for (bool more = true; more;) {
        struct pdk_json *params = pdk_json_object();
        size_t before = all.len;

        (void)pdk_json_set_int(params, "handle", handle);
        (void)pdk_json_set_bool(params, "clear", true);
        (void)pdk_json_set_int(params, "wait_ms", 60000);
        PDK_AUTO_JSON struct pdk_json *r = pdk_peer_ask(&peer, "proc_read", params);
        ck_assert_int_eq(pdk_json_get_bytes(r, "stdout", &all, NULL), 0);
        more = pdk_json_get_bool(r, "running", false) || all.len > before;
    }
    return pdk_buf_take(&all);
}

START_TEST(a_terminal_is_confined_and_is_the_sessions_own)
{
    struct pdk_json *params = NULL;
    int64_t handle;
    PDK_AUTO_FREE char *text = NULL, *output = NULL;
    open_world(way_of(_i / 2));
    text = pdk_strf(
            "echo by-tty > /dev/tty; echo no >> %s; echo yes > made; kill -0 $$ && echo end",
            target);

    params = confined(pdk_peer_sh(text), "workspace-write", dialects[_i % 2]);
    (void)pdk_json_set_bool(params, "pty", true);
    PDK_AUTO_JSON struct pdk_json *answer = pdk_peer_ask(&peer, "spawn", params);
    handle = pdk_json_get_int(answer, "handle", 0);
    output = output_of(handle);
    ck_assert_msg(strstr(output, "by-tty") && strstr(output, "end"), "%s", output);
    ck_assert(is_whole());
    params = pdk_json_object();
    (void)pdk_json_set_int(params, "handle", handle);
    pdk_json_free(pdk_peer_ask(&peer, "proc_stop", params));
    close_world();
}
END_TEST

/* ---- a runner of the operator's */

static struct pdk_json *with_runner(const char *sh, const char *script)
{
    struct pdk_json *params = confined(pdk_peer_sh(sh), "workspace-write", NULL);
    struct pdk_json *runner = pdk_json_object();
    const char *argv[] = { "/bin/sh", "-c", script, "runner", "{root}", "{mode}" };
    const char *signatures[] = { "DENIED BY RUNNER" }, *failures[] = { "runner broke" };

    (void)pdk_json_set(runner, "argv", pdk_json_strv(argv, 6));
    (void)pdk_json_set(runner, "signatures", pdk_json_strv(signatures, 1));
    (void)pdk_json_set(runner, "failures", pdk_json_strv(failures, 1));
    (void)pdk_json_set(pdk_json_get(params, "confine"), "runner", runner);
    return params;
}

START_TEST(a_runner_is_run_with_its_words_and_judged_by_its_own_rules)
{
    struct pdk_exec_result r;
    PDK_AUTO_FREE char *seen = NULL;
    PDK_AUTO_FREE char *text = NULL;
    PDK_AUTO_FREE char *expected = NULL;
    open_world(PDK_PEER_SELF);

    pdk_peer_result(&peer,
            pdk_peer_send(&peer, "exec",
                    with_runner("exit 4", "echo \"$1 $2\" > seen; shift 2; exec \"$@\"")),
            &r);
    ck_assert_int_eq(r.exit_code, 4);
    ck_assert_int_eq((int)r.confined.enforcement, PDK_ENFORCED_FULL);
    ck_assert(!r.confined.denied);
    seen = pdk_peer_path(&peer, "seen");
    text = pdk_test_read(seen, NULL);
    expected = pdk_strf("%s workspace-write\n", peer.root);
    ck_assert_str_eq(text, expected);

    pdk_peer_result(&peer,
            pdk_peer_send(&peer, "exec",
                    with_runner("exit 4", "echo DENIED BY RUNNER >&2; exit 4")),
            &r);
    ck_assert(r.confined.denied);
    pdk_peer_result(&peer,
            pdk_peer_send(&peer, "exec",
                    with_runner("exit 4", "echo runner broke >&2; exit 125")),
            &r);
    ck_assert_int_eq((int)r.start, PDK_EXEC_NO_CONFINEMENT);
    pdk_peer_result(&peer,
            pdk_peer_send(&peer, "exec",
                    with_runner("exit 4", "echo runner broke >&2; exit 9")),
            &r);
    ck_assert_int_eq(r.exit_code, 9);
    close_world();
}
END_TEST

START_TEST(policies_out_of_form_are_refused)
{
    static const char *const wrong[] = { "{\"mode\": \"x\"}", "{}",
        "{\"mode\": \"read-only\", \"dialect\": \"none\"}",
        "{\"mode\": \"read-only\", \"dialect\": \"runner\"}",
        "{\"mode\": \"read-only\", \"runner\": {\"argv\": [\"/bin/x\"]}}",
        "{\"mode\": \"read-only\", \"runner\": {\"argv\": [\"x\"], \"signatures\": [\"s\"]}}",
        "{\"mode\": \"read-only\", \"visible\": [3]}",
        "{\"mode\": \"read-only\", \"require_full\": 1}", "[]" };
    struct pdk_json *params = pdk_peer_sh("true"), *confine = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_peer_open(&peer, PDK_PEER_SELF);
    ck_assert_int_eq(pdk_json_parse(wrong[_i], strlen(wrong[_i]), &confine, &err), 0);
    (void)pdk_json_set(params, "confine", confine);
    pdk_peer_refused(&peer, "exec", params, "bad_params");
    pdk_peer_close(&peer);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent: escape");
    TCase *tc = tcase_create("escape");
    int each = 2 * ways();

    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(
            tc, a_way_out_is_open_without_and_closed_with_confinement, 0, 4 * ESCAPES);
    tcase_add_loop_test(tc, the_shim_cannot_be_traced, 0, ways());
    tcase_add_loop_test(tc, read_only_allows_the_sink_and_nothing_else, 0, each);
    tcase_add_loop_test(
            tc, workspace_write_allows_the_root_and_a_temporary_directory, 0, each);
    tcase_add_loop_test(tc, a_denial_is_told_with_its_mode, 0, each);
    tcase_add_loop_test(tc, a_spoofed_signature_spoils_the_diagnosis_alone, 0, each);
    tcase_add_loop_test(tc, a_signal_death_is_never_a_denial, 0, each);
    tcase_add_loop_test(
            tc, what_outlives_the_command_is_ended_politely_and_counted, 0, each);
    tcase_add_loop_test(tc, a_timeout_climbs_its_ladder_inside, 0, each);
    tcase_add_loop_test(tc, what_cannot_start_says_so_from_inside, 0, each);
    if (geteuid() == 0)
        tcase_add_test(tc, a_dialect_that_cannot_be_had_runs_nothing);
    tcase_add_test(tc, a_socket_that_goes_meanwhile_costs_a_second_start);
    tcase_add_loop_test(tc, a_terminal_is_confined_and_is_the_sessions_own, 0, each);
    tcase_add_test(tc, full_enforcement_refuses_a_partial_one);
    tcase_add_test(tc, a_runner_is_run_with_its_words_and_judged_by_its_own_rules);
    tcase_add_loop_test(tc, policies_out_of_form_are_refused, 0, 9);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
