/*
 * Did a candidate write outside of its sandbox, to the user's repository? Looked for once a candidate
 * has ended, before it is judged:
 *
 *   judge -> look (on a worker) -> changes are recorded -> who may have made them is blamed
 *
 * Configuration, hooks, references and the like are compared with how they were at the last look. Who
 * ran a command since then may have changed them, and several may have at once: none of those is
 * promoted. Files are compared with the candidate's own: one that changed since the run began to just
 * what a candidate holds came from it. A new branch is told, and held against nobody.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"
#include "orchestrator/engine/internal.h"
#include "orchestrator/engine/work.h"
#include "trees/shared.h"

struct pdk_leaks {
    pthread_mutex_t mutex; /* looks are one after another, each against the one before */
    struct pdk_shared first, last;
    bool wide; /* a backend of the run shares the repository */
    struct timespec since;
};

/* A look on its way to a worker and back. */
struct look {
    struct candidate *c;
    void (*done)(struct candidate *c);
    struct pdk_json *shared; /* bodies of leak.found: anybody's who ran */
    struct pdk_json *files;  /* the same: this candidate's */
    struct pdk_json *noted;  /* the same: said, and held against nobody */
};

/* ---- what was found */

static void add_found(
        struct pdk_json *to, const struct pdk_shared_change *change, const char *kind)
{
    struct pdk_json *body = pdk_json_object();
    PDK_AUTO_FREE char *restore =
            change->before || change->after ? pdk_shared_restore(change) : NULL;

    (void)pdk_json_set_str(body, "what", kind);
    (void)pdk_json_set_bytes(body, "path", change->path, strlen(change->path));
    if (change->before)
        (void)pdk_json_set_bytes(body, "before", change->before, strlen(change->before));
    if (change->after)
        (void)pdk_json_set_bytes(body, "after", change->after, strlen(change->after));
    if (restore)
        (void)pdk_json_set_bytes(body, "restore", restore, strlen(restore));
    (void)pdk_json_append(to, body);
}

/* Those that work on whoever shares the repository, from then on. */
static bool is_lasting(enum pdk_shared_kind kind)
{
    return kind == PDK_SHARED_CONFIG || kind == PDK_SHARED_HOOK ||
            kind == PDK_SHARED_INFO;
}

/* Whoever works in a linked worktree may well begin a branch: nothing that was there is touched. */
static bool is_new_branch(const struct pdk_shared_change *change)
{
    return change->kind == PDK_SHARED_REF && !change->before &&
            pdk_starts_with(change->path, "refs/heads/");
}

/* Adds what changed since a look, of lasting kinds or of the others. */
static int compare(struct look *look, const struct pdk_shared *since,
        const struct pdk_shared *now, bool lasting, struct pdk_err *err)
{
    const struct run *run = look->c->run;
    PDK_AUTO_FREE struct pdk_shared_change *changes = NULL;
    size_t n = 0;

    if (pdk_shared_compare(
                run->spec->repo, run->leaks->wide, since, now, &changes, &n, err) < 0)
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (is_lasting(changes[i].kind) == lasting)
            add_found(is_new_branch(&changes[i]) ? look->noted : look->shared,
                    &changes[i], pdk_shared_kind_name(changes[i].kind));
    return 0;
}

/*
 * Where sandboxes share the repository, one with a planted hook or configuration in it is no place to
 * judge the next candidate in: these count until they are as they were at the start.
 */
static int look_at_shared(struct look *look, struct pdk_err *err)
{
    struct pdk_leaks *leaks = look->c->run->leaks;
    PDK_AUTO_SHARED struct pdk_shared now = { 0 };
    struct pdk_shared before;

    if (pdk_shared_look(look->c->run->spec->repo, leaks->wide, &leaks->last, &now, err) <
                    0 ||
            compare(look, leaks->wide ? &leaks->first : &leaks->last, &now, true, err) <
                    0 ||
            compare(look, &leaks->last, &now, false, err) < 0)
        return err->code;
    before = leaks->last;
    leaks->last = now;
    now = before;
    return 0;
}

