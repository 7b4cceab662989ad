/*
 * What the files of the engine share: the run and its candidates. Loop thread only.
 *
 * engine.c owns the run and starts candidates; candidate.c moves one through its life;
 * verification.c runs checks on a tree; leaks.c looks for what a candidate did outside; record.c is the
 * one door to the event log, where acts wait too.
 */
#ifndef PDK_ORCHESTRATOR_ENGINE_INTERNAL_H
#define PDK_ORCHESTRATOR_ENGINE_INTERNAL_H

#include <stdbool.h>

#include "base/error.h"
#include "orchestrator/engine/engine.h"
#include "orchestrator/engine/scheduler.h"
#include "orchestrator/engine/session.h"
#include "promote/select.h"
#include "store/event.h"
#include "store/state.h"
#include "trees/diff.h"
#include "trees/template.h"
#include "trees/vault.h"
#include "trees/vaults.h"
#include "verify/evidence.h"
#include "verify/measure.h"
#include "verify/survey.h"

struct pdk_cleaner;
struct run;
struct uv_loop_s;
struct pdk_leaks; /* leaks.c */
struct verification;
struct judging;
struct watch; /* signals and the tick: engine.c */

/* A command that starts once its record is durable. */
struct pending_command {
    struct pdk_session *session;
    struct pdk_exec_request request;
    const struct pdk_exec_handlers *handlers;
    void *user;
};

/* One candidate. Fields of an attempt are reset when another one starts. */
struct candidate {
    struct run *run;
    const struct pdk_plan_task *task;
    const struct pdk_plan_candidate *plan;
    size_t task_place; /* of its task in the plan */
    size_t place;      /* 0… over the whole run */
    char *name;        /* "c1", "task/c1" */
    enum pdk_candidate_state state;
    int attempt;
    char *attempt_id;
    char *logs;      /* directory of its output */
    char *objective; /* file; NULL: none */
    char stage[72];  /* the command under way, for the eye */
    int64_t started_ms, ended_ms;
    bool canceled;
    bool censored; /* canceled because enough is known without it */
    bool has_cost;
    double cost; /* of all its attempts */

    struct pdk_session *session; /* the mission's; NULL when there is none */
    size_t setup_at;
    struct pdk_oid baseline; /* the tree that the mission found */
    struct pdk_capture capture;
    struct pdk_oid tree; /* the result: base or seed with its changes; "" before */
    struct pdk_diff diff;
    struct pdk_survey survey;
    char vote[65];             /* digest of its diff, where votes are counted; "" */
    struct pdk_json *outcomes; /* bodies of check.ended; NULL: none */
    struct pdk_oid
            verified; /* the tree that checks see: protected paths as the base has them */
    bool exposed;     /* ran a command since the last look for leaks */
    char *blame;      /* what it may have changed outside of its sandbox; NULL: nothing */
    bool failed, retriable; /* the attempt cannot be judged by its checks alone */

    struct pdk_sandbox_record
            kept; /* a working copy that outlives the attempt; id NULL: none */
    struct verification *verification;
    struct candidate *next_waiting; /* for the same tree's verification, or the base's */
    void (*then)(struct candidate *c); /* goes on once the base has been seen */
    struct judging *judging;           /* the judge runs in its name; NULL: it does not */
    int judged;                        /* comparisons won, less those lost */
    int confirmed;                     /* rounds of checks that ran again */
    struct pending_command command;
    void (*act)(struct candidate *c); /* waits for what was recorded; NULL: none */
    struct candidate *next_act;
    struct pdk_judgement judgement;
};

/* What the checks of a task said about one tree: verified once, whoever made it. */
struct tree_memo {
    size_t task_place;
    struct pdk_oid tree;
    bool busy;                 /* somebody verifies it now */
    bool done;                 /* outcomes hold for everybody */
    struct pdk_json *outcomes; /* bodies of check.ended */
    struct candidate *waiting;
    struct tree_memo *next;
};

struct task_run {
    const struct pdk_backend *backend;
    struct pdk_tier *tier;    /* where its commands run; NULL: this host */
    struct pdk_policy policy; /* of its commands; confine.c */
    enum pdk_enforced enforcement;
    struct pdk_strv missing;        /* what it does not cover */
    struct pdk_held held;           /* what keeps its limits, as tried before the run */
    struct pdk_patterns **patterns; /* one a check; NULL for a manual one */
    struct pdk_gauge **gauges;      /* likewise */
    struct pdk_rules *rules;
    enum { BASELINE_NONE, BASELINE_BUSY, BASELINE_DONE } baseline_state;
    struct pdk_json *baseline; /* outcomes of the checks on the base; NULL: none */
    struct candidate *baseline_waiting; /* who verifies once it has ended */
    bool judged;                        /* the judge has had its say, if there is one */
    bool confirming;                    /* checks run again */
    bool cut;                           /* the rest is not waited for */
    struct pdk_judgement judgement;
    int winner;
};

