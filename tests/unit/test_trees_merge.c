/* Merged contents are those of `git merge-file`. */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "trees/merge.h"
#include "trees/vault.h"

enum { CASES = 60 };

static uint32_t next(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525U + 1013904223U;
    return (*seed >> 8) % below;
}

static void add_lines(struct pdk_buf *out, uint32_t *seed, const char *end)
{
    for (uint32_t i = 0, n = 4 + next(seed, 12); i < n; i++)
        pdk_buf_addf(out, "line %u%s", next(seed, 6), end);
}

/* A copy with a few lines changed, removed or added. */
static void edit(const struct pdk_buf *from, struct pdk_buf *to, uint32_t *seed)
{
    const char *at = pdk_buf_str(from);

    while (*at) {
        const char *end = strchrnul(at, '\n');
        size_t len = (size_t)(end - at) + (*end == '\n');

        switch (next(seed, 12)) {
        case 0:
            break;
        case 1:
            pdk_buf_addf(to, "other %u\n", next(seed, 3));
            break;
        case 2:
            pdk_buf_add(to, at, len);
            pdk_buf_adds(to, "more\n");
            break;
        default:
            pdk_buf_add(to, at, len);
        }
        at += len;
    }
    if (next(seed, 8) == 0)
        pdk_buf_adds(to, "no end");
}

static struct pdk_oid put(
        struct pdk_vault *vault, const char *name, const struct pdk_buf *text)
{
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_FREE char *path = pdk_test_path("%s", name);
    struct pdk_oid oid;

    pdk_test_write(path, pdk_buf_str(text), text->len);
    ck_assert_int_eq(
            pdk_vault_write_blob(vault, pdk_buf_str(text), text->len, &oid, &err), 0);
    return oid;
}

static struct pdk_vault *make_vault(void)
{
    PDK_AUTO_FREE char *path = pdk_test_path("vault");
    PDK_AUTO_FREE char *objects = pdk_test_path("objects");
    struct pdk_vault *vault = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_mkdirs(objects);
    ck_assert_msg(pdk_vault_open(path, objects, &vault, &err) == 0, "%s", err.msg);
    return vault;
}

START_TEST(contents_are_those_of_git)
{
    PDK_AUTO_VAULT struct pdk_vault *vault = make_vault();
    PDK_AUTO_BUF struct pdk_buf base = PDK_BUF_INIT, mine = PDK_BUF_INIT,
                                theirs = PDK_BUF_INIT, merged = PDK_BUF_INIT;
    PDK_AUTO_FREE char *dir = pdk_test_path(".");
    uint32_t seed = (uint32_t)_i * 7919U + 5;
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_oid oids[3], out;
    bool clean = false;

    add_lines(&base, &seed, next(&seed, 4) == 0 ? "\r\n" : "\n");
    edit(&base, &mine, &seed);
    edit(&base, &theirs, &seed);
    oids[0] = put(vault, "base", &base);
    oids[1] = put(vault, "mine", &mine);
    oids[2] = put(vault, "theirs", &theirs);
    ck_assert_int_eq(
            pdk_merge_blobs(vault, &oids[0], &oids[1], &oids[2], &out, &clean, &err), 0);
    PDK_AUTO_FREE char *verdict = pdk_test_sh(dir,
            "if git merge-file -p mine base theirs > merged; then echo clean; else echo conflict; fi");
    ck_assert_msg(strcmp(verdict, clean ? "clean" : "conflict") == 0, "case %d: git: %s",
            _i, verdict);
    if (clean) {
        PDK_AUTO_FREE char *path = pdk_test_path("merged");
        size_t len = 0;
        PDK_AUTO_FREE char *expected = pdk_test_read(path, &len);

        ck_assert_int_eq(pdk_vault_read_blob(vault, &out, SIZE_MAX, &merged, &err), 0);
        ck_assert_uint_eq(merged.len, len);
        ck_assert_mem_eq(pdk_buf_str(&merged), expected, len);
    }
}
END_TEST

START_TEST(binary_contents_are_not_merged)
{
    PDK_AUTO_VAULT struct pdk_vault *vault = make_vault();
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_oid base, mine, theirs, out;
    bool clean = true;

    ck_assert_int_eq(pdk_vault_write_blob(vault, "a\n\0\nb\n", 6, &base, &err), 0);
    ck_assert_int_eq(pdk_vault_write_blob(vault, "A\n\0\nb\n", 6, &mine, &err), 0);
    ck_assert_int_eq(pdk_vault_write_blob(vault, "a\n\0\nB\n", 6, &theirs, &err), 0);
    ck_assert_int_eq(
            pdk_merge_blobs(vault, &base, &mine, &theirs, &out, &clean, &err), 0);
    ck_assert(!clean);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merge");
    TCase *tc = tcase_create("merge");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_loop_test(tc, contents_are_those_of_git, 0, CASES);
    tcase_add_test(tc, binary_contents_are_not_merged);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
