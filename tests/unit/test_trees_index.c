/* Our index: read back as written, understood by git, and refused when damaged. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/id.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "trees/index.h"
#include "trees/index_cache.h"

static const struct pdk_oid blob = { "ce013625030ba8dba906f756967f9e9ca394464a" };
static const char *const paths[] = { "a", "a.b", "a/b", "d/ e\n", "d/\377", "z" };
enum { PATHS = 6 };

static void fill(struct pdk_index *index)
{
    static const uint32_t modes[] = { 0100644, 0100755, 0120000, 0160000, 0100644,
        0100644 };

    for (size_t i = 0; i < PATHS; i++) {
        struct pdk_index_entry *e;

        ck_assert_int_eq(pdk_index_add(index, paths[i], modes[i], &blob, NULL), 0);
        e = &index->entries[index->len - 1];
        e->stat = (struct pdk_stat_data){ 1, 2, 3, 4, 5, 6, 7, 8, (uint32_t)i };
    }
    (void)pdk_oid_parse(PDK_EMPTY_TREE, &index->tree);
}

static char *written(void)
{
    PDK_AUTO_INDEX struct pdk_index index = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    char *file = pdk_test_path("index");

    fill(&index);
    ck_assert_msg(pdk_index_write(file, &index, &err) == 0, "%s", err.msg);
    return file;
}

START_TEST(what_is_written_is_read)
{
    PDK_AUTO_FREE char *file = written();
    PDK_AUTO_INDEX struct pdk_index index = { 0 };
    PDK_AUTO_INDEX struct pdk_index want = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    fill(&want);
    ck_assert_msg(pdk_index_read(file, &index, &err) == 0, "%s", err.msg);
    ck_assert_uint_eq(index.len, PATHS);
    ck_assert_str_eq(index.tree.hex, PDK_EMPTY_TREE);
    ck_assert_int_gt(index.written.tv_sec, 0);
    for (size_t i = 0; i < PATHS; i++) {
        ck_assert_str_eq(index.entries[i].path, paths[i]);
        ck_assert_uint_eq(index.entries[i].mode, want.entries[i].mode);
        ck_assert_str_eq(index.entries[i].oid.hex, blob.hex);
        ck_assert_mem_eq(&index.entries[i].stat, &want.entries[i].stat,
                sizeof(struct pdk_stat_data));
    }
}
END_TEST

START_TEST(an_empty_one_too)
{
    PDK_AUTO_FREE char *file = pdk_test_path("index");
    PDK_AUTO_INDEX struct pdk_index empty = { 0 };
    PDK_AUTO_INDEX struct pdk_index index = { 0 };
    size_t n = 9;

    ck_assert_int_eq(pdk_index_write(file, &empty, NULL), 0);
    ck_assert_int_eq(pdk_index_read(file, &index, NULL), 0);
    ck_assert_uint_eq(index.len, 0);
    ck_assert_ptr_null(pdk_index_find(&index, "a"));
    (void)pdk_index_below(&index, "", &n);
    ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(long_paths_are_whole)
{
    PDK_AUTO_FREE char *file = pdk_test_path("index");
    char path[4096];

    for (size_t len = 1; len < sizeof(path); len += len < 20 ? 1 : 1019) {
        PDK_AUTO_INDEX struct pdk_index out = { 0 };
        PDK_AUTO_INDEX struct pdk_index in = { 0 };

        memset(path, 'p', len);
        path[len] = '\0';
        ck_assert_int_eq(pdk_index_add(&out, path, 0100644, &blob, NULL), 0);
        ck_assert_int_eq(pdk_index_write(file, &out, NULL), 0);
        ck_assert_int_eq(pdk_index_read(file, &in, NULL), 0);
        ck_assert_str_eq(in.entries[0].path, path);
    }
}
END_TEST

START_TEST(git_reads_it)
{
    PDK_AUTO_FREE char *file = written();
    PDK_AUTO_FREE char *repo = pdk_test_path("repo");

    pdk_test_repo_init(repo);
    PDK_AUTO_FREE char *list =
            pdk_test_sh(repo, "GIT_INDEX_FILE='%s' git ls-files -s", file);
    ck_assert_str_eq(list,
            "100644 ce013625030ba8dba906f756967f9e9ca394464a 0\ta\n"
            "100755 ce013625030ba8dba906f756967f9e9ca394464a 0\ta.b\n"
            "120000 ce013625030ba8dba906f756967f9e9ca394464a 0\ta/b\n"
            "160000 ce013625030ba8dba906f756967f9e9ca394464a 0\t\"d/ e\\n\"\n"
            "100644 ce013625030ba8dba906f756967f9e9ca394464a 0\t\"d/\\377\"\n"
            "100644 ce013625030ba8dba906f756967f9e9ca394464a 0\tz");
}
END_TEST

START_TEST(entries_are_found)
{
    PDK_AUTO_INDEX struct pdk_index index = { 0 };
    size_t n;

    fill(&index);
    for (size_t i = 0; i < PATHS; i++)
        ck_assert_ptr_eq(pdk_index_find(&index, paths[i]), &index.entries[i]);
    ck_assert_ptr_null(pdk_index_find(&index, "d"));
    ck_assert_ptr_null(pdk_index_find(&index, "zz"));
    ck_assert(pdk_index_has_below(&index, "d"));
    ck_assert(pdk_index_has_below(&index, "a"));
    ck_assert(!pdk_index_has_below(&index, "a.b"));
    ck_assert(!pdk_index_has_below(&index, "zz"));
    ck_assert_ptr_eq(pdk_index_below(&index, "d", &n), &index.entries[3]);
    ck_assert_uint_eq(n, 2);
    ck_assert_ptr_eq(pdk_index_below(&index, "", &n), &index.entries[0]);
    ck_assert_uint_eq(n, PATHS);
}
END_TEST

START_TEST(clean_is_older_than_the_index_and_the_same)
{
    struct stat st = {
        .st_size = 5, .st_mtim = { 100, 10 }, .st_ctim = { 100, 10 }, .st_ino = 7
    };
    struct pdk_index_entry entry = { .mode = 0100644 };
    struct pdk_index index = { .written = { 100, 11 } };

    pdk_stat_data_of(&st, &entry.stat);
    ck_assert(pdk_index_is_clean(&index, &entry, &st));
    index.written.tv_nsec = 10; /* the same moment */
    ck_assert(!pdk_index_is_clean(&index, &entry, &st));
    index.written.tv_sec = 101;
    index.written.tv_nsec = 0;
    ck_assert(pdk_index_is_clean(&index, &entry, &st));
    st.st_ctim.tv_nsec++;
    ck_assert(!pdk_index_is_clean(&index, &entry, &st));
}
END_TEST

