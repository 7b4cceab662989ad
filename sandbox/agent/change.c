/* write and remove: each tells what was there before. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/json.h"
#include "base/path.h"
#include "sandbox/agent/agent.h"

enum { WRITE_MAX = 768 << 10 };

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
        pdk_agent_fail_errno(a, id, errno);
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
    PDK_AUTO_FREE char *path = pdk_agent_take_path(params, "path");
    PDK_AUTO_FREE char *parent = path ? pdk_path_dirname(path) : NULL;
    PDK_AUTO_FD int dir = -1;

    if (!parent || pdk_path_basename(path)[0] == '\0') {
        pdk_agent_error(a, id, PDK_WIRE_BAD_PARAMS, "write takes the path of a file");
        return;
    }
    dir = pdk_agent_open(a, parent, O_RDONLY | O_DIRECTORY);
    if (dir < 0)
        pdk_agent_fail_errno(a, id, errno);
    else
        answer_write(a, id, dir, pdk_path_basename(path), params);
}

/* ---- remove */

static void answer_remove(
        struct agent *a, int64_t id, int dir, const char *name, bool recursive)
{
    struct pdk_json *result = pdk_json_object();
    struct pdk_err err = PDK_ERR_INIT;
    struct stat st;
    bool existed = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    bool empty = existed && S_ISDIR(st.st_mode) && unlinkat(dir, name, AT_REMOVEDIR) == 0;

    if (existed && !empty && S_ISDIR(st.st_mode) && !recursive) {
        pdk_json_free(result);
        pdk_agent_error(a, id, PDK_WIRE_NOT_A_FILE,
                "a directory with something in it goes only with recursive");
        return;
    }
    if (existed && !empty && pdk_fs_remove_at(dir, name, &err) < 0) {
        pdk_json_free(result);
        pdk_agent_fail_errno(a, id, err.os_errno);
        return;
    }
    (void)pdk_json_set_bool(result, "existed_before", existed);
    if (existed)
        (void)pdk_json_set_str(result, "type", pdk_agent_type_name(st.st_mode));
    pdk_agent_result(a, id, result);
}

void pdk_agent_remove(struct agent *a, int64_t id, const struct pdk_json *params)
{
    PDK_AUTO_FREE char *path = pdk_agent_take_path(params, "path");
    PDK_AUTO_FREE char *parent = path ? pdk_path_dirname(path) : NULL;
    const char *name = path ? pdk_path_basename(path) : "";
    PDK_AUTO_FD int dir = -1;

    if (!parent || name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        pdk_agent_error(a, id, PDK_WIRE_BAD_PARAMS,
                "remove takes a path whose last part is a name");
        return;
    }
    dir = pdk_agent_open(a, parent, O_RDONLY | O_DIRECTORY);
    if (dir < 0 && errno != ENOENT)
        pdk_agent_fail_errno(a, id, errno);
    else
        answer_remove(a, id, dir, name, pdk_json_get_bool(params, "recursive", false));
}
