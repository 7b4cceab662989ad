/* What the engine records: durable together, before anything that waited for it begins. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "orchestrator/engine/internal.h"
#include "store/store.h"
#include "tests/support/events.h"
#include "tests/support/fixture.h"

/* The test's run: r1 with task t and two candidates, planned in store and fold. */
static struct {
    struct pdk_plan plan;
    struct pdk_plan_task task;
    struct pdk_plan_candidate planned[2];
    struct pdk_engine_spec spec;
    struct run run;
    struct candidate candidates[2];
} it;

static int shown;    /* events that the listener saw */
static int acts;     /* that came */
static int on_disk;  /* events of the run, as the last act found them */
static bool went_on; /* the act found no failure */

static int count_one(const struct pdk_event *event, void *user)
{
    int *n = user;

    ck_assert_int_eq((int)event->seq, ++*n);
    return 0;
}

/* What another process would read. */
static int events_on_disk(void)
{
    PDK_AUTO_STORE struct pdk_store *reader = NULL;
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    int n = 0;

    ck_assert_int_eq(pdk_store_open(path, PDK_STORE_READ_ONLY, &reader, NULL), 0);
    ck_assert_int_eq(pdk_store_events(reader, "r1", 0, count_one, &n, NULL), 0);
    return n;
}

static void on_event(const struct pdk_event *event, void *user)
{
    (void)user;
    shown++;
    ck_assert_int_gt((int)event->seq, 0);
}

static void fold_planned(const char *json, enum pdk_event_type type, int candidate)
{
    struct pdk_event event = pdk_test_event(type, candidate, json);

    ck_assert_int_eq(pdk_fold_event(it.run.fold, &event, NULL), 0);
    pdk_test_event_fini(&event);
}

static void setup(void)
{
    PDK_AUTO_FREE char *path = NULL;

    pdk_test_dir_setup();
    path = pdk_test_path("store.db");
    memset(&it, 0, sizeof(it));
    shown = acts = on_disk = 0;
    it.task.id = strdup("t");
    it.task.candidates = it.planned;
    it.task.candidates_len = 2;
    it.plan.tasks = &it.task;
    it.plan.tasks_len = 1;
    it.spec.plan = &it.plan;
    it.spec.run = "r1";
    it.spec.listener.on_event = on_event;
    it.run.spec = &it.spec;
    it.run.fold = pdk_fold_new();
    ck_assert_int_eq(pdk_sched_new(&it.plan, 2, &it.run.sched, NULL), 0);
    ck_assert_int_eq(pdk_store_open(path, 0, &it.spec.store, NULL), 0);
    pdk_test_plan_run(it.spec.store, 2);
    for (int i = 0; i < 2; i++) {
        it.planned[i].index = i + 1;
        it.candidates[i].run = &it.run;
        it.candidates[i].task = &it.task;
        it.candidates[i].plan = &it.planned[i];
        it.candidates[i].attempt = 1;
        fold_planned("{\"checks\":[]}", PDK_EVENT_CANDIDATE_PLANNED, i + 1);
    }
}

static void teardown(void)
{
    pdk_record_fini(&it.run);
    pdk_sched_free(it.run.sched);
    pdk_fold_free(it.run.fold);
    pdk_store_close(it.spec.store);
    free(it.task.id);
    pdk_test_dir_discard();
}

enum { PLANNED = 4 }; /* events of setup() */

static void record_warning(struct candidate *c, const char *text)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "text", text);
    pdk_record(&it.run, PDK_EVENT_WARNING, c, body);
}

static void look(struct candidate *c)
{
    acts++;
    went_on = c->run->fatal.code == 0;
    on_disk = events_on_disk();
}

