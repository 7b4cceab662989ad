/*
 * The walk says what may have changed; here its content is read, hashed into the vault, and put into
 * a tree and a new index.
 */
#include "trees/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/utf8.h"
#include "trees/filter.h"
#include "trees/index.h"
#include "trees/index_cache.h"
#include "trees/internal.h"
#include "trees/lfs.h"
#include "trees/repo.h"
#include "trees/vault.h"
#include "trees/walk.h"

enum { WARNINGS_MAX = 50, CHUNK = 64 << 10, POINTER_MAX = 1024 };
static const int64_t default_max_file = (int64_t)2 << 30;

void pdk_capture_fini(struct pdk_capture *capture)
{
    pdk_strv_fini(&capture->warnings);
}

void pdk_dirt_fini(struct pdk_dirt *dirt)
{
    for (size_t i = 0; i < dirt->len; i++)
        free(dirt->entries[i].path);
    free(dirt->entries);
    *dirt = (struct pdk_dirt){ 0 };
}

/* What the walk has said of an entry, and what came of it. */
enum fate {
    FATE_UNTOLD,
    FATE_SAME,  /* it stays as it is */
    FATE_TAKEN, /* looked at: what it is now is among the fresh ones, if anywhere */
    FATE_GONE
};

/* A capture, or a look for dirt, under way. */
struct taking {
    struct pdk_vault *vault;
    const struct pdk_capture_spec *spec;
    struct pdk_filter *filter; /* NULL: raw */
    bool write;                /* blobs into the vault; else only their ids */
    struct pdk_index_lease *lease;
    const struct pdk_index *before; /* leased */
    struct pdk_index fresh;         /* what differs from it, or may */
    struct pdk_index after;         /* paths are before's and fresh's */
    char *fates;                    /* of each entry of before: enum fate */
    int upper_fd;                   /* of an overlay; -1: none */
    struct pdk_tree_update *updates;
    size_t updates_len, updates_cap;
    struct pdk_capture *out; /* NULL when looking for dirt */
    struct pdk_dirt *dirt;
    size_t dropped; /* warnings past the first */
};

/* ---- content */

static uint32_t mode_of(const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return 0120000;
    return st->st_mode & S_IXUSR ? 0100755 : 0100644;
}

static int hash_bytes(struct taking *t, const void *data, size_t len, struct pdk_oid *out,
        struct pdk_err *err)
{
    git_oid id;
    int rc;

    if (t->write)
        return pdk_vault_write_blob(t->vault, data, len, out, err);
    rc = git_odb_hash(&id, data, len, GIT_OBJECT_BLOB);
    if (rc < 0)
        return pdk_git2_fail(err, rc, "hashing");
    pdk_oid_of(&id, out);
    return 0;
}

/* What may come of looking at one path, beside an error. */
enum { TAKE_OK = 0, TAKE_UNREADABLE = 1, TAKE_GONE = 2 };

static int take_refused(int os_errno, const char *path, struct pdk_err *err)
{
    if (os_errno == ENOENT || os_errno == ENOTDIR || os_errno == ELOOP)
        return TAKE_GONE; /* or something else now, which the next capture sees */
    if (os_errno == EACCES || os_errno == EPERM)
        return TAKE_UNREADABLE;
    return pdk_fail(err, PDK_EIO, os_errno, "cannot open '%s'", path);
}

/* Read through its own directory's handle: no link on the way is followed. */
static int take_link(
        struct taking *t, const char *path, struct pdk_oid *out, struct pdk_err *err)
{
    char target[PATH_MAX];
    PDK_AUTO_FREE char *dir = pdk_path_dirname(path);
    PDK_AUTO_FD int fd =
            dir ? pdk_beneath_open(t->spec->root_fd, dir, O_PATH | O_DIRECTORY, 0) : -1;
    ssize_t n;

    if (!dir)
        return pdk_fail_nomem(err);
    if (fd < 0)
        return take_refused(errno, path, err);
    n = readlinkat(fd, pdk_path_basename(path), target, sizeof(target));
    if (n < 0)
        return errno == EINVAL ? TAKE_GONE : take_refused(errno, path, err);
    return hash_bytes(t, target, (size_t)n, out, err);
}

