#include "base/str.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"

void pdk_buf_fini(struct pdk_buf *buf)
{
    free(buf->data);
    *buf = (struct pdk_buf)PDK_BUF_INIT;
}

void pdk_buf_reset(struct pdk_buf *buf)
{
    buf->len = 0;
    if (buf->data)
        buf->data[0] = '\0';
}

char *pdk_buf_room(struct pdk_buf *buf, size_t more)
{
    size_t need, cap = buf->cap ? buf->cap : 64;
    char *grown;

    if (buf->failed || more > SIZE_MAX / 4 || buf->len > SIZE_MAX / 4)
        goto fail;
    need = buf->len + more + 1;
    while (cap < need)
        cap *= 2;
    if (cap != buf->cap) {
        grown = realloc(buf->data, cap);
        if (!grown)
            goto fail;
        buf->data = grown;
        buf->data[buf->len] = '\0'; /* also when nothing follows */
        buf->cap = cap;
    }
    return buf->data + buf->len;
fail:
    buf->failed = true;
    return NULL;
}

void pdk_buf_add(struct pdk_buf *buf, const void *data, size_t len)
{
    char *to = pdk_buf_room(buf, len);

    if (!to)
        return;
    if (len > 0)
        memcpy(to, data, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void pdk_buf_adds(struct pdk_buf *buf, const char *text)
{
    pdk_buf_add(buf, text, strlen(text));
}

void pdk_buf_addc(struct pdk_buf *buf, char c)
{
    pdk_buf_add(buf, &c, 1);
}

__attribute__((format(printf, 1, 0))) static char *vstrf(const char *fmt, va_list args)
{
    char *text = NULL;

    return vasprintf(&text, fmt, args) < 0 ? NULL : text;
}

void pdk_buf_addf(struct pdk_buf *buf, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = vstrf(fmt, args);
    va_end(args);
    if (text)
        pdk_buf_adds(buf, text);
    else
        buf->failed = true;
    free(text);
}

void pdk_buf_drop(struct pdk_buf *buf, size_t n)
{
    if (n > buf->len)
        n = buf->len;
    if (n == 0)
        return;
    memmove(buf->data, buf->data + n, buf->len - n + 1);
    buf->len -= n;
}

int pdk_buf_ok(const struct pdk_buf *buf, struct pdk_err *err)
{
    return buf->failed ? pdk_fail_nomem(err) : 0;
}

char *pdk_buf_take(struct pdk_buf *buf)
{
    char *text;

    if (!buf->failed && !buf->data)
        pdk_buf_adds(buf, "");
    text = buf->failed ? NULL : pdk_take_ptr(&buf->data);
    pdk_buf_fini(buf);
    return text;
}

const char *pdk_buf_str(const struct pdk_buf *buf)
{
    return buf->data ? buf->data : "";
}

char *pdk_strf(const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = vstrf(fmt, args);
    va_end(args);
    return text;
}

bool pdk_streq(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0;
}

bool pdk_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool pdk_ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);

    return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

void pdk_strv_fini(struct pdk_strv *v)
{
    for (size_t i = 0; i < v->len; i++)
        free(v->items[i]);
    free(v->items);
    *v = (struct pdk_strv)PDK_STRV_INIT;
}

static bool strv_room(struct pdk_strv *v)
{
    size_t cap = v->cap ? v->cap * 2 : 8;
    char **grown;

    if (v->len + 1 < v->cap)
        return true;
    grown = reallocarray(v->items, cap, sizeof(*grown));
    if (!grown)
        return false;
    v->items = grown;
    v->cap = cap;
    return true;
}

void pdk_strv_take(struct pdk_strv *v, char *text)
{
    if (v->failed || !text || !strv_room(v)) {
        free(text);
        v->failed = true;
        return;
    }
    v->items[v->len++] = text;
    v->items[v->len] = NULL;
}

void pdk_strv_add(struct pdk_strv *v, const char *text)
{
    pdk_strv_take(v, strdup(text));
}

void pdk_strv_addf(struct pdk_strv *v, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    pdk_strv_take(v, vstrf(fmt, args));
    va_end(args);
}

int pdk_strv_ok(const struct pdk_strv *v, struct pdk_err *err)
{
    return v->failed ? pdk_fail_nomem(err) : 0;
}

int pdk_strv_copy(struct pdk_strv *to, const struct pdk_strv *from, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv made = PDK_STRV_INIT;

    for (size_t i = 0; i < from->len; i++)
        pdk_strv_add(&made, from->items[i]);
    if (made.failed)
        return pdk_fail_nomem(err);
    *to = made;
    made = (struct pdk_strv)PDK_STRV_INIT;
    return 0;
}

bool pdk_strv_has(const struct pdk_strv *v, const char *text)
{
    for (size_t i = 0; i < v->len; i++)
        if (strcmp(v->items[i], text) == 0)
            return true;
    return false;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void pdk_strv_sort(struct pdk_strv *v)
{
    if (v->len > 1)
        qsort(v->items, v->len, sizeof(*v->items), by_bytes);
}

enum { NEAREST_MAX = 64 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;

    return m < c ? m : c;
}

/* Levenshtein distance of two words of at most NEAREST_MAX bytes. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[NEAREST_MAX + 1], n = strlen(b);

    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t above = row[j];
            size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;

            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + cost);
            diagonal = above;
        }
    }
    return row[n];
}

const char *pdk_nearest(const char *word, const char *const *names, size_t n)
{
    size_t len = strlen(word), limit = len / 3 + 1, best = limit + 1;
    const char *found = NULL;

    if (len > NEAREST_MAX)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t d = strlen(names[i]) > NEAREST_MAX ? best : edit_distance(word, names[i]);

        if (d < best) {
            best = d;
            found = names[i];
        }
    }
    return found;
}
