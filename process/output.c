/*
 * The file while it is written: the head as it came, then, past the head, a ring of the last bytes.
 * A file that never passed its cap is in order by itself; else close() writes it anew in order:
 * head, a line that tells how much is missing, the ring from its oldest byte.
 */
#include "process/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"

enum { HEAD_SHARE = 8, MIN_CAP = 64, COPY_CHUNK = 64 << 10 };

struct pdk_output {
    int fd;
    char *path;
    uint64_t head; /* bytes at the start that stay as they came */
    uint64_t ring; /* size of the ring behind them */
    uint64_t written;
};

static void output_free(struct pdk_output *o)
{
    if (o->fd >= 0)
        (void)close(o->fd);
    free(o->path);
    free(o);
}

int pdk_output_open(
        const char *path, size_t cap, struct pdk_output **out, struct pdk_err *err)
{
    struct pdk_output *o = calloc(1, sizeof(*o));

    if (!o)
        return pdk_fail_nomem(err);
    cap = cap ? cap : PDK_OUTPUT_CAP;
    cap = cap < MIN_CAP ? MIN_CAP : cap;
    o->head = cap / HEAD_SHARE;
    o->ring = cap - o->head;
    o->path = strdup(path);
    o->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (o->fd >= 0 && o->path) {
        *out = o;
        return 0;
    }
    if (o->fd < 0)
        (void)pdk_fail(err, errno == EEXIST ? PDK_ECONFLICT : PDK_EIO, errno,
                "cannot make the output file '%s'", path);
    else
        (void)pdk_fail_nomem(err);
    output_free(o);
    return err ? err->code : PDK_EIO;
}

/* Where the byte with this number of the stream goes, and how many may follow it there. */
static off_t place_of(const struct pdk_output *o, uint64_t number, uint64_t *room)
{
    uint64_t at;

    if (number < o->head) {
        *room = o->head - number;
        return (off_t)number;
    }
    at = (number - o->head) % o->ring;
    *room = o->ring - at;
    return (off_t)(o->head + at);
}

int pdk_output_write(
        struct pdk_output *o, const void *data, size_t len, struct pdk_err *err)
{
    const char *from = data;

    while (len > 0) {
        uint64_t room;
        off_t at = place_of(o, o->written, &room);
        ssize_t n = pwrite(o->fd, from, len < room ? len : (size_t)room, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return pdk_fail(err, PDK_EIO, errno, "cannot write '%s'", o->path);
        o->written += (uint64_t)n;
        from += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Copies len bytes at `at` of one file to the end of another. */
static int copy_part(int from, uint64_t at, uint64_t len, int to, struct pdk_err *err)
{
    PDK_AUTO_FREE char *chunk = malloc(COPY_CHUNK);

    if (!chunk)
        return pdk_fail_nomem(err);
    while (len > 0) {
        ssize_t n = pread(
                from, chunk, len < COPY_CHUNK ? (size_t)len : COPY_CHUNK, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return pdk_fail(err, PDK_EIO, n < 0 ? errno : 0, "cannot read it back");
        if (pdk_fs_write_fd(to, chunk, (size_t)n, err) < 0)
            return err->code;
        at += (uint64_t)n;
        len -= (uint64_t)n;
    }
    return 0;
}

static int write_ordered(
        const struct pdk_output *o, int to, uint64_t dropped, struct pdk_err *err)
{
    uint64_t oldest = (o->written - o->head) % o->ring;
    char line[80];

    (void)snprintf(line, sizeof(line), "\n[paddock: %llu bytes dropped here]\n",
            (unsigned long long)dropped);
    if (copy_part(o->fd, 0, o->head, to, err) < 0 ||
            pdk_fs_write_fd(to, line, strlen(line), err) < 0 ||
            copy_part(o->fd, o->head + oldest, o->ring - oldest, to, err) < 0)
        return err->code;
    return copy_part(o->fd, o->head, oldest, to, err);
}

static int reorder(const struct pdk_output *o, uint64_t dropped, struct pdk_err *err)
{
    PDK_AUTO_FREE char *temp = pdk_strf("%s.XXXXXX", o->path);
    PDK_AUTO_FD int to = temp ? mkostemp(temp, O_CLOEXEC) : -1;
    int rc;

    if (!temp)
        return pdk_fail_nomem(err);
    if (to < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", temp);
    rc = write_ordered(o, to, dropped, err);
    if (rc == 0 && rename(temp, o->path) < 0)
        rc = pdk_fail(err, PDK_EIO, errno, "cannot rename it");
    if (rc < 0) {
        (void)unlink(temp); /* the first error matters */
        return pdk_wrap(err, "'%s'", o->path);
    }
    return 0;
}

int pdk_output_close(
        struct pdk_output *o, struct pdk_output_totals *totals, struct pdk_err *err)
{
    struct pdk_output_totals all = { 0, 0 };
    int rc = 0;

    if (!o)
        return 0;
    all.bytes = o->written;
    if (o->written > o->head + o->ring)
        all.dropped = o->written - o->head - o->ring;
    if (all.dropped > 0)
        rc = reorder(o, all.dropped, err);
    output_free(o);
    if (totals)
        *totals = all;
    return rc;
}