START_TEST(events_of_a_turn_become_durable_together_and_acts_wait_for_them)
{
    record_warning(&it.candidates[0], "one");
    pdk_record_then(&it.candidates[0], look);
    record_warning(&it.candidates[1], "two");
    pdk_record_then(&it.candidates[1], look);
    ck_assert_int_eq(events_on_disk(), PLANNED);
    ck_assert_int_eq(acts, 0);
    ck_assert_int_eq(shown, 0);
    pdk_record_flush(&it.run);
    ck_assert_int_eq(acts, 2);
    ck_assert_int_eq(on_disk, PLANNED + 2);
    ck_assert_int_eq(shown, 2);
    ck_assert(went_on);
}
END_TEST

static void record_more(struct candidate *c)
{
    look(c);
    record_warning(c, "from an act");
    pdk_record_then(c, look);
}

START_TEST(what_an_act_records_is_durable_before_what_it_asks_for)
{
    pdk_record_then(&it.candidates[0], record_more);
    pdk_record_flush(&it.run);
    ck_assert_int_eq(acts, 2);
    ck_assert_int_eq(on_disk, PLANNED + 1);
    pdk_record_flush(&it.run);
    ck_assert_int_eq(acts, 2);
}
END_TEST

/* A move from a state that the candidate is not in is refused by the store. */
START_TEST(after_a_failed_write_nothing_is_shown_and_acts_are_told)
{
    struct pdk_json *body = pdk_json_object();

    (void)pdk_json_set_str(body, "from", "running");
    (void)pdk_json_set_str(body, "to", "capturing");
    record_warning(&it.candidates[0], "lost with the other");
    pdk_record(&it.run, PDK_EVENT_ATTEMPT_STATE, &it.candidates[0], body);
    pdk_record_then(&it.candidates[0], look);
    pdk_record_flush(&it.run);
    ck_assert_int_eq(it.run.fatal.code, PDK_ECONFLICT);
    ck_assert_int_eq(acts, 1);
    ck_assert(!went_on);
    ck_assert_int_eq(on_disk, PLANNED);
    ck_assert_int_eq(shown, 0);
    record_warning(&it.candidates[0], "nobody takes this any more");
    pdk_record_flush(&it.run);
    ck_assert_int_eq(events_on_disk(), PLANNED);
}
END_TEST

START_TEST(very_many_events_are_not_held_until_the_turn_ends)
{
    enum { MANY = 1000 };

    for (int i = 0; i < MANY; i++)
        record_warning(&it.candidates[0], "again");
    ck_assert_int_gt(events_on_disk(), MANY / 2);
    ck_assert_uint_le(it.run.journal.cap, MANY / 2);
    pdk_record_flush(&it.run);
    ck_assert_int_eq(events_on_disk(), PLANNED + MANY);
}
END_TEST

static void end_here(struct candidate *c)
{
    (void)c;
    (void)kill(getpid(), SIGKILL); /* does not return */
}

/* The store of this process stays out of the child's hands: one connection a process. */
static int status_of_child(bool flush)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    int status = -1;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (pdk_store_open(path, 0, &it.spec.store, NULL) < 0)
            _exit(1);
        record_warning(&it.candidates[0], "intent");
        pdk_record_then(&it.candidates[0], end_here);
        if (flush)
            pdk_record_flush(&it.run);
        end_here(NULL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

START_TEST(a_kill_between_intent_and_act_leaves_the_intent)
{
    pdk_store_close(it.spec.store);
    it.spec.store = NULL;
    ck_assert_int_eq(status_of_child(false), SIGKILL);
    ck_assert_int_eq(events_on_disk(), PLANNED);
    ck_assert_int_eq(status_of_child(true), SIGKILL);
    ck_assert_int_eq(events_on_disk(), PLANNED + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine_record");
    TCase *tc = tcase_create("record");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, events_of_a_turn_become_durable_together_and_acts_wait_for_them);
    tcase_add_test(tc, what_an_act_records_is_durable_before_what_it_asks_for);
    tcase_add_test(tc, after_a_failed_write_nothing_is_shown_and_acts_are_told);
    tcase_add_test(tc, very_many_events_are_not_held_until_the_turn_ends);
    tcase_add_test(tc, a_kill_between_intent_and_act_leaves_the_intent);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
