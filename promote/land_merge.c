/*
 * What shall become of each path, three ways: what the change started from, what it made, what the user
 * has there now. What both agree on is left alone; where only one changed, that stands; where both did,
 * files are merged by content. Whatever else is a conflict.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/str.h"
#include "promote/land.h"
#include "promote/land_internal.h"
#include "trees/merge.h"
#include "trees/repo.h"
#include "trees/vault.h"

/* What the user has at a path. */
struct mine {
    uint32_t mode; /* as git says it; 0: nothing there; 1: nothing that git could hold */
    mode_t bits;
    struct pdk_oid oid;
};

enum { NO_CONTENT = 1, EXECUTABLE = 0100 };

/* As git would store it: the vault gets the blob. */
static int store_converted(const struct pdk_landing *l, const char *path,
        struct mine *out, struct pdk_err *err)
{
    const char *vault = pdk_vault_path(l->spec->vault);
    PDK_AUTO_FREE char *as = pdk_strf("--path=%s", path);
    PDK_AUTO_FREE char *objects = pdk_strf("GIT_OBJECT_DIRECTORY=%s/objects", vault);
    PDK_AUTO_FREE char *others =
            pdk_strf("GIT_ALTERNATE_OBJECT_DIRECTORIES=%s", l->spec->repo->objects);
    const char *args[] = { "hash-object", "-w", as, "--", path, NULL };
    const char *env[] = { objects, others, NULL };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (!as || !objects || !others)
        return pdk_fail_nomem(err);
    if (pdk_repo_git_converting(l->spec->repo, args, env, &text, err) < 0)
        return err->code;
    if (text.len > 0)
        text.data[text.len - 1] = '\0';
    return pdk_oid_parse(pdk_buf_str(&text), &out->oid)
            ? 0
            : pdk_fail(err, PDK_EIO, 0, "git hash-object named no object");
}

static int store_file(const struct pdk_landing *l, int dir, const char *path,
        struct mine *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_FD int fd = -1;

    if (pdk_land_converts(l, path))
        return store_converted(l, path, out, err);
    fd = openat(
            dir, pdk_path_basename(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot read '%s'", path);
    if (pdk_fs_read_fd(fd, (size_t)1 << 31, &text, err) < 0)
        return pdk_wrap(err, "'%s'", path);
    return pdk_vault_write_blob(
            l->spec->vault, pdk_buf_str(&text), text.len, &out->oid, err);
}

static int store_link(const struct pdk_landing *l, int dir, const char *path,
        struct mine *out, struct pdk_err *err)
{
    char target[4097];
    ssize_t n = readlinkat(dir, pdk_path_basename(path), target, sizeof(target));

    if (n < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot read '%s'", path);
    return pdk_vault_write_blob(l->spec->vault, target, (size_t)n, &out->oid, err);
}

/* 0100755 or 0100644; where the repository does not trust the bit, as the change started. */
static uint32_t file_mode(
        const struct pdk_landing *l, const struct pdk_change *c, mode_t bits)
{
    if (!l->spec->repo->file_mode && S_ISREG(c->old_mode))
        return c->old_mode;
    return (bits & EXECUTABLE) ? 0100755 : 0100644;
}

static int read_mine(const struct pdk_landing *l, const struct pdk_change *c,
        struct mine *out, struct pdk_err *err)
{
    PDK_AUTO_FD int dir = pdk_land_open_parent(l, c->path);
    struct stat st;

    *out = (struct mine){ 0 };
    if (dir < 0 || fstatat(dir, pdk_path_basename(c->path), &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0; /* what keeps us from seeing it has been met by the look before */
    if (S_ISDIR(st.st_mode) && c->new_mode == 0)
        return 0; /* the file has made room: what is in there are other paths */
    out->bits = st.st_mode & 07777;
    out->mode = NO_CONTENT;
    if (S_ISLNK(st.st_mode)) {
        out->mode = S_IFLNK;
        return store_link(l, dir, c->path, out, err);
    }
    if (!S_ISREG(st.st_mode))
        return 0;
    out->mode = file_mode(l, c, out->bits);
    return store_file(l, dir, c->path, out, err);
}

static bool is_done(const struct pdk_change *c, const struct mine *mine)
{
    return mine->mode == c->new_mode &&
            (mine->mode == 0 || pdk_oid_equal(&mine->oid, &c->new_oid));
}

/* Both changed a file: *why stays where that cannot be brought together. */
static int merge_files(const struct pdk_landing *l, const struct mine *mine,
        struct pdk_change *c, const char **why, struct pdk_err *err)
{
    uint32_t mode = mine->mode == c->old_mode ? c->new_mode : mine->mode;
    struct pdk_oid merged = mine->oid;
    bool clean = true;
    int rc = 0;

    if (pdk_oid_equal(&mine->oid, &c->old_oid))
        merged = c->new_oid;
    else if (!pdk_oid_equal(&c->new_oid, &c->old_oid) &&
            !pdk_oid_equal(&c->new_oid, &mine->oid))
        rc = pdk_merge_blobs(l->spec->vault, &c->old_oid, &mine->oid, &c->new_oid,
                &merged, &clean, err);
    if (rc < 0 || !clean)
        return rc;
    *why = NULL;
    c->old_mode = mine->mode;
    c->old_oid = mine->oid;
    c->new_mode = mode;
    c->new_oid = merged;
    c->status = 'M';
    return 0;
}

static bool is_nothing(const struct pdk_change *c)
{
    return c->old_mode == c->new_mode &&
            (c->new_mode == 0 || pdk_oid_equal(&c->old_oid, &c->new_oid));
}

/* Permission bits for what replaces a file of the user's: theirs, but for the executable bit. */
static mode_t keep_bits(const struct pdk_change *c, mode_t bits)
{
    bool executable = (c->new_mode & EXECUTABLE) != 0;

    if (!S_ISREG(c->old_mode) || !S_ISREG(c->new_mode))
        return 0;
    if (((bits & EXECUTABLE) != 0) == executable)
        return bits;
    return executable ? bits | ((bits & 0444) >> 2) : bits & ~(mode_t)0111;
}

int pdk_land_resolve(const struct pdk_landing *l, struct pdk_land_item *item,
        struct pdk_change *c, const char **why, struct pdk_err *err)
{
    struct mine mine = { 0 };
    int rc = pdk_land_look(l, c, &item->keep, why, err);

    if (rc == 0 && *why) {
        rc = read_mine(l, c, &mine, err);
        item->keep = mine.bits;
    }
    if (rc < 0)
        return rc;
    if (*why && is_done(c, &mine)) {
        *why = NULL;
        item->done = true;
        return 0;
    }
    if (*why && !l->spec->strict && S_ISREG(c->old_mode) && S_ISREG(c->new_mode) &&
            S_ISREG(mine.mode))
        rc = merge_files(l, &mine, c, why, err);
    item->keep = keep_bits(c, item->keep);
    item->done = rc == 0 && !*why && is_nothing(c);
    return rc;
}
