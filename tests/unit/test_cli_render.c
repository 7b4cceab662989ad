/* The document of a run, folded from its events, and the table made of it. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "orchestrator/cli/render.h"
#include "store/store.h"
#include "tests/support/fixture.h"

#define TREE "1111111111111111111111111111111111111111"
#define BASE "2222222222222222222222222222222222222222"

static struct pdk_store *store;

static void setup(void)
{
    PDK_AUTO_FREE char *path = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_dir_setup();
    path = pdk_test_path("store.db");
    ck_assert_msg(pdk_store_open(path, 0, &store, &err) == 0, "%s", err.msg);
}

static void teardown(void)
{
    pdk_store_close(store);
    store = NULL;
    pdk_test_dir_discard();
}

/* Appends an event of run "r"; task NULL, candidate 0, attempt 0 where there is none. */
static void put(enum pdk_event_type type, const char *task, int candidate, int attempt,
        const char *body)
{
    PDK_AUTO_JSON struct pdk_json *parsed = NULL;
    struct pdk_event event = {
        .run = "r", .task = task, .candidate = candidate, .attempt = attempt, .type = type
    };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_json_parse(body, strlen(body), &parsed, &err) == 0, "%s", err.msg);
    event.body = parsed;
    ck_assert_msg(pdk_store_append(store, &event, 1, NULL, &err) == 0, "%s", err.msg);
}

static void plan_run(const char *kind)
{
    PDK_AUTO_FREE char *body = pdk_strf(
            "{\"kind\": \"%s\", \"mission\": \"m\", \"title\": \"T\", \"max_concurrent\": 2, "
            "\"base\": {\"commit\": \"" BASE "\", \"tree\": \"" BASE "\"}}",
            kind);

    put(PDK_EVENT_RUN_PLANNED, NULL, 0, 0, body);
}

static void plan_task(const char *task, int index, int candidates)
{
    PDK_AUTO_FREE char *body =
            pdk_strf("{\"index\": %d, \"needs\": [], \"checks\": [\"unit\"]}", index);

    put(PDK_EVENT_TASK_PLANNED, task, 0, 0, body);
    for (int i = 1; i <= candidates; i++)
        put(PDK_EVENT_CANDIDATE_PLANNED, task, i, 0,
                "{\"checks\": [\"unit\"], \"backend\": \"directory\", \"matrix\": {}}");
}

static void begin_attempt(const char *task, int candidate, int attempt, const char *from)
{
    PDK_AUTO_FREE char *body =
            pdk_strf("{\"from\": \"%s\", \"to\": \"materializing\"}", from);

    put(PDK_EVENT_ATTEMPT_STATE, task, candidate, attempt, body);
}

static void capture(const char *task, int candidate, int attempt)
{
    put(PDK_EVENT_CAPTURE_DONE, task, candidate, attempt,
            "{\"tree\": \"" TREE
            "\", \"changed\": true, \"files\": 1, \"added\": 3, \"deleted\": 2}");
}

static struct pdk_json *render(void)
{
    struct pdk_json *doc = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_render_run(store, "r", &doc, &err) == 0, "%s", err.msg);
    return doc;
}

static char *render_table(void)
{
    PDK_AUTO_JSON struct pdk_json *doc = render();
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    pdk_render_table(doc, &text);
    return pdk_buf_take(&text);
}

START_TEST(a_planned_run_has_every_member)
{
    static const char *const keys[] = { "schema_version", "run", "kind", "id", "title",
        "base", "verdict", "reason", "winner", "max_concurrent", "peak_concurrent",
        "duration_ms", "candidates", "promotion" };
    PDK_AUTO_JSON struct pdk_json *doc = NULL;

    plan_run("mission");
    plan_task("m", 0, 2);
    doc = render();
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        ck_assert_msg(pdk_json_get(doc, keys[i]) != NULL, "no %s", keys[i]);
    ck_assert_str_eq(pdk_json_get_str(doc, "state", ""), "planned");
    ck_assert_uint_eq(pdk_json_len(pdk_json_get(doc, "candidates")), 2);
    ck_assert_ptr_null(pdk_json_get_str(doc, "verdict", NULL));
}
END_TEST

