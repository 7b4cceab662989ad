/* Looking at what the user's repository shares: files by a walk, references by git's own list. */
#include "trees/shared.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/path.h"
#include "base/str.h"
#include "trees/repo.h"

enum { MAX_FILE = 64 << 20, MAX_DEPTH = 12, DIGEST = 20, HEX = 40, BOTH = 82 };

static const char head_log[] = "logs/HEAD";
static const char absent[] = "0000000000000000000000000000000000000000";

static const char *const kind_names[] = {
    [PDK_SHARED_CONFIG] = "config",
    [PDK_SHARED_HOOK] = "hook",
    [PDK_SHARED_INFO] = "info",
    [PDK_SHARED_HEAD] = "head",
    [PDK_SHARED_REF] = "ref",
    [PDK_SHARED_STASH] = "stash",
};

const char *pdk_shared_kind_name(enum pdk_shared_kind kind)
{
    return kind_names[kind];
}

void pdk_shared_fini(struct pdk_shared *shared)
{
    for (size_t i = 0; i < shared->len; i++) {
        free(shared->items[i].path);
        free(shared->items[i].value);
    }
    free(shared->items);
    *shared = (struct pdk_shared){ 0 };
}

/* One look under way. */
struct look {
    const struct pdk_repo *repo;
    bool wide;
    const struct pdk_shared *before; /* NULL: none */
    struct pdk_shared found;
    size_t cap;
};

static int path_to_item(const void *path, const void *item)
{
    return strcmp(path, ((const struct pdk_shared_item *)item)->path);
}

static int64_t ns_of(const struct timespec *ts)
{
    return ts->tv_sec * INT64_C(1000000000) + ts->tv_nsec;
}

/*
 * What an earlier look read of a regular file that has not been touched since; owned by the caller. A
 * file that changed within a second before that look may have changed after it with the same stamp.
 */
static char *known_value(const struct look *l, enum pdk_shared_kind kind,
        const char *path, const struct stat *st)
{
    const int64_t second = INT64_C(1000000000);
    const struct pdk_shared_item *item = NULL;

    if (l->before && l->before->len > 0)
        item = bsearch(
                path, l->before->items, l->before->len, sizeof(*item), path_to_item);
    if (!item || item->kind != kind || item->changed_ns == 0 ||
            item->inode != st->st_ino || item->size != st->st_size ||
            item->changed_ns != ns_of(&st->st_ctim) ||
            item->changed_ns + second > l->before->taken_ns)
        return NULL;
    return strdup(item->value);
}

/* Takes value; NULL is out of memory. st: of the regular file that it was read from, or NULL. */
static int add(struct look *l, enum pdk_shared_kind kind, const char *path, char *value,
        const struct stat *st, struct pdk_err *err)
{
    PDK_AUTO_FREE char *owned = value;
    PDK_AUTO_FREE char *copy = strdup(path);
    size_t cap = l->cap ? 2 * l->cap : 64;

    if (l->found.len == l->cap) {
        struct pdk_shared_item *more =
                reallocarray(l->found.items, cap, sizeof(*l->found.items));

        if (!more)
            return pdk_fail_nomem(err);
        l->found.items = more;
        l->cap = cap;
    }
    if (!copy || !owned)
        return pdk_fail_nomem(err);
    l->found.items[l->found.len++] = (struct pdk_shared_item){
        .kind = kind,
        .path = pdk_take_ptr(&copy),
        .value = pdk_take_ptr(&owned),
        .inode = st ? st->st_ino : 0,
        .size = st ? st->st_size : 0,
        .changed_ns = st ? ns_of(&st->st_ctim) : 0,
    };
    return 0;
}

/* ---- files */

