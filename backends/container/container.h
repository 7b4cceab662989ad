/* What the files of the container backend share. */
#ifndef PDK_BACKENDS_CONTAINER_CONTAINER_H
#define PDK_BACKENDS_CONTAINER_CONTAINER_H

#include "backends/backend_impl.h"

struct pdk_tier;

/* The name of the sandbox's container, from its record alone; heap, NULL when out of memory. */
char *pdk_container_name(const struct pdk_sandbox_record *record);
/* Makes all below path (no link followed) the property of the tier's user, where that is another. */
int pdk_tier_give(const struct pdk_tier *tier, const char *path, struct pdk_err *err);

#endif
