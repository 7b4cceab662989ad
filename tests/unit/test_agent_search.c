/* glob, grep, read_many and remove: loops on the far side, one answer. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/peer.h"

static struct pdk_peer peer;

static void put(const char *name, const void *data, size_t len)
{
    PDK_AUTO_FREE char *path = pdk_peer_path(&peer, name);

    pdk_test_write(path, data, len);
    ck_assert_int_eq(chmod(path, 0644), 0);
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

static void in_root(const char *sh)
{
    free(pdk_test_sh(peer.root, "%s", sh));
}

static struct pdk_json *parse(const char *text)
{
    struct pdk_json *v = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_json_parse(text, strlen(text), &v, &err) == 0, "%s", err.msg);
    return v;
}

static struct pdk_json *ask(const char *verb, const char *params)
{
    return pdk_peer_ask(&peer, verb, parse(params));
}

/* The words of a list on one line; owned by the caller. */
static char *line_of(const struct pdk_json *list)
{
    struct pdk_buf out = PDK_BUF_INIT;

    for (size_t i = 0; i < pdk_json_len(list); i++)
        pdk_buf_addf(&out, "%s%s", i > 0 ? " " : "",
                pdk_json_text(pdk_json_at(list, i), NULL));
    return pdk_buf_take(&out);
}

static void expect_glob(const char *params, const char *paths)
{
    PDK_AUTO_JSON struct pdk_json *result = ask("glob", params);
    PDK_AUTO_FREE char *line = line_of(pdk_json_get(result, "paths"));

    ck_assert_str_eq(line, paths);
    ck_assert_int_eq(pdk_json_get_bool(result, "truncated", true), false);
}

/* "path:line:column:text" of each match. */
static char *matches(const struct pdk_json *result)
{
    const struct pdk_json *items = pdk_json_get(result, "items");
    struct pdk_buf out = PDK_BUF_INIT;

    for (size_t i = 0; i < pdk_json_len(items); i++) {
        const struct pdk_json *item = pdk_json_at(items, i);

        pdk_buf_addf(&out, "%s:%d:%d:%s\n", pdk_json_get_str(item, "path", "?"),
                (int)pdk_json_get_int(item, "line", 0),
                (int)pdk_json_get_int(item, "column", 0),
                pdk_json_get_str(item, "text", "?"));
    }
    return pdk_buf_take(&out);
}

static void expect_grep(const char *params, const char *lines)
{
    PDK_AUTO_JSON struct pdk_json *result = ask("grep", params);
    PDK_AUTO_FREE char *found = matches(result);

    ck_assert_str_eq(found, lines);
    ck_assert_int_eq(pdk_json_get_bool(result, "truncated", true), false);
}

