#include "trees/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/ignore.h"
#include "base/path.h"
#include "base/str.h"
#include "trees/repo.h"

enum {
    GITLINK = 0160000,
    IGNORE_MAX = 4 << 20,
    PATH_MAX_BYTES = 4095,
    DENTS = 64 << 10 /* read at a time */
};

/* The ignore rules that hold in a directory: its own, then those above, then the user's. */
struct rules {
    const struct rules *up;
    struct pdk_ignore *own; /* NULL: none */
};

/* One name of a directory, looked at once. */
struct name {
    char *text; /* in names->bytes */
    struct stat st;
};

struct names {
    struct name *items; /* sorted */
    size_t len;
    struct pdk_buf bytes;
    bool nested; /* there is a .git among them */
    bool rules;  /* there is a .gitignore */
};

struct walker {
    struct pdk_walk_spec *spec;
    struct rules info;     /* the user's info/exclude, weaker than every .gitignore */
    struct rules excludes; /* the repository's core.excludesFile, weakest */
    char *dents;           /* DENTS bytes */
    char path[PATH_MAX_BYTES + NAME_MAX + 2]; /* where the walk is */
};

/* A directory of the walk: the first len bytes of w->path. */
struct place {
    size_t len;
    struct pdk_index_range entries; /* that are below it */
};

/* How a directory is walked. */
enum walk_how {
    WALK_IGNORED = 1U << 0, /* it is ignored: so is what is new in it */
    WALK_UPPER =
            1U << 1 /* of an overlay, where the upper layer stands over a lower one */
};

static int walk_directory(struct walker *w, const struct place *at,
        const struct rules *above, unsigned int how, struct pdk_err *err);

static int tell(struct walker *w, const struct pdk_walk_item *item, struct pdk_err *err)
{
    return w->spec->visit(item, w->spec->user, err);
}

static int warn(struct walker *w, enum pdk_capture_warning_kind kind, const char *path,
        struct pdk_err *err)
{
    struct pdk_walk_item item = { .event = PDK_WALK_WARN, .path = path, .kind = kind };

    return tell(w, &item, err);
}

/* ---- names */

static void names_fini(struct names *names)
{
    free(names->items);
    pdk_buf_fini(&names->bytes);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* The names, one after the other in names->bytes, each with its NUL. */
static int list_names(
        const struct walker *w, int fd, struct names *names, struct pdk_err *err)
{
    for (;;) {
        ssize_t n = getdents64(fd, w->dents, DENTS);

        if (n < 0)
            return pdk_fail(err, PDK_EIO, errno, "cannot read a directory");
        if (n == 0)
            return pdk_buf_ok(&names->bytes, err);
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const void *)(w->dents + at);
            const char *name = entry->d_name;

            at += entry->d_reclen;
            if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                continue;
            names->nested = names->nested || strcmp(name, ".git") == 0;
            names->rules = names->rules || strcmp(name, ".gitignore") == 0;
            pdk_buf_add(&names->bytes, name, strlen(name) + 1);
            names->len++;
        }
    }
}

/* What is in a directory that may not be read is not gone. */
enum { READ_CLOSED = 1 };

/* Looks at them all while the directory is open: afterwards nothing of it is held. */
static int look_at_names(int fd, struct names *names)
{
    size_t kept = 0;

    for (size_t i = 0; i < names->len; i++) {
        struct name *name = &names->items[kept];

        name->text = names->items[i].text;
        if (fstatat(fd, name->text, &name->st, AT_SYMLINK_NOFOLLOW) == 0)
            kept++;
        else if (errno != ENOENT)
            return READ_CLOSED; /* listed, but not to be looked at */
    }
    names->len = kept;
    return 0;
}

static int read_names(
        const struct walker *w, int fd, struct names *names, struct pdk_err *err)
{
    char *text;

    if (list_names(w, fd, names, err) < 0)
        return err->code;
    names->items = calloc(names->len + 1, sizeof(*names->items));
    if (!names->items)
        return pdk_fail_nomem(err);
    text = names->bytes.data;
    for (size_t i = 0; i < names->len; i++) {
        names->items[i].text = text;
        text += strlen(text) + 1;
    }
    if (names->len > 1)
        qsort(names->items, names->len, sizeof(*names->items), by_text);
    return look_at_names(fd, names);
}

