#include "base/json.h"

#include <jansson.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"

/* A member of this name marks a container in which a setter failed. */
#define FAILED_KEY                                                                       \
    "\x01"                                                                               \
    "failed"

static json_t *in(const struct pdk_json *v)
{
    /* The library's own functions take non-const pointers for reading, too. */
    union {
        const struct pdk_json *ours;
        json_t *theirs;
    } u = { .ours = v };

    return u.theirs;
}

static struct pdk_json *out_of(json_t *v)
{
    union {
        json_t *theirs;
        struct pdk_json *ours;
    } u = { .theirs = v };

    return u.ours;
}

struct pdk_json *pdk_json_object(void)
{
    return out_of(json_object());
}

struct pdk_json *pdk_json_array(void)
{
    return out_of(json_array());
}

struct pdk_json *pdk_json_null(void)
{
    return out_of(json_null());
}

struct pdk_json *pdk_json_bool(bool value)
{
    return out_of(json_boolean(value));
}

struct pdk_json *pdk_json_int(int64_t value)
{
    return out_of(json_integer(value));
}

struct pdk_json *pdk_json_real(double value)
{
    return out_of(json_real(value));
}

struct pdk_json *pdk_json_str(const char *text)
{
    return out_of(text ? json_string(text) : json_null());
}

struct pdk_json *pdk_json_strn(const char *text, size_t len)
{
    return out_of(json_stringn(text, len));
}

struct pdk_json *pdk_json_strv(const char *const *items, size_t n)
{
    struct pdk_json *array = pdk_json_array();

    for (size_t i = 0; i < n; i++)
        (void)pdk_json_append(
                array, pdk_json_str(items[i])); /* a failure marks the array */
    return array;
}

struct pdk_json *pdk_json_ref(struct pdk_json *v)
{
    return out_of(json_incref(in(v)));
}

void pdk_json_free(struct pdk_json *v)
{
    json_decref(in(v));
}

/* UNTESTED: if even the mark cannot be set, memory is so short that writing fails, too. */
static int mark_failed(json_t *container)
{
    if (json_is_object(container))
        (void)json_object_set_new(container, FAILED_KEY, json_true());
    else if (json_is_array(container))
        (void)json_array_append_new(container, json_pack("{s:b}", FAILED_KEY, 1));
    return PDK_ENOMEM;
}

int pdk_json_set(struct pdk_json *object, const char *key, struct pdk_json *value)
{
    if (!value || json_object_set_new(in(object), key, in(value)) < 0)
        return mark_failed(in(object));
    return 0;
}

int pdk_json_append(struct pdk_json *array, struct pdk_json *value)
{
    if (!value || json_array_append_new(in(array), in(value)) < 0)
        return mark_failed(in(array));
    return 0;
}

int pdk_json_set_str(struct pdk_json *object, const char *key, const char *text)
{
    return pdk_json_set(object, key, pdk_json_str(text));
}

int pdk_json_set_int(struct pdk_json *object, const char *key, int64_t value)
{
    return pdk_json_set(object, key, pdk_json_int(value));
}

int pdk_json_set_bool(struct pdk_json *object, const char *key, bool value)
{
    return pdk_json_set(object, key, pdk_json_bool(value));
}

int pdk_json_set_bytes(
        struct pdk_json *object, const char *key, const char *bytes, size_t len)
{
    PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf coded = PDK_BUF_INIT;
    PDK_AUTO_FREE char *coded_key = NULL;

    if (pdk_utf8_valid(bytes, len))
        return pdk_json_set(object, key, pdk_json_strn(bytes, len));
    coded_key = pdk_strf("%s_base64", key);
    pdk_utf8_clean(bytes, len, &clean);
    pdk_base64_encode(bytes, len, &coded);
    if (!coded_key || clean.failed || coded.failed)
        return mark_failed(in(object));
    if (pdk_json_set_str(object, key, pdk_buf_str(&clean)) < 0)
        return PDK_ENOMEM;
    return pdk_json_set_str(object, coded_key, pdk_buf_str(&coded));
}

int pdk_json_set_data(
        struct pdk_json *object, const char *key, const char *bytes, size_t len)
{
    PDK_AUTO_BUF struct pdk_buf coded = PDK_BUF_INIT;
    PDK_AUTO_FREE char *coded_key = NULL;

    if (pdk_utf8_valid(bytes, len))
        return pdk_json_set(object, key, pdk_json_strn(bytes, len));
    coded_key = pdk_strf("%s_base64", key);
    pdk_base64_encode(bytes, len, &coded);
    if (!coded_key || coded.failed)
        return mark_failed(in(object));
    return pdk_json_set_str(object, coded_key, pdk_buf_str(&coded));
}

int pdk_json_get_bytes(const struct pdk_json *v, const char *key, struct pdk_buf *out,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *coded_key = pdk_strf("%s_base64", key);
    const struct pdk_json *coded = coded_key ? pdk_json_get(v, coded_key) : NULL;
    const struct pdk_json *plain = pdk_json_get(v, key);
    size_t len = 0;
    const char *text = pdk_json_text(coded ? coded : plain, &len);

    if (!coded_key)
        return pdk_fail_nomem(err);
    if (!text && pdk_json_type(coded ? coded : plain) == PDK_JSON_NULL)
        return 0;
    if (!text)
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' is no string", key);
    if (coded)
        return pdk_base64_decode(text, len, out, err);
    pdk_buf_add(out, text, len);
    return pdk_buf_ok(out, err);
}

