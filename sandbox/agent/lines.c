/*
 * A text is searched as a whole where the pattern cannot look over the end of a line (matches are
 * leftmost all the same then, and far fewer calls are made), else line by line.
 */
#include "sandbox/agent/lines.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "sandbox/agent/agent.h"

enum {
    MATCH_LIMIT = 2000000,
    HEAP_KIB = 16 << 10,
    STACK_FIRST = 32 << 10,
    STACK_MAX = 1 << 20,
    TEXT_MAX = 2000, /* bytes of a line that are shown */
    LINE_ROOM = 8,
    CLOCK_LINES = 1024
};

struct pdk_lines {
    pcre2_code *ascii, *utf8; /* for a text of that kind */
    bool by_line;
    struct pdk_lines_spec spec;
};

/* ---- the pattern */

/* May a match look beyond its line, or depend on where the text begins or ends? */
static bool looks_beyond(const char *p, size_t len)
{
    static const char plain[] = "wdbSBt./()[]{}*+?^$|\\-\"'<>#@";
    static const char *const signs[] = { "[^", "(*", "++", "*+", "?+", "}+" };

    for (size_t i = 0; i + 1 < len; i++) {
        if (p[i] == '\\' && !memchr(plain, p[i + 1], sizeof(plain) - 1))
            return true;
        if (p[i] == '(' && p[i + 1] == '?' && (i + 2 >= len || p[i + 2] != ':'))
            return true;
        for (size_t k = 0; k < sizeof(signs) / sizeof(signs[0]); k++)
            if (memcmp(p + i, signs[k], 2) == 0)
                return true;
    }
    return false;
}

static pcre2_code *compile(
        const char *pattern, size_t len, uint32_t options, struct pdk_err *err)
{
    int code = 0;
    size_t at = 0;
    pcre2_code *made = pcre2_compile((PCRE2_SPTR)pattern, len, options, &code, &at, NULL);
    PCRE2_UCHAR text[160] = "";

    if (!made) {
        (void)pcre2_get_error_message(code, text, sizeof(text));
        (void)pdk_fail(err, PDK_EINVAL, 0, "the pattern is wrong at byte %zu: %s", at,
                (const char *)text);
        return NULL;
    }
    (void)pcre2_jit_compile(made, PCRE2_JIT_COMPLETE); /* without it, it is slower */
    return made;
}

int pdk_lines_new(const char *pattern, size_t len, const struct pdk_lines_spec *spec,
        struct pdk_lines **out, struct pdk_err *err)
{
    uint32_t options = spec->fixed ? PCRE2_LITERAL : PCRE2_MULTILINE;
    uint32_t utf = pdk_utf8_valid(pattern, len) ? PCRE2_UTF | PCRE2_MATCH_INVALID_UTF : 0;
    struct pdk_lines *made;

    if (spec->fixed && memchr(pattern, '\n', len))
        return pdk_fail(err, PDK_EINVAL, 0, "a line holds no newline");
    if (spec->ignore_case)
        options |= PCRE2_CASELESS;
    made = calloc(1, sizeof(*made));
    if (!made)
        return pdk_fail_nomem(err);
    made->spec = *spec;
    made->by_line = !spec->fixed && looks_beyond(pattern, len);
    made->ascii = compile(pattern, len, options, err);
    made->utf8 = made->ascii ? compile(pattern, len, options | utf, err) : NULL;
    if (!made->utf8) {
        pdk_lines_free(made);
        return PDK_EINVAL;
    }
    *out = made;
    return 0;
}

void pdk_lines_free(struct pdk_lines *lines)
{
    if (!lines)
        return;
    pcre2_code_free(lines->ascii);
    pcre2_code_free(lines->utf8);
    free(lines);
}

int pdk_lines_user_init(const struct pdk_lines *lines, struct pdk_lines_user *user)
{
    if (user->match)
        return 0;
    user->match = pcre2_match_data_create_from_pattern(lines->utf8, NULL);
    user->context = pcre2_match_context_create(NULL);
    user->stack = pcre2_jit_stack_create(STACK_FIRST, STACK_MAX, NULL);
    if (!user->match || !user->context)
        return PDK_ENOMEM;
    (void)pcre2_set_match_limit(user->context, MATCH_LIMIT);
    (void)pcre2_set_heap_limit(user->context, HEAP_KIB);
    pcre2_jit_stack_assign(user->context, NULL, user->stack);
    return 0;
}

void pdk_lines_user_fini(struct pdk_lines_user *user)
{
    pdk_buf_fini(&user->text);
    pcre2_match_data_free(user->match);
    pcre2_match_context_free(user->context);
    pcre2_jit_stack_free(user->stack);
}

/* ---- a text */

struct finder {
    const struct pdk_lines *lines;
    struct pdk_lines_user *user;
    const pcre2_code *code;
    const char *text, *end;
    const char *counted; /* newlines before it are in line */
    int64_t line, found, tried;
    struct pdk_json **out;
};

static bool is_ascii(const char *text, size_t len)
{
    uint64_t all = 0, word;
    size_t i = 0;

    for (; i + sizeof(word) <= len; i += sizeof(word)) {
        memcpy(&word, text + i, sizeof(word));
        all |= word;
    }
    for (; i < len; i++)
        all |= (unsigned char)text[i];
    return (all & 0x8080808080808080U) == 0;
}

static const char *line_end(const struct finder *f, const char *at)
{
    const char *newline = memchr(at, '\n', (size_t)(f->end - at));

    return newline ? newline : f->end;
}