/* ---- ignore rules */

/* The rules in one open file (or -1, taken); none where it is too large or no file. */
static int read_rules(
        int opened, const char *base, struct pdk_ignore **out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_FD int fd = opened;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > IGNORE_MAX ||
            pdk_fs_read_fd(fd, IGNORE_MAX, &text, NULL) < 0)
        return 0;
    return pdk_ignore_parse(pdk_buf_str(&text), text.len, base, out, err);
}

/* The user's own files may be links, unlike those of the copy. */
static int open_rules(int at, const char *path, int flags)
{
    return openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
}

static bool is_ignored(const struct rules *rules, const char *path, bool is_dir)
{
    for (; rules; rules = rules->up) {
        enum pdk_ignore_match match =
                rules->own ? pdk_ignore_match(rules->own, path, is_dir) : PDK_IGNORE_NONE;

        if (match != PDK_IGNORE_NONE)
            return match == PDK_IGNORE_YES;
    }
    return false;
}

/* ---- one name */

static int visit_file(struct walker *w, const struct pdk_index_entry *entry,
        const struct stat *st, const struct rules *rules, unsigned int how,
        struct pdk_err *err)
{
    const char *path = w->path;
    struct pdk_walk_item item = {
        .event = PDK_WALK_NEW, .path = path, .st = st, .entry = entry
    };

    if (!entry && ((how & WALK_IGNORED) || is_ignored(rules, path, false))) {
        w->spec->ignored_files++;
        return 0;
    }
    if (entry)
        item.event = pdk_index_is_clean(w->spec->index, entry, st) ? PDK_WALK_SAME
                                                                   : PDK_WALK_CHECK;
    return tell(w, &item, err);
}

/* A submodule of the base stays what it is while its directory is there. */
static int visit_gitlink(struct walker *w, const struct pdk_index_entry *entry,
        const struct stat *st, struct pdk_err *err)
{
    struct pdk_walk_item item = {
        .event = PDK_WALK_SAME, .path = w->path, .st = st, .entry = entry
    };

    return tell(w, &item, err);
}

static int tell_gone(struct walker *w, const char *path, struct pdk_err *err)
{
    struct pdk_walk_item item = { .event = PDK_WALK_GONE, .path = path };

    return tell(w, &item, err);
}

/*
 * A directory of the upper layer that hides the lower one, or shows another one in its place, is
 * walked whole; what the index has below it is gone unless it is met there.
 */
static int settle_layer(
        struct walker *w, const char *path, unsigned int *how, struct pdk_err *err)
{
    static const char *const marks[] = { "trusted.overlay.opaque",
        "trusted.overlay.redirect", "user.overlay.opaque", "user.overlay.redirect" };
    PDK_AUTO_FD int fd =
            pdk_beneath_open(w->spec->upper_fd, path, O_RDONLY | O_DIRECTORY, 0);

    if (fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot open '%s' in the upper layer", path);
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (fgetxattr(fd, marks[i], NULL, 0) >= 0) {
            *how &= ~(unsigned int)WALK_UPPER;
            return tell_gone(w, path, err);
        }
    return 0;
}

static int visit_directory(struct walker *w, const struct pdk_index_entry *entry,
        const struct place *at, const struct stat *st, const struct rules *rules,
        unsigned int how, struct pdk_err *err)
{
    const char *path = w->path;
    bool ignored = (how & WALK_IGNORED) || is_ignored(rules, path, true);

    if (entry && entry->mode == GITLINK)
        return visit_gitlink(w, entry, st, err);
    /* It stands where a file was: in an upper layer nothing else tells that. */
    if (entry && (how & WALK_UPPER) && tell_gone(w, path, err) < 0)
        return err->code;
    if (ignored && at->entries.first == at->entries.end) {
        w->spec->ignored_files++;
        return 0;
    }
    how = (how & WALK_UPPER) | (ignored ? WALK_IGNORED : 0);
    if (how & WALK_UPPER) {
        int rc = settle_layer(w, path, &how, err);

        if (rc < 0)
            return rc;
    }
    return walk_directory(w, at, rules, how, err);
}

/*
 * No directory, in the upper layer: a whiteout, a special file, or a file, each in the place of what
 * the lower layer has. Its stat data are those that the mount shows.
 */
static int visit_upper(struct walker *w, const char *path, const struct name *name,
        struct stat *st, struct pdk_err *err)
{
    bool whiteout = S_ISCHR(name->st.st_mode) && name->st.st_rdev == 0;
    bool file = S_ISREG(name->st.st_mode) || S_ISLNK(name->st.st_mode);

