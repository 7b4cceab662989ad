#include "verify/pattern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"
#include "verify/evidence.h"

/*
 * PCRE2 counts its match limit anew at each start, so that it alone bounds nothing on a long
 * subject: starts are tried a window at a time, and between windows there is a deadline.
 */
enum {
    MATCH_LIMIT = 10000000,
    DEPTH_LIMIT = 1000000,
    HEAP_KIB = 64 << 10,
    PATTERN_MAX = 64 << 10,
    WINDOW = 64,
    BUDGET_MS = 5000
};

struct pdk_pattern {
    pcre2_code *bytes;
    pcre2_code *utf8; /* NULL: the pattern itself is not UTF-8 */
};

void pdk_pattern_free(struct pdk_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->bytes);
    pcre2_code_free(pattern->utf8);
    free(pattern);
}

static pcre2_compile_context *new_compile_context(void)
{
    pcre2_compile_context *ctx = pcre2_compile_context_create(NULL);

    if (!ctx)
        return NULL;
    (void)pcre2_set_newline(ctx, PCRE2_NEWLINE_ANYCRLF);  /* a constant of its own */
    (void)pcre2_set_max_pattern_length(ctx, PATTERN_MAX); /* always 0 */
    return ctx;
}

static int compile(const char *text, uint32_t options, pcre2_code **out, size_t *offset,
        struct pdk_err *err)
{
    pcre2_compile_context *ctx = new_compile_context();
    PCRE2_UCHAR why[160] = "";
    PCRE2_SIZE at = 0;
    int code = 0;

    if (!ctx)
        return pdk_fail_nomem(err);
    /* Start optimisations search past the window, up to the end of the subject. */
    options |= PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT |
            PCRE2_NO_START_OPTIMIZE;
    *out = pcre2_compile((PCRE2_SPTR)text, strlen(text), options, &code, &at, ctx);
    pcre2_compile_context_free(ctx);
    if (*out)
        return 0;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return pdk_fail_nomem(err);
    (void)pcre2_get_error_message(code, why, sizeof(why)); /* cut where it is too long */
    if (offset)
        *offset = at;
    return pdk_fail(err, PDK_EINVAL, 0, "%s at offset %zu of the pattern",
            (const char *)why, (size_t)at);
}

int pdk_pattern_compile(
        const char *text, struct pdk_pattern **out, size_t *offset, struct pdk_err *err)
{
    struct pdk_pattern *pattern = calloc(1, sizeof(*pattern));
    int rc;

    if (!pattern)
        return pdk_fail_nomem(err);
    rc = compile(text, PCRE2_NEVER_UTF, &pattern->bytes, offset, err);
    if (rc == 0 && pdk_utf8_valid(text, strlen(text)))
        rc = compile(text, PCRE2_UTF, &pattern->utf8, offset, err);
    if (rc < 0) {
        pdk_pattern_free(pattern);
        return rc;
    }
    *out = pattern;
    return 0;
}

int pdk_pattern_check(const char *pattern, size_t *offset, struct pdk_err *err)
{
    struct pdk_pattern *made = NULL;
    int rc = pdk_pattern_compile(pattern, &made, offset, err);

    pdk_pattern_free(made);
    return rc;
}

/* The next start after `at` that is the start of a character. */
static size_t next_start(const char *subject, size_t len, size_t at, bool utf8)
{
    at++;
    while (utf8 && at < len && ((unsigned char)subject[at] & 0xc0U) == 0x80U)
        at++;
    return at;
}

/* Everything that a match needs; made for one match. */
struct matcher {
    const pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *ctx;
    const char *subject;
    size_t len;
    bool utf8;
};

static enum pdk_match search(const struct matcher *m, size_t at)
{
    int64_t deadline = pdk_clock_ms() + BUDGET_MS;

    while (at <= m->len) {
        size_t last = m->len - at < WINDOW ? m->len : at + WINDOW;
        (void)pcre2_set_offset_limit(m->ctx, last); /* always 0 */
        int rc = pcre2_match(m->code, (PCRE2_SPTR)m->subject, m->len, at,
                PCRE2_NO_UTF_CHECK, m->data, m->ctx);
        if (rc >= 0)
            return PDK_MATCH_YES;
        if (rc != PCRE2_ERROR_NOMATCH)
            return PDK_MATCH_UNKNOWN;
        if (pdk_clock_ms() > deadline && last < m->len)
            return PDK_MATCH_UNKNOWN;
        at = next_start(m->subject, m->len, last, m->utf8);
    }
    return PDK_MATCH_NO;
}

static void matcher_fini(struct matcher *m)
{
    pcre2_match_data_free(m->data);
    pcre2_match_context_free(m->ctx);
}

static int matcher_init(struct matcher *m, const struct pdk_pattern *pattern,
        const struct pdk_subject *subject, struct pdk_err *err)
{
    bool as_text = subject->utf8 && pattern->utf8;

    *m = (struct matcher){ .code = as_text ? pattern->utf8 : pattern->bytes,
        .subject = subject->text,
        .len = subject->len,
        .utf8 = as_text };
    m->data = pcre2_match_data_create_from_pattern(m->code, NULL);
    m->ctx = pcre2_match_context_create(NULL);
    if (!m->data || !m->ctx) {
        matcher_fini(m);
        return pdk_fail_nomem(err);
    }
    (void)pcre2_set_match_limit(m->ctx, MATCH_LIMIT); /* these three always give 0 */
    (void)pcre2_set_depth_limit(m->ctx, DEPTH_LIMIT);
    (void)pcre2_set_heap_limit(m->ctx, HEAP_KIB);
    return 0;
}

int pdk_pattern_match(const struct pdk_pattern *pattern, const char *subject, size_t len,
        bool utf8, enum pdk_match *out, struct pdk_err *err)
{
    struct pdk_subject all = { subject, len, utf8 };
    struct matcher m;

    if (matcher_init(&m, pattern, &all, err) < 0)
        return PDK_ENOMEM;
    *out = search(&m, 0);
    matcher_fini(&m);
    return 0;
}

/* The number of the group that names what is looked for; 0: the whole match. */
static uint32_t telling_group(const pcre2_code *code)
{
    uint32_t names = 0, groups = 0;
    PCRE2_SPTR table = NULL;

    (void)pcre2_pattern_info(code, PCRE2_INFO_NAMECOUNT, &names); /* these three are 0 */
    (void)pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
    (void)pcre2_pattern_info(code, PCRE2_INFO_NAMETABLE, (void *)&table);
    if (names > 0)
        return ((uint32_t)table[0] << 8) | table[1];
    return groups > 0 ? 1 : 0;
}

static struct pdk_span span_of(const struct matcher *m, uint32_t group)
{
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(m->data);
    size_t pair = 2 * (size_t)group;
    struct pdk_span span = { at[pair], at[pair + 1] };

    return span.start == PCRE2_UNSET || span.end < span.start ? (struct pdk_span){ 0, 0 }
                                                              : span;
}

int pdk_pattern_find(const struct pdk_pattern *pattern, const struct pdk_subject *subject,
        size_t from, struct pdk_span *whole, struct pdk_span *group, enum pdk_match *out,
        struct pdk_err *err)
{
    struct matcher m;

    if (matcher_init(&m, pattern, subject, err) < 0)
        return PDK_ENOMEM;
    *out = search(&m, from);
    if (*out == PDK_MATCH_YES) {
        *whole = span_of(&m, 0);
        *group = span_of(&m, telling_group(m.code));
    }
    matcher_fini(&m);
    return 0;
}
