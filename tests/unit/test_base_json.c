/* JSON: what goes in comes out, bad text is refused with its place, and a failed part fails the whole. */
/* wrap: json_object_set_new json_array_append_new */
#include <check.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "tests/support/fixture.h"

static int refusals; /* how many of the next calls fail */

int __real_json_object_set_new(json_t *object, const char *key, json_t *value);
int __real_json_array_append_new(json_t *array, json_t *value);
int __wrap_json_object_set_new(json_t *object, const char *key, json_t *value);
int __wrap_json_array_append_new(json_t *array, json_t *value);

int __wrap_json_object_set_new(json_t *object, const char *key, json_t *value)
{
    if (refusals > 0) {
        refusals--;
        json_decref(value);
        return -1;
    }
    return __real_json_object_set_new(object, key, value);
}

int __wrap_json_array_append_new(json_t *array, json_t *value)
{
    if (refusals > 0) {
        refusals--;
        json_decref(value);
        return -1;
    }
    return __real_json_array_append_new(array, value);
}

static struct pdk_json *parsed(const char *text)
{
    struct pdk_json *v = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(
            pdk_json_parse(text, strlen(text), &v, &err) == 0, "%s: %s", text, err.msg);
    return v;
}

static void expect(const struct pdk_json *v, enum pdk_json_style style, const char *text)
{
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;

    ck_assert_int_eq(pdk_json_write(v, style, &out, NULL), 0);
    ck_assert_str_eq(pdk_buf_str(&out), text);
}

START_TEST(documents_are_written_in_three_styles)
{
    static const char *const words[] = { "x", "y" };
    PDK_AUTO_JSON struct pdk_json *doc = pdk_json_object();
    struct pdk_json *list = pdk_json_array();

    ck_assert_int_eq(pdk_json_set_str(doc, "z", "gr\xc3\xbcn \"\\\n"), 0);
    ck_assert_int_eq(pdk_json_set_int(doc, "big", INT64_MIN), 0);
    ck_assert_int_eq(pdk_json_set_bool(doc, "yes", true), 0);
    ck_assert_int_eq(pdk_json_set_str(doc, "none", NULL), 0);
    ck_assert_int_eq(pdk_json_append(list, pdk_json_real(0.5)), 0);
    ck_assert_int_eq(pdk_json_append(list, pdk_json_null()), 0);
    ck_assert_int_eq(pdk_json_append(list, pdk_json_strv(words, 2)), 0);
    ck_assert_int_eq(pdk_json_set(doc, "list", list), 0);
    ck_assert_int_eq(pdk_json_ok(doc, NULL), 0);
    expect(doc, PDK_JSON_COMPACT,
            "{\"z\":\"gr\xc3\xbcn \\\"\\\\\\n\",\"big\":-9223372036854775808,\"yes\":true,"
            "\"none\":null,\"list\":[0.5,null,[\"x\",\"y\"]]}");
    expect(doc, PDK_JSON_SORTED,
            "{\"big\":-9223372036854775808,\"list\":[0.5,null,[\"x\",\"y\"]],\"none\":null,"
            "\"yes\":true,\"z\":\"gr\xc3\xbcn \\\"\\\\\\n\"}");
    PDK_AUTO_JSON struct pdk_json *small = parsed("{\"a\":[1]}");
    expect(small, PDK_JSON_PRETTY, "{\n  \"a\": [\n    1\n  ]\n}");
}
END_TEST

START_TEST(members_have_types_and_fallbacks)
{
    PDK_AUTO_JSON struct pdk_json *doc =
            parsed("{\"s\":\"text\",\"i\":9007199254740993,"
                   "\"r\":1.5,\"b\":true,\"n\":null,\"a\":[1,2],"
                   "\"o\":{\"k\":0}}");
    size_t len = 0;

    ck_assert_str_eq(pdk_json_get_str(doc, "s", "-"), "text");
    ck_assert_str_eq(pdk_json_get_str(doc, "i", "-"), "-");
    ck_assert_str_eq(pdk_json_get_str(doc, "missing", "-"), "-");
    ck_assert_int_eq(pdk_json_get_int(doc, "i", 0), 9007199254740993);
    ck_assert_int_eq(pdk_json_get_int(doc, "r", 7), 7);
    ck_assert(pdk_json_get_bool(doc, "b", false));
    ck_assert(pdk_json_get_bool(doc, "s", true));
    ck_assert_double_eq(pdk_json_get_real(doc, "r", 0), 1.5);
    ck_assert_double_eq(pdk_json_get_real(doc, "s", 2), 2);
    ck_assert_double_eq(pdk_json_get_real(doc, "o", 3), 3);
    ck_assert_uint_eq(pdk_json_len(doc), 7);
    ck_assert_uint_eq(pdk_json_len(pdk_json_get(doc, "a")), 2);
    ck_assert_uint_eq(pdk_json_len(pdk_json_get(doc, "s")), 0);
    ck_assert_int_eq(pdk_json_int_value(pdk_json_at(pdk_json_get(doc, "a"), 1)), 2);
    ck_assert_ptr_null(pdk_json_at(pdk_json_get(doc, "a"), 2));
    ck_assert_ptr_null(pdk_json_get(pdk_json_get(doc, "a"), "k"));
    ck_assert_str_eq(pdk_json_text(pdk_json_get(doc, "s"), &len), "text");
    ck_assert_uint_eq(len, 4);
    ck_assert_ptr_null(pdk_json_text(pdk_json_get(doc, "i"), NULL));
    ck_assert_double_eq(pdk_json_real_value(pdk_json_get(doc, "r")), 1.5);
    ck_assert(pdk_json_bool_value(pdk_json_get(doc, "b")));
    ck_assert(!pdk_json_bool_value(pdk_json_get(doc, "n")));
}
END_TEST