/* Large files go through in chunks: memory does not grow with them. */
static int stream_blob(
        struct taking *t, int fd, int64_t size, struct pdk_oid *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *chunk = malloc(CHUNK);
    git_odb_stream *stream = NULL;
    int64_t left = size;
    git_oid id;
    int rc;

    if (!chunk)
        return pdk_fail_nomem(err);
    rc = git_odb_open_wstream(
            &stream, pdk_vault_odb(t->vault), (git_object_size_t)size, GIT_OBJECT_BLOB);
    while (rc == 0 && left > 0) {
        ssize_t n = read(fd, chunk, left < CHUNK ? (size_t)left : CHUNK);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            git_odb_stream_free(stream);
            return pdk_fail(
                    err, PDK_EIO, n < 0 ? errno : 0, "it changed while it was read");
        }
        rc = git_odb_stream_write(stream, chunk, (size_t)n);
        left -= n;
    }
    if (rc == 0)
        rc = git_odb_stream_finalize_write(&id, stream);
    git_odb_stream_free(stream);
    if (rc < 0)
        return pdk_git2_fail(err, rc, "writing a blob");
    pdk_oid_of(&id, out);
    return 0;
}

static const struct pdk_oid *old_text(const struct pdk_index_entry *entry)
{
    return entry && S_ISREG(entry->mode) ? &entry->oid : NULL;
}

/* The old blob, where it points at just that content: pointers may be written in other ways than ours. */
static bool is_old_pointer(struct taking *t, const struct pdk_index_entry *entry,
        const struct pdk_lfs_pointer *now)
{
    PDK_AUTO_BUF struct pdk_buf blob = PDK_BUF_INIT;
    struct pdk_lfs_pointer old;
    const struct pdk_oid *oid = old_text(entry);

    return oid && pdk_vault_read_blob(t->vault, oid, POINTER_MAX, &blob, NULL) == 0 &&
            pdk_lfs_parse(&blob, &old) && strcmp(old.sha256, now->sha256) == 0 &&
            old.size == now->size;
}

/* Content becomes a pointer, and goes to the vault's store; a pointer and nothing stay what they are. */
static int take_content_of_lfs(struct taking *t, const struct pdk_walk_item *item,
        const struct pdk_buf *raw, struct pdk_oid *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_lfs_pointer pointer;

    if (raw->len == 0 || pdk_lfs_parse(raw, &pointer))
        return hash_bytes(t, pdk_buf_str(raw), raw->len, out, err);
    if (pdk_lfs_point(raw, &pointer, err) < 0)
        return err->code;
    if (is_old_pointer(t, item->entry, &pointer)) {
        *out = item->entry->oid;
        return 0;
    }
    if (t->write && pdk_lfs_store(t->spec->repo, t->vault, &pointer, raw, err) < 0)
        return err->code;
    pdk_lfs_format(&pointer, &text);
    if (pdk_buf_ok(&text, err) < 0)
        return err->code;
    return hash_bytes(t, text.data, text.len, out, err);
}

static int take_bytes(struct taking *t, const struct pdk_walk_item *item, int fd,
        int64_t max, struct pdk_oid *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf raw = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf converted = PDK_BUF_INIT;
    bool lfs = false;

    if (pdk_fs_read_fd(fd, (size_t)max, &raw, err) < 0)
        return err->code;
    if (!t->filter)
        return hash_bytes(t, pdk_buf_str(&raw), raw.len, out, err);
    if (pdk_filter_is_lfs(t->filter, item->path, &lfs, err) < 0)
        return err->code;
    if (lfs)
        return take_content_of_lfs(t, item, &raw, out, err);
    if (pdk_filter_to_object(
                t->filter, item->path, old_text(item->entry), &raw, &converted, err) < 0)
        return err->code;
    return hash_bytes(t, pdk_buf_str(&converted), converted.len, out, err);
}

