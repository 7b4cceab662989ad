#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/str.h"
#include "store/apply.h"
#include "store/db.h"
#include "store/schema.h"

/* The file stays open from the first time on. */
static int try_lock(struct pdk_store *store, struct pdk_err *err)
{
    int rc = PDK_ENOTFOUND;

    if (store->lock_fd >= 0)
        rc = pdk_fs_relock(store->lock_fd, false, err);
    if (rc != PDK_ENOTFOUND)
        return rc;
    pdk_cleanup_fd(&store->lock_fd);
    store->lock_fd = -1;
    return pdk_fs_lock(store->lock_path, false, &store->lock_fd, err);
}

/*
 * The write lock. Polled rather than waited for, so that a process that was stopped while it held
 * the lock ends in an error here and not in silence.
 */
static int lock(struct pdk_store *store, struct pdk_err *err)
{
    const struct timespec pause = { .tv_nsec = 2000000 };
    int64_t deadline = pdk_clock_ms() + PDK_STORE_WAIT_MS;
    struct pdk_err ours = PDK_ERR_INIT;
    int rc = try_lock(store, &ours);

    while (rc == PDK_ECONFLICT && pdk_clock_ms() < deadline) {
        (void)nanosleep(&pause, NULL); /* shorter after a signal does no harm */
        rc = try_lock(store, &ours);
    }
    if (rc == PDK_ECONFLICT)
        return pdk_fail(err, PDK_ETIMEDOUT, 0,
                "another process keeps the store '%s' locked", store->path);
    if (rc < 0 && err)
        *err = ours;
    return rc;
}

static void unlock(struct pdk_store *store)
{
    if (store->lock_fd >= 0)
        pdk_fs_unlock(store->lock_fd);
}

static bool is_empty_or_absent(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 || st.st_size == 0;
}

/* What was made once and is gone now is not made again: its log was the truth. */
static int refuse_vanished(const struct pdk_store *store, struct pdk_err *err)
{
    if (pdk_fs_exists(store->made_path) && is_empty_or_absent(store->path))
        return pdk_db_corrupt(store, "the file is empty or gone", err);
    return 0;
}

static int open_to_write(struct pdk_store *store, struct pdk_err *err)
{
    int rc = refuse_vanished(store, err);

    if (rc == 0)
        rc = pdk_db_open(store, false, err);
    if (rc == 0)
        rc = pdk_schema_migrate(store, err);
    if (rc == 0)
        rc = pdk_schema_look(store, err);
    if (rc == 0 && !pdk_fs_exists(store->made_path))
        rc = pdk_fs_write(store->made_path, "", 0, 0600, PDK_FS_SYNC, err);
    return rc;
}

static int open_to_read(struct pdk_store *store, struct pdk_err *err)
{
    int rc = refuse_vanished(store, err);

    if (rc == 0 && is_empty_or_absent(store->path))
        rc = pdk_fail(err, PDK_ENOTFOUND, 0, "nothing is recorded yet");
    if (rc == 0)
        rc = pdk_db_open(store, true, err);
    if (rc == 0)
        rc = pdk_schema_expect(store, err);
    return rc == 0 ? pdk_schema_look(store, err) : rc;
}

static struct pdk_store *store_new(const char *path)
{
    struct pdk_store *store = calloc(1, sizeof(*store));

    if (!store)
        return NULL;
    store->lock_fd = -1;
    store->path = strdup(path);
    store->lock_path = pdk_strf("%s.lock", path);
    store->made_path = pdk_strf("%s.made", path);
    if (store->path && store->lock_path && store->made_path)
        return store;
    pdk_store_close(store);
    return NULL;
}

int pdk_store_open(
        const char *path, unsigned int flags, struct pdk_store **out, struct pdk_err *err)
{
    PDK_AUTO_STORE struct pdk_store *store = store_new(path);
    int rc;

    if (!store)
        return pdk_fail_nomem(err);
    store->read_only = (flags & PDK_STORE_READ_ONLY) != 0;
    if (store->read_only) {
        rc = open_to_read(store, err);
    } else {
        rc = lock(store, err);
        if (rc == 0)
            rc = open_to_write(store, err);
        unlock(store);
    }
    if (rc < 0)
        return rc;
    *out = pdk_take_ptr(&store);
    return 0;
}