/* What was recorded and is not durable yet, and who waits for it. */
struct journal {
    struct pdk_event *events; /* bodies are owned */
    size_t len, cap;
    struct candidate *first_act, *last_act;
};

struct run {
    const struct pdk_engine_spec *spec;
    struct uv_loop_s *loop;
    struct watch *watch;
    struct pdk_sched *sched;
    struct pdk_fold *fold;
    struct journal journal;
    struct pdk_vault *vault;   /* of the loop thread */
    struct pdk_vaults *vaults; /* for worker threads */
    struct pdk_base base;
    struct pdk_oid start; /* the tree that candidates start from: base's or the seed */
    struct pdk_template *template; /* of start, held open for the run; NULL: none */
    struct pdk_oid template_tree;  /* start, or "" without one */
    struct pdk_cleaner *cleaner;   /* NULL: none could be had */
    struct task_run *tasks;
    struct candidate *candidates;
    size_t candidates_len;
    struct tree_memo *memos;
    struct pdk_leaks *leaks;
    int64_t started_ms;
    int signal, signals;  /* which one came first, how many */
    struct pdk_err fatal; /* the store failed: nothing new starts */
};

/* ---- record.c */

/*
 * Records one event and folds it; body is taken. It is durable after the next flush, together with
 * all others of this turn of the loop. A failure ends the run (run->fatal) and is not returned: the
 * caller goes on to release what it holds.
 */
void pdk_record(struct run *run, enum pdk_event_type type, const struct candidate *c,
        struct pdk_json *body);
void pdk_record_task(struct run *run, enum pdk_event_type type, const char *task,
        struct pdk_json *body);
void pdk_record_warning(const struct candidate *c, const char *text);
void pdk_record_warnings(struct candidate *c, const struct pdk_strv *warnings);
void pdk_record_intent(struct candidate *c, const char *id, const char *dir,
        const char *purpose, const struct pdk_oid *tree);
void pdk_record_made(struct candidate *c, struct pdk_session *session);
/* The end of a session's sandbox: released, or what was left behind. */
void pdk_record_released(struct candidate *c, const char *id, const struct pdk_err *why);
/* The attempt cannot be judged by its checks alone; of a canceled one that is the reason. */
void pdk_record_attempt_failed(
        const struct candidate *c, enum pdk_reason reason, const char *detail);
/* A body that begins with all that is known of how a command ended; result may be NULL. */
struct pdk_json *pdk_record_result(const struct pdk_exec_result *result);
/*
 * Whatever acts outside waits here until all that was recorded is durable: act comes from the flush.
 * One act a candidate at a time. After a failure it comes as well, with run->fatal set.
 */
void pdk_record_then(struct candidate *c, void (*act)(struct candidate *c));
/* At the end of a turn: one transaction, then the acts that wait. Nothing is left when it returns. */
void pdk_record_flush(struct run *run);
void pdk_record_fini(struct run *run);

/* ---- confine.c */

/* Settles what confines each task's commands. PDK_EUNAVAIL: it cannot be had; nothing was made. */
int pdk_confine_tasks(struct run *run, struct pdk_err *err);
/* The limits of its commands, as in the plan. */
struct pdk_limits pdk_confine_limits(const struct pdk_plan_sandbox *plan);
/* Puts "enforcement", "confinement" and "limits" into the record of where commands run. */
void pdk_confine_describe(const struct task_run *task, struct pdk_json *execution);
/* What the candidate's commands cannot do that they could expect to. */
void pdk_confine_warn(struct candidate *c);
void pdk_confine_record_denial(
        struct candidate *c, const char *stage, const struct pdk_exec_result *result);

/* ---- commands.c */

/*
 * Starts a command of the candidate in a session: recorded, with its environment. The handlers stay
 * borrowed until the end.
 */
void pdk_start_command(struct candidate *c, struct pdk_session *session,
        const struct pdk_command *command, const char *stage, const char *log,
        int64_t timeout_ms, const struct pdk_exec_handlers *handlers, void *user);
void pdk_record_command_end(struct candidate *c, const char *stage,
        const struct pdk_exec_result *result, const struct pdk_err *why);
int pdk_session_for(struct candidate *c, const char *suffix, const struct pdk_oid *tree,
        const char *purpose, struct pdk_session **out, struct pdk_err *err);

