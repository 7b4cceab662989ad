#include "base/ignore.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct pattern {
    char *text;     /* without "!", leading and trailing slash */
    bool negated;   /* "!": what it matches is not ignored */
    bool dirs_only; /* a trailing slash */
    bool anchored; /* a slash elsewhere: matched against the whole path, else the last component */
};

struct pdk_ignore {
    char *base; /* "" or "dir": paths outside of it do not match */
    struct pattern *items;
    size_t len;
};

/* ---- wildmatch: "*" and "?" stop at a slash, "**" between slashes does not */

/* The end of a bracket expression that begins at p, or NULL where it never closes. */
static const char *bracket_end(const char *p)
{
    const char *at = p + 1;

    if (*at == '!' || *at == '^')
        at++;
    if (*at == ']')
        at++;
    while (*at && *at != ']') {
        if (at[0] == '[' && at[1] == ':' && strstr(at + 2, ":]"))
            at = strstr(at + 2, ":]") + 1;
        else if (*at == '\\' && at[1])
            at++;
        at++;
    }
    return *at ? at : NULL;
}

struct class_row {
    const char *name;
    const char *ranges; /* pairs of first and last */
};

static const struct class_row classes[] = {
    { "alpha", "azAZ" },
    { "digit", "09" },
    { "alnum", "azAZ09" },
    { "upper", "AZ" },
    { "lower", "az" },
    { "space", "  \t\r" },
    { "blank", "  \t\t" },
    { "xdigit", "09afAF" },
    { "punct", "!/:@[`{~" },
    { "print", " ~" },
    { "graph", "!~" },
    { "cntrl", "\x01\x1f\x7f\x7f" },
};

static bool in_ranges(const char *ranges, unsigned char c)
{
    for (; ranges[0] && ranges[1]; ranges += 2)
        if (c >= (unsigned char)ranges[0] && c <= (unsigned char)ranges[1])
            return true;
    return false;
}

/* "[:name:]" at p (which points at the inner '['); moves p past it. */
static bool match_class(const char **p, unsigned char c)
{
    const char *name = *p + 2, *end = strstr(name, ":]");

    *p = end + 2;
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (strlen(classes[i].name) == (size_t)(end - name) &&
                strncmp(classes[i].name, name, (size_t)(end - name)) == 0)
            return in_ranges(classes[i].ranges, c);
    return false;
}

static unsigned char next_char(const char **p)
{
    if (**p == '\\' && (*p)[1])
        ++*p;
    return (unsigned char)*(*p)++;
}

/* Does c belong to the bracket expression [p, end]? */
static bool match_bracket(const char *p, const char *end, unsigned char c)
{
    bool negated = p[1] == '!' || p[1] == '^', found = false;

    p += negated ? 2 : 1;
    while (p < end) {
        unsigned char low, high;

        if (p[0] == '[' && p[1] == ':' && strstr(p + 2, ":]")) {
            found = match_class(&p, c) || found;
            continue;
        }
        low = next_char(&p);
        high = low;
        if (p[0] == '-' && p + 1 < end) {
            p++;
            high = next_char(&p);
        }
        found = found || (c >= low && c <= high);
    }
    return found != negated && c != '/';
}

static bool match_here(const char *p, const char *s, int *budget);

/* "**" at p: between slashes (or the ends) it matches any number of directories. */
static bool match_stars(const char *p, const char *start, const char *s, int *budget)
{
    bool open = p == start || p[-1] == '/';

    if (open && p[2] == '/') {
        if (match_here(p + 3, s, budget))
            return true;
        for (; *s; s++)
            if (*s == '/' && match_here(p + 3, s + 1, budget))
                return true;
        return false;
    }
    if (open && p[2] == '\0')
        return *s != '\0';
    while (*p == '*')
        p++;
    for (;; s++) {
        if (match_here(p, s, budget))
            return true;
        if (!*s || *s == '/')
            return false;
    }
}

static bool match_star(const char *p, const char *s, int *budget)
{
    for (;; s++) {
        if (match_here(p + 1, s, budget))
            return true;
        if (!*s || *s == '/')
            return false;
    }
}

/* One step of the pattern against one character; *next is where the pattern goes on. */
static bool match_one(const char *p, unsigned char c, const char **next)
{
    const char *end;

    *next = p + 1;
    switch (*p) {
    case '?':
        return c != '/';
    case '[':
        end = bracket_end(p);
        if (!end)
            return c == '[';
        *next = end + 1;
        return match_bracket(p, end, c);
    case '\\':
        if (p[1]) {
            *next = p + 2;
            return (unsigned char)p[1] == c;
        }
        return c == '\\';
    default:
        return (unsigned char)*p == c;
    }
}