void pdk_store_close(struct pdk_store *store)
{
    if (!store)
        return;
    pdk_store_rollback(store);
    /* The last one out checkpoints, which is a writer's work. */
    if (store->db && !store->read_only)
        (void)lock(store, NULL); /* without it SQLite's own locks must do */
    pdk_db_close(store);
    pdk_cleanup_fd(&store->lock_fd);
    free(store->path);
    free(store->lock_path);
    free(store->made_path);
    free(store);
}

static int run_plain(struct pdk_store *store, enum pdk_sql sql, struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    int rc = pdk_stmt_use(&st, store, sql, err);

    return rc < 0 ? rc : pdk_stmt_run(&st, NULL, err);
}

/* The write lock, then a transaction. */
static int transaction(struct pdk_store *store, struct pdk_err *err)
{
    if (store->read_only)
        return pdk_fail(err, PDK_EBUG, 0, "the store is open for reading");
    int rc = lock(store, err);
    if (rc < 0)
        return rc;
    rc = run_plain(store, SQL_BEGIN, err);
    if (rc < 0)
        unlock(store);
    return rc;
}

static void undo(struct pdk_store *store)
{
    /* Some failures, a full disk among them, have rolled back already. */
    if (store->db && pdk_db_in_transaction(store))
        (void)run_plain(store, SQL_ROLLBACK, NULL); /* what failed before is told */
    unlock(store);
}

static int finish(struct pdk_store *store, int rc, struct pdk_err *err)
{
    if (rc == 0)
        rc = run_plain(store, SQL_COMMIT, err);
    if (rc < 0)
        undo(store);
    unlock(store);
    return rc;
}

int pdk_store_begin(struct pdk_store *store, struct pdk_err *err)
{
    if (store->in_batch)
        return pdk_fail(err, PDK_EBUG, 0, "a batch within a batch");
    int rc = transaction(store, err);
    store->in_batch = rc == 0;
    store->poisoned = false;
    return rc;
}

int pdk_store_commit(struct pdk_store *store, struct pdk_err *err)
{
    int rc = 0;

    if (!store->in_batch)
        return pdk_fail(err, PDK_EBUG, 0, "commit without a batch");
    if (store->poisoned)
        rc = pdk_fail(err, PDK_EBUG, 0, "commit of a batch that failed");
    store->in_batch = false;
    return finish(store, rc, err);
}

void pdk_store_rollback(struct pdk_store *store)
{
    if (!store->in_batch)
        return;
    store->in_batch = false;
    undo(store);
}

static int insert(struct pdk_store *store, const struct pdk_event *e, int64_t *seq,
        struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf body = PDK_BUF_INIT;
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    int rc = pdk_json_write(e->body, PDK_JSON_COMPACT, &body, err);

    if (rc == 0)
        rc = pdk_stmt_use(&st, store, SQL_EVENT_ADD, err);
    if (rc < 0)
        return rc;
    pdk_stmt_text(&st, e->run);
    pdk_stmt_text(&st, e->task);
    pdk_stmt_int(&st, e->candidate);
    pdk_stmt_int(&st, e->attempt);
    pdk_stmt_int(&st, e->ts_ms);
    pdk_stmt_text(&st, pdk_event_name(e->type));
    pdk_stmt_textn(&st, pdk_buf_str(&body), body.len);
    rc = pdk_stmt_run(&st, NULL, err);
    if (rc == 0)
        *seq = pdk_db_last_id(store);
    return rc;
}

static int append_one(struct pdk_store *store, const struct pdk_event *given,
        int64_t *seq, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *empty = given->body ? NULL : pdk_json_object();
    struct pdk_event e = *given;

    if (!e.body)
        e.body = empty;
    if (e.ts_ms == 0)
        e.ts_ms = pdk_clock_wall_ms();
    int rc = pdk_json_ok(e.body, err);
    if (rc == 0)
        rc = insert(store, &e, seq, err);
    return rc < 0 ? rc : pdk_apply(store, &e, err);
}

