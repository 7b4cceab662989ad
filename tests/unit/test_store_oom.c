/* Every allocation of the store fails once: an error, nothing half made, and all goes well after. */
/* wrap: calloc malloc realloc reallocarray strdup */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "store/state.h"
#include "store/store.h"
#include "tests/support/events.h"
#include "tests/support/faults.h"
#include "tests/support/fixture.h"

static int act_open(void *user, long fault)
{
    struct pdk_store *store = NULL;

    pdk_fault_arm(fault);
    int rc = pdk_store_open(user, 0, &store, NULL);
    pdk_fault_disarm();
    ck_assert((rc == 0) == (store != NULL));
    pdk_store_close(store);
    return rc;
}

static int act_state(void *user, long fault)
{
    PDK_AUTO_STATE struct pdk_state state = { .root = NULL };
    const char *root = pdk_test_dir();

    pdk_fault_arm(fault);
    int rc = pdk_state_open(root, user, NULL, &state, NULL);
    pdk_fault_disarm();
    ck_assert((rc == 0) == (state.dir != NULL));
    return rc;
}

static int act_append(void *user, long fault)
{
    PDK_AUTO_STORE struct pdk_store *store = NULL;
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");

    ck_assert_int_eq(pdk_store_open(path, 0, &store, NULL), 0);
    pdk_fault_arm(fault);
    int rc = pdk_store_append(store, user, 1, NULL, NULL);
    pdk_fault_disarm();
    return rc;
}

static int act_list(void *user, long fault)
{
    struct pdk_store *store = user;
    PDK_AUTO_RUN_ROWS struct pdk_run_rows runs = { NULL, 0 };
    PDK_AUTO_CANDIDATE_ROWS struct pdk_candidate_rows rows = { NULL, 0 };
    PDK_AUTO_CANDIDATE_ROW struct pdk_candidate_row row = { .run = NULL };
    PDK_AUTO_RUN_ROW struct pdk_run_row run = { .id = NULL };

    pdk_fault_arm(fault);
    int rc = pdk_store_runs(store, 0, &runs, NULL);
    if (rc == 0)
        rc = pdk_store_candidates(store, "r1", NULL, &rows, NULL);
    if (rc == 0)
        rc = pdk_store_candidate(store, "r1", NULL, 2, &row, NULL);
    if (rc == 0)
        rc = pdk_store_run(store, "r", &run, NULL);
    pdk_fault_disarm();
    return rc;
}

START_TEST(opening)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");

    pdk_fault_every(act_open, path);
}
END_TEST

START_TEST(finding_the_state)
{
    PDK_AUTO_FREE char *common = pdk_test_path("repo/.git");

    pdk_test_mkdirs(common);
    pdk_fault_every(act_state, common);
}
END_TEST

START_TEST(appending)
{
    struct pdk_event event = pdk_test_event(
            PDK_EVENT_WARNING, 0, "{\"text\":\"enough of it to need some memory\"}");

    pdk_fault_every(act_append, &event);
    pdk_test_event_fini(&event);
}
END_TEST

START_TEST(listing)
{
    PDK_AUTO_STORE struct pdk_store *store = NULL;
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");

    ck_assert_int_eq(pdk_store_open(path, 0, &store, NULL), 0);
    pdk_test_plan_run(store, 20);
    pdk_fault_every(act_list, store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store oom");
    TCase *tc = tcase_create("oom");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, opening);
    tcase_add_test(tc, finding_the_state);
    tcase_add_test(tc, appending);
    tcase_add_test(tc, listing);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
