#include "orchestrator/cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"

enum { LINE_MAX_BYTES = 200, DEFAULT_COLUMNS = 80, DEFAULT_ROWS = 24 };

struct row {
    char *name;
    const char *state; /* static text of the engine */
    char stage[40];
    char verdict[64];
    int64_t started_ms, ended_ms;
    char line[LINE_MAX_BYTES]; /* the last whole line of output, raw */
    size_t line_len;
    char partial[LINE_MAX_BYTES]; /* the line that is being received */
    size_t partial_len;
};

struct pdk_progress {
    struct row *rows;
    size_t len;
    bool live, quiet, dirty;
    size_t drawn; /* lines on the screen */
};

int pdk_progress_new(
        size_t n, bool live, bool quiet, struct pdk_progress **out, struct pdk_err *err)
{
    struct pdk_progress *p = calloc(1, sizeof(*p));

    if (p)
        p->rows = calloc(n ? n : 1, sizeof(*p->rows));
    if (!p || !p->rows) {
        free(p);
        return pdk_fail_nomem(err);
    }
    p->len = n;
    p->live = live && !quiet;
    p->quiet = quiet;
    *out = p;
    return 0;
}

void pdk_progress_free(struct pdk_progress *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->len; i++)
        free(p->rows[i].name);
    free(p->rows);
    free(p);
}

/* The terminal's size; the usual one where it cannot be told. */
static void screen_size(size_t *columns, size_t *rows)
{
    struct winsize size = { 0 };

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0)
        size = (struct winsize){ 0 };
    *columns = size.ws_col > 0 ? size.ws_col : DEFAULT_COLUMNS;
    *rows = size.ws_row > 0 ? size.ws_row : DEFAULT_ROWS;
}

static void put(const struct pdk_buf *text)
{
    if (!text->failed && text->len > 0)
        (void)!write(STDERR_FILENO, text->data,
                text->len); /* an eye that is gone is no failure */
}

static void add_elapsed(struct pdk_buf *out, const struct row *row, int64_t now_ms)
{
    char elapsed[24] = "";

    if (row->started_ms > 0)
        pdk_duration_format(
                (row->ended_ms > 0 ? row->ended_ms : now_ms) - row->started_ms, elapsed,
                sizeof(elapsed));
    pdk_buf_addf(out, " %8s", elapsed);
}

/* Not in the middle of a character; the bytes are no fewer than the columns that they take. */
static size_t cut(const struct pdk_buf *text, size_t max)
{
    size_t at = 0;

    while (at < text->len) {
        size_t n = pdk_utf8_seq(text->data + at, text->len - at, NULL);

        n = n > 0 ? n : 1;
        if (at + n > max)
            break;
        at += n;
    }
    return at;
}

/* One line of the table, never as wide as the screen: a terminal would go on to the next line. */
static void add_row(
        struct pdk_buf *out, const struct row *row, size_t columns, int64_t now_ms)
{
    PDK_AUTO_BUF struct pdk_buf line = PDK_BUF_INIT;

    pdk_buf_addf(&line, "%-14.14s %-13.13s", row->name ? row->name : "",
            row->state ? row->state : "");
    add_elapsed(&line, row, now_ms);
    pdk_buf_addf(&line, "  %-9.9s ", row->verdict[0] ? row->verdict : row->stage);
    pdk_utf8_printable(row->line, row->line_len, &line);
    pdk_buf_add(out, pdk_buf_str(&line), cut(&line, columns - 1));
    pdk_buf_adds(out, "\x1b[K\n");
}

static void draw(struct pdk_progress *p, int64_t now_ms)
{
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    size_t columns, rows, shown;

    screen_size(&columns, &rows);
    shown = p->len < rows - 1 ? p->len : rows - 1;
    if (p->drawn > 0)
        pdk_buf_addf(&out, "\x1b[%zuA", p->drawn);
    for (size_t i = 0; i < shown; i++)
        add_row(&out, &p->rows[i], columns, now_ms);
    put(&out);
    p->drawn = shown;
    p->dirty = false;
}

/* Elsewhere than on a terminal: a line for each change. */
static void say_change(const struct pdk_candidate_view *view)
{
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;

    pdk_buf_addf(&out, "%s: %s", view->name, view->state);
    if (view->stage[0])
        pdk_buf_addf(&out, " (%s)", view->stage);
    if (view->verdict)
        pdk_buf_addf(&out, ": %s%s%s", view->verdict, view->reason ? ", " : "",
                view->reason ? view->reason : "");
    pdk_buf_addc(&out, '\n');
    put(&out);
}

static void progress_on_change(const struct pdk_candidate_view *view, void *user)
{
    struct pdk_progress *p = user;
    struct row *row = &p->rows[view->place];

    if (p->quiet)
        return;
    if (!row->name)
        row->name = strdup(view->name); /* without it the row has no name */
    row->state = view->state;
    row->started_ms = view->started_ms;
    row->ended_ms = view->ended_ms;
    (void)snprintf(row->stage, sizeof(row->stage), "%s", view->stage);
    (void)snprintf(
            row->verdict, sizeof(row->verdict), "%s", view->verdict ? view->verdict : "");
    p->dirty = true;
    if (!p->live)
        say_change(view);
}

static void add_byte(struct row *row, char c)
{
    if (c == '\r' || c == '\n') {
        if (row->partial_len == 0)
            return;
        memcpy(row->line, row->partial, row->partial_len);
        row->line_len = row->partial_len;
        row->partial_len = 0;
    } else if (row->partial_len < LINE_MAX_BYTES) {
        row->partial[row->partial_len++] = c;
    }
}

static void progress_on_output(size_t place, const char *data, size_t len, void *user)
{
    struct pdk_progress *p = user;

    if (!p->live)
        return;
    for (size_t i = 0; i < len; i++)
        add_byte(&p->rows[place], data[i]);
    p->dirty = true;
}

static void progress_on_tick(int64_t now_ms, void *user)
{
    struct pdk_progress *p = user;

    if (p->live)
        draw(p, now_ms);
}

void pdk_progress_listen(struct pdk_progress *p, struct pdk_engine_listener *listener)
{
    listener->on_change = progress_on_change;
    listener->on_output = progress_on_output;
    listener->on_tick = p->live ? progress_on_tick : NULL;
    listener->user = p;
}

void pdk_progress_end(struct pdk_progress *p)
{
    if (p->live)
        draw(p, pdk_clock_ms());
}
