/*
 * Growing byte buffers and string vectors.
 *
 * A failed append marks the buffer (failed) and later appends do nothing, so that a
 * caller checks once, at the end, with pdk_buf_ok(). Not safe for concurrent use.
 */
#ifndef PDK_BASE_STR_H
#define PDK_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

struct pdk_err;

struct pdk_buf {
    char *data; /* NUL-terminated once anything was added; NULL before */
    size_t len; /* without the final NUL */
    size_t cap;
    bool failed; /* an allocation failed */
};

#define PDK_BUF_INIT                                                                     \
    {                                                                                    \
        NULL, 0, 0, false                                                                \
    }

void pdk_buf_fini(struct pdk_buf *buf);
#define PDK_AUTO_BUF __attribute__((cleanup(pdk_buf_fini)))
/* Empties it, keeps the memory. */
void pdk_buf_reset(struct pdk_buf *buf);
void pdk_buf_add(struct pdk_buf *buf, const void *data, size_t len);
void pdk_buf_adds(struct pdk_buf *buf, const char *text);
void pdk_buf_addc(struct pdk_buf *buf, char c);
__attribute__((format(printf, 2, 3))) void pdk_buf_addf(
        struct pdk_buf *buf, const char *fmt, ...);
/* Makes room for `more` bytes past len and returns where they go; NULL when out of memory. */
char *pdk_buf_room(struct pdk_buf *buf, size_t more);
/* Drops the first n bytes. */
void pdk_buf_drop(struct pdk_buf *buf, size_t n);
/* 0, or PDK_ENOMEM when any append failed. */
int pdk_buf_ok(const struct pdk_buf *buf, struct pdk_err *err);
/* The text, owned by the caller after ("" when empty); NULL when an append failed. */
char *pdk_buf_take(struct pdk_buf *buf);
/* The text, borrowed; "" when empty. */
const char *pdk_buf_str(const struct pdk_buf *buf);

/* Heap-allocated formatted text, NULL when out of memory. */
__attribute__((format(printf, 1, 2))) char *pdk_strf(const char *fmt, ...);

bool pdk_streq(const char *a, const char *b); /* NULL equals NULL only */
bool pdk_starts_with(const char *text, const char *prefix);
bool pdk_ends_with(const char *text, const char *suffix);

/* A NULL-terminated vector of owned strings, fit for argv and envp. */
struct pdk_strv {
    char **items; /* NULL-terminated once anything was added; NULL before */
    size_t len;
    size_t cap;
    bool failed;
};

#define PDK_STRV_INIT                                                                    \
    {                                                                                    \
        NULL, 0, 0, false                                                                \
    }

void pdk_strv_fini(struct pdk_strv *v);
#define PDK_AUTO_STRV __attribute__((cleanup(pdk_strv_fini)))
void pdk_strv_add(struct pdk_strv *v, const char *text); /* copied */
void pdk_strv_take(struct pdk_strv *v, char *text);      /* taken; NULL marks failure */
__attribute__((format(printf, 2, 3))) void pdk_strv_addf(
        struct pdk_strv *v, const char *fmt, ...);
int pdk_strv_copy(struct pdk_strv *to, const struct pdk_strv *from, struct pdk_err *err);
int pdk_strv_ok(const struct pdk_strv *v, struct pdk_err *err);
bool pdk_strv_has(const struct pdk_strv *v, const char *text);
/* Byte order, for qsort-like determinism. */
void pdk_strv_sort(struct pdk_strv *v);

/* The candidate nearest to word by edit distance, or NULL when none is near enough. Borrowed. */
const char *pdk_nearest(const char *word, const char *const *names, size_t n);

#endif
