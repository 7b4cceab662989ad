/* Queries: each kind of row is a table of its columns, in the order in which sql.c selects them. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "store/db.h"
#include "store/store.h"

enum column_type { COLUMN_TEXT, COLUMN_INT, COLUMN_BOOL };

struct column {
    enum column_type type;
    size_t offset;
};

struct shape {
    const struct column *columns;
    size_t n;
    size_t size; /* of a row */
};

#define T(row, field)                                                                    \
    {                                                                                    \
        COLUMN_TEXT, offsetof(struct row, field)                                         \
    }
#define I(row, field)                                                                    \
    {                                                                                    \
        COLUMN_INT, offsetof(struct row, field)                                          \
    }
#define B(row, field)                                                                    \
    {                                                                                    \
        COLUMN_BOOL, offsetof(struct row, field)                                         \
    }
#define SHAPE(row, columns)                                                              \
    {                                                                                    \
        columns, sizeof(columns) / sizeof(*(columns)), sizeof(struct row)                \
    }

static const struct column run_columns[] = { T(pdk_run_row, id), T(pdk_run_row, kind),
    T(pdk_run_row, mission), T(pdk_run_row, title), T(pdk_run_row, state),
    T(pdk_run_row, verdict), T(pdk_run_row, reason), T(pdk_run_row, base_commit),
    T(pdk_run_row, base_tree), T(pdk_run_row, seed_tree), T(pdk_run_row, plan),
    I(pdk_run_row, winner), I(pdk_run_row, created_ms), I(pdk_run_row, started_ms),
    I(pdk_run_row, ended_ms), I(pdk_run_row, duration_ms), I(pdk_run_row, pid),
    I(pdk_run_row, max_concurrent), I(pdk_run_row, peak_concurrent),
    B(pdk_run_row, canceled) };

static const struct column task_columns[] = { T(pdk_task_row, run), T(pdk_task_row, id),
    T(pdk_task_row, verdict), T(pdk_task_row, reason), I(pdk_task_row, index),
    I(pdk_task_row, winner) };

static const struct column candidate_columns[] = { T(pdk_candidate_row, run),
    T(pdk_candidate_row, task), T(pdk_candidate_row, state),
    T(pdk_candidate_row, verdict), T(pdk_candidate_row, reason),
    T(pdk_candidate_row, detail), T(pdk_candidate_row, tree),
    T(pdk_candidate_row, backend), T(pdk_candidate_row, dir),
    T(pdk_candidate_row, matrix), I(pdk_candidate_row, index),
    I(pdk_candidate_row, attempt), I(pdk_candidate_row, files),
    I(pdk_candidate_row, added), I(pdk_candidate_row, deleted),
    I(pdk_candidate_row, exit_code), I(pdk_candidate_row, signal),
    I(pdk_candidate_row, leaked), I(pdk_candidate_row, created_ms),
    I(pdk_candidate_row, started_ms), I(pdk_candidate_row, ended_ms),
    I(pdk_candidate_row, mission_ms), B(pdk_candidate_row, changed),
    B(pdk_candidate_row, timed_out) };

static const struct column check_columns[] = { T(pdk_check_row, run),
    T(pdk_check_row, task), T(pdk_check_row, name), T(pdk_check_row, severity),
    T(pdk_check_row, verdict), T(pdk_check_row, reason), T(pdk_check_row, detail),
    I(pdk_check_row, candidate), I(pdk_check_row, attempt), I(pdk_check_row, index),
    I(pdk_check_row, exit_code), I(pdk_check_row, signal), I(pdk_check_row, duration_ms),
    B(pdk_check_row, timed_out) };

static const struct column promotion_columns[] = { T(pdk_promotion_row, id),
    T(pdk_promotion_row, run), T(pdk_promotion_row, task), T(pdk_promotion_row, as),
    T(pdk_promotion_row, target), T(pdk_promotion_row, tree), T(pdk_promotion_row, state),
    T(pdk_promotion_row, detail), I(pdk_promotion_row, candidate),
    I(pdk_promotion_row, created_ms), I(pdk_promotion_row, ended_ms) };

static const struct column sandbox_columns[] = { T(pdk_sandbox_row, id),
    T(pdk_sandbox_row, backend), T(pdk_sandbox_row, engine), T(pdk_sandbox_row, dir),
    T(pdk_sandbox_row, branch), T(pdk_sandbox_row, purpose), T(pdk_sandbox_row, status),
    T(pdk_sandbox_row, base_commit), T(pdk_sandbox_row, base_tree),
    T(pdk_sandbox_row, tree), T(pdk_sandbox_row, start), T(pdk_sandbox_row, run),
    T(pdk_sandbox_row, task), I(pdk_sandbox_row, candidate), I(pdk_sandbox_row, attempt),
    I(pdk_sandbox_row, created_ms), I(pdk_sandbox_row, ended_ms) };

