/* Captured output: what is kept past the cap, in which order, and how the file is made. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "process/output.h"
#include "tests/support/fixture.h"

enum { CAP = 800, HEAD = 100 };

/* Byte number i of the stream that the tests write. */
static char byte_at(size_t i)
{
    return (char)('a' + i % 23);
}

/* Writes `total` bytes in pieces and returns the file; totals as close told them. */
static char *write_all(size_t total, size_t piece, struct pdk_output_totals *totals)
{
    PDK_AUTO_FREE char *path = pdk_test_path("out");
    struct pdk_output *o = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_output_open(path, CAP, &o, &err), 0);
    for (size_t at = 0; at < total;) {
        char chunk[2048];
        size_t n = total - at < piece ? total - at : piece;

        for (size_t i = 0; i < n; i++)
            chunk[i] = byte_at(at + i);
        ck_assert_int_eq(pdk_output_write(o, chunk, n, &err), 0);
        at += n;
    }
    ck_assert_int_eq(pdk_output_close(o, totals, &err), 0);
    return pdk_test_read(path, NULL);
}

static const size_t pieces[] = { 1, 7, 99, 100, 101, 700, 2048 };

START_TEST(up_to_the_cap_all_is_kept)
{
    struct pdk_output_totals totals;
    PDK_AUTO_FREE char *text = write_all(CAP, pieces[_i], &totals);

    ck_assert_int_eq((int)totals.bytes, CAP);
    ck_assert_int_eq((int)totals.dropped, 0);
    ck_assert_int_eq((int)strlen(text), CAP);
    for (size_t i = 0; i < CAP; i++)
        ck_assert_int_eq(text[i], byte_at(i));
}
END_TEST

static void check_cut(size_t total, size_t piece)
{
    struct pdk_output_totals totals;
    PDK_AUTO_FREE char *text = write_all(total, piece, &totals);
    PDK_AUTO_FREE char *line =
            pdk_strf("\n[paddock: %zu bytes dropped here]\n", total - CAP);
    size_t tail = HEAD + strlen(line);

    ck_assert_int_eq((int)totals.bytes, (int)total);
    ck_assert_int_eq((int)totals.dropped, (int)(total - CAP));
    ck_assert_int_eq((int)strlen(text), (int)(CAP + strlen(line)));
    for (size_t i = 0; i < HEAD; i++)
        ck_assert_int_eq(text[i], byte_at(i));
    ck_assert_int_eq(strncmp(text + HEAD, line, strlen(line)), 0);
    for (size_t i = 0; i < CAP - HEAD; i++)
        ck_assert_int_eq(text[tail + i], byte_at(total - (CAP - HEAD) + i));
}

START_TEST(past_the_cap_the_middle_is_dropped_and_counted)
{
    check_cut(CAP + 1, pieces[_i]);
    pdk_test_dir_discard();
    pdk_test_dir_setup();
    check_cut(CAP + (CAP - HEAD), pieces[_i]); /* the ring is full at its end exactly */
    pdk_test_dir_discard();
    pdk_test_dir_setup();
    check_cut(12345, pieces[_i]);
}
END_TEST

START_TEST(the_file_is_private_also_when_it_was_put_in_order)
{
    struct pdk_output_totals totals;
    PDK_AUTO_FREE char *path = pdk_test_path("out");
    struct stat st;

    free(write_all(_i == 0 ? 10 : 5000, 100, &totals));
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
}
END_TEST

START_TEST(an_old_file_and_a_link_are_refused)
{
    PDK_AUTO_FREE char *path = pdk_test_path("out");
    PDK_AUTO_FREE char *link_path = pdk_test_path("link");
    PDK_AUTO_FREE char *target = pdk_test_path("target");
    struct pdk_output *o = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_write_text(path, "old");
    ck_assert_int_eq(pdk_output_open(path, CAP, &o, &err), PDK_ECONFLICT);
    ck_assert_int_eq(symlink(target, link_path), 0);
    ck_assert_int_eq(pdk_output_open(link_path, CAP, &o, &err), PDK_ECONFLICT);
    ck_assert_ptr_null(o);
    ck_assert(!pdk_test_exists(target));
    PDK_AUTO_FREE char *text = pdk_test_read(path, NULL);
    ck_assert_str_eq(text, "old");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("process: output");
    TCase *tc = tcase_create("output");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_loop_test(tc, up_to_the_cap_all_is_kept, 0, 7);
    tcase_add_loop_test(tc, past_the_cap_the_middle_is_dropped_and_counted, 0, 7);
    tcase_add_loop_test(tc, the_file_is_private_also_when_it_was_put_in_order, 0, 2);
    tcase_add_test(tc, an_old_file_and_a_link_are_refused);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
