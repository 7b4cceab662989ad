#include "store/schema.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/str.h"
#include "store/db.h"

/* Databases of up to this many bytes are checked whole on opening (some milliseconds). */
enum { LOOK_MAX = 1 << 20 };

/* Never edited once released: a change is a new entry. The version is the number of entries. */
static const char *const migrations[] = {
    "PRAGMA application_id = 0x50444b31;"
    "CREATE TABLE event ("
    " seq INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT, task TEXT,"
    " candidate INTEGER NOT NULL, attempt INTEGER NOT NULL,"
    " ts_ms INTEGER NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL) STRICT;"
    "CREATE INDEX event_run ON event (run, seq);"
    "CREATE TRIGGER event_stays BEFORE UPDATE ON event"
    " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;"
    "CREATE TRIGGER event_remains BEFORE DELETE ON event"
    " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;"

    "CREATE TABLE run ("
    " id TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL, mission TEXT NOT NULL, title TEXT,"
    " state TEXT NOT NULL CHECK (state IN ('planned', 'running', 'ended')),"
    " verdict TEXT CHECK (verdict IN ('pass', 'fail', 'abstain')), reason TEXT,"
    " base_commit TEXT, base_tree TEXT, seed_tree TEXT, plan TEXT,"
    " winner INTEGER NOT NULL DEFAULT 0, created_ms INTEGER NOT NULL,"
    " started_ms INTEGER NOT NULL DEFAULT 0, ended_ms INTEGER NOT NULL DEFAULT 0,"
    " duration_ms INTEGER NOT NULL DEFAULT 0, pid INTEGER NOT NULL DEFAULT 0,"
    " max_concurrent INTEGER NOT NULL, peak_concurrent INTEGER NOT NULL DEFAULT 0,"
    " canceled INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE INDEX run_created ON run (created_ms, id);"

    "CREATE TABLE task ("
    " run TEXT NOT NULL REFERENCES run (id), id TEXT NOT NULL, idx INTEGER NOT NULL,"
    " verdict TEXT CHECK (verdict IN ('pass', 'fail', 'abstain')), reason TEXT,"
    " winner INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (run, id)) STRICT;"

    "CREATE TABLE candidate ("
    " run TEXT NOT NULL, task TEXT NOT NULL, idx INTEGER NOT NULL CHECK (idx > 0),"
    " state TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0,"
    " verdict TEXT CHECK (verdict IN ('pass', 'fail', 'abstain')), reason TEXT, detail TEXT,"
    " tree TEXT, backend TEXT, dir TEXT, matrix TEXT,"
    " changed INTEGER NOT NULL DEFAULT 0, files INTEGER NOT NULL DEFAULT 0,"
    " added INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0,"
    " exit_code INTEGER NOT NULL DEFAULT -1, signal INTEGER NOT NULL DEFAULT 0,"
    " timed_out INTEGER NOT NULL DEFAULT 0, leaked INTEGER NOT NULL DEFAULT 0,"
    " mission_ms INTEGER NOT NULL DEFAULT 0, created_ms INTEGER NOT NULL,"
    " started_ms INTEGER NOT NULL DEFAULT 0, ended_ms INTEGER NOT NULL DEFAULT 0,"
    " PRIMARY KEY (run, task, idx),"
    " FOREIGN KEY (run, task) REFERENCES task (run, id)) STRICT;"

    "CREATE TABLE check_result ("
    " run TEXT NOT NULL, task TEXT NOT NULL, candidate INTEGER NOT NULL,"
    " attempt INTEGER NOT NULL, idx INTEGER NOT NULL, name TEXT NOT NULL,"
    " severity TEXT NOT NULL CHECK (severity IN ('block', 'warn')),"
    " verdict TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'abstain')),"
    " reason TEXT, detail TEXT, exit_code INTEGER NOT NULL, signal INTEGER NOT NULL,"
    " timed_out INTEGER NOT NULL, duration_ms INTEGER NOT NULL,"
    " PRIMARY KEY (run, task, candidate, attempt, idx),"
    " FOREIGN KEY (run, task, candidate) REFERENCES candidate (run, task, idx)) STRICT;"

    "CREATE TABLE promotion ("
    " id TEXT PRIMARY KEY NOT NULL, run TEXT REFERENCES run (id), task TEXT,"
    " candidate INTEGER NOT NULL, how TEXT NOT NULL, target TEXT, tree TEXT,"
    " state TEXT NOT NULL CHECK (state IN ('intent', 'done', 'failed')), detail TEXT,"
    " created_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE INDEX promotion_run ON promotion (run);"

    "CREATE TABLE sandbox ("
    " id TEXT PRIMARY KEY NOT NULL, backend TEXT NOT NULL, dir TEXT NOT NULL, branch TEXT,"
    " purpose TEXT NOT NULL CHECK (purpose IN ('mission', 'check', 'named')),"
    " status TEXT NOT NULL, base_commit TEXT, base_tree TEXT, tree TEXT, start TEXT,"
    " run TEXT REFERENCES run (id), task TEXT, candidate INTEGER NOT NULL,"
    " attempt INTEGER NOT NULL, created_ms INTEGER NOT NULL,"
    " ended_ms INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE INDEX sandbox_run ON sandbox (run);",

    "CREATE TABLE session ("
    " id TEXT PRIMARY KEY NOT NULL, sandbox TEXT NOT NULL, mode TEXT NOT NULL,"
    " approval TEXT NOT NULL, preset TEXT, created_ms INTEGER NOT NULL) STRICT;",

    "ALTER TABLE sandbox ADD COLUMN engine TEXT;",
};