/* st becomes what was read. */
static int take_file(struct taking *t, const struct pdk_walk_item *item, struct stat *st,
        struct pdk_oid *out, struct pdk_err *err)
{
    const char *path = item->path;
    int64_t max = t->spec->max_file ? t->spec->max_file : default_max_file;
    PDK_AUTO_FD int fd = pdk_beneath_open(
            t->spec->root_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    int rc;

    if (fd < 0)
        return take_refused(errno, path, err);
    if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
        return TAKE_GONE;
    if (st->st_size > max) {
        (void)pdk_fail(err, PDK_EINVAL, 0,
                "'%s' has %lld bytes, more than may be captured", path,
                (long long)st->st_size);
        return pdk_hint(err, "have the mission remove it, or ignore it");
    }
    if (t->write && !t->filter && st->st_size > CHUNK)
        rc = stream_blob(t, fd, st->st_size, out, err);
    else
        rc = take_bytes(t, item, fd, max, out, err);
    return rc < 0 ? pdk_wrap(err, "'%s'", path) : 0;
}

static int take_content(struct taking *t, const struct pdk_walk_item *item,
        struct stat *st, struct pdk_oid *out, struct pdk_err *err)
{
    *st = *item->st;
    if (S_ISLNK(st->st_mode))
        return take_link(t, item->path, out, err);
    return take_file(t, item, st, out, err);
}

/* ---- what came of it */

static int add_update(struct taking *t, const char *path, uint32_t mode,
        const struct pdk_oid *oid, struct pdk_err *err)
{
    if (t->updates_len == t->updates_cap) {
        size_t cap = t->updates_cap ? t->updates_cap * 2 : 64;
        struct pdk_tree_update *grown = reallocarray(t->updates, cap, sizeof(*grown));

        if (!grown)
            return pdk_fail_nomem(err);
        t->updates = grown;
        t->updates_cap = cap;
    }
    t->updates[t->updates_len++] = (struct pdk_tree_update){ path, mode, *oid };
    return 0;
}

static int add_dirt(struct taking *t, char status, const char *path, struct pdk_err *err)
{
    struct pdk_dirt_entry *grown;
    char *copy;

    if (!t->dirt)
        return 0;
    grown = reallocarray(t->dirt->entries, t->dirt->len + 1, sizeof(*grown));
    if (grown)
        t->dirt->entries = grown;
    copy = grown ? strdup(path) : NULL;
    if (!copy)
        return pdk_fail_nomem(err);
    grown[t->dirt->len++] = (struct pdk_dirt_entry){ status, copy };
    return 0;
}

static int add_warning(struct taking *t, enum pdk_capture_warning_kind kind,
        const char *path, struct pdk_err *err)
{
    static const char *const texts[] = {
        [PDK_CAPTURE_NESTED_REPO] =
                "is a repository of its own: its files are in the result, its .git is not",
        [PDK_CAPTURE_UNREADABLE] =
                "cannot be read: what it was before stays in the result",
        [PDK_CAPTURE_SPECIAL] = "is a FIFO, socket or device: it is not in the result",
        [PDK_CAPTURE_DOTGIT] = "spells .git: it is not in the result",
        [PDK_CAPTURE_EMPTY_DIR] = "is an empty directory: git cannot hold it",
        [PDK_CAPTURE_MODE] = "has mode bits that git cannot hold",
    };
    PDK_AUTO_BUF struct pdk_buf line = PDK_BUF_INIT;

    if (!t->out)
        return 0;
    if (t->out->warnings.len >= WARNINGS_MAX) {
        t->dropped++;
        return 0;
    }
    pdk_utf8_printable(path, strlen(path), &line);
    pdk_buf_addf(&line, " %s", texts[kind]);
    pdk_strv_take(&t->out->warnings, pdk_buf_take(&line));
    return pdk_strv_ok(&t->out->warnings, err);
}

/* A new entry of the new index; NULL when out of memory. */
static struct pdk_index_entry *add_fresh(struct taking *t, const char *path,
        uint32_t mode, const struct pdk_oid *oid, struct pdk_err *err)
{
    if (pdk_index_add(&t->fresh, path, mode, oid, err) < 0)
        return NULL;
    return &t->fresh.entries[t->fresh.len - 1];
}

static void mark(struct taking *t, const struct pdk_index_entry *entry, enum fate fate)
{
    if (entry)
        t->fates[entry - t->before->entries] = (char)fate;
}

static char status_of(const struct pdk_index_entry *old, uint32_t mode)
{
    if (!old)
        return '?';
    return (old->mode & S_IFMT) == (mode & S_IFMT) ? 'M' : 'T';
}

/* By the clock that stamps files. */
static struct timespec now(void)
{
    struct timespec t = { 0, 0 };

    (void)clock_gettime(CLOCK_REALTIME_COARSE, &t); /* cannot fail for this clock */
    return t;
}

/*
 * Last changed before the tick in which it was read: a change after the reading shows. For others the
 * stat data says nothing, and the next capture reads them again.
 */
static bool settled(const struct stat *st, const struct timespec *began)
{
    if (st->st_ctim.tv_sec != began->tv_sec)
        return st->st_ctim.tv_sec < began->tv_sec;
    return st->st_ctim.tv_nsec < began->tv_nsec;
}

static int take_item(
        struct taking *t, const struct pdk_walk_item *item, struct pdk_err *err)
{
    const struct pdk_index_entry *old = item->entry;
    struct pdk_index_entry *made;
    struct pdk_oid oid = { "" };
    struct timespec began = now();
    struct stat st;
    int rc = take_content(t, item, &st, &oid, err);
    uint32_t mode = mode_of(&st);

