/* The log and its projections. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "store/store.h"
#include "tests/support/events.h"
#include "tests/support/fixture.h"

static char *store_path(void)
{
    return pdk_test_path("store.db");
}

static struct pdk_store *open_store(void)
{
    PDK_AUTO_FREE char *path = store_path();
    struct pdk_store *store = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_store_open(path, 0, &store, &err) == 0, "%s", err.msg);
    return store;
}

static void append(struct pdk_store *s, enum pdk_event_type type, int c, const char *json)
{
    ck_assert_int_eq(pdk_test_append(s, type, c, json), 0);
}

static void move(struct pdk_store *s, int candidate, const char *from, const char *to)
{
    PDK_AUTO_FREE char *json = pdk_strf("{\"from\":\"%s\",\"to\":\"%s\"}", from, to);

    append(s, PDK_EVENT_ATTEMPT_STATE, candidate, json);
}

/* The life of candidate 1 to its promotion, and a second one that ended early. */
static void play(struct pdk_store *s)
{
    pdk_test_plan_run(s, 2);
    append(s, PDK_EVENT_RUN_STARTED, 0, "{\"pid\":42}");
    move(s, 1, "planned", "materializing");
    append(s, PDK_EVENT_SANDBOX_INTENT, 1,
            "{\"id\":\"r1-c1-a1\",\"backend\":\"directory\",\"dir\":\"/s/1\",\"purpose\":"
            "\"mission\",\"base\":{\"commit\":\"c0\",\"tree\":\"t0\"},\"tree\":\"t0\"}");
    append(s, PDK_EVENT_SANDBOX_MADE, 1, "{\"id\":\"r1-c1-a1\",\"start\":\"c0\"}");
    move(s, 1, "materializing", "running");
    append(s, PDK_EVENT_SANDBOX_STATUS, 1,
            "{\"id\":\"r1-c1-a1\",\"status\":\"running\"}");
    append(s, PDK_EVENT_COMMAND_STARTED, 1, "{\"stage\":\"mission\"}");
    append(s, PDK_EVENT_COMMAND_ENDED, 1,
            "{\"stage\":\"mission\",\"exit_code\":3,\"signal\":0,\"timed_out\":false,"
            "\"leaked\":1,\"duration_ms\":17}");
    move(s, 1, "running", "capturing");
    append(s, PDK_EVENT_CAPTURE_DONE, 1,
            "{\"tree\":\"t1\",\"changed\":true,\"files\":2,\"added\":5,\"deleted\":1}");
    move(s, 1, "capturing", "verifying");
    append(s, PDK_EVENT_CHECK_STARTED, 1, "{\"name\":\"unit\",\"index\":0}");
    append(s, PDK_EVENT_CHECK_ENDED, 1,
            "{\"name\":\"unit\",\"index\":0,\"severity\":\"block\",\"verdict\":\"pass\","
            "\"exit_code\":0,\"duration_ms\":9}");
    move(s, 1, "verifying", "judged");
    append(s, PDK_EVENT_CANDIDATE_JUDGED, 1, "{\"verdict\":\"pass\"}");
    append(s, PDK_EVENT_SANDBOX_RELEASED, 1, "{\"id\":\"r1-c1-a1\"}");
    move(s, 1, "judged", "released");
    append(s, PDK_EVENT_ATTEMPT_FAILED, 2, "{\"reason\":\"canceled\"}");
    move(s, 2, "planned", "judged");
    append(s, PDK_EVENT_CANDIDATE_JUDGED, 2,
            "{\"verdict\":\"abstain\",\"reason\":\"canceled\",\"detail\":\"^C\"}");
    append(s, PDK_EVENT_TASK_JUDGED, 0, "{\"verdict\":\"pass\",\"winner\":1}");
    append(s, PDK_EVENT_RUN_ENDED, 0,
            "{\"verdict\":\"pass\",\"winner\":1,\"canceled\":true,\"peak_concurrent\":2,"
            "\"duration_ms\":99}");
    append(s, PDK_EVENT_PROMOTION_INTENT, 1,
            "{\"id\":\"p1\",\"as\":\"worktree\",\"tree\":\"t1\",\"target\":\"/u\"}");
    append(s, PDK_EVENT_PROMOTION_DONE, 1, "{\"id\":\"p1\",\"paths\":2}");
    move(s, 1, "released", "promoted");
    append(s, PDK_EVENT_WARNING, 0, "{\"text\":\"careful\"}");
    append(s, PDK_EVENT_SANDBOX_INTENT, 2,
            "{\"id\":\"r1-c2-a1\",\"backend\":\"directory\",\"dir\":\"/s/2\",\"purpose\":"
            "\"check\"}");
}

