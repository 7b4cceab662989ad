/* Ignored files of the user's tree, brought along into a sandbox: found by git, copied by handle. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/ignore.h"
#include "base/path.h"
#include "base/utf8.h"
#include "trees/checkout.h"
#include "trees/repo.h"

enum { WARNINGS_MAX = 50 };

struct including {
    int from_fd, to_fd; /* tops of the user's tree and of the copy */
    struct pdk_ignore *patterns;
    struct pdk_strv *warnings;
    size_t vanished;
};

static int warn(
        struct including *in, const char *path, const char *text, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf line = PDK_BUF_INIT;

    if (!in->warnings || in->warnings->len >= WARNINGS_MAX)
        return 0;
    pdk_utf8_printable(path, strlen(path), &line);
    pdk_buf_addf(&line, " %s", text);
    pdk_strv_take(in->warnings, pdk_buf_take(&line));
    return pdk_strv_ok(in->warnings, err);
}

/* A pattern names the path itself or a directory above it. */
static bool wanted(const struct including *in, const char *path)
{
    PDK_AUTO_FREE char *copy = strdup(path);

    if (!copy || pdk_ignore_match(in->patterns, path, false) == PDK_IGNORE_NO)
        return false;
    if (pdk_ignore_match(in->patterns, path, false) == PDK_IGNORE_YES)
        return true;
    for (char *slash = strrchr(copy, '/'); slash; slash = strrchr(copy, '/')) {
        *slash = '\0';
        if (pdk_ignore_match(in->patterns, copy, true) == PDK_IGNORE_YES)
            return true;
    }
    return false;
}

/* Makes the directories on the way; false where something else is in the way. */
static bool make_parents(const struct including *in, const char *path)
{
    char dir[PATH_MAX];
    size_t at = 0;

    while (pdk_path_next_dir(path, &at, dir, sizeof(dir))) {
        int fd = -1;

        if (mkdirat(in->to_fd, dir, 0755) == 0 || errno == EEXIST)
            fd = pdk_beneath_open(in->to_fd, dir, O_PATH | O_DIRECTORY, 0);
        if (fd < 0)
            return false;
        (void)close(fd);
    }
    return true;
}

/* Links are copied as links, as long as they stay inside. */
static bool leads_out(const char *path, const char *target)
{
    int depth = 0;

    for (const char *at = path; (at = strchr(at, '/')); at++)
        depth++;
    if (target[0] == '/')
        return true;
    while (*target) {
        size_t len = strcspn(target, "/");

        if (len == 2 && strncmp(target, "..", 2) == 0)
            depth--;
        else if (len > 0 && !(len == 1 && target[0] == '.'))
            depth++;
        if (depth < 0)
            return true;
        target += len + (target[len] == '/');
    }
    return false;
}

static int copy_link(struct including *in, const char *path, struct pdk_err *err)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(in->from_fd, path, target, sizeof(target) - 1);

    if (n < 0) {
        in->vanished++;
        return 0;
    }
    target[n] = '\0';
    if (leads_out(path, target))
        return warn(
                in, path, "is a link that leads out of the tree: it was left out", err);
    if (symlinkat(target, in->to_fd, path) < 0 && errno != EEXIST)
        return pdk_fail(err, PDK_EIO, errno, "cannot make the link '%s'", path);
    return 0;
}

static int copy_bytes(int from, int to, struct pdk_err *err)
{
    char chunk[8192];
    ssize_t n;

    while ((n = copy_file_range(from, NULL, to, NULL, (size_t)1 << 30, 0)) > 0)
        ;
    if (n == 0)
        return 0;
    /* Some file systems refuse it: by hand then, from where it stands. */
    while ((n = read(from, chunk, sizeof(chunk))) > 0)
        if (pdk_fs_write_fd(to, chunk, (size_t)n, err) < 0)
            return err->code;
    return n < 0 ? pdk_fail(err, PDK_EIO, errno, "cannot read") : 0;
}