static char *digest(mode_t mode, const void *data, size_t len)
{
    unsigned char sum[DIGEST];
    char hex[2 * DIGEST + 1] = "";

    pdk_digest_sha1(data, len, sum);
    for (size_t i = 0; i < DIGEST; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    return pdk_strf("%06o %s", (unsigned int)mode, hex);
}

/* Configuration without branch.*: pushing and switching write there. */
static int list_config(
        const struct look *l, const char *file, struct pdk_buf *out, struct pdk_err *err)
{
    const char *args[] = { "config", "-z", "--no-includes", "--list", "--file", file,
        NULL };
    PDK_AUTO_BUF struct pdk_buf list = PDK_BUF_INIT;
    const char *at, *end;

    if (pdk_repo_git(l->repo, args, NULL, &list, err) < 0)
        return err->code;
    at = pdk_buf_str(&list);
    end = at + list.len;
    for (; at < end; at += strlen(at) + 1)
        if (!pdk_starts_with(at, "branch."))
            pdk_buf_add(out, at, strlen(at) + 1);
    return pdk_buf_ok(out, err);
}

static int read_regular(const struct look *l, enum pdk_shared_kind kind, const char *file,
        struct pdk_buf *out, struct pdk_err *err)
{
    struct pdk_err ignored = PDK_ERR_INIT;

    if (kind == PDK_SHARED_CONFIG && !l->wide && list_config(l, file, out, &ignored) == 0)
        return 0;
    pdk_buf_reset(out); /* one that git cannot parse counts as it is */
    return pdk_fs_read(file, MAX_FILE, out, err);
}

/* A file, a link by its target, anything else by its kind. What vanishes under the look was not there. */
static int look_at_file(struct look *l, enum pdk_shared_kind kind, const char *dir,
        const char *path, struct pdk_err *err)
{
    PDK_AUTO_FREE char *file = pdk_path_join(dir, path);
    PDK_AUTO_BUF struct pdk_buf data = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;
    char target[4096];
    char *known;
    struct stat st;
    ssize_t n;

    if (!file)
        return pdk_fail_nomem(err);
    if (lstat(file, &st) < 0)
        return 0;
    known = S_ISREG(st.st_mode) ? known_value(l, kind, path, &st) : NULL;
    if (known)
        return add(l, kind, path, known, &st, err);
    if (S_ISLNK(st.st_mode)) {
        n = readlink(file, target, sizeof(target));
        pdk_buf_add(&data, target, n > 0 ? (size_t)n : 0);
    } else if (S_ISREG(st.st_mode)) {
        if (read_regular(l, kind, file, &data, &ignored) < 0)
            pdk_buf_adds(&data, "unreadable");
    }
    if (pdk_buf_ok(&data, err) < 0)
        return err->code;
    return add(l, kind, path, digest(st.st_mode, pdk_buf_str(&data), data.len),
            S_ISREG(st.st_mode) ? &st : NULL, err);
}

static int look_below(struct look *l, enum pdk_shared_kind kind, const char *path,
        int depth, struct pdk_err *err)
{
    PDK_AUTO_FREE char *full = pdk_path_join(l->repo->common_dir, path);
    PDK_AUTO_DIR DIR *dir = full && pdk_fs_is_dir(full) ? opendir(full) : NULL;
    const struct dirent *entry;
    int rc = 0;

    if (!full)
        return pdk_fail_nomem(err);
    if (strcmp(path, "info/refs") == 0)
        return 0; /* git's own: its gc in the background writes it anew */
    if (!dir ||
            depth > MAX_DEPTH) /* a link or a file in a directory's place is seen too */
        return look_at_file(l, kind, l->repo->common_dir, path, err);
    while (rc == 0 && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        PDK_AUTO_FREE char *child = pdk_strf("%s/%s", path, entry->d_name);

        rc = child ? look_below(l, kind, child, depth + 1, err) : pdk_fail_nomem(err);
    }
    return rc;
}

/* Submodules' repositories have configuration and hooks of their own, at any depth. */
static int look_at_modules(
        struct look *l, const char *path, int depth, struct pdk_err *err)
{
    static const char *const skipped[] = { ".", "..", "objects", "refs", "logs",
        "worktrees", "packed-refs", "index", "HEAD", "ORIG_HEAD", "FETCH_HEAD" };
    PDK_AUTO_FREE char *full = pdk_path_join(l->repo->common_dir, path);
    PDK_AUTO_DIR DIR *dir = full && pdk_fs_is_dir(full) ? opendir(full) : NULL;
    const struct dirent *entry;
    int rc = full ? 0 : pdk_fail_nomem(err);

    while (rc == 0 && dir && depth < MAX_DEPTH && (entry = readdir(dir)) != NULL) {
        PDK_AUTO_FREE char *child = pdk_strf("%s/%s", path, entry->d_name);
        bool skip = false;

        for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
            skip = skip || strcmp(entry->d_name, skipped[i]) == 0;
        if (skip)
            continue;
        if (!child)
            return pdk_fail_nomem(err);
        if (strcmp(entry->d_name, "hooks") == 0)
            rc = look_below(l, PDK_SHARED_HOOK, child, depth + 1, err);
        else if (strcmp(entry->d_name, "config") == 0)
            rc = look_below(l, PDK_SHARED_CONFIG, child, depth + 1, err);
        else
            rc = look_at_modules(l, child, depth + 1, err);
    }
    return rc;
}

static int look_at_files(struct look *l, struct pdk_err *err)
{
    const char *common = l->repo->common_dir;
    int rc = look_at_file(l, PDK_SHARED_CONFIG, common, "config", err);

    if (rc == 0)
        rc = look_at_file(l, PDK_SHARED_CONFIG, l->repo->git_dir, "config.worktree", err);
    if (rc == 0)
        rc = look_at_file(l, PDK_SHARED_INFO, common, "objects/info/alternates", err);
    if (rc == 0)
        rc = look_below(l, PDK_SHARED_HOOK, "hooks", 0, err);
    if (rc == 0)
        rc = look_below(l, PDK_SHARED_INFO, "info", 0, err);
    if (rc == 0)
        rc = look_at_file(l, PDK_SHARED_STASH, common, "logs/refs/stash", err);
    return rc < 0 ? rc : look_at_modules(l, "modules", 0, err);
}

/* ---- references */

static bool is_ours(const char *name)
{
    return pdk_starts_with(name, "refs/paddock/") ||
            pdk_starts_with(name, "refs/heads/sandbox/") ||
            pdk_starts_with(name, "refs/heads/paddock/");
}

static bool is_watched(const struct look *l, const char *name)
{
    if (is_ours(name))
        return false;
    return l->wide || pdk_starts_with(name, "refs/heads/") ||
            strcmp(name, "refs/stash") == 0;
}

static bool has(const struct look *l, size_t from, size_t to, const char *path)
{
    for (size_t i = from; i < to; i++)
        if (strcmp(l->found.items[i].path, path) == 0)
            return true;
    return false;
}

/* A loose one: an object id, or "ref: " and a name. */
static int look_at_ref(struct look *l, const char *name, struct pdk_err *err)
{
    PDK_AUTO_FREE char *file = pdk_path_join(l->repo->common_dir, name);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;
    bool plain;
    char *known;
    struct stat st;

    if (!file)
        return pdk_fail_nomem(err);
    if (pdk_ends_with(name, ".lock") || !is_watched(l, name))
        return 0;
    plain = lstat(file, &st) == 0 && S_ISREG(st.st_mode);
    known = plain ? known_value(l, PDK_SHARED_REF, name, &st) : NULL;
    if (known)
        return add(l, PDK_SHARED_REF, name, known, &st, err);
    if (pdk_fs_read(file, 4096, &text, &ignored) < 0)
        return 0;
    if (pdk_ends_with(pdk_buf_str(&text), "\n"))
        text.data[text.len - 1] = '\0';
    return add(
            l, PDK_SHARED_REF, name, strdup(pdk_buf_str(&text)), plain ? &st : NULL, err);
}

static int look_at_loose(struct look *l, const char *path, int depth, struct pdk_err *err)
{
    PDK_AUTO_FREE char *full = pdk_path_join(l->repo->common_dir, path);
    PDK_AUTO_DIR DIR *dir = full && pdk_fs_is_dir(full) ? opendir(full) : NULL;
    const struct dirent *entry;
    int rc = full ? 0 : pdk_fail_nomem(err);

    if (rc == 0 && !dir)
        return look_at_ref(l, path, err);
    while (rc == 0 && depth < 64 && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        PDK_AUTO_FREE char *child = pdk_strf("%s/%s", path, entry->d_name);

        rc = child ? look_at_loose(l, child, depth + 1, err) : pdk_fail_nomem(err);
    }
    return rc;
}

/* "<object id> <name>", not a comment or what the tag before peels to. */
static bool is_packed(const char *line)
{
    return *line != '#' && *line != '^' && strlen(line) > HEX + 1;
}

/*
 * Loose or packed, a reference is what it names. Read without git: it says nothing of a repository whose
 * configuration somebody has broken.
 */
static int look_at_refs(struct look *l, struct pdk_err *err)
{
    PDK_AUTO_FREE char *file = pdk_path_join(l->repo->common_dir, "packed-refs");
    PDK_AUTO_BUF struct pdk_buf list = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;
    size_t first = l->found.len, loose;
    int rc = file ? look_at_loose(l, "refs", 0, err) : pdk_fail_nomem(err);

    if (rc < 0 || pdk_fs_read(file, (size_t)1 << 30, &list, &ignored) < 0)
        return rc;
    loose = l->found.len;
    for (char *at = list.data; rc == 0 && at && *at;) {
        char *end = strchrnul(at, '\n');
        bool more = *end != '\0';

        *end = '\0';
        if (is_packed(at) && is_watched(l, at + HEX + 1) &&
                !has(l, first, loose, at + HEX + 1))
            rc = add(l, PDK_SHARED_REF, at + HEX + 1, strndup(at, HEX), NULL, err);
        at = end + more;
    }
    return rc;
}

static int look_at_head(struct look *l, struct pdk_err *err)
{
    PDK_AUTO_FREE char *file = pdk_path_join(l->repo->git_dir, "HEAD");
    PDK_AUTO_FREE char *log = pdk_path_join(l->repo->git_dir, head_log);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;
    struct stat st;

    if (!file || !log)
        return pdk_fail_nomem(err);
    if (lstat(log, &st) == 0)
        l->found.logged = (size_t)st.st_size;
    if (pdk_fs_read(file, 4096, &text, &ignored) < 0)
        return 0;
    if (pdk_ends_with(pdk_buf_str(&text), "\n"))
        text.data[text.len - 1] = '\0';
    return add(l, PDK_SHARED_HEAD, "HEAD", strdup(pdk_buf_str(&text)), NULL, err);
}

static int by_path(const void *a, const void *b)
{
    const struct pdk_shared_item *left = a, *right = b;

    return strcmp(left->path, right->path);
}

int pdk_shared_look(const struct pdk_repo *repo, bool wide,
        const struct pdk_shared *before, struct pdk_shared *out, struct pdk_err *err)
{
    struct look l = { .repo = repo, .wide = wide, .before = before };
    struct timespec now;
    int rc;

    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now); /* the clock that stamps files */
    l.found.taken_ns = ns_of(&now);
    rc = look_at_files(&l, err);

    if (rc == 0)
        rc = look_at_refs(&l, err);
    if (rc == 0)
        rc = look_at_head(&l, err);
    if (rc < 0) {
        pdk_shared_fini(&l.found);
        return rc;
    }
    if (l.found.len > 0)
        qsort(l.found.items, l.found.len, sizeof(*l.found.items), by_path);
    *out = l.found;
    return 0;
}

