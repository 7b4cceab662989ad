#include "sandbox/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/ignore.h"
#include "base/str.h"

enum { IGNORE_MAX = 1 << 20, NAMES_FIRST = 32 };

struct name {
    char *text;
    enum pdk_scan_kind kind;
};

/* One directory on the way down. */
struct level {
    struct level *up;
    char *path; /* "" for the root */
    struct pdk_ignore *ignore;
    struct name *names;
    size_t len, cap, at;
};

struct walk {
    const struct pdk_scan_spec *spec;
    struct level *bottom;
};

int pdk_scan_open(int root_fd, const char *path, int flags)
{
    /* openat2 refuses a bare handle with flags that mean nothing for it. */
    int safe = flags & O_PATH ? O_CLOEXEC : O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

    return pdk_beneath_follow(root_fd, path, flags | safe, 0600);
}

static void pop(struct walk *w)
{
    struct level *gone = w->bottom;

    w->bottom = gone->up;
    for (size_t i = 0; i < gone->len; i++)
        free(gone->names[i].text);
    free(gone->names);
    pdk_ignore_free(gone->ignore);
    free(gone->path);
    free(gone);
}

static struct level *push(struct walk *w, char *path)
{
    PDK_AUTO_FREE char *owned = path;
    struct level *made = owned ? calloc(1, sizeof(*made)) : NULL;

    if (!made)
        return NULL;
    made->path = pdk_take_ptr(&owned);
    made->up = w->bottom;
    w->bottom = made;
    return made;
}

/* ---- ignoring */

/* What cannot be read or parsed ignores nothing. */
static int read_ignore(const struct walk *w, struct level *l, const char *file)
{
    PDK_AUTO_FREE char *path =
            l->path[0] ? pdk_strf("%s/%s", l->path, file) : strdup(file);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_FD int fd = -1;
    struct stat st;

    if (!path)
        return PDK_ENOMEM;
    fd = pdk_scan_open(w->spec->root_fd, path, O_RDONLY | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
            pdk_fs_read_fd(fd, IGNORE_MAX, &text, NULL) < 0)
        return 0;
    return pdk_ignore_parse(pdk_buf_str(&text), text.len, l->path, &l->ignore, NULL) ==
                    PDK_ENOMEM
            ? PDK_ENOMEM
            : 0;
}

/* The nearest file that has something to say decides. */
static bool is_ignored(const struct walk *w, const char *path, bool is_dir)
{
    for (const struct level *l = w->bottom; l; l = l->up) {
        enum pdk_ignore_match match =
                l->ignore ? pdk_ignore_match(l->ignore, path, is_dir) : PDK_IGNORE_NONE;

        if (match != PDK_IGNORE_NONE)
            return match == PDK_IGNORE_YES;
    }
    return false;
}

/* ---- one directory */

static enum pdk_scan_kind kind_of(int fd, const struct dirent *entry)
{
    struct stat st;
    unsigned char type = entry->d_type;

    if (type == DT_UNKNOWN && fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        type = (unsigned char)IFTODT(st.st_mode);
    switch (type) {
    case DT_REG:
        return PDK_SCAN_FILE;
    case DT_DIR:
        return PDK_SCAN_DIRECTORY;
    case DT_LNK:
        return PDK_SCAN_LINK;
    default:
        return PDK_SCAN_OTHER;
    }
}

static int add_name(struct level *l, const char *text, enum pdk_scan_kind kind)
{
    if (l->len == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : NAMES_FIRST;
        struct name *grown = reallocarray(l->names, cap, sizeof(*grown));

        if (!grown)
            return PDK_ENOMEM;
        l->names = grown;
        l->cap = cap;
    }
    l->names[l->len].text = strdup(text);
    if (!l->names[l->len].text)
        return PDK_ENOMEM;
    l->names[l->len++].kind = kind;
    return 0;
}

/* As git sorts paths: a directory's name as if a slash stood behind it. */
static int by_path(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    size_t n = strlen(x->text), m = strlen(y->text), least = n < m ? n : m;
    int order = memcmp(x->text, y->text, least);
    unsigned char p, q;

    if (order != 0)
        return order;
    p = (unsigned char)x->text[least];
    q = (unsigned char)y->text[least];
    p = p == '\0' && x->kind == PDK_SCAN_DIRECTORY ? '/' : p;
    q = q == '\0' && y->kind == PDK_SCAN_DIRECTORY ? '/' : q;
    return (p > q) - (p < q);
}

static int read_names(struct level *l, int fd)
{
    PDK_AUTO_DIR DIR *dir = fdopendir(fd);
    const struct dirent *entry;

    if (!dir) {
        (void)close(fd);
        return PDK_EIO;
    }
    while ((entry = readdir(dir))) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
                strcmp(name, ".git") == 0)
            continue;
        if (add_name(l, name, kind_of(dirfd(dir), entry)) < 0)
            return PDK_ENOMEM;
    }
    if (l->len > 0)
        qsort(l->names, l->len, sizeof(*l->names), by_path);
    return 0;
}