static bool is_failed(const json_t *v)
{
    const char *key;
    json_t *member;
    size_t i;

    if (!v)
        return true;
    if (json_is_object(v)) {
        if (json_object_get(v, FAILED_KEY))
            return true;
        json_object_foreach(in(out_of((json_t *)(uintptr_t)v)), key,
                member) if (is_failed(member)) return true;
    }
    if (json_is_array(v))
        json_array_foreach(v, i, member) if (is_failed(member)) return true;
    return false;
}

int pdk_json_ok(const struct pdk_json *v, struct pdk_err *err)
{
    return is_failed(in(v)) ? pdk_fail_nomem(err) : 0;
}

enum pdk_json_type pdk_json_type(const struct pdk_json *v)
{
    if (!v)
        return PDK_JSON_NULL;
    switch (json_typeof(in(v))) {
    case JSON_OBJECT:
        return PDK_JSON_OBJECT;
    case JSON_ARRAY:
        return PDK_JSON_ARRAY;
    case JSON_STRING:
        return PDK_JSON_STRING;
    case JSON_INTEGER:
        return PDK_JSON_INT;
    case JSON_REAL:
        return PDK_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return PDK_JSON_BOOL;
    case JSON_NULL:
        break;
    }
    return PDK_JSON_NULL;
}

struct pdk_json *pdk_json_get(const struct pdk_json *v, const char *key)
{
    return out_of(json_object_get(in(v), key));
}

struct pdk_json *pdk_json_at(const struct pdk_json *v, size_t index)
{
    return out_of(json_array_get(in(v), index));
}

size_t pdk_json_len(const struct pdk_json *v)
{
    return json_is_array(in(v)) ? json_array_size(in(v)) : json_object_size(in(v));
}

const char *pdk_json_get_str(
        const struct pdk_json *v, const char *key, const char *fallback)
{
    const char *text = json_string_value(json_object_get(in(v), key));

    return text ? text : fallback;
}

int64_t pdk_json_get_int(const struct pdk_json *v, const char *key, int64_t fallback)
{
    const json_t *member = json_object_get(in(v), key);

    return json_is_integer(member) ? json_integer_value(member) : fallback;
}

bool pdk_json_get_bool(const struct pdk_json *v, const char *key, bool fallback)
{
    const json_t *member = json_object_get(in(v), key);

    return json_is_boolean(member) ? json_is_true(member) : fallback;
}

double pdk_json_get_real(const struct pdk_json *v, const char *key, double fallback)
{
    const json_t *member = json_object_get(in(v), key);

    return json_is_number(member) ? json_number_value(member) : fallback;
}

const char *pdk_json_text(const struct pdk_json *v, size_t *len)
{
    if (len)
        *len = json_string_length(in(v));
    return json_string_value(in(v));
}

int64_t pdk_json_int_value(const struct pdk_json *v)
{
    return json_integer_value(in(v));
}

double pdk_json_real_value(const struct pdk_json *v)
{
    return json_number_value(in(v));
}

bool pdk_json_bool_value(const struct pdk_json *v)
{
    return json_is_true(in(v));
}

int pdk_json_each(const struct pdk_json *object,
        int (*visit)(const char *key, struct pdk_json *value, void *user), void *user)
{
    const char *key;
    json_t *member;

    json_object_foreach(in(object), key, member)
    {
        int rc = visit(key, out_of(member), user);

        if (rc != 0)
            return rc;
    }
    return 0;
}

void pdk_json_remove(struct pdk_json *object, const char *key)
{
    (void)json_object_del(in(object), key); /* -1: it was not there */
}

bool pdk_json_equal(const struct pdk_json *a, const struct pdk_json *b)
{
    return json_equal(in(a), in(b)) == 1;
}

int pdk_json_parse(
        const char *text, size_t len, struct pdk_json **out, struct pdk_err *err)
{
    json_error_t why;
    json_t *v = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);

    if (!v)
        return pdk_fail(err, PDK_EINVAL, 0, "JSON at line %d, column %d: %s", why.line,
                why.column, why.text);
    if (is_failed(v)) { /* else the sender could have it taken for lack of memory */
        json_decref(v);
        return pdk_fail(err, PDK_EINVAL, 0, "JSON with a key that is reserved");
    }
    *out = out_of(v);
    return 0;
}

static int append_chunk(const char *data, size_t len, void *user)
{
    struct pdk_buf *buf = user;

    pdk_buf_add(buf, data, len);
    return buf->failed ? -1 : 0;
}

int pdk_json_write(const struct pdk_json *v, enum pdk_json_style style,
        struct pdk_buf *out, struct pdk_err *err)
{
    size_t flags = JSON_ENCODE_ANY | JSON_COMPACT;

    if (is_failed(in(v)))
        return pdk_fail_nomem(err);
    if (style == PDK_JSON_PRETTY)
        flags = JSON_ENCODE_ANY | JSON_INDENT(2);
    if (style == PDK_JSON_SORTED)
        flags |= JSON_SORT_KEYS;
    if (json_dump_callback(in(v), append_chunk, out, flags) < 0)
        return pdk_fail_nomem(err);
    return 0;
}