/* budget bounds the work that a hostile pattern can ask for: past it nothing matches. */
static bool match_here(const char *p, const char *s, int *budget)
{
    const char *start = p;

    for (;;) {
        const char *next;

        if (--*budget < 0)
            return false;
        if (!*p)
            return !*s;
        if (p[0] == '*' && p[1] == '*')
            return match_stars(p, start, s, budget);
        if (*p == '*')
            return match_star(p, s, budget);
        if (!*s || !match_one(p, (unsigned char)*s, &next))
            return false;
        p = next;
        s++;
    }
}

enum { MATCH_BUDGET = 200000 };

bool pdk_ignore_wildmatch(const char *pattern, const char *path)
{
    int budget = MATCH_BUDGET;

    return match_here(pattern, path, &budget);
}

/* ---- parsing */

/* Spaces at the end do not count, unless quoted by a backslash. */
static size_t trim(const char *line, size_t len)
{
    if (len > 0 && line[len - 1] == '\r')
        len--;
    while (len > 0 && line[len - 1] == ' ' && !(len > 1 && line[len - 2] == '\\'))
        len--;
    return len;
}

static int add_pattern(
        struct pdk_ignore *ignore, const char *line, size_t len, struct pdk_err *err)
{
    struct pattern made = { NULL, false, false, false };
    struct pattern *grown;

    if (len > 0 && line[0] == '!') {
        made.negated = true;
        line++;
        len--;
    }
    if (len > 1 && line[len - 1] == '/') {
        made.dirs_only = true;
        len--;
    }
    if (len > 0 && line[0] == '/') {
        made.anchored = true;
        line++;
        len--;
    }
    if (len == 0)
        return 0;
    made.anchored = made.anchored || memchr(line, '/', len);
    grown = reallocarray(ignore->items, ignore->len + 1, sizeof(*grown));
    if (grown)
        ignore->items = grown;
    made.text = grown ? strndup(line, len) : NULL;
    if (!made.text)
        return pdk_fail_nomem(err);
    grown[ignore->len++] = made;
    return 0;
}

static int add_lines(
        struct pdk_ignore *ignore, const char *text, size_t len, struct pdk_err *err)
{
    /* A byte order mark is no part of the first pattern. */
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        len -= 3;
    }
    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t n = newline ? (size_t)(newline - text) : len;
        size_t used = trim(text, n);

        if (used > 0 && text[0] != '#' && !memchr(text, '\0', used) &&
                add_pattern(ignore, text, used, err) < 0)
            return PDK_ENOMEM;
        n += newline ? 1 : 0;
        text += n;
        len -= n;
    }
    return 0;
}

int pdk_ignore_parse(const char *text, size_t len, const char *base,
        struct pdk_ignore **out, struct pdk_err *err)
{
    PDK_AUTO_IGNORE struct pdk_ignore *ignore = calloc(1, sizeof(*ignore));

    if (ignore)
        ignore->base = strdup(base);
    if (!ignore || !ignore->base)
        return pdk_fail_nomem(err);
    if (add_lines(ignore, text, len, err) < 0)
        return PDK_ENOMEM;
    *out = pdk_take_ptr(&ignore);
    return 0;
}

void pdk_ignore_free(struct pdk_ignore *ignore)
{
    if (!ignore)
        return;
    for (size_t i = 0; i < ignore->len; i++)
        free(ignore->items[i].text);
    free(ignore->items);
    free(ignore->base);
    free(ignore);
}

/* ---- matching */

/* What of path lies below base; NULL where it does not. */
static const char *below(const char *base, const char *path)
{
    size_t len = strlen(base);

    if (len == 0)
        return path;
    return strncmp(path, base, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

static bool matches(const struct pattern *p, const char *path, bool is_dir)
{
    const char *slash = strrchr(path, '/');

    if (p->dirs_only && !is_dir)
        return false;
    return pdk_ignore_wildmatch(p->text, p->anchored || !slash ? path : slash + 1);
}

enum pdk_ignore_match pdk_ignore_match(
        const struct pdk_ignore *ignore, const char *path, bool is_dir)
{
    const char *rest = below(ignore->base, path);

    if (!rest || !*rest)
        return PDK_IGNORE_NONE;
    for (size_t i = ignore->len; i > 0; i--)
        if (matches(&ignore->items[i - 1], rest, is_dir))
            return ignore->items[i - 1].negated ? PDK_IGNORE_NO : PDK_IGNORE_YES;
    return PDK_IGNORE_NONE;
}