static bool is_new(const struct stat *st, const struct timespec *since)
{
    return st->st_ctim.tv_sec > since->tv_sec ||
            (st->st_ctim.tv_sec == since->tv_sec &&
                    st->st_ctim.tv_nsec >= since->tv_nsec);
}

/* Does the user's file hold what the blob does? An unreadable one is none of the candidate's. */
static bool holds(int root, const char *path, const struct stat *st,
        struct pdk_vault *vault, const struct pdk_oid *oid)
{
    PDK_AUTO_BUF struct pdk_buf blob = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;
    PDK_AUTO_FD int fd = pdk_beneath_open(root, path, O_RDONLY | O_NONBLOCK, 0);

    if (fd < 0 || pdk_vault_read_blob(vault, oid, SIZE_MAX, &blob, &ignored) < 0 ||
            blob.len != (size_t)st->st_size ||
            pdk_fs_read_fd(fd, blob.len, &text, &ignored) < 0)
        return false;
    return text.len == blob.len &&
            memcmp(pdk_buf_str(&text), pdk_buf_str(&blob), blob.len) == 0;
}

static void look_at_file(struct look *look, int root, struct pdk_vault *vault,
        const struct pdk_change *change)
{
    struct pdk_shared_change found = { .path = change->path };
    struct stat st;

    if (!S_ISREG(change->new_mode) || pdk_oid_equal(&change->old_oid, &change->new_oid) ||
            fstatat(root, change->path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode) || !is_new(&st, &look->c->run->leaks->since))
        return;
    if (holds(root, change->path, &st, vault, &change->new_oid))
        add_found(look->files, &found, "file");
}

