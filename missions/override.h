/* Values from flags, put into the tree of nodes before the key table reads it. */
#ifndef PDK_MISSIONS_OVERRIDE_H
#define PDK_MISSIONS_OVERRIDE_H

#include <stddef.h>

#include "missions/compose.h"

struct pdk_diags;
struct pdk_err;
struct pdk_mission_source;

/* The texts that nodes of flags point into; outlives the plan's making. */
struct pdk_overrides {
    struct pdk_source *sources;
    char **texts;
    size_t len;
};

#define PDK_OVERRIDES_INIT                                                               \
    {                                                                                    \
        NULL, NULL, 0                                                                    \
    }

void pdk_overrides_fini(struct pdk_overrides *overrides);
#define PDK_AUTO_OVERRIDES __attribute__((cleanup(pdk_overrides_fini)))

/*
 * In order, each over the file and over those before. In a fleet, a key that only tasks have goes
 * into every task. Faults are diagnostics placed at the flag; PDK_ENOMEM.
 */
int pdk_overrides_apply(struct pdk_overrides *overrides, struct pdk_doc *doc,
        struct pdk_node *root, const struct pdk_mission_source *source,
        struct pdk_diags *diags, struct pdk_err *err);

#endif
