/* Time: a monotonic clock for deadlines, the wall clock for people, durations as text. */
#ifndef PDK_BASE_CLOCK_H
#define PDK_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct pdk_buf;
struct pdk_err;

int64_t pdk_clock_ms(void);      /* CLOCK_MONOTONIC, milliseconds */
int64_t pdk_clock_wall_ms(void); /* since the epoch, milliseconds */
/* "2026-12-01T12:34:56.789Z" into at least 32 bytes. */
void pdk_clock_format(int64_t wall_ms, char *out, size_t size);
/* "90s", "20m", "1h30m", "250ms": a number with a unit ms, s, m, h, d, several in falling order. */
int pdk_duration_parse(const char *text, int64_t *out_ms, struct pdk_err *err);
/* Short text for people: "1.2s", "3m04s". */
void pdk_duration_format(int64_t ms, char *out, size_t size);
/* "512MiB", "2GiB", "10kB", "4096B": binary and decimal units; a bare number is refused. */
int pdk_size_parse(const char *text, int64_t *out_bytes, struct pdk_err *err);

#endif