/* The match in [text, end) from `from` on; NULL where there is none. */
static const char *match(struct finder *f, const char *text, const char *from,
        const char *end, const char **match_end)
{
    const size_t *at;
    int rc = pcre2_match(f->code, (PCRE2_SPTR)text, (size_t)(end - text),
            (size_t)(from - text), 0, f->user->match, f->user->context);

    if (rc != PCRE2_ERROR_NOMATCH && rc < 0)
        f->user->undecided = true;
    if (rc < 0)
        return NULL;
    at = pcre2_get_ovector_pointer(f->user->match);
    *match_end = text + at[1];
    return text + at[0];
}

/* ---- an item */

static size_t add_text(
        struct pdk_json *item, const char *key, const char *text, size_t len)
{
    size_t room = PDK_FRAME_MAX, shown = len < TEXT_MAX ? len : TEXT_MAX;

    (void)pdk_agent_fit(text, shown, &room);
    (void)pdk_json_set_bytes(item, key, text, shown);
    if (shown < len)
        (void)pdk_json_set_bool(item, "cut", true);
    return PDK_FRAME_MAX - room + LINE_ROOM;
}

static size_t add_context_line(struct pdk_json *list, const char *text, size_t len)
{
    struct pdk_json *item = pdk_json_object();
    size_t room = add_text(item, "text", text, len);

    (void)pdk_json_append(list, item);
    return room + 4UL * LINE_ROOM;
}

static size_t add_before(const struct finder *f, struct pdk_json *item, const char *from)
{
    struct pdk_json *list = pdk_json_array();
    const char *at = from;
    size_t room = 0;
    int n = 0;

    while (n < f->lines->spec.context && at > f->text) {
        const char *newline = memrchr(f->text, '\n', (size_t)(at - 1 - f->text));

        at = newline ? newline + 1 : f->text;
        n++;
    }
    for (const char *end; at < from; at = end + 1) {
        end = line_end(f, at);
        room += add_context_line(list, at, (size_t)(end - at));
    }
    (void)pdk_json_set(item, "before", list);
    return room;
}

static size_t add_after(const struct finder *f, struct pdk_json *item, const char *end)
{
    struct pdk_json *list = pdk_json_array();
    size_t room = 0;

    for (int n = 0; n < f->lines->spec.context && end < f->end && end + 1 < f->end; n++) {
        const char *from = end + 1;

        end = line_end(f, from);
        room += add_context_line(list, from, (size_t)(end - from));
    }
    (void)pdk_json_set(item, "after", list);
    return room;
}

/* The line [from, end), with a match that begins at `at`. */
static void add_match(struct finder *f, const char *from, const char *end, const char *at)
{
    struct pdk_json *item = pdk_json_object();
    size_t room;

    for (const char *p = f->counted; (p = memchr(p, '\n', (size_t)(from - p))); p++)
        f->line++;
    f->counted = from;
    (void)pdk_json_set_int(item, "line", f->line);
    (void)pdk_json_set_int(item, "column", at - from + 1);
    room = add_text(item, "text", from, (size_t)(end - from));
    if (f->lines->spec.context > 0) {
        room += add_before(f, item, from);
        room += add_after(f, item, end);
    }
    (void)pdk_json_set_int(item, "room", (int64_t)room);
    if (!*f->out)
        *f->out = pdk_json_array();
    (void)pdk_json_append(*f->out, item);
    f->found++;
}

static bool go_on(struct finder *f)
{
    if (f->found >= f->lines->spec.limit || f->user->undecided)
        return false;
    if (++f->tried % CLOCK_LINES != 0)
        return true;
    return !atomic_load(f->user->stop) && pdk_clock_ms() < f->user->deadline_ms;
}

static void find_by_line(struct finder *f)
{
    const char *from = f->text;

    while (from < f->end && go_on(f)) {
        const char *end = line_end(f, from), *match_end;
        const char *at = match(f, from, from, end, &match_end);

        if (at)
            add_match(f, from, end, at);
        from = end + 1;
    }
}

/* pos is always where a line begins. */
static void find_in_whole(struct finder *f)
{
    const char *pos = f->text;

    while (pos < f->end && go_on(f)) {
        const char *match_end, *at = match(f, f->text, pos, f->end, &match_end);
        const char *before = at ? memrchr(pos, '\n', (size_t)(at - pos)) : NULL;
        const char *from = before ? before + 1 : pos, *end;

        if (!at || from == f->end)
            return; /* what is behind the last newline is no line */
        end = line_end(f, at);
        if (match_end > end)
            at = match(f, from, from, end, &match_end);
        if (at)
            add_match(f, from, end, at);
        pos = end + 1;
    }
}

int64_t pdk_lines_find(
        const struct pdk_lines *lines, struct pdk_lines_user *user, struct pdk_json **out)
{
    const char *text = pdk_buf_str(&user->text);
    struct finder f = {
        .lines = lines,
        .user = user,
        .code = is_ascii(text, user->text.len) ? lines->ascii : lines->utf8,
        .text = text,
        .end = text + user->text.len,
        .counted = text,
        .line = 1,
        .out = out,
    };

    user->undecided = false;
    if (lines->by_line)
        find_by_line(&f);
    else
        find_in_whole(&f);
    return *out && pdk_json_ok(*out, NULL) < 0 ? PDK_ENOMEM : f.found;
}
