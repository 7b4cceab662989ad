/*
 * Captured output in a file: the head and the tail are kept, the middle is dropped past a cap
 * and counted. The file has mode 0600. Memory does not grow with the output.
 * Used by one thread.
 */
#ifndef PDK_PROCESS_OUTPUT_H
#define PDK_PROCESS_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

struct pdk_err;
struct pdk_output; /* opaque, heap */

/* Defaults: 8 MiB a stream, of which the first eighth is head. */
enum { PDK_OUTPUT_CAP = 8 << 20 };

/* Makes (never follows a link, never truncates an old one: PDK_ECONFLICT) the file at path. */
int pdk_output_open(
        const char *path, size_t cap, struct pdk_output **out, struct pdk_err *err);
int pdk_output_write(
        struct pdk_output *o, const void *data, size_t len, struct pdk_err *err);

struct pdk_output_totals {
    uint64_t bytes;   /* written in all */
    uint64_t dropped; /* of these, not in the file */
};

/*
 * Brings the file into reading order (head, a line that tells how much is missing, tail), syncs
 * nothing, closes. NULL is fine. Frees o in any case.
 */
int pdk_output_close(
        struct pdk_output *o, struct pdk_output_totals *totals, struct pdk_err *err);

#endif
