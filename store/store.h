/*
 * The store of one repository: an append-only log of events and projections of it, in SQLite
 * (architecture.md section 4). The log is the truth; pdk_store_rebuild() makes the rest from it.
 *
 * One connection a process, used by one thread, never across fork(). Writing transactions and
 * checkpoints of all processes are serialised by a kernel lock file beside the database, because
 * packaged SQLite has a checkpoint race. What is appended is on disk when the call returns.
 *
 * Codes: PDK_ECORRUPT for a damaged file, one that vanished, or one of a newer version (nothing is
 * ever recreated); PDK_EIO for a full disk or a directory that cannot be written; PDK_ETIMEDOUT
 * when another process kept the write lock too long. A failed write leaves the store as it was.
 */
#ifndef PDK_STORE_STORE_H
#define PDK_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "store/event.h"

struct pdk_err;
struct pdk_store; /* opaque, heap */

enum pdk_store_flags {
    PDK_STORE_READ_ONLY = 1U << 0 /* PDK_ENOTFOUND where there is none yet */
};

/* path: of store.db (struct pdk_state). Makes it where there was none before. */
int pdk_store_open(const char *path, unsigned int flags, struct pdk_store **out,
        struct pdk_err *err);
void pdk_store_close(
        struct pdk_store *store); /* rolls an open batch back; NULL is fine */
PDK_DEFINE_AUTO(struct pdk_store, pdk_store_close)
#define PDK_AUTO_STORE PDK_AUTO(pdk_store_close)

/*
 * Appends n events in one transaction and applies each to the projections in it. seqs (NULL
 * allowed) gets their n numbers. PDK_ECONFLICT where a candidate or sandbox is not in the state
 * that the event moves it from, or an id is taken; PDK_ENOTFOUND where it names what is not there.
 */
int pdk_store_append(struct pdk_store *store, const struct pdk_event *events, size_t n,
        int64_t *seqs, struct pdk_err *err);

/*
 * A batch: appends between begin and commit form one transaction (one sync), which other processes
 * wait for, so keep it short. After an append that failed only rollback is left: commit refuses
 * (PDK_EBUG). Commit ends the batch also when it fails.
 */
int pdk_store_begin(struct pdk_store *store, struct pdk_err *err);
int pdk_store_commit(struct pdk_store *store, struct pdk_err *err);
void pdk_store_rollback(struct pdk_store *store); /* no batch: no effect */

/* Makes the projections anew from the log, in one transaction. */
int pdk_store_rebuild(struct pdk_store *store, struct pdk_err *err);
/* Reads every page and index: PDK_ECORRUPT names the first thing wrong. Costs a full read. */
int pdk_store_check(struct pdk_store *store, struct pdk_err *err);

/*
 * Rows. Text is owned by the row and NULL where unknown; the fini of a row or list may run more
 * than once. Numbers are 0 where unknown, but exit_code -1.
 */
struct pdk_run_row {
    char *id, *kind, *mission, *title;
    char *state; /* "planned", "running", "ended" */
    char *verdict, *reason;
    char *base_commit, *base_tree, *seed_tree;
    char *plan;     /* the resolved plan as JSON text */
    int64_t winner; /* candidate index; 0: none */
    int64_t created_ms, started_ms, ended_ms, duration_ms;
    int64_t pid, max_concurrent, peak_concurrent;
    bool canceled;
};

struct pdk_task_row {
    char *run, *id;
    char *verdict, *reason; /* NULL: not judged */
    int64_t index, winner;
};

struct pdk_candidate_row {
    char *run, *task;
    char *state; /* a name of enum pdk_candidate_state */
    char *verdict, *reason, *detail;
    char *tree, *backend, *dir;
    char *matrix; /* JSON text; NULL: none */
    int64_t index, attempt;
    int64_t files, added, deleted;
    int64_t exit_code, signal, leaked;        /* of the mission's command */
    int64_t created_ms, started_ms, ended_ms; /* planned, first left planned, judged */
    int64_t mission_ms;                       /* the mission command's duration */
    bool changed, timed_out;
};

/* A check's result of a candidate's latest attempt. */
struct pdk_check_row {
    char *run, *task, *name, *severity, *verdict, *reason, *detail;
    int64_t candidate, attempt, index;
    int64_t exit_code, signal, duration_ms;
    bool timed_out;
};

struct pdk_promotion_row {
    char *id, *run, *task, *as, *target, *tree;
    char *state; /* "intent", "done", "failed" */
    char *detail;
    int64_t candidate, created_ms, ended_ms;
};

struct pdk_sandbox_row {
    char *id, *backend, *dir, *branch, *purpose;
    char *engine; /* of a container; NULL: none */
    char *status; /* a name of enum pdk_sandbox_status */
    char *base_commit, *base_tree, *tree, *start;
    char *run, *task; /* NULL: a named one */
    int64_t candidate, attempt, created_ms, ended_ms;
};

/* What a session of a sandbox was last set to. */
struct pdk_session_row {
    char *id, *sandbox, *mode, *approval;
    char *preset; /* NULL: none since mode or approval were set by themselves */
    int64_t created_ms;
};