/* ---- comparing */

/*
 * Does a line of HEAD's log, as it grew since, tell why? "old new who when zone\tmessage": git's own
 * commands give a message, a bare update-ref does not.
 */
static bool is_explained(const char *log, const struct pdk_shared_change *c)
{
    bool head = c->kind == PDK_SHARED_HEAD;

    if ((c->kind != PDK_SHARED_REF && !head) || !c->after ||
            strcmp(c->path, "refs/stash") == 0)
        return false;
    for (const char *end; *log; log = end + (*end == '\n')) {
        const char *tab;

        end = strchrnul(log, '\n');
        tab = memchr(log, '\t', (size_t)(end - log));
        if (!tab || end - tab < 2 || tab - log < BOTH)
            continue;
        if (head && pdk_starts_with(tab + 1, "checkout: moving"))
            return true;
        if (strncmp(log + HEX + 1, c->after, HEX) == 0)
            return true;
    }
    return false;
}

/* What a path had, and has now: one of the two may be NULL. */
static int add_change(struct pdk_shared_change **all, size_t *len,
        const struct pdk_shared_item *a, const struct pdk_shared_item *b,
        struct pdk_err *err)
{
    struct pdk_shared_change *more = reallocarray(*all, *len + 1, sizeof(*more));
    const struct pdk_shared_item *either = a ? a : b;

