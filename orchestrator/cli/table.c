/*
 * Every command of the program. To add one: a row here (sorted by group, then name), its function
 * in commands.h and a file of its own, a line in README.md.
 */
#include "orchestrator/cli/cli.h"
#include "orchestrator/cli/commands.h"

#define TEXT(name, letter, value, help)                                                  \
    {                                                                                    \
        name, letter, PDK_OPTION_TEXT, value, help                                       \
    }
#define SWITCH(name, help)                                                               \
    {                                                                                    \
        name, '\0', PDK_OPTION_NONE, NULL, help                                          \
    }
#define MAYBE(name, value, help)                                                         \
    {                                                                                    \
        name, '\0', PDK_OPTION_OPTIONAL, value, help                                     \
    }
#define OPTIONS(table) table, sizeof(table) / sizeof((table)[0])
#define NO_OPTIONS     NULL, 0

static const struct pdk_option run_options[] = {
    TEXT("cmd", '\0', "COMMAND", "the mission's command, run by sh -c"),
    TEXT("check", '\0', "COMMAND", "a check, run by sh -c; may be given several times"),
    TEXT("setup", '\0', "COMMAND", "runs before the mission; may be given several times"),
    TEXT("candidates", 'n', "N", "how many candidates"),
    TEXT("max-concurrent", 'j', "MAX", "how many sandboxes may be alive at once"),
    TEXT("backend", '\0', "NAME", "where working copies live"),
    TEXT("seed", '\0', "head|worktree",
            "start from the base, or from your uncommitted work too"),
    TEXT("base", '\0', "REF", "the revision to start from"),
    TEXT("set", '\0', "KEY=VALUE", "override one key of the file"),
    TEXT("timeout", '\0', "D", "limit for the mission's command, with its unit"),
    TEXT("keep", '\0', "WHICH", "working copies to leave: all, winner, failed, none"),
    TEXT("run-id", '\0', "ID", "name of the run"),
    MAYBE("promote", "HOW", "land the winner when it passes: worktree, branch or patch"),
    SWITCH("allow-empty", "a candidate that changed nothing may win"),
    SWITCH("events", "events as JSON Lines on stdout, as they happen"),
};

static const struct pdk_option plan_options[] = {
    TEXT("set", '\0', "KEY=VALUE", "override one key of the file"),
};

static const struct pdk_option promote_options[] = {
    TEXT("as", '\0', "HOW", "worktree (default), patch, branch or commit"),
    TEXT("output", 'o', "FILE", "where the patch goes; - for stdout"),
    TEXT("branch", '\0', "NAME", "the branch to make"),
    SWITCH("dry-run", "say what would be written, write nothing"),
    SWITCH("accept-unproven", "land what abstained as well; never what failed"),
    SWITCH("again", "although the run was promoted before, and taken back"),
};

static const struct pdk_option diff_options[] = {
    SWITCH("stat", "paths and line counts instead of the patch"),
};

static const struct pdk_option follow_options[] = {
    { "follow", 'f', PDK_OPTION_NONE, NULL, "go on until the run has ended" },
};

static const struct pdk_option create_options[] = {
    TEXT("backend", '\0', "NAME", "git-worktree (default) or directory"),
    TEXT("base", '\0', "REF", "the revision to start from"),
    TEXT("seed", '\0', "head|worktree",
            "start from the base, or from your uncommitted work too"),
    TEXT("include", '\0', "PATTERN", "ignored files to bring along"),
};

/* Of a call that runs something: what it may write, and who is asked for more. */
#define CALL_OPTIONS                                                                     \
    TEXT("mode", '\0', "MODE",                                                           \
            "what it may write: read-only, workspace-write, danger-full-access"),        \
            TEXT("require-enforcement", '\0', "LEVEL",                                   \
                    "full: not where it holds only in part"),                            \
            TEXT("session", '\0', "NAME", "whose mode holds, see `sandbox mode`"),       \
            TEXT("sandbox-permissions", '\0', "MODE",                                    \
                    "ask for a wider mode, for this call"),                              \
            TEXT("justification", '\0', "TEXT", "why, for whoever decides")

static const struct pdk_option call_options[] = { CALL_OPTIONS };

static const struct pdk_option exec_options[] = {
    TEXT("timeout", '\0', "D", "limit, with its unit"),
    TEXT("cwd", '\0', "DIR", "directory below the sandbox's top"),
    CALL_OPTIONS,
};

static const struct pdk_option mode_options[] = {
    TEXT("session", '\0', "NAME", "the session; main unless given"),
    TEXT("approval", '\0', "POLICY",
            "who asks for more: ask (somebody decides) or never"),
    TEXT("preset", '\0', "NAME", "both at once: look, work, unattended, trusted"),
};

static const struct pdk_option check_options[] = {
    TEXT("junit", '\0', "FILE", "the report as JUnit XML as well"),
    TEXT("only", '\0', "TEXT", "the cases whose name holds it"),
    TEXT("timeout", '\0', "D", "limit for each answer, with its unit; 15s unless given"),
};

