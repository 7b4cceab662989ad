/* What SQLite says becomes a code that a caller can act on, with a hint where a person can. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"
#include "store/db.h"
#include "tests/support/fixture.h"

static char *path;
static struct pdk_store db;

static void setup(void)
{
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_dir_setup();
    path = pdk_test_path("store.db");
    db = (struct pdk_store){ .path = path, .lock_fd = -1 };
    ck_assert_msg(pdk_db_open(&db, false, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(
            pdk_db_run(&db,
                    "CREATE TABLE a(x INTEGER PRIMARY KEY, y TEXT UNIQUE CHECK (y <> 'no')) STRICT;"
                    "CREATE TABLE b(x INTEGER REFERENCES a(x)) STRICT; INSERT INTO a VALUES (1, 'one');",
                    &err),
            0);
}

static void teardown(void)
{
    pdk_db_close(&db);
    free(path);
    pdk_test_dir_discard();
}

START_TEST(each_refusal_has_its_code)
{
    static const struct {
        const char *sql;
        int code;
        const char *text;
    } rows[] = {
        { "INSERT INTO a VALUES (1, 'two')", PDK_ECONFLICT, "there already" },
        { "INSERT INTO a VALUES (2, 'one')", PDK_ECONFLICT, "there already" },
        { "INSERT INTO b VALUES (7)", PDK_ENOTFOUND, "belongs to" },
        { "INSERT INTO a VALUES (3, 'no')", PDK_EBUG, "CHECK" },
        { "INSERT INTO a VALUES ('x', 'y')", PDK_EBUG, "datatype" },
        { "nonsense", PDK_EBUG, "nonsense" },
        { "PRAGMA query_only = 1; INSERT INTO a VALUES (4, 'four')", PDK_EIO,
                "cannot write" },
        { "PRAGMA query_only = 0; ATTACH '/nonexistent/x.db' AS c", PDK_EIO, "store.db" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pdk_err err = PDK_ERR_INIT;
        int rc = pdk_db_run(&db, rows[i].sql, &err);

        ck_assert_msg(rc == rows[i].code, "%s: %d, %s", rows[i].sql, rc, err.msg);
        ck_assert_int_eq(err.code, rc);
        ck_assert_msg(strstr(err.msg, rows[i].text) != NULL, "%s", err.msg);
    }
    ck_assert_int_eq(pdk_db_run(&db, "INSERT INTO a VALUES (9, 'nine')", NULL), 0);
}
END_TEST

START_TEST(a_file_that_may_not_grow_is_an_error_of_the_environment)
{
    struct rlimit before, small = { 0, 0 };
    struct pdk_err err = PDK_ERR_INIT;
    int rc;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){ 8192, before.rlim_max };
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    rc = pdk_db_run(&db, "INSERT INTO a VALUES (5, hex(zeroblob(100000)))", &err);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_DFL);
    ck_assert_int_eq(rc, PDK_EIO);
    ck_assert_msg(strstr(err.msg, path) != NULL, "%s", err.msg);
    ck_assert_int_eq(pdk_db_run(&db, "INSERT INTO a VALUES (5, 'five')", &err), 0);
}
END_TEST

START_TEST(too_little_memory_is_told_and_harms_nothing)
{
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_db_run(&db, "PRAGMA hard_heap_limit = 300000", &err), 0);
    ck_assert_int_eq(
            pdk_db_run(&db, "SELECT length(hex(zeroblob(1000000)))", &err), PDK_ENOMEM);
    ck_assert_str_eq(err.msg, "out of memory");
    ck_assert_int_eq(pdk_db_run(&db, "INSERT INTO a VALUES (6, 'six')", &err), 0);
}
END_TEST

START_TEST(numbers)
{
    struct pdk_err err = PDK_ERR_INIT;
    int64_t n = -1;

    ck_assert_int_eq(pdk_db_number(&db, "SELECT 9223372036854775807", &n, &err), 0);
    ck_assert(n == INT64_MAX);
    ck_assert_int_eq(pdk_db_number(&db, "SELECT x FROM a WHERE x = 99", &n, &err), 0);
    ck_assert_int_eq(n, 0);
    ck_assert_int_eq(pdk_db_number(&db, "SELECT none FROM a", &n, &err), PDK_EBUG);
    ck_assert_int_eq(n, 0);
    ck_assert(!pdk_db_in_transaction(&db));
    ck_assert_int_eq(pdk_db_run(&db, "BEGIN", &err), 0);
    ck_assert(pdk_db_in_transaction(&db));
    ck_assert_int_eq(pdk_db_run(&db, "INSERT INTO a VALUES (77, 'y'); COMMIT", &err), 0);
    ck_assert_int_eq(pdk_db_last_id(&db), 77);
}
END_TEST

START_TEST(places_that_are_no_database)
{
    static const char *const bad[] = { "a directory", "a file", "nothing", "a link" };
    const char *names[] = { pdk_test_dir(), NULL, NULL, NULL };
    PDK_AUTO_FREE char *text = pdk_test_path("text");
    PDK_AUTO_FREE char *none = pdk_test_path("none/at/all.db");
    PDK_AUTO_FREE char *link = pdk_test_path("link.db");
    static const int codes[] = { PDK_EIO, PDK_ECORRUPT, PDK_EIO, PDK_EIO };
    char noise[4096];

    memset(noise, 'x', sizeof(noise));
    pdk_test_write(text, noise, sizeof(noise));
    ck_assert_int_eq(symlink("store.db", link), 0);
    names[1] = text;
    names[2] = none;
    names[3] = link;
    for (size_t i = 0; i < 8; i++) {
        PDK_AUTO_FREE char *name = strdup(names[i / 2]);
        struct pdk_store other = { .path = name, .lock_fd = -1 };
        struct pdk_err err = PDK_ERR_INIT;
        int rc = pdk_db_open(&other, i % 2, &err);

        pdk_db_close(&other);
        ck_assert_msg(rc == codes[i / 2], "%s: %d, %s", bad[i / 2], rc, err.msg);
        ck_assert_msg(strstr(err.msg, name) != NULL, "%s", err.msg);
    }
    ck_assert(!pdk_fs_exists(none));
}
END_TEST

START_TEST(a_parameter_too_many_is_a_bug)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_stmt_use(&st, &db, SQL_BEGIN, &err), 0);
    pdk_stmt_int(&st, 1);
    pdk_stmt_real(&st, 1.5);
    pdk_stmt_text(&st, NULL);
    ck_assert_int_eq(pdk_stmt_step(&st, &err), PDK_EBUG);
    pdk_stmt_end(&st);
    ck_assert_int_eq(
            pdk_stmt_use(&st, &db, SQL_BEGIN, &err), 0); /* the failure is forgotten */
    ck_assert_int_eq(pdk_stmt_run(&st, NULL, &err), 0);
    ck_assert(pdk_db_in_transaction(&db));
}
END_TEST

START_TEST(a_statement_without_its_table_is_told)
{
    struct pdk_stmt st = PDK_STMT_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_stmt_use(&st, &db, SQL_RUNS, &err), PDK_EBUG);
    pdk_stmt_end(&st); /* nothing is in use */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store/db");
    TCase *tc = tcase_create("db");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, each_refusal_has_its_code);
    tcase_add_test(tc, a_file_that_may_not_grow_is_an_error_of_the_environment);
    tcase_add_test(tc, numbers);
    tcase_add_test(tc, places_that_are_no_database);
    tcase_add_test(tc, a_parameter_too_many_is_a_bug);
    tcase_add_test(tc, a_statement_without_its_table_is_told);
    /* The last: such a limit is the whole process's and cannot be taken back. */
    tcase_add_test(tc, too_little_memory_is_told_and_harms_nothing);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
