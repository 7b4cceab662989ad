/* An open template, for the files that make, copy and sweep them. */
#ifndef PDK_TREES_TEMPLATE_INTERNAL_H
#define PDK_TREES_TEMPLATE_INTERNAL_H

#include "trees/index.h"
#include "trees/template.h"

struct pdk_template {
    struct pdk_oid tree;
    char *path, *root, *index, *git_layer, *lock_path;
    int lock; /* shared, while it is open */
};

#endif