    if (!more)
        return pdk_fail_nomem(err);
    *all = more;
    if (either)
        more[(*len)++] = (struct pdk_shared_change){ either->kind, either->path,
            a ? a->value : NULL, b ? b->value : NULL };
    return 0;
}

static int order_of(const struct pdk_shared_item *a, const struct pdk_shared_item *b)
{
    if (!a || !b)
        return a ? -1 : 1;
    return strcmp(a->path, b->path);
}

static void drop_explained(const struct pdk_repo *repo, size_t logged,
        struct pdk_shared_change *all, size_t *len)
{
    PDK_AUTO_FREE char *file = pdk_path_join(repo->git_dir, head_log);
    PDK_AUTO_BUF struct pdk_buf log = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;
    size_t kept = 0;

    if (!file || pdk_fs_read(file, MAX_FILE, &log, &ignored) < 0 || log.len <= logged)
        return;
    for (size_t i = 0; i < *len; i++)
        if (!is_explained(pdk_buf_str(&log) + logged, &all[i]))
            all[kept++] = all[i];
    *len = kept;
}

/* Two sorted lists, side by side. */
static int list_changes(const struct pdk_shared *before, const struct pdk_shared *after,
        struct pdk_shared_change **all, size_t *len, struct pdk_err *err)
{
    size_t i = 0, j = 0;
    int rc = 0;