static const struct column session_columns[] = { T(pdk_session_row, id),
    T(pdk_session_row, sandbox), T(pdk_session_row, mode), T(pdk_session_row, approval),
    T(pdk_session_row, preset), I(pdk_session_row, created_ms) };

static const struct shape run_shape = SHAPE(pdk_run_row, run_columns);
static const struct shape task_shape = SHAPE(pdk_task_row, task_columns);
static const struct shape candidate_shape = SHAPE(pdk_candidate_row, candidate_columns);
static const struct shape check_shape = SHAPE(pdk_check_row, check_columns);
static const struct shape promotion_shape = SHAPE(pdk_promotion_row, promotion_columns);
static const struct shape sandbox_shape = SHAPE(pdk_sandbox_row, sandbox_columns);
static const struct shape session_shape = SHAPE(pdk_session_row, session_columns);

/* Frees the texts of a row and makes it one of zeros. */
static void row_fini(const struct shape *shape, void *row)
{
    for (size_t i = 0; i < shape->n; i++) {
        char *text = NULL;
        if (shape->columns[i].type != COLUMN_TEXT)
            continue;
        memcpy(&text, (char *)row + shape->columns[i].offset, sizeof(char *));
        free(text);
    }
    memset(row, 0, shape->size);
}

static void rows_fini(const struct shape *shape, void *items, size_t len)
{
    for (size_t i = 0; i < len; i++)
        row_fini(shape, (char *)items + i * shape->size);
    free(items);
}

/* The present row of the statement, into a row of zeros. */
static int row_read(
        struct pdk_stmt *st, const struct shape *shape, void *row, struct pdk_err *err)
{
    for (size_t i = 0; i < shape->n; i++) {
        void *field = (char *)row + shape->columns[i].offset;
        int64_t number = pdk_stmt_col_int(st, (int)i);
        bool truth = number != 0;
        if (shape->columns[i].type == COLUMN_INT) {
            memcpy(field, &number, sizeof(number));
        } else if (shape->columns[i].type == COLUMN_BOOL) {
            memcpy(field, &truth, sizeof(truth));
        } else {
            const char *text = pdk_stmt_col_text(st, (int)i, NULL);
            char *copy = text ? strdup(text) : NULL;
            if (text && !copy)
                return pdk_fail_nomem(err);
            memcpy(field, &copy, sizeof(char *));
        }
    }
    return 0;
}

struct raw_rows {
    void *items;
    size_t len, cap;
};

/* Room for one more row; it is one of zeros. NULL when out of memory. */
static void *rows_add(struct raw_rows *rows, const struct shape *shape)
{
    if (rows->len == rows->cap) {
        size_t cap = rows->cap ? rows->cap * 2 : 8;
        void *items = reallocarray(rows->items, cap, shape->size);
        if (!items)
            return NULL;
        rows->items = items;
        rows->cap = cap;
    }
    void *row = (char *)rows->items + rows->len * shape->size;
    memset(row, 0, shape->size);
    rows->len++;
    return row;
}

/* All rows of a statement with its parameters bound. */
static int rows_read(struct pdk_stmt *st, const struct shape *shape, struct raw_rows *out,
        struct pdk_err *err)
{
    int rc = pdk_stmt_step(st, err);

    while (rc == 1) {
        void *row = rows_add(out, shape);
        rc = row ? row_read(st, shape, row, err) : pdk_fail_nomem(err);
        if (rc == 0)
            rc = pdk_stmt_step(st, err);
    }
    if (rc < 0) {
        rows_fini(shape, out->items, out->len);
        *out = (struct raw_rows){ .items = NULL };
    }
    return rc;
}

/* The only row of a statement with its parameters bound: 1, 0 when there is none, or a failure. */
static int row_only(
        struct pdk_stmt *st, const struct shape *shape, void *row, struct pdk_err *err)
{
    int rc = pdk_stmt_step(st, err);

    if (rc <= 0)
        return rc;
    rc = row_read(st, shape, row, err);
    if (rc < 0) {
        row_fini(shape, row);
        return rc;
    }
    return 1;
}

static int get_by_id(struct pdk_store *store, enum pdk_sql sql, const struct shape *shape,
        const char *id, void *row, struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    int rc = pdk_stmt_use(&st, store, sql, err);

    if (rc < 0)
        return rc;
    pdk_stmt_text(&st, id);
    return row_only(&st, shape, row, err);
}

