/* The verbs that read: windows of files, and what stat tells of many. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "sandbox/agent/agent.h"

enum {
    PATHS_MAX = 4096,
    ROOM = PDK_FRAME_MAX - 4096, /* bytes of a frame that data may take */
    ITEM_ROOM = 128,             /* what stands around the data of one item */
    ERROR_ROOM = 32
};

/* ---- read */

struct window {
    int64_t offset, length;        /* bytes */
    int64_t line_from, line_count; /* from 1; 0: not by lines */
};

/* The offset at which line number `line` (from 1) begins; the file's end where it has fewer. */
static int64_t find_line(int fd, int64_t line)
{
    char chunk[8192];
    int64_t at = 0, seen = 1;
    ssize_t n;

    while (seen < line && (n = pdk_agent_read_at(fd, chunk, sizeof(chunk), at)) > 0) {
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

static bool take_window(const struct pdk_json *v, struct window *w)
{
    w->offset = pdk_json_get_int(v, "offset", 0);
    w->length = pdk_json_get_int(v, "length", PDK_READ_MAX);
    w->line_from = pdk_json_get_int(v, "line_from", 0);
    w->line_count = pdk_json_get_int(v, "line_count", 0);
    return w->offset >= 0 && w->length >= 0 && w->line_from >= 0 && w->line_count >= 0;
}

/* Puts the window into item, as much of it as there is room for. 0 or an errno. */
static int put_window(struct pdk_json *item, int fd, const struct stat *st,
        struct window *w, size_t *room)
{
    PDK_AUTO_FREE char *bytes = NULL;
    ssize_t n;

    settle_window(fd, w);
    w->length = w->length > 0 && w->length < PDK_READ_MAX ? w->length : PDK_READ_MAX;
    bytes = malloc((size_t)w->length);
    n = bytes ? pdk_agent_read_at(fd, bytes, (size_t)w->length, w->offset) : -1;
    if (n < 0)
        return bytes ? errno : ENOMEM;
    n = (ssize_t)pdk_agent_fit(bytes, (size_t)n, room);
    (void)pdk_json_set_bytes(item, "data", bytes, (size_t)n);
    (void)pdk_json_set_int(item, "offset", w->offset);
    (void)pdk_json_set_int(item, "length", n);
    (void)pdk_json_set_int(item, "size", st->st_size);
    (void)pdk_json_set_bool(item, "eof", w->offset + n >= st->st_size);
    return 0;
}

void pdk_agent_read(struct agent *a, int64_t id, const struct pdk_json *params)
{
    PDK_AUTO_FREE char *path = pdk_agent_take_path(params, "path");
    PDK_AUTO_JSON struct pdk_json *result = pdk_json_object();
    PDK_AUTO_FD int fd = -1;
    enum pdk_wire_error why = PDK_WIRE_IO;
    size_t room = ROOM;
    struct stat st;
    struct window w;
    int rc;

    if (!path || !take_window(params, &w)) {
        pdk_agent_error(
                a, id, PDK_WIRE_BAD_PARAMS, "read takes path, and windows from 0 up");
        return;
    }
    fd = pdk_agent_open_regular(a, path, &st, &why);
    if (fd < 0) {
        pdk_agent_error(a, id, why, "no regular file that can be read");
        return;
    }
    rc = put_window(result, fd, &st, &w, &room);
    if (rc != 0)
        pdk_agent_fail_errno(a, id, rc);
    else
        pdk_agent_result(a, id, pdk_take_ptr(&result));
}

/* ---- read_many */

static struct pdk_json *error_item(enum pdk_wire_error why)
{
    struct pdk_json *item = pdk_json_object();

    (void)pdk_json_set_str(item, "error", pdk_wire_error_name(why));
    return item;
}

static struct pdk_json *read_one(
        const struct agent *a, const struct pdk_json *asked, size_t *room)
{
    PDK_AUTO_FREE char *path = pdk_agent_take_word(asked, "path");
    struct pdk_json *item;
    PDK_AUTO_FD int fd = -1;
    enum pdk_wire_error why = PDK_WIRE_BAD_PARAMS;
    struct stat st;
    struct window w;
    int rc;

    if (!path || !take_window(asked, &w))
        return error_item(why);
    fd = pdk_agent_open_regular(a, path, &st, &why);
    if (fd < 0)
        return error_item(why);
    if (*room < ITEM_ROOM)
        return error_item(PDK_WIRE_TOO_LARGE);
    *room -= ITEM_ROOM;
    item = pdk_json_object();
    rc = put_window(item, fd, &st, &w, room);
    if (rc == 0)
        return item;
    pdk_json_free(item);
    return error_item(pdk_agent_wire_of_errno(rc));
}

void pdk_agent_read_many(struct agent *a, int64_t id, const struct pdk_json *params)
{
    const struct pdk_json *paths = pdk_json_get(params, "paths");
    struct pdk_json *items, *result;
    size_t room = ROOM;

    if (pdk_json_type(paths) != PDK_JSON_ARRAY || pdk_json_len(paths) > PATHS_MAX) {
        pdk_agent_error(a, id, PDK_WIRE_BAD_PARAMS, "read_many takes at most 4096 paths");
        return;
    }
    items = pdk_json_array();
    room -= pdk_json_len(paths) * ERROR_ROOM;
    for (size_t i = 0; i < pdk_json_len(paths); i++)
        (void)pdk_json_append(items, read_one(a, pdk_json_at(paths, i), &room));
    result = pdk_json_object();
    (void)pdk_json_set(result, "items", items);
    pdk_agent_result(a, id, result);
}

/* ---- stat_many */

/* NULL where the path is not there; an error object where it cannot be told. */
static struct pdk_json *stat_one(const struct agent *a, const char *path)
{
    PDK_AUTO_FD int fd = pdk_agent_open(a, path, O_PATH | O_NOFOLLOW);
    struct pdk_json *item;
    struct stat st;

    if (fd < 0 && pdk_agent_wire_of_errno(errno) == PDK_WIRE_NOT_FOUND)
        return pdk_json_null();
    item = pdk_json_object();
    if (fd < 0 || fstat(fd, &st) < 0) {
        (void)pdk_json_set_str(
                item, "error", pdk_wire_error_name(pdk_agent_wire_of_errno(errno)));
        return item;
    }
    (void)pdk_json_set_str(item, "type", pdk_agent_type_name(st.st_mode));
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

    if (pdk_json_type(paths) != PDK_JSON_ARRAY || pdk_json_len(paths) > PATHS_MAX) {
        pdk_agent_error(a, id, PDK_WIRE_BAD_PARAMS, "stat_many takes at most 4096 paths");
        return;
    }
    items = pdk_json_array();
    for (size_t i = 0; i < pdk_json_len(paths); i++) {
        PDK_AUTO_FREE char *path = pdk_agent_take_word(pdk_json_at(paths, i), "path");

        (void)pdk_json_append(items, path ? stat_one(a, path) : pdk_json_null());
    }
    result = pdk_json_object();
    (void)pdk_json_set(result, "items", items);
    pdk_agent_result(a, id, result);
}