    while (rc == 0 && (i < before->len || j < after->len)) {
        const struct pdk_shared_item *a = i < before->len ? &before->items[i] : NULL;
        const struct pdk_shared_item *b = j < after->len ? &after->items[j] : NULL;
        int order = order_of(a, b);

        if (order < 0)
            rc = add_change(all, len, a, NULL, err);
        else if (order > 0)
            rc = add_change(all, len, NULL, b, err);
        else if (strcmp(a->value, b->value) != 0)
            rc = add_change(all, len, a, b, err);
        i += order <= 0;
        j += order >= 0;
    }
    return rc;
}

int pdk_shared_compare(const struct pdk_repo *repo, bool wide,
        const struct pdk_shared *before, const struct pdk_shared *after,
        struct pdk_shared_change **out, size_t *out_len, struct pdk_err *err)
{
    PDK_AUTO_FREE struct pdk_shared_change *all = NULL;
    size_t len = 0;

    if (list_changes(before, after, &all, &len, err) < 0)
        return err->code;
    if (!wide)
        drop_explained(repo, before->logged, all, &len);
    *out = pdk_take_ptr(&all);
    *out_len = len;
    return 0;
}

/* In single quotes, fit for a shell. */
static void add_quoted(struct pdk_buf *out, const char *text)
{
    pdk_buf_addc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            pdk_buf_adds(out, "'\\''");
        else
            pdk_buf_addc(out, *text);
    }
    pdk_buf_addc(out, '\'');
}

char *pdk_shared_restore(const struct pdk_shared_change *change)
{
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;

    if (change->kind != PDK_SHARED_REF ||
            (change->before && strchr(change->before, ' ')) ||
            (change->after && strchr(change->after, ' ')))
        return NULL;
    if (change->before) {
        pdk_buf_adds(&out, "git update-ref ");
        add_quoted(&out, change->path);
        pdk_buf_addf(
                &out, " %s %s", change->before, change->after ? change->after : absent);
    } else {
        pdk_buf_adds(&out, "git update-ref -d ");
        add_quoted(&out, change->path);
        pdk_buf_addf(&out, " %s", change->after);
    }
    return pdk_buf_take(&out);
}
