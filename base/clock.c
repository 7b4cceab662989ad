#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"

static int64_t read_clock(clockid_t id)
{
    struct timespec ts = { 0, 0 };

    (void)clock_gettime(id, &ts); /* cannot fail for these two clocks */
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t pdk_clock_ms(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t pdk_clock_wall_ms(void)
{
    return read_clock(CLOCK_REALTIME);
}

void pdk_clock_format(int64_t wall_ms, char *out, size_t size)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;
    char date[24] = "";

    if (gmtime_r(&seconds, &tm))
        (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(out, size, "%s.%03dZ", date, (int)(wall_ms % 1000));
}

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit durations[] = { { "d", 86400000 }, { "h", 3600000 },
    { "m", 60000 }, { "s", 1000 }, { "ms", 1 } };
static const struct unit sizes[] = { { "B", 1 }, { "kB", 1000 }, { "MB", 1000000 },
    { "GB", 1000000000 }, { "TB", 1000000000000 }, { "KiB", 1LL << 10 },
    { "MiB", 1LL << 20 }, { "GiB", 1LL << 30 }, { "TiB", 1LL << 40 } };

static const struct unit *find_unit(
        const struct unit *units, size_t n, const char *text, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(units[i].name) == len && strncmp(units[i].name, text, len) == 0)
            return &units[i];
    return NULL;
}

/* Reads "<number><unit>" at *at and moves it on; 0, or -1 where there is no such thing. */
static int read_quantity(const char **at, const struct unit *units, size_t n,
        const struct unit **unit, int64_t *out)
{
    char *end = NULL;
    long long number;
    size_t len = 0;

    if (!isdigit((unsigned char)**at))
        return -1;
    errno = 0;
    number = strtoll(*at, &end, 10);
    while (isalpha((unsigned char)end[len]))
        len++;
    *unit = find_unit(units, n, end, len);
    if (errno != 0 || !*unit || number > INT64_MAX / (*unit)->factor)
        return -1;
    *out = number * (*unit)->factor;
    *at = end + len;
    return 0;
}

int pdk_duration_parse(const char *text, int64_t *out_ms, struct pdk_err *err)
{
    const size_t n = sizeof(durations) / sizeof(durations[0]);
    const struct unit *unit = NULL, *last = NULL;
    const char *at = text;
    int64_t total = 0, part = 0;

    do {
        if (read_quantity(&at, durations, n, &unit, &part) < 0 ||
                (last && unit <= last) || part > INT64_MAX - total) {
            (void)pdk_fail(err, PDK_EINVAL, 0, "'%.40s' is no duration", text);
            return pdk_hint(err, "write a number with its unit: 250ms, 30s, 5m, 1h30m");
        }
        last = unit;
        total += part;
    } while (*at);
    *out_ms = total;
    return 0;
}

void pdk_duration_format(int64_t ms, char *out, size_t size)
{
    if (ms < 1000)
        (void)snprintf(out, size, "%dms", (int)ms);
    else if (ms < 60000)
        (void)snprintf(out, size, "%d.%ds", (int)(ms / 1000), (int)(ms % 1000 / 100));
    else if (ms < 3600000)
        (void)snprintf(out, size, "%dm%02ds", (int)(ms / 60000), (int)(ms / 1000 % 60));
    else
        (void)snprintf(out, size, "%lldh%02dm", (long long)(ms / 3600000),
                (int)(ms / 60000 % 60));
}

int pdk_size_parse(const char *text, int64_t *out_bytes, struct pdk_err *err)
{
    const struct unit *unit = NULL;
    const char *at = text;
    int64_t bytes = 0;

    if (read_quantity(&at, sizes, sizeof(sizes) / sizeof(sizes[0]), &unit, &bytes) < 0 ||
            *at) {
        (void)pdk_fail(err, PDK_EINVAL, 0, "'%.40s' is no size", text);
        return pdk_hint(err, "write a number with its unit: 64KiB, 512MiB, 2GiB");
    }
    *out_bytes = bytes;
    return 0;
}
