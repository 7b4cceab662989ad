#include "trees/lfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/path.h"
#include "base/utf8.h"
#include "trees/repo.h"
#include "trees/vault.h"

enum { POINTER_MAX = 1024, LIST_MAX = 64 << 20 };

/* ---- pointers */

/* After the text at *at: moves on behind it. */
static bool skip(const char **at, const char *text)
{
    if (!pdk_starts_with(*at, text))
        return false;
    *at += strlen(text);
    return true;
}

bool pdk_lfs_parse(const struct pdk_buf *blob, struct pdk_lfs_pointer *out)
{
    const char *at = pdk_buf_str(blob);
    char *end;

    if (blob->len == 0 || blob->len > POINTER_MAX || strlen(at) != blob->len ||
            !skip(&at, "version https://git-lfs.github.com/spec/v1\noid sha256:") ||
            strspn(at, "0123456789abcdef") != 64)
        return false;
    memcpy(out->sha256, at, 64);
    out->sha256[64] = '\0';
    at += 64;
    if (!skip(&at, "\nsize ") || *at < '0' || *at > '9')
        return false;
    errno = 0;
    out->size = strtoll(at, &end, 10);
    return errno == 0 && strcmp(end, "\n") == 0;
}

int pdk_lfs_point(
        const struct pdk_buf *content, struct pdk_lfs_pointer *out, struct pdk_err *err)
{
    struct pdk_digest *digest = pdk_digest_new();

    if (!digest)
        return pdk_fail_nomem(err);
    pdk_digest_add(digest, pdk_buf_str(content), content->len);
    pdk_digest_end(digest, out->sha256);
    pdk_digest_free(digest);
    out->size = (int64_t)content->len;
    return 0;
}

void pdk_lfs_format(const struct pdk_lfs_pointer *pointer, struct pdk_buf *out)
{
    pdk_buf_addf(out,
            "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %" PRId64
            "\n",
            pointer->sha256, pointer->size);
}

/* ---- stores */

/* Owned by the caller; NULL when out of memory. */
static char *path_in(const char *top, const char *sha256)
{
    return pdk_strf("%s/lfs/objects/%.2s/%.2s/%s", top, sha256, sha256 + 2, sha256);
}

static int open_in(const char *top, const struct pdk_lfs_pointer *pointer)
{
    PDK_AUTO_FREE char *path = path_in(top, pointer->sha256);
    PDK_AUTO_FD int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
            st.st_size != pointer->size)
        return -1;
    return pdk_take_fd(&fd);
}

int pdk_lfs_open(const struct pdk_repo *repo, const struct pdk_vault *vault,
        const struct pdk_lfs_pointer *pointer)
{
    int fd = open_in(repo->common_dir, pointer);

    return fd >= 0 ? fd : open_in(pdk_vault_path(vault), pointer);
}

int pdk_lfs_store(const struct pdk_repo *repo, const struct pdk_vault *vault,
        const struct pdk_lfs_pointer *pointer, const struct pdk_buf *content,
        struct pdk_err *err)
{
    PDK_AUTO_FD int there = pdk_lfs_open(repo, vault, pointer);
    PDK_AUTO_FREE char *path = path_in(pdk_vault_path(vault), pointer->sha256);
    PDK_AUTO_FREE char *dir = path ? pdk_path_dirname(path) : NULL;

    if (there >= 0)
        return 0;
    if (!dir)
        return pdk_fail_nomem(err);
    if (pdk_fs_mkdirs(dir, 0700, err) < 0)
        return err->code;
    return pdk_fs_write(path, pdk_buf_str(content), content->len, 0600, PDK_FS_SYNC, err);
}