START_TEST(a_run_is_told_by_its_row)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    PDK_AUTO_RUN_ROW struct pdk_run_row run = { .id = NULL };
    PDK_AUTO_TASK_ROWS struct pdk_task_rows tasks = { NULL, 0 };

    play(s);
    ck_assert_int_eq(pdk_store_run(s, "r1", &run, NULL), 0);
    ck_assert_str_eq(run.kind, "mission");
    ck_assert_str_eq(run.mission, "m");
    ck_assert_str_eq(run.title, "T");
    ck_assert_str_eq(run.state, "ended");
    ck_assert_str_eq(run.verdict, "pass");
    ck_assert_ptr_null(run.reason);
    ck_assert_str_eq(run.base_commit, "c0");
    ck_assert_str_eq(run.base_tree, "t0");
    ck_assert_ptr_null(run.seed_tree);
    ck_assert_str_eq(run.plan, "{\"id\":\"m\"}");
    ck_assert_int_eq(run.winner, 1);
    ck_assert_int_eq(run.pid, 42);
    ck_assert_int_eq(run.max_concurrent, 2);
    ck_assert_int_eq(run.peak_concurrent, 2);
    ck_assert_int_eq(run.duration_ms, 99);
    ck_assert_int_eq(run.created_ms, 1000 + PDK_EVENT_RUN_PLANNED);
    ck_assert_int_eq(run.started_ms, 1000 + PDK_EVENT_RUN_STARTED);
    ck_assert_int_eq(run.ended_ms, 1000 + PDK_EVENT_RUN_ENDED);
    ck_assert(run.canceled);
    ck_assert_int_eq(pdk_store_tasks(s, "r1", &tasks, NULL), 0);
    ck_assert_uint_eq(tasks.len, 1);
    ck_assert_str_eq(tasks.items[0].id, "t");
    ck_assert_str_eq(tasks.items[0].verdict, "pass");
    ck_assert_int_eq(tasks.items[0].winner, 1);
}
END_TEST

START_TEST(candidates_are_told_by_their_rows)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    PDK_AUTO_CANDIDATE_ROWS struct pdk_candidate_rows rows = { NULL, 0 };

    play(s);
    ck_assert_int_eq(pdk_store_candidates(s, "r1", NULL, &rows, NULL), 0);
    ck_assert_uint_eq(rows.len, 2);
    const struct pdk_candidate_row *c = &rows.items[0];
    ck_assert_int_eq(c->index, 1);
    ck_assert_str_eq(c->state, "promoted");
    ck_assert_str_eq(c->verdict, "pass");
    ck_assert_str_eq(c->tree, "t1");
    ck_assert_str_eq(c->backend, "directory");
    ck_assert_str_eq(c->dir, "/s/1");
    ck_assert(c->changed);
    ck_assert(!c->timed_out);
    ck_assert_int_eq(c->attempt, 1);
    ck_assert_int_eq(c->files, 2);
    ck_assert_int_eq(c->added, 5);
    ck_assert_int_eq(c->deleted, 1);
    ck_assert_int_eq(c->exit_code, 3);
    ck_assert_int_eq(c->leaked, 1);
    ck_assert_int_eq(c->mission_ms, 17);
    ck_assert_int_gt(c->ended_ms, 0);
    ck_assert_str_eq(rows.items[1].state, "judged");
    ck_assert_str_eq(rows.items[1].reason, "canceled");
    ck_assert_str_eq(rows.items[1].detail, "^C");
    ck_assert_int_eq(rows.items[1].exit_code, -1);
}
END_TEST