/* ---- baseline.c */

/* Whether the checks of the candidate's task still have to see the base. */
bool pdk_baseline_wanted(const struct candidate *c);
/* Lets them, by this candidate; done comes once, whatever became of it. */
void pdk_baseline_start(struct candidate *c, void (*done)(struct candidate *c));
/* True: the candidate has to wait for that, and `then` is called after. */
bool pdk_baseline_wait(struct candidate *c, void (*then)(struct candidate *c));

/* ---- confirm.c */

/*
 * Before a task is judged: runs the checks of its winner again as often as it has to pass them, and of
 * the next one's where it does not. True: under way, pdk_run_task_confirmed() is called after.
 */
bool pdk_confirm_start(struct run *run, size_t task);
/* The task is judged now: winners whose checks did not run again are not confirmed. */
void pdk_confirm_settle(struct run *run, size_t task);

/* ---- candidate.c */

/* The verdict on the candidate by all that is recorded; again: it had one before. */
void pdk_candidate_judge(struct candidate *c, bool again);

void pdk_candidate_start(struct candidate *c);
void pdk_candidate_interrupt(struct candidate *c, bool at_once);
/* It will not start: judged at once, an abstain for the reason. */
void pdk_candidate_pass_over(
        struct candidate *c, enum pdk_reason reason, const char *detail);
void pdk_candidate_show(struct candidate *c, const char *stage); /* tells the listener */
void pdk_candidate_fini(struct candidate *c);

/* ---- verification.c */

/* whole: each check ran to an end that holds for the tree. outcomes: bodies of check.ended, borrowed. */
typedef void verification_done(
        struct candidate *c, bool whole, struct pdk_json *outcomes);

enum verification_kind {
    PDK_VERIFY_CANDIDATE, /* every check is recorded, a lost sandbox fails the attempt */
    PDK_VERIFY_BASE,      /* these two are recorded by who asked, as a whole */
    PDK_VERIFY_AGAIN
};

struct verification_spec {
    enum verification_kind kind;
    int round;                /* of PDK_VERIFY_AGAIN, from 1 */
    struct pdk_session *same; /* NULL: in a fresh sandbox of the tree */
    struct pdk_oid tree;
    verification_done *done; /* comes once */
};

/* Runs the checks of the candidate's task on a tree. spec is copied. */
int pdk_verification_start(
        struct candidate *c, const struct verification_spec *spec, struct pdk_err *err);
void pdk_verification_stop(struct verification *v, bool at_once);

/* ---- leaks.c */

/* Notes how the user's repository is before anything runs. Closing a run without is fine. */
int pdk_leaks_open(struct run *run, struct pdk_err *err);
void pdk_leaks_close(struct run *run);
/*
 * Compares: what was changed is recorded, with a warning, and a candidate that may have done it cannot
 * be judged by its checks alone. done comes once, from the loop.
 */
void pdk_leaks_look(struct candidate *c, void (*done)(struct candidate *c));

/* ---- choose.c */

/* The candidates of a task by its `select`; out is owned by the caller after. */
int pdk_run_select(
        struct run *run, size_t place, struct pdk_selection *out, struct pdk_err *err);
/* The candidate that wins the task by what is known so far; NULL: none. */
int pdk_run_choose(
        struct run *run, size_t place, struct candidate **out, struct pdk_err *err);
/*
 * The weighted sum of its checks' scores, more is better; false where one is missing. shown: for
 * people, to whom one score alone is told as it is.
 */
bool pdk_candidate_score(const struct candidate *c, bool shown, double *out);

/* ---- judge.c */

/*
 * Lets the judge of select, if there is one, compare the task's candidates, in the name of c. True: under
 * way, pdk_run_task_judged() is called after.
 */
bool pdk_judge_start(struct candidate *c);
void pdk_judge_stop(struct judging *j, bool at_once);

/* ---- stop.c */

/* Adds what the mission's command cost to the candidate's cost. */
void pdk_stop_count_cost(struct candidate *c, const struct pdk_exec_result *result);
/* Whether enough is known of the task. */
bool pdk_stop_holds(const struct run *run, size_t task);
/* Ends what is left of it: censored. */
void pdk_stop_cut(struct run *run, size_t task);

/* ---- engine.c */

/* The candidate has ended and holds nothing any more. */
void pdk_run_candidate_ended(struct run *run, struct candidate *c);
void pdk_run_task_judged(struct run *run, size_t task);
void pdk_run_task_confirmed(struct run *run, size_t task);
bool pdk_run_stopping(const struct run *run); /* interrupted, or the store failed */

#endif
