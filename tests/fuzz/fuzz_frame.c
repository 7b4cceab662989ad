/*
 * Any bytes from the other side: frames are the same however they are cut, and an exec request or
 * result that is taken is taken again from what it is written as.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "sandbox/protocol.h"
#include "tests/fuzz/fuzz.h"

static void check_request(const struct pdk_json *v)
{
    struct pdk_exec_request r = { 0 }, again = { 0 };
    PDK_AUTO_JSON struct pdk_json *first = NULL;
    PDK_AUTO_JSON struct pdk_json *second = NULL;

    if (pdk_exec_request_from_json(v, &r, NULL) < 0)
        return;
    if (pdk_exec_request_to_json(&r, &first, NULL) < 0 ||
            pdk_exec_request_from_json(first, &again, NULL) < 0 ||
            pdk_exec_request_to_json(&again, &second, NULL) < 0 ||
            !pdk_json_equal(first, second))
        abort();
    pdk_exec_request_fini(&r);
    pdk_exec_request_fini(&again);
}

static void check_result(const struct pdk_json *v)
{
    struct pdk_exec_result r, again;
    PDK_AUTO_JSON struct pdk_json *first = NULL;
    PDK_AUTO_JSON struct pdk_json *second = NULL;

    if (pdk_exec_result_from_json(v, &r, NULL) < 0)
        return;
    if (pdk_exec_result_to_json(&r, &first, NULL) < 0 ||
            pdk_exec_result_from_json(first, &again, NULL) < 0 ||
            pdk_exec_result_to_json(&again, &second, NULL) < 0 ||
            !pdk_json_equal(first, second))
        abort();
}

static int on_frame(struct pdk_json *frame, const struct pdk_err *why, void *user)
{
    struct pdk_buf *said = user;

    if ((frame == NULL) != (why != NULL))
        abort();
    pdk_buf_addc(said, frame ? '+' : '-');
    if (frame && pdk_json_write(frame, PDK_JSON_SORTED, said, NULL) < 0)
        abort();
    check_request(pdk_json_get(frame, "params"));
    check_result(pdk_json_get(frame, "result"));
    return 0;
}

static void feed(const char *data, size_t size, size_t piece, struct pdk_buf *said)
{
    struct pdk_framer f = { 0 };

    for (size_t at = 0; at < size; at += piece)
        (void)pdk_framer_feed(
                &f, data + at, size - at < piece ? size - at : piece, on_frame, said);
    pdk_framer_fini(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    PDK_AUTO_BUF struct pdk_buf whole = PDK_BUF_INIT, cut = PDK_BUF_INIT;

    feed((const char *)data, size, size ? size : 1, &whole);
    feed((const char *)data, size, 1 + (size ? (size_t)data[0] : 0) % 7, &cut);
    if (whole.len != cut.len || strcmp(pdk_buf_str(&whole), pdk_buf_str(&cut)) != 0)
        abort();
    return 0;
}