/* ---- damage */

/* Writes the bytes with the checksum that belongs to them. */
static int read_sealed(char *bytes, size_t size, struct pdk_err *err)
{
    PDK_AUTO_FREE char *file = pdk_test_path("damaged");
    PDK_AUTO_INDEX struct pdk_index index = { 0 };

    pdk_digest_sha1(bytes, size - 20, (unsigned char *)bytes + size - 20);
    pdk_test_write(file, bytes, size);
    int rc = pdk_index_read(file, &index, err);
    if (rc < 0)
        ck_assert_uint_eq(index.len, 0);
    return rc;
}

START_TEST(damage_is_corruption)
{
    PDK_AUTO_FREE char *file = written();
    PDK_AUTO_FREE char *damaged = pdk_test_path("damaged");
    size_t size;
    PDK_AUTO_FREE char *bytes = pdk_test_read(file, &size);
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_INDEX struct pdk_index index = { 0 };

    for (size_t len = 0; len < size; len += 7) {
        pdk_test_write(damaged, bytes, len);
        ck_assert_int_eq(pdk_index_read(damaged, &index, &err), PDK_ECORRUPT);
    }
    for (size_t at = 0; at < size; at += 5) {
        bytes[at] ^= 1;
        pdk_test_write(damaged, bytes, size);
        ck_assert_int_eq(pdk_index_read(damaged, &index, &err), PDK_ECORRUPT);
        bytes[at] ^= 1;
    }
    ck_assert_ptr_nonnull(strstr(err.msg, damaged));
}
END_TEST

START_TEST(damage_under_a_right_checksum_too)
{
    static const struct {
        size_t at;
        char byte;
    } rows[] = { { 0, 'X' }, { 7, 4 }, { 8, 0x7f }, { 11, PATHS + 1 },
        { 12 + 62, 'b' } /* out of order */, { 12 + 62, 0 } /* no path */ };
    PDK_AUTO_FREE char *file = written();
    size_t size;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        PDK_AUTO_FREE char *bytes = pdk_test_read(file, &size);
        struct pdk_err err = PDK_ERR_INIT;

        bytes[rows[i].at] = rows[i].byte;
        ck_assert_msg(read_sealed(bytes, size, &err) == PDK_ECORRUPT, "row %zu", i);
    }
    PDK_AUTO_FREE char *bytes = pdk_test_read(file, &size);
    struct pdk_err err = PDK_ERR_INIT;
    ck_assert_int_eq(read_sealed(bytes, size, &err), 0);
}
END_TEST