static int look_at_files(struct look *look, struct pdk_err *err)
{
    const struct pdk_engine_spec *spec = look->c->run->spec;
    const struct pdk_diff *diff = &look->c->diff;
    struct pdk_vaults *vaults = look->c->run->vaults;
    struct pdk_vault *vault = NULL;
    PDK_AUTO_FD int root = open(spec->repo->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (root < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", spec->repo->root);
    if (pdk_vaults_take(vaults, &vault, err) < 0)
        return err->code;
    for (size_t i = 0; i < diff->len; i++)
        look_at_file(look, root, vault, &diff->changes[i]);
    pdk_vaults_give(vaults, vault);
    return 0;
}

static int look_run(void *user, struct pdk_err *err)
{
    struct look *look = user;
    struct pdk_leaks *leaks = look->c->run->leaks;
    int rc;

    (void)pthread_mutex_lock(&leaks->mutex); /* of the default kind: cannot fail */
    rc = look_at_shared(look, err);
    (void)pthread_mutex_unlock(&leaks->mutex);
    if (rc == 0 && look->c->diff.len > 0)
        rc = look_at_files(look, err);
    return rc;
}

/* ---- what is said of it */

static void warn(struct candidate *c, const struct pdk_json *body)
{
    PDK_AUTO_STRV struct pdk_strv lines = PDK_STRV_INIT;
    PDK_AUTO_BUF struct pdk_buf path = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf restore = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;

    (void)pdk_json_get_bytes(body, "path", &path, &ignored);
    (void)pdk_json_get_bytes(body, "restore", &restore, &ignored);
    pdk_utf8_printable(pdk_buf_str(&path), path.len, &clean);
    pdk_strv_addf(&lines, "changed in your repository while it ran: %s %s%s%s",
            pdk_json_get_str(body, "what", ""), pdk_buf_str(&clean),
            restore.len > 0 ? "; take it back with: " : "", pdk_buf_str(&restore));
    pdk_record_warnings(c, &lines);
}

/* Names a few of the paths, for the reason's detail. */
static void name_paths(struct pdk_buf *out, const struct pdk_json *found)
{
    enum { MOST = 4 };
    size_t n = pdk_json_len(found);

    for (size_t i = 0; i < n && i < MOST; i++)
        pdk_buf_addf(out, "%s%.48s", out->len > 0 ? ", " : "",
                pdk_json_get_str(pdk_json_at(found, i), "path", "?"));
    if (n > MOST)
        pdk_buf_addf(out, " and %zu more", n - MOST);
}

static void record_found(struct candidate *c, const struct pdk_json *found)
{
    for (size_t i = 0; i < pdk_json_len(found); i++) {
        struct pdk_json *body = pdk_json_at(found, i);

        pdk_record(c->run, PDK_EVENT_LEAK_FOUND, c, pdk_json_ref(body));
        warn(c, body);
    }
}

static void blame(struct candidate *c, const char *text)
{
    if (!c->blame)
        c->blame = strdup(text);
}

/* Whoever ran a command since the last look, and the one that has just ended in any case. */
static void blame_for_shared(struct look *look)
{
    struct run *run = look->c->run;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    bool dirty = pdk_json_len(look->shared) > 0;

    name_paths(&text, look->shared);
    for (size_t i = 0; i < run->candidates_len; i++) {
        struct candidate *other = &run->candidates[i];

        if (dirty && (other == look->c || other->exposed))
            blame(other, pdk_buf_str(&text));
        other->exposed = other->session != NULL || other->verification != NULL;
    }
}

static void look_done(const struct pdk_err *why, void *user)
{
    struct look *look = user;
    struct candidate *c = look->c;
    void (*done)(struct candidate *) = look->done;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (why->code != 0) {
        pdk_buf_addf(&text, "the repository could not be looked at: %s", why->msg);
        blame(c, pdk_buf_str(&text));
    }
    record_found(c, look->shared);
    record_found(c, look->files);
    record_found(c, look->noted);
    blame_for_shared(look);
    if (pdk_json_len(look->files) > 0) {
        name_paths(&text, look->files);
        blame(c, pdk_buf_str(&text));
    }
    if (c->blame)
        pdk_record_attempt_failed(c, PDK_REASON_WROTE_OUTSIDE, c->blame);
    pdk_json_free(look->shared);
    pdk_json_free(look->files);
    pdk_json_free(look->noted);
    free(look);
    done(c);
}

void pdk_leaks_look(struct candidate *c, void (*done)(struct candidate *c))
{
    static const struct pdk_work_handlers handlers = { look_run, look_done };
    struct look *look = calloc(1, sizeof(*look));

    if (!look) {
        pdk_record_attempt_failed(c, PDK_REASON_WROTE_OUTSIDE, "out of memory");
        done(c);
        return;
    }
    *look = (struct look){ c, done, pdk_json_array(), pdk_json_array(),
        pdk_json_array() };
    pdk_work_queue(c->run->loop, &handlers, look);
}

/* ---- the run's */

int pdk_leaks_open(struct run *run, struct pdk_err *err)
{
    struct pdk_leaks *leaks = calloc(1, sizeof(*leaks));

    if (!leaks)
        return pdk_fail_nomem(err);
    (void)pthread_mutex_init(&leaks->mutex, NULL);
    for (size_t i = 0; i < run->spec->plan->tasks_len; i++)
        leaks->wide = leaks->wide || pdk_backend_shares_refs(run->tasks[i].backend);
    /* The clock that stamps files, so that the two can be compared. */
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &leaks->since);
    run->leaks = leaks;
    if (pdk_shared_look(run->spec->repo, leaks->wide, NULL, &leaks->first, err) < 0)
        return err->code;
    return pdk_shared_look(run->spec->repo, leaks->wide, NULL, &leaks->last, err);
}

void pdk_leaks_close(struct run *run)
{
    if (!run->leaks)
        return;
    pdk_shared_fini(&run->leaks->first);
    pdk_shared_fini(&run->leaks->last);
    (void)pthread_mutex_destroy(&run->leaks->mutex);
    free(run->leaks);
    run->leaks = NULL;
}