#define PARAMS_OPTION                                                                    \
    TEXT("params", '\0', "FILE", "more params, as a JSON object; - for stdin")

static const struct pdk_option verb_options[] = { PARAMS_OPTION };

static const struct pdk_option read_options[] = {
    TEXT("line", '\0', "N", "begin at that line"),
    TEXT("lines", '\0', "N", "so many lines"),
    TEXT("offset", '\0', "BYTES", "begin there"),
    TEXT("length", '\0', "BYTES", "so many bytes"),
    PARAMS_OPTION,
};

static const struct pdk_option write_options[] = {
    TEXT("input", '\0', "FILE", "what to write; stdin unless given"),
    TEXT("mode", '\0', "OCTAL", "permission bits"),
    PARAMS_OPTION,
};

static const struct pdk_option remove_options[] = {
    SWITCH("recursive", "also a directory that is not empty"),
    PARAMS_OPTION,
};

static const struct pdk_option glob_options[] = {
    TEXT("path", '\0', "DIR", "below that directory"),
    SWITCH("ignored", "also what .gitignore names"),
    TEXT("limit", '\0', "N", "at most so many paths"),
    PARAMS_OPTION,
};

static const struct pdk_option grep_options[] = {
    TEXT("path", '\0', "DIR", "below that directory"),
    TEXT("context", '\0', "N", "lines before and after each match"),
    { "ignore-case", 'i', PDK_OPTION_NONE, NULL, "letters match either case" },
    { "fixed", 'F', PDK_OPTION_NONE, NULL, "plain text, no pattern" },
    SWITCH("ignored", "also what .gitignore names"),
    TEXT("limit", '\0', "N", "at most so many matches"),
    PARAMS_OPTION,
};

static const struct pdk_option pull_options[] = {
    TEXT("output", 'o', "FILE", "where the patch goes; stdout unless given"),
};

static const struct pdk_option discard_options[] = {
    SWITCH("force", "also when it holds changes or commits that nothing else holds"),
    SWITCH("keep-branch", "leave its branch"),
};

static const struct pdk_option report_options[] = {
    TEXT("format", '\0', "FORMAT", "md (default), json, junit or html"),
    TEXT("output", 'o', "FILE", "where it goes; stdout unless given"),
};

static const struct pdk_option verify_options[] = {
    SWITCH("again", "say how far the verdicts agree with those before"),
    TEXT("tree", '\0', "OID", "a tree or commit to check by --file"),
    TEXT("sandbox", '\0', "NAME", "a sandbox whose state to check by --file"),
    TEXT("file", 'f', "FILE", "the mission whose checks to run; - for stdin"),
};

static const struct pdk_option verdict_options[] = {
    TEXT("replay", '\0', "FILE", "a log as `events` prints it; - for stdin"),
};

static const struct pdk_option word_options[] = {
    TEXT("rationale", '\0', "TEXT", "why; has to be given"),
    TEXT("waive", '\0', "CHECK",
            "a failed check that is not to count; may be given several times"),
    TEXT("by", '\0', "WHO", "who says so; the user of the repository unless given"),
};

static const struct pdk_option gc_options[] = {
    SWITCH("dry-run", "say what would be removed, remove nothing"),
};

enum { MANY = 64 };

