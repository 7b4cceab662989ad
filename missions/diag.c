/* The list of things to say about a file, and how they look. */
#include "missions/mission.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "missions/compose.h"

enum { EXCERPT_BEFORE = 60, EXCERPT_MAX = 100 };

static void diag_fini(struct pdk_diag *diag)
{
    free(diag->file);
    free(diag->message);
    free(diag->hint);
    free(diag->excerpt);
}

void pdk_diags_fini(struct pdk_diags *diags)
{
    for (size_t i = 0; i < diags->len; i++)
        diag_fini(&diags->items[i]);
    free(diags->items);
    diags->items = NULL;
    diags->len = 0;
}

static const char *line_start(const struct pdk_source *source, int line)
{
    const char *at = source->text;
    const char *end = source->text + source->len;

    for (int i = 1; i < line && at < end; i++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        if (!next)
            return at;
        at = next + 1;
    }
    return at;
}

static size_t line_length(const struct pdk_source *source, const char *line)
{
    size_t left = (size_t)(source->text + source->len - line);
    const char *end = memchr(line, '\n', left);
    size_t len = end ? (size_t)(end - line) : left;

    return len > 0 && line[len - 1] == '\r' ? len - 1 : len;
}

/* One character as it is printed: always one column wide, so that the caret stands right. */
static size_t put_char(struct pdk_buf *out, const char *text, size_t len)
{
    uint32_t codepoint = 0;
    size_t n = pdk_utf8_seq(text, len, &codepoint);

    if (n == 0 || codepoint < 0x20 || (codepoint >= 0x7f && codepoint < 0xa0))
        pdk_buf_addc(out, codepoint == '\t' ? ' ' : '?');
    else
        pdk_buf_add(out, text, n);
    return n ? n : 1;
}

/* The part of the line around col; *caret is where col stands in it. */
static char *excerpt(const struct pdk_pos *pos, int *caret)
{
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    const char *line = line_start(pos->source, pos->line);
    size_t len = line_length(pos->source, line);
    int skip = pos->col > EXCERPT_MAX ? pos->col - EXCERPT_BEFORE : 0;
    int column = 0;

    *caret = pos->col - skip + (skip ? 3 : 0);
    if (skip)
        pdk_buf_adds(&out, "...");
    for (size_t i = 0; i < len && column < skip + EXCERPT_MAX; column++) {
        struct pdk_buf *to = &out;
        PDK_AUTO_BUF struct pdk_buf unused = PDK_BUF_INIT;

        if (column < skip)
            to = &unused;
        i += put_char(to, line + i, len - i);
    }
    return pdk_buf_take(&out);
}

static bool list_grow(struct pdk_diags *diags)
{
    struct pdk_diag *grown =
            reallocarray(diags->items, diags->len + 1, sizeof(*diags->items));

    if (!grown)
        return false;
    diags->items = grown;
    grown[diags->len] = (struct pdk_diag){ 0 };
    return true;
}

__attribute__((format(printf, 1, 0))) static char *format(const char *fmt, va_list args)
{
    char *text = NULL;

    return vasprintf(&text, fmt, args) < 0 ? NULL : text;
}

void pdk_diags_add(struct pdk_diags *diags, enum pdk_diag_severity severity,
        const struct pdk_pos *pos, const char *fmt, ...)
{
    diags->fresh = false;
    if (diags->muted)
        return;
    if (severity == PDK_DIAG_ERROR)
        diags->errors++;
    if (diags->len >= PDK_DIAGS_MAX) {
        diags->dropped++;
        return;
    }
    if (!list_grow(diags)) {
        diags->failed = true;
        return;
    }
    struct pdk_diag *made = &diags->items[diags->len++];
    va_list args;

    va_start(args, fmt);
    made->message = format(fmt, args);
    va_end(args);
    made->severity = severity;
    made->file = strdup(pos->source->name);
    made->line = pos->source->flag ? 0 : pos->line;
    made->col = pos->source->flag ? 0 : pos->col;
    made->excerpt = excerpt(pos, &made->caret);
    diags->failed |= !made->message || !made->file || !made->excerpt;
    diags->fresh = true;
}

void pdk_diags_hint(struct pdk_diags *diags, const char *fmt, ...)
{
    va_list args;

    if (!diags->fresh)
        return;
    struct pdk_diag *last = &diags->items[diags->len - 1];

    free(last->hint);
    va_start(args, fmt);
    last->hint = format(fmt, args);
    va_end(args);
    diags->failed |= !last->hint;
    diags->fresh = false;
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_place(const void *left, const void *right)
{
    const struct pdk_diag *a = left;
    const struct pdk_diag *b = right;

    if ((a->line == 0) != (b->line == 0)) /* flags come after the file */
        return a->line == 0 ? 1 : -1;
    if (compare_text(a->file, b->file) != 0)
        return compare_text(a->file, b->file);
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->col != b->col)
        return a->col < b->col ? -1 : 1;
    return compare_text(a->message, b->message);
}

void pdk_diags_sort(struct pdk_diags *diags)
{
    size_t kept = 0;

    if (diags->len < 2)
        return;
    qsort(diags->items, diags->len, sizeof(*diags->items), compare_place);
    for (size_t i = 0; i < diags->len; i++) {
        if (kept > 0 && compare_place(&diags->items[kept - 1], &diags->items[i]) == 0) {
            diags->errors -= diags->items[i].severity == PDK_DIAG_ERROR;
            diag_fini(&diags->items[i]);
            continue;
        }
        diags->items[kept++] = diags->items[i];
    }
    diags->len = kept;
}

static void print_one(const struct pdk_diag *diag, struct pdk_buf *out)
{
    pdk_utf8_printable(diag->file, strlen(diag->file), out);
    if (diag->line > 0)
        pdk_buf_addf(out, ":%d:%d", diag->line, diag->col);
    pdk_buf_adds(out, diag->severity == PDK_DIAG_WARNING ? ": warning: " : ": ");
    pdk_utf8_printable(diag->message, strlen(diag->message), out);
    pdk_buf_addf(out, "\n    %s\n    %*s^\n", diag->excerpt, diag->caret - 1, "");
    if (!diag->hint)
        return;
    pdk_buf_adds(out, "    hint: ");
    pdk_utf8_printable(diag->hint, strlen(diag->hint), out);
    pdk_buf_addc(out, '\n');
}

void pdk_diags_print(const struct pdk_diags *diags, struct pdk_buf *out)
{
    for (size_t i = 0; i < diags->len; i++)
        print_one(&diags->items[i], out);
    if (diags->dropped)
        pdk_buf_addf(out, "... and %zu more\n", diags->dropped);
}