START_TEST(checks_and_promotions_are_told_by_their_rows)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    PDK_AUTO_CHECK_ROWS struct pdk_check_rows checks = { NULL, 0 };
    PDK_AUTO_PROMOTION_ROWS struct pdk_promotion_rows promotions = { NULL, 0 };

    play(s);
    ck_assert_int_eq(pdk_store_checks(s, "r1", "t", 1, &checks, NULL), 0);
    ck_assert_uint_eq(checks.len, 1);
    ck_assert_str_eq(checks.items[0].name, "unit");
    ck_assert_str_eq(checks.items[0].severity, "block");
    ck_assert_str_eq(checks.items[0].verdict, "pass");
    ck_assert_int_eq(checks.items[0].duration_ms, 9);
    append(s, PDK_EVENT_PROMOTION_INTENT, 1, "{\"id\":\"p2\",\"as\":\"patch\"}");
    append(s, PDK_EVENT_PROMOTION_FAILED, 1, "{\"id\":\"p2\",\"detail\":\"dirty\"}");
    ck_assert_int_eq(pdk_test_append(s, PDK_EVENT_PROMOTION_DONE, 1, "{\"id\":\"p2\"}"),
            PDK_ECONFLICT);
    ck_assert_int_eq(pdk_store_promotions(s, "r1", &promotions, NULL), 0);
    ck_assert_uint_eq(promotions.len, 2);
    ck_assert_str_eq(promotions.items[0].id, "p2");
    ck_assert_str_eq(promotions.items[0].state, "failed");
    ck_assert_str_eq(promotions.items[0].detail, "dirty");
    ck_assert_str_eq(promotions.items[1].state, "done");
    ck_assert_str_eq(promotions.items[1].as, "worktree");
    ck_assert_str_eq(promotions.items[1].target, "/u");
}
END_TEST

static void named(struct pdk_store *s, const char *id, const char *status)
{
    PDK_AUTO_FREE char *intent = pdk_strf("{\"id\":\"%s\",\"backend\":\"git-worktree\","
                                          "\"dir\":\"/w\",\"purpose\":\"named\"}",
            id);
    PDK_AUTO_FREE char *only = pdk_strf("{\"id\":\"%s\"}", id);
    PDK_AUTO_FREE char *gone = pdk_strf("{\"id\":\"%s\",\"discarded\":true}", id);
    struct pdk_event e = pdk_test_event(PDK_EVENT_SANDBOX_INTENT, 0, intent);

    e.run = e.task = NULL;
    ck_assert_int_eq(pdk_store_append(s, &e, 1, NULL, NULL), 0);
    pdk_test_event_fini(&e);
    append(s, PDK_EVENT_SANDBOX_MADE, 0, only);
    if (pdk_streq(status, "discarded"))
        append(s, PDK_EVENT_SANDBOX_RELEASED, 0, gone);
}

START_TEST(sandboxes_are_listed_by_kind)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    struct pdk_sandbox_rows rows = { NULL, 0 };

    play(s);
    named(s, "feature", "created");
    named(s, "gone", "discarded");
    ck_assert_int_eq(pdk_store_sandboxes(s, PDK_SANDBOXES_NAMED, &rows, NULL), 0);
    ck_assert_uint_eq(rows.len, 1);
    ck_assert_str_eq(rows.items[0].id, "feature");
    ck_assert_str_eq(rows.items[0].status, "created");
    ck_assert_ptr_null(rows.items[0].run);
    pdk_sandbox_rows_fini(&rows);
    ck_assert_int_eq(pdk_store_sandboxes(s, PDK_SANDBOXES_LEFTOVERS, &rows, NULL), 0);
    ck_assert_uint_eq(rows.len, 1);
    ck_assert_str_eq(rows.items[0].id, "r1-c2-a1");
    ck_assert_str_eq(rows.items[0].status, "intended");
    pdk_sandbox_rows_fini(&rows);
    ck_assert_int_eq(pdk_store_sandboxes(s, PDK_SANDBOXES_ALL, &rows, NULL), 0);
    ck_assert_uint_eq(rows.len, 4);
    ck_assert_str_eq(rows.items[0].status, "released");
    ck_assert_str_eq(rows.items[0].start, "c0");
    ck_assert_str_eq(rows.items[3].status, "discarded");
    pdk_sandbox_rows_fini(&rows);
}
END_TEST

