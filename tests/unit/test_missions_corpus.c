/*
 * tests/missions: each good file makes a plan, survives being shown, and fits the schema; each bad
 * one says what its .err file says. With PDK_UPDATE in the environment the .err files and the
 * reference in docs/mission.md are written instead.
 */
#include <check.h>
#include <errno.h>
#include <glob.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/str.h"
#include "missions/compose.h"
#include "missions/mission.h"
#include "missions/scalar.h"
#include "plan/plan.h"
#include "tests/support/fixture.h"

#define ROOT PDK_TEST_DATA_DIR "/../.."

/* Good enough for the corpus: brackets must balance. */
static int check_pattern(
        const char *pattern, size_t *offset, struct pdk_err *err, void *user)
{
    int open = 0;

    (void)user;
    for (size_t i = 0; pattern[i]; i++)
        open += (pattern[i] == '(') - (pattern[i] == ')');
    *offset = strlen(pattern);
    return open == 0 ? 0 : pdk_fail(err, PDK_EINVAL, 0, "missing closing parenthesis");
}

static const struct pdk_mission_hooks hooks = { check_pattern, NULL };

static int load(const char *name, const char *text, size_t len, struct pdk_plan **plan,
        struct pdk_diags *diags)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_mission_source source = { .path = name, .text = text, .len = len };

    return pdk_mission_load(&source, &hooks, plan, diags, &err);
}

static void each_file(const char *pattern, void (*visit)(const char *path))
{
    glob_t found;

    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        visit(found.gl_pathv[i]);
    globfree(&found);
}

static void read_file(const char *path, struct pdk_buf *out)
{
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_fs_read(path, 1 << 24, out, &err) == 0, "%s", err.msg);
}

/* Equal to the file, or written to it. */
static void same_as_file(const struct pdk_buf *text, const char *path)
{
    PDK_AUTO_BUF struct pdk_buf want = PDK_BUF_INIT;

    if (getenv("PDK_UPDATE")) {
        ck_assert_int_eq(pdk_fs_write(path, text->data, text->len, 0644, 0, NULL), 0);
        return;
    }
    read_file(path, &want);
    ck_assert_str_eq(pdk_buf_str(text), pdk_buf_str(&want));
}

static void shown_again(const char *text, size_t len, const struct pdk_json *want)
{
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_BUF struct pdk_buf said = PDK_BUF_INIT;
    PDK_AUTO_PLAN struct pdk_plan *plan = NULL;
    int rc = load("shown", text, len, &plan, &diags);

    pdk_diags_print(&diags, &said);
    ck_assert_msg(rc == 0 && diags.len == 0, "%s\n%s", pdk_buf_str(&said), text);
    PDK_AUTO_JSON struct pdk_json *json = pdk_plan_json(plan);
    ck_assert(pdk_json_equal(json, want));
}

static void good_file(const char *path)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf said = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf json_text = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf shown = PDK_BUF_INIT;
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_PLAN struct pdk_plan *plan = NULL;

    read_file(path, &text);
    int rc = load(path, pdk_buf_str(&text), text.len, &plan, &diags);
    pdk_diags_print(&diags, &said);
    ck_assert_msg(rc == 0, "%s", pdk_buf_str(&said));
    PDK_AUTO_JSON struct pdk_json *json = pdk_plan_json(plan);
    ck_assert_ptr_nonnull(json);
    ck_assert_int_eq(pdk_json_write(json, PDK_JSON_PRETTY, &json_text, NULL), 0);
    shown_again(pdk_buf_str(&json_text), json_text.len, json);
    ck_assert_int_eq(pdk_plan_show(plan, &shown, NULL), 0);
    shown_again(pdk_buf_str(&shown), shown.len, json);
}

START_TEST(good_files_make_plans_that_can_be_read_again)
{
    each_file(ROOT "/tests/missions/good/*.yaml", good_file);
}
END_TEST

static void bad_file(const char *path)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf said = PDK_BUF_INIT;
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_PLAN struct pdk_plan *plan = NULL;
    PDK_AUTO_FREE char *want = pdk_strf("%.*s.err", (int)strlen(path) - 5, path);

    read_file(path, &text);
    int rc = load(strrchr(path, '/') + 1, pdk_buf_str(&text), text.len, &plan, &diags);
    ck_assert_msg(rc == PDK_EINVAL && diags.errors > 0, "%s is accepted", path);
    ck_assert_ptr_null(plan);
    pdk_diags_print(&diags, &said);
    same_as_file(&said, want);
}

START_TEST(bad_files_say_where_and_why)
{
    each_file(ROOT "/tests/missions/bad/*.yaml", bad_file);
}
END_TEST

/* ---- the schema ---- */

/* YAML 1.2 core: what an editor sees. */
static struct pdk_json *core(const struct pdk_node *node)
{
    int64_t whole;
    double number;
    bool truth;