START_TEST(each_value_tells_its_type)
{
    static const enum pdk_json_type types[] = { PDK_JSON_NULL, PDK_JSON_BOOL,
        PDK_JSON_BOOL, PDK_JSON_INT, PDK_JSON_REAL, PDK_JSON_STRING, PDK_JSON_ARRAY,
        PDK_JSON_OBJECT };
    PDK_AUTO_JSON struct pdk_json *list = parsed("[null,true,false,1,1.0,\"\",[],{}]");

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        ck_assert_int_eq(pdk_json_type(pdk_json_at(list, i)), types[i]);
    ck_assert_int_eq(pdk_json_type(NULL), PDK_JSON_NULL);
    ck_assert_int_eq(pdk_json_type(pdk_json_get(NULL, "x")), PDK_JSON_NULL);
}
END_TEST

START_TEST(bad_documents_are_refused_with_their_place)
{
    static const struct {
        const char *text, *place;
    } rows[] = { { "", "line 1" }, { "{", "line 1" }, { "{\"a\":1}\n x", "line 2" },
        { "{\"a\":1}{}", "line 1" }, { "{\"a\":1,\"a\":2}", "column" },
        { "[9223372036854775808]", "line 1" }, { "[\"\xff\"]", "line 1" },
        { "[\"\\ud800\"]", "line 1" }, { "[1,]", "line 1" }, { "[01]", "line 1" },
        { "['a']", "line 1" }, { "[\"\n\"]", "line" }, { "1", "line 1" },
        { "\"a\"", "line 1" }, { "[NaN]", "line 1" }, { "[1e999]", "line 1" },
        { "\xef\xbb\xbf[]", "line 1" } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pdk_json *out = NULL;
        struct pdk_err err = PDK_ERR_INIT;
        int rc = pdk_json_parse(rows[i].text, strlen(rows[i].text), &out, &err);

        ck_assert_msg(rc == PDK_EINVAL, "'%s': %d", rows[i].text, rc);
        ck_assert_ptr_null(out);
        ck_assert_msg(strstr(err.msg, rows[i].place) != NULL, "%s", err.msg);
    }
}
END_TEST

START_TEST(depth_is_bounded)
{
    PDK_AUTO_BUF struct pdk_buf deep = PDK_BUF_INIT;
    struct pdk_json *out = NULL;

    for (int i = 0; i < 100000; i++)
        pdk_buf_addc(&deep, '[');
    ck_assert_int_eq(pdk_json_parse(deep.data, deep.len, &out, NULL), PDK_EINVAL);
}
END_TEST

START_TEST(the_mark_of_a_failure_cannot_be_sent)
{
    static const char text[] = "{\"a\":[{\"\\u0001failed\":1}]}";
    struct pdk_json *out = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_json_parse(text, sizeof(text) - 1, &out, &err), PDK_EINVAL);
    ck_assert_ptr_null(out);
}
END_TEST

START_TEST(a_failed_part_fails_the_whole)
{
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;

    for (int way = 0; way < 4; way++) {
        PDK_AUTO_JSON struct pdk_json *doc = pdk_json_object();
        struct pdk_json *part = way % 2 ? pdk_json_array() : pdk_json_object();
        struct pdk_err err = PDK_ERR_INIT;

        refusals = way < 2;
        if (way % 2)
            ck_assert_int_eq(
                    pdk_json_append(part, way < 2 ? pdk_json_int(1) : NULL), PDK_ENOMEM);
        else
            ck_assert_int_eq(pdk_json_set(part, "k", way < 2 ? pdk_json_int(1) : NULL),
                    PDK_ENOMEM);
        ck_assert_int_eq(pdk_json_set(doc, "part", part), 0);
        ck_assert_int_eq(pdk_json_ok(doc, &err), PDK_ENOMEM);
        ck_assert_int_eq(pdk_json_write(doc, PDK_JSON_COMPACT, &out, &err), PDK_ENOMEM);
        ck_assert_uint_eq(out.len, 0);
    }
    ck_assert_int_eq(pdk_json_ok(NULL, NULL), PDK_ENOMEM);
    ck_assert_int_eq(pdk_json_set_int(NULL, "k", 1), PDK_ENOMEM);
    ck_assert_int_eq(pdk_json_append(NULL, pdk_json_int(1)), PDK_ENOMEM);
    ck_assert_ptr_null(pdk_json_str("\xff"));
    ck_assert_ptr_null(pdk_json_strn("\xc3\xbc", 1));
}
END_TEST