struct pdk_run_rows {
    struct pdk_run_row *items;
    size_t len;
};
struct pdk_task_rows {
    struct pdk_task_row *items;
    size_t len;
};
struct pdk_candidate_rows {
    struct pdk_candidate_row *items;
    size_t len;
};
struct pdk_check_rows {
    struct pdk_check_row *items;
    size_t len;
};
struct pdk_promotion_rows {
    struct pdk_promotion_row *items;
    size_t len;
};
struct pdk_sandbox_rows {
    struct pdk_sandbox_row *items;
    size_t len;
};

void pdk_run_row_fini(struct pdk_run_row *row);
void pdk_candidate_row_fini(struct pdk_candidate_row *row);
void pdk_sandbox_row_fini(struct pdk_sandbox_row *row);
void pdk_session_row_fini(struct pdk_session_row *row);
void pdk_run_rows_fini(struct pdk_run_rows *rows);
void pdk_task_rows_fini(struct pdk_task_rows *rows);
void pdk_candidate_rows_fini(struct pdk_candidate_rows *rows);
void pdk_check_rows_fini(struct pdk_check_rows *rows);
void pdk_promotion_rows_fini(struct pdk_promotion_rows *rows);
void pdk_sandbox_rows_fini(struct pdk_sandbox_rows *rows);
#define PDK_AUTO_RUN_ROW        __attribute__((cleanup(pdk_run_row_fini)))
#define PDK_AUTO_CANDIDATE_ROW  __attribute__((cleanup(pdk_candidate_row_fini)))
#define PDK_AUTO_SANDBOX_ROW    __attribute__((cleanup(pdk_sandbox_row_fini)))
#define PDK_AUTO_SESSION_ROW    __attribute__((cleanup(pdk_session_row_fini)))
#define PDK_AUTO_RUN_ROWS       __attribute__((cleanup(pdk_run_rows_fini)))
#define PDK_AUTO_TASK_ROWS      __attribute__((cleanup(pdk_task_rows_fini)))
#define PDK_AUTO_CANDIDATE_ROWS __attribute__((cleanup(pdk_candidate_rows_fini)))
#define PDK_AUTO_CHECK_ROWS     __attribute__((cleanup(pdk_check_rows_fini)))
#define PDK_AUTO_PROMOTION_ROWS __attribute__((cleanup(pdk_promotion_rows_fini)))
#define PDK_AUTO_SANDBOX_ROWS   __attribute__((cleanup(pdk_sandbox_rows_fini)))

/*
 * The one whose id is, or else begins with, prefix: PDK_ENOTFOUND, or PDK_EINVAL that lists some of
 * those it could be. An exact id wins over longer ones. Rows go to a row of zeros.
 */
int pdk_store_run(struct pdk_store *store, const char *prefix, struct pdk_run_row *out,
        struct pdk_err *err);
/* Also finds those that are gone; a live one wins over those. */
int pdk_store_sandbox(struct pdk_store *store, const char *prefix,
        struct pdk_sandbox_row *out, struct pdk_err *err);
/* By its whole id. */
int pdk_store_session(struct pdk_store *store, const char *id,
        struct pdk_session_row *out, struct pdk_err *err);
/* task NULL: the run's only task (PDK_EINVAL where it has several). */
int pdk_store_candidate(struct pdk_store *store, const char *run, const char *task,
        int index, struct pdk_candidate_row *out, struct pdk_err *err);

/* Newest first, at most limit (0: all). Lists go to a list of zeros. */
int pdk_store_runs(struct pdk_store *store, size_t limit, struct pdk_run_rows *out,
        struct pdk_err *err);
/* In the plan's order. run is a whole id from here on; one that is not there has no rows. */
int pdk_store_tasks(struct pdk_store *store, const char *run, struct pdk_task_rows *out,
        struct pdk_err *err);
/* By task in the plan's order, then by index; task NULL: of all tasks. */
int pdk_store_candidates(struct pdk_store *store, const char *run, const char *task,
        struct pdk_candidate_rows *out, struct pdk_err *err);
/* Of the latest attempts, in declaration order. */
int pdk_store_checks(struct pdk_store *store, const char *run, const char *task,
        int candidate, struct pdk_check_rows *out, struct pdk_err *err);
/* Newest first; run NULL: of all runs. */
int pdk_store_promotions(struct pdk_store *store, const char *run,
        struct pdk_promotion_rows *out, struct pdk_err *err);

enum pdk_sandbox_filter {
    PDK_SANDBOXES_NAMED,    /* made by name, not gone */
    PDK_SANDBOXES_ALL,      /* every one that ever was */
    PDK_SANDBOXES_LEFTOVERS /* of runs, neither released nor discarded */
};
/* Oldest first. */
int pdk_store_sandboxes(struct pdk_store *store, enum pdk_sandbox_filter filter,
        struct pdk_sandbox_rows *out, struct pdk_err *err);

/*
 * Events of a run (NULL: all) with seq > after, in order, until visit returns non-zero; returns that.
 * visit must not use the store. The event is borrowed for the call.
 */
int pdk_store_events(struct pdk_store *store, const char *run, int64_t after,
        int (*visit)(const struct pdk_event *event, void *user), void *user,
        struct pdk_err *err);

#endif