static bool has_ignore_file(const struct level *l)
{
    for (size_t i = 0; i < l->len; i++)
        if (strcmp(l->names[i].text, ".gitignore") == 0)
            return true;
    return false;
}

/* -1 with errno where the directory cannot be opened. */
static int enter(struct walk *w, char *path)
{
    struct level *l = push(w, path);
    int fd;

    if (!l)
        return PDK_ENOMEM;
    fd = pdk_scan_open(w->spec->root_fd, l->path[0] ? l->path : ".",
            O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    if (read_names(l, fd) == PDK_ENOMEM)
        return PDK_ENOMEM;
    if (w->spec->ignored || !has_ignore_file(l))
        return 0;
    return read_ignore(w, l, ".gitignore");
}

/* ---- the walk */

static int visit_name(struct walk *w, struct level *l, const struct name *name)
{
    bool is_dir = name->kind == PDK_SCAN_DIRECTORY;
    PDK_AUTO_FREE char *path =
            l->path[0] ? pdk_strf("%s/%s", l->path, name->text) : strdup(name->text);
    int rc;

    if (!path)
        return PDK_ENOMEM;
    if (!w->spec->ignored && is_ignored(w, path, is_dir))
        return 0;
    rc = w->spec->visit(path, name->kind, w->spec->user);
    if (rc != 0 || !is_dir)
        return rc;
    rc = enter(w, pdk_take_ptr(&path));
    return rc == -1 ? 0 : rc; /* gone or closed to us meanwhile */
}

static int walk_from(struct walk *w, const struct level *first)
{
    for (;;) {
        struct level *l = w->bottom;
        int rc;

        if (l->at == l->len) {
            if (l == first)
                return 0;
            pop(w);
            continue;
        }
        rc = visit_name(w, l, &l->names[l->at++]);
        if (rc != 0)
            return rc;
    }
}

/* The ignore files above where the walk begins count as well. */
static int push_parents(struct walk *w, const char *path)
{
    struct level *l = push(w, strdup(""));
    const char *slash = path;

    if (!l || read_ignore(w, l, ".git/info/exclude") < 0)
        return PDK_ENOMEM;
    while (path[0] && slash) {
        l = push(w, strndup(path, (size_t)(slash - path)));
        if (!l || read_ignore(w, l, ".gitignore") < 0)
            return PDK_ENOMEM;
        slash = strchr(slash + 1, '/');
    }
    return 0;
}

static int walk_all(struct walk *w, const char *start, struct pdk_err *err)
{
    int rc = w->spec->ignored ? 0 : push_parents(w, start);

    if (rc == 0)
        rc = enter(w, strdup(start));
    if (rc == -1)
        return pdk_fail(err,
                errno == ENOENT || errno == ENOTDIR ? PDK_ENOTFOUND : PDK_EIO, errno,
                "cannot open the directory '%s'", start);
    if (rc == 0)
        rc = walk_from(w, w->bottom);
    return rc == PDK_ENOMEM ? pdk_fail_nomem(err) : rc;
}

int pdk_scan(const struct pdk_scan_spec *spec, struct pdk_err *err)
{
    const char *start = spec->path && strcmp(spec->path, ".") != 0 ? spec->path : "";
    struct walk w = { .spec = spec };
    int rc = walk_all(&w, start, err);

    while (w.bottom)
        pop(&w);
    return rc;
}
