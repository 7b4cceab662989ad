/* Names of git objects: 40 hex digits, as a plain value. */
#ifndef PDK_TREES_OID_H
#define PDK_TREES_OID_H

#include <stdbool.h>

struct pdk_oid {
    char hex[41]; /* "" for none */
};

/* The empty tree. */
#define PDK_EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

bool pdk_oid_equal(const struct pdk_oid *a, const struct pdk_oid *b);
bool pdk_oid_parse(
        const char *hex, struct pdk_oid *out); /* exactly 40 lower-case hex digits */

#endif
