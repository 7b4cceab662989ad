#include "verify/tests.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/utf8.h"
#include "verify/pattern.h"

enum { NAME_MAX_BYTES = 1024 };

void pdk_tests_fini(struct pdk_tests *tests)
{
    pdk_strv_fini(&tests->passed);
    pdk_strv_fini(&tests->failed);
}

static int tests_ok(const struct pdk_tests *tests, struct pdk_err *err)
{
    if (pdk_strv_ok(&tests->passed, err) < 0)
        return PDK_ENOMEM;
    return pdk_strv_ok(&tests->failed, err);
}

/* A name as the log can hold it: printable, and of bounded length. */
static void add_name(struct pdk_strv *to, const char *name, size_t len)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    pdk_utf8_printable(name, len < NAME_MAX_BYTES ? len : NAME_MAX_BYTES, &text);
    pdk_strv_take(to, pdk_buf_take(&text));
}

/* ---- JUnit: a scan for tags; no more of XML than that */

struct xml {
    const char *at, *end;
};

static bool looking_at(const struct xml *x, const char *word)
{
    size_t len = strlen(word);

    return (size_t)(x->end - x->at) >= len && memcmp(x->at, word, len) == 0;
}

/* Past the next `word`, or to the end. */
static void skip_past(struct xml *x, const char *word)
{
    const char *found = memmem(x->at, (size_t)(x->end - x->at), word, strlen(word));

    x->at = found ? found + strlen(word) : x->end;
}

/* The tag that begins at x->at ("<"): its span up to its ">", quotes respected. */
static struct xml read_tag(struct xml *x)
{
    struct xml tag = { x->at, x->end };
    char quote = '\0';

    for (x->at++; x->at < x->end; x->at++) {
        char c = *x->at;

        if (quote && c == quote) {
            quote = '\0';
        } else if (quote) {
            continue;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '>') {
            tag.end = x->at++;
            return tag;
        }
    }
    return tag;
}

/* The next tag outside of comments and character data; false at the end. */
static bool next_tag(struct xml *x, struct xml *tag)
{
    while (x->at < x->end) {
        const char *open = memchr(x->at, '<', (size_t)(x->end - x->at));

        x->at = open ? open : x->end;
        if (looking_at(x, "<![CDATA[")) {
            skip_past(x, "]]>");
        } else if (looking_at(x, "<!--")) {
            skip_past(x, "-->");
        } else if (open) {
            *tag = read_tag(x);
            return true;
        }
    }
    return false;
}

static bool is_tag(const struct xml *tag, const char *name)
{
    size_t len = strlen(name);
    size_t have = (size_t)(tag->end - tag->at);

    if (have < len + 1 || memcmp(tag->at + 1, name, len) != 0)
        return false;
    return have == len + 1 || strchr(" \t\r\n/", tag->at[len + 1]) != NULL;
}

/* The value of an attribute; empty where there is none. */
static struct xml attribute(const struct xml *tag, const char *name)
{
    size_t len = strlen(name);
    struct xml none = { tag->end, tag->end };

    for (const char *p = tag->at; p + len + 2 < tag->end; p++) {
        const char *close;
        char quote = p[len + 2];

        if (!isspace((unsigned char)p[0]) || memcmp(p + 1, name, len) != 0 ||
                p[len + 1] != '=' || (quote != '"' && quote != '\''))
            continue;
        close = memchr(p + len + 3, quote, (size_t)(tag->end - (p + len + 3)));
        return close ? (struct xml){ p + len + 3, close } : none;
    }
    return none;
}

static void name_case(const struct xml *tag, struct pdk_buf *out)
{
    struct xml class_name = attribute(tag, "classname"), name = attribute(tag, "name");

    pdk_buf_reset(out);
    pdk_buf_add(out, class_name.at, (size_t)(class_name.end - class_name.at));
    if (class_name.at < class_name.end)
        pdk_buf_addc(out, '.');
    pdk_buf_add(out, name.at, (size_t)(name.end - name.at));
}

enum case_state { CASE_NONE, CASE_PASSED, CASE_FAILED, CASE_SKIPPED };

static void end_case(
        enum case_state *state, const struct pdk_buf *name, struct pdk_tests *out)
{
    if (*state == CASE_PASSED)
        add_name(&out->passed, pdk_buf_str(name), name->len);
    else if (*state == CASE_FAILED)
        add_name(&out->failed, pdk_buf_str(name), name->len);
    else if (*state == CASE_SKIPPED)
        out->skipped++;
    *state = CASE_NONE;
}

