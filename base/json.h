/*
 * JSON values: the one door to the JSON library (jansson). Integers are 64 bits wide,
 * duplicate keys and invalid UTF-8 are refused, depth is bounded.
 *
 * Values are reference counted, not safe for concurrent use. Constructors return NULL
 * when out of memory (or for text that is not UTF-8), and the setters below accept that
 * NULL as a failure, so that a document is built without checks in between and checked
 * once: pdk_json_ok().
 */
#ifndef PDK_BASE_JSON_H
#define PDK_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"

struct pdk_json; /* opaque: a jansson value */
struct pdk_buf;
struct pdk_err;

enum pdk_json_type {
    PDK_JSON_NULL,
    PDK_JSON_BOOL,
    PDK_JSON_INT,
    PDK_JSON_REAL,
    PDK_JSON_STRING,
    PDK_JSON_ARRAY,
    PDK_JSON_OBJECT
};

struct pdk_json *pdk_json_object(void);
struct pdk_json *pdk_json_array(void);
struct pdk_json *pdk_json_null(void);
struct pdk_json *pdk_json_bool(bool value);
struct pdk_json *pdk_json_int(int64_t value);
struct pdk_json *pdk_json_real(double value);
struct pdk_json *pdk_json_str(const char *text);              /* NULL text gives null */
struct pdk_json *pdk_json_strn(const char *text, size_t len); /* must be UTF-8 */
struct pdk_json *pdk_json_strv(const char *const *items, size_t n);

struct pdk_json *pdk_json_ref(struct pdk_json *v); /* another reference to it */
void pdk_json_free(struct pdk_json *v);            /* drops a reference; NULL is fine */
PDK_DEFINE_AUTO(struct pdk_json, pdk_json_free)
#define PDK_AUTO_JSON PDK_AUTO(pdk_json_free)

/*
 * Adds and takes `value` (also when it fails). A failure marks the container.
 * Returns 0 or PDK_ENOMEM.
 */
int pdk_json_set(struct pdk_json *object, const char *key, struct pdk_json *value);
int pdk_json_append(struct pdk_json *array, struct pdk_json *value);
int pdk_json_set_str(struct pdk_json *object, const char *key, const char *text);
int pdk_json_set_int(struct pdk_json *object, const char *key, int64_t value);
int pdk_json_set_bool(struct pdk_json *object, const char *key, bool value);
/* Sets key to the bytes as text where they are UTF-8, and always key_base64 where they are not:
 * then `key` holds the text with each bad byte as U+FFFD. */
int pdk_json_set_bytes(
        struct pdk_json *object, const char *key, const char *bytes, size_t len);

/* The same for what nobody looks at: where they are not UTF-8, key_base64 alone. */
int pdk_json_set_data(
        struct pdk_json *object, const char *key, const char *bytes, size_t len);

/* Appends what pdk_json_set_bytes() put; nothing where key is missing or null. PDK_EINVAL for another type. */
int pdk_json_get_bytes(const struct pdk_json *v, const char *key, struct pdk_buf *out,
        struct pdk_err *err);

/* 0, or PDK_ENOMEM where v is NULL or a setter failed on it or a container taken into it. */
int pdk_json_ok(const struct pdk_json *v, struct pdk_err *err);

enum pdk_json_type pdk_json_type(const struct pdk_json *v); /* NULL counts as null */
/* Borrowed members; NULL where there is none or v is no object (array). */
struct pdk_json *pdk_json_get(const struct pdk_json *v, const char *key);
struct pdk_json *pdk_json_at(const struct pdk_json *v, size_t index);
size_t pdk_json_len(const struct pdk_json *v); /* members of an array or object */
/* Values with a fallback for a missing member or one of another type. */
const char *pdk_json_get_str(
        const struct pdk_json *v, const char *key, const char *fallback);
int64_t pdk_json_get_int(const struct pdk_json *v, const char *key, int64_t fallback);
bool pdk_json_get_bool(const struct pdk_json *v, const char *key, bool fallback);
double pdk_json_get_real(
        const struct pdk_json *v, const char *key, double fallback); /* ints too */
const char *pdk_json_text(
        const struct pdk_json *v, size_t *len); /* NULL when no string */
int64_t pdk_json_int_value(const struct pdk_json *v);
double pdk_json_real_value(const struct pdk_json *v);
bool pdk_json_bool_value(const struct pdk_json *v);
/* Calls visit for each member in insertion order, until it returns non-zero; returns that. */
int pdk_json_each(const struct pdk_json *object,
        int (*visit)(const char *key, struct pdk_json *value, void *user), void *user);
/* Drops a member; one that is not there is fine. */
void pdk_json_remove(struct pdk_json *object, const char *key);
bool pdk_json_equal(const struct pdk_json *a, const struct pdk_json *b);

/* Parses exactly one document of len bytes (objects and arrays only). PDK_EINVAL names the place. */
int pdk_json_parse(
        const char *text, size_t len, struct pdk_json **out, struct pdk_err *err);

enum pdk_json_style {
    PDK_JSON_COMPACT, /* one line, keys in insertion order */
    PDK_JSON_PRETTY,  /* two spaces */
    PDK_JSON_SORTED   /* one line, keys sorted: for comparing and digests */
};

/* Appends the text (no newline at the end). PDK_ENOMEM, also for a marked container. */
int pdk_json_write(const struct pdk_json *v, enum pdk_json_style style,
        struct pdk_buf *out, struct pdk_err *err);

#endif
