/* UTF-8: validity, cleaning, and making untrusted text fit for a terminal. */
#ifndef PDK_BASE_UTF8_H
#define PDK_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdk_buf;

/* Well-formed by RFC 3629: no surrogates, no overlong forms, at most U+10FFFF. */
bool pdk_utf8_valid(const char *text, size_t len);
/* Length of the well-formed sequence at text (len > 0 bytes left); 0 where there is none. */
size_t pdk_utf8_seq(const char *text, size_t len, uint32_t *codepoint);
/* Appends text with each byte that is part of no well-formed sequence as U+FFFD. */
void pdk_utf8_clean(const char *text, size_t len, struct pdk_buf *out);
/* Appends text as printable: C0, DEL, C1 controls and bad bytes as \xNN, newline as \n, tab as \t. */
void pdk_utf8_printable(const char *text, size_t len, struct pdk_buf *out);

#endif