START_TEST(without_an_error_to_fill)
{
    PDK_AUTO_FREE char *file = pdk_test_path("index");
    PDK_AUTO_INDEX struct pdk_index index = { 0 };

    pdk_test_write_text(file, "DIRC");
    ck_assert_int_eq(pdk_index_read(file, &index, NULL), PDK_ECORRUPT);
    PDK_AUTO_FREE char *good = written();
    size_t size;
    PDK_AUTO_FREE char *bytes = pdk_test_read(good, &size);
    bytes[12 + 62] = 'z';
    ck_assert_int_eq(read_sealed(bytes, size, NULL), PDK_ECORRUPT);
}
END_TEST

/* A file of many names is read once, until another one has its name. */
START_TEST(a_shared_one_is_read_once)
{
    struct pdk_index_cache *cache = pdk_index_cache_new();
    PDK_AUTO_FREE char *file = written();
    PDK_AUTO_FREE char *other = pdk_test_path("other");
    struct pdk_index_lease *first = NULL, *second = NULL, *third = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_index_borrow(cache, file, &first, &err), 0);
    ck_assert_int_eq(pdk_index_borrow(cache, file, &second, &err), 0);
    ck_assert_ptr_ne(first, second); /* of one name: not kept */
    pdk_index_return(first);
    pdk_index_return(second);

    free(pdk_test_sh(pdk_test_dir(), "ln index other; ln index third"));
    ck_assert_int_eq(pdk_index_borrow(cache, file, &first, &err), 0);
    ck_assert_int_eq(pdk_index_borrow(cache, other, &second, &err), 0);
    ck_assert_ptr_eq(first, second);
    free(pdk_test_sh(pdk_test_dir(),
            "cp index new; ln new more; touch -r index new; mv -f new other"));
    ck_assert_int_eq(pdk_index_borrow(cache, other, &third, &err), 0);
    ck_assert_ptr_ne(first, third);
    pdk_index_cache_free(cache);
    ck_assert_uint_eq(pdk_index_leased(first)->len, PATHS); /* still whole */
    pdk_index_return(first);
    pdk_index_return(second);
    pdk_index_return(third);
}
END_TEST

START_TEST(without_a_cache_each_is_read)
{
    PDK_AUTO_FREE char *file = written();
    PDK_AUTO_LEASE struct pdk_index_lease *lease = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_index_borrow(NULL, file, &lease, &err), 0);
    ck_assert_str_eq(pdk_index_leased(lease)->entries[0].path, "a");
    pdk_index_return(pdk_take_ptr(&lease));
    free(pdk_test_sh(pdk_test_dir(), ": > index"));
    ck_assert_int_eq(pdk_index_borrow(NULL, file, &lease, &err), PDK_ECORRUPT);
    ck_assert_ptr_null(lease);
}
END_TEST

START_TEST(a_range_is_one_directory)
{
    PDK_AUTO_INDEX struct pdk_index index = { 0 };
    struct pdk_index_range all, below;

    fill(&index);
    all = pdk_index_all(&index);
    below = pdk_index_range_below(&index, &all, "d");
    ck_assert_uint_eq(below.first, 3);
    ck_assert_uint_eq(below.end, 5);
    ck_assert_ptr_eq(pdk_index_find_in(&index, &below, "\377"), &index.entries[4]);
    ck_assert_ptr_null(pdk_index_find_in(&index, &below, "z"));
    ck_assert_ptr_eq(pdk_index_find_in(&index, &all, "a.b"), &index.entries[1]);
    below = pdk_index_range_below(&index, &all, "a");
    ck_assert_ptr_eq(pdk_index_find_in(&index, &below, "b"), &index.entries[2]);
    below = pdk_index_range_below(&index, &all, "a.b");
    ck_assert_uint_eq(below.first, below.end);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees_index");
    TCase *tc = tcase_create("index");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, a_shared_one_is_read_once);
    tcase_add_test(tc, without_a_cache_each_is_read);
    tcase_add_test(tc, a_range_is_one_directory);
    tcase_add_test(tc, what_is_written_is_read);
    tcase_add_test(tc, an_empty_one_too);
    tcase_add_test(tc, long_paths_are_whole);
    tcase_add_test(tc, git_reads_it);
    tcase_add_test(tc, entries_are_found);
    tcase_add_test(tc, clean_is_older_than_the_index_and_the_same);
    tcase_add_test(tc, damage_is_corruption);
    tcase_add_test(tc, damage_under_a_right_checksum_too);
    tcase_add_test(tc, without_an_error_to_fill);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