    if (rc < 0)
        return rc;
    if (rc == TAKE_GONE)
        return old ? add_dirt(t, 'D', old->path, err) : 0;
    if (rc == TAKE_UNREADABLE) {
        if (add_warning(t, PDK_CAPTURE_UNREADABLE, item->path, err) < 0)
            return err->code;
        mark(t, old, FATE_SAME);
        return 0;
    }
    made = add_fresh(t, item->path, mode, &oid, err);
    if (!made)
        return err->code;
    made->upper = t->upper_fd >= 0;
    if (settled(&st, &began))
        pdk_stat_data_of(&st, &made->stat);
    if (st.st_mode & (S_ISUID | S_ISGID | S_ISVTX) &&
            add_warning(t, PDK_CAPTURE_MODE, item->path, err) < 0)
        return err->code;
    if (old && old->mode == mode && pdk_oid_equal(&old->oid, &oid))
        return 0;
    if (add_dirt(t, status_of(old, mode), item->path, err) < 0)
        return err->code;
    return 0;
}

/* The path itself and what is below it. */
static void mark_gone(struct taking *t, const char *path)
{
    size_t n = 0;
    const struct pdk_index_entry *below = pdk_index_below(t->before, path, &n);

    mark(t, pdk_index_find(t->before, path), FATE_GONE);
    for (size_t i = 0; i < n; i++)
        mark(t, &below[i], FATE_GONE);
}

static int capture_visit(
        const struct pdk_walk_item *item, void *user, struct pdk_err *err)
{
    struct taking *t = user;

    switch (item->event) {
    case PDK_WALK_SAME:
        mark(t, item->entry, FATE_SAME);
        return 0;
    case PDK_WALK_CHECK:
    case PDK_WALK_NEW:
        mark(t, item->entry, FATE_TAKEN);
        return take_item(t, item, err);
    case PDK_WALK_GONE:
        mark_gone(t, item->path);
        return 0;
    case PDK_WALK_WARN:
        return add_warning(t, item->kind, item->path, err);
    }
    return 0;
}

/* ---- the whole */

/* Of an overlay only changes are told: what was not is as it was. Elsewhere it is gone. */
static int settle_fates(struct taking *t, struct pdk_err *err)
{
    for (size_t i = 0; i < t->before->len; i++) {
        const struct pdk_index_entry *old = &t->before->entries[i];

        /* What was in the upper layer would have been told of, were it there. */
        if (t->fates[i] == FATE_UNTOLD)
            t->fates[i] = t->upper_fd >= 0 && !old->upper ? FATE_SAME : FATE_GONE;
        if (t->fates[i] == FATE_GONE && add_dirt(t, 'D', old->path, err) < 0)
            return err->code;
    }
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct pdk_index_entry *)a)->path,
            ((const struct pdk_index_entry *)b)->path);
}

static int by_dirt_path(const void *a, const void *b)
{
    return strcmp(((const struct pdk_dirt_entry *)a)->path,
            ((const struct pdk_dirt_entry *)b)->path);
}

