/*
 * The keys. To add one: a row here, and a field in plan/plan.h when its type stores a value. To
 * make one take effect: set its state (or its word's) to built.
 */
#include "missions/keys.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "plan/plan.h"

/* A row is a line or two. */
/* clang-format off */
static const struct pdk_word schema_words[] = {
    { "paddock/v1", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word mission_words[] = {
    { "mission", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word fleet_words[] = {
    { "fleet", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word seed_words[] = {
    { "head", PDK_KEY_BUILT },
    { "worktree", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word backend_words[] = {
    { "directory", PDK_KEY_BUILT },
    { "git-worktree", PDK_KEY_BUILT },
    { "overlay", PDK_KEY_BUILT },
    { "container", PDK_KEY_BUILT },
    { "auto", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word confine_words[] = {
    { "danger-full-access", PDK_KEY_BUILT },
    { "workspace-write", PDK_KEY_BUILT },
    { "read-only", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word submodule_words[] = {
    { "auto", PDK_KEY_BUILT },
    { "none", PDK_KEY_BUILT },
    { "recursive", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word enforce_words[] = {
    { "any", PDK_KEY_BUILT },
    { "full", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word engine_words[] = {
    { "docker", PDK_KEY_BUILT },
    { "podman", PDK_KEY_BUILT },
    { "auto", PDK_KEY_BUILT },
    { "opensandbox", PDK_KEY_LATER },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word pull_words[] = {
    { "missing", PDK_KEY_BUILT },
    { "always", PDK_KEY_BUILT },
    { "never", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word transfer_words[] = {
    { "mount", PDK_KEY_BUILT },
    { "push", PDK_KEY_LATER },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word in_words[] = {
    { "fresh", PDK_KEY_BUILT },
    { "same", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word baseline_words[] = {
    { "skip", PDK_KEY_BUILT },
    { "pass", PDK_KEY_BUILT },
    { "fail", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word tests_words[] = {
    { "junit", PDK_KEY_BUILT },
    { "tap", PDK_KEY_BUILT },
    { "patterns", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word on_timeout_words[] = {
    { "fail", PDK_KEY_BUILT },
    { "abstain", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word severity_words[] = {
    { "block", PDK_KEY_BUILT },
    { "warn", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word flaky_words[] = {
    { "all", PDK_KEY_BUILT },
    { "majority", PDK_KEY_BUILT },
    { "any", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word warnings_words[] = {
    { "allow", PDK_KEY_BUILT },
    { "block", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word tamper_words[] = {
    { "fail", PDK_KEY_BUILT },
    { "report", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word goal_words[] = {
    { "max", PDK_KEY_BUILT },
    { "min", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word select_words[] = {
    { "verdict", PDK_KEY_BUILT },
    { "score", PDK_KEY_BUILT },
    { "votes", PDK_KEY_BUILT },
    { "votes:tree", PDK_KEY_BUILT },
    { "votes:output", PDK_KEY_BUILT },
    { "cost", PDK_KEY_BUILT },
    { "smaller-diff", PDK_KEY_BUILT },
    { "index", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word policy_words[] = {
    { "manual", PDK_KEY_BUILT },
    { "auto-on-pass", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word as_words[] = {
    { "worktree", PDK_KEY_BUILT },
    { "patch", PDK_KEY_BUILT },
    { "branch", PDK_KEY_LATER },
    { "commit", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word stop_words[] = {
    { "first-pass", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word keep_words[] = {
    { "winner", PDK_KEY_BUILT },
    { "all", PDK_KEY_BUILT },
    { "failed", PDK_KEY_BUILT },
    { "none", PDK_KEY_BUILT },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_word land_words[] = {
    { "none", PDK_KEY_BUILT },
    { "branches", PDK_KEY_BUILT },
    { "train", PDK_KEY_LATER },
    { NULL, PDK_KEY_BUILT },
};

static const struct pdk_key limits_keys[] = {
    { .name = "memory", .type = PDK_KEY_SIZE, .at = offsetof(struct pdk_plan_sandbox, memory), .min = 1 << 20,
        .max = INT64_C(1) << 50,
        .doc = "Memory of all processes together." },
    { .name = "pids", .type = PDK_KEY_INT, .at = offsetof(struct pdk_plan_sandbox, pids), .min = 1,
        .max = 4194304,
        .doc = "Processes and threads at once." },
    { .name = "cpus", .type = PDK_KEY_NUMBER, .at = offsetof(struct pdk_plan_sandbox, cpus), .min = 0,
        .max = 4096,
        .doc = "Processors' worth of time." },
};
static const struct pdk_block limits_block = {
    "limits", "What a sandbox's commands may use", limits_keys, sizeof(limits_keys) / sizeof(*limits_keys), 0
};

static const struct pdk_key container_keys[] = {
    { .name = "engine", .type = PDK_KEY_WORD, .at = offsetof(struct pdk_plan_container, engine),
        .words = engine_words,
        .doc = "Who runs it; else $PADDOCK_ENGINE. `auto`: the first that answers." },
    { .name = "image", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan_container, image), .min = 1,
        .doc = "The image." },
    { .name = "network", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan_container, network), .min = 1,
        .doc = "The network: `none` (default), `bridge`, or a name of the engine's." },
    { .name = "user", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan_container, user), .min = 1,
        .doc = "The user inside, as `uid` or `uid:gid`; the caller by default." },
    { .name = "pull", .type = PDK_KEY_WORD, .at = offsetof(struct pdk_plan_container, pull),
        .words = pull_words,
        .doc = "When to pull the image; `never` by default." },
    { .name = "transfer", .type = PDK_KEY_WORD, .at = offsetof(struct pdk_plan_container, transfer),
        .words = transfer_words,
        .doc = "How the tree gets in." },
    { .name = "memory", .type = PDK_KEY_SIZE, .at = offsetof(struct pdk_plan_container, memory),
        .min = 1 << 20, .max = INT64_C(1) << 50,
        .doc = "Memory of all processes together." },
    { .name = "pids", .type = PDK_KEY_INT, .at = offsetof(struct pdk_plan_container, pids), .min = 1,
        .max = 4194304,
        .doc = "Processes and threads at once." },
    { .name = "cpus", .type = PDK_KEY_NUMBER, .at = offsetof(struct pdk_plan_container, cpus), .min = 0,
        .max = 4096,
        .doc = "Processors' worth of time." },
    { .name = "create_timeout", .type = PDK_KEY_DURATION,
        .at = offsetof(struct pdk_plan_container, create_timeout_ms), .fallback = "30s", .min = 1,
        .max = 3600000, .doc = "How long the engine may take to make a container." },
    { .name = "start_timeout", .type = PDK_KEY_DURATION,
        .at = offsetof(struct pdk_plan_container, start_timeout_ms), .fallback = "30s", .min = 1,
        .max = 3600000, .doc = "How long it may take from there until commands can run." },
    { .name = "delete_timeout", .type = PDK_KEY_DURATION,
        .at = offsetof(struct pdk_plan_container, delete_timeout_ms), .fallback = "30s", .min = 1,
        .max = 3600000, .doc = "How long it may take to remove it." },
};
static const struct pdk_block container_block = {
    "container", "The container of `backend: container`", container_keys, sizeof(container_keys) / sizeof(*container_keys), 0
};

static const struct pdk_key sandbox_keys[] = {
    { .name = "backend", .type = PDK_KEY_BACKEND, .at = offsetof(struct pdk_plan_sandbox, backend),
        .fallback = "directory", .words = backend_words,
        .doc = "What makes the sandbox: a name of these, or a provider's." },
    { .name = "include", .type = PDK_KEY_STRINGS, .at = offsetof(struct pdk_plan_sandbox, include),
        .max = 1000,
        .doc = "Ignored files to bring along, as gitignore patterns." },
    { .name = "submodules", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan_sandbox, submodules),
        .fallback = "auto", .words = submodule_words,
        .doc = "Submodules to fill from `.git/modules`: those of the repository, none, or theirs as well." },
    { .name = "setup", .type = PDK_KEY_COMMANDS, .at = offsetof(struct pdk_plan_sandbox, setup),
        .count_at = offsetof(struct pdk_plan_sandbox, setup_len), .max = 100,
        .doc = "Run before the mission; what they change is baseline, not result." },
    { .name = "confine", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan_sandbox, confine),
        .fallback = "danger-full-access", .words = confine_words,
        .doc = "What commands may write." },
    { .name = "require_enforcement", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan_sandbox, enforce),
        .fallback = "any", .words = enforce_words,
        .doc = "`full` refuses to run where confinement or limits hold only in part." },
    { .name = "limits", .type = PDK_KEY_OBJECT, .block = &limits_block, .doc = "What commands may use." },
    { .name = "container", .type = PDK_KEY_OBJECT,
        .at = offsetof(struct pdk_plan_sandbox, container), .block = &container_block,
        .doc = "The container." },
    { .name = "env", .type = PDK_KEY_ENV, .at = offsetof(struct pdk_plan_sandbox, env), .max = 1000,
        .doc = "Environment of all commands, beside a safe base." },
    { .name = "pass_env", .type = PDK_KEY_NAMES, .at = offsetof(struct pdk_plan_sandbox, pass_env),
        .max = 1000,
        .doc = "Names of variables to pass on from the caller." },
};
static const struct pdk_block sandbox_block = {
    "sandbox", "Where commands run", sandbox_keys, sizeof(sandbox_keys) / sizeof(*sandbox_keys), 0
};

static const struct pdk_key attempt_keys[] = {
    { .name = "run", .type = PDK_KEY_COMMAND, .at = offsetof(struct pdk_plan_task, run),
        .doc = "The command: text runs by `sh -c`, a list is an argv." },
    { .name = "timeout", .type = PDK_KEY_DURATION, .at = offsetof(struct pdk_plan_task, timeout_ms), .min = 1,
        .max = INT64_C(365) * 86400000,
        .doc = "How long it may take; without one, as long as it likes." },
    { .name = "retries", .type = PDK_KEY_INT, .at = offsetof(struct pdk_plan_task, retries), .fallback = "0",
        .min = 0, .max = 100,
        .doc = "Further attempts after an ending that the infrastructure caused." },
    { .name = "cost", .type = PDK_KEY_PATTERN, .at = offsetof(struct pdk_plan_task, cost),
        .doc = "Finds what it cost in its output (PCRE2; the named or first group); without it, its time." },
};
static const struct pdk_block attempt_block = {
    "attempt", "The command of a candidate", attempt_keys, sizeof(attempt_keys) / sizeof(*attempt_keys), 0
};

static const struct pdk_key expect_keys[] = {
    { .name = "exit", .type = PDK_KEY_EXIT, .fallback = "0", .min = 0, .max = 255,
        .doc = "The exit code, or `any`." },
    { .name = "stdout", .type = PDK_KEY_PATTERNS, .at = offsetof(struct pdk_expect, out), .max = 100,
        .doc = "Patterns (PCRE2) that its output has." },
    { .name = "stderr", .type = PDK_KEY_PATTERNS, .at = offsetof(struct pdk_expect, err), .max = 100,
        .doc = "Patterns that its error output has." },
    { .name = "not_stdout", .type = PDK_KEY_PATTERNS, .at = offsetof(struct pdk_expect, not_out), .max = 100,
        .doc = "Patterns that its output does not have." },
    { .name = "not_stderr", .type = PDK_KEY_PATTERNS, .at = offsetof(struct pdk_expect, not_err), .max = 100,
        .doc = "Patterns that its error output does not have." },
};
static const struct pdk_block expect_block = {
    "expect", "What a check must show", expect_keys, sizeof(expect_keys) / sizeof(*expect_keys), 0
};

static const struct pdk_key score_keys[] = {
    { .name = "stdout", .type = PDK_KEY_PATTERN, .flags = PDK_KEY_REQUIRED,
        .at = offsetof(struct pdk_check_score, stdout_pattern),
        .doc = "Finds it: the named or first group of the pattern." },
    { .name = "goal", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_check_score, goal), .fallback = "max",
        .words = goal_words,
        .doc = "Which is better." },
    { .name = "weight", .type = PDK_KEY_NUMBER, .at = offsetof(struct pdk_check_score, weight), .fallback = "1",
        .min = 0, .max = 1000000000,
        .doc = "What it counts beside the scores of other checks." },
};
static const struct pdk_block score_block = {
    "score", "A number out of a check", score_keys, sizeof(score_keys) / sizeof(*score_keys), 0
};

static const struct pdk_key tests_keys[] = {
    { .name = "format", .type = PDK_KEY_WORD, .flags = PDK_KEY_REQUIRED,
        .at = offsetof(struct pdk_check_tests, format), .words = tests_words,
        .doc = "How the output names them." },
    { .name = "passed", .type = PDK_KEY_PATTERN, .at = offsetof(struct pdk_check_tests, passed),
        .doc = "With `patterns`: finds tests that passed; the named or first group is the name." },
    { .name = "failed", .type = PDK_KEY_PATTERN, .at = offsetof(struct pdk_check_tests, failed),
        .doc = "With `patterns`: finds tests that failed." },
};
static const struct pdk_block tests_block = {
    "tests", "The tests that a check ran", tests_keys, sizeof(tests_keys) / sizeof(*tests_keys), 0
};

static const struct pdk_key diagnostics_keys[] = {
    { .name = "error", .type = PDK_KEY_PATTERN, .flags = PDK_KEY_REQUIRED,
        .at = offsetof(struct pdk_check_diagnostics, error),
        .doc = "Finds errors: more of them than on the base fail the check." },
    { .name = "warning", .type = PDK_KEY_PATTERN, .at = offsetof(struct pdk_check_diagnostics, warning),
        .doc = "Finds warnings." },
    { .name = "new_warnings", .type = PDK_KEY_CHOICE,
        .at = offsetof(struct pdk_check_diagnostics, warnings_block), .fallback = "allow",
        .words = warnings_words,
        .doc = "Whether more warnings than on the base fail it as well." },
};
static const struct pdk_block diagnostics_block = {
    "diagnostics", "Complaints that are new", diagnostics_keys, sizeof(diagnostics_keys) / sizeof(*diagnostics_keys), 0
};

static const struct pdk_key check_keys[] = {
    { .name = "name", .type = PDK_KEY_ID, .flags = PDK_KEY_REQUIRED, .at = offsetof(struct pdk_check, name),
        .doc = "Its name, once per list." },
    { .name = "run", .type = PDK_KEY_COMMAND, .at = offsetof(struct pdk_check, run),
        .doc = "The command. Without one the check is manual, and abstains." },
    { .name = "timeout", .type = PDK_KEY_DURATION, .at = offsetof(struct pdk_check, timeout_ms),
        .fallback = "10m", .min = 1, .max = INT64_C(365) * 86400000,
        .doc = "How long it may take." },
    { .name = "on_timeout", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_check, on_timeout),
        .fallback = "fail", .words = on_timeout_words,
        .doc = "What a timeout means in a healthy sandbox." },
    { .name = "severity", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_check, severity),
        .fallback = "block", .words = severity_words,
        .doc = "`warn` never decides the verdict." },
    { .name = "expect", .type = PDK_KEY_OBJECT, .at = offsetof(struct pdk_check, expect),
        .block = &expect_block,
        .doc = "What it must show." },
    { .name = "abstain_exit", .type = PDK_KEY_INTS, .at = offsetof(struct pdk_check, abstain_exit),
        .count_at = offsetof(struct pdk_check, abstain_exit_len), .min = 0, .max = 255,
        .doc = "Exit codes that mean it cannot judge." },
    { .name = "score", .type = PDK_KEY_OBJECT,
        .at = offsetof(struct pdk_check, score), .block = &score_block,
        .doc = "A number for `select: [score]`." },
    { .name = "results", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_check, results), .min = 1,
        .doc = "A file that it writes: removed before it runs, then read as if it stood after its output." },
    { .name = "tests", .type = PDK_KEY_OBJECT, .at = offsetof(struct pdk_check, tests), .block = &tests_block,
        .doc = "How its output names the tests that it ran." },
    { .name = "min_tests", .type = PDK_KEY_INT, .at = offsetof(struct pdk_check, min_tests), .min = 1,
        .max = 1000000000,
        .doc = "How many tests it runs at least; needs `tests`." },
    { .name = "diagnostics", .type = PDK_KEY_OBJECT, .at = offsetof(struct pdk_check, diagnostics),
        .block = &diagnostics_block,
        .doc = "What its output complains about, counted against the base." },
};
static const struct pdk_block check_block = {
    "check", "One check", check_keys, sizeof(check_keys) / sizeof(*check_keys), sizeof(struct pdk_check)
};

static const struct pdk_key budget_keys[] = {
    { .name = "max_lines", .type = PDK_KEY_LONG, .at = offsetof(struct pdk_plan_verify, max_lines), .min = 1,
        .max = INT64_C(1000000000),
        .doc = "Lines added and deleted." },
    { .name = "max_files", .type = PDK_KEY_LONG, .at = offsetof(struct pdk_plan_verify, max_files), .min = 1,
        .max = INT64_C(1000000000),
        .doc = "Files changed." },
    { .name = "paths", .type = PDK_KEY_STRINGS, .at = offsetof(struct pdk_plan_verify, paths), .max = 1000,
        .doc = "The only paths that may change, as gitignore patterns." },
};
static const struct pdk_block budget_block = {
    "budget", "How large a result may be", budget_keys, sizeof(budget_keys) / sizeof(*budget_keys), 0
};

static const struct pdk_key test_first_keys[] = {
    { .name = "sources", .type = PDK_KEY_STRINGS, .at = offsetof(struct pdk_plan_verify, sources), .max = 1000,
        .doc = "Paths (gitignore patterns) whose change needs one of a test." },
    { .name = "tests", .type = PDK_KEY_STRINGS, .at = offsetof(struct pdk_plan_verify, tests), .max = 1000,
        .doc = "Paths of tests." },
};
static const struct pdk_block test_first_block = {
    "test_first", "No change to sources without one to tests", test_first_keys, sizeof(test_first_keys) / sizeof(*test_first_keys), 0
};

static const struct pdk_key verify_keys[] = {
    { .name = "in", .type = PDK_KEY_CHOICE, .at = offsetof(struct pdk_plan_verify, in_same),
        .fallback = "fresh", .words = in_words,
        .doc = "A fresh sandbox of the candidate's tree, or the mission's own." },
    { .name = "baseline", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan_verify, baseline),
        .fallback = "skip", .words = baseline_words,
        .doc = "What the base must do in the checks, which see it once: all of them pass, or one of them fail that passes for the candidate." },
    { .name = "confirm", .type = PDK_KEY_INT, .at = offsetof(struct pdk_plan_verify, confirm),
        .fallback = "0", .min = 0, .max = 100,
        .doc = "How often the winner must pass again; with `baseline: fail` once at least." },
    { .name = "flaky", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan_verify, flaky),
        .fallback = "all", .words = flaky_words,
        .doc = "How many of these runs, the first counted, must have passed; else the winner abstains." },
    { .name = "protect", .type = PDK_KEY_STRINGS, .at = offsetof(struct pdk_plan_verify, protect),
        .max = 1000,
        .doc = "Paths (gitignore patterns) restored from the base before checks run; so are the files that checks run, unless `!PATH` stands here." },
    { .name = "tamper", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan_verify, tamper),
        .fallback = "fail", .words = tamper_words,
        .doc = "What a candidate that changed protected paths comes to: it fails, or it is only reported." },
    { .name = "budget", .type = PDK_KEY_OBJECT, .block = &budget_block,
        .doc = "How large a result may be; beyond it, the verdict is abstain." },
    { .name = "test_first", .type = PDK_KEY_OBJECT, .block = &test_first_block,
        .doc = "Fails a candidate that changed sources and no tests." },
    { .name = "checks", .type = PDK_KEY_CHECKS, .at = offsetof(struct pdk_plan_verify, checks),
        .count_at = offsetof(struct pdk_plan_verify, checks_len), .max = 1000, .block = &check_block,
        .doc = "The checks; without any, the verdict is abstain." },
};
static const struct pdk_block verify_block = {
    "verify", "How results are judged", verify_keys, sizeof(verify_keys) / sizeof(*verify_keys), 0
};

static const struct pdk_key task_defaults_keys[] = {
    { .name = "title", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan_task, title),
        .doc = "One line for people." },
    { .name = "objective", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan_task, objective),
        .doc = "What is wanted; commands find it in the file `$PADDOCK_OBJECTIVE_FILE`." },
    { .name = "run", .type = PDK_KEY_COMMAND, .at = offsetof(struct pdk_plan_task, run),
        .doc = "The command: text runs by `sh -c`, a list is an argv." },
    { .name = "timeout", .type = PDK_KEY_DURATION, .at = offsetof(struct pdk_plan_task, timeout_ms), .min = 1,
        .max = INT64_C(365) * 86400000,
        .doc = "How long it may take; without one, as long as it likes." },
    { .name = "retries", .type = PDK_KEY_INT, .at = offsetof(struct pdk_plan_task, retries), .fallback = "0",
        .min = 0, .max = 100,
        .doc = "Further attempts after an ending that the infrastructure caused." },
    { .name = "cost", .type = PDK_KEY_PATTERN, .at = offsetof(struct pdk_plan_task, cost),
        .doc = "Finds what it cost in its output (PCRE2; the named or first group); without it, its time." },
    { .name = "mission", .type = PDK_KEY_OBJECT, .flags = PDK_KEY_ALIAS, .block = &attempt_block,
        .doc = "The same three keys, as a mission file has them." },
    { .name = "sandbox", .type = PDK_KEY_OBJECT, .at = offsetof(struct pdk_plan_task, sandbox),
        .block = &sandbox_block,
        .doc = "Where commands run." },
    { .name = "verify", .type = PDK_KEY_OBJECT, .at = offsetof(struct pdk_plan_task, verify),
        .block = &verify_block,
        .doc = "How results are judged." },
    { .name = "select", .type = PDK_KEY_SELECT, .fallback = "verdict smaller-diff index", .min = 1, .max = 16,
        .words = select_words,
        .doc = "What decides between candidates, in turn: words, or `{judge: {run: …}}`; `index` always ends it." },
    { .name = "allow_empty", .type = PDK_KEY_BOOL, .at = offsetof(struct pdk_plan_task, allow_empty),
        .fallback = "false",
        .doc = "An unchanged tree may win." },
    { .name = "candidates", .type = PDK_KEY_INT, .at = offsetof(struct pdk_plan_task, candidates_each),
        .fallback = "1", .min = 1, .max = 1000,
        .doc = "How many tries, for each combination of the matrix." },
    { .name = "matrix", .type = PDK_KEY_MATRIX, .max = 16,
        .doc = "Axes and their values: one candidate a combination." },
    { .name = "uses", .type = PDK_KEY_IDS, .state = PDK_KEY_LATER, .flags = PDK_KEY_DISTINCT,
        .at = offsetof(struct pdk_plan_task, uses), .max = 100,
        .doc = "Named slots (the fleet's `limits`) that it holds while it runs." },
    { .name = "claims", .type = PDK_KEY_STRINGS, .state = PDK_KEY_LATER, .flags = PDK_KEY_DISTINCT,
        .at = offsetof(struct pdk_plan_task, claims), .max = 1000,
        .doc = "Paths that no other task may change meanwhile." },
};
static const struct pdk_block task_defaults_block = {
    "task_defaults", "What each task has unless it says otherwise", task_defaults_keys, sizeof(task_defaults_keys) / sizeof(*task_defaults_keys), 0
};

static const struct pdk_key task_keys[] = {
    { .name = "id", .type = PDK_KEY_ID, .flags = PDK_KEY_REQUIRED, .at = offsetof(struct pdk_plan_task, id),
        .doc = "Its id, once per fleet." },
    { .name = "title", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan_task, title),
        .doc = "One line for people." },
    { .name = "objective", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan_task, objective),
        .doc = "What is wanted; commands find it in the file `$PADDOCK_OBJECTIVE_FILE`." },
    { .name = "run", .type = PDK_KEY_COMMAND, .at = offsetof(struct pdk_plan_task, run),
        .doc = "The command: text runs by `sh -c`, a list is an argv." },
    { .name = "timeout", .type = PDK_KEY_DURATION, .at = offsetof(struct pdk_plan_task, timeout_ms), .min = 1,
        .max = INT64_C(365) * 86400000,
        .doc = "How long it may take; without one, as long as it likes." },
    { .name = "retries", .type = PDK_KEY_INT, .at = offsetof(struct pdk_plan_task, retries), .fallback = "0",
        .min = 0, .max = 100,
        .doc = "Further attempts after an ending that the infrastructure caused." },
    { .name = "cost", .type = PDK_KEY_PATTERN, .at = offsetof(struct pdk_plan_task, cost),
        .doc = "Finds what it cost in its output (PCRE2; the named or first group); without it, its time." },
    { .name = "mission", .type = PDK_KEY_OBJECT, .flags = PDK_KEY_ALIAS, .block = &attempt_block,
        .doc = "The same three keys, as a mission file has them." },
    { .name = "sandbox", .type = PDK_KEY_OBJECT, .at = offsetof(struct pdk_plan_task, sandbox),
        .block = &sandbox_block,
        .doc = "Where commands run." },
    { .name = "verify", .type = PDK_KEY_OBJECT, .at = offsetof(struct pdk_plan_task, verify),
        .block = &verify_block,
        .doc = "How results are judged." },
    { .name = "select", .type = PDK_KEY_SELECT, .fallback = "verdict smaller-diff index", .min = 1, .max = 16,
        .words = select_words,
        .doc = "What decides between candidates, in turn: words, or `{judge: {run: …}}`; `index` always ends it." },
    { .name = "allow_empty", .type = PDK_KEY_BOOL, .at = offsetof(struct pdk_plan_task, allow_empty),
        .fallback = "false",
        .doc = "An unchanged tree may win." },
    { .name = "candidates", .type = PDK_KEY_INT, .at = offsetof(struct pdk_plan_task, candidates_each),
        .fallback = "1", .min = 1, .max = 1000,
        .doc = "How many tries, for each combination of the matrix." },
    { .name = "matrix", .type = PDK_KEY_MATRIX, .max = 16,
        .doc = "Axes and their values: one candidate a combination." },
    { .name = "uses", .type = PDK_KEY_IDS, .state = PDK_KEY_LATER, .flags = PDK_KEY_DISTINCT,
        .at = offsetof(struct pdk_plan_task, uses), .max = 100,
        .doc = "Named slots (the fleet's `limits`) that it holds while it runs." },
    { .name = "claims", .type = PDK_KEY_STRINGS, .state = PDK_KEY_LATER, .flags = PDK_KEY_DISTINCT,
        .at = offsetof(struct pdk_plan_task, claims), .max = 1000,
        .doc = "Paths that no other task may change meanwhile." },
    { .name = "needs", .type = PDK_KEY_IDS, .flags = PDK_KEY_DISTINCT,
        .at = offsetof(struct pdk_plan_task, needs), .max = 10000,
        .doc = "Tasks that must pass before." },
};
static const struct pdk_block task_block = {
    "task", "One task of a fleet", task_keys, sizeof(task_keys) / sizeof(*task_keys), sizeof(struct pdk_plan_task)
};

static const struct pdk_key promote_keys[] = {
    { .name = "policy", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan, policy), .fallback = "manual",
        .words = policy_words,
        .doc = "Whether a passing winner is promoted at once." },
    { .name = "as", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan, promote_as), .fallback = "worktree",
        .words = as_words,
        .doc = "What it becomes." },
};
static const struct pdk_block promote_block = {
    "promote", "What happens with the winner", promote_keys, sizeof(promote_keys) / sizeof(*promote_keys), 0
};

static const struct pdk_key stop_keys[] = {
    { .name = "on", .type = PDK_KEY_WORD, .at = offsetof(struct pdk_plan, stop_on),
        .words = stop_words,
        .doc = "End the rest once this holds." },
    { .name = "agree", .type = PDK_KEY_INT, .at = offsetof(struct pdk_plan, stop_agree), .min = 2, .max = 1000,
        .doc = "End the rest once so many passed with the same tree." },
    { .name = "budget", .type = PDK_KEY_NUMBER, .at = offsetof(struct pdk_plan, stop_budget), .min = 0,
        .max = 1000000000,
        .doc = "End the rest once those that ended cost so much together." },
};
static const struct pdk_block stop_block = {
    "stop", "When to end early", stop_keys, sizeof(stop_keys) / sizeof(*stop_keys), 0
};

static const struct pdk_key tasks_from_keys[] = {
    { .name = "file", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan, tasks_from_file), .min = 1,
        .doc = "JSON Lines: a row a task, merged over `defaults`." },
    { .name = "csv", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan, tasks_from_csv), .min = 1,
        .doc = "CSV with a header line." },
};
static const struct pdk_block tasks_from_block = {
    "tasks_from", "Tasks out of a table", tasks_from_keys, sizeof(tasks_from_keys) / sizeof(*tasks_from_keys), 0
};

static const struct pdk_key pdk_mission_keys[] = {
    { .name = "schema", .type = PDK_KEY_FIXED, .flags = PDK_KEY_REQUIRED, .words = schema_words,
        .doc = "The version of this format." },
    { .name = "kind", .type = PDK_KEY_FIXED, .flags = PDK_KEY_REQUIRED, .words = mission_words,
        .doc = "What the file is." },
    { .name = "id", .type = PDK_KEY_ID, .flags = PDK_KEY_REQUIRED, .at = offsetof(struct pdk_plan, id),
        .doc = "Its id." },
    { .name = "title", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan, title),
        .doc = "One line for people." },
    { .name = "objective", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan, objective),
        .doc = "What is wanted; commands find it in the file `$PADDOCK_OBJECTIVE_FILE`." },
    { .name = "base", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan, base), .fallback = "HEAD",
        .min = 1,
        .doc = "The revision to start from, resolved once." },
    { .name = "seed", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan, seed), .fallback = "head",
        .words = seed_words,
        .doc = "`worktree` adds the uncommitted and untracked files." },
    { .name = "max_concurrent", .type = PDK_KEY_INT, .at = offsetof(struct pdk_plan, max_concurrent),
        .fallback = "4", .min = 1, .max = 1024,
        .doc = "Live sandboxes at once." },
    { .name = "promote", .type = PDK_KEY_OBJECT, .block = &promote_block,
        .doc = "What happens with the winner." },
    { .name = "keep", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan, keep), .fallback = "none",
        .words = keep_words,
        .doc = "Whose sandboxes stay after the run." },
    { .name = "mission", .type = PDK_KEY_OBJECT, .flags = PDK_KEY_REQUIRED | PDK_KEY_OF_TASK,
        .block = &attempt_block,
        .doc = "The command." },
    { .name = "sandbox", .type = PDK_KEY_OBJECT, .flags = PDK_KEY_OF_TASK,
        .at = offsetof(struct pdk_plan_task, sandbox), .block = &sandbox_block,
        .doc = "Where commands run." },
    { .name = "verify", .type = PDK_KEY_OBJECT, .flags = PDK_KEY_OF_TASK,
        .at = offsetof(struct pdk_plan_task, verify), .block = &verify_block,
        .doc = "How results are judged." },
    { .name = "select", .type = PDK_KEY_SELECT, .flags = PDK_KEY_OF_TASK,
        .fallback = "verdict smaller-diff index", .min = 1, .max = 16, .words = select_words,
        .doc = "What decides between candidates, in turn: words, or `{judge: {run: …}}`; `index` always ends it." },
    { .name = "allow_empty", .type = PDK_KEY_BOOL, .flags = PDK_KEY_OF_TASK,
        .at = offsetof(struct pdk_plan_task, allow_empty), .fallback = "false",
        .doc = "An unchanged tree may win." },
    { .name = "candidates", .type = PDK_KEY_INT, .flags = PDK_KEY_OF_TASK,
        .at = offsetof(struct pdk_plan_task, candidates_each), .fallback = "1", .min = 1, .max = 1000,
        .doc = "How many tries, for each combination of the matrix." },
    { .name = "matrix", .type = PDK_KEY_MATRIX, .flags = PDK_KEY_OF_TASK, .max = 16,
        .doc = "Axes and their values: one candidate a combination." },
    { .name = "stop", .type = PDK_KEY_OBJECT, .block = &stop_block,
        .doc = "When to end early." },
};
const struct pdk_block pdk_mission_block = {
    "mission", "A mission", pdk_mission_keys, sizeof(pdk_mission_keys) / sizeof(*pdk_mission_keys), 0
};

static const struct pdk_key pdk_fleet_keys[] = {
    { .name = "schema", .type = PDK_KEY_FIXED, .flags = PDK_KEY_REQUIRED, .words = schema_words,
        .doc = "The version of this format." },
    { .name = "kind", .type = PDK_KEY_FIXED, .flags = PDK_KEY_REQUIRED, .words = fleet_words,
        .doc = "What the file is." },
    { .name = "id", .type = PDK_KEY_ID, .flags = PDK_KEY_REQUIRED, .at = offsetof(struct pdk_plan, id),
        .doc = "Its id." },
    { .name = "title", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan, title),
        .doc = "One line for people." },
    { .name = "objective", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan, objective),
        .doc = "What is wanted; commands find it in the file `$PADDOCK_OBJECTIVE_FILE`." },
    { .name = "base", .type = PDK_KEY_STRING, .at = offsetof(struct pdk_plan, base), .fallback = "HEAD",
        .min = 1,
        .doc = "The revision to start from, resolved once." },
    { .name = "seed", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan, seed), .fallback = "head",
        .words = seed_words,
        .doc = "`worktree` adds the uncommitted and untracked files." },
    { .name = "max_concurrent", .type = PDK_KEY_INT, .at = offsetof(struct pdk_plan, max_concurrent),
        .fallback = "4", .min = 1, .max = 1024,
        .doc = "Live sandboxes at once." },
    { .name = "promote", .type = PDK_KEY_OBJECT, .block = &promote_block,
        .doc = "What happens with the winner." },
    { .name = "keep", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan, keep), .fallback = "none",
        .words = keep_words,
        .doc = "Whose sandboxes stay after the run." },
    { .name = "limits", .type = PDK_KEY_SLOTS, .state = PDK_KEY_LATER, .at = offsetof(struct pdk_plan, slots),
        .max = 100,
        .doc = "Named slots and how many of each." },
    { .name = "defaults", .type = PDK_KEY_DEFAULTS, .flags = PDK_KEY_ALIAS, .block = &task_defaults_block,
        .doc = "What each task has unless it says otherwise." },
    { .name = "tasks", .type = PDK_KEY_TASKS, .at = offsetof(struct pdk_plan, tasks),
        .count_at = offsetof(struct pdk_plan, tasks_len), .max = 10000, .block = &task_block,
        .doc = "The tasks." },
    { .name = "tasks_from", .type = PDK_KEY_OBJECT, .state = PDK_KEY_LATER, .block = &tasks_from_block,
        .doc = "Tasks out of a table." },
    { .name = "land", .type = PDK_KEY_ENUM, .at = offsetof(struct pdk_plan, land), .fallback = "none",
        .words = land_words,
        .doc = "Where passing tasks land." },
};
const struct pdk_block pdk_fleet_block = {
    "fleet", "A fleet", pdk_fleet_keys, sizeof(pdk_fleet_keys) / sizeof(*pdk_fleet_keys), 0
};
/* clang-format on */

const struct pdk_block *const pdk_blocks[] = { &pdk_mission_block, &pdk_fleet_block,
    &task_block, &task_defaults_block, &attempt_block, &sandbox_block, &limits_block,
    &container_block, &verify_block, &budget_block, &check_block, &expect_block,
    &score_block, &tests_block, &diagnostics_block, &test_first_block, &promote_block,
    &stop_block, &tasks_from_block, NULL };

const struct pdk_key *pdk_block_key(const struct pdk_block *block, const char *name)
{
    for (size_t i = 0; i < block->len; i++)
        if (strcmp(block->keys[i].name, name) == 0)
            return &block->keys[i];
    return NULL;
}

const char *pdk_block_nearest(const struct pdk_block *block, const char *name)
{
    const char *names[64];
    size_t n = 0;

    for (size_t i = 0; i < block->len && n < sizeof(names) / sizeof(*names); i++)
        names[n++] = block->keys[i].name;
    return pdk_nearest(name, names, n);
}

int pdk_word_find(const struct pdk_word *words, const char *text)
{
    for (int i = 0; words[i].text; i++)
        if (strcmp(words[i].text, text) == 0)
            return i;
    return -1;
}

void pdk_word_list(const struct pdk_word *words, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; words[i].text && used < size; i++) {
        const char *between = i == 0 ? "" : (words[i + 1].text ? ", " : " or ");
        int n = snprintf(out + used, size - used, "%s%s", between, words[i].text);
        used += n < 0 ? 0 : (size_t)n;
    }
}
