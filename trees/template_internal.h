/* An open template, for the files that make, copy and sweep them. */
#ifndef PDK_TREES_TEMPLATE_INTERNAL_H
#define PDK_TREES_TEMPLATE_INTERNAL_H

#include "trees/index.h"
#include "trees/template.h"

struct pdk_template {
    struct pdk_oid tree;
    char *path, *root, *index, *lock_path;
    int lock; /* shared, while it is open */
};

/* Is fd the file that has this name now? A lock on one that was taken away locks nothing. */
bool pdk_template_lock_holds(const char *path, int fd);

/* Are its layers what their names say, and is there nothing else beside its files and its index? */
bool pdk_template_layers_sound(const struct pdk_template *t);

#endif
