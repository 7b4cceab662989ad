/* Frames and names: bytes in, frames out, whatever the pieces they come in. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "sandbox/protocol.h"
#include "tests/support/fixture.h"

/* What a framer said: "+method" for a frame, "-" for one that is none. */
struct seen {
    struct pdk_buf text;
    int stop_after; /* 0: never */
    int frames;
};

static int note(struct pdk_json *frame, const struct pdk_err *why, void *user)
{
    struct seen *seen = user;

    ck_assert((frame == NULL) == (why != NULL));
    if (frame) {
        pdk_buf_addf(&seen->text, "+%s", pdk_json_get_str(frame, "method", "?"));
    } else {
        ck_assert_int_eq(why->code, PDK_EPROTO);
        pdk_buf_addc(&seen->text, '-');
    }
    return ++seen->frames == seen->stop_after ? 7 : 0;
}

static void expect(const char *bytes, size_t len, size_t piece, const char *wanted)
{
    struct pdk_framer f = { 0 };
    struct seen seen = { 0 };

    for (size_t at = 0; at < len; at += piece)
        ck_assert_int_eq(pdk_framer_feed(&f, bytes + at,
                                 len - at < piece ? len - at : piece, note, &seen),
                0);
    ck_assert_str_eq(pdk_buf_str(&seen.text), wanted);
    pdk_framer_fini(&f);
    pdk_buf_fini(&seen.text);
}

#define CALL(m) "{\"jsonrpc\":\"2.0\",\"method\":\"" m "\"}"

START_TEST(a_frame_is_found_however_it_is_cut)
{
    static const char bytes[] = CALL("a") "\n\r\n\n" CALL("b") "\r\n{broken\n" CALL(
            "\xc3\xa4") "\n" CALL("x");

    for (size_t piece = 1; piece < sizeof(bytes); piece++)
        expect(bytes, sizeof(bytes) - 1, piece, "+a+b-+\xc3\xa4");
}
END_TEST

START_TEST(two_cuts_anywhere_change_nothing)
{
    static const char bytes[] = CALL("a") "\n" CALL("b") "\n";
    size_t len = sizeof(bytes) - 1;

    for (size_t one = 0; one <= len; one++)
        for (size_t two = one; two <= len; two++) {
            struct pdk_framer f = { 0 };
            struct seen seen = { 0 };

            (void)pdk_framer_feed(&f, bytes, one, note, &seen);
            (void)pdk_framer_feed(&f, bytes + one, two - one, note, &seen);
            (void)pdk_framer_feed(&f, bytes + two, len - two, note, &seen);
            ck_assert_str_eq(pdk_buf_str(&seen.text), "+a+b");
            pdk_framer_fini(&f);
            pdk_buf_fini(&seen.text);
        }
}
END_TEST

static const struct {
    const char *what, *bytes;
    size_t len;
} no_frames[] = {
#define ROW(what, text)                                                                  \
    {                                                                                    \
        what, text, sizeof(text) - 1                                                     \
    }
    ROW("a NUL between", "{\"jsonrpc\":\"2.0\",\0\"method\":\"a\"}"),
    ROW("a byte order mark", "\xef\xbb\xbf" CALL("a")),
    ROW("a repeated key", "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2}"),
    ROW("bytes that are no UTF-8", CALL("\xff\xfe")),
    ROW("an array", "[" CALL("a") "]"),
    ROW("a number", "5"),
    ROW("two documents", CALL("a") CALL("b")),
    ROW("no version", "{\"method\":\"a\"}"),
    ROW("another version", "{\"jsonrpc\":\"1.0\",\"method\":\"a\"}"),
    ROW("a number beyond 64 bits", "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999}"),
    ROW("blanks only", "   "),
};

START_TEST(what_is_no_frame_is_reported_and_the_next_one_is_read)
{
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;

    pdk_buf_add(&bytes, no_frames[_i].bytes, no_frames[_i].len);
    pdk_buf_adds(&bytes, "\n" CALL("next") "\n");
    expect(bytes.data, bytes.len, bytes.len, "-+next");
    expect(bytes.data, bytes.len, 1, "-+next");
}
END_TEST

START_TEST(depth_is_bounded)
{
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;

    pdk_buf_adds(&bytes, "{\"jsonrpc\":\"2.0\",\"params\":");
    for (int i = 0; i < 100000; i++)
        pdk_buf_addc(&bytes, '[');
    for (int i = 0; i < 100000; i++)
        pdk_buf_addc(&bytes, ']');
    pdk_buf_adds(&bytes, "}\n" CALL("next") "\n");
    expect(bytes.data, bytes.len, bytes.len, "-+next");
}
END_TEST

