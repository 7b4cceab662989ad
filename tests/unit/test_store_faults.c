/* A store whose disk, file, directory or neighbours misbehave. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/str.h"
#include "store/db.h"
#include "store/schema.h"
#include "store/store.h"
#include "tests/support/events.h"
#include "tests/support/fixture.h"

static struct pdk_store *open_store(void)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    struct pdk_store *store = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_store_open(path, 0, &store, &err) == 0, "%s", err.msg);
    return store;
}

static int try_open(unsigned int flags, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    struct pdk_store *store = NULL;
    int rc = pdk_store_open(path, flags, &store, err);

    ck_assert((rc == 0) == (store != NULL));
    pdk_store_close(store);
    return rc;
}

static size_t file_size(void)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    return (size_t)st.st_size;
}

static int warn(struct pdk_store *store, const char *text)
{
    struct pdk_event e = { .type = PDK_EVENT_WARNING, .body = pdk_json_object() };

    ck_assert_int_eq(pdk_json_set_str(e.body, "text", text), 0);
    int rc = pdk_store_append(store, &e, 1, NULL, NULL);
    pdk_json_free(e.body);
    return rc;
}

static int count_one(const struct pdk_event *event, void *user)
{
    int *n = user;

    (void)event; /* only their number matters */
    ++*n;
    return 0;
}

static int count_events(struct pdk_store *store)
{
    int n = 0;

    ck_assert_int_eq(pdk_store_events(store, NULL, 0, count_one, &n, NULL), 0);
    return n;
}

/* A store with some pages of events, closed. */
static void fill(int n)
{
    PDK_AUTO_STORE struct pdk_store *store = open_store();
    char text[1001];

    memset(text, 'x', 1000);
    text[1000] = '\0';
    pdk_test_plan_run(store, 3);
    ck_assert_int_eq(pdk_store_begin(store, NULL), 0);
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(warn(store, text), 0);
    ck_assert_int_eq(pdk_store_commit(store, NULL), 0);
}

START_TEST(a_full_disk_loses_nothing_and_the_store_goes_on_after)
{
    PDK_AUTO_STORE struct pdk_store *store = open_store();
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_FREE char *text = calloc(1, 20001);
    int rc = 0;
    int n = 0;

    ck_assert_ptr_nonnull(text);
    memset(text, 'x', 20000);
    pdk_test_plan_run(store, 1);
    ck_assert_int_eq(pdk_db_run(store, "PRAGMA max_page_count = 40", &err), 0);
    for (rc = warn(store, text); rc == 0 && n < 100; n++)
        rc = warn(store, text);
    ck_assert_int_eq(rc, PDK_EIO);
    ck_assert_int_ge(n, 1);
    int before = count_events(store);
    ck_assert_int_eq(pdk_store_begin(store, NULL), 0);
    ck_assert_int_eq(warn(store, text), PDK_EIO);
    ck_assert_int_eq(pdk_store_commit(store, &err), PDK_EBUG);
    ck_assert_int_eq(count_events(store), before);
    ck_assert_int_eq(pdk_db_run(store, "PRAGMA max_page_count = 4000", &err), 0);
    ck_assert_int_eq(warn(store, text), 0);
    ck_assert_int_eq(count_events(store), before + 1);
    ck_assert_int_eq(pdk_store_check(store, NULL), 0);
}
END_TEST

/* Somebody with another program, who knows nothing of our lock. */
START_TEST(a_busy_database_is_told_and_works_after)
{
    PDK_AUTO_STORE struct pdk_store *store = open_store();
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    struct pdk_store other = { .path = path, .lock_fd = -1 };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_db_open(&other, false, NULL), 0);
    ck_assert_int_eq(pdk_db_run(&other, "BEGIN IMMEDIATE", NULL), 0);
    ck_assert_int_eq(pdk_db_run(store, "PRAGMA busy_timeout = 1", NULL), 0);
    ck_assert_int_eq(pdk_store_begin(store, &err), PDK_ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(err.msg, "busy"));
    ck_assert_uint_gt(strlen(err.hint), 0);
    ck_assert_int_eq(warn(store, "x"), PDK_ETIMEDOUT);
    ck_assert_int_eq(pdk_db_run(&other, "ROLLBACK", NULL), 0);
    ck_assert_int_eq(warn(store, "x"), 0);
    pdk_db_close(&other);
}
END_TEST

