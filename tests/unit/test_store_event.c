/* Names of events and states, and which moves there are. */
#include <check.h>
#include <string.h>

#include "store/event.h"
#include "tests/support/fixture.h"

START_TEST(every_event_has_a_name_that_finds_it)
{
    for (int i = 0; i < PDK_EVENT_COUNT; i++) {
        const char *name = pdk_event_name((enum pdk_event_type)i);
        ck_assert_ptr_nonnull(name);
        ck_assert_int_eq((int)pdk_event_find(name), i);
    }
    ck_assert_int_eq(pdk_event_find("run.exploded"), PDK_EVENT_COUNT);
    ck_assert_int_eq(pdk_event_find(NULL), PDK_EVENT_COUNT);
}
END_TEST

START_TEST(every_state_has_a_name_that_finds_it)
{
    for (int i = 0; i < PDK_CANDIDATE_STATE_COUNT; i++) {
        const char *name = pdk_candidate_state_name((enum pdk_candidate_state)i);
        ck_assert_int_eq((int)pdk_candidate_state_find(name), i);
    }
    for (int i = 0; i < PDK_SANDBOX_STATUS_COUNT; i++) {
        const char *name = pdk_sandbox_status_name((enum pdk_sandbox_status)i);
        ck_assert_int_eq((int)pdk_sandbox_status_find(name), i);
    }
    ck_assert_int_eq(pdk_candidate_state_find("asleep"), PDK_CANDIDATE_STATE_COUNT);
    ck_assert_int_eq(pdk_sandbox_status_find("asleep"), PDK_SANDBOX_STATUS_COUNT);
}
END_TEST

/* Row: from; column: to; in the order of the enumeration. */
static const char *const candidate_moves[PDK_CANDIDATE_STATE_COUNT] = {
    [PDK_CANDIDATE_PLANNED] = "010000100",
    [PDK_CANDIDATE_MATERIALIZING] = "011111100",
    [PDK_CANDIDATE_SETUP] = "010111100",
    [PDK_CANDIDATE_RUNNING] = "010011100",
    [PDK_CANDIDATE_CAPTURING] = "010001100",
    [PDK_CANDIDATE_VERIFYING] = "010000100",
    [PDK_CANDIDATE_JUDGED] = "000000011",
    [PDK_CANDIDATE_PROMOTED] = "000000001",
    [PDK_CANDIDATE_RELEASED] = "000000010",
};

static const char *const sandbox_moves[PDK_SANDBOX_STATUS_COUNT] = {
    [PDK_SANDBOX_INTENDED] = "01111111",
    [PDK_SANDBOX_CREATED] = "01111111",
    [PDK_SANDBOX_RUNNING] = "01111111",
    [PDK_SANDBOX_DIRTY] = "01111111",
    [PDK_SANDBOX_VERIFIED] = "01111111",
    [PDK_SANDBOX_PROMOTED] = "01111111",
    [PDK_SANDBOX_DISCARDED] = "00000000",
    [PDK_SANDBOX_RELEASED] = "00000000",
};

START_TEST(moves_of_candidates_are_these_and_no_others)
{
    for (int from = 0; from < PDK_CANDIDATE_STATE_COUNT; from++) {
        for (int to = 0; to < PDK_CANDIDATE_STATE_COUNT; to++)
            ck_assert_msg(pdk_candidate_state_may((enum pdk_candidate_state)from,
                                  (enum pdk_candidate_state)to) ==
                            (candidate_moves[from][to] == '1'),
                    "%s -> %s", pdk_candidate_state_name((enum pdk_candidate_state)from),
                    pdk_candidate_state_name((enum pdk_candidate_state)to));
    }
    ck_assert(!pdk_candidate_state_may(PDK_CANDIDATE_STATE_COUNT, PDK_CANDIDATE_JUDGED));
    ck_assert(!pdk_candidate_state_may(PDK_CANDIDATE_JUDGED, PDK_CANDIDATE_STATE_COUNT));
}
END_TEST

START_TEST(moves_of_sandboxes_are_these_and_no_others)
{
    for (int from = 0; from < PDK_SANDBOX_STATUS_COUNT; from++) {
        for (int to = 0; to < PDK_SANDBOX_STATUS_COUNT; to++)
            ck_assert_msg(pdk_sandbox_status_may((enum pdk_sandbox_status)from,
                                  (enum pdk_sandbox_status)to) ==
                            (sandbox_moves[from][to] == '1'),
                    "%s -> %s", pdk_sandbox_status_name((enum pdk_sandbox_status)from),
                    pdk_sandbox_status_name((enum pdk_sandbox_status)to));
    }
    ck_assert(!pdk_sandbox_status_may(PDK_SANDBOX_STATUS_COUNT, PDK_SANDBOX_CREATED));
    ck_assert(!pdk_sandbox_status_may(PDK_SANDBOX_CREATED, PDK_SANDBOX_STATUS_COUNT));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store event");
    TCase *tc = tcase_create("event");
    tcase_add_test(tc, every_event_has_a_name_that_finds_it);
    tcase_add_test(tc, every_state_has_a_name_that_finds_it);
    tcase_add_test(tc, moves_of_candidates_are_these_and_no_others);
    tcase_add_test(tc, moves_of_sandboxes_are_these_and_no_others);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
