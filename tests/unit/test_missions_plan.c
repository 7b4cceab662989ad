/* What plans come out of files and flags: defaults, merging, overrides, what is not built. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "missions/mission.h"
#include "missions/scalar.h"
#include "plan/plan.h"
#include "tests/support/fixture.h"

static int load(const char *text, const struct pdk_override *overrides, size_t n,
        struct pdk_plan **plan, struct pdk_diags *diags)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_mission_source source = { .path = text ? "m.yaml" : NULL,
        .text = text,
        .len = text ? strlen(text) : 0,
        .overrides = overrides,
        .overrides_len = n };

    return pdk_mission_load(&source, NULL, plan, diags, &err);
}

static struct pdk_plan *plan_of(
        const char *text, const struct pdk_override *overrides, size_t n)
{
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_BUF struct pdk_buf said = PDK_BUF_INIT;
    struct pdk_plan *plan = NULL;
    int rc = load(text, overrides, n, &plan, &diags);

    pdk_diags_print(&diags, &said);
    ck_assert_msg(rc == 0, "%s", pdk_buf_str(&said));
    return plan;
}

#define HEAD  "schema: paddock/v1\nkind: mission\nid: m\n"
#define FLEET "schema: paddock/v1\nkind: fleet\nid: f\n"

START_TEST(what_is_not_said_has_its_default)
{
    PDK_AUTO_PLAN struct pdk_plan *plan =
            plan_of(HEAD "mission: {run: make}\nverify: {checks: [{name: a, run: b}]}\n",
                    NULL, 0);
    const struct pdk_plan_task *task = &plan->tasks[0];

    ck_assert_str_eq(plan->base, "HEAD");
    ck_assert_int_eq(plan->seed, PDK_SEED_HEAD);
    ck_assert_int_eq(plan->keep, PDK_KEEP_NONE);
    ck_assert_uint_eq(plan->unbuilt_len, 0);
    ck_assert_str_eq(task->id, "m");
    ck_assert_str_eq(task->sandbox.backend, "directory");
    ck_assert_int_eq(task->sandbox.confine, PDK_CONFINE_NONE);
    ck_assert_uint_eq(task->candidates_len, 1);
    ck_assert_uint_eq(task->select.len, 3);
    ck_assert_int_eq(task->timeout_ms, 0);
    ck_assert_str_eq(task->run.argv.items[2], "make");
    ck_assert_int_eq(task->verify.checks[0].timeout_ms, 600000);
    ck_assert(task->verify.checks[0].expect.has_exit);
    ck_assert_int_eq(task->verify.checks[0].expect.exit, 0);
    ck_assert_int_eq(pdk_plan_require_built(plan, NULL), 0);
}
END_TEST

START_TEST(text_keeps_its_source_and_old_booleans_warn)
{
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_PLAN struct pdk_plan *plan = NULL;
    int rc = load(HEAD
            "mission: {run: make}\n"
            "sandbox: {env: {V: 3.10, A: no, T: 12:30:00, N: 1_000, O: 0o14}}\n",
            NULL, 0, &plan, &diags);
    const struct pdk_pairs *env = &plan->tasks[0].sandbox.env;

    ck_assert_int_eq(rc, 0);
    ck_assert_str_eq(pdk_pairs_get(env, "V"), "3.10");
    ck_assert_str_eq(pdk_pairs_get(env, "A"), "no");
    ck_assert_str_eq(pdk_pairs_get(env, "T"), "12:30:00");
    ck_assert_str_eq(pdk_pairs_get(env, "N"), "1_000");
    ck_assert_str_eq(pdk_pairs_get(env, "O"), "0o14");
    ck_assert_uint_eq(diags.len, 1);
    ck_assert_int_eq(diags.items[0].severity, PDK_DIAG_WARNING);
    ck_assert_int_eq(diags.items[0].line, 5);
}
END_TEST

START_TEST(a_matrix_makes_a_candidate_for_each_combination)
{
    PDK_AUTO_PLAN struct pdk_plan *plan =
            plan_of(HEAD "mission: {run: make}\ncandidates: 2\n"
                         "matrix: {a: [x, y], b: [1, 2, 3]}\n",
                    NULL, 0);
    const struct pdk_plan_task *task = &plan->tasks[0];

    ck_assert_uint_eq(task->candidates_len, 12);
    ck_assert_int_eq(task->candidates[11].index, 12);
    ck_assert_str_eq(pdk_pairs_get(&task->candidates[1].matrix, "b"), "1");
    ck_assert_str_eq(pdk_pairs_get(&task->candidates[2].matrix, "b"), "2");
    ck_assert_str_eq(pdk_pairs_get(&task->candidates[11].matrix, "a"), "y");
}
END_TEST

START_TEST(tasks_stand_over_the_defaults)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = plan_of(FLEET
            "defaults:\n"
            "  timeout: 5m\n"
            "  sandbox: {env: {A: '1', B: '2'}, include: [x]}\n"
            "  verify: {checks: [{name: unit, run: make}]}\n"
            "tasks:\n"
            "  - {id: a, run: x}\n"
            "  - {id: b, run: y, timeout: 6m, needs: [a],\n"
            "     sandbox: {env: {B: '3'}, include: []}, verify: {in: same}}\n",
            NULL, 0);
    const struct pdk_plan_task *b = &plan->tasks[1];

    ck_assert_int_eq(plan->tasks[0].timeout_ms, 300000);
    ck_assert_int_eq(b->timeout_ms, 360000);
    ck_assert_str_eq(pdk_pairs_get(&b->sandbox.env, "A"), "1");
    ck_assert_str_eq(pdk_pairs_get(&b->sandbox.env, "B"), "3");
    ck_assert_uint_eq(b->sandbox.include.len, 0);
    ck_assert_uint_eq(b->verify.checks_len, 1);
    ck_assert(b->verify.in_same);
}
END_TEST

START_TEST(flags_alone_make_a_mission)
{
    static const struct pdk_override flags[] = {
        { "--cmd", "mission.run", "make fix: {it}", PDK_OVERRIDE_TEXT },
        { "--check", "verify.checks", "make test", PDK_OVERRIDE_APPEND },
        { "--check", "verify.checks", "make lint", PDK_OVERRIDE_APPEND },
        { "--setup", "sandbox.setup", "./bootstrap", PDK_OVERRIDE_APPEND },
        { "-n", "candidates", "4", PDK_OVERRIDE_YAML },
        { "--set", "verify.checks.1.timeout", "5s", PDK_OVERRIDE_YAML },
    };
    PDK_AUTO_PLAN struct pdk_plan *plan = plan_of(NULL, flags, 6);
    const struct pdk_plan_task *task = &plan->tasks[0];

    ck_assert_str_eq(task->run.argv.items[2], "make fix: {it}");
    ck_assert_uint_eq(task->candidates_len, 4);
    ck_assert_uint_eq(task->verify.checks_len, 2);
    ck_assert_uint_eq(task->sandbox.setup_len, 1);
    ck_assert_str_eq(task->sandbox.setup[0].argv.items[2], "./bootstrap");
    ck_assert_str_eq(task->verify.checks[1].name, "check-2");
    ck_assert_int_eq(task->verify.checks[1].timeout_ms, 5000);
}
END_TEST

static void said_by(const char *text, const struct pdk_override *flag, const char *want)
{
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_BUF struct pdk_buf said = PDK_BUF_INIT;
    PDK_AUTO_PLAN struct pdk_plan *plan = NULL;

    ck_assert_int_eq(load(text, flag, 1, &plan, &diags), PDK_EINVAL);
    pdk_diags_print(&diags, &said);
    ck_assert_str_eq(pdk_buf_str(&said), want);
}

START_TEST(faults_in_flags_are_placed_at_the_flag)
{
    static const char *const file = HEAD "mission: {run: make}\n";
    struct pdk_override set = { "--set", "mission.timeout", "30", PDK_OVERRIDE_YAML };
    struct pdk_override number = { "-n", "candidates", "many", PDK_OVERRIDE_YAML };
    struct pdk_override yaml = { "--set", "sandbox.env", "{", PDK_OVERRIDE_YAML };
    struct pdk_override nowhere = { "--set", "mission.run.x", "1", PDK_OVERRIDE_YAML };
    struct pdk_override unknown = { "--set", "verifx.in", "same", PDK_OVERRIDE_YAML };

    said_by(file, &set,
            "--set: 'mission.timeout' needs a unit: '30'\n    mission.timeout=30\n"
            "                    ^\n    hint: write 30s\n");
    said_by(file, &number,
            "-n: 'candidates' must be a whole number, not 'many'\n    many\n    ^\n");
    said_by(file, &yaml,
            "--set: not YAML: did not find expected node content, while parsing a flow node\n"
            "    sandbox.env={\n                 ^\n");
    said_by(file, &nowhere,
            "--set: 'mission.run.x' leads nowhere at 'x'\n    mission.run.x=1\n"
            "                  ^\n");
    said_by(file, &unknown,
            "--set: unknown key 'verifx'\n    verifx.in=same\n              ^\n"
            "    hint: did you mean 'verify'?\n");
}
END_TEST

START_TEST(a_flag_reaches_every_task_of_a_fleet)
{
    struct pdk_override backend = { "--backend", "sandbox.backend", "git-worktree",
        PDK_OVERRIDE_YAML };
    PDK_AUTO_PLAN struct pdk_plan *plan =
            plan_of(FLEET "tasks: [{id: a, run: x}, {id: b, run: y, sandbox: {backend: "
                          "directory}}]\n",
                    &backend, 1);

    ck_assert_str_eq(plan->tasks[0].sandbox.backend, "git-worktree");
    ck_assert_str_eq(plan->tasks[1].sandbox.backend, "git-worktree");
}
END_TEST

/* Text after the mission's head, and the keys that are not built. */
static const struct {
    const char *text, *keys;
} later[] = {
    { "verify: {confirm: 0, baseline: skip, protect: [], budget: {}}", "" },
    { "verify: {confirm: 1, baseline: fail}", "" },
    { "verify: {protect: [a], budget: {max_lines: 1}}", "" },
    { "verify: {checks: [{name: a, run: b, score: {stdout: x}}]}", "" },
    { "select: [verdict, score, votes, cost, {judge: {run: x}}]", "" },
    { "sandbox: {confine: danger-full-access, require_enforcement: any}", "" },
    { "sandbox: {confine: read-only, require_enforcement: full}", "" },
    { "sandbox: {limits: {memory: 1GiB}}", "" },
    { "sandbox: {backend: git-worktree}", "" },
    { "sandbox: {backend: overlay}", "" },
    { "sandbox: {backend: container}", "" },
    { "sandbox: {backend: my-cloud}", "sandbox.backend" },
    { "sandbox: {container: {engine: docker}}", "" },
    { "sandbox: {container: {engine: opensandbox}}", "sandbox.container.engine" },
    { "stop: {on: first-pass}", "" },
    { "promote: {as: patch}", "" },
};

