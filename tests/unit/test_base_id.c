/* Ids are unique and sorted by time; digests are those of the standards, whole or in pieces. */
/* wrap: getrandom */
#include <check.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/id.h"
#include "base/path.h"
#include "base/str.h"
#include "tests/support/fixture.h"

static bool no_random;

ssize_t __real_getrandom(void *out, size_t n, unsigned int flags);
ssize_t __wrap_getrandom(void *out, size_t n, unsigned int flags);

ssize_t __wrap_getrandom(void *out, size_t n, unsigned int flags)
{
    if (!no_random)
        return __real_getrandom(out, n, flags);
    errno = ENOSYS;
    return -1;
}

static bool matches(const char *text, const char *pattern)
{
    regex_t regex;
    bool found;

    ck_assert_int_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

START_TEST(run_ids_are_unique_and_sorted_by_time)
{
    PDK_AUTO_STRV struct pdk_strv ids = PDK_STRV_INIT;
    char id[24], before[24];

    ck_assert_int_eq(pdk_id_run(before, NULL), 0);
    for (int i = 0; i < 200; i++) {
        ck_assert_int_eq(pdk_id_run(id, NULL), 0);
        ck_assert_msg(matches(id, "^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}$"), "%s", id);
        ck_assert(pdk_path_is_id(id));
        ck_assert_int_ge(strncmp(id, before, 16), 0); /* the date never falls */
        pdk_strv_add(&ids, id);
        memcpy(before, id, sizeof(before));
    }
    pdk_strv_sort(&ids);
    for (size_t i = 1; i < ids.len; i++)
        ck_assert_str_ne(ids.items[i - 1], ids.items[i]);
}
END_TEST

START_TEST(random_names_have_their_length)
{
    char name[129] = "";
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_id_random(name, 0, NULL), 0);
    ck_assert_str_eq(name, "");
    ck_assert_int_eq(pdk_id_random(name, 64, NULL), 0);
    ck_assert(matches(name, "^[0-9a-f]{128}$"));
    strcpy(name, "untouched");
    ck_assert_int_eq(pdk_id_random(name, 65, &err), PDK_EBUG);
    ck_assert_str_eq(name, "untouched");
}
END_TEST

START_TEST(no_randomness_is_an_error)
{
    char id[24] = "untouched";
    struct pdk_err err = PDK_ERR_INIT;

    no_random = true;
    ck_assert_int_eq(pdk_id_run(id, &err), PDK_EIO);
    ck_assert_int_eq(err.os_errno, ENOSYS);
    ck_assert_int_eq(pdk_id_run(id, NULL), PDK_EIO);
    ck_assert_str_eq(id, "untouched");
    no_random = false;
}
END_TEST

static const struct {
    const char *text, *sha256, *sha1;
} vectors[] = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "a9993e364706816aba3e25717850c26c9cd0d89d" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1" },
};

START_TEST(digests_are_those_of_the_standards)
{
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        unsigned char raw[20];
        char hex[65], sha1[41];

        pdk_digest_hex(vectors[i].text, strlen(vectors[i].text), hex);
        ck_assert_str_eq(hex, vectors[i].sha256);
        pdk_digest_sha1(vectors[i].text, strlen(vectors[i].text), raw);
        for (size_t j = 0; j < sizeof(raw); j++)
            (void)snprintf(sha1 + 2 * j, 3, "%02x", raw[j]);
        ck_assert_str_eq(sha1, vectors[i].sha1);
    }
}
END_TEST

START_TEST(a_digest_in_pieces_is_the_digest_of_the_whole)
{
    unsigned int seed = (unsigned int)_i + 1;
    struct pdk_digest *d = pdk_digest_new();
    char bytes[1000], whole[65], pieces[65];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(rand_r(&seed) >> 4);
    for (size_t at = 0; at < sizeof(bytes);) {
        size_t n = (size_t)rand_r(&seed) % 130;

        n = n < sizeof(bytes) - at ? n : sizeof(bytes) - at;
        pdk_digest_add(d, bytes + at, n);
        at += n;
    }
    pdk_digest_end(d, pieces);
    pdk_digest_free(d);
    pdk_digest_free(NULL);
    pdk_digest_hex(bytes, sizeof(bytes), whole);
    ck_assert_str_eq(pieces, whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/id");
    TCase *tc = tcase_create("id");

    tcase_add_test(tc, run_ids_are_unique_and_sorted_by_time);
    tcase_add_test(tc, random_names_have_their_length);
    tcase_add_test(tc, no_randomness_is_an_error);
    tcase_add_test(tc, digests_are_those_of_the_standards);
    tcase_add_loop_test(tc, a_digest_in_pieces_is_the_digest_of_the_whole, 0, 20);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
