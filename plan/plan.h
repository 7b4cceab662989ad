/*
 * A plan: what somebody asked for, checked and complete, as plain data. missions/ makes it from
 * a file; verify/, promote/ and the engine read it. Durations are milliseconds (0: no limit),
 * sizes bytes (0: none).
 *
 * Every pointer is owned by the plan and goes with pdk_plan_free(). Once made it does not
 * change, so any thread may read it.
 */
#ifndef PDK_PLAN_PLAN_H
#define PDK_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/str.h"

enum pdk_plan_kind { PDK_PLAN_MISSION, PDK_PLAN_FLEET };
enum pdk_seed { PDK_SEED_HEAD, PDK_SEED_WORKTREE };
enum pdk_confine { PDK_CONFINE_NONE, PDK_CONFINE_WORKSPACE, PDK_CONFINE_READ_ONLY };
enum pdk_submodules {
    PDK_SUBMODULES_AUTO,
    PDK_SUBMODULES_NONE,
    PDK_SUBMODULES_RECURSIVE
};
enum pdk_enforcement { PDK_ENFORCE_ANY, PDK_ENFORCE_FULL };
enum pdk_severity { PDK_SEVERITY_BLOCK, PDK_SEVERITY_WARN };
enum pdk_on_timeout { PDK_ON_TIMEOUT_FAIL, PDK_ON_TIMEOUT_ABSTAIN };
enum pdk_baseline { PDK_BASELINE_SKIP, PDK_BASELINE_PASS, PDK_BASELINE_FAIL };
enum pdk_promote_policy { PDK_POLICY_MANUAL, PDK_POLICY_AUTO_ON_PASS };
enum pdk_promote_as { PDK_AS_WORKTREE, PDK_AS_PATCH, PDK_AS_BRANCH, PDK_AS_COMMIT };
enum pdk_land { PDK_LAND_NONE, PDK_LAND_BRANCHES, PDK_LAND_TRAIN };
enum pdk_goal { PDK_GOAL_MAX, PDK_GOAL_MIN };
enum pdk_tamper { PDK_TAMPER_FAIL, PDK_TAMPER_REPORT };
enum pdk_flaky { PDK_FLAKY_ALL, PDK_FLAKY_MAJORITY, PDK_FLAKY_ANY };
enum pdk_keep { PDK_KEEP_WINNER, PDK_KEEP_ALL, PDK_KEEP_FAILED, PDK_KEEP_NONE };

/* A key and its text, in the file's order. */
struct pdk_pair {
    char *key;
    char *value;
};

struct pdk_pairs {
    struct pdk_pair *items;
    size_t len;
};

/* A command: an argv; a string in the file is {"sh", "-c", string}. Empty: no command. */
struct pdk_command {
    struct pdk_strv argv;
    bool shell; /* it was a string */
};

struct pdk_plan_container {
    char *engine, *image, *network, *user, *pull, *transfer; /* NULL: not given */
    int64_t create_timeout_ms, start_timeout_ms, delete_timeout_ms;
    double cpus;
    int64_t memory;
    int pids;
};

struct pdk_plan_sandbox {
    char *backend;             /* "directory" unless given */
    struct pdk_strv include;   /* gitignore patterns of ignored files to bring along */
    struct pdk_command *setup; /* setup_len commands, in turn */
    size_t setup_len;
    enum pdk_submodules submodules;
    enum pdk_confine confine;
    enum pdk_enforcement enforce;
    int64_t memory; /* limits */
    int pids;
    double cpus;
    struct pdk_plan_container container;
    struct pdk_pairs env;
    struct pdk_strv pass_env;
};

struct pdk_check_score {
    char *stdout_pattern; /* PCRE2; NULL: no score */
    enum pdk_goal goal;
    double weight; /* beside other checks' scores */
};

/* What a check's command must show. NULL patterns are not asked. */
struct pdk_expect {
    bool has_exit; /* false: any exit code will do */
    int exit;
    struct pdk_strv out, err, not_out, not_err; /* PCRE2 patterns for stdout, stderr */
};

/* How a check's output names the tests that it ran. */
struct pdk_check_tests {
    char *format; /* "junit", "tap", "patterns"; NULL: it names none */
    char *passed,
            *failed; /* of "patterns": PCRE2 whose named or first group is a test's name */
};

/* Complaints in a check's output, counted against those on the base. NULL: not counted. */
struct pdk_check_diagnostics {
    char *error, *warning; /* PCRE2 */
    bool warnings_block;
};

