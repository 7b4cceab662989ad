/* The file verbs: what they tell, what they change, and that nothing leads out of the root. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "tests/support/fixture.h"
#include "tests/support/peer.h"

static struct pdk_peer peer;

static void put(const char *name, const void *data, size_t len)
{
    PDK_AUTO_FREE char *path = pdk_peer_path(&peer, name);

    pdk_test_write(path, data, len);
    ck_assert_int_eq(chmod(path, 0666), 0);
}

static struct pdk_json *of_path(const char *path)
{
    struct pdk_json *params = pdk_json_object();

    (void)pdk_json_set_bytes(params, "path", path, strlen(path));
    return params;
}

static struct pdk_json *of_write(const char *path, const char *data, size_t len)
{
    struct pdk_json *params = of_path(path);

    (void)pdk_json_set_bytes(params, "data", data, len);
    return params;
}

/* Checks the bytes of a read's answer, and frees it. */
static void expect_data(struct pdk_json *result, const char *data, size_t len, bool eof)
{
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_json_get_bytes(result, "data", &bytes, &err), 0);
    ck_assert_int_eq((int)bytes.len, (int)len);
    ck_assert_int_eq(memcmp(pdk_buf_str(&bytes), data, len), 0);
    ck_assert_int_eq(pdk_json_get_bool(result, "eof", !eof), eof);
    pdk_json_free(result);
}

