/* Looking at the working tree without trusting it: below one handle, through no link. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/str.h"
#include "promote/land.h"
#include "promote/land_internal.h"
#include "trees/repo.h"
#include "trees/vault.h"

static const char changed[] = "changed meanwhile";
static const char gone[] = "removed meanwhile";
static const char in_the_way[] = "exists already";
static const char other_type[] = "of another type now";
static const char other_bit[] = "executable bit changed meanwhile";
static const char bad_parent[] = "below a file or a link";

int pdk_land_open_dir(const struct pdk_landing *l, const char *path, int flags)
{
    return pdk_beneath_open(l->root_fd, path[0] ? path : ".", flags | O_DIRECTORY, 0);
}

int pdk_land_open_parent(const struct pdk_landing *l, const char *path)
{
    char dir[4096] = "";
    const char *leaf = pdk_path_basename(path);

    if (leaf > path)
        memcpy(dir, path, (size_t)(leaf - path) - 1);
    return pdk_land_open_dir(l, dir, O_PATH);
}

/* ---- the change set, sorted by path bytes */

/* The first change whose path is not below `text` of len bytes in order. */
static size_t lower_bound(const struct pdk_diff *diff, const char *text)
{
    size_t low = 0, high = diff->len;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp(diff->changes[mid].path, text) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static const struct pdk_change *find(const struct pdk_diff *diff, const char *path)
{
    size_t at = lower_bound(diff, path);

    return at < diff->len && strcmp(diff->changes[at].path, path) == 0
            ? &diff->changes[at]
            : NULL;
}

bool pdk_land_wants_dir(const struct pdk_landing *l, const char *dir)
{
    PDK_AUTO_FREE char *prefix = pdk_strf("%s/", dir);

    if (!prefix)
        return true; /* then the directory stays: the harmless side */
    for (size_t i = lower_bound(&l->diff, prefix); i < l->diff.len; i++) {
        if (!pdk_starts_with(l->diff.changes[i].path, prefix))
            return false;
        if (l->diff.changes[i].new_mode != 0)
            return true;
    }
    return false;
}

/* Does the change take away a file that stands where path needs a directory? */
static bool parent_leaves(const struct pdk_landing *l, const char *path)
{
    char dir[4096] = "";

    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
        const struct pdk_change *c;

        memcpy(dir, path, (size_t)(at - path));
        dir[at - path] = '\0';
        c = find(&l->diff, dir);
        if (c && c->old_mode != 0 && c->new_mode == 0)
            return true;
    }
    return false;
}

/* Would nothing but directories be left below path, once the change's deletions are made? */
static bool dir_empties(const struct pdk_landing *l, const char *path)
{
    int fd = pdk_land_open_dir(l, path, O_RDONLY);
    PDK_AUTO_DIR DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    bool all = true;

    if (!dir) {
        pdk_cleanup_fd(&fd);
        return false;
    }
    while (all && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        PDK_AUTO_FREE char *child = pdk_strf("%s/%s", path, entry->d_name);
        const struct pdk_change *c = child ? find(&l->diff, child) : NULL;

        all = child && ((c && c->new_mode == 0) || dir_empties(l, child));
    }
    return all;
}

/* ---- bytes */

bool pdk_land_converts_all(const struct pdk_repo *repo)
{
    const char *config_home =
            getenv("XDG_CONFIG_HOME"); /* NOLINT(concurrency-mt-unsafe): nobody sets */
    const char *home = getenv("HOME"); /* NOLINT(concurrency-mt-unsafe): the same */
    PDK_AUTO_FREE char *info = pdk_strf("%s/info/attributes", repo->common_dir);
    PDK_AUTO_FREE char *global = config_home && config_home[0]
            ? pdk_strf("%s/git/attributes", config_home)
            : pdk_strf("%s/.config/git/attributes", home ? home : "");
    const char *named[] = { "config", "core.attributesFile", NULL };
    struct pdk_err ignored = PDK_ERR_INIT;

    if (repo->autocrlf && strcmp(repo->autocrlf, "false") != 0)
        return true;
    if (!info || !global || pdk_fs_exists(info) || pdk_fs_exists(global))
        return true; /* out of memory: git, asked in vain, does no harm */
    return pdk_repo_git(repo, named, NULL, NULL, &ignored) == 0;
}

bool pdk_land_converts(const struct pdk_landing *l, const char *path)
{
    PDK_AUTO_BUF struct pdk_buf name = PDK_BUF_INIT;

    if (l->converts_all)
        return true;
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += at > path;
        pdk_buf_reset(&name);
        pdk_buf_add(&name, path, (size_t)(at - path));
        pdk_buf_adds(&name, ".gitattributes");
        if (faccessat(l->root_fd, pdk_buf_str(&name), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    }
    return false;
}

/* 1 when the rest of fd is exactly the bytes, 0 when not, -1 with errno. */
static int stream_equals(int fd, const char *data, size_t len)
{
    char chunk[8192];

    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            return len == 0;
        if ((size_t)n > len || memcmp(chunk, data, (size_t)n) != 0)
            return 0;
        data += n;
        len -= (size_t)n;
    }
}

