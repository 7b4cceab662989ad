/*
 * The file verbs. Paths are resolved beneath the root's handle by the kernel (openat2), so no link
 * and no ".." leads out; nothing blocks on what is no regular file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/json.h"
#include "base/path.h"
#include "sandbox/agent/agent.h"

enum { STAT_MAX = 4096, WRITE_MAX = 768 << 10 };

int pdk_agent_open(const struct agent *a, const char *path, int flags)
{
    /* openat2 refuses a bare handle with flags that mean nothing for it. */
    int safe = flags & O_PATH ? O_CLOEXEC : O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct open_how how = {
        .flags = (uint64_t)(unsigned int)(flags | safe),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    long fd;

    do
        fd = syscall(SYS_openat2, a->root_fd, path, &how, sizeof(how));
    while (fd < 0 &&
            errno == EAGAIN); /* a rename in the way: the kernel asks to try again */
    return (int)fd;
}

bool pdk_agent_root_gone(const struct agent *a)
{
    struct stat held, named;

    if (fstat(a->root_fd, &held) < 0 || held.st_nlink == 0)
        return true;
    return lstat(a->root, &named) < 0 || named.st_dev != a->root_dev ||
            named.st_ino != a->root_ino;
}

static enum pdk_wire_error wire_of_errno(int os_errno)
{
    switch (os_errno) {
    case ENOENT:
    case ENOTDIR:
        return PDK_WIRE_NOT_FOUND;
    case EXDEV:
    case ELOOP:
        return PDK_WIRE_OUTSIDE;
    case EACCES:
    case EPERM:
    case EROFS:
        return PDK_WIRE_DENIED;
    case EISDIR:
        return PDK_WIRE_NOT_A_FILE;
    default:
        return PDK_WIRE_IO;
    }
}

static void fail_errno(struct agent *a, int64_t id, int os_errno)
{
    pdk_agent_error(a, id, wire_of_errno(os_errno), strerrordesc_np(os_errno));
}

/* A path parameter: owned by the caller; NULL where it is missing or holds a NUL. */
static char *take_path(const struct pdk_json *params, const char *key)
{
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_json_get_bytes(params, key, &bytes, &err) < 0 || bytes.len == 0 ||
            strlen(bytes.data) != bytes.len)
        return NULL;
    return pdk_buf_take(&bytes);
}

/* ---- read */

struct window {
    int64_t offset, length;        /* bytes */
    int64_t line_from, line_count; /* from 1; 0: not by lines */
};

static int open_regular(struct agent *a, int64_t id, const char *path, struct stat *st)
{
    int fd = pdk_agent_open(a, path, O_RDONLY);

    if (fd < 0) {
        fail_errno(a, id, errno);
        return -1;
    }
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    (void)close(fd);
    pdk_agent_error(a, id, PDK_WIRE_NOT_A_FILE, "no regular file");
    return -1;
}

