/* Time and sizes as text: what is read, what is refused, what people see. */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "tests/support/fixture.h"

START_TEST(durations)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = { { "0s", 0 }, { "250ms", 250 }, { "90s", 90000 }, { "20m", 1200000 },
        { "1h30m", 5400000 }, { "1d2h3m4s5ms", 93784005 }, { "007s", 7000 },
        { "9223372036854775807ms", INT64_MAX },
        { "106751991167d", 9223372036828800000 } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ms = -1;
        int rc = pdk_duration_parse(rows[i].text, &ms, NULL);

        ck_assert_msg(
                rc == 0 && ms == rows[i].ms, "'%s': %lld", rows[i].text, (long long)ms);
    }
}
END_TEST

START_TEST(what_is_no_duration)
{
    static const char *const bad[] = { "", "1", "s", "ms", "-1s", "+1s", " 1s", "1s ",
        "1 s", "1.5s", "1S", "1sec", "1m1h", "1s1s", "1ms1s", "1h30", "1hm", "0x1s",
        "9223372036854775808ms", "106751991168d", "99999999999999999999s",
        "106751991167d1d", "106751991167d25976s", "1\xc2\xb5s" };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t ms = -7;
        struct pdk_err err = PDK_ERR_INIT;
        int rc = pdk_duration_parse(bad[i], &ms, &err);

        ck_assert_msg(rc == PDK_EINVAL, "'%s': %d, %lld", bad[i], rc, (long long)ms);
        ck_assert_int_eq(ms, -7);
        ck_assert_str_ne(err.hint, "");
    }
}
END_TEST

START_TEST(sizes)
{
    static const struct {
        const char *text;
        int64_t bytes; /* -1: refused */
    } rows[] = { { "0B", 0 }, { "4096B", 4096 }, { "10kB", 10000 }, { "3MB", 3000000 },
        { "2GB", 2000000000 }, { "1TB", 1000000000000 }, { "64KiB", 65536 },
        { "512MiB", 512 << 20 }, { "2GiB", (int64_t)2 << 30 },
        { "1TiB", (int64_t)1 << 40 }, { "8388607TiB", (int64_t)8388607 << 40 },
        { "8388608TiB", -1 }, { "1", -1 }, { "", -1 }, { "B", -1 }, { "-1B", -1 },
        { "1KB", -1 }, { "1kb", -1 }, { "1K", -1 }, { "1.5GiB", -1 }, { "1GiB1MiB", -1 },
        { "1GiB ", -1 }, { "99999999999999999999B", -1 } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t bytes = -1;
        struct pdk_err err = PDK_ERR_INIT;
        int rc = pdk_size_parse(rows[i].text, &bytes, &err);

        ck_assert_msg(bytes == rows[i].bytes && rc == (bytes < 0 ? PDK_EINVAL : 0),
                "'%s': %lld", rows[i].text, (long long)bytes);
    }
}
END_TEST

START_TEST(durations_for_people)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = { { 0, "0ms" }, { 999, "999ms" }, { 1000, "1.0s" }, { 1299, "1.2s" },
        { 59999, "59.9s" }, { 60000, "1m00s" }, { 184000, "3m04s" },
        { 3599999, "59m59s" }, { 3600000, "1h00m" }, { 93784005, "26h03m" } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[24];

        pdk_duration_format(rows[i].ms, text, sizeof(text));
        ck_assert_str_eq(text, rows[i].text);
    }
}
END_TEST

START_TEST(moments)
{
    char text[32];

    pdk_clock_format(0, text, sizeof(text));
    ck_assert_str_eq(text, "1970-01-01T00:00:00.000Z");
    pdk_clock_format(1709208000007, text, sizeof(text)); /* a leap day */
    ck_assert_str_eq(text, "2024-02-29T12:00:00.007Z");
    pdk_clock_format(253402300799999, text, sizeof(text));
    ck_assert_str_eq(text, "9999-12-31T23:59:59.999Z");
    pdk_clock_format(1709208000007, text, 5); /* cut, with its NUL */
    ck_assert_str_eq(text, "2024");
}
END_TEST

START_TEST(clocks_go_on)
{
    int64_t last = pdk_clock_ms();

    ck_assert_int_gt(last, 0);
    ck_assert_int_gt(pdk_clock_wall_ms(), 1600000000000);
    for (int i = 0; i < 1000; i++) {
        int64_t now = pdk_clock_ms();

        ck_assert_int_ge(now, last);
        last = now;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/clock");
    TCase *tc = tcase_create("clock");

    tcase_add_test(tc, durations);
    tcase_add_test(tc, what_is_no_duration);
    tcase_add_test(tc, sizes);
    tcase_add_test(tc, durations_for_people);
    tcase_add_test(tc, moments);
    tcase_add_test(tc, clocks_go_on);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
