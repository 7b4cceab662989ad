/* The live table, drawn on a terminal of the test's own: what it shows, what it never lets through. */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/utf8.h"
#include "orchestrator/cli/progress.h"
#include "tests/support/fixture.h"

static int screen = -1;     /* the far side of the terminal that stderr is */
static int stderr_was = -1; /* what it was before */
static struct pdk_progress *progress;
static struct pdk_engine_listener listener;

static void set_size(unsigned short columns, unsigned short rows)
{
    struct winsize size = { .ws_col = columns, .ws_row = rows };

    ck_assert_int_eq(ioctl(screen, TIOCSWINSZ, &size), 0);
}

static void open_screen(void)
{
    struct termios raw;
    int terminal;

    ck_assert_int_eq(openpty(&screen, &terminal, NULL, NULL, NULL), 0);
    ck_assert_int_eq(tcgetattr(terminal, &raw), 0);
    cfmakeraw(&raw);
    ck_assert_int_eq(tcsetattr(terminal, TCSANOW, &raw), 0);
    ck_assert_int_eq(fcntl(screen, F_SETFL, O_NONBLOCK), 0);
    stderr_was = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    ck_assert_int_ge(stderr_was, 0);
    ck_assert_int_ge(dup2(terminal, STDERR_FILENO), 0);
    (void)close(terminal);
    set_size(80, 24);
}

static void close_screen(void)
{
    pdk_progress_free(progress);
    progress = NULL;
    ck_assert_int_ge(dup2(stderr_was, STDERR_FILENO), 0);
    (void)close(stderr_was);
    (void)close(screen);
}

/* What was written since the last time. A terminal holds less than a table may take, so tables here are small. */
static char *shown(void)
{
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    struct pollfd poll_screen = { .fd = screen, .events = POLLIN };
    char chunk[4096];
    ssize_t n;

    /* A mark behind it, so that nothing is on its way any more once that came. */
    ck_assert_int_eq(write(STDERR_FILENO, "\x04", 1), 1);
    while (!pdk_ends_with(pdk_buf_str(&out), "\x04")) {
        ck_assert_int_eq(poll(&poll_screen, 1, 60000), 1);
        n = read(screen, chunk, sizeof(chunk));
        ck_assert_int_gt(n, 0);
        pdk_buf_add(&out, chunk, (size_t)n);
    }
    out.data[out.len - 1] = '\0';
    return pdk_buf_take(&out);
}

static void begin(size_t n, bool live, bool quiet)
{
    ck_assert_int_eq(pdk_progress_new(n, live, quiet, &progress, NULL), 0);
    pdk_progress_listen(progress, &listener);
}

static void change(
        size_t place, const char *state, const char *stage, const char *verdict)
{
    const char *names[] = { "c1", "c2", "a-name-that-is-too-long-for-it" };
    struct pdk_candidate_view view = { .place = place,
        .name = names[place % 3],
        .state = state,
        .stage = stage,
        .verdict = verdict,
        .reason = verdict ? "checks_failed" : NULL,
        .started_ms = 1000,
        .ended_ms = verdict ? 63000 : 0 };

    listener.on_change(&view, listener.user);
}

static void output(size_t place, const char *text)
{
    listener.on_output(place, text, strlen(text), listener.user);
}

START_TEST(a_row_tells_candidate_stage_elapsed_and_last_line)
{
    begin(2, true, false);
    change(0, "running", "mission", NULL);
    output(0, "first\nse");
    output(0, "cond\r\nunfinished");
    listener.on_tick(2500, listener.user);
    PDK_AUTO_FREE char *text = shown();
    ck_assert_str_eq(text,
            "c1             running           1.5s  mission   second\x1b[K\n"
            "                                                 \x1b[K\n");
}
END_TEST

START_TEST(it_is_drawn_over_itself_at_ticks_alone)
{
    begin(2, true, false);
    change(0, "running", "mission", NULL);
    output(0, "x\n");
    PDK_AUTO_FREE char *before = shown();
    ck_assert_str_eq(before, ""); /* so the rate is the clock's */
    listener.on_tick(2500, listener.user);
    PDK_AUTO_FREE char *first = shown();
    ck_assert_ptr_null(strstr(first, "\x1b[2A"));
    change(0, "judged", "", "fail");
    listener.on_tick(2600, listener.user);
    PDK_AUTO_FREE char *second = shown();
    ck_assert_msg(pdk_starts_with(second, "\x1b[2A"), "%s", second);
    ck_assert_ptr_nonnull(strstr(second, "1m02s  fail"));
    pdk_progress_end(progress);
    PDK_AUTO_FREE char *last = shown();
    ck_assert_str_eq(last, second); /* an ended one's time stands still */
}
END_TEST