START_TEST(glob_finds_what_git_finds)
{
    static const char *const patterns[] = { "**/*.c", "*.c", "src/**", "src/*", "**",
        "s?c/*.[ch]", "src/deep/**/x.c", "**/build/**" };
    pdk_peer_open(&peer, _i);
    in_root("git init -q && mkdir -p src/deep/er build out && touch a.c src/b.c src/b.h "
            "src/deep/x.c src/deep/er/x.c build/gen.c out/keep.c out/o.c src.c src-c "
            "'a b' && printf 'build/\\nout/*\\n!keep.c\\n' > .gitignore && echo '*.h' > "
            "src/.gitignore && echo src-c >> .git/info/exclude && chmod -R a+rX .");

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        PDK_AUTO_FREE char *git = pdk_test_sh(peer.root,
                "git -c safe.directory='*' ls-files -co --exclude-standard ':(glob)%s' | "
                "tr '\\n' ' ' | sed 's/ $//'",
                patterns[i]);
        PDK_AUTO_FREE char *params = pdk_strf("{\"patterns\":[\"%s\"]}", patterns[i]);
        expect_glob(params, git);
    }
    expect_glob("{\"patterns\":[\"**/*.c\"],\"path\":\"src\"}",
            "src/b.c src/deep/er/x.c src/deep/x.c");
    expect_glob("{\"patterns\":[\"build/*\",\"*.h\"],\"ignored\":true}", "build/gen.c");
    expect_glob("{\"patterns\":[\"src/*.h\"],\"path\":\"src/\"}", "");
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(glob_tells_where_its_limit_ended_it)
{
    pdk_peer_open(&peer, _i);
    put_text("a", "");
    put_text("b\xff", "");
    put_text("c", "");
    PDK_AUTO_JSON struct pdk_json *two =
            ask("glob", "{\"patterns\":[\"*\"],\"limit\":2}");
    PDK_AUTO_JSON struct pdk_json *all =
            ask("glob", "{\"patterns\":[\"*\"],\"limit\":3}");
    struct pdk_json *coded = pdk_json_at(pdk_json_get(two, "paths"), 1);

    ck_assert(pdk_json_get_bool(two, "truncated", false));
    ck_assert_uint_eq(pdk_json_len(pdk_json_get(two, "paths")), 2);
    ck_assert_str_eq(pdk_json_get_str(coded, "path_base64", ""), "Yv8=");
    ck_assert(!pdk_json_get_bool(all, "truncated", true));
    pdk_peer_refused(&peer, "glob", parse("{}"), "bad_params");
    pdk_peer_refused(&peer, "glob", parse("{\"patterns\":[7]}"), "bad_params");
    pdk_peer_refused(
            &peer, "glob", parse("{\"patterns\":[\"*\"],\"path\":\"..\"}"), "outside");
    pdk_peer_refused(
            &peer, "glob", parse("{\"patterns\":[\"*\"],\"path\":\"no\"}"), "not_found");
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(grep_finds_lines_where_they_are)
{
    pdk_peer_open(&peer, _i);
    put_text("a", "one\ntwo one\n\nlast one");
    put_text("dir/b", "none\nOne\n");
    put("bin", "one\0one\n", 8);

    expect_grep(
            "{\"pattern\":\"\\\\bone\"}", "a:1:1:one\na:2:5:two one\na:4:6:last one\n");
    expect_grep("{\"pattern\":\"one$\",\"path\":\"dir\"}", "dir/b:1:2:none\n");
    expect_grep(
            "{\"pattern\":\"^one$\",\"ignore_case\":true}", "a:1:1:one\ndir/b:2:1:One\n");
    expect_grep("{\"pattern\":\"^$\"}", "a:3:1:\n");
    expect_grep("{\"pattern\":\"o.e\\\\z\",\"paths\":[\"a\"]}",
            "a:1:1:one\na:2:5:two one\na:4:6:last one\n");
    expect_grep("{\"pattern\":\"two(?=\\\\s)\"}", "a:2:1:two one\n");
    expect_grep("{\"pattern\":\"[^x]*t[^x]*one\"}", "a:2:1:two one\na:4:1:last one\n");
    expect_grep("{\"pattern\":\"[\\\\t-\\\\r]one\"}", "");
    expect_grep("{\"pattern\":\"(one\",\"fixed\":true}", "");
    PDK_AUTO_JSON struct pdk_json *result = ask("grep", "{\"pattern\":\"one\"}");
    ck_assert_int_eq(pdk_json_get_int(result, "binary", -1), 1);
    ck_assert_int_eq(pdk_json_get_int(result, "files", -1), 2);
    ck_assert_int_eq(pdk_json_get_int(result, "failed", -1), 0);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(grep_knows_letters_and_bytes)
{
    pdk_peer_open(&peer, _i);
    put_text("u", "x\xc3\xa9y\n\xc3\x89\n");
    put("l", "x\xe9y\n", 4);

    expect_grep("{\"pattern\":\"^x.y$\",\"paths\":[\"u\"]}", "u:1:1:x\xc3\xa9y\n");
    expect_grep("{\"pattern\":\"\xc3\xa9\",\"ignore_case\":true}",
            "u:1:2:x\xc3\xa9y\nu:2:1:\xc3\x89\n");
    PDK_AUTO_JSON struct pdk_json *result =
            ask("grep", "{\"pattern\":\"^x\",\"paths\":[\"l\"]}");
    ck_assert_str_eq(pdk_json_get_str(pdk_json_at(pdk_json_get(result, "items"), 0),
                             "text_base64", ""),
            "eOl5");
    pdk_peer_close(&peer);
}
END_TEST

/* The texts of context lines on one line; owned by the caller. */
static char *context_of(const struct pdk_json *item, const char *key)
{
    const struct pdk_json *list = pdk_json_get(item, key);
    struct pdk_buf out = PDK_BUF_INIT;

    for (size_t i = 0; i < pdk_json_len(list); i++)
        pdk_buf_addf(&out, "%s,", pdk_json_get_str(pdk_json_at(list, i), "text", "?"));
    return pdk_buf_take(&out);
}

START_TEST(grep_shows_the_lines_around)
{
    static const struct {
        const char *pattern, *before, *after;
    } rows[] = { { "1", "", "2,3," }, { "3", "1,2,", "4,5," }, { "5", "3,4,", "" } };
    pdk_peer_open(&peer, _i);
    put_text("n", "1\n2\n3\n4\n5\n");

    for (size_t i = 0; i < 3; i++) {
        PDK_AUTO_FREE char *params =
                pdk_strf("{\"pattern\":\"%s\",\"context\":2}", rows[i].pattern);
        PDK_AUTO_JSON struct pdk_json *result = ask("grep", params);
        const struct pdk_json *item = pdk_json_at(pdk_json_get(result, "items"), 0);
        PDK_AUTO_FREE char *before = context_of(item, "before");
        PDK_AUTO_FREE char *after = context_of(item, "after");

        ck_assert_str_eq(before, rows[i].before);
        ck_assert_str_eq(after, rows[i].after);
    }
    pdk_peer_close(&peer);
}
END_TEST

/* The first matches are the first, whoever of the threads found them. */
START_TEST(grep_is_cut_in_order_and_says_why)
{
    pdk_peer_open(&peer, _i);
    in_root("for i in $(seq 100 399); do echo \"hit $i\" > f$i; done; yes 'long "
            "long long line of text that matches' | head -n 20000 > big; chmod a+r *");
    PDK_AUTO_JSON struct pdk_json *seven =
            ask("grep", "{\"pattern\":\"hit\",\"limit\":7}");
    PDK_AUTO_JSON struct pdk_json *big =
            ask("grep", "{\"pattern\":\"long\",\"limit\":20000}");
    PDK_AUTO_JSON struct pdk_json *all =
            ask("grep", "{\"pattern\":\"hit\",\"limit\":300}");
    const struct pdk_json *items = pdk_json_get(seven, "items");

    ck_assert_uint_eq(pdk_json_len(items), 7);
    ck_assert_str_eq(pdk_json_get_str(pdk_json_at(items, 6), "path", ""), "f106");
    ck_assert(pdk_json_get_bool(seven, "truncated", false));
    ck_assert_str_eq(pdk_json_get_str(seven, "truncated_by", ""), "limit");
    ck_assert_str_eq(pdk_json_get_str(big, "truncated_by", ""), "size");
    ck_assert(!pdk_json_get_bool(all, "truncated", true));
    ck_assert_uint_eq(pdk_json_len(pdk_json_get(all, "items")), 300);
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_pattern_that_runs_away_is_stopped_and_counted)
{
    pdk_peer_open(&peer, _i);
    put_text("f", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n");

    PDK_AUTO_JSON struct pdk_json *result =
            ask("grep", "{\"pattern\":\"^(a+)+(?<!x)$\"}");
    ck_assert_int_eq(pdk_json_get_int(result, "failed", 0), 1);
    pdk_peer_refused(&peer, "grep", parse("{\"pattern\":\"(\"}"), "bad_params");
    pdk_peer_refused(&peer, "grep", parse("{\"pattern\":\"\"}"), "bad_params");
    pdk_peer_refused(
            &peer, "grep", parse("{\"pattern\":\"a\",\"context\":21}"), "bad_params");
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(a_search_can_be_canceled)
{
    pdk_peer_open(&peer, _i);
    in_root("mkdir d && for i in $(seq 400); do head -c 20000 /dev/zero | tr '\\0' 'a' > "
            "d/$i; done; chmod -R a+rX d");
    PDK_AUTO_JSON struct pdk_json *params =
            parse("{\"pattern\":\"^(a|aa)+(?!a)b\",\"timeout_ms\":60000}");
    PDK_AUTO_JSON struct pdk_json *which = pdk_json_object();
    PDK_AUTO_BUF struct pdk_buf both = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;
    int64_t id = ++peer.last_id;
    /* In one write, so that the loop takes both before it can hear of the search's end. */
    ck_assert_int_eq(pdk_frame_request(&both, id, "grep", params, &err), 0);
    (void)pdk_json_set_int(which, "call", id);
    ck_assert_int_eq(pdk_frame_notify(&both, "cancel", which, &err), 0);
    pdk_peer_send_text(&peer, pdk_buf_str(&both));
    PDK_AUTO_JSON struct pdk_json *answer = pdk_peer_answer(&peer, id);

    ck_assert_str_eq(pdk_json_get_str(pdk_json_get(pdk_json_get(answer, "error"), "data"),
                             "code", ""),
            "canceled");
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(read_many_tells_of_each_in_order)
{
    static char big[600 << 10];
    pdk_peer_open(&peer, _i);
    put_text("a", "alpha\nbeta\n");
    put("b", "\xff\0", 2);
    memset(big, 1, sizeof(big));
    put("big", big, sizeof(big));
    PDK_AUTO_JSON struct pdk_json *result = ask("read_many",
            "{\"paths\":[\"a\",\"none\",{\"path\":\"a\",\"line_from\":2},\"b\",\"../x\","
            "\".\",\"big\",\"big\",9]}");
    const struct pdk_json *items = pdk_json_get(result, "items");
    static const char *const expected[] = { "data=alpha\nbeta\n", "not_found",
        "data=beta\n", "data=\xef\xbf\xbd", "outside", "not_a_file", "short", "too_large",
        "bad_params" };

    ck_assert_uint_eq(pdk_json_len(items), 9);
    for (size_t i = 0; i < 9; i++) {
        const struct pdk_json *item = pdk_json_at(items, i);
        bool is_short = i == 6 && !pdk_json_get_bool(item, "eof", true) &&
                pdk_json_get_int(item, "length", 0) > 100000;
        PDK_AUTO_FREE char *data =
                pdk_strf("data=%s", pdk_json_get_str(item, "data", "?"));

        ck_assert_str_eq(
                is_short ? "short" : pdk_json_get_str(item, "error", data), expected[i]);
    }
    pdk_peer_close(&peer);
}
END_TEST

/* A window never makes an answer that is no frame: it is shorter then, and says so. */
START_TEST(bytes_that_swell_in_a_frame_come_in_shorter_windows)
{
    static const char *const sh[] = { "head -c 600000 /dev/zero > f; chmod a+r f",
        "head -c 600000 /dev/zero | tr '\\0' '\\377' > f; chmod a+r f" };
    pdk_peer_open(&peer, _i);

    for (size_t i = 0; i < 2; i++) {
        int64_t at = 0;

        in_root(sh[i]);
        for (bool eof = false; !eof;) {
            PDK_AUTO_FREE char *params =
                    pdk_strf("{\"path\":\"f\",\"offset\":%d}", (int)at);
            PDK_AUTO_JSON struct pdk_json *part = ask("read", params);

            ck_assert_int_gt(pdk_json_get_int(part, "length", 0), 0);
            at += pdk_json_get_int(part, "length", 0);
            eof = pdk_json_get_bool(part, "eof", true);
        }
        ck_assert_int_eq(at, 600000);
    }
    pdk_peer_close(&peer);
}
END_TEST

START_TEST(remove_tells_what_it_took_away)
{
    struct pdk_exec_result r;
    pdk_peer_open(&peer, _i);
    pdk_peer_run(
            &peer, "mkdir -p d/e empty; touch f d/e/x; ln -s /etc l; echo q > q", &r);
    static const struct {
        const char *params, *type;
    } rows[] = { { "{\"path\":\"f\"}", "file" }, { "{\"path\":\"f\"}", NULL },
        { "{\"path\":\"l\"}", "symlink" }, { "{\"path\":\"empty\"}", "directory" },
        { "{\"path\":\"d\",\"recursive\":true}", "directory" },
        { "{\"path\":\"no/where\"}", NULL } };

    pdk_peer_refused(&peer, "remove", parse("{\"path\":\"d\"}"), "not_a_file");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        PDK_AUTO_JSON struct pdk_json *result = ask("remove", rows[i].params);

        ck_assert_int_eq(
                pdk_json_get_bool(result, "existed_before", false), rows[i].type != NULL);
        ck_assert_str_eq(
                pdk_json_get_str(result, "type", ""), rows[i].type ? rows[i].type : "");
    }
    pdk_peer_refused(&peer, "remove", parse("{\"path\":\".\"}"), "bad_params");
    pdk_peer_refused(&peer, "remove", parse("{\"path\":\"q/../..\"}"), "bad_params");
    pdk_peer_refused(&peer, "remove", parse("{\"path\":\"../spool\"}"), "outside");
    PDK_AUTO_FREE char *left = pdk_test_sh(peer.root, "ls -A");
    ck_assert_str_eq(left, "q");
    pdk_peer_close(&peer);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent: search");
    TCase *tc = tcase_create("search");
    int ways = pdk_peer_ways();

    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, glob_finds_what_git_finds, 0, ways);
    tcase_add_loop_test(tc, glob_tells_where_its_limit_ended_it, 0, ways);
    tcase_add_loop_test(tc, grep_finds_lines_where_they_are, 0, ways);
    tcase_add_loop_test(tc, grep_knows_letters_and_bytes, 0, ways);
    tcase_add_loop_test(tc, grep_shows_the_lines_around, 0, ways);
    tcase_add_loop_test(tc, grep_is_cut_in_order_and_says_why, 0, ways);
    tcase_add_loop_test(tc, a_pattern_that_runs_away_is_stopped_and_counted, 0, ways);
    tcase_add_loop_test(tc, a_search_can_be_canceled, 0, ways);
    tcase_add_loop_test(tc, read_many_tells_of_each_in_order, 0, ways);
    tcase_add_loop_test(tc, bytes_that_swell_in_a_frame_come_in_shorter_windows, 0, ways);
    tcase_add_loop_test(tc, remove_tells_what_it_took_away, 0, ways);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
