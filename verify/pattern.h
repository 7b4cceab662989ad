/* One pattern: PCRE2 behind four functions. verify's own. Matching is safe on several threads at once. */
#ifndef PDK_VERIFY_PATTERN_H
#define PDK_VERIFY_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct pdk_err;
struct pdk_pattern; /* opaque, heap */

/* PDK_EINVAL with what is wrong; *offset (NULL allowed) is then the byte in it. */
int pdk_pattern_compile(
        const char *text, struct pdk_pattern **out, size_t *offset, struct pdk_err *err);
void pdk_pattern_free(struct pdk_pattern *pattern); /* NULL is fine */

enum pdk_match {
    PDK_MATCH_YES,
    PDK_MATCH_NO,
    PDK_MATCH_UNKNOWN /* a limit was met */
};

/* What is searched; borrowed. */
struct pdk_subject {
    const char *text;
    size_t len;
    bool utf8; /* text is valid UTF-8 */
};

/* utf8: the subject is valid UTF-8. Bounded in time and memory. PDK_ENOMEM. */
int pdk_pattern_match(const struct pdk_pattern *pattern, const char *subject, size_t len,
        bool utf8, enum pdk_match *out, struct pdk_err *err);

/* Where in the subject: bytes from start to end. */
struct pdk_span {
    size_t start, end;
};

/*
 * The first match that begins at or after `from`. whole: all of it; group: its first named group,
 * else its first group, else all of it (start == end where the group took no part).
 */
int pdk_pattern_find(const struct pdk_pattern *pattern, const struct pdk_subject *subject,
        size_t from, struct pdk_span *whole, struct pdk_span *group, enum pdk_match *out,
        struct pdk_err *err);

#endif
