/* Buffers and vectors: what is added is there, and a failed allocation is told once, at the end. */
/* wrap: realloc reallocarray */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/fixture.h"

static int allowed = -1; /* allocations before the first that fails; -1: all may */

void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);

static bool refused(void)
{
    if (allowed < 0)
        return false;
    return allowed == 0 || allowed-- == 0;
}

void *__wrap_realloc(void *old, size_t size)
{
    return refused() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return refused() ? NULL : __real_reallocarray(old, n, size);
}

START_TEST(an_empty_buffer_is_an_empty_text)
{
    PDK_AUTO_BUF struct pdk_buf buf = PDK_BUF_INIT;

    ck_assert_str_eq(pdk_buf_str(&buf), "");
    pdk_buf_reset(&buf);
    pdk_buf_drop(&buf, 3);
    pdk_buf_add(&buf, NULL, 0);
    ck_assert_str_eq(pdk_buf_str(&buf), "");
    ck_assert_int_eq(pdk_buf_ok(&buf, NULL), 0);

    PDK_AUTO_FREE char *text = pdk_buf_take(&buf);
    ck_assert_str_eq(text, "");
    ck_assert_ptr_null(buf.data);
    PDK_AUTO_FREE char *again = pdk_buf_take(&buf);
    ck_assert_str_eq(again, "");
}
END_TEST

START_TEST(what_is_added_is_there)
{
    PDK_AUTO_BUF struct pdk_buf buf = PDK_BUF_INIT;

    pdk_buf_add(&buf, "a\0b", 3);
    pdk_buf_adds(&buf, "cd");
    pdk_buf_addc(&buf, '\0');
    pdk_buf_addf(&buf, "%s=%d", "x", 7);
    ck_assert_uint_eq(buf.len, 9);
    ck_assert_mem_eq(buf.data, "a\0bcd\0x=7", 10); /* the NUL at the end, too */
    pdk_buf_drop(&buf, 3);
    ck_assert_str_eq(buf.data, "cd");
    ck_assert_uint_eq(buf.len, 6);
    pdk_buf_drop(&buf, 100);
    ck_assert_uint_eq(buf.len, 0);
    ck_assert_str_eq(buf.data, "");
    pdk_buf_adds(&buf, "new");
    pdk_buf_reset(&buf);
    ck_assert_str_eq(buf.data, "");
}
END_TEST

/* Random pieces and drops, compared with a plain array. */
START_TEST(a_buffer_is_an_array)
{
    static char model[1 << 16];
    unsigned int seed = (unsigned int)_i + 1;
    PDK_AUTO_BUF struct pdk_buf buf = PDK_BUF_INIT;
    size_t len = 0;

    for (int step = 0; step < 300; step++) {
        char piece[200];
        size_t n = (size_t)rand_r(&seed) % sizeof(piece);

        if (rand_r(&seed) % 4 == 0) {
            n = n < len ? n : len;
            memmove(model, model + n, len - n);
            len -= n;
            pdk_buf_drop(&buf, n);
        } else {
            for (size_t i = 0; i < n; i++)
                piece[i] = (char)rand_r(&seed);
            memcpy(model + len, piece, n);
            len += n;
            pdk_buf_add(&buf, piece, n);
        }
        ck_assert_uint_eq(buf.len, len);
        ck_assert(len == 0 || memcmp(buf.data, model, len) == 0);
        ck_assert(!buf.data || buf.data[len] == '\0');
    }
}
END_TEST

START_TEST(room_is_where_the_next_bytes_go)
{
    PDK_AUTO_BUF struct pdk_buf buf = PDK_BUF_INIT;
    char *room = pdk_buf_room(&buf, 1000);

    ck_assert_ptr_nonnull(room);
    ck_assert_str_eq(pdk_buf_str(&buf), "");
    memset(room, 'x', 1000);
    buf.len += 1000;
    buf.data[buf.len] = '\0';
    pdk_buf_addc(&buf, 'y');
    ck_assert_uint_eq(buf.len, 1001);
    ck_assert_uint_eq(strspn(buf.data, "x"), 1000);
    ck_assert_ptr_null(pdk_buf_room(&buf, SIZE_MAX / 2));
    ck_assert_int_eq(pdk_buf_ok(&buf, NULL), PDK_ENOMEM);
}
END_TEST

START_TEST(a_failed_buffer_stays_failed)
{
    PDK_AUTO_BUF struct pdk_buf buf = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_buf_adds(&buf, "kept");
    allowed = 0;
    (void)pdk_buf_room(&buf, 10000);
    allowed = -1;
    pdk_buf_adds(&buf, "more");
    pdk_buf_addf(&buf, "%d", 1);
    ck_assert_str_eq(pdk_buf_str(&buf), "kept");
    ck_assert_int_eq(pdk_buf_ok(&buf, &err), PDK_ENOMEM);
    ck_assert_int_eq(err.code, PDK_ENOMEM);
    ck_assert_ptr_null(pdk_buf_take(&buf));
    pdk_buf_adds(&buf, "anew"); /* taking begins anew */
    ck_assert_str_eq(pdk_buf_str(&buf), "anew");
}
END_TEST