    if ((!file || pdk_index_has_below(w->spec->index, path)) &&
            tell_gone(w, path, err) < 0)
        return err->code;
    if (whiteout || fstatat(w->spec->root_fd, path, st, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    return pdk_fail(err, PDK_EIO, errno, "cannot look at '%s'", path);
}

/* What is at w->path. */
static int visit_here(struct walker *w, const struct place *dir, const struct name *name,
        const struct rules *rules, unsigned int how, struct pdk_err *err)
{
    const struct pdk_index_entry *entry =
            pdk_index_find_in(w->spec->index, &dir->entries, name->text);
    struct stat st = name->st;

    if (S_ISDIR(st.st_mode)) {
        struct place at = { strlen(w->path),
            pdk_index_range_below(w->spec->index, &dir->entries, name->text) };

        return visit_directory(w, entry, &at, &st, rules, how, err);
    }
    if ((how & WALK_UPPER) && visit_upper(w, w->path, name, &st, err) != 0)
        return err->code;
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return S_ISCHR(st.st_mode) && st.st_rdev == 0 && (how & WALK_UPPER)
                ? 0
                : warn(w, PDK_CAPTURE_SPECIAL, w->path, err);
    return visit_file(w, entry, &st, rules, how, err);
}

static int visit_name(struct walker *w, const struct place *dir, const struct name *name,
        const struct rules *rules, unsigned int how, struct pdk_err *err)
{
    size_t len = strlen(name->text), start = dir->len + (dir->len > 0);
    int rc;

    if (strcmp(name->text, ".git") == 0)
        return 0;
    if (dir->len > 0)
        w->path[dir->len] = '/';
    memcpy(w->path + start, name->text, len + 1);
    if (pdk_path_is_dotgit(name->text, len))
        rc = warn(w, PDK_CAPTURE_DOTGIT, w->path, err);
    else if (start + len > PATH_MAX_BYTES)
        rc = pdk_fail(err, PDK_EINVAL, 0, "the path '%.60s…' is longer than %d bytes",
                w->path, PATH_MAX_BYTES);
    else
        rc = visit_here(w, dir, name, rules, how, err);
    w->path[dir->len] = '\0';
    return rc;
}

/* ---- directories */

/* Rules of an upper layer's directory may lie in the lower one. */
static int read_own_rules(struct walker *w, int fd, unsigned int how,
        const struct names *names, struct rules *rules, struct pdk_err *err)
{
    if (!names->rules && !(how & WALK_UPPER))
        return 0;
    return read_rules(
            open_rules(fd, ".gitignore", O_NOFOLLOW), w->path, &rules->own, err);
}

static int read_directory(struct walker *w, unsigned int how, struct names *names,
        struct rules *rules, struct pdk_err *err)
{
    const char *path = w->path;
    PDK_AUTO_FD int fd = pdk_beneath_open(w->spec->root_fd, path[0] ? path : ".",
            O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
    PDK_AUTO_FD int upper = -1;
    int rc;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return path[0] ? 0 : pdk_fail(err, PDK_ENOTFOUND, 0, "the working copy is gone");
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        return READ_CLOSED;
    if (fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", path);
    if (how & WALK_UPPER) {
        upper = pdk_beneath_open(
                w->spec->upper_fd, path[0] ? path : ".", O_RDONLY | O_DIRECTORY, 0);
        if (upper < 0)
            return pdk_fail(err, PDK_EIO, errno, "cannot read '%s'", path);
    }
    rc = read_names(w, upper >= 0 ? upper : fd, names, err);
    return rc != 0 ? rc : read_own_rules(w, fd, how, names, rules, err);
}

static int visit_names(struct walker *w, const struct place *at,
        const struct names *names, const struct rules *rules, unsigned int how,
        struct pdk_err *err)
{
    if (names->nested && at->len > 0 &&
            warn(w, PDK_CAPTURE_NESTED_REPO, w->path, err) < 0)
        return err->code;
    if (names->len == 0 && at->len > 0 && how == 0)
        return warn(w, PDK_CAPTURE_EMPTY_DIR, w->path, err);
    for (size_t i = 0; i < names->len; i++)
        if (visit_name(w, at, &names->items[i], rules, how, err) < 0)
            return err->code;
    return 0;
}

/* Says once that it cannot be read, and for each entry below that it is as it was. */
static int tell_closed(struct walker *w, const struct place *at, struct pdk_err *err)
{
    if (warn(w, PDK_CAPTURE_UNREADABLE, w->path, err) < 0)
        return err->code;
    for (size_t i = at->entries.first; i < at->entries.end; i++) {
        const struct pdk_index_entry *entry = &w->spec->index->entries[i];
        struct pdk_walk_item item = {
            .event = PDK_WALK_SAME, .path = entry->path, .entry = entry
        };

        if (tell(w, &item, err) < 0)
            return err->code;
    }
    return 0;
}

/* Recursion is as deep as a path has components: 2,048 at most, with little on the stack. */
static int walk_directory(struct walker *w, const struct place *at,
        const struct rules *above, unsigned int how, struct pdk_err *err)
{
    struct names names = { .bytes = PDK_BUF_INIT };
    struct rules rules = { above, NULL };
    int rc = read_directory(w, how, &names, &rules, err);

    if (rc == READ_CLOSED)
        rc = tell_closed(w, at, err);
    else if (rc == 0)
        rc = visit_names(w, at, &names, &rules, how, err);
    pdk_ignore_free(rules.own);
    names_fini(&names);
    return rc;
}

/* The repository's rules only: what somebody ignores everywhere (core.excludesFile) would hide work. */
static int read_info_rules(struct walker *w, struct pdk_err *err)
{
    const struct pdk_repo *repo = w->spec->repo;
    PDK_AUTO_FREE char *info = pdk_path_join(repo->common_dir, "info/exclude");

    if (!info)
        return pdk_fail_nomem(err);
    w->info.up = &w->excludes;
    if (repo->excludes_file &&
            read_rules(open_rules(AT_FDCWD, repo->excludes_file, 0), "", &w->excludes.own,
                    err) < 0)
        return err->code;
    return read_rules(open_rules(AT_FDCWD, info, 0), "", &w->info.own, err);
}

static int walk_all(struct walker *w, struct pdk_err *err)
{
    struct place top = { 0, pdk_index_all(w->spec->index) };
    int rc = read_info_rules(w, err);

    if (rc == 0)
        rc = walk_directory(
                w, &top, &w->info, w->spec->upper_fd >= 0 ? WALK_UPPER : 0, err);
    pdk_ignore_free(w->info.own);
    pdk_ignore_free(w->excludes.own);
    return rc;
}

int pdk_walk(struct pdk_walk_spec *spec, struct pdk_err *err)
{
    PDK_AUTO_FREE struct walker *w = calloc(1, sizeof(*w));
    PDK_AUTO_FREE char *dents = malloc(DENTS);
    struct stat st;

    if (!w || !dents)
        return pdk_fail_nomem(err);
    if (fstat(spec->root_fd, &st) < 0 || st.st_nlink == 0)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "the working copy is gone");
    w->spec = spec;
    w->dents = dents;
    return walk_all(w, err);
}
