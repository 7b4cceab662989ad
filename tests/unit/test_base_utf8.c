/* UTF-8: what is well formed, what cleaning leaves, and that nothing printable reaches a terminal as a control. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "tests/support/fixture.h"

#define TEXT(s) s, sizeof(s) - 1

START_TEST(sequences)
{
    static const struct {
        const char *text;
        size_t len, seq;
        uint32_t cp;
    } rows[] = {
        { TEXT("\0"), 1, 0 }, { TEXT("a"), 1, 'a' }, { TEXT("\x7f"), 1, 0x7f },
        { TEXT("\xc2\x80"), 2, 0x80 }, { TEXT("\xdf\xbf"), 2, 0x7ff },
        { TEXT("\xe0\xa0\x80"), 3, 0x800 }, { TEXT("\xed\x9f\xbf"), 3, 0xd7ff },
        { TEXT("\xee\x80\x80"), 3, 0xe000 }, { TEXT("\xef\xbf\xbf"), 3, 0xffff },
        { TEXT("\xf0\x90\x80\x80"), 4, 0x10000 },
        { TEXT("\xf4\x8f\xbf\xbf"), 4, 0x10ffff }, { TEXT(""), 0, 0 },
        { TEXT("\x80"), 0, 0 },                             /* a tail alone */
        { TEXT("\xc0\x80"), 0, 0 },                         /* overlong NUL */
        { TEXT("\xc1\xbf"), 0, 0 },                         /* overlong */
        { TEXT("\xe0\x9f\xbf"), 0, 0 },                     /* overlong */
        { TEXT("\xf0\x8f\xbf\xbf"), 0, 0 },                 /* overlong */
        { TEXT("\xed\xa0\x80"), 0, 0 },                     /* surrogate */
        { TEXT("\xed\xbf\xbf"), 0, 0 },                     /* surrogate */
        { TEXT("\xf4\x90\x80\x80"), 0, 0 },                 /* past the last */
        { TEXT("\xf8\x88\x80\x80\x80"), 0, 0 },             /* five bytes */
        { TEXT("\xff"), 0, 0 }, { TEXT("\xe2\x82"), 0, 0 }, /* cut short */
        { TEXT("\xe2\x82x"), 0, 0 },                        /* broken off */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t cp = 0;
        size_t n = pdk_utf8_seq(rows[i].text, rows[i].len, &cp);

        ck_assert_msg(
                n == rows[i].seq && cp == rows[i].cp, "row %zu: %zu, U+%04X", i, n, cp);
        ck_assert_int_eq(
                pdk_utf8_valid(rows[i].text, rows[i].len), rows[i].seq == rows[i].len);
    }
}
END_TEST

static size_t encode(uint32_t cp, char *out)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xc0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xe0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        out[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
    out[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}

/* Counted, not asserted one by one: a million assertions take longer than a test may. */
START_TEST(code_points_are_read_back)
{
    uint32_t wrong = 0, first = 0;

    /* All of the first plane, samples of the others. */
    for (uint32_t cp = 0; cp <= 0x110000; cp += cp < 0x10000 ? 1 : 61) {
        char text[4];
        size_t n = encode(cp, text);
        uint32_t got = 0;
        bool is = cp <= 0x10ffff && (cp < 0xd800 || cp > 0xdfff);

        if (pdk_utf8_seq(text, n, &got) == (is ? n : 0) && got == (is ? cp : 0) &&
                pdk_utf8_seq(text, n - 1, NULL) == 0)
            continue;
        first = wrong++ ? first : cp;
    }
    ck_assert_msg(wrong == 0, "%u code points, the first is %u", wrong, first);
}
END_TEST

static void expect(void (*make)(const char *, size_t, struct pdk_buf *), const char *text,
        size_t len, const char *expected)
{
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;

    make(text, len, &out);
    ck_assert_str_eq(pdk_buf_str(&out), expected);
}

START_TEST(cleaning_marks_each_bad_byte)
{
    expect(pdk_utf8_clean, TEXT(""), "");
    expect(pdk_utf8_clean, TEXT("gr\xc3\xbc\x1b\n"), "gr\xc3\xbc\x1b\n");
    expect(pdk_utf8_clean, TEXT("a\xff\xfe z"), "a\xef\xbf\xbd\xef\xbf\xbd z");
    expect(pdk_utf8_clean, TEXT("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");
    expect(pdk_utf8_clean, TEXT("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}
END_TEST

START_TEST(controls_are_spelled)
{
    expect(pdk_utf8_printable, TEXT("plain gr\xc3\xbcn \xe2\x82\xac"),
            "plain gr\xc3\xbcn \xe2\x82\xac");
    expect(pdk_utf8_printable, TEXT("a\nb\tc\r"), "a\\nb\\tc\\x0d");
    expect(pdk_utf8_printable, TEXT("\x1b[31m\x07\x7f"), "\\x1b[31m\\x07\\x7f");
    expect(pdk_utf8_printable, TEXT("a\0b"), "a\\x00b");
    expect(pdk_utf8_printable,
            TEXT("\xc2\x9b"
                 "2J"),
            "\\xc2\\x9b2J"); /* CSI as one C1 control */
    expect(pdk_utf8_printable,
            TEXT("\x9b"
                 "2J\xff"),
            "\\x9b2J\\xff");
    expect(pdk_utf8_printable, TEXT("\xe2\x80\xae"),
            "\\xe2\\x80\\xae"); /* right to left */
    expect(pdk_utf8_printable, TEXT("\xe2\x81\xa6"), "\\xe2\\x81\\xa6"); /* isolates */
}
END_TEST

/* Whatever goes in: well-formed, no control, and the same when done twice. */
START_TEST(nothing_unprintable_comes_out)
{
    unsigned int seed = (unsigned int)_i + 1;
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf twice = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;
    char noise[256];

    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)(rand_r(&seed) >> 4);
    pdk_utf8_clean(noise, sizeof(noise), &clean);
    ck_assert(pdk_utf8_valid(clean.data, clean.len));
    pdk_utf8_printable(noise, sizeof(noise), &out);
    ck_assert(pdk_utf8_valid(out.data, out.len));
    for (size_t at = 0; at < out.len;) {
        uint32_t cp = 0;

        at += pdk_utf8_seq(out.data + at, out.len - at, &cp);
        ck_assert(cp >= 0x20 && !(cp >= 0x7f && cp < 0xa0));
    }
    pdk_utf8_printable(out.data, out.len, &twice);
    ck_assert_str_eq(twice.data, out.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/utf8");
    TCase *tc = tcase_create("utf8");

    tcase_add_test(tc, sequences);
    tcase_add_test(tc, code_points_are_read_back);
    tcase_add_test(tc, cleaning_marks_each_bad_byte);
    tcase_add_test(tc, controls_are_spelled);
    tcase_add_loop_test(tc, nothing_unprintable_comes_out, 0, 200);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