static void round_trip(const char *bytes, size_t len)
{
    PDK_AUTO_JSON struct pdk_json *doc = pdk_json_object();
    PDK_AUTO_JSON struct pdk_json *read = NULL;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf back = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_json_set_bytes(doc, "b", bytes, len), 0);
    ck_assert_int_eq(pdk_json_write(doc, PDK_JSON_COMPACT, &text, &err), 0);
    ck_assert_int_eq(pdk_json_parse(text.data, text.len, &read, &err), 0);
    ck_assert(pdk_json_equal(read, doc));
    ck_assert_ptr_nonnull(pdk_json_get_str(read, "b", NULL)); /* always text for people */
    ck_assert_int_eq(pdk_json_get_bytes(read, "b", &back, &err), 0);
    ck_assert_uint_eq(back.len, len);
    ck_assert(len == 0 || memcmp(back.data, bytes, len) == 0);
}

START_TEST(bytes_make_the_round_trip)
{
    unsigned int seed = (unsigned int)_i + 1;
    char bytes[64];
    size_t len = (size_t)rand_r(&seed) % sizeof(bytes);

    for (size_t i = 0; i < len; i++) /* of three kinds: ASCII, any byte, NUL */
        bytes[i] = (char)(_i % 3 == 0       ? 'a' + rand_r(&seed) % 26
                        : rand_r(&seed) % 5 ? rand_r(&seed) >> 4
                                            : 0);
    round_trip(bytes, len);
}
END_TEST

START_TEST(bytes_of_another_type_are_refused)
{
    PDK_AUTO_JSON struct pdk_json *doc =
            parsed("{\"n\":null,\"i\":1,\"x\":\"t\",\"x_base64\":\"!\",\"y_base64\":1}");
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;

    ck_assert_int_eq(pdk_json_get_bytes(doc, "n", &out, NULL), 0);
    ck_assert_int_eq(pdk_json_get_bytes(doc, "missing", &out, NULL), 0);
    ck_assert_int_eq(pdk_json_get_bytes(doc, "i", &out, NULL), PDK_EINVAL);
    ck_assert_int_eq(pdk_json_get_bytes(doc, "x", &out, NULL), PDK_EINVAL);
    ck_assert_int_eq(pdk_json_get_bytes(doc, "y", &out, NULL), PDK_EINVAL);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

static int collect(const char *key, struct pdk_json *value, void *user)
{
    pdk_buf_addf(user, "%s=%d ", key, (int)pdk_json_int_value(value));
    return pdk_json_int_value(value) == 3 ? 42 : 0;
}

START_TEST(members_are_visited_in_order_until_told)
{
    PDK_AUTO_JSON struct pdk_json *doc = parsed("{\"b\":1,\"a\":2,\"c\":3,\"d\":4}");
    PDK_AUTO_BUF struct pdk_buf seen = PDK_BUF_INIT;

    ck_assert_int_eq(pdk_json_each(doc, collect, &seen), 42);
    ck_assert_str_eq(pdk_buf_str(&seen), "b=1 a=2 c=3 ");
    ck_assert_int_eq(pdk_json_each(NULL, collect, &seen), 0);
}
END_TEST

START_TEST(references_are_counted)
{
    PDK_AUTO_JSON struct pdk_json *doc = pdk_json_object();
    PDK_AUTO_JSON struct pdk_json *value = pdk_json_str("shared");

    ck_assert_int_eq(pdk_json_set(doc, "a", pdk_json_ref(value)), 0);
    ck_assert_int_eq(pdk_json_set(doc, "b", pdk_json_ref(value)), 0);
    expect(doc, PDK_JSON_COMPACT, "{\"a\":\"shared\",\"b\":\"shared\"}");
    PDK_AUTO_JSON struct pdk_json *same = parsed("{\"b\":\"shared\",\"a\":\"shared\"}");
    ck_assert(pdk_json_equal(doc, same)); /* order is no difference */
    ck_assert_int_eq(pdk_json_set_int(same, "a", 1), 0);
    ck_assert(!pdk_json_equal(doc, same));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/json");
    TCase *tc = tcase_create("json");

    tcase_add_test(tc, documents_are_written_in_three_styles);
    tcase_add_test(tc, members_have_types_and_fallbacks);
    tcase_add_test(tc, each_value_tells_its_type);
    tcase_add_test(tc, bad_documents_are_refused_with_their_place);
    tcase_add_test(tc, depth_is_bounded);
    tcase_add_test(tc, the_mark_of_a_failure_cannot_be_sent);
    tcase_add_test(tc, a_failed_part_fails_the_whole);
    tcase_add_loop_test(tc, bytes_make_the_round_trip, 0, 300);
    tcase_add_test(tc, bytes_of_another_type_are_refused);
    tcase_add_test(tc, members_are_visited_in_order_until_told);
    tcase_add_test(tc, references_are_counted);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
