#include "missions/scalar.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    int64_t worth;
};

static const struct unit duration_units[] = { { "d", 86400000 }, { "h", 3600000 },
    { "m", 60000 }, { "s", 1000 }, { "ms", 1 }, { NULL, 0 } };

static const struct unit size_units[] = { { "TiB", INT64_C(1) << 40 }, { "GiB", 1 << 30 },
    { "MiB", 1 << 20 }, { "KiB", 1 << 10 }, { "TB", INT64_C(1000000000000) },
    { "GB", 1000000000 }, { "MB", 1000000 }, { "kB", 1000 }, { "B", 1 }, { NULL, 0 } };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool one_of(const char *text, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

bool pdk_scalar_bool(const char *text, bool *out)
{
    static const char *const yes[] = { "true", "True", "TRUE", NULL };
    static const char *const no[] = { "false", "False", "FALSE", NULL };

    if (!one_of(text, yes) && !one_of(text, no))
        return false;
    *out = one_of(text, yes);
    return true;
}

bool pdk_scalar_old_bool(const char *text, bool *value)
{
    static const char *const yes[] = { "y", "yes", "on", NULL };
    static const char *const no[] = { "n", "no", "off", NULL };
    char lower[8] = "";

    for (size_t i = 0; text[i] && i < sizeof(lower) - 1; i++)
        lower[i] = (char)tolower((unsigned char)text[i]);
    if (strlen(text) >= sizeof(lower) || (!one_of(lower, yes) && !one_of(lower, no)))
        return false;
    *value = one_of(lower, yes);
    return true;
}

bool pdk_scalar_null(const char *text)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };

    return one_of(text, nulls);
}

enum pdk_scalar_result pdk_scalar_int(const char *text, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    int base = 10;
    char *end;

    if (strncmp(text, "0o", 2) == 0 || strncmp(text, "0x", 2) == 0) {
        base = text[1] == 'o' ? 8 : 16;
        digits = text + 2;
        if (!isxdigit((unsigned char)*digits) || digits[1] == 'x')
            return PDK_SCALAR_BAD;
    } else if (!is_digit(*digits)) {
        return PDK_SCALAR_BAD;
    }
    errno = 0;
    long long value = strtoll(base == 10 ? text : digits, &end, base);
    if (*end)
        return PDK_SCALAR_BAD;
    if (errno == ERANGE)
        return PDK_SCALAR_RANGE;
    *out = value;
    return PDK_SCALAR_OK;
}

/* [-+]? ( . [0-9]+ | [0-9]+ ( . [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool number_form(const char *at)
{
    size_t digits = 0;

    at += *at == '-' || *at == '+';
    for (; is_digit(*at); at++)
        digits++;
    if (*at == '.')
        for (at++; is_digit(*at); at++)
            digits++;
    if (digits == 0)
        return false;
    if (*at != 'e' && *at != 'E')
        return *at == '\0';
    at++;
    at += *at == '-' || *at == '+';
    if (!is_digit(*at))
        return false;
    while (is_digit(*at))
        at++;
    return *at == '\0';
}

enum pdk_scalar_result pdk_scalar_number(const char *text, double *out)
{
    if (!number_form(text))
        return PDK_SCALAR_BAD;
    double value = strtod(text, NULL);

    if (!isfinite(value))
        return PDK_SCALAR_RANGE;
    *out = value;
    return PDK_SCALAR_OK;
}

/* The unit at the start of text that ends where the letters end. */
static const struct unit *find_unit(const char *text, const struct unit *units)
{
    size_t n = 0;

    while (isalpha((unsigned char)text[n]))
        n++;
    for (; units->name; units++)
        if (strlen(units->name) == n && strncmp(text, units->name, n) == 0)
            return units;
    return NULL;
}

/* One "1.5h" at *at; adds to *sum. Fractions must come out whole. */
static enum pdk_scalar_result part(
        const char **at, const struct unit *units, int64_t *sum)
{
    const char *p = *at;
    int64_t whole = 0;
    int64_t fraction = 0;
    int64_t scale = 1;

    if (!is_digit(*p))
        return PDK_SCALAR_BAD;
    for (; is_digit(*p); p++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
                __builtin_add_overflow(whole, *p - '0', &whole))
            return PDK_SCALAR_RANGE;
    if (*p == '.')
        for (p++; is_digit(*p) && scale < 1000000; p++) {
            fraction = fraction * 10 + (*p - '0');
            scale *= 10;
        }
    if (!*p)
        return PDK_SCALAR_UNIT;
    const struct unit *unit = find_unit(p, units);
    if (!unit)
        return PDK_SCALAR_BAD;
    if (__builtin_mul_overflow(whole, unit->worth, &whole) ||
            __builtin_add_overflow(*sum, whole, sum))
        return PDK_SCALAR_RANGE;
    if (fraction * unit->worth % scale != 0) /* below 2^40 times 10^6: fits */
        return PDK_SCALAR_BAD;
    if (__builtin_add_overflow(*sum, fraction * unit->worth / scale, sum))
        return PDK_SCALAR_RANGE;
    *at = p + strlen(unit->name);
    return PDK_SCALAR_OK;
}

enum pdk_scalar_result pdk_scalar_duration(const char *text, int64_t *ms)
{
    int64_t sum = 0;
    const char *at = text;

    do {
        enum pdk_scalar_result rc = part(&at, duration_units, &sum);
        if (rc != PDK_SCALAR_OK)
            return rc;
    } while (*at);
    *ms = sum;
    return PDK_SCALAR_OK;
}

enum pdk_scalar_result pdk_scalar_size(const char *text, int64_t *bytes)
{
    int64_t sum = 0;
    const char *at = text;
    enum pdk_scalar_result rc = part(&at, size_units, &sum);

    if (rc == PDK_SCALAR_OK && *at)
        rc = PDK_SCALAR_BAD;
    if (rc == PDK_SCALAR_OK)
        *bytes = sum;
    return rc;
}

/* In the first unit that divides it; the last of units always does. */
static void show(int64_t value, const struct unit *units, char *out)
{
    while (units[1].name && (value == 0 || value % units->worth != 0))
        units++;
    (void)snprintf(out, 32, "%lld%s", (long long)(value / units->worth), units->name);
}

void pdk_scalar_show_duration(int64_t ms, char out[static 32])
{
    show(ms, duration_units, out);
}

void pdk_scalar_show_size(int64_t bytes, char out[static 32])
{
    show(bytes, size_units, out);
}

bool pdk_scalar_id(const char *text)
{
    size_t n = strspn(
            text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

    return n > 0 && n <= 128 && text[n] == '\0' && isalnum((unsigned char)text[0]);
}

bool pdk_scalar_name(const char *text)
{
    size_t n = strspn(
            text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

    return n > 0 && text[n] == '\0' && !is_digit(text[0]);
}
