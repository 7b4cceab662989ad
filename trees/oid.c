#include "trees/oid.h"

#include <string.h>

bool pdk_oid_equal(const struct pdk_oid *a, const struct pdk_oid *b)
{
    return strcmp(a->hex, b->hex) == 0;
}

bool pdk_oid_parse(const char *hex, struct pdk_oid *out)
{
    if (strlen(hex) != 40 || strspn(hex, "0123456789abcdef") != 40)
        return false;
    memcpy(out->hex, hex, 41);
    return true;
}