enum { MIGRATIONS = sizeof(migrations) / sizeof(*migrations) };

int64_t pdk_schema_version(void)
{
    return MIGRATIONS;
}

static int version_of(struct pdk_store *store, int64_t *out, struct pdk_err *err)
{
    int rc = pdk_db_number(store, "PRAGMA user_version", out, err);

    if (rc < 0 || *out <= MIGRATIONS)
        return rc;
    rc = pdk_fail(err, PDK_ECORRUPT, 0,
            "the store '%s' has version %" PRId64 ", and this program knows up to %d",
            store->path, *out, (int)MIGRATIONS);
    return pdk_db_hint(rc, "use the newer paddock that wrote it", err);
}

/* Version 0 with tables in it was not made by us. */
static int refuse_foreign(struct pdk_store *store, struct pdk_err *err)
{
    int64_t tables = 0;
    int rc = pdk_db_number(store, "SELECT count(*) FROM sqlite_schema", &tables, err);

    if (rc == 0 && tables > 0)
        return pdk_db_corrupt(store, "it is a database of something else", err);
    return rc;
}

static int migrate_step(struct pdk_store *store, int64_t from, struct pdk_err *err)
{
    char version[64];
    int rc = pdk_db_run(store, "BEGIN IMMEDIATE", err);

    if (rc < 0)
        return rc;
    (void)snprintf(version, sizeof(version), "PRAGMA user_version = %" PRId64 "; COMMIT",
            from + 1);
    rc = pdk_db_run(store, migrations[from], err);
    if (rc == 0)
        rc = pdk_db_run(store, version, err);
    if (rc < 0 && pdk_db_in_transaction(store))
        (void)pdk_db_run(
                store, "ROLLBACK", NULL); /* the first failure is the one to tell */
    return rc;
}

int pdk_schema_migrate(struct pdk_store *store, struct pdk_err *err)
{
    int64_t version = 0;
    int rc = version_of(store, &version, err);

    if (rc == 0 && version == 0)
        rc = refuse_foreign(store, err);
    if (rc == 0)
        rc = pdk_db_run(store,
                "PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 16777216;", err);
    for (; rc == 0 && version < MIGRATIONS; version++)
        rc = migrate_step(store, version, err);
    return rc;
}

int pdk_schema_expect(struct pdk_store *store, struct pdk_err *err)
{
    int64_t version = 0;
    int rc = version_of(store, &version, err);

    if (rc < 0 || version == MIGRATIONS)
        return rc;
    if (version == 0) {
        rc = refuse_foreign(store, err);
        return rc < 0 ? rc : pdk_fail(err, PDK_ENOTFOUND, 0, "nothing is recorded yet");
    }
    rc = pdk_fail(err, PDK_EUNAVAIL, 0,
            "the store '%s' has version %" PRId64 " and must become %d first",
            store->path, version, (int)MIGRATIONS);
    return pdk_db_hint(rc, "any command that writes brings it up to date", err);
}

int pdk_schema_check(struct pdk_store *store, struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    int rc = pdk_stmt_use(&st, store, SQL_INTEGRITY, err);

    if (rc == 0)
        rc = pdk_stmt_step(&st, err);
    if (rc < 0)
        return rc;
    const char *word = rc == 1 ? pdk_stmt_col_text(&st, 0, NULL) : NULL;
    if (pdk_streq(word, "ok"))
        return 0;
    return pdk_db_corrupt(store, word ? word : "it cannot be checked", err);
}

int pdk_schema_look(struct pdk_store *store, struct pdk_err *err)
{
    enum { TABLES = 8 };
    int64_t tables = 0;
    int64_t bytes = 0;
    int rc = pdk_db_number(store, pdk_sql_text[SQL_TABLES], &tables, err);

    if (rc < 0)
        return rc;
    if (tables != TABLES)
        return pdk_db_corrupt(store, "tables are missing", err);
    rc = pdk_db_number(store,
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            &bytes, err);
    return rc < 0 || bytes > LOOK_MAX ? rc : pdk_schema_check(store, err);
}

int pdk_schema_clear(struct pdk_store *store, struct pdk_err *err)
{
    return pdk_db_run(store,
            "DELETE FROM session; DELETE FROM check_result; DELETE FROM sandbox; DELETE FROM promotion;"
            "DELETE FROM candidate; DELETE FROM task; DELETE FROM run;",
            err);
}