/* A frame of exactly len bytes with method "a". */
static void add_long(struct pdk_buf *bytes, size_t len)
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"pad\":\"";
    size_t pad = len - (sizeof(head) - 1) - 2;
    char *at;

    pdk_buf_adds(bytes, head);
    at = pdk_buf_room(bytes, pad);
    ck_assert_ptr_nonnull(at);
    memset(at, 'x', pad);
    bytes->len += pad;
    pdk_buf_adds(bytes, "\"}");
}

START_TEST(a_mebibyte_is_a_frame_and_one_byte_more_is_none)
{
    for (size_t more = 0; more < 2; more++) {
        PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;

        add_long(&bytes, PDK_FRAME_MAX + more);
        pdk_buf_adds(&bytes, "\n" CALL("b") "\n");
        expect(bytes.data, bytes.len, bytes.len, more ? "-+b" : "+a+b");
        expect(bytes.data, bytes.len, 4093, more ? "-+b" : "+a+b");
    }
}
END_TEST

START_TEST(an_endless_line_is_reported_once_and_at_once)
{
    struct pdk_framer f = { 0 };
    struct seen seen = { 0 };
    char piece[4096];

    memset(piece, 'x', sizeof(piece));
    for (size_t fed = 0; fed < PDK_FRAME_MAX; fed += sizeof(piece))
        (void)pdk_framer_feed(&f, piece, sizeof(piece), note, &seen);
    ck_assert_int_eq(seen.frames, 0);
    (void)pdk_framer_feed(&f, piece, 1, note, &seen);
    ck_assert_int_eq(seen.frames, 1);
    for (int i = 0; i < 1024; i++)
        (void)pdk_framer_feed(&f, piece, sizeof(piece), note, &seen);
    ck_assert_int_eq(seen.frames, 1);
    ck_assert_uint_eq(f.pending.cap, 0);
    (void)pdk_framer_feed(&f, "\n" CALL("b") "\n", sizeof(CALL("b")) + 1, note, &seen);
    ck_assert_str_eq(pdk_buf_str(&seen.text), "-+b");
    pdk_framer_fini(&f);
    pdk_buf_fini(&seen.text);
}
END_TEST

START_TEST(a_visitor_stops_the_feed)
{
    struct pdk_framer f = { 0 };
    struct seen seen = { .stop_after = 2 };
    static const char bytes[] = CALL("a") "\n" CALL("b") "\n" CALL("c") "\n";

    ck_assert_int_eq(pdk_framer_feed(&f, bytes, sizeof(bytes) - 1, note, &seen), 7);
    ck_assert_str_eq(pdk_buf_str(&seen.text), "+a+b");
    pdk_framer_fini(&f);
    pdk_buf_fini(&seen.text);
}
END_TEST

/* ---- frames as text */

static int keep(struct pdk_json *frame, const struct pdk_err *why, void *user)
{
    struct pdk_json **kept = user;

    ck_assert_msg(frame != NULL, "%s", why ? why->msg : "");
    ck_assert_ptr_null(*kept);
    *kept = pdk_json_ref(frame);
    return 0;
}

static struct pdk_json *read_back(const struct pdk_buf *text)
{
    struct pdk_framer f = { 0 };
    struct pdk_json *frame = NULL;

    ck_assert_int_eq(pdk_framer_feed(&f, text->data, text->len, keep, &frame), 0);
    pdk_framer_fini(&f);
    ck_assert_ptr_nonnull(frame);
    return frame;
}

START_TEST(a_request_reads_back)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_JSON struct pdk_json *params = pdk_json_object();
    PDK_AUTO_JSON struct pdk_json *frame = NULL;

    (void)pdk_json_set_bytes(params, "data", "a\nb\xff\0c", 6);
    ck_assert_int_eq(pdk_frame_request(&text, INT64_C(1) << 60, "exec", params, NULL), 0);
    ck_assert_ptr_eq(memchr(text.data, '\n', text.len), text.data + text.len - 1);
    frame = read_back(&text);
    ck_assert_int_eq(pdk_json_get_int(frame, "id", 0), INT64_C(1) << 60);
    ck_assert_str_eq(pdk_json_get_str(frame, "method", ""), "exec");
    ck_assert(pdk_json_equal(pdk_json_get(frame, "params"), params));
}
END_TEST

START_TEST(a_notification_has_no_id)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_JSON struct pdk_json *frame = NULL;

    ck_assert_int_eq(pdk_frame_notify(&text, "ping", NULL, NULL), 0);
    frame = read_back(&text);
    ck_assert_ptr_null(pdk_json_get(frame, "id"));
    ck_assert_ptr_null(pdk_json_get(frame, "params"));
}
END_TEST

START_TEST(a_result_is_an_object_also_where_there_is_none)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_JSON struct pdk_json *frame = NULL;

    ck_assert_int_eq(pdk_frame_result(&text, 3, NULL, NULL), 0);
    frame = read_back(&text);
    ck_assert_int_eq(pdk_json_type(pdk_json_get(frame, "result")), PDK_JSON_OBJECT);
}
END_TEST