static int append_all(struct pdk_store *store, const struct pdk_event *events, size_t n,
        int64_t *seqs, struct pdk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        int64_t seq = 0;
        int rc = append_one(store, &events[i], &seq, err);
        if (rc < 0)
            return rc;
        if (seqs)
            seqs[i] = seq;
    }
    return 0;
}

int pdk_store_append(struct pdk_store *store, const struct pdk_event *events, size_t n,
        int64_t *seqs, struct pdk_err *err)
{
    int rc;

    if (store->in_batch) {
        if (store->poisoned)
            return pdk_fail(err, PDK_EBUG, 0, "append to a batch that failed");
        rc = append_all(store, events, n, seqs, err);
        store->poisoned = rc < 0;
        return rc;
    }
    rc = transaction(store, err);
    if (rc < 0)
        return rc;
    return finish(store, append_all(store, events, n, seqs, err), err);
}

static int apply_again(const struct pdk_event *event, void *user, struct pdk_err *err)
{
    return pdk_apply(user, event, err);
}

/* The event of the present row; *body is owned by the caller. */
static int read_event(struct pdk_stmt *st, struct pdk_event *e, struct pdk_json **body,
        struct pdk_err *err)
{
    size_t len = 0;
    const char *text = pdk_stmt_col_text(st, 7, &len);
    const char *type = pdk_stmt_col_text(st, 6, NULL);

    e->seq = pdk_stmt_col_int(st, 0);
    e->ts_ms = pdk_stmt_col_int(st, 1);
    e->run = pdk_stmt_col_text(st, 2, NULL);
    e->task = pdk_stmt_col_text(st, 3, NULL);
    e->candidate = (int)pdk_stmt_col_int(st, 4);
    e->attempt = (int)pdk_stmt_col_int(st, 5);
    e->type = pdk_event_find(type);
    if (e->type == PDK_EVENT_COUNT)
        return pdk_db_corrupt(st->store, "an event of an unknown type", err);
    if (!text || pdk_json_parse(text, len, body, err) < 0)
        return pdk_db_corrupt(st->store, "an event that is no JSON", err);
    e->body = *body;
    return 0;
}

typedef int event_fn(const struct pdk_event *event, void *user, struct pdk_err *err);

static int each_event(struct pdk_store *store, const char *run, int64_t after,
        event_fn *visit, void *user, struct pdk_err *err)
{
    PDK_AUTO_STMT struct pdk_stmt st = PDK_STMT_INIT;
    int rc = pdk_stmt_use(&st, store, SQL_EVENTS, err);

    if (rc < 0)
        return rc;
    pdk_stmt_text(&st, run);
    pdk_stmt_int(&st, after);
    for (;;) {
        PDK_AUTO_JSON struct pdk_json *body = NULL;
        struct pdk_event event = { .seq = 0 };
        rc = pdk_stmt_step(&st, err);
        if (rc <= 0)
            return rc;
        rc = read_event(&st, &event, &body, err);
        if (rc == 0)
            rc = visit(&event, user, err);
        if (rc != 0)
            return rc;
    }
}

struct visitor {
    int (*visit)(const struct pdk_event *event, void *user);
    void *user;
};

static int call_visitor(const struct pdk_event *event, void *user, struct pdk_err *err)
{
    const struct visitor *v = user;

    (void)err; /* the visitor's own result goes through as it is */
    return v->visit(event, v->user);
}

int pdk_store_events(struct pdk_store *store, const char *run, int64_t after,
        int (*visit)(const struct pdk_event *event, void *user), void *user,
        struct pdk_err *err)
{
    struct visitor v = { visit, user };

    return each_event(store, run, after, call_visitor, &v, err);
}

int pdk_store_rebuild(struct pdk_store *store, struct pdk_err *err)
{
    int rc = store->in_batch ? pdk_fail(err, PDK_EBUG, 0, "rebuild within a batch") : 0;

    if (rc == 0)
        rc = transaction(store, err);
    if (rc < 0)
        return rc;
    rc = pdk_schema_clear(store, err);
    if (rc == 0)
        rc = each_event(store, NULL, 0, apply_again, store, err);
    return finish(store, rc, err);
}

int pdk_store_check(struct pdk_store *store, struct pdk_err *err)
{
    return pdk_schema_check(store, err);
}
