/* Text to values and back: YAML 1.2 core scalars, durations and sizes. Pure; any thread. */
#ifndef PDK_MISSIONS_SCALAR_H
#define PDK_MISSIONS_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pdk_scalar_result {
    PDK_SCALAR_OK,
    PDK_SCALAR_BAD,  /* not of that type */
    PDK_SCALAR_UNIT, /* a number without its unit */
    PDK_SCALAR_RANGE /* does not fit 64 bits */
};

bool pdk_scalar_bool(const char *text, bool *out);
enum pdk_scalar_result pdk_scalar_int(const char *text, int64_t *out);
enum pdk_scalar_result pdk_scalar_number(const char *text, double *out);
/* "90s", "1h30m", "1.5s", to milliseconds. Units: ms s m h d. */
enum pdk_scalar_result pdk_scalar_duration(const char *text, int64_t *ms);
/* "512MiB", "1.5GB", to bytes. Units: B kB MB GB TB, KiB MiB GiB TiB. */
enum pdk_scalar_result pdk_scalar_size(const char *text, int64_t *bytes);

/* The shortest exact text in one unit. */
void pdk_scalar_show_duration(int64_t ms, char out[static 32]);
void pdk_scalar_show_size(int64_t bytes, char out[static 32]);

/* Plain text that YAML 1.1 read as a boolean ("no", "On"), other than true and false. */
bool pdk_scalar_old_bool(const char *text, bool *value);
/* Plain text that is null in YAML 1.2. */
bool pdk_scalar_null(const char *text);
/* [A-Za-z0-9][A-Za-z0-9._-]*, at most 128 bytes. */
bool pdk_scalar_id(const char *text);
/* [A-Za-z_][A-Za-z0-9_]* */
bool pdk_scalar_name(const char *text);

#endif
