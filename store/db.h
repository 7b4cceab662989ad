/*
 * SQLite, as the rest of this folder sees it: a connection with its prepared statements, parameters
 * bound in turn, columns read in turn, and SQLite's codes as ours. The store's own; nobody else
 * includes it.
 */
#ifndef PDK_STORE_DB_H
#define PDK_STORE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdk_err;
struct pdk_json;
struct sqlite3;
struct sqlite3_stmt;

enum pdk_sql {
    SQL_NONE,
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_INTEGRITY,
    SQL_TABLES,
    SQL_EVENT_ADD,
    SQL_EVENTS,
    SQL_RUN_ADD,
    SQL_RUN_START,
    SQL_RUN_END,
    SQL_RUN_REJUDGE,
    SQL_RUN_STATE,
    SQL_RUN_GET,
    SQL_RUN_IDS,
    SQL_RUNS,
    SQL_TASK_ADD,
    SQL_TASK_JUDGE,
    SQL_TASK_STATE,
    SQL_TASKS,
    SQL_CANDIDATE_ADD,
    SQL_CANDIDATE_MOVE,
    SQL_CANDIDATE_SANDBOX,
    SQL_CANDIDATE_COMMAND,
    SQL_CANDIDATE_CAPTURE,
    SQL_CANDIDATE_JUDGE,
    SQL_CANDIDATE_STATE,
    SQL_CANDIDATE_GET,
    SQL_CANDIDATES,
    SQL_CHECK_ADD,
    SQL_CHECKS,
    SQL_SANDBOX_ADD,
    SQL_SANDBOX_MAKE,
    SQL_SANDBOX_MOVE,
    SQL_SANDBOX_END,
    SQL_SANDBOX_STATE,
    SQL_SANDBOX_GET,
    SQL_SANDBOX_IDS,
    SQL_SANDBOXES,
    SQL_PROMOTION_ADD,
    SQL_PROMOTION_END,
    SQL_PROMOTION_STATE,
    SQL_PROMOTIONS,
    SQL_SESSION_ADD,
    SQL_SESSION_MODE,
    SQL_SESSION_APPROVAL,
    SQL_SESSION_PRESET,
    SQL_SESSION_STATE,
    SQL_SESSION_GET,
    SQL_COUNT
};

/* The text of each (sql.c). */
extern const char *const pdk_sql_text[SQL_COUNT];

struct pdk_store {
    struct sqlite3 *db;
    struct sqlite3_stmt *stmts[SQL_COUNT]; /* prepared on first use */
    char *path;
    char *lock_path;
    char *made_path; /* exists once the database was made */
    int lock_fd;     /* the write lock's file; -1: not opened yet */
    bool read_only;
    bool in_batch; /* between pdk_store_begin() and its end */
    bool poisoned; /* an append of the batch failed */
};

/* Milliseconds that a writer waits for others. */
enum { PDK_STORE_WAIT_MS = 60000 };

int pdk_db_open(struct pdk_store *store, bool read_only, struct pdk_err *err);
void pdk_db_close(struct pdk_store *store);
/* Runs statements that give no rows, from text of ours. */
int pdk_db_run(struct pdk_store *store, const char *sql, struct pdk_err *err);
/* The number that a one-row query gives. */
int pdk_db_number(
        struct pdk_store *store, const char *sql, int64_t *out, struct pdk_err *err);
bool pdk_db_in_transaction(const struct pdk_store *store);
int64_t pdk_db_last_id(const struct pdk_store *store);
/* Gives rc back with a hint beside it. */
int pdk_db_hint(int rc, const char *hint, struct pdk_err *err);
/* Fails the opening of a damaged file: code and hint. */
int pdk_db_corrupt(const struct pdk_store *store, const char *what, struct pdk_err *err);

/*
 * A statement in use: borrowed from the store's prepared ones, reset at the end of its scope.
 * Parameters are bound in turn and borrowed until then; failures are kept and told by step.
 */
struct pdk_stmt {
    struct pdk_store *store;
    struct sqlite3_stmt *stmt;
    int next; /* the parameter that comes next */
    int rc;   /* the first failure of a binding */
};

#define PDK_STMT_INIT                                                                    \
    {                                                                                    \
        NULL, NULL, 1, 0                                                                 \
    }

void pdk_stmt_end(struct pdk_stmt *st);
#define PDK_AUTO_STMT __attribute__((cleanup(pdk_stmt_end)))

int pdk_stmt_use(struct pdk_stmt *st, struct pdk_store *store, enum pdk_sql sql,
        struct pdk_err *err);
void pdk_stmt_text(struct pdk_stmt *st, const char *text); /* NULL: null */
void pdk_stmt_textn(struct pdk_stmt *st, const char *text, size_t len);
void pdk_stmt_copy(struct pdk_stmt *st, const char *text, size_t len); /* copied */
void pdk_stmt_int(struct pdk_stmt *st, int64_t value);
void pdk_stmt_real(struct pdk_stmt *st, double value);
/* A row: 1; the end: 0; or a failure. */
int pdk_stmt_step(struct pdk_stmt *st, struct pdk_err *err);
/* To the end. *changed (NULL allowed): rows that it changed. */
int pdk_stmt_run(struct pdk_stmt *st, int *changed, struct pdk_err *err);
/* Columns of the present row; text is borrowed until the next step, NULL for null. */
const char *pdk_stmt_col_text(struct pdk_stmt *st, int column, size_t *len);
int64_t pdk_stmt_col_int(struct pdk_stmt *st, int column);

#endif
