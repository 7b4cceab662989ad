#include "store/db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"

int pdk_db_hint(int rc, const char *hint, struct pdk_err *err)
{
    (void)pdk_hint(err, "%s", hint); /* rc is the code */
    return rc;
}

int pdk_db_corrupt(const struct pdk_store *store, const char *what, struct pdk_err *err)
{
    int rc = pdk_fail(
            err, PDK_ECORRUPT, 0, "the store '%s' is damaged: %s", store->path, what);
    return pdk_db_hint(rc,
            "keep a copy of it, restore it from a backup, or move its directory away to start anew",
            err);
}

static int fail_constraint(int rc, const char *text, struct pdk_err *err)
{
    if (rc == SQLITE_CONSTRAINT_PRIMARYKEY || rc == SQLITE_CONSTRAINT_UNIQUE)
        return pdk_fail(err, PDK_ECONFLICT, 0, "it is there already (%s)", text);
    if (rc == SQLITE_CONSTRAINT_FOREIGNKEY)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "what it belongs to is not there");
    return pdk_fail(err, PDK_EBUG, 0, "%s", text);
}

/* SQLite's word on the last call, as an error of ours. */
static int db_fail(const struct pdk_store *store, int rc, struct pdk_err *err)
{
    const char *text = store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(rc);
    int os = store->db ? sqlite3_system_errno(store->db) : 0;

    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return pdk_fail_nomem(err);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return pdk_db_corrupt(store, text, err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        rc = pdk_fail(err, PDK_ETIMEDOUT, 0, "the store '%s' is busy", store->path);
        return pdk_db_hint(
                rc, "another process keeps it; try again when that one has ended", err);
    case SQLITE_FULL:
        rc = pdk_fail(err, PDK_EIO, ENOSPC, "cannot write the store '%s'", store->path);
        return pdk_db_hint(rc, "free some space; nothing that was recorded is lost", err);
    case SQLITE_CONSTRAINT:
        return fail_constraint(rc, text, err);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return pdk_fail(err, PDK_EIO, os, "the store '%s': %s", store->path, text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return pdk_fail(
                err, PDK_EIO, 0, "cannot write the store '%s': %s", store->path, text);
    default:
        return pdk_fail(err, PDK_EBUG, 0, "the store '%s': %s", store->path, text);
    }
}

/* A file: URI of a path that is not to be changed, for media that cannot be written. */
static char *immutable_uri(const char *path)
{
    PDK_AUTO_BUF struct pdk_buf uri = PDK_BUF_INIT;

    pdk_buf_adds(&uri, "file:");
    for (const char *c = path; *c; c++) {
        if (strchr("?#%", *c))
            pdk_buf_addf(&uri, "%%%02X", (unsigned int)(unsigned char)*c);
        else
            pdk_buf_addc(&uri, *c);
    }
    pdk_buf_adds(&uri, "?immutable=1");
    return pdk_buf_take(&uri);
}

static int open_handle(
        struct pdk_store *store, const char *name, int flags, struct pdk_err *err)
{
    flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW;
    int rc = sqlite3_open_v2(name, &store->db, flags, NULL);
    if (rc != SQLITE_OK)
        return db_fail(store, rc, err);
    (void)sqlite3_busy_timeout(store->db, PDK_STORE_WAIT_MS); /* only fails on misuse */
    return 0;
}

static int configure(struct pdk_store *store, struct pdk_err *err)
{
    /* A reader must not checkpoint: it does not hold the write lock. */
    if (store->read_only)
        (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    int rc = pdk_db_run(store,
            "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"
            "PRAGMA cell_size_check = ON; PRAGMA synchronous = FULL;",
            err);
    return rc;
}

/* Opens, configures and reads the schema, which is the first that looks into the file. */
static int open_and_look(
        struct pdk_store *store, const char *name, int flags, struct pdk_err *err)
{
    int64_t tables = 0;
    int rc = open_handle(store, name, flags, err);

    if (rc == 0)
        rc = configure(store, err);
    if (rc == 0)
        rc = pdk_db_number(store, "SELECT count(*) FROM sqlite_schema", &tables, err);
    return rc;
}

/* A clean database in a place that cannot be written: its log files cannot be made, nor are needed. */
static int reopen_immutable(struct pdk_store *store, int first, struct pdk_err *err)
{
    PDK_AUTO_FREE char *wal = pdk_strf("%s-wal", store->path);
    PDK_AUTO_FREE char *uri = immutable_uri(store->path);

    if (!wal || !uri)
        return pdk_fail_nomem(err);
    if (pdk_fs_exists(wal))
        return first;
    pdk_db_close(store);
    return open_and_look(store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
}

int pdk_db_open(struct pdk_store *store, bool read_only, struct pdk_err *err)
{
    store->read_only = read_only;
    if (!read_only)
        return open_and_look(
                store, store->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    int rc = open_and_look(store, store->path, SQLITE_OPEN_READONLY, err);
    return rc == PDK_EIO ? reopen_immutable(store, rc, err) : rc;
}

void pdk_db_close(struct pdk_store *store)
{
    for (size_t i = 0; i < SQL_COUNT; i++) {
        (void)sqlite3_finalize(
                store->stmts[i]); /* repeats the failure of the last step */
        store->stmts[i] = NULL;
    }
    (void)sqlite3_close(store->db); /* busy only with statements left */
    store->db = NULL;
}

int pdk_db_run(struct pdk_store *store, const char *sql, struct pdk_err *err)
{
    int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : db_fail(store, rc, err);
}

int pdk_db_number(
        struct pdk_store *store, const char *sql, int64_t *out, struct pdk_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        int code = db_fail(store, rc, err);
        (void)sqlite3_finalize(stmt); /* the failure is told already */
        return code;
    }
    *out = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt); /* after a row there is nothing left to fail */
    return 0;
}

bool pdk_db_in_transaction(const struct pdk_store *store)
{
    return !sqlite3_get_autocommit(store->db);
}

int64_t pdk_db_last_id(const struct pdk_store *store)
{
    return sqlite3_last_insert_rowid(store->db);
}

int pdk_stmt_use(struct pdk_stmt *st, struct pdk_store *store, enum pdk_sql sql,
        struct pdk_err *err)
{
    struct sqlite3_stmt **slot = &store->stmts[sql];

    if (!*slot) {
        int rc = sqlite3_prepare_v3(
                store->db, pdk_sql_text[sql], -1, SQLITE_PREPARE_PERSISTENT, slot, NULL);
        if (rc != SQLITE_OK)
            return db_fail(store, rc, err);
    }
    st->store = store;
    st->stmt = *slot;
    st->next = 1;
    st->rc = SQLITE_OK;
    return 0;
}

void pdk_stmt_end(struct pdk_stmt *st)
{
    if (!st->stmt)
        return;
    (void)sqlite3_reset(st->stmt); /* repeats the failure of the last step */
    (void)sqlite3_clear_bindings(st->stmt);
    st->stmt = NULL;
}

static void bound(struct pdk_stmt *st, int rc)
{
    st->next++;
    if (st->rc == SQLITE_OK)
        st->rc = rc;
}

void pdk_stmt_text(struct pdk_stmt *st, const char *text)
{
    bound(st, sqlite3_bind_text(st->stmt, st->next, text, -1, SQLITE_STATIC));
}

void pdk_stmt_textn(struct pdk_stmt *st, const char *text, size_t len)
{
    bound(st,
            sqlite3_bind_text64(
                    st->stmt, st->next, text, len, SQLITE_STATIC, SQLITE_UTF8));
}

void pdk_stmt_copy(struct pdk_stmt *st, const char *text, size_t len)
{
    /* SQLITE_TRANSIENT is a cast of -1 to a function. */
    bound(st,
            sqlite3_bind_text64(
                    st->stmt, st->next, text, len, SQLITE_TRANSIENT, SQLITE_UTF8));
}

void pdk_stmt_int(struct pdk_stmt *st, int64_t value)
{
    bound(st, sqlite3_bind_int64(st->stmt, st->next, value));
}

void pdk_stmt_real(struct pdk_stmt *st, double value)
{
    bound(st, sqlite3_bind_double(st->stmt, st->next, value));
}

int pdk_stmt_step(struct pdk_stmt *st, struct pdk_err *err)
{
    if (st->rc != SQLITE_OK)
        return db_fail(st->store, st->rc, err);
    int rc = sqlite3_step(st->stmt);
    if (rc == SQLITE_ROW)
        return 1;
    return rc == SQLITE_DONE ? 0 : db_fail(st->store, rc, err);
}

int pdk_stmt_run(struct pdk_stmt *st, int *changed, struct pdk_err *err)
{
    int rc = 1;

    while (rc == 1)
        rc = pdk_stmt_step(st, err);
    if (rc == 0 && changed)
        *changed = sqlite3_changes(st->store->db);
    return rc;
}

const char *pdk_stmt_col_text(struct pdk_stmt *st, int column, size_t *len)
{
    const unsigned char *text = sqlite3_column_text(st->stmt, column);

    if (len)
        *len = (size_t)sqlite3_column_bytes(st->stmt, column);
    return (const char *)text;
}

int64_t pdk_stmt_col_int(struct pdk_stmt *st, int column)
{
    return sqlite3_column_int64(st->stmt, column);
}