static const struct pdk_command_row table[] = {
    { NULL, "completion", "SHELL", "Completion for bash, zsh or fish", NO_OPTIONS, 1, 1,
            pdk_command_completion },
    { NULL, "diff", "RUN/CAND [RUN/CAND]", "What a candidate changed, or how two differ",
            OPTIONS(diff_options), 1, 2, pdk_command_diff },
    { NULL, "doctor", "", "What this host can do", NO_OPTIONS, 0, 0, pdk_command_doctor },
    { NULL, "events", "RUN", "The event log of a run as JSON Lines",
            OPTIONS(follow_options), 1, 1, pdk_command_events },
    { NULL, "gc", "", "Remove what ended runs left behind", OPTIONS(gc_options), 0, 0,
            pdk_command_gc },
    { NULL, "init", "[FILE]", "Write a first mission file", NO_OPTIONS, 0, 1,
            pdk_command_init },
    { NULL, "logs", "RUN/CAND [STAGE]", "What the commands printed",
            OPTIONS(follow_options), 1, 2, pdk_command_logs },
    { NULL, "promote", "RUN[/CAND]", "Land a winner in your working tree",
            OPTIONS(promote_options), 1, 1, pdk_command_promote },
    { NULL, "report", "RUN", "A report to hand on", OPTIONS(report_options), 1, 1,
            pdk_command_report },
    { NULL, "run", "FILE", "Run a mission or a fleet, by its kind", OPTIONS(run_options),
            1, 1, pdk_command_run },
    { NULL, "runs", "", "The runs of this repository", NO_OPTIONS, 0, 0,
            pdk_command_runs },
    { NULL, "schema", "NAME", "A JSON Schema: mission", NO_OPTIONS, 1, 1,
            pdk_command_schema },
    { NULL, "show", "RUN[/CAND]", "A run and its verdicts", NO_OPTIONS, 1, 1,
            pdk_command_show },
    { NULL, "undo", "[PROMOTION]", "Take a promotion back", NO_OPTIONS, 0, 1,
            pdk_command_undo },
    { NULL, "verdict", "[RUN]", "The verdicts of a run, folded from its log",
            OPTIONS(verdict_options), 0, 1, pdk_command_verdict },
    { NULL, "verify", "[RUN[/CAND]]", "Check stored trees again, or one that is given",
            OPTIONS(verify_options), 0, 1, pdk_command_verify },
    { "fleet", "cancel", "RUN", "End a fleet that is running", NO_OPTIONS, 1, 1,
            pdk_command_cancel },
    { "fleet", "resume", "RUN", "Go on with a fleet that was cut off", NO_OPTIONS, 1, 1,
            NULL },
    { "fleet", "run", "FILE", "Run a fleet of tasks", OPTIONS(run_options), 1, 1,
            pdk_command_run },
    { "fleet", "show", "FILE", "The resolved plan", OPTIONS(plan_options), 1, 1,
            pdk_command_plan },
    { "fleet", "validate", "FILE", "Check a fleet file", OPTIONS(plan_options), 1, MANY,
            pdk_command_validate },
    { "mission", "cancel", "RUN", "End a mission that is running", NO_OPTIONS, 1, 1,
            pdk_command_cancel },
    { "mission", "resume", "RUN", "Go on with a mission that was cut off", NO_OPTIONS, 1,
            1, NULL },
    { "mission", "run", "[FILE]", "Run a mission: the best of N tries",
            OPTIONS(run_options), 0, 1, pdk_command_run },
    { "mission", "show", "FILE", "The resolved plan", OPTIONS(plan_options), 1, 1,
            pdk_command_plan },
    { "mission", "validate", "FILE...", "Check mission files", OPTIONS(plan_options), 1,
            MANY, pdk_command_validate },
    { "mission", "verdict", "RUN/CAND pass|needs-attention|needs-remediation",
            "A person's word on a candidate", OPTIONS(word_options), 2, 2,
            pdk_command_mission_verdict },
    { "provider", "check", "-- ARGV...", "The protocol's conformance kit",
            OPTIONS(check_options), 0, 0, pdk_command_provider_check },
    { "sandbox", "create", "NAME", "Make a sandbox with its own branch",
            OPTIONS(create_options), 1, 1, pdk_command_sandbox_create },
    { "sandbox", "diff", "NAME", "What changed in it, as a patch", OPTIONS(diff_options),
            1, 1, pdk_command_sandbox_diff },
    { "sandbox", "discard", "NAME", "Remove it", OPTIONS(discard_options), 1, 1,
            pdk_command_sandbox_discard },
    { "sandbox", "exec", "NAME -- ARGV...", "Run a command in it", OPTIONS(exec_options),
            1, 1, pdk_command_sandbox_exec },
    { "sandbox", "fingerprint", "NAME", "A digest of its state", OPTIONS(verb_options), 1,
            1, pdk_command_sandbox_fingerprint },
    { "sandbox", "glob", "NAME PATTERN...", "Paths by pattern", OPTIONS(glob_options), 1,
            MANY, pdk_command_sandbox_glob },
    { "sandbox", "grep", "NAME PATTERN [PATHS...]", "Lines by pattern",
            OPTIONS(grep_options), 1, MANY, pdk_command_sandbox_grep },
    { "sandbox", "list", "", "The sandboxes of this repository", NO_OPTIONS, 0, 0,
            pdk_command_sandbox_list },
    { "sandbox", "mode", "NAME [MODE]", "What its commands may write, shown or set",
            OPTIONS(mode_options), 1, 2, pdk_command_sandbox_mode },
    { "sandbox", "pull", "NAME", "Its changes as a patch to apply", OPTIONS(pull_options),
            1, 1, pdk_command_sandbox_pull },
    { "sandbox", "read", "NAME PATH", "A file of it", OPTIONS(read_options), 1, 2,
            pdk_command_sandbox_read },
    { "sandbox", "remove", "NAME PATH", "Remove a path in it", OPTIONS(remove_options), 1,
            2, pdk_command_sandbox_remove },
    { "sandbox", "shell", "NAME [-- ARGV...]", "A terminal in it", OPTIONS(call_options),
            1, 1, pdk_command_sandbox_shell },
    { "sandbox", "stat", "NAME PATH...", "Facts about paths of it", OPTIONS(verb_options),
            1, MANY, pdk_command_sandbox_stat },
    { "sandbox", "status", "NAME", "Its state and dirt", NO_OPTIONS, 1, 1,
            pdk_command_sandbox_status },
    { "sandbox", "write", "NAME PATH", "Write a file in it", OPTIONS(write_options), 1, 2,
            pdk_command_sandbox_write },
};

const struct pdk_command_row *pdk_command_table(size_t *len)
{
    *len = sizeof(table) / sizeof(table[0]);
    return table;
}