START_TEST(an_unambiguous_prefix_finds_a_sandbox_and_a_live_one_wins)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    struct pdk_sandbox_row row = { .id = NULL };
    struct pdk_err err = PDK_ERR_INIT;

    named(s, "fix-a", "discarded");
    named(s, "fix-b", "created");
    ck_assert_int_eq(pdk_store_sandbox(s, "fix", &row, NULL), 0);
    ck_assert_str_eq(row.id, "fix-b");
    pdk_sandbox_row_fini(&row);
    ck_assert_int_eq(pdk_store_sandbox(s, "fix-a", &row, NULL), 0);
    ck_assert_str_eq(row.status, "discarded");
    pdk_sandbox_row_fini(&row);
    named(s, "fix-bc", "created");
    ck_assert_int_eq(pdk_store_sandbox(s, "fix-b", &row, NULL), 0);
    ck_assert_str_eq(row.id, "fix-b");
    pdk_sandbox_row_fini(&row);
    ck_assert_int_eq(pdk_store_sandbox(s, "fi", &row, &err), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "fix-b, fix-bc"));
    ck_assert_int_eq(pdk_store_sandbox(s, "", &row, &err), PDK_ENOTFOUND);
    ck_assert_int_eq(pdk_store_sandbox(s, "fix%", &row, &err), PDK_ENOTFOUND);
    ck_assert_ptr_null(row.id);
}
END_TEST

START_TEST(an_unambiguous_prefix_finds_a_run)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    PDK_AUTO_RUN_ROW struct pdk_run_row row = { .id = NULL };
    PDK_AUTO_RUN_ROWS struct pdk_run_rows rows = { NULL, 0 };
    struct pdk_err err = PDK_ERR_INIT;

    for (int i = 0; i < 8; i++) {
        PDK_AUTO_FREE char *id = pdk_strf("20260101-%d", i);
        struct pdk_event e = pdk_test_event(
                PDK_EVENT_RUN_PLANNED, 0, "{\"kind\":\"mission\",\"mission\":\"m\"}");
        e.run = id;
        e.ts_ms = 100 + i;
        ck_assert_int_eq(pdk_store_append(s, &e, 1, NULL, NULL), 0);
        ck_assert_int_eq(pdk_store_append(s, &e, 1, NULL, &err), PDK_ECONFLICT);
        pdk_test_event_fini(&e);
    }
    ck_assert_int_eq(pdk_store_run(s, "2026", &row, &err), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "20260101-0, 20260101-1"));
    ck_assert_ptr_nonnull(strstr(err.msg, "…"));
    ck_assert_int_eq(pdk_store_run(s, "20260101-3", &row, NULL), 0);
    ck_assert_str_eq(row.id, "20260101-3");
    ck_assert_int_eq(pdk_store_run(s, "3", &row, &err), PDK_ENOTFOUND);
    ck_assert_int_eq(pdk_store_runs(s, 3, &rows, NULL), 0);
    ck_assert_uint_eq(rows.len, 3);
    ck_assert_str_eq(rows.items[0].id, "20260101-7");
    pdk_run_rows_fini(&rows);
    ck_assert_int_eq(pdk_store_runs(s, 0, &rows, NULL), 0);
    ck_assert_uint_eq(rows.len, 8);
}
END_TEST