START_TEST(control_sequences_do_not_reach_the_terminal)
{
    static const char *const hostile[] = { "\x1b[2J\x1b[Hgone", "\x1b]0;title\x07",
        "\x1b]52;c;cHduZWQ=\x07", "\x1bP1$q\x1b\\",
        "\xc2\x9b"
        "2J",
        "\x9b"
        "2J",
        "\b\b\b\x7f\x0e\x0f",
        "\xe2\x80\xae"
        "reversed",
        "\xff\xfe\xc3" };

    begin(1, true, false);
    change(0, "running", "mission", NULL);
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        output(0, hostile[i]);
        output(0, "\n");
        listener.on_tick(2000, listener.user);
        PDK_AUTO_FREE char *text = shown();
        char *at = text + (i > 0 ? strlen("\x1b[1A") : 0);
        char *end = strstr(at, "\x1b[K\n"); /* our own, at the end */

        ck_assert(i == 0 || pdk_starts_with(text, "\x1b[1A"));
        ck_assert_msg(end && strlen(end) == 4, "row %zu: %s", i, text);
        ck_assert(pdk_utf8_valid(at, (size_t)(end - at)));
        for (; at < end; at++)
            ck_assert_msg((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f,
                    "row %zu: byte %02x", i, (unsigned char)*at);
    }
}
END_TEST

/* Of each line: valid UTF-8 and fewer characters than the screen has columns. */
static void expect_narrow(const char *text, size_t columns)
{
    for (const char *at = text; *at;) {
        const char *end = strstr(at, "\x1b[K\n");

        ck_assert_ptr_nonnull(end);
        if (pdk_starts_with(at, "\x1b[3A")) /* back to the first of three rows */
            at += 4;
        ck_assert(pdk_utf8_valid(at, (size_t)(end - at)));
        ck_assert_uint_lt((size_t)(end - at), columns);
        at = end + 4;
    }
}

START_TEST(a_line_is_never_as_wide_as_the_screen)
{
    unsigned short columns = (unsigned short)(_i + 1);

    set_size(columns, 24);
    begin(3, true, false);
    for (size_t i = 0; i < 3; i++) {
        change(i, "verifying", "a-long-name-of-a-check", NULL);
        for (int j = 0; j < 60; j++)
            output(i, i == 0 ? "x" : i == 1 ? "gr\xc3\xbcn" : "\xe4\xba\xba\x1b");
        output(i, "\n");
    }
    for (int64_t tick = 2; tick < 4; tick++) {
        listener.on_tick(tick * 1000, listener.user);
        PDK_AUTO_FREE char *text = shown();
        expect_narrow(text, columns);
    }
}
END_TEST

START_TEST(a_low_screen_shows_what_it_can)
{
    set_size(80, 3);
    begin(5, true, false);
    for (size_t i = 0; i < 5; i++)
        change(i, "running", "", NULL);
    listener.on_tick(2000, listener.user);
    free(shown());
    listener.on_tick(2000, listener.user);
    PDK_AUTO_FREE char *text = shown();
    ck_assert_msg(pdk_starts_with(text, "\x1b[2A"), "%s", text); /* never scrolled out */
    ck_assert_ptr_null(strstr(text, "a-name"));
}
END_TEST

START_TEST(elsewhere_each_change_is_a_line)
{
    begin(2, false, false);
    ck_assert(listener.on_tick == NULL);
    change(0, "running", "mission", NULL);
    output(0, "\x1b[2Jnot told\n");
    change(1, "judged", "", "fail");
    pdk_progress_end(progress);
    PDK_AUTO_FREE char *text = shown();
    ck_assert_str_eq(text, "c1: running (mission)\nc2: judged: fail, checks_failed\n");
}
END_TEST

START_TEST(quiet_is_quiet)
{
    begin(1, true, true);
    change(0, "running", "mission", NULL);
    output(0, "x\n");
    pdk_progress_end(progress);
    PDK_AUTO_FREE char *text = shown();
    ck_assert_str_eq(text, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli/progress");
    TCase *tc = tcase_create("progress");

    tcase_add_checked_fixture(tc, open_screen, close_screen);
    tcase_add_test(tc, a_row_tells_candidate_stage_elapsed_and_last_line);
    tcase_add_test(tc, it_is_drawn_over_itself_at_ticks_alone);
    tcase_add_test(tc, control_sequences_do_not_reach_the_terminal);
    tcase_add_loop_test(tc, a_line_is_never_as_wide_as_the_screen, 0, 100);
    tcase_add_test(tc, a_low_screen_shows_what_it_can);
    tcase_add_test(tc, elsewhere_each_change_is_a_line);
    tcase_add_test(tc, quiet_is_quiet);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