START_TEST(a_file_is_read_whole_by_bytes_and_by_lines)
{
    pdk_peer_open(&peer, _i);
    put("f", "one\ntwo\nthree\n", 14);

    expect_data(pdk_peer_ask(&peer, "read", of_path("f")), "one\ntwo\nthree\n", 14, true);
    struct pdk_json *params = of_path("f");
    (void)pdk_json_set_int(params, "offset", 4);
    (void)pdk_json_set_int(params, "length", 3);
    expect_data(pdk_peer_ask(&peer, "read", params), "two", 3, false);
    params = of_path("f");
    (void)pdk_json_set_int(params, "line_from", 2);
    (void)pdk_json_set_int(params, "line_count", 1);
    expect_data(pdk_peer_ask(&peer, "read", params), "two\n", 4, false);
    params = of_path("f");
    (void)pdk_json_set_int(params, "line_from", 3);
    expect_data(pdk_peer_ask(&peer, "read", params), "three\n", 6, true);
    params = of_path("f");
    (void)pdk_json_set_int(params, "offset", 100);
    expect_data(pdk_peer_ask(&peer, "read", params), "", 0, true);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(names_and_content_of_any_bytes_come_through)
{
    pdk_peer_open(&peer, _i);
    put("a\xff", "x\xfe\0y", 4);

    expect_data(pdk_peer_ask(&peer, "read", of_path("a\xff")), "x\xfe\0y", 4, true);
    pdk_json_free(pdk_peer_ask(&peer, "write", of_write("b\xff", "\0\xff", 2)));
    PDK_AUTO_FREE char *path = pdk_peer_path(&peer, "b\xff");
    size_t size = 0;
    PDK_AUTO_FREE char *text = pdk_test_read(path, &size);
    ck_assert_int_eq((int)size, 2);
    ck_assert_int_eq(memcmp(text, "\0\xff", 2), 0);
    pdk_peer_close(&peer);
}
END_TEST

static const char *const outside[] = { "link/hostname", "abs", "../spool/x",
    "dir/../../spool", "/etc/hostname" };

START_TEST(nothing_leads_out_of_the_root)
{
    pdk_peer_open(&peer, _i);
    PDK_AUTO_FREE char *link_path = pdk_peer_path(&peer, "link");
    PDK_AUTO_FREE char *abs_path = pdk_peer_path(&peer, "abs");
    PDK_AUTO_FREE char *dir = pdk_peer_path(&peer, "dir");
    struct pdk_json *params = pdk_json_object();

    ck_assert_int_eq(symlink("/etc", link_path), 0);
    ck_assert_int_eq(symlink("/etc/hostname", abs_path), 0);
    ck_assert_int_eq(mkdir(dir, 0755), 0);
    for (size_t i = 0; i < 5; i++)
        pdk_peer_refused(&peer, "read", of_path(outside[i]), "outside");
    pdk_peer_refused(&peer, "write", of_write("link/new", "x", 1), "outside");
    pdk_peer_refused(&peer, "write", of_write("../spool/new", "x", 1), "outside");
    pdk_peer_refused(&peer, "write", of_write("/tmp/new", "x", 1), "outside");
    (void)pdk_json_set(params, "paths", pdk_json_strv(outside, 1));
    PDK_AUTO_JSON struct pdk_json *stat = pdk_peer_ask(&peer, "stat_many", params);
    ck_assert_str_eq(
            pdk_json_get_str(pdk_json_at(pdk_json_get(stat, "items"), 0), "error", ""),
            "outside");
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(what_is_no_file_is_refused_and_blocks_nothing)
{
    pdk_peer_open(&peer, _i);
    PDK_AUTO_FREE char *fifo = pdk_peer_path(&peer, "fifo");
    PDK_AUTO_FREE char *dir = pdk_peer_path(&peer, "dir");
    PDK_AUTO_FREE char *link_path = pdk_peer_path(&peer, "link");

    ck_assert_int_eq(mkfifo(fifo, 0666), 0);
    ck_assert_int_eq(mkdir(dir, 0755), 0);
    ck_assert_int_eq(symlink("f", link_path), 0);
    pdk_peer_refused(&peer, "read", of_path("fifo"), "not_a_file");
    pdk_peer_refused(&peer, "read", of_path("dir"), "not_a_file");
    pdk_peer_refused(&peer, "read", of_path("missing"), "not_found");
    pdk_peer_refused(&peer, "read", of_path("dir/x/y"), "not_found");
    pdk_peer_refused(&peer, "read", NULL, "bad_params");
    pdk_peer_refused(&peer, "write", of_write("fifo", "x", 1), "not_a_file");
    pdk_peer_refused(&peer, "write", of_write("dir", "x", 1), "not_a_file");
    pdk_peer_refused(&peer, "write", of_write("link", "x", 1), "not_a_file");
    pdk_peer_refused(&peer, "write", of_write("none/f", "x", 1), "not_found");
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_write_tells_what_it_changed)
{
    struct stat st;
    pdk_peer_open(&peer, _i);
    PDK_AUTO_FREE char *path = pdk_peer_path(&peer, "f");
    PDK_AUTO_JSON struct pdk_json *made =
            pdk_peer_ask(&peer, "write", of_write("f", "a\nb\nc\n", 6));

    ck_assert(!pdk_json_get_bool(made, "existed_before", true));
    ck_assert_int_eq(pdk_json_get_int(made, "bytes_written", 0), 6);
    ck_assert_int_eq(pdk_json_get_int(made, "line_delta", 0), 3);
    ck_assert_int_eq((int)strlen(pdk_json_get_str(made, "digest", "")), 64);
    ck_assert_int_eq(chmod(path, 0750), 0);
    PDK_AUTO_JSON struct pdk_json *changed =
            pdk_peer_ask(&peer, "write", of_write("f", "a", 1));
    ck_assert(pdk_json_get_bool(changed, "existed_before", false));
    ck_assert_int_eq(pdk_json_get_int(changed, "line_delta", 0), -2);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0750);
    PDK_AUTO_FREE char *text = pdk_test_read(path, NULL);
    ck_assert_str_eq(text, "a");
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(stat_many_tells_each_in_order)
{
    static const char *const paths[] = { "f", "missing", "dir", "link", "fifo" };
    static const char *const types[] = { "file", NULL, "directory", "symlink", "other" };
    pdk_peer_open(&peer, _i);
    PDK_AUTO_FREE char *dir = pdk_peer_path(&peer, "dir");
    PDK_AUTO_FREE char *link_path = pdk_peer_path(&peer, "link");
    PDK_AUTO_FREE char *fifo = pdk_peer_path(&peer, "fifo");
    struct pdk_json *params = pdk_json_object();

    put("f", "12345", 5);
    ck_assert_int_eq(mkdir(dir, 0755), 0);
    ck_assert_int_eq(symlink("/etc", link_path), 0);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    (void)pdk_json_set(params, "paths", pdk_json_strv(paths, 5));
    PDK_AUTO_JSON struct pdk_json *result = pdk_peer_ask(&peer, "stat_many", params);
    const struct pdk_json *items = pdk_json_get(result, "items");
    ck_assert_int_eq((int)pdk_json_len(items), 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert(pdk_streq(
                pdk_json_get_str(pdk_json_at(items, i), "type", NULL), types[i]));
    ck_assert_int_eq(pdk_json_get_int(pdk_json_at(items, 0), "size", 0), 5);
    ck_assert_int_eq(pdk_json_get_int(pdk_json_at(items, 0), "mode", 0), 0666);
    pdk_peer_close(&peer);
}
END_TEST

static char *fingerprint(void)
{
    PDK_AUTO_JSON struct pdk_json *result = pdk_peer_ask(&peer, "fingerprint", NULL);

    return strdup(pdk_json_get_str(result, "fingerprint", ""));
}

START_TEST(a_fingerprint_changes_with_every_change_but_in_git)
{
    static const char *const changes[] = { "echo x > dir/new", "rm dir/new",
        "chmod 600 f", "echo yy > f", "ln -s /etc link", "mkfifo fifo", "mkdir deep",
        "printf x > \"$(printf 'a\\377')\"", "mv f g" };
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);
    pdk_peer_run(&peer, "mkdir dir .git; echo one > f", &r);
    char *before = fingerprint();

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        PDK_AUTO_FREE char *same = fingerprint();
        ck_assert_str_eq(before, same);
        pdk_peer_run(&peer, changes[i], &r);
        ck_assert_int_eq(r.exit_code, 0);
        char *after = fingerprint();
        ck_assert_msg(strcmp(before, after) != 0, "'%s' is not seen", changes[i]);
        free(before);
        before = after;
    }
    pdk_peer_run(&peer, "echo x > .git/x", &r);
    PDK_AUTO_FREE char *after = fingerprint();
    ck_assert_str_eq(before, after);
    free(before);
    pdk_peer_close(&peer);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent: files");
    TCase *tc = tcase_create("files");
    int ways = pdk_peer_ways();

    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, a_file_is_read_whole_by_bytes_and_by_lines, 0, ways);
    tcase_add_loop_test(tc, names_and_content_of_any_bytes_come_through, 0, ways);
    tcase_add_loop_test(tc, nothing_leads_out_of_the_root, 0, ways);
    tcase_add_loop_test(tc, what_is_no_file_is_refused_and_blocks_nothing, 0, ways);
    tcase_add_loop_test(tc, a_write_tells_what_it_changed, 0, ways);
    tcase_add_loop_test(tc, stat_many_tells_each_in_order, 0, ways);
    tcase_add_loop_test(tc, a_fingerprint_changes_with_every_change_but_in_git, 0, ways);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