static ssize_t read_at(int fd, char *to, size_t len, int64_t offset)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(fd, to + done, len - done, offset + (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* The offset at which line number `line` (from 1) begins; the file's end where it has fewer. */
static int64_t find_line(int fd, int64_t line)
{
    char chunk[8192];
    int64_t at = 0, seen = 1;
    ssize_t n;

    while (seen < line && (n = read_at(fd, chunk, sizeof(chunk), at)) > 0) {
        const char *from = chunk, *end = chunk + n, *newline;

        while (seen < line && (newline = memchr(from, '\n', (size_t)(end - from)))) {
            seen++;
            from = newline + 1;
        }
        at += seen < line ? n : from - chunk;
    }
    return at;
}

/* Turns a window of lines into one of bytes. */
static void settle_window(int fd, struct window *w)
{
    if (w->line_from <= 0)
        return;
    w->offset = find_line(fd, w->line_from);
    w->length = PDK_READ_MAX;
    if (w->line_count > 0) {
        int64_t end = find_line(fd, w->line_from + w->line_count);

        w->length = end - w->offset;
    }
}

static void answer_read(
        struct agent *a, int64_t id, int fd, const struct stat *st, struct window *w)
{
    PDK_AUTO_FREE char *bytes = NULL;
    struct pdk_json *result;
    ssize_t n;

    settle_window(fd, w);
    w->length = w->length > 0 && w->length < PDK_READ_MAX ? w->length : PDK_READ_MAX;
    bytes = malloc((size_t)w->length);
    n = bytes ? read_at(fd, bytes, (size_t)w->length, w->offset) : -1;
    if (n < 0) {
        fail_errno(a, id, bytes ? errno : ENOMEM);
        return;
    }
    result = pdk_json_object();
    (void)pdk_json_set_bytes(result, "data", bytes, (size_t)n);
    (void)pdk_json_set_int(result, "offset", w->offset);
    (void)pdk_json_set_int(result, "length", n);
    (void)pdk_json_set_int(result, "size", st->st_size);
    (void)pdk_json_set_bool(result, "eof", w->offset + n >= st->st_size);
    pdk_agent_result(a, id, result);
}

void pdk_agent_read(struct agent *a, int64_t id, const struct pdk_json *params)
{
    PDK_AUTO_FREE char *path = take_path(params, "path");
    PDK_AUTO_FD int fd = -1;
    struct stat st;
    struct window w = {
        .offset = pdk_json_get_int(params, "offset", 0),
        .length = pdk_json_get_int(params, "length", PDK_READ_MAX),
        .line_from = pdk_json_get_int(params, "line_from", 0),
        .line_count = pdk_json_get_int(params, "line_count", 0),
    };

    if (!path || w.offset < 0 || w.length < 0 || w.line_from < 0 || w.line_count < 0) {
        pdk_agent_error(
                a, id, PDK_WIRE_BAD_PARAMS, "read takes path, and windows from 0 up");
        return;
    }
    fd = open_regular(a, id, path, &st);
    if (fd >= 0)
        answer_read(a, id, fd, &st, &w);
}

/* ---- write */

static int64_t count_lines(const char *data, size_t len)
{
    int64_t lines = 0;

    if (len == 0)
        return 0;
    for (size_t i = 0; i < len; i++)
        lines += data[i] == '\n';
    return lines + (data[len - 1] != '\n');
}

/* What was there before: lines, and the mode that the new file inherits. */
struct before {
    bool existed, refused; /* refused: something that is no regular file */
    mode_t mode;
    int64_t lines;
};

static struct before look_before(int dir, const char *name)
{
    struct before b = { .mode = 0644 };
    PDK_AUTO_BUF struct pdk_buf old = PDK_BUF_INIT;
    PDK_AUTO_FD int fd = -1;
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return b;
    b.existed = true;
    b.refused = !S_ISREG(st.st_mode);
    b.mode = st.st_mode & 07777;
    fd = b.refused ? -1
                   : openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && pdk_fs_read_fd(fd, 64 << 20, &old, NULL) == 0)
        b.lines = count_lines(pdk_buf_str(&old), old.len);
    return b;
}

/* A temporary beside the target, renamed over it: the old content or the new one. */
static int replace(int dir, const char *name, const struct pdk_buf *data, mode_t mode)
{
    char temp[64], random[17] = "";
    struct pdk_err err = PDK_ERR_INIT;
    int fd, rc;

    if (pdk_id_random(random, 8, &err) < 0)
        return -1;
    (void)snprintf(temp, sizeof(temp), ".paddock-%s", random);
    fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    rc = pdk_fs_write_fd(fd, pdk_buf_str(data), data->len, &err);
    if (rc == 0 && fchmod(fd, mode) < 0)
        rc = -1;
    (void)close(fd);
    if (rc == 0 && renameat(dir, temp, dir, name) == 0)
        return 0;
    rc = errno;
    (void)unlinkat(dir, temp, 0); /* the first error matters */
    errno = rc;
    return -1;
}

static void answer_write(struct agent *a, int64_t id, int dir, const char *name,
        const struct pdk_json *params)
{
    PDK_AUTO_BUF struct pdk_buf data = PDK_BUF_INIT;
    struct before before = look_before(dir, name);
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_json *result;
    char digest[65];
    mode_t mode = (mode_t)pdk_json_get_int(params, "mode", before.mode);

    if (pdk_json_get_bytes(params, "data", &data, &err) < 0 || data.len > WRITE_MAX) {
        pdk_agent_error(a, id,
                data.len > WRITE_MAX ? PDK_WIRE_TOO_LARGE : PDK_WIRE_BAD_PARAMS,
                "write takes data of at most 768 KiB");
        return;
    }
    if (before.refused) {
        pdk_agent_error(a, id, PDK_WIRE_NOT_A_FILE, "what is there is no regular file");
        return;
    }
    if (replace(dir, name, &data, mode & 07777) < 0) {
        fail_errno(a, id, errno);
        return;
    }
    pdk_digest_hex(pdk_buf_str(&data), data.len, digest);
    result = pdk_json_object();
    (void)pdk_json_set_bool(result, "existed_before", before.existed);
    (void)pdk_json_set_int(result, "bytes_written", (int64_t)data.len);
    (void)pdk_json_set_int(result, "line_delta",
            count_lines(pdk_buf_str(&data), data.len) - before.lines);
    (void)pdk_json_set_str(result, "digest", digest);
    pdk_agent_result(a, id, result);
}

void pdk_agent_write(struct agent *a, int64_t id, const struct pdk_json *params)
{
    PDK_AUTO_FREE char *path = take_path(params, "path");
    PDK_AUTO_FREE char *parent = path ? pdk_path_dirname(path) : NULL;
    PDK_AUTO_FD int dir = -1;

    if (!parent || pdk_path_basename(path)[0] == '\0') {
        pdk_agent_error(a, id, PDK_WIRE_BAD_PARAMS, "write takes the path of a file");
        return;
    }
    dir = pdk_agent_open(a, parent, O_RDONLY | O_DIRECTORY);
    if (dir < 0)
        fail_errno(a, id, errno);
    else
        answer_write(a, id, dir, pdk_path_basename(path), params);
}

/* ---- stat_many */

static const char *type_name(mode_t mode)
{
    if (S_ISREG(mode))
        return "file";
    if (S_ISDIR(mode))
        return "directory";
    return S_ISLNK(mode) ? "symlink" : "other";
}

/* NULL where the path is not there; an error object where it cannot be told. */
static struct pdk_json *stat_one(const struct agent *a, const char *path)
{
    PDK_AUTO_FD int fd = pdk_agent_open(a, path, O_PATH | O_NOFOLLOW);
    struct pdk_json *item;
    struct stat st;

    if (fd < 0 && wire_of_errno(errno) == PDK_WIRE_NOT_FOUND)
        return pdk_json_null();
    item = pdk_json_object();
    if (fd < 0 || fstat(fd, &st) < 0) {
        (void)pdk_json_set_str(item, "error", pdk_wire_error_name(wire_of_errno(errno)));
        return item;
    }
    (void)pdk_json_set_str(item, "type", type_name(st.st_mode));
    (void)pdk_json_set_int(item, "mode", st.st_mode & 07777);
    (void)pdk_json_set_int(item, "size", st.st_size);
    (void)pdk_json_set_int(item, "mtime_ns",
            (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    return item;
}

void pdk_agent_stat_many(struct agent *a, int64_t id, const struct pdk_json *params)
{
    const struct pdk_json *paths = pdk_json_get(params, "paths");
    struct pdk_json *items, *result;

    if (pdk_json_type(paths) != PDK_JSON_ARRAY || pdk_json_len(paths) > STAT_MAX) {
        pdk_agent_error(a, id, PDK_WIRE_BAD_PARAMS, "stat_many takes at most 4096 paths");
        return;
    }
    items = pdk_json_array();
    for (size_t i = 0; i < pdk_json_len(paths); i++) {
        size_t len = 0;
        const char *text = pdk_json_text(pdk_json_at(paths, i), &len);
        PDK_AUTO_FREE char *coded =
                text ? NULL : take_path(pdk_json_at(paths, i), "path");
        const char *path = text && strlen(text) == len ? text : coded;

        (void)pdk_json_append(items, path ? stat_one(a, path) : pdk_json_null());
    }
    result = pdk_json_object();
    (void)pdk_json_set(result, "items", items);
    pdk_agent_result(a, id, result);
}
