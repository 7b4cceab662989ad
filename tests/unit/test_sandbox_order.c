/* The order of a conversation, held by the real agent. */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "sandbox/protocol.h"
#include "tests/support/fixture.h"
#include "tests/support/peer.h"

static struct pdk_json *greeting(void)
{
    struct pdk_json *params = pdk_json_object();

    (void)pdk_json_set_int(params, "protocol", PDK_PROTOCOL_VERSION);
    return params;
}

START_TEST(a_second_initialize_is_refused_and_the_conversation_goes_on)
{
    struct pdk_peer p;
    struct pdk_json *descriptor;

    pdk_peer_open(&p, _i);
    pdk_peer_refused(&p, "initialize", greeting(), "bad_frame");
    descriptor = pdk_peer_ask(&p, "descriptor", NULL);
    ck_assert_int_eq(pdk_json_get_int(descriptor, "protocol", 0), PDK_PROTOCOL_VERSION);
    pdk_json_free(descriptor);
    pdk_peer_close(&p);
}
END_TEST

/* What the document calls offered is what the descriptor offers, and the rest is not built. */
START_TEST(the_descriptor_and_the_document_offer_the_same_verbs)
{
    char *document = pdk_test_read(PDK_TEST_DATA_DIR "/../../docs/protocol.md", NULL);
    struct pdk_json *descriptor, *verbs;
    struct pdk_peer p;

    pdk_peer_open(&p, _i);
    descriptor = pdk_peer_ask(&p, "descriptor", NULL);
    verbs = pdk_json_get(descriptor, "verbs");
    for (int verb = 0; verb < PDK_VERB_COUNT; verb++) {
        const char *name = pdk_verb_name((enum pdk_verb)verb);
        bool offered = false;
        char row[64];

        for (size_t i = 0; i < pdk_json_len(verbs); i++)
            offered = offered ||
                    strcmp(pdk_json_text(pdk_json_at(verbs, i), NULL), name) == 0;
        if (!offered)
            pdk_peer_refused(&p, name, NULL, "not_built");
        (void)snprintf(row, sizeof(row), "\n| `%s` | %s |", name,
                offered ? "offered" : "not built");
        ck_assert_msg(strstr(document, row) != NULL, "docs/protocol.md lacks:%s", row);
    }
    pdk_json_free(descriptor);
    free(document);
    pdk_peer_close(&p);
}
END_TEST

static Suite *order_suite(void)
{
    Suite *suite = suite_create("sandbox_order");
    TCase *tc = tcase_create("order");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_teardown);
    tcase_add_loop_test(tc, a_second_initialize_is_refused_and_the_conversation_goes_on,
            0, pdk_peer_ways());
    tcase_add_loop_test(
            tc, the_descriptor_and_the_document_offer_the_same_verbs, 0, pdk_peer_ways());
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return pdk_test_main(order_suite());
}