START_TEST(keys_without_effect_are_named_when_needed)
{
    PDK_AUTO_FREE char *text =
            pdk_strf(HEAD "mission: {run: make}\n%s\n", later[_i].text);
    PDK_AUTO_PLAN struct pdk_plan *plan = plan_of(text, NULL, 0);
    PDK_AUTO_BUF struct pdk_buf keys = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    for (size_t i = 0; i < plan->unbuilt_len; i++)
        pdk_buf_addf(&keys, "%s%s", i ? " " : "", plan->unbuilt[i].key);
    ck_assert_str_eq(pdk_buf_str(&keys), later[_i].keys);
    int rc = pdk_plan_require_built(plan, &err);
    ck_assert_int_eq(rc, *later[_i].keys ? PDK_EUNSUPPORTED : 0);
    if (rc < 0)
        ck_assert_ptr_nonnull(strstr(err.msg, "m.yaml:5:"));
}
END_TEST

START_TEST(a_fleet_names_what_is_not_built)
{
    PDK_AUTO_PLAN struct pdk_plan *plan = plan_of(FLEET
            "limits: {net: 2}\nland: train\ntasks_from: {csv: t.csv}\n"
            "defaults: {claims: [a]}\ntasks: [{id: a, run: x, uses: [net]}]\n",
            NULL, 0);
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_plan_require_built(plan, &err), PDK_EUNSUPPORTED);
    ck_assert_str_eq(err.msg,
            "not built yet: limits (m.yaml:4:9), land (m.yaml:5:7), tasks_from "
            "(m.yaml:6:13), defaults.claims (m.yaml:7:20), tasks[0].uses (m.yaml:8:31)");
}
END_TEST

