#include "base/base64.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void pdk_base64_encode(const void *data, size_t len, struct pdk_buf *out)
{
    const unsigned char *s = data;

    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t v = (uint32_t)s[i] << 16;
        char quad[4] = { '=', '=', '=', '=' };

        v |= left > 1 ? (uint32_t)s[i + 1] << 8 : 0;
        v |= left > 2 ? s[i + 2] : 0;
        quad[0] = alphabet[v >> 18];
        quad[1] = alphabet[(v >> 12) & 63];
        if (left > 1)
            quad[2] = alphabet[(v >> 6) & 63];
        if (left > 2)
            quad[3] = alphabet[v & 63];
        pdk_buf_add(out, quad, sizeof(quad));
    }
}

static int digit(char c)
{
    const char *at = c ? strchr(alphabet, c) : NULL;

    return at ? (int)(at - alphabet) : -1;
}

/* Decodes one quad with `pad` padding characters; false where it is not canonical. */
static int decode_quad(const char *quad, size_t pad, struct pdk_buf *out)
{
    uint32_t v = 0;
    char bytes[3];

    for (size_t i = 0; i < 4; i++) {
        int d = i >= 4 - pad ? 0 : digit(quad[i]);

        if (d < 0)
            return -1;
        v = (v << 6) | (uint32_t)d;
    }
    if ((pad == 1 && (v & 0xff) != 0) || (pad == 2 && (v & 0xffff) != 0))
        return -1;
    bytes[0] = (char)(v >> 16);
    bytes[1] = (char)(v >> 8);
    bytes[2] = (char)v;
    pdk_buf_add(out, bytes, 3 - pad);
    return 0;
}

static size_t padding(const char *text, size_t len)
{
    if (len == 0 || text[len - 1] != '=')
        return 0;
    return text[len - 2] == '=' ? 2 : 1;
}

int pdk_base64_decode(
        const char *text, size_t len, struct pdk_buf *out, struct pdk_err *err)
{
    if (len % 4 != 0)
        return pdk_fail(err, PDK_EINVAL, 0,
                "base64 text of %zu characters, not a multiple of 4", len);
    for (size_t i = 0; i < len; i += 4) {
        size_t pad = i + 4 == len ? padding(text, len) : 0;

        if (decode_quad(text + i, pad, out) < 0)
            return pdk_fail(err, PDK_EINVAL, 0, "bad base64 at character %zu", i);
    }
    return pdk_buf_ok(out, err);
}