int pdk_tests_junit(
        const char *text, size_t len, struct pdk_tests *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf name = PDK_BUF_INIT;
    struct xml x = { text, text + len }, tag = { NULL, NULL };
    enum case_state state = CASE_NONE;

    while (next_tag(&x, &tag)) {
        if (is_tag(&tag, "testsuite") || is_tag(&tag, "testsuites")) {
            out->found = true;
        } else if (is_tag(&tag, "testcase")) {
            end_case(&state, &name, out);
            out->found = true;
            state = CASE_PASSED;
            name_case(&tag, &name);
            if (tag.end[-1] == '/')
                end_case(&state, &name, out);
        } else if (is_tag(&tag, "/testcase")) {
            end_case(&state, &name, out);
        } else if (state != CASE_NONE &&
                (is_tag(&tag, "failure") || is_tag(&tag, "error"))) {
            state = CASE_FAILED;
        } else if (state == CASE_PASSED && is_tag(&tag, "skipped")) {
            state = CASE_SKIPPED;
        }
    }
    if (state == CASE_FAILED) /* one that was cut off has not passed */
        end_case(&state, &name, out);
    return pdk_buf_ok(&name, err) < 0 ? PDK_ENOMEM : tests_ok(out, err);
}

/* ---- TAP */

static size_t count_blanks(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && (text[n] == ' ' || text[n] == '\t'))
        n++;
    return n;
}

static bool is_directive(const char *text, size_t len, const char *word)
{
    size_t blanks = count_blanks(text, len);

    return len - blanks >= strlen(word) &&
            strncasecmp(text + blanks, word, strlen(word)) == 0;
}

/* What stands after "ok" or "not ok": a number, a dash, the name, a directive. */
static void take_point(const char *rest, size_t len, bool ok, struct pdk_tests *out)
{
    const char *hash = memchr(rest, '#', len);
    size_t blanks = count_blanks(rest, len), digits = 0;

    if (hash &&
            (is_directive(hash + 1, (size_t)(rest + len - hash - 1), "skip") ||
                    is_directive(hash + 1, (size_t)(rest + len - hash - 1), "todo"))) {
        out->skipped++;
        return;
    }
    rest += blanks;
    len -= blanks;
    while (digits < len && isdigit((unsigned char)rest[digits]))
        digits++;
    size_t skip = digits + count_blanks(rest + digits, len - digits);
    if (skip < len && rest[skip] == '-')
        skip += 1 + count_blanks(rest + skip + 1, len - skip - 1);
    if (skip >= len) /* without a name the number is one */
        add_name(ok ? &out->passed : &out->failed, rest, digits);
    else
        add_name(ok ? &out->passed : &out->failed, rest + skip, len - skip);
}

static bool begins(const char *line, size_t len, const char *word)
{
    size_t n = strlen(word);

    return len >= n && memcmp(line, word, n) == 0 &&
            (len == n || line[n] == ' ' || line[n] == '\t');
}

int pdk_tests_tap(
        const char *text, size_t len, struct pdk_tests *out, struct pdk_err *err)
{
    const char *end = text + len;

    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        size_t n = (size_t)(stop - line);

        if (n > 0 && line[n - 1] == '\r')
            n--;
        if (n >= 4 && memcmp(line, "1..", 3) == 0 && isdigit((unsigned char)line[3]))
            out->found = true;
        if (begins(line, n, "ok")) {
            out->found = true;
            take_point(line + 2, n - 2, true, out);
        } else if (begins(line, n, "not ok")) {
            out->found = true;
            take_point(line + 6, n - 6, false, out);
        }
        line = stop + 1;
    }
    return tests_ok(out, err);
}

/* ---- patterns */

static int take_matches(const struct pdk_subject *s, const struct pdk_pattern *pattern,
        struct pdk_strv *names, bool *found, struct pdk_err *err)
{
    struct pdk_span whole = { 0, 0 }, group = { 0, 0 };
    enum pdk_match match = PDK_MATCH_YES;
    size_t from = 0;

    while (pattern && from <= s->len) {
        int rc = pdk_pattern_find(pattern, s, from, &whole, &group, &match, err);

        if (rc < 0)
            return rc;
        if (match != PDK_MATCH_YES)
            break;
        *found = true;
        add_name(names, s->text + group.start, group.end - group.start);
        from = whole.end > whole.start ? whole.end : whole.end + 1;
        while (s->utf8 && from < s->len &&
                ((unsigned char)s->text[from] & 0xc0U) == 0x80U)
            from++;
    }
    return pdk_strv_ok(names, err);
}

int pdk_tests_patterns(const struct pdk_subject *subject,
        const struct pdk_pattern *passed, const struct pdk_pattern *failed,
        struct pdk_tests *out, struct pdk_err *err)
{
    int rc = take_matches(subject, passed, &out->passed, &out->found, err);

    return rc < 0 ? rc : take_matches(subject, failed, &out->failed, &out->found, err);
}