START_TEST(templates_are_expanded)
{
    struct pdk_pairs matrix = { NULL, 0 };
    struct pdk_template_values values = { "r1", "3", &matrix };
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_pairs_add(&matrix, "agent", "{{run}}"), 0);
    ck_assert_int_eq(
            pdk_template_expand("{{run}}/{{ candidate }} {{matrix.agent}} {{{{x}}",
                    &values, &out, &err),
            0);
    ck_assert_str_eq(pdk_buf_str(&out), "r1/3 {{run}} {{x}}");
    ck_assert_int_eq(pdk_template_expand("{{x}}", &values, &out, &err), PDK_EINVAL);
    ck_assert_int_eq(pdk_template_expand("{{run", &values, &out, &err), PDK_EINVAL);
    pdk_pairs_fini(&matrix);
}
END_TEST

START_TEST(durations_and_sizes_are_exact)
{
    int64_t n = 0;
    char text[32];

    ck_assert_int_eq(pdk_scalar_duration("1h30m", &n), PDK_SCALAR_OK);
    ck_assert_int_eq(n, 5400000);
    ck_assert_int_eq(pdk_scalar_duration("1.5s", &n), PDK_SCALAR_OK);
    ck_assert_int_eq(n, 1500);
    ck_assert_int_eq(pdk_scalar_duration("0.5ms", &n), PDK_SCALAR_BAD);
    ck_assert_int_eq(pdk_scalar_duration("30", &n), PDK_SCALAR_UNIT);
    ck_assert_int_eq(pdk_scalar_duration("-1s", &n), PDK_SCALAR_BAD);
    ck_assert_int_eq(pdk_scalar_duration("99999999999999999999s", &n), PDK_SCALAR_RANGE);
    ck_assert_int_eq(pdk_scalar_duration("9223372036854775807d", &n), PDK_SCALAR_RANGE);
    ck_assert_int_eq(pdk_scalar_size("1.5GiB", &n), PDK_SCALAR_OK);
    ck_assert_int_eq(n, INT64_C(1610612736));
    ck_assert_int_eq(pdk_scalar_size("5 MiB", &n), PDK_SCALAR_BAD);
    pdk_scalar_show_duration(5400000, text);
    ck_assert_str_eq(text, "90m");
    pdk_scalar_show_size(INT64_C(1610612736), text);
    ck_assert_str_eq(text, "1536MiB");
    ck_assert_int_eq(pdk_scalar_int("-0x1", &n), PDK_SCALAR_BAD);
    ck_assert_int_eq(pdk_scalar_int("0x1F", &n), PDK_SCALAR_OK);
    ck_assert_int_eq(n, 31);
    ck_assert_int_eq(pdk_scalar_int("9223372036854775808", &n), PDK_SCALAR_RANGE);
}
END_TEST