START_TEST(an_error_carries_its_name_and_a_null_id_where_none_is_known)
{
    for (int64_t id = 0; id < 2; id++) {
        PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
        PDK_AUTO_JSON struct pdk_json *frame = NULL;
        const struct pdk_json *error;

        ck_assert_int_eq(pdk_frame_error(&text, id, PDK_WIRE_BUSY, "odd \xff", NULL), 0);
        frame = read_back(&text);
        error = pdk_json_get(frame, "error");
        ck_assert_ptr_nonnull(pdk_json_get(frame, "id"));
        ck_assert_int_eq(pdk_json_type(pdk_json_get(frame, "id")),
                id ? PDK_JSON_INT : PDK_JSON_NULL);
        ck_assert_str_eq(
                pdk_json_get_str(pdk_json_get(error, "data"), "code", ""), "busy");
        ck_assert_int_eq(pdk_json_get_int(error, "code", 0), -32000 - PDK_WIRE_BUSY);
    }
}
END_TEST

START_TEST(a_frame_too_long_is_not_written)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT, pad = PDK_BUF_INIT;
    PDK_AUTO_JSON struct pdk_json *params = pdk_json_object();
    struct pdk_err err = PDK_ERR_INIT;

    add_long(&pad, PDK_FRAME_MAX);
    (void)pdk_json_set_bytes(params, "data", pad.data, pad.len);
    pdk_buf_adds(&text, "before");
    ck_assert_int_eq(pdk_frame_request(&text, 1, "write", params, &err), PDK_EINVAL);
    ck_assert_uint_eq(text.len, 6);
}
END_TEST

/* ---- names */

START_TEST(there_are_sixteen_verbs_and_each_is_found_by_its_name)
{
    ck_assert_int_eq(PDK_VERB_COUNT, 16);
    for (int i = 0; i < PDK_VERB_COUNT; i++)
        ck_assert_int_eq(pdk_verb_find(pdk_verb_name((enum pdk_verb)i)), i);
    ck_assert_int_eq(pdk_verb_find("initialize"), PDK_VERB_COUNT);
    ck_assert_int_eq(pdk_verb_find(""), PDK_VERB_COUNT);
    ck_assert_str_eq(pdk_verb_name(PDK_VERB_COUNT), "unknown");
    ck_assert_str_eq(pdk_wire_error_name(PDK_WIRE_COUNT), "unknown");
}
END_TEST

/* The document has one row, "| `name` | …", for each. */
static void expect_row(const char *document, const char *name)
{
    PDK_AUTO_FREE char *row = pdk_strf("\n| `%s` |", name);

    ck_assert_ptr_nonnull(row);
    ck_assert_msg(
            strstr(document, row) != NULL, "docs/protocol.md has no row for `%s`", name);
}

START_TEST(the_document_names_every_verb_and_every_error)
{
    PDK_AUTO_FREE char *document =
            pdk_test_read(PDK_TEST_DATA_DIR "/../../docs/protocol.md", NULL);

    for (int i = 0; i < PDK_VERB_COUNT; i++)
        expect_row(document, pdk_verb_name((enum pdk_verb)i));
    for (int i = 0; i < PDK_WIRE_COUNT; i++)
        expect_row(document, pdk_wire_error_name((enum pdk_wire_error)i));
}
END_TEST

static Suite *protocol_suite(void)
{
    Suite *suite = suite_create("sandbox_protocol");
    TCase *tc = tcase_create("frames");

    tcase_add_test(tc, a_frame_is_found_however_it_is_cut);
    tcase_add_test(tc, two_cuts_anywhere_change_nothing);
    tcase_add_loop_test(tc, what_is_no_frame_is_reported_and_the_next_one_is_read, 0,
            (int)(sizeof(no_frames) / sizeof(no_frames[0])));
    tcase_add_test(tc, depth_is_bounded);
    tcase_add_test(tc, a_mebibyte_is_a_frame_and_one_byte_more_is_none);
    tcase_add_test(tc, an_endless_line_is_reported_once_and_at_once);
    tcase_add_test(tc, a_visitor_stops_the_feed);
    tcase_add_test(tc, a_request_reads_back);
    tcase_add_test(tc, a_notification_has_no_id);
    tcase_add_test(tc, a_result_is_an_object_also_where_there_is_none);
    tcase_add_test(tc, an_error_carries_its_name_and_a_null_id_where_none_is_known);
    tcase_add_test(tc, a_frame_too_long_is_not_written);
    tcase_add_test(tc, there_are_sixteen_verbs_and_each_is_found_by_its_name);
    tcase_add_test(tc, the_document_names_every_verb_and_every_error);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return pdk_test_main(protocol_suite());
}