/* The ids that begin with prefix, a handful at most. */
static int matching_ids(struct pdk_store *store, enum pdk_sql sql, const char *prefix,
        bool gone, struct pdk_strv *ids, struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    int rc = pdk_stmt_use(&st, store, sql, err);

    if (rc < 0)
        return rc;
    pdk_stmt_text(&st, prefix);
    if (sql == SQL_SANDBOX_IDS)
        pdk_stmt_int(&st, gone);
    for (rc = pdk_stmt_step(&st, err); rc == 1; rc = pdk_stmt_step(&st, err)) {
        const char *id = pdk_stmt_col_text(&st, 0, NULL);
        pdk_strv_take(ids, id ? strdup(id) : NULL);
    }
    return rc < 0 ? rc : pdk_strv_ok(ids, err);
}

static int fail_ambiguous(const char *what, const char *prefix,
        const struct pdk_strv *ids, struct pdk_err *err)
{
    enum { SHOWN = 5 };
    PDK_AUTO_BUF struct pdk_buf list = PDK_BUF_INIT;

    for (size_t i = 0; i < ids->len && i < SHOWN; i++)
        pdk_buf_addf(&list, "%s%s", i ? ", " : "", ids->items[i]);
    if (ids->len > SHOWN)
        pdk_buf_adds(&list, ", …");
    return pdk_fail(err, PDK_EINVAL, 0, "%s '%s' is ambiguous: %s", what, prefix,
            pdk_buf_str(&list));
}

struct lookup {
    const char *what;
    enum pdk_sql get, ids;
    const struct shape *shape;
};

static int find_by_prefix(struct pdk_store *store, const struct lookup *l,
        const char *prefix, void *row, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv ids = PDK_STRV_INIT;
    int rc = get_by_id(store, l->get, l->shape, prefix, row, err);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    if (*prefix)
        rc = matching_ids(store, l->ids, prefix, false, &ids, err);
    if (rc == 0 && *prefix && ids.len == 0 && l->ids == SQL_SANDBOX_IDS)
        rc = matching_ids(store, l->ids, prefix, true, &ids, err);
    if (rc < 0)
        return rc;
    if (ids.len == 0)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "no such %s: '%s'", l->what, prefix);
    if (ids.len > 1)
        return fail_ambiguous(l->what, prefix, &ids, err);
    rc = get_by_id(store, l->get, l->shape, ids.items[0], row, err);
    return rc < 0 ? rc : 0;
}

int pdk_store_run(struct pdk_store *store, const char *prefix, struct pdk_run_row *out,
        struct pdk_err *err)
{
    const struct lookup l = { "run", SQL_RUN_GET, SQL_RUN_IDS, &run_shape };

    return find_by_prefix(store, &l, prefix, out, err);
}

int pdk_store_sandbox(struct pdk_store *store, const char *prefix,
        struct pdk_sandbox_row *out, struct pdk_err *err)
{
    const struct lookup l = { "sandbox", SQL_SANDBOX_GET, SQL_SANDBOX_IDS,
        &sandbox_shape };

    return find_by_prefix(store, &l, prefix, out, err);
}

int pdk_store_session(struct pdk_store *store, const char *id,
        struct pdk_session_row *out, struct pdk_err *err)
{
    int rc = get_by_id(store, SQL_SESSION_GET, &session_shape, id, out, err);

    if (rc == 0)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "no such session: '%s'", id);
    return rc < 0 ? rc : 0;
}

/* The run's only task; owned by the caller. */
static int only_task(
        struct pdk_store *store, const char *run, char **out, struct pdk_err *err)
{
    PDK_AUTO_TASK_ROWS struct pdk_task_rows tasks = { NULL, 0 };
    int rc = pdk_store_tasks(store, run, &tasks, err);

    if (rc < 0)
        return rc;
    if (tasks.len == 0)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "run '%s' has no task", run);
    if (tasks.len > 1)
        return pdk_fail(
                err, PDK_EINVAL, 0, "run '%s' has %zu tasks: name one", run, tasks.len);
    *out = pdk_take_ptr(&tasks.items[0].id);
    return 0;
}

int pdk_store_candidate(struct pdk_store *store, const char *run, const char *task,
        int index, struct pdk_candidate_row *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *only = NULL;
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    int rc = task ? 0 : only_task(store, run, &only, err);

    if (rc == 0)
        rc = pdk_stmt_use(&st, store, SQL_CANDIDATE_GET, err);
    if (rc < 0)
        return rc;
    pdk_stmt_text(&st, run);
    pdk_stmt_text(&st, task ? task : only);
    pdk_stmt_int(&st, index);
    rc = row_only(&st, &candidate_shape, out, err);
    if (rc == 0)
        return pdk_fail(
                err, PDK_ENOTFOUND, 0, "run '%s' has no candidate %d", run, index);
    return rc < 0 ? rc : 0;
}

/* Hands the rows over where reading them went well. */
#define GIVE(out, rows, rc)                                                              \
    do {                                                                                 \
        if ((rc) == 0) {                                                                 \
            (out)->items = (rows).items;                                                 \
            (out)->len = (rows).len;                                                     \
        }                                                                                \
    } while (0)