START_TEST(a_long_chain_of_tasks_is_no_cycle)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    pdk_buf_adds(&text, FLEET "tasks:\n");
    for (int i = 0; i < 5000; i++)
        pdk_buf_addf(&text, "  - {id: t%d, run: x, needs: [t%d]}\n", i, i + 1);
    pdk_buf_adds(&text, "  - {id: t5000, run: x}\n");
    PDK_AUTO_PLAN struct pdk_plan *plan = plan_of(pdk_buf_str(&text), NULL, 0);
    ck_assert_uint_eq(plan->tasks_len, 5001);
}
END_TEST

START_TEST(a_missing_file_is_not_found)
{
    struct pdk_mission_source source = { .path = "/nonexistent/m.yaml" };
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    struct pdk_plan *plan = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_mission_load(&source, NULL, &plan, &diags, &err), PDK_ENOTFOUND);
    ck_assert_ptr_null(plan);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("missions_plan");
    TCase *tcase = tcase_create("plan");

    tcase_add_test(tcase, what_is_not_said_has_its_default);
    tcase_add_test(tcase, text_keeps_its_source_and_old_booleans_warn);
    tcase_add_test(tcase, a_matrix_makes_a_candidate_for_each_combination);
    tcase_add_test(tcase, tasks_stand_over_the_defaults);
    tcase_add_test(tcase, flags_alone_make_a_mission);
    tcase_add_test(tcase, faults_in_flags_are_placed_at_the_flag);
    tcase_add_test(tcase, a_flag_reaches_every_task_of_a_fleet);
    tcase_add_loop_test(tcase, keys_without_effect_are_named_when_needed, 0,
            (int)(sizeof(later) / sizeof(*later)));
    tcase_add_test(tcase, a_fleet_names_what_is_not_built);
    tcase_add_test(tcase, templates_are_expanded);
    tcase_add_test(tcase, durations_and_sizes_are_exact);
    tcase_add_test(tcase, a_long_chain_of_tasks_is_no_cycle);
    tcase_add_test(tcase, a_missing_file_is_not_found);
    suite_add_tcase(suite, tcase);
    return pdk_test_main(suite);
}