START_TEST(one_candidate_is_found_by_task_and_index)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    struct pdk_candidate_row row = { .run = NULL };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_plan_run(s, 2);
    ck_assert_int_eq(pdk_store_candidate(s, "r1", NULL, 2, &row, NULL), 0);
    ck_assert_int_eq(row.index, 2);
    pdk_candidate_row_fini(&row);
    ck_assert_int_eq(pdk_store_candidate(s, "r1", "t", 3, &row, NULL), PDK_ENOTFOUND);
    ck_assert_int_eq(pdk_store_candidate(s, "r2", NULL, 1, &row, NULL), PDK_ENOTFOUND);
    struct pdk_event e = pdk_test_event(PDK_EVENT_TASK_PLANNED, 0, "{\"index\":1}");
    e.task = "u";
    ck_assert_int_eq(pdk_store_append(s, &e, 1, NULL, NULL), 0);
    pdk_test_event_fini(&e);
    ck_assert_int_eq(pdk_store_candidate(s, "r1", NULL, 1, &row, &err), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "2 tasks"));
}
END_TEST

START_TEST(a_move_from_another_state_is_refused_and_leaves_no_event)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    struct pdk_err err = PDK_ERR_INIT;
    int64_t seqs[3] = { 0, 0, 0 };
    struct pdk_event good = pdk_test_event(PDK_EVENT_WARNING, 0, "{\"text\":\"x\"}");
    struct pdk_event bad = pdk_test_event(
            PDK_EVENT_ATTEMPT_STATE, 1, "{\"from\":\"running\",\"to\":\"capturing\"}");
    struct pdk_event events[] = { good, bad };

    pdk_test_plan_run(s, 1);
    ck_assert_int_eq(pdk_store_append(s, events, 2, seqs, &err), PDK_ECONFLICT);
    ck_assert_ptr_nonnull(strstr(err.msg, "'planned'"));
    ck_assert_int_eq(pdk_store_append(s, &good, 1, seqs, &err), 0);
    ck_assert_int_eq(seqs[0], 4);
    bad.candidate = 7;
    ck_assert_int_eq(pdk_store_append(s, &bad, 1, NULL, &err), PDK_ENOTFOUND);
    pdk_test_event_fini(&good);
    pdk_test_event_fini(&bad);
    ck_assert_int_eq(pdk_test_append(s, PDK_EVENT_ATTEMPT_STATE, 1,
                             "{\"from\":\"planned\",\"to\":\"promoted\"}"),
            PDK_ECONFLICT);
}
END_TEST

START_TEST(events_that_are_not_whole_are_refused)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    static const struct {
        enum pdk_event_type type;
        int candidate;
        const char *body;
        int code;
    } cases[] = {
        { PDK_EVENT_RUN_STARTED, 0, "{}", PDK_EBUG },
        { PDK_EVENT_CANDIDATE_PLANNED, 0, "{\"checks\":[]}", PDK_EBUG },
        { PDK_EVENT_CANDIDATE_PLANNED, 5, "{}", PDK_EBUG },
        { PDK_EVENT_CANDIDATE_PLANNED, 1, "{\"checks\":[]}", PDK_ECONFLICT },
        { PDK_EVENT_CAPTURE_DONE, 1, "{\"tree\":\"x\"}", PDK_EBUG },
        { PDK_EVENT_CAPTURE_DONE, 1, "{\"tree\":\"x\",\"changed\":\"yes\"}", PDK_EBUG },
        { PDK_EVENT_CAPTURE_DONE, 9, "{\"tree\":\"x\",\"changed\":true}", PDK_ENOTFOUND },
        { PDK_EVENT_RUN_ENDED, 0, "{\"verdict\":\"maybe\"}", PDK_EBUG },
        { PDK_EVENT_SANDBOX_MADE, 0, "{\"id\":\"none\"}", PDK_ENOTFOUND },
        { PDK_EVENT_SANDBOX_INTENT, 0,
                "{\"id\":\"x\",\"backend\":\"b\",\"dir\":\"d\",\"purpose\":\"fun\"}",
                PDK_EBUG },
        { PDK_EVENT_SANDBOX_STATUS, 0, "{\"id\":\"x\",\"status\":\"released\"}",
                PDK_ECONFLICT },
        { PDK_EVENT_SANDBOX_STATUS, 0, "{\"id\":\"x\",\"status\":\"odd\"}",
                PDK_ECONFLICT },
    };

    pdk_test_plan_run(s, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        ck_assert_msg(pdk_test_append(s, cases[i].type, cases[i].candidate,
                              cases[i].body) == cases[i].code,
                "case %zu", i);
    struct pdk_event e = pdk_test_event(PDK_EVENT_TASK_PLANNED, 0, "{\"index\":0}");
    e.run = "unknown";
    ck_assert_int_eq(pdk_store_append(s, &e, 1, NULL, NULL), PDK_ENOTFOUND);
    e.run = NULL;
    ck_assert_int_eq(pdk_store_append(s, &e, 1, NULL, NULL), PDK_EBUG);
    pdk_test_event_fini(&e);
}
END_TEST