START_TEST(texts_are_compared)
{
    ck_assert(pdk_streq(NULL, NULL));
    ck_assert(!pdk_streq(NULL, ""));
    ck_assert(!pdk_streq("", NULL));
    ck_assert(pdk_streq("a", "a"));
    ck_assert(!pdk_streq("a", "b"));
    ck_assert(pdk_starts_with("abc", "ab"));
    ck_assert(pdk_starts_with("abc", ""));
    ck_assert(!pdk_starts_with("ab", "abc"));
    ck_assert(pdk_ends_with("abc", "bc"));
    ck_assert(pdk_ends_with("abc", ""));
    ck_assert(!pdk_ends_with("bc", "abc"));
    ck_assert(!pdk_ends_with("abc", "ab"));
}
END_TEST

START_TEST(a_vector_is_fit_for_argv)
{
    PDK_AUTO_STRV struct pdk_strv v = PDK_STRV_INIT;
    PDK_AUTO_STRV struct pdk_strv copy = PDK_STRV_INIT;

    for (int i = 0; i < 100; i++) {
        pdk_strv_addf(&v, "%d", 99 - i);
        ck_assert_ptr_null(v.items[v.len]);
    }
    pdk_strv_add(&v, "x");
    pdk_strv_take(&v, strdup("y"));
    ck_assert_uint_eq(v.len, 102);
    ck_assert(pdk_strv_has(&v, "42"));
    ck_assert(!pdk_strv_has(&v, "100"));
    ck_assert_int_eq(pdk_strv_copy(&copy, &v, NULL), 0);
    pdk_strv_sort(&copy);
    ck_assert_str_eq(copy.items[0], "0");
    ck_assert_str_eq(copy.items[1], "1");
    ck_assert_str_eq(copy.items[2], "10");
    ck_assert_str_eq(copy.items[101], "y");
    ck_assert_str_eq(v.items[0], "99"); /* the first is as it was */
    pdk_strv_fini(&v);
    ck_assert_uint_eq(v.len, 0);
    pdk_strv_sort(&v);
    ck_assert(!pdk_strv_has(&v, "x"));
}
END_TEST

START_TEST(a_failed_vector_takes_nothing_more)
{
    PDK_AUTO_STRV struct pdk_strv v = PDK_STRV_INIT;
    PDK_AUTO_STRV struct pdk_strv copy = PDK_STRV_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_strv_add(&v, "kept");
    pdk_strv_take(&v, NULL);
    pdk_strv_take(&v, strdup("freed"));
    ck_assert_uint_eq(v.len, 1);
    ck_assert_int_eq(pdk_strv_ok(&v, &err), PDK_ENOMEM);

    v.failed = false;
    for (int i = 0; i < 20; i++)
        pdk_strv_add(&v, "more");
    allowed = 0;
    ck_assert_int_eq(pdk_strv_copy(&copy, &v, &err), PDK_ENOMEM);
    ck_assert_ptr_null(copy.items); /* outputs are untouched */
    allowed = 1;
    ck_assert_int_eq(pdk_strv_copy(&copy, &v, &err), PDK_ENOMEM);
    allowed = -1;
    ck_assert_ptr_null(copy.items);
}
END_TEST

START_TEST(the_nearest_name)
{
    static const char *const names[] = { "timeout", "candidates", "checks", "x" };
    static const struct {
        const char *word, *nearest;
    } rows[] = { { "timeout", "timeout" }, { "timeoutx", "timeout" },
        { "imeout", "timeout" }, { "timeouts", "timeout" }, { "check", "checks" },
        { "candidate", "candidates" }, { "y", "x" }, { "", "x" }, { "unrelated", NULL } };
    char huge[200];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *found = pdk_nearest(rows[i].word, names, 4);

        ck_assert_msg(pdk_streq(found, rows[i].nearest), "'%s': '%s'", rows[i].word,
                found ? found : "none");
    }
    memset(huge, 'a', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    ck_assert_ptr_null(pdk_nearest(huge, names, 4));
    ck_assert_ptr_null(pdk_nearest("a", (const char *const[]){ huge }, 1));
    ck_assert_ptr_null(pdk_nearest("a", names, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/str");
    TCase *tc = tcase_create("str");

    tcase_add_test(tc, an_empty_buffer_is_an_empty_text);
    tcase_add_test(tc, what_is_added_is_there);
    tcase_add_loop_test(tc, a_buffer_is_an_array, 0, 20);
    tcase_add_test(tc, room_is_where_the_next_bytes_go);
    tcase_add_test(tc, a_failed_buffer_stays_failed);
    tcase_add_test(tc, texts_are_compared);
    tcase_add_test(tc, a_vector_is_fit_for_argv);
    tcase_add_test(tc, a_failed_vector_takes_nothing_more);
    tcase_add_test(tc, the_nearest_name);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