START_TEST(the_log_is_append_only)
{
    PDK_AUTO_STORE struct pdk_store *store = open_store();
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_plan_run(store, 1);
    ck_assert_int_lt(pdk_db_run(store, "DELETE FROM event", &err), 0);
    ck_assert_ptr_nonnull(strstr(err.msg, "append-only"));
    ck_assert_int_lt(pdk_db_run(store, "UPDATE event SET ts_ms = 1", &err), 0);
    ck_assert_int_eq(count_events(store), 3);
}
END_TEST

START_TEST(commits_are_synced_and_checkpoints_are_ours)
{
    PDK_AUTO_STORE struct pdk_store *store = open_store();
    int64_t value = 0;

    ck_assert_int_eq(pdk_db_number(store, "PRAGMA synchronous", &value, NULL), 0);
    ck_assert_int_eq(value, 2);
    ck_assert_int_eq(pdk_db_number(store, "PRAGMA foreign_keys", &value, NULL), 0);
    ck_assert_int_eq(value, 1);
    ck_assert_int_eq(
            pdk_db_number(store, "SELECT journal_mode = 'wal' FROM pragma_journal_mode",
                    &value, NULL),
            0);
    ck_assert_int_eq(value, 1);
    ck_assert_int_eq(pdk_db_number(store, "PRAGMA busy_timeout", &value, NULL), 0);
    ck_assert_int_eq(value, PDK_STORE_WAIT_MS);
}
END_TEST

/* Whether somebody holds the write lock now. */
static bool is_locked(void)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db.lock");
    PDK_AUTO_FD int fd = -1;

    return pdk_fs_lock(path, false, &fd, NULL) == PDK_ECONFLICT;
}

/* The packaged SQLite has a checkpoint race, so every transaction that writes holds our lock. */
START_TEST(writers_hold_the_kernel_lock_and_readers_do_not)
{
    PDK_AUTO_STORE struct pdk_store *store = open_store();
    PDK_AUTO_STORE struct pdk_store *reader = NULL;
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");

    ck_assert(!is_locked());
    ck_assert_int_eq(pdk_store_begin(store, NULL), 0);
    ck_assert(is_locked());
    /* A reader opens meanwhile. */
    ck_assert_int_eq(pdk_store_open(path, PDK_STORE_READ_ONLY, &reader, NULL), 0);
    ck_assert_int_eq(warn(store, "x"), 0);
    ck_assert(is_locked());
    ck_assert_int_eq(pdk_store_commit(store, NULL), 0);
    ck_assert(!is_locked());
    ck_assert_int_eq(pdk_store_begin(store, NULL), 0);
    pdk_store_rollback(store);
    ck_assert(!is_locked());
    ck_assert_int_eq(pdk_test_append(store, PDK_EVENT_RUN_STARTED, 0, "{\"pid\":1}"),
            PDK_ENOTFOUND);
    ck_assert(!is_locked());
    ck_assert_int_eq(pdk_store_rebuild(store, NULL), 0);
    ck_assert(!is_locked());
    ck_assert_int_eq(count_events(reader), 1);
}
END_TEST

/* Child: opens the store by itself and appends, as 16 processes of a shell loop would. */
static int append_some(const char *path, int n)
{
    PDK_AUTO_STORE struct pdk_store *store = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_store_open(path, 0, &store, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        if (warn(store, "hello") < 0)
            return 2;
    }
    return 0;
}

START_TEST(sixteen_processes_append_at_once_from_the_first_open_on)
{
    enum { PROCESSES = 16, EACH = 25, ALL = 400 };
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    pid_t pids[PROCESSES];

    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        ck_assert_int_ge(pids[i], 0);
        if (pids[i] == 0)
            _exit(append_some(path, EACH));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_int_eq(status, 0);
    }
    PDK_AUTO_STORE struct pdk_store *store = open_store();
    ck_assert_int_eq(count_events(store), ALL);
    ck_assert_int_eq(pdk_store_check(store, NULL), 0);
}
END_TEST