START_TEST(a_new_attempt_forgets_what_the_last_one_made)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    PDK_AUTO_CANDIDATE_ROW struct pdk_candidate_row row = { .run = NULL };
    PDK_AUTO_CHECK_ROWS struct pdk_check_rows checks = { NULL, 0 };

    pdk_test_plan_run(s, 1);
    move(s, 1, "planned", "materializing");
    move(s, 1, "materializing", "running");
    append(s, PDK_EVENT_CAPTURE_DONE, 1,
            "{\"tree\":\"t1\",\"changed\":true,\"files\":1}");
    append(s, PDK_EVENT_CHECK_ENDED, 1,
            "{\"name\":\"unit\",\"index\":0,\"severity\":\"block\",\"verdict\":"
            "\"abstain\",\"reason\":\"agent_lost\"}");
    struct pdk_event e = pdk_test_event(PDK_EVENT_ATTEMPT_STATE, 1,
            "{\"from\":\"running\",\"to\":\"materializing\"}");
    e.attempt = 2;
    ck_assert_int_eq(pdk_store_append(s, &e, 1, NULL, NULL), 0);
    pdk_test_event_fini(&e);
    ck_assert_int_eq(pdk_store_candidate(s, "r1", "t", 1, &row, NULL), 0);
    ck_assert_int_eq(row.attempt, 2);
    ck_assert_ptr_null(row.tree);
    ck_assert(!row.changed);
    ck_assert_int_eq(row.files, 0);
    ck_assert_int_eq(pdk_store_checks(s, "r1", "t", 1, &checks, NULL), 0);
    ck_assert_uint_eq(checks.len, 0);
    /* The attempt before can no longer move it. */
    ck_assert_int_eq(pdk_test_append(s, PDK_EVENT_ATTEMPT_STATE, 1,
                             "{\"from\":\"materializing\",\"to\":\"running\"}"),
            PDK_ECONFLICT);
}
END_TEST

struct seen {
    int n, stop_after;
    int64_t last;
    char types[512];
};

static int see(const struct pdk_event *event, void *user)
{
    struct seen *seen = user;

    ck_assert_int_gt(event->seq, seen->last);
    seen->last = event->seq;
    (void)strncat(seen->types, pdk_event_name(event->type), 30);
    (void)strncat(seen->types, " ", 2);
    return ++seen->n == seen->stop_after ? 7 : 0;
}

START_TEST(events_come_in_order_from_a_number_on)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    struct seen all = { .n = 0 };
    struct seen some = { .stop_after = 2 };

    pdk_test_plan_run(s, 1);
    struct pdk_event e = { .type = PDK_EVENT_WARNING, .body = pdk_json_object() };
    ck_assert_int_eq(pdk_json_set_str(e.body, "text", "no run"), 0);
    ck_assert_int_eq(pdk_store_append(s, &e, 1, NULL, NULL), 0);
    pdk_json_free(e.body);
    ck_assert_int_eq(pdk_store_events(s, "r1", 1, see, &all, NULL), 0);
    ck_assert_str_eq(all.types, "task.planned candidate.planned ");
    ck_assert_int_eq(pdk_store_events(s, NULL, 0, see, &some, NULL), 7);
    ck_assert_int_eq(some.last, 2);
    some = (struct seen){ .n = 0 };
    ck_assert_int_eq(pdk_store_events(s, NULL, 3, see, &some, NULL), 0);
    ck_assert_str_eq(some.types, "warning ");
}
END_TEST