int pdk_lfs_hand_over(const struct pdk_repo *repo, const struct pdk_vault *vault,
        const struct pdk_buf *blob, struct pdk_err *err)
{
    struct pdk_lfs_pointer pointer;
    PDK_AUTO_FD int ours = -1, theirs = -1;
    PDK_AUTO_BUF struct pdk_buf content = PDK_BUF_INIT;
    PDK_AUTO_FREE char *path = NULL;
    PDK_AUTO_FREE char *dir = NULL;

    if (!pdk_lfs_parse(blob, &pointer))
        return 0;
    theirs = open_in(repo->common_dir, &pointer);
    ours = open_in(pdk_vault_path(vault), &pointer);
    if (theirs >= 0 || ours < 0)
        return 0;
    path = path_in(repo->common_dir, pointer.sha256);
    dir = path ? pdk_path_dirname(path) : NULL;
    if (!dir)
        return pdk_fail_nomem(err);
    if (pdk_fs_read_fd(ours, (size_t)pointer.size, &content, err) < 0 ||
            pdk_fs_mkdirs(dir, 0777, err) < 0)
        return err->code;
    return pdk_fs_write(path, pdk_buf_str(&content), content.len, 0644, PDK_FS_SYNC, err);
}

/* ---- what is missing */

static char *list_path(const char *index)
{
    return pdk_strf("%s.lfs", index);
}

int pdk_lfs_note_missing(
        const char *index, const struct pdk_buf *list, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = list_path(index);

    if (list->len == 0)
        return 0;
    if (!path || pdk_buf_ok(list, err) < 0)
        return pdk_fail_nomem(err);
    return pdk_fs_write(path, list->data, list->len, 0600, 0, err);
}

int pdk_lfs_share_missing(const char *from, const char *index, struct pdk_err *err)
{
    PDK_AUTO_FREE char *there = list_path(from);
    PDK_AUTO_FREE char *here = list_path(index);

    if (!there || !here)
        return pdk_fail_nomem(err);
    if (link(there, here) < 0 && errno != ENOENT && errno != EEXIST)
        return pdk_fail(err, PDK_EIO, errno, "cannot link '%s'", here);
    return 0;
}

bool pdk_lfs_has_come(
        const char *index, const struct pdk_repo *repo, const struct pdk_vault *vault)
{
    PDK_AUTO_FREE char *path = list_path(index);
    PDK_AUTO_BUF struct pdk_buf list = PDK_BUF_INIT;
    const char *tops[] = { repo->common_dir, pdk_vault_path(vault) };

    if (!path || pdk_fs_read(path, LIST_MAX, &list, NULL) < 0)
        return false;
    const char *at = pdk_buf_str(&list), *end = at + list.len;
    for (; at < end; at += strlen(at) + 1) {
        char sha256[65] = { 0 };

        if (strlen(at) < 65)
            return true; /* damaged */
        memcpy(sha256, at, 64);
        for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
            PDK_AUTO_FREE char *object = path_in(tops[i], sha256);

            if (object && pdk_fs_exists(object))
                return true;
        }
    }
    return false;
}

int pdk_lfs_warn_missing(
        const char *index, struct pdk_strv *warnings, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = list_path(index);
    PDK_AUTO_BUF struct pdk_buf list = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf line = PDK_BUF_INIT;
    size_t n = 0;

    if (!path)
        return pdk_fail_nomem(err);
    if (!pdk_fs_exists(path))
        return 0;
    if (pdk_fs_read(path, LIST_MAX, &list, err) < 0)
        return err->code;
    const char *first = pdk_buf_str(&list);
    for (size_t i = 0; i < list.len; i++)
        n += list.data[i] == '\0';
    if (n == 0 || strlen(first) <= 65)
        return pdk_fail(err, PDK_ECORRUPT, 0, "'%s' is damaged", path);
    pdk_buf_addf(&line,
            "%zu Git LFS file%s stayed a pointer, as .git/lfs lacks the content: ", n,
            n > 1 ? "s each" : "");
    pdk_utf8_printable(first + 65, strlen(first + 65), &line);
    pdk_buf_adds(&line, n > 1 ? ", …" : "");
    pdk_strv_take(warnings, pdk_buf_take(&line));
    return pdk_strv_ok(warnings, err);
}