struct pdk_check {
    char *name;
    struct pdk_command run; /* empty: a manual check */
    int64_t timeout_ms;
    enum pdk_on_timeout on_timeout;
    enum pdk_severity severity;
    struct pdk_expect expect;
    int *abstain_exit;
    size_t abstain_exit_len;
    struct pdk_check_score score;
    char *results; /* a file of the sandbox that the check writes; NULL: none */
    struct pdk_check_tests tests;
    int min_tests; /* 0: not asked */
    struct pdk_check_diagnostics diagnostics;
};

struct pdk_plan_verify {
    bool in_same; /* verify in the mission's own sandbox */
    enum pdk_baseline baseline;
    int confirm;
    enum pdk_flaky flaky;
    struct pdk_strv protect;
    enum pdk_tamper tamper;
    int64_t max_lines, max_files; /* budget; 0: none */
    struct pdk_strv paths; /* budget: the only ones that may change; empty: all may */
    struct pdk_strv sources, tests; /* test_first: a change to these needs one to those */
    struct pdk_check *checks;
    size_t checks_len;
};

/* One combination of the matrix and one number within it: the work of one candidate. */
struct pdk_plan_candidate {
    int index;               /* 1…N */
    struct pdk_pairs matrix; /* key and value of each axis */
};

/* An axis of the matrix and its values, in the file's order. */
struct pdk_plan_axis {
    char *key;
    struct pdk_strv values;
};

struct pdk_plan_task {
    char *id;
    char *title, *objective; /* NULL: the fleet's */
    struct pdk_plan_sandbox sandbox;
    struct pdk_command run;
    int64_t timeout_ms; /* 0: none */
    char *cost;         /* PCRE2 for its output; NULL: its time is its cost */
    int retries;
    struct pdk_plan_verify verify;
    struct pdk_strv select; /* the order of selection */
    bool allow_empty;
    struct pdk_strv needs; /* ids of tasks that must pass before */
    struct pdk_strv uses, claims;
    struct pdk_command judge; /* of select's "judge"; empty: none */
    int candidates_each;      /* for each combination of the axes */
    struct pdk_plan_axis *axes;
    size_t axes_len;
    struct pdk_plan_candidate *candidates; /* made from the three above */
    size_t candidates_len;
};

/* A key that this version only checks, though the mission needs its effect. */
struct pdk_unbuilt {
    char *key;   /* "verify.confirm" */
    char *where; /* "file:line:col" */
};

/*
 * A mission is a plan with one task whose id is the mission's. A fleet has as many as it says;
 * tasks stand in the file's order, their needs refer to other tasks of the plan, without a cycle.
 */
struct pdk_plan {
    enum pdk_plan_kind kind;
    char *id, *title, *objective;
    char *base; /* a revision as given; "HEAD" */
    enum pdk_seed seed;
    int max_concurrent;
    struct pdk_plan_task *tasks;
    size_t tasks_len;
    enum pdk_promote_policy policy;
    enum pdk_promote_as promote_as;
    enum pdk_keep keep;
    enum pdk_land land;
    char *stop_on;          /* "first-pass"; NULL: run them all */
    int stop_agree;         /* so many passed with the same tree; 0: not asked */
    double stop_budget;     /* so much has been spent; 0: not asked */
    struct pdk_pairs slots; /* named limits and how many of each */
    char *tasks_from_file, *tasks_from_csv; /* NULL: not given */
    struct pdk_unbuilt *unbuilt;
    size_t unbuilt_len;
};

/* Frees what the plan owns and itself; NULL and half-made plans are fine. */
void pdk_plan_free(struct pdk_plan *plan);
PDK_DEFINE_AUTO(struct pdk_plan, pdk_plan_free)
#define PDK_AUTO_PLAN PDK_AUTO(pdk_plan_free)

/*
 * Leaves the candidates for which keep() is true, and the tasks that have some; these need no other
 * task any more.
 */
void pdk_plan_keep(struct pdk_plan *plan,
        bool (*keep)(const struct pdk_plan_task *task, int index, void *user),
        void *user);

void pdk_pairs_fini(struct pdk_pairs *pairs);
int pdk_pairs_add(
        struct pdk_pairs *pairs, const char *key, const char *value); /* PDK_ENOMEM */
const char *pdk_pairs_get(
        const struct pdk_pairs *pairs, const char *key); /* borrowed; or NULL */

#endif
