/* Limits on commands in the agent: what held is told, and it does hold. As root by cgroups where they can be written. */
#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "process/limits.h"
#include "tests/support/fixture.h"
#include "tests/support/peer.h"

static struct pdk_peer peer;

static void run_limited(
        const char *sh, const char *limits, const char *mode, struct pdk_exec_result *r)
{
    struct pdk_json *params = pdk_peer_sh(sh), *v = NULL, *confine = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_json_parse(limits, strlen(limits), &v, &err), 0);
    (void)pdk_json_set(params, "limits", v);
    if (mode) {
        confine = pdk_json_object();
        (void)pdk_json_set_str(confine, "mode", mode);
        (void)pdk_json_set(params, "confine", confine);
    }
    pdk_peer_result(&peer, pdk_peer_send(&peer, "exec", params), r);
}

/* Whether groups of ours are left anywhere that this host has them. */
static int groups_left(void)
{
    static const char *const places[] = { "memory", "pids", "cpu", "." };
    int left = 0;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        PDK_AUTO_FREE char *path = pdk_strf("/sys/fs/cgroup/%s", places[i]);
        DIR *dir = opendir(path);
        const struct dirent *entry;

        while (dir && (entry = readdir(dir)))
            left += pdk_starts_with(entry->d_name, "paddock-");
        if (dir)
            (void)closedir(dir);
    }
    return left;
}

START_TEST(memory_is_limited)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);

    run_limited("head -c 300000000 /dev/zero | tail -c 290000000 | wc -c",
            "{\"memory\": 67108864}", NULL, &r);
    ck_assert_int_ne((int)r.held.memory, PDK_HOLD_NONE);
    ck_assert_int_eq((int)r.held.pids, PDK_HOLD_NONE);
    if (r.held.memory == PDK_HOLD_CGROUP)
        ck_assert(r.oom);
    run_limited("x=$(head -c 100000 /dev/zero | tr '\\0' a); [ ${#x} = 100000 ]",
            "{\"memory\": 67108864}", NULL, &r);
    ck_assert_int_eq(r.exit_code, 0);
    ck_assert(!r.oom);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(processes_are_limited)
{
    const char *many =
            "n=0; while [ $n -lt 40 ]; do sleep 60 & n=$((n+1)); done; echo made > made";
    struct pdk_exec_result r;
    PDK_AUTO_FREE char *made = NULL;
    pdk_peer_open(&peer, _i);
    made = pdk_peer_path(&peer, "made");

    run_limited(many, "{\"pids\": 8}", NULL, &r);
    ck_assert(pdk_test_exists(made) == (r.held.pids == PDK_HOLD_NONE));
    ck_assert(r.held.pids != PDK_HOLD_NONE || geteuid() == 0);
    ck_assert_int_eq(r.leaked, 0);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(processors_are_limited)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);

    run_limited("p=$(grep -E ':cpu(,cpuacct)?:' /proc/self/cgroup | cut -d: -f3); "
                "q=$(cat /sys/fs/cgroup/cpu$p/cpu.cfs_quota_us 2>/dev/null); "
                "[ \"$q\" = 50000 ] || [ \"$(nproc)\" = 1 ]",
            "{\"cpus\": 0.5}", NULL, &r);
    ck_assert_int_eq(r.exit_code, 0);
    ck_assert_int_ne((int)r.held.cpus, PDK_HOLD_NONE);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(what_confines_is_not_counted_against_the_command)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i % 2 == 0 ? PDK_PEER_SELF : PDK_PEER_NOBODY);

    /* A sanitized shim needs more addresses than any limit of each process would leave it. */
    run_limited(
            "true | true | true", "{\"pids\": 4, \"cpus\": 1}", "workspace-write", &r);
    ck_assert_msg(r.start == PDK_EXEC_STARTED, "%s", r.why);
    ck_assert_int_eq(r.exit_code, 0);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(limits_in_full_are_by_cgroup_or_nothing_runs)
{
    struct pdk_exec_result r;
    PDK_AUTO_FREE char *ran = NULL;
    pdk_peer_open(&peer, _i);
    ran = pdk_peer_path(&peer, "ran");

    run_limited("echo > ran", "{\"cpus\": 1, \"pids\": 50, \"require_full\": true}", NULL,
            &r);
    ck_assert(pdk_test_exists(ran) == (r.start == PDK_EXEC_STARTED));
    ck_assert((r.start == PDK_EXEC_STARTED) ==
            (r.held.cpus == PDK_HOLD_CGROUP && r.held.pids == PDK_HOLD_CGROUP));
    ck_assert(r.start == PDK_EXEC_STARTED || strstr(r.why, "SANDBOX_UNAVAILABLE"));
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(groups_go_with_their_command)
{
    struct pdk_exec_result r;
    int before = groups_left();
    pdk_peer_open(&peer, PDK_PEER_SELF);

    run_limited("(setsid sleep 60 &); true",
            "{\"memory\": 67108864, \"pids\": 9, \"cpus\": 1}", NULL, &r);
    ck_assert_int_ge(r.stragglers, 1);
    pdk_peer_close(&peer);
    ck_assert_int_le(groups_left(), before);
}
END_TEST

START_TEST(limits_out_of_form_are_refused)
{
    static const char *const wrong[] = { "[]", "{\"memory\": -1}", "{\"pids\": \"8\"}",
        "{\"cpus\": -1}" };
    struct pdk_json *params = pdk_peer_sh("true"), *v = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_peer_open(&peer, PDK_PEER_SELF);
    ck_assert_int_eq(pdk_json_parse(wrong[_i], strlen(wrong[_i]), &v, &err), 0);
    (void)pdk_json_set(params, "limits", v);
    pdk_peer_refused(&peer, "exec", params, "bad_params");
    pdk_peer_close(&peer);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent: limits");
    TCase *tc = tcase_create("limits");
    int ways = pdk_peer_ways();

    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, memory_is_limited, 0, ways);
    tcase_add_loop_test(tc, processes_are_limited, 0, ways);
    tcase_add_loop_test(tc, processors_are_limited, 0, ways);
    tcase_add_loop_test(tc, what_confines_is_not_counted_against_the_command, 0,
            geteuid() == 0 ? 2 : 1);
    tcase_add_loop_test(tc, limits_in_full_are_by_cgroup_or_nothing_runs, 0, ways);
    tcase_add_test(tc, groups_go_with_their_command);
    tcase_add_loop_test(tc, limits_out_of_form_are_refused, 0, 4);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