int pdk_store_runs(struct pdk_store *store, size_t limit, struct pdk_run_rows *out,
        struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    struct raw_rows rows = { .items = NULL };
    int rc = pdk_stmt_use(&st, store, SQL_RUNS, err);

    if (rc < 0)
        return rc;
    pdk_stmt_int(&st, limit == 0 || limit > INT32_MAX ? -1 : (int64_t)limit);
    rc = rows_read(&st, &run_shape, &rows, err);
    GIVE(out, rows, rc);
    return rc;
}

int pdk_store_tasks(struct pdk_store *store, const char *run, struct pdk_task_rows *out,
        struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    struct raw_rows rows = { .items = NULL };
    int rc = pdk_stmt_use(&st, store, SQL_TASKS, err);

    if (rc < 0)
        return rc;
    pdk_stmt_text(&st, run);
    rc = rows_read(&st, &task_shape, &rows, err);
    GIVE(out, rows, rc);
    return rc;
}

int pdk_store_candidates(struct pdk_store *store, const char *run, const char *task,
        struct pdk_candidate_rows *out, struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    struct raw_rows rows = { .items = NULL };
    int rc = pdk_stmt_use(&st, store, SQL_CANDIDATES, err);

    if (rc < 0)
        return rc;
    pdk_stmt_text(&st, run);
    pdk_stmt_text(&st, task);
    rc = rows_read(&st, &candidate_shape, &rows, err);
    GIVE(out, rows, rc);
    return rc;
}

int pdk_store_checks(struct pdk_store *store, const char *run, const char *task,
        int candidate, struct pdk_check_rows *out, struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    struct raw_rows rows = { .items = NULL };
    int rc = pdk_stmt_use(&st, store, SQL_CHECKS, err);

    if (rc < 0)
        return rc;
    pdk_stmt_text(&st, run);
    pdk_stmt_text(&st, task);
    pdk_stmt_int(&st, candidate);
    rc = rows_read(&st, &check_shape, &rows, err);
    GIVE(out, rows, rc);
    return rc;
}

int pdk_store_promotions(struct pdk_store *store, const char *run,
        struct pdk_promotion_rows *out, struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    struct raw_rows rows = { .items = NULL };
    int rc = pdk_stmt_use(&st, store, SQL_PROMOTIONS, err);

    if (rc < 0)
        return rc;
    pdk_stmt_text(&st, run);
    rc = rows_read(&st, &promotion_shape, &rows, err);
    GIVE(out, rows, rc);
    return rc;
}

int pdk_store_sandboxes(struct pdk_store *store, enum pdk_sandbox_filter filter,
        struct pdk_sandbox_rows *out, struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    struct raw_rows rows = { .items = NULL };
    int rc = pdk_stmt_use(&st, store, SQL_SANDBOXES, err);

    if (rc < 0)
        return rc;
    pdk_stmt_int(&st, filter);
    rc = rows_read(&st, &sandbox_shape, &rows, err);
    GIVE(out, rows, rc);
    return rc;
}

void pdk_run_row_fini(struct pdk_run_row *row)
{
    row_fini(&run_shape, row);
}

void pdk_candidate_row_fini(struct pdk_candidate_row *row)
{
    row_fini(&candidate_shape, row);
}

void pdk_sandbox_row_fini(struct pdk_sandbox_row *row)
{
    row_fini(&sandbox_shape, row);
}

void pdk_session_row_fini(struct pdk_session_row *row)
{
    row_fini(&session_shape, row);
}

void pdk_run_rows_fini(struct pdk_run_rows *rows)
{
    rows_fini(&run_shape, rows->items, rows->len);
    *rows = (struct pdk_run_rows){ NULL, 0 };
}

void pdk_task_rows_fini(struct pdk_task_rows *rows)
{
    rows_fini(&task_shape, rows->items, rows->len);
    *rows = (struct pdk_task_rows){ NULL, 0 };
}

void pdk_candidate_rows_fini(struct pdk_candidate_rows *rows)
{
    rows_fini(&candidate_shape, rows->items, rows->len);
    *rows = (struct pdk_candidate_rows){ NULL, 0 };
}

void pdk_check_rows_fini(struct pdk_check_rows *rows)
{
    rows_fini(&check_shape, rows->items, rows->len);
    *rows = (struct pdk_check_rows){ NULL, 0 };
}

void pdk_promotion_rows_fini(struct pdk_promotion_rows *rows)
{
    rows_fini(&promotion_shape, rows->items, rows->len);
    *rows = (struct pdk_promotion_rows){ NULL, 0 };
}

void pdk_sandbox_rows_fini(struct pdk_sandbox_rows *rows)
{
    rows_fini(&sandbox_shape, rows->items, rows->len);
    *rows = (struct pdk_sandbox_rows){ NULL, 0 };
}
