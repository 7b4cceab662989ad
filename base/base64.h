/* Base64 by RFC 4648 section 4: standard alphabet, padding required, no line breaks. */
#ifndef PDK_BASE_BASE64_H
#define PDK_BASE_BASE64_H

#include <stddef.h>

struct pdk_buf;
struct pdk_err;

void pdk_base64_encode(const void *data, size_t len, struct pdk_buf *out);
/* Appends the bytes; PDK_EINVAL for anything but the canonical form. */
int pdk_base64_decode(
        const char *text, size_t len, struct pdk_buf *out, struct pdk_err *err);

#endif
