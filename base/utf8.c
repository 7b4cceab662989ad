#include "base/utf8.h"

#include "base/str.h"

struct lead {
    unsigned char mask, value;
    size_t len;
    uint32_t min; /* the smallest code point that needs this length */
};

static const struct lead leads[] = {
    { 0x80, 0x00, 1, 0 },
    { 0xe0, 0xc0, 2, 0x80 },
    { 0xf0, 0xe0, 3, 0x800 },
    { 0xf8, 0xf0, 4, 0x10000 },
};

static const struct lead *find_lead(unsigned char c)
{
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++)
        if ((c & leads[i].mask) == leads[i].value)
            return &leads[i];
    return NULL;
}

size_t pdk_utf8_seq(const char *text, size_t len, uint32_t *codepoint)
{
    const unsigned char *s = (const unsigned char *)text;
    const struct lead *lead = len > 0 ? find_lead(s[0]) : NULL;
    uint32_t cp;

    if (!lead || lead->len > len)
        return 0;
    cp = s[0] & (unsigned char)~lead->mask;
    for (size_t i = 1; i < lead->len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        cp = (cp << 6) | (s[i] & 0x3fU);
    }
    if (cp < lead->min || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        return 0;
    if (codepoint)
        *codepoint = cp;
    return lead->len;
}

bool pdk_utf8_valid(const char *text, size_t len)
{
    while (len > 0) {
        size_t n = pdk_utf8_seq(text, len, NULL);

        if (n == 0)
            return false;
        text += n;
        len -= n;
    }
    return true;
}

void pdk_utf8_clean(const char *text, size_t len, struct pdk_buf *out)
{
    while (len > 0) {
        size_t n = pdk_utf8_seq(text, len, NULL);

        if (n > 0)
            pdk_buf_add(out, text, n);
        else
            pdk_buf_adds(out, "\xef\xbf\xbd");
        n = n > 0 ? n : 1;
        text += n;
        len -= n;
    }
}

static void add_escaped(const char *text, size_t n, struct pdk_buf *out)
{
    if (text[0] == '\n')
        pdk_buf_adds(out, "\\n");
    else if (text[0] == '\t')
        pdk_buf_adds(out, "\\t");
    else
        for (size_t i = 0; i < n; i++)
            pdk_buf_addf(out, "\\x%02x", (unsigned char)text[i]);
}

void pdk_utf8_printable(const char *text, size_t len, struct pdk_buf *out)
{
    while (len > 0) {
        uint32_t cp = 0;
        size_t n = pdk_utf8_seq(text, len, &cp);
        bool control = n == 0 || cp < 0x20 || (cp >= 0x7f && cp < 0xa0) ||
                (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);

        n = n > 0 ? n : 1;
        if (control)
            add_escaped(text, n, out);
        else
            pdk_buf_add(out, text, n);
        text += n;
        len -= n;
    }
}
