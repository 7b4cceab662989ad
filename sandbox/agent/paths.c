/*
 * What the file verbs share. Paths are resolved beneath the root's handle by the kernel, so no link
 * and no ".." leads out; nothing blocks on what is no regular file.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "sandbox/agent/agent.h"
#include "sandbox/scan.h"

int pdk_agent_open(const struct agent *a, const char *path, int flags)
{
    return pdk_scan_open(a->root_fd, path, flags);
}

bool pdk_agent_root_gone(const struct agent *a)
{
    struct stat held, named;

    if (fstat(a->root_fd, &held) < 0 || held.st_nlink == 0)
        return true;
    return lstat(a->root, &named) < 0 || named.st_dev != a->root_dev ||
            named.st_ino != a->root_ino;
}

enum pdk_wire_error pdk_agent_wire_of_errno(int os_errno)
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

void pdk_agent_fail_errno(struct agent *a, int64_t id, int os_errno)
{
    pdk_agent_error(a, id, pdk_agent_wire_of_errno(os_errno), strerrordesc_np(os_errno));
}

char *pdk_agent_take_path(const struct pdk_json *params, const char *key)
{
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_json_get_bytes(params, key, &bytes, &err) < 0 || bytes.len == 0 ||
            strlen(bytes.data) != bytes.len)
        return NULL;
    return pdk_buf_take(&bytes);
}

char *pdk_agent_take_word(const struct pdk_json *item, const char *key)
{
    size_t len = 0;
    const char *text = pdk_json_text(item, &len);

    if (!text)
        return pdk_agent_take_path(item, key);
    return len > 0 && strlen(text) == len ? strdup(text) : NULL;
}

void pdk_agent_append_path(struct pdk_json *list, const char *path)
{
    struct pdk_json *item;

    if (pdk_utf8_valid(path, strlen(path))) {
        (void)pdk_json_append(list, pdk_json_str(path));
        return;
    }
    item = pdk_json_object();
    (void)pdk_json_set_bytes(item, "path", path, strlen(path));
    (void)pdk_json_append(list, item);
}

const char *pdk_agent_type_name(mode_t mode)
{
    if (S_ISREG(mode))
        return "file";
    if (S_ISDIR(mode))
        return "directory";
    return S_ISLNK(mode) ? "symlink" : "other";
}

int pdk_agent_open_regular(const struct agent *a, const char *path, struct stat *st,
        enum pdk_wire_error *why)
{
    int fd = pdk_agent_open(a, path, O_RDONLY);

    if (fd < 0) {
        *why = pdk_agent_wire_of_errno(errno);
        return -1;
    }
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    (void)close(fd);
    *why = PDK_WIRE_NOT_A_FILE;
    return -1;
}

ssize_t pdk_agent_read_at(int fd, char *to, size_t len, int64_t offset)
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

/* In a frame a control character takes six bytes; what is no UTF-8 comes cleaned and in base64. */
static size_t cost_of(unsigned char c, bool coded)
{
    size_t cost = c < 0x20 ? 6 : 1;

    if (c == '"' || c == '\\')
        cost = 2;
    return coded ? (c >= 0x80 ? 3 : cost) + 2 : cost;
}

size_t pdk_agent_fit(const char *bytes, size_t len, size_t *room)
{
    bool coded = !pdk_utf8_valid(bytes, len);

    for (size_t i = 0; i < len; i++) {
        size_t cost = cost_of((unsigned char)bytes[i], coded);

        if (cost > *room)
            return i;
        *room -= cost;
    }
    return len;
}