START_TEST(a_batch_is_one_transaction)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();
    PDK_AUTO_RUN_ROWS struct pdk_run_rows rows = { NULL, 0 };

    ck_assert_int_eq(pdk_store_commit(s, NULL), PDK_EBUG);
    ck_assert_int_eq(pdk_store_begin(s, NULL), 0);
    ck_assert_int_eq(pdk_store_begin(s, NULL), PDK_EBUG);
    ck_assert_int_eq(pdk_store_rebuild(s, NULL), PDK_EBUG);
    pdk_test_plan_run(s, 2);
    pdk_store_rollback(s);
    pdk_store_rollback(s);
    ck_assert_int_eq(pdk_store_runs(s, 0, &rows, NULL), 0);
    ck_assert_uint_eq(rows.len, 0);
    ck_assert_int_eq(pdk_store_begin(s, NULL), 0);
    pdk_test_plan_run(s, 2);
    ck_assert_int_eq(pdk_store_commit(s, NULL), 0);
    ck_assert_int_eq(pdk_store_begin(s, NULL), 0);
    append(s, PDK_EVENT_RUN_STARTED, 0, "{\"pid\":1}");
    ck_assert_int_eq(pdk_test_append(s, PDK_EVENT_RUN_STARTED, 0, "{}"), PDK_EBUG);
    ck_assert_int_eq(
            pdk_test_append(s, PDK_EVENT_RUN_STARTED, 0, "{\"pid\":1}"), PDK_EBUG);
    ck_assert_int_eq(pdk_store_commit(s, NULL), PDK_EBUG);
    ck_assert_int_eq(pdk_store_runs(s, 0, &rows, NULL), 0);
    ck_assert_uint_eq(rows.len, 1);
    ck_assert_str_eq(rows.items[0].state, "planned");
    ck_assert_int_eq(pdk_store_begin(s, NULL), 0); /* closing rolls it back */
}
END_TEST

/* Every row of every projection as one text. */
static char *dump(struct pdk_store *s)
{
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    PDK_AUTO_RUN_ROWS struct pdk_run_rows runs = { NULL, 0 };
    PDK_AUTO_CANDIDATE_ROWS struct pdk_candidate_rows cands = { NULL, 0 };
    PDK_AUTO_SANDBOX_ROWS struct pdk_sandbox_rows boxes = { NULL, 0 };
    PDK_AUTO_PROMOTION_ROWS struct pdk_promotion_rows proms = { NULL, 0 };
    PDK_AUTO_CHECK_ROWS struct pdk_check_rows checks = { NULL, 0 };
    PDK_AUTO_TASK_ROWS struct pdk_task_rows tasks = { NULL, 0 };

    ck_assert_int_eq(pdk_store_runs(s, 0, &runs, NULL), 0);
    ck_assert_int_eq(pdk_store_tasks(s, "r1", &tasks, NULL), 0);
    ck_assert_int_eq(pdk_store_candidates(s, "r1", NULL, &cands, NULL), 0);
    ck_assert_int_eq(pdk_store_checks(s, "r1", "t", 1, &checks, NULL), 0);
    ck_assert_int_eq(pdk_store_sandboxes(s, PDK_SANDBOXES_ALL, &boxes, NULL), 0);
    ck_assert_int_eq(pdk_store_promotions(s, NULL, &proms, NULL), 0);
    pdk_buf_addf(&out, "%zu %s %s %ld %ld %s|", runs.len, runs.items[0].state,
            runs.items[0].verdict, (long)runs.items[0].started_ms,
            (long)runs.items[0].ended_ms, runs.items[0].plan);
    pdk_buf_addf(&out, "%zu %s %ld|", tasks.len, tasks.items[0].verdict,
            (long)tasks.items[0].winner);
    for (size_t i = 0; i < cands.len; i++) {
        const struct pdk_candidate_row *c = &cands.items[i];
        pdk_buf_addf(&out, "%ld %s %s %s %s %ld %ld %ld %ld|", (long)c->index, c->state,
                c->verdict, c->tree ? c->tree : "-", c->dir ? c->dir : "-",
                (long)c->exit_code, (long)c->leaked, (long)c->started_ms,
                (long)c->ended_ms);
    }
    for (size_t i = 0; i < boxes.len; i++)
        pdk_buf_addf(&out, "%s %s %ld|", boxes.items[i].id, boxes.items[i].status,
                (long)boxes.items[i].ended_ms);
    pdk_buf_addf(&out, "%zu %s|%zu %s", checks.len, checks.items[0].verdict, proms.len,
            proms.items[0].state);
    return pdk_buf_take(&out);
}