    if (node->kind == PDK_NODE_SCALAR) {
        if (node->plain && pdk_scalar_null(node->text))
            return pdk_json_null();
        if (node->plain && pdk_scalar_bool(node->text, &truth))
            return pdk_json_bool(truth);
        if (node->plain && pdk_scalar_int(node->text, &whole) == PDK_SCALAR_OK)
            return pdk_json_int(whole);
        if (node->plain && pdk_scalar_number(node->text, &number) == PDK_SCALAR_OK)
            return pdk_json_real(number);
        return pdk_json_str(node->text);
    }
    bool map = node->kind == PDK_NODE_MAP;
    struct pdk_json *made = map ? pdk_json_object() : pdk_json_array();
    for (size_t i = 0; i < node->len; i++)
        if (map)
            (void)pdk_json_set(made, node->keys[i]->text, core(node->items[i]));
        else
            (void)pdk_json_append(made, core(node->items[i]));
    return made;
}

static struct pdk_json *cases; /* of the test at hand */

/* Bad files say on their first line whether a schema can see what is wrong. */
static void add_case(const char *path)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_DOC struct pdk_doc doc = PDK_DOC_INIT;
    struct pdk_json *made = pdk_json_object();

    read_file(path, &text);
    bool good = strstr(path, "/good/") != NULL;
    bool structural = pdk_starts_with(pdk_buf_str(&text), "# structural\n");
    bool semantic = pdk_starts_with(pdk_buf_str(&text), "# semantic\n");
    struct pdk_source source = { path, pdk_buf_str(&text), text.len, 0, false };
    int rc = pdk_yaml_compose(&doc, &source, &diags, NULL);
    if (!good && !structural && !semantic) {
        ck_assert_msg(diags.errors > 0, "%s is said to be no YAML", path);
        pdk_json_free(made);
        return;
    }
    ck_assert_msg(rc == 0 && diags.errors == 0, "%s", path);
    (void)pdk_json_set_str(made, "file", path);
    (void)pdk_json_set_bool(made, "valid", !structural);
    (void)pdk_json_set(made, "document", core(doc.root));
    (void)pdk_json_append(cases, made);
}

static int run_validator(const char *file)
{
    char *const argv[] = { (char[]){ "python3" },
        (char[]){ ROOT "/tests/missions/validate.py" }, strdup(file), NULL };
    pid_t pid;
    int status;

    int rc = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    free(argv[2]);
    if (rc == ENOENT)
        return 77;
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(the_schema_agrees_with_the_parser)
{
    PDK_AUTO_BUF struct pdk_buf schema = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_JSON struct pdk_json *all = pdk_json_object();
    struct pdk_json *parsed = NULL;
    char file[] = "/tmp/paddock-test-XXXXXX";
    int fd = mkstemp(file);

    cases = pdk_json_array();
    each_file(ROOT "/tests/missions/good/*.yaml", add_case);
    each_file(ROOT "/tests/missions/bad/*.yaml", add_case);
    ck_assert_int_eq(pdk_mission_schema(&schema, NULL), 0);
    ck_assert_int_eq(pdk_json_parse(pdk_buf_str(&schema), schema.len, &parsed, NULL), 0);
    (void)pdk_json_set(all, "schema", parsed);
    (void)pdk_json_set(all, "cases", cases);
    ck_assert_int_eq(pdk_json_write(all, PDK_JSON_COMPACT, &text, NULL), 0);
    ck_assert_int_eq(pdk_fs_write_fd(fd, text.data, text.len, NULL), 0);
    (void)close(fd); /* a temporary file */
    int rc = run_validator(file);
    (void)unlink(file); /* a temporary file */
    ck_assert_msg(rc == 0 || rc == 77, "validate.py ends with %d", rc);
}
END_TEST

START_TEST(the_reference_is_the_table)
{
    static const char *const path = ROOT "/docs/mission.md";
    static const char *const mark = "<!-- keys: made from the table -->\n";
    PDK_AUTO_BUF struct pdk_buf page = PDK_BUF_INIT;

    read_file(path, &page);
    char *begin = strstr(page.data, mark);
    ck_assert_ptr_nonnull(begin);
    PDK_AUTO_BUF struct pdk_buf want = PDK_BUF_INIT;
    pdk_buf_add(&want, page.data, (size_t)(begin - page.data) + strlen(mark));
    ck_assert_int_eq(pdk_mission_reference(&want, NULL), 0);
    same_as_file(&want, path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("missions_corpus");
    TCase *tcase = tcase_create("corpus");

    tcase_add_test(tcase, good_files_make_plans_that_can_be_read_again);
    tcase_add_test(tcase, bad_files_say_where_and_why);
    tcase_add_test(tcase, the_schema_agrees_with_the_parser);
    tcase_add_test(tcase, the_reference_is_the_table);
    suite_add_tcase(suite, tcase);
    return pdk_test_main(suite);
}