static int begin(struct taking *t, struct pdk_err *err)
{
    if (pdk_index_borrow(t->spec->repo->indexes, t->spec->index, &t->lease, err) < 0)
        return err->code;
    t->before = pdk_index_leased(t->lease);
    t->fates = calloc(t->before->len + 1, sizeof(*t->fates));
    if (!t->fates)
        return pdk_fail_nomem(err);
    if (t->spec->upper) {
        t->upper_fd =
                open(t->spec->upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (t->upper_fd < 0)
            return pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", t->spec->upper);
    }
    if (!pdk_filter_needed(t->spec->repo, t->before->has_attributes))
        return 0;
    return pdk_filter_open(t->vault, t->spec->repo, &t->before->tree, &t->filter, err);
}

static void taking_fini(struct taking *t)
{
    pdk_index_fini(&t->after);
    pdk_index_fini(&t->fresh);
    pdk_index_return(t->lease);
    pdk_filter_free(t->filter);
    free(t->fates);
    if (t->upper_fd >= 0)
        (void)close(t->upper_fd);
    free(t->updates);
}

static int walk_all(struct taking *t, uint64_t *ignored, struct pdk_err *err)
{
    struct pdk_walk_spec walk = { .repo = t->spec->repo,
        .root_fd = t->spec->root_fd,
        .upper_fd = -1,
        .visit = capture_visit,
        .user = t };

    t->upper_fd = -1;
    if (begin(t, err) < 0)
        return err->code;
    walk.index = t->before;
    walk.upper_fd = t->upper_fd;
    if (pdk_walk(&walk, err) < 0 || settle_fates(t, err) < 0)
        return err->code;
    if (t->fresh.len > 1)
        qsort(t->fresh.entries, t->fresh.len, sizeof(*t->fresh.entries), by_path);
    *ignored = walk.ignored_files;
    return 0;
}

static bool same_object(const struct pdk_index_entry *a, const struct pdk_index_entry *b)
{
    return a && a->mode == b->mode && pdk_oid_equal(&a->oid, &b->oid);
}

/* The next of both in path order: an entry of before, what there is of it now, or something new. */
static int merge_one(struct taking *t, const struct pdk_index_entry *old,
        const struct pdk_index_entry *now, bool stays, struct pdk_err *err)
{
    static const struct pdk_oid none = { "" };

    if (old && stays)
        return pdk_index_keep(&t->after, old, err);
    if (old && !now)
        return add_update(t, old->path, 0, &none, err);
    if (!now) /* neither: merge() never asks so */
        return 0;
    if (!same_object(old, now) && add_update(t, now->path, now->mode, &now->oid, err) < 0)
        return err->code;
    return pdk_index_keep(&t->after, now, err);
}

/* The new index, and what differs between the two as updates of the tree: both are sorted. */
static int merge(struct taking *t, struct pdk_err *err)
{
    size_t i = 0, j = 0;

    while (i < t->before->len || j < t->fresh.len) {
        const struct pdk_index_entry *a =
                i < t->before->len ? &t->before->entries[i] : NULL;
        const struct pdk_index_entry *b = j < t->fresh.len ? &t->fresh.entries[j] : NULL;
        int order = !a ? 1 : !b ? -1 : strcmp(a->path, b->path);
        bool stays = order < 0 && t->fates[i] == FATE_SAME;

        if (merge_one(t, order <= 0 ? a : NULL, order >= 0 ? b : NULL, stays, err) < 0)
            return err->code;
        i += order <= 0;
        j += order >= 0;
    }
    return 0;
}

/* Was everything found as the index has it? Then there is nothing to write. */
static bool same_index(const struct pdk_index *a, const struct pdk_index *b)
{
    bool same = a->len == b->len && pdk_oid_equal(&a->tree, &b->tree);

    for (size_t i = 0; same && i < a->len; i++) {
        const struct pdk_index_entry *x = &a->entries[i], *y = &b->entries[i];

        same = x->mode == y->mode && x->upper == y->upper &&
                pdk_oid_equal(&x->oid, &y->oid) && pdk_streq(x->path, y->path) &&
                memcmp(&x->stat, &y->stat, sizeof(x->stat)) == 0;
    }
    return same;
}

static int settle(struct taking *t, struct pdk_err *err)
{
    if (merge(t, err) < 0 ||
            pdk_tree_apply(t->vault, &t->before->tree, t->updates, t->updates_len,
                    &t->out->tree, err) < 0)
        return err->code;
    if (t->dropped > 0) {
        pdk_strv_addf(&t->out->warnings, "and %zu more warnings", t->dropped);
        if (pdk_strv_ok(&t->out->warnings, err) < 0)
            return err->code;
    }
    t->after.tree = t->out->tree;
    if (same_index(t->before, &t->after))
        return 0;
    return pdk_index_write(t->spec->index, &t->after, err);
}

int pdk_capture_tree(struct pdk_vault *vault, const struct pdk_capture_spec *spec,
        struct pdk_capture *out, struct pdk_err *err)
{
    struct pdk_capture made = { .warnings = PDK_STRV_INIT };
    struct taking t = { .vault = vault, .spec = spec, .write = true, .out = &made };
    int rc = walk_all(&t, &made.ignored_files, err);

    if (rc == 0)
        rc = settle(&t, err);
    taking_fini(&t);
    if (rc < 0) {
        pdk_capture_fini(&made);
        return rc;
    }
    *out = made;
    return 0;
}

int pdk_capture_dirt(struct pdk_vault *vault, const struct pdk_capture_spec *spec,
        struct pdk_dirt *out, struct pdk_err *err)
{
    struct pdk_dirt made = { NULL, 0, 0 };
    struct taking t = { .vault = vault, .spec = spec, .dirt = &made };
    int rc = walk_all(&t, &made.ignored_files, err);

    taking_fini(&t);
    if (rc < 0) {
        pdk_dirt_fini(&made);
        return rc;
    }
    if (made.len > 1)
        qsort(made.entries, made.len, sizeof(*made.entries), by_dirt_path);
    *out = made;
    return 0;
}