/* What git would store for the file: a checkout with other line ends counts as unchanged. */
static int same_for_git(const struct pdk_landing *l, const struct pdk_change *change,
        const char *shown, bool *same, struct pdk_err *err)
{
    PDK_AUTO_FREE char *as = pdk_strf("--path=%s", change->path);
    const char *args[] = { "hash-object", as, "--", shown, NULL };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    int rc = as ? pdk_repo_git_converting(l->spec->repo, args, NULL, &text, err)
                : pdk_fail_nomem(err);

    if (rc == 0)
        *same = text.len >= 40 && memcmp(text.data, change->old_oid.hex, 40) == 0;
    return rc;
}

static int compare_file(const struct pdk_landing *l, const struct pdk_change *change,
        int dir_fd, const char *name, const char *shown, bool *same, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf blob = PDK_BUF_INIT;
    PDK_AUTO_FD int fd =
            openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int equal;

    if (fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot read '%s'", change->path);
    if (pdk_vault_read_blob(l->spec->vault, &change->old_oid, SIZE_MAX, &blob, err) < 0)
        return err->code;
    equal = stream_equals(fd, pdk_buf_str(&blob), blob.len);
    if (equal < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot read '%s'", change->path);
    *same = equal == 1;
    if (*same || !pdk_land_converts(l, change->path))
        return 0;
    return same_for_git(l, change, shown, same, err);
}

static int compare_link(const struct pdk_landing *l, const struct pdk_change *change,
        int dir_fd, const char *name, bool *same, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf blob = PDK_BUF_INIT;
    char target[4097];
    ssize_t n = readlinkat(dir_fd, name, target, sizeof(target));

    if (n < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot read '%s'", change->path);
    if (pdk_vault_read_blob(l->spec->vault, &change->old_oid, SIZE_MAX, &blob, err) < 0)
        return err->code;
    *same = blob.len == (size_t)n && memcmp(pdk_buf_str(&blob), target, blob.len) == 0;
    return 0;
}

int pdk_land_compare(const struct pdk_landing *l, const struct pdk_change *change,
        int dir_fd, const char *name, const char *shown, const char **why,
        struct pdk_err *err)
{
    struct stat st;
    bool same = false;
    int rc;

    *why = NULL;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        *why = gone;
        return errno == ENOENT
                ? 0
                : pdk_fail(err, PDK_EIO, errno, "cannot see '%s'", change->path);
    }
    if ((st.st_mode & S_IFMT) != (change->old_mode & S_IFMT)) {
        *why = other_type;
        return 0;
    }
    if (S_ISLNK(st.st_mode)) {
        rc = compare_link(l, change, dir_fd, name, &same, err);
    } else {
        bool executable = (change->old_mode & 0100) != 0;

        if (l->spec->repo->file_mode && ((st.st_mode & 0100) != 0) != executable) {
            *why = other_bit;
            return 0;
        }
        rc = compare_file(l, change, dir_fd, name, shown, &same, err);
    }
    *why = rc == 0 && !same ? changed : NULL;
    return rc;
}

/* An addition: nothing may be there, but for what the same change takes away. */
static int look_absent(const struct pdk_landing *l, const char *path, const char **why,
        struct pdk_err *err)
{
    PDK_AUTO_FD int dir = pdk_land_open_parent(l, path);
    struct stat st;

    if (dir < 0 && (errno == ENOTDIR || errno == ELOOP)) {
        *why = parent_leaves(l, path) ? NULL : bad_parent;
        return 0;
    }
    if (dir < 0)
        return errno == ENOENT
                ? 0
                : pdk_fail(err, PDK_EIO, errno, "cannot open above '%s'", path);
    if (fstatat(dir, pdk_path_basename(path), &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0
                               : pdk_fail(err, PDK_EIO, errno, "cannot see '%s'", path);
    *why = S_ISDIR(st.st_mode) && dir_empties(l, path) ? NULL : in_the_way;
    return 0;
}

int pdk_land_look(const struct pdk_landing *l, const struct pdk_change *c, mode_t *bits,
        const char **why, struct pdk_err *err)
{
    struct stat st;

    *why = NULL;
    if (c->old_mode == 0)
        return look_absent(l, c->path, why, err);

    PDK_AUTO_FD int dir = pdk_land_open_parent(l, c->path);

    if (dir < 0) {
        *why = errno == ENOENT ? gone : bad_parent;
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
                ? 0
                : pdk_fail(err, PDK_EIO, errno, "cannot open above '%s'", c->path);
    }
    if (fstatat(dir, pdk_path_basename(c->path), &st, AT_SYMLINK_NOFOLLOW) == 0)
        *bits = st.st_mode & 07777;
    else if (errno != ENOENT)
        return pdk_fail(err, PDK_EIO, errno, "cannot see '%s'", c->path);
    return pdk_land_compare(l, c, dir, pdk_path_basename(c->path), c->path, why, err);
}