START_TEST(a_rebuild_from_the_log_gives_the_same_projections)
{
    PDK_AUTO_STORE struct pdk_store *s = open_store();

    play(s);
    PDK_AUTO_FREE char *before = dump(s);
    ck_assert_int_eq(pdk_store_rebuild(s, NULL), 0);
    PDK_AUTO_FREE char *after = dump(s);
    ck_assert_str_eq(before, after);
    ck_assert_int_eq(pdk_store_check(s, NULL), 0);
}
END_TEST

START_TEST(what_was_appended_is_there_after_reopening_and_for_readers)
{
    PDK_AUTO_FREE char *path = store_path();
    struct pdk_store *s = NULL;
    struct pdk_store *reader = NULL;
    PDK_AUTO_RUN_ROW struct pdk_run_row row = { .id = NULL };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(
            pdk_store_open(path, PDK_STORE_READ_ONLY, &reader, &err), PDK_ENOTFOUND);
    ck_assert(!pdk_test_exists(path));
    s = open_store();
    ck_assert_int_eq(pdk_store_open(path, PDK_STORE_READ_ONLY, &reader, &err), 0);
    pdk_test_plan_run(s, 1);
    ck_assert_int_eq(pdk_store_begin(s, NULL), 0);
    append(s, PDK_EVENT_RUN_STARTED, 0, "{\"pid\":1}");
    /* Amid a writer's transaction a reader goes on with what was committed. */
    ck_assert_int_eq(pdk_store_run(reader, "r1", &row, NULL), 0);
    ck_assert_str_eq(row.state, "planned");
    ck_assert_int_eq(pdk_store_commit(s, NULL), 0);
    ck_assert_int_eq(
            pdk_test_append(reader, PDK_EVENT_RUN_STARTED, 0, "{\"pid\":1}"), PDK_EBUG);
    pdk_store_close(reader);
    pdk_store_close(s);
    s = open_store();
    pdk_run_row_fini(&row);
    ck_assert_int_eq(pdk_store_run(s, "r1", &row, NULL), 0);
    ck_assert_str_eq(row.state, "running");
    pdk_store_close(s);
    reader = NULL;
    ck_assert_int_eq(pdk_store_open(path, PDK_STORE_READ_ONLY, &reader, &err), 0);
    pdk_store_close(reader);
    pdk_store_close(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *tc = tcase_create("store");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, a_run_is_told_by_its_row);
    tcase_add_test(tc, candidates_are_told_by_their_rows);
    tcase_add_test(tc, checks_and_promotions_are_told_by_their_rows);
    tcase_add_test(tc, sandboxes_are_listed_by_kind);
    tcase_add_test(tc, an_unambiguous_prefix_finds_a_sandbox_and_a_live_one_wins);
    tcase_add_test(tc, an_unambiguous_prefix_finds_a_run);
    tcase_add_test(tc, one_candidate_is_found_by_task_and_index);
    tcase_add_test(tc, a_move_from_another_state_is_refused_and_leaves_no_event);
    tcase_add_test(tc, events_that_are_not_whole_are_refused);
    tcase_add_test(tc, a_new_attempt_forgets_what_the_last_one_made);
    tcase_add_test(tc, events_come_in_order_from_a_number_on);
    tcase_add_test(tc, a_batch_is_one_transaction);
    tcase_add_test(tc, a_rebuild_from_the_log_gives_the_same_projections);
    tcase_add_test(tc, what_was_appended_is_there_after_reopening_and_for_readers);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
