/* How the agent begins and ends: its descriptor, signals, the end of its input, the lease. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/json.h"
#include "base/str.h"
#include "tests/support/fixture.h"
#include "tests/support/peer.h"

START_TEST(it_says_what_it_is)
{
    struct pdk_peer p;
    pdk_peer_open(&p, _i);
    PDK_AUTO_JSON struct pdk_json *d = pdk_peer_ask(&p, "descriptor", NULL);

    ck_assert_str_eq(pdk_json_get_str(d, "root", ""), p.root);
    ck_assert_int_eq(pdk_json_get_int(d, "protocol", 0), PDK_PROTOCOL_VERSION);
    ck_assert_int_eq((int)pdk_json_len(pdk_json_get(d, "verbs")), 6);
    if (pdk_peer_agent(&p) == p.pid) {
        ck_assert_str_eq(pdk_json_get_str(d, "containment", ""), "subreaper");
        ck_assert_int_eq(pdk_json_get_int(d, "pid", 0), p.pid);
    } else {
        ck_assert_str_eq(pdk_json_get_str(d, "containment", ""), "pidns");
        ck_assert_int_eq(pdk_json_get_int(d, "pid", 0), 1);
    }
    if (_i != PDK_PEER_SELF)
        ck_assert_str_eq(pdk_json_get_str(d, "containment", ""), "subreaper");
    pdk_peer_close(&p);
}
END_TEST

static const int end_signals[] = { SIGTERM, SIGINT, SIGHUP };

START_TEST(a_signal_ends_the_command_and_the_agent)
{
    struct pdk_peer p;
    struct pdk_exec_result r;
    pdk_peer_open(&p, _i / 3);
    int64_t id = pdk_peer_send(&p, "exec",
            pdk_peer_sh("trap 'echo bye > said; exit 3' INT TERM; echo ready; "
                        "while :; do sleep 0.05; done"));

    pdk_peer_await_output(&p, id, "ready");
    ck_assert_int_eq(kill(p.pid, end_signals[_i % 3]), 0);
    pdk_peer_result(&p, id, &r);
    ck_assert(r.canceled);
    ck_assert_int_eq(r.exit_code, 3);
    ck_assert_int_eq(pdk_peer_wait(&p), 0);
    PDK_AUTO_FREE char *said = pdk_peer_path(&p, "said");
    ck_assert(pdk_test_exists(said));
    pdk_peer_fini(&p);
}
END_TEST

START_TEST(an_idle_agent_ends_on_term)
{
    struct pdk_peer p;
    pdk_peer_open(&p, _i);
    ck_assert_int_eq(kill(p.pid, SIGTERM), 0);
    ck_assert_int_eq(pdk_peer_wait(&p), 0);
    pdk_peer_fini(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent: life");
    TCase *tc = tcase_create("life");
    int ways = pdk_peer_ways();

    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, it_says_what_it_is, 0, ways);
    tcase_add_loop_test(tc, a_signal_ends_the_command_and_the_agent, 0, 3 * ways);
    tcase_add_loop_test(tc, an_idle_agent_ends_on_term, 0, ways);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