START_TEST(a_candidate_holds_what_its_events_said)
{
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    const struct pdk_json *c, *check;

    plan_run("mission");
    plan_task("m", 0, 1);
    begin_attempt("m", 1, 1, "planned");
    put(PDK_EVENT_COMMAND_ENDED, "m", 1, 1,
            "{\"stage\": \"mission\", \"exit_code\": 3, \"signal\": 0, \"leaked\": 1}");
    capture("m", 1, 1);
    put(PDK_EVENT_CHECK_ENDED, "m", 1, 1,
            "{\"name\": \"unit\", \"index\": 0, \"severity\": \"block\", \"verdict\": "
            "\"pass\", \"exit_code\": 0}");
    put(PDK_EVENT_RUN_ENDED, NULL, 0, 0,
            "{\"verdict\": \"pass\", \"winner\": 1, \"peak_concurrent\": 1}");
    doc = render();
    c = pdk_render_candidate(doc, NULL, "c1");
    ck_assert_ptr_nonnull(c);
    ck_assert_str_eq(pdk_json_get_str(c, "tree", ""), TREE);
    ck_assert_int_eq(pdk_json_get_int(c, "lines_added", 0), 3);
    ck_assert_int_eq(pdk_json_get_int(c, "leaked_processes", 0), 1);
    ck_assert_int_eq(pdk_json_get_int(pdk_json_get(c, "mission"), "exit_code", 0), 3);
    check = pdk_json_at(pdk_json_get(c, "checks"), 0);
    ck_assert_str_eq(pdk_json_get_str(check, "name", ""), "unit");
    ck_assert_str_eq(pdk_json_get_str(doc, "winner", ""), "c1");
    ck_assert_ptr_null(pdk_render_candidate(doc, NULL, "c2"));
}
END_TEST

START_TEST(another_attempt_forgets_the_one_before)
{
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    const struct pdk_json *c;

    plan_run("mission");
    plan_task("m", 0, 1);
    begin_attempt("m", 1, 1, "planned");
    capture("m", 1, 1);
    put(PDK_EVENT_WARNING, "m", 1, 1, "{\"text\": \"old\"}");
    begin_attempt("m", 1, 2, "materializing");
    doc = render();
    c = pdk_render_candidate(doc, NULL, "c1");
    ck_assert_int_eq(pdk_json_get_int(c, "attempts", 0), 2);
    ck_assert_ptr_null(pdk_json_get_str(c, "tree", NULL));
    ck_assert_uint_eq(pdk_json_len(pdk_json_get(c, "warnings")), 0);
}
END_TEST

START_TEST(a_fleet_has_its_tasks_in_order)
{
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    const struct pdk_json *tasks;

    plan_run("fleet");
    plan_task("zeta", 0, 1);
    plan_task("alpha", 1, 2);
    doc = render();
    tasks = pdk_json_get(doc, "tasks");
    ck_assert_ptr_null(pdk_json_get(doc, "candidates"));
    ck_assert_uint_eq(pdk_json_len(tasks), 2);
    ck_assert_str_eq(pdk_json_get_str(pdk_json_at(tasks, 0), "id", ""), "zeta");
    ck_assert_ptr_nonnull(pdk_render_candidate(doc, "alpha", "c2"));
    ck_assert_ptr_null(pdk_render_candidate(doc, "zeta", "c2"));
}
END_TEST

START_TEST(columns_are_as_wide_as_their_widest_cell)
{
    PDK_AUTO_FREE char *text = NULL;
    const char *first, *second;

    plan_run("fleet");
    plan_task("a", 0, 1);
    plan_task("a-task-with-a-long-name", 1, 1);
    text = render_table();
    first = strstr(text, "a/c1");
    second = strstr(text, "a-task-with-a-long-name/c1");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(second);
    ck_assert_int_eq(
            strstr(first, "planned") - first, strstr(second, "planned") - second);
}
END_TEST

START_TEST(no_control_character_reaches_the_terminal)
{
    PDK_AUTO_FREE char *text = NULL;

    plan_run("mission");
    plan_task("m", 0, 1);
    begin_attempt("m", 1, 1, "planned");
    put(PDK_EVENT_CHECK_ENDED, "m", 1, 1,
            "{\"name\": \"u\\u001b[31m\", \"index\": 0, \"severity\": \"warn\", "
            "\"verdict\": \"fail\", \"reason\": \"check_failed\"}");
    put(PDK_EVENT_WARNING, "m", 1, 1, "{\"text\": \"a\\u001b]0;b\\u0007\\nc\\u009b\"}");
    put(PDK_EVENT_CANDIDATE_JUDGED, "m", 1, 1,
            "{\"verdict\": \"abstain\", \"reason\": \"canceled\", \"detail\": \"\\r\\u007f\"}");
    text = render_table();
    for (const char *at = text; *at; at++)
        ck_assert_msg(*at == '\n' || ((unsigned char)*at >= ' ' && *at != '\x7f'),
                "byte %d in\n%s", *at, text);
    ck_assert_ptr_null(strstr(text, "\xc2\x9b"));
    ck_assert_ptr_nonnull(strstr(text, "warning: a\\x1b]0;b\\x07\\nc"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_render");
    TCase *tc = tcase_create("render");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_planned_run_has_every_member);
    tcase_add_test(tc, a_candidate_holds_what_its_events_said);
    tcase_add_test(tc, another_attempt_forgets_the_one_before);
    tcase_add_test(tc, a_fleet_has_its_tasks_in_order);
    tcase_add_test(tc, columns_are_as_wide_as_their_widest_cell);
    tcase_add_test(tc, no_control_character_reaches_the_terminal);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
