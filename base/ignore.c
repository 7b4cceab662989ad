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

/* A bracket expression under way: at is in the pattern, c the character that may belong to it. */
struct bracket {
    const char *at;
    unsigned char c;
    unsigned char previous; /* what a range may begin with; 0: nothing */
    bool found;
    bool bad; /* it never closes, or names no class: the pattern matches nothing */
};

static bool in_class(const char *name, size_t len, unsigned char c, bool *bad)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (strlen(classes[i].name) == len && strncmp(classes[i].name, name, len) == 0)
            return in_ranges(classes[i].ranges, c);
    *bad = true;
    return false;
}

/* "[:name:]", or false where it is none. */
static bool take_class(struct bracket *b)
{
    const char *name = b->at + 2, *end;

    if (b->at[0] != '[' || b->at[1] != ':')
        return false;
    end = strchr(name, ']');
    b->bad = !end;
    if (!end || end == name || end[-1] != ':')
        return b->bad;
    b->found = in_class(name, (size_t)(end - name) - 1, b->c, &b->bad) || b->found;
    b->at = end + 1;
    b->previous = 0;
    return true;
}

/* One character, quoted or not; 0 at the end of the pattern. */
static unsigned char take_char(struct bracket *b)
{
    if (*b->at == '\\')
        b->at++;
    b->bad = b->bad || !*b->at;
    return b->bad ? 0 : (unsigned char)*b->at++;
}

static void take_item(struct bracket *b)
{
    unsigned char first;

    if (take_class(b))
        return;
    if (b->at[0] == '-' && b->previous && b->at[1] && b->at[1] != ']') {
        b->at++;
        first = take_char(b);
        b->found = b->found || (b->c >= b->previous && b->c <= first);
        b->previous = 0;
        return;
    }
    first = take_char(b);
    b->found = b->found || b->c == first;
    b->previous = first;
}

/* Does c belong to the bracket expression at p? *next is behind it. */
static bool match_bracket(const char *p, unsigned char c, const char **next)
{
    bool negated = p[1] == '!' || p[1] == '^';
    struct bracket b = { .at = p + (negated ? 2 : 1), .c = c };

    do
        take_item(&b); /* the first one may be a "]" */
    while (!b.bad && *b.at != ']');
    *next = b.at + 1;
    return !b.bad && b.found != negated && c != '/';
}

static bool match_here(const char *start, const char *p, const char *s, int *budget);

/* What follows p's stars at s, or behind any number of characters; within one component, or not. */
static bool match_run(
        const char *start, const char *p, const char *s, bool across, int *budget)
{
    for (;; s++) {
        if (match_here(start, p, s, budget))
            return true;
        if (!*s || *budget < 0 || (*s == '/' && !across))
            return false;
    }
}

/* Two stars or more between slashes (or the ends) match any number of directories. */
static bool match_stars(const char *start, const char *p, const char *s, int *budget)
{
    const char *rest = p + strspn(p, "*");
    bool across = rest - p > 1 && (p == start || p[-1] == '/') &&
            (rest[0] == '\0' || rest[0] == '/' || (rest[0] == '\\' && rest[1] == '/'));

    if (!*rest)
        return across || !strchr(s, '/');
    if (across && rest[0] == '/' && match_here(start, rest + 1, s, budget))
        return true;
    return match_run(start, rest, s, across, budget);
}

/* One step of the pattern against one character; *next is where the pattern goes on. */
static bool match_one(const char *p, unsigned char c, const char **next)
{
    *next = p + 1;
    switch (*p) {
    case '?':
        return c != '/';
    case '[':
        return match_bracket(p, c, next);
    case '\\':
        *next = p + 2;
        return p[1] && (unsigned char)p[1] == c;
    default:
        return (unsigned char)*p == c;
    }
}

/* budget bounds the work that a hostile pattern can ask for: past it nothing matches. */
static bool match_here(const char *start, const char *p, const char *s, int *budget)
{
    for (;;) {
        const char *next;

        if (--*budget < 0)
            return false;
        if (!*p)
            return !*s;
        if (*p == '*')
            return match_stars(start, p, s, budget);
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

    return match_here(pattern, pattern, path, &budget);
}

/* ---- parsing */

/* Spaces at the end do not count, unless quoted by a backslash. */
static size_t trim(const char *line, size_t len)
{
    size_t used = 0;

    if (len > 0 && line[len - 1] == '\r')
        len--;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '\\' && i + 1 < len)
            i++;
        else if (line[i] == ' ')
            continue;
        used = i + 1;
    }
    return used;
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
    /* Not strndup(), for which checkers want a NUL that the input need not have. */
    made.text = grown ? calloc(1, len + 1) : NULL;
    if (!made.text)
        return pdk_fail_nomem(err);
    memcpy(made.text, line, len);
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