START_TEST(a_killed_writer_leaves_nothing_to_unlock_and_nothing_half_done)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    int status = -1;

    fill(1);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct pdk_store *store = NULL;
        if (pdk_store_open(path, 0, &store, NULL) < 0 ||
                pdk_store_begin(store, NULL) < 0 || warn(store, "lost") < 0)
            _exit(1);
        (void)kill(getpid(), SIGKILL); /* does not return */
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    PDK_AUTO_STORE struct pdk_store *store = open_store();
    ck_assert_int_eq(count_events(store), 6);
    ck_assert_int_eq(warn(store, "kept"), 0);
    ck_assert_int_eq(pdk_store_check(store, NULL), 0);
}
END_TEST

static void overwrite(size_t offset, size_t len)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    PDK_AUTO_FREE char *junk = malloc(len);
    PDK_AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_ptr_nonnull(junk);
    memset(junk, 0xa5, len);
    ck_assert_int_eq((int)pwrite(fd, junk, len, (off_t)offset), (int)len);
}

/* A page at a time: each is noticed on opening, told with a hint, and the file stays as it is. */
START_TEST(a_damaged_page_is_an_error_and_never_an_empty_store)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    enum { PAGE = 4096 };

    fill(100);
    size_t pages = file_size() / PAGE;
    size_t size = 0;
    PDK_AUTO_FREE char *good = pdk_test_read(path, &size);
    ck_assert_uint_gt(pages, 20);
    for (size_t i = 0; i < pages; i += i < 16 ? 1 : 7) {
        struct pdk_err err = PDK_ERR_INIT;
        overwrite(i * PAGE, PAGE);
        ck_assert_msg(try_open(0, &err) == PDK_ECORRUPT, "page %zu", i);
        ck_assert_ptr_nonnull(strstr(err.msg, path));
        ck_assert_uint_gt(strlen(err.hint), 0);
        ck_assert_int_eq(try_open(PDK_STORE_READ_ONLY, &err), PDK_ECORRUPT);
        ck_assert_uint_eq(file_size(), size);
        pdk_test_write(path, good, size);
    }
    ck_assert_int_eq(try_open(0, NULL), 0);
}
END_TEST

START_TEST(a_file_cut_short_is_an_error)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    static const long cuts[] = { 0, 10, 100, 4096, 20000, -5000 };
    size_t size = 0;

    fill(100);
    PDK_AUTO_FREE char *good = pdk_test_read(path, &size);
    for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
        long length = cuts[i] < 0 ? (long)size + cuts[i] : cuts[i];
        ck_assert_int_eq(truncate(path, length), 0);
        ck_assert_msg(try_open(0, NULL) == PDK_ECORRUPT, "%ld", cuts[i]);
        ck_assert_msg(
                try_open(PDK_STORE_READ_ONLY, NULL) == PDK_ECORRUPT, "%ld", cuts[i]);
        ck_assert_uint_eq(file_size(), (size_t)length);
        pdk_test_write(path, good, size);
    }
}
END_TEST

START_TEST(a_file_that_went_away_is_an_error)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    struct pdk_err err = PDK_ERR_INIT;

    fill(1);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(try_open(0, &err), PDK_ECORRUPT);
    ck_assert_int_eq(try_open(PDK_STORE_READ_ONLY, &err), PDK_ECORRUPT);
    ck_assert(!pdk_test_exists(path));
}
END_TEST

START_TEST(an_empty_file_that_was_never_a_store_becomes_one)
{
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");

    pdk_test_write_text(path, ""); /* as a kill during the first opening leaves it */
    ck_assert_int_eq(try_open(PDK_STORE_READ_ONLY, NULL), PDK_ENOTFOUND);
    ck_assert_int_eq(try_open(0, NULL), 0);
    ck_assert_int_eq(try_open(PDK_STORE_READ_ONLY, NULL), 0);
}
END_TEST

START_TEST(a_newer_version_is_refused_with_both_named)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_store *store = NULL;
    PDK_AUTO_FREE char *known = pdk_strf("up to %ld", (long)pdk_schema_version());

    fill(1);
    store = open_store();
    ck_assert_int_eq(pdk_db_run(store, "PRAGMA user_version = 77", NULL), 0);
    pdk_store_close(store);
    ck_assert_int_eq(try_open(0, &err), PDK_ECORRUPT);
    ck_assert_ptr_nonnull(strstr(err.msg, "version 77"));
    ck_assert_ptr_nonnull(strstr(err.msg, known));
    ck_assert_int_eq(try_open(PDK_STORE_READ_ONLY, &err), PDK_ECORRUPT);
    ck_assert_ptr_nonnull(strstr(err.msg, "version 77"));
}
END_TEST

