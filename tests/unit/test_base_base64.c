/* Base64: the vectors of RFC 4648, round trips, and that only the canonical form is read. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/fixture.h"

START_TEST(the_vectors_of_the_rfc)
{
    static const struct {
        const char *plain, *coded;
    } rows[] = { { "", "" }, { "f", "Zg==" }, { "f\x6f", "Zm8=" }, { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
        { "\xfb\xef\xff", "++//" } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        PDK_AUTO_BUF struct pdk_buf coded = PDK_BUF_INIT;
        PDK_AUTO_BUF struct pdk_buf plain = PDK_BUF_INIT;

        pdk_base64_encode(rows[i].plain, strlen(rows[i].plain), &coded);
        ck_assert_str_eq(pdk_buf_str(&coded), rows[i].coded);
        ck_assert_int_eq(pdk_base64_decode(rows[i].coded, coded.len, &plain, NULL), 0);
        ck_assert_str_eq(pdk_buf_str(&plain), rows[i].plain);
    }
}
END_TEST

START_TEST(only_the_canonical_form_is_read)
{
    static const char *const bad[] = { "Z", "Zg", "Zg=", "=", "==", "===", "====",
        "Zg===", "Z===", "Zg==Zg==", "Zm8=Zm8=", "Zh==", "Zm9=", "Zm9v\n", "Zm 9", "Zm-_",
        "Zm9v=", "=m9v", "Z=9v", "Zg=v", "\xc3\xbcm9", "Zm9vZ" };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
        struct pdk_err err = PDK_ERR_INIT;
        int rc = pdk_base64_decode(bad[i], strlen(bad[i]), &out, &err);

        ck_assert_msg(rc == PDK_EINVAL, "'%s': %d", bad[i], rc);
        ck_assert_int_eq(err.code, PDK_EINVAL);
    }
    ck_assert_int_eq(pdk_base64_decode("Zm9\0", 4, &(struct pdk_buf)PDK_BUF_INIT, NULL),
            PDK_EINVAL);
}
END_TEST

START_TEST(all_bytes_make_the_round_trip)
{
    unsigned int seed = (unsigned int)_i + 1;
    PDK_AUTO_BUF struct pdk_buf coded = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf plain = PDK_BUF_INIT;
    char bytes[300];
    size_t len = (size_t)_i;

    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(rand_r(&seed) >> 4);
    pdk_base64_encode(bytes, len, &coded);
    ck_assert_uint_eq(coded.len, (len + 2) / 3 * 4);
    pdk_buf_adds(&plain, "before"); /* it appends */
    ck_assert_int_eq(pdk_base64_decode(pdk_buf_str(&coded), coded.len, &plain, NULL), 0);
    ck_assert_uint_eq(plain.len, 6 + len);
    ck_assert(memcmp(plain.data + 6, bytes, len) == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/base64");
    TCase *tc = tcase_create("base64");

    tcase_add_test(tc, the_vectors_of_the_rfc);
    tcase_add_test(tc, only_the_canonical_form_is_read);
    tcase_add_loop_test(tc, all_bytes_make_the_round_trip, 0, 300);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
