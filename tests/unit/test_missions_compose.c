/* The composer: places, and that hostile text costs little. Cost is counted, not timed. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "missions/compose.h"
#include "missions/mission.h"
#include "tests/support/fixture.h"

static int compose(
        const char *text, size_t len, struct pdk_doc *doc, struct pdk_diags *diags)
{
    struct pdk_source source = { "f", text, len, 0, false };
    struct pdk_err err = PDK_ERR_INIT;

    return pdk_yaml_compose(doc, &source, diags, &err);
}

/* Refused with that message, after at most so much work. */
static void refused(const struct pdk_buf *text, const char *message, size_t events)
{
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_DOC struct pdk_doc doc = PDK_DOC_INIT;

    ck_assert_int_eq(compose(pdk_buf_str(text), text->len, &doc, &diags), PDK_EINVAL);
    ck_assert_uint_eq(diags.len, 1);
    ck_assert_str_eq(diags.items[0].message, message);
    ck_assert_uint_le(doc.work.events, events);
    ck_assert_uint_le(doc.work.bytes, (size_t)64 << 20);
    if (events < 1000)
        ck_assert_uint_le(doc.work.bytes, (size_t)256 << 10);
}

static void repeat(struct pdk_buf *text, const char *piece, size_t times)
{
    for (size_t i = 0; i < times; i++)
        pdk_buf_adds(text, piece);
}

START_TEST(nodes_know_their_places)
{
    static const char text[] = "a: 1\n\"ü\": [x, 'y']\n";
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_DOC struct pdk_doc doc = PDK_DOC_INIT;

    ck_assert_int_eq(compose(text, strlen(text), &doc, &diags), 0);
    const struct pdk_node *list = pdk_node_get(doc.root, "ü");
    ck_assert_int_eq(doc.root->keys[1]->pos.line, 2);
    ck_assert_int_eq(doc.root->keys[1]->pos.col, 1);
    ck_assert_int_eq(list->pos.col, 6);
    ck_assert_int_eq(list->items[1]->pos.col, 10);
    ck_assert(list->items[0]->plain);
    ck_assert(!list->items[1]->plain);
}
END_TEST

START_TEST(a_million_brackets_stop_at_the_depth_cap)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf maps = PDK_BUF_INIT;

    repeat(&text, "[", 400000);
    refused(&text, "nested more than 64 deep", 70);
    repeat(&maps, "{a: ", 100000);
    refused(&maps, "nested more than 64 deep", 200);
}
END_TEST

START_TEST(aliases_may_not_multiply)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    pdk_buf_adds(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        pdk_buf_addf(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 9; j++)
            pdk_buf_addf(&text, "*a%d,", i - 1);
        pdk_buf_adds(&text, "]\n");
    }
    refused(&text, "aliases stand for more than 10000 values", 200);
}
END_TEST

START_TEST(aliases_may_not_deepen)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    pdk_buf_adds(&text, "a0: &a0 [x]\n");
    for (int i = 1; i < 80; i++)
        pdk_buf_addf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    refused(&text, "nested more than 64 deep", 400);
}
END_TEST

START_TEST(values_and_anchors_are_counted)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf anchors = PDK_BUF_INIT;

    pdk_buf_addc(&text, '[');
    repeat(&text, "a,", 300000);
    pdk_buf_addc(&text, ']');
    refused(&text, "more than 200000 values", 200010);
    for (int i = 0; i < 20000; i++)
        pdk_buf_addf(&anchors, "- &a%d x\n", i);
    refused(&anchors, "more than 1000 anchors", 1010);
}
END_TEST

START_TEST(a_large_file_is_refused_before_it_is_read)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    pdk_buf_adds(&text, "a: ");
    char *room = pdk_buf_room(&text, (size_t)50 << 20);
    ck_assert_ptr_nonnull(room);
    memset(room, 'x', (size_t)50 << 20);
    text.len += (size_t)50 << 20;
    refused(&text, "the file is larger than 1 MiB", 0);
}
END_TEST

START_TEST(many_keys_are_compared_in_good_time)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_DOC struct pdk_doc doc = PDK_DOC_INIT;

    for (int i = 0; i < 60000; i++)
        pdk_buf_addf(&text, "k%d: v\n", i);
    pdk_buf_adds(&text, "k17: w\n");
    ck_assert_int_eq(compose(pdk_buf_str(&text), text.len, &doc, &diags), 0);
    ck_assert_uint_eq(diags.errors, 1);
    ck_assert_str_eq(diags.items[0].message, "duplicate key 'k17', first at 18:1");
    ck_assert_int_eq(diags.items[0].line, 60001);
    ck_assert_str_eq(pdk_node_get(doc.root, "k17")->text, "v");
}
END_TEST

START_TEST(complaints_are_bounded)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf said = PDK_BUF_INIT;
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_DOC struct pdk_doc doc = PDK_DOC_INIT;

    repeat(&text, "k: v\n", 1000);
    ck_assert_int_eq(compose(pdk_buf_str(&text), text.len, &doc, &diags), 0);
    ck_assert_uint_eq(diags.len, PDK_DIAGS_MAX);
    ck_assert_uint_eq(diags.errors, 999);
    pdk_diags_print(&diags, &said);
    ck_assert(pdk_ends_with(pdk_buf_str(&said), "... and 799 more\n"));
}
END_TEST

START_TEST(a_long_line_is_shown_around_the_fault)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_DIAGS struct pdk_diags diags = PDK_DIAGS_INIT;
    PDK_AUTO_DOC struct pdk_doc doc = PDK_DOC_INIT;

    pdk_buf_addc(&text, '{');
    repeat(&text, "x, ", 500);
    pdk_buf_adds(&text, "}");
    ck_assert_int_eq(compose(pdk_buf_str(&text), text.len, &doc, &diags), 0);
    const struct pdk_diag *last = &diags.items[diags.len - 1];
    ck_assert_uint_le(strlen(last->excerpt), 110);
    ck_assert_int_eq(last->excerpt[last->caret - 1], 'x');
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("missions_compose");
    TCase *tcase = tcase_create("compose");

    tcase_add_test(tcase, nodes_know_their_places);
    tcase_add_test(tcase, a_million_brackets_stop_at_the_depth_cap);
    tcase_add_test(tcase, aliases_may_not_multiply);
    tcase_add_test(tcase, aliases_may_not_deepen);
    tcase_add_test(tcase, values_and_anchors_are_counted);
    tcase_add_test(tcase, a_large_file_is_refused_before_it_is_read);
    tcase_add_test(tcase, many_keys_are_compared_in_good_time);
    tcase_add_test(tcase, complaints_are_bounded);
    tcase_add_test(tcase, a_long_line_is_shown_around_the_fault);
    suite_add_tcase(suite, tcase);
    return pdk_test_main(suite);
}