START_TEST(a_database_of_something_else_and_missing_tables_are_refused)
{
    struct pdk_store *store = open_store();

    ck_assert_int_eq(pdk_db_run(store, "DROP TABLE promotion", NULL), 0);
    pdk_store_close(store);
    ck_assert_int_eq(try_open(0, NULL), PDK_ECORRUPT);
    ck_assert_int_eq(try_open(PDK_STORE_READ_ONLY, NULL), PDK_ECORRUPT);
    PDK_AUTO_FREE char *path = pdk_test_path("store.db");
    struct pdk_store raw = { .path = path, .lock_fd = -1 };
    ck_assert_int_eq(pdk_db_open(&raw, false, NULL), 0);
    ck_assert_int_eq(pdk_db_run(&raw, "PRAGMA user_version = 0", NULL), 0);
    pdk_db_close(&raw);
    ck_assert_int_eq(try_open(0, NULL), PDK_ECORRUPT);
    ck_assert_int_eq(try_open(PDK_STORE_READ_ONLY, NULL), PDK_ECORRUPT);
}
END_TEST

START_TEST(a_place_that_cannot_be_is_an_error_of_the_environment)
{
    struct pdk_store *store = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_FREE char *file = pdk_test_path("file");
    PDK_AUTO_FREE char *below = pdk_test_path("file/store.db");

    pdk_test_write_text(file, "");
    ck_assert_int_eq(pdk_store_open(below, 0, &store, &err), PDK_EIO);
    ck_assert_ptr_null(store);
}
END_TEST

/* As somebody who may not write there: root gives its capabilities up in a child, and keeps its uid so that the
 * directories above stay open to it. */
static int give_capabilities_up(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    return (int)syscall(SYS_capset, &header, none);
}

static int read_without_rights(const char *dir, const char *path)
{
    PDK_AUTO_STORE struct pdk_store *reader = NULL;
    PDK_AUTO_STORE struct pdk_store *writer = NULL;

    if (chdir(dir) < 0 || give_capabilities_up() < 0)
        return 1;
    if (pdk_store_open(path, 0, &writer, NULL) != PDK_EIO)
        return 2;
    if (pdk_store_open(path, PDK_STORE_READ_ONLY, &reader, NULL) < 0)
        return 3;
    PDK_AUTO_RUN_ROW struct pdk_run_row row = { .id = NULL };
    return pdk_store_run(reader, "r1", &row, NULL) == 0 ? 0 : 4;
}

START_TEST(a_store_in_a_read_only_directory_can_be_read)
{
    int status = -1;

    fill(1);
    ck_assert_int_eq(chmod(pdk_test_dir(), 0555), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        _exit(read_without_rights(pdk_test_dir(), "store.db"));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(chmod(pdk_test_dir(), 0700), 0);
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store faults");
    TCase *tc = tcase_create("faults");
    tcase_set_timeout(tc, 110);
    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, a_full_disk_loses_nothing_and_the_store_goes_on_after);
    tcase_add_test(tc, a_busy_database_is_told_and_works_after);
    tcase_add_test(tc, the_log_is_append_only);
    tcase_add_test(tc, commits_are_synced_and_checkpoints_are_ours);
    tcase_add_test(tc, writers_hold_the_kernel_lock_and_readers_do_not);
    tcase_add_test(tc, sixteen_processes_append_at_once_from_the_first_open_on);
    tcase_add_test(tc, a_killed_writer_leaves_nothing_to_unlock_and_nothing_half_done);
    tcase_add_test(tc, a_damaged_page_is_an_error_and_never_an_empty_store);
    tcase_add_test(tc, a_file_cut_short_is_an_error);
    tcase_add_test(tc, a_file_that_went_away_is_an_error);
    tcase_add_test(tc, an_empty_file_that_was_never_a_store_becomes_one);
    tcase_add_test(tc, a_newer_version_is_refused_with_both_named);
    tcase_add_test(tc, a_database_of_something_else_and_missing_tables_are_refused);
    tcase_add_test(tc, a_place_that_cannot_be_is_an_error_of_the_environment);
    tcase_add_test(tc, a_store_in_a_read_only_directory_can_be_read);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