static int copy_file(struct including *in, const char *path, int from,
        const struct stat *st, struct pdk_err *err)
{
    struct timespec times[2] = { st->st_atim, st->st_mtim };
    PDK_AUTO_FD int to = pdk_beneath_open(
            in->to_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);

    if (to < 0 && errno == EEXIST)
        return 0; /* never over what is there */
    if (to < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", path);
    if (copy_bytes(from, to, err) < 0)
        return pdk_wrap(err, "'%s'", path);
    if (fchmod(to, st->st_mode & 07777) < 0 || futimens(to, times) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot set mode and times of '%s'", path);
    return 0;
}

static int copy_one(struct including *in, const char *path, struct pdk_err *err)
{
    PDK_AUTO_FD int from = -1;
    struct stat st;

    if (!pdk_path_is_safe(path, strlen(path)))
        return warn(in, path, "has an unsafe path: it was left out", err);
    if (!make_parents(in, path))
        return warn(in, path, "has something else in its way: it was left out", err);
    if (fstatat(in->from_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        return copy_link(in, path, err);
    from = pdk_beneath_open(in->from_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (from < 0 || fstat(from, &st) < 0) {
        in->vanished += errno == ENOENT;
        return errno == ENOENT ? 0
                               : warn(in, path, "cannot be read: it was left out", err);
    }
    if (!S_ISREG(st.st_mode))
        return warn(in, path, "is no regular file: it was left out", err);
    return copy_file(in, path, from, &st, err);
}

static int copy_listed(
        struct including *in, const struct pdk_buf *list, struct pdk_err *err)
{
    const char *at = pdk_buf_str(list), *end = at + list->len;

    for (; at < end; at += strlen(at) + 1)
        if (wanted(in, at) && copy_one(in, at, err) < 0)
            return err->code;
    if (in->vanished > 0 && in->warnings) {
        pdk_strv_addf(in->warnings, "%zu included files vanished while they were copied",
                in->vanished);
        return pdk_strv_ok(in->warnings, err);
    }
    return 0;
}

static int parse_patterns(
        const struct pdk_strv *patterns, struct pdk_ignore **out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    for (size_t i = 0; i < patterns->len; i++)
        pdk_buf_addf(&text, "%s\n", patterns->items[i]);
    if (pdk_buf_ok(&text, err) < 0)
        return err->code;
    return pdk_ignore_parse(pdk_buf_str(&text), text.len, "", out, err);
}

int pdk_checkout_include(const struct pdk_repo *repo, const struct pdk_strv *patterns,
        const char *dir, struct pdk_strv *warnings, struct pdk_err *err)
{
    static const char *const args[] = { "ls-files", "-z", "--others", "--ignored",
        "--exclude-standard", NULL };
    PDK_AUTO_IGNORE struct pdk_ignore *parsed = NULL;
    PDK_AUTO_BUF struct pdk_buf list = PDK_BUF_INIT;
    PDK_AUTO_FD int from = open(repo->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    PDK_AUTO_FD int to = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct including in = { .from_fd = from, .to_fd = to, .warnings = warnings };

    if (from < 0 || to < 0)
        return pdk_fail(
                err, PDK_EIO, errno, "cannot open '%s'", from < 0 ? repo->root : dir);
    if (parse_patterns(patterns, &parsed, err) < 0 ||
            pdk_repo_git(repo, args, NULL, &list, err) < 0)
        return err->code;
    in.patterns = parsed;
    return copy_listed(&in, &list, err);
}

int pdk_checkout_omitted(const struct pdk_repo *repo, int root_fd, size_t max,
        struct pdk_strv *paths, size_t *count, struct pdk_err *err)
{
    static const char *const args[] = { "ls-files", "-z", "--others", "--ignored",
        "--exclude-standard", "--directory", NULL };
    PDK_AUTO_BUF struct pdk_buf list = PDK_BUF_INIT;
    const char *within = NULL;
    struct stat st;

    if (pdk_repo_git(repo, args, NULL, &list, err) < 0)
        return err->code;
    *count = 0;
    for (size_t at = 0; at < list.len; at += strlen(list.data + at) + 1) {
        const char *path = list.data + at;

        /* what lies in a directory that was counted is listed after it */
        if ((within && pdk_starts_with(path, within)) ||
                fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        within = pdk_ends_with(path, "/") ? path : NULL;
        if (++*count <= max)
            pdk_strv_add(paths, path);
    }
    return pdk_strv_ok(paths, err);
}
