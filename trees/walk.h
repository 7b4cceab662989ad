/*
 * One walk over a working copy against our index: what changed, what is new, what is gone. Trusts
 * nothing it meets: no link followed, no special file opened, the copy's .git never read. Holds one
 * descriptor at a time, whatever the depth.
 */
#ifndef PDK_TREES_WALK_H
#define PDK_TREES_WALK_H

#include <sys/stat.h>

#include "trees/capture.h"
#include "trees/index.h"

struct pdk_err;

enum pdk_walk_event {
    PDK_WALK_SAME,  /* entry as it was, by its stat data */
    PDK_WALK_CHECK, /* entry whose content must be looked at */
    PDK_WALK_GONE,  /* path and all below are not there, but for what is told later */
    PDK_WALK_NEW,   /* path without an entry */
    PDK_WALK_WARN   /* kind tells what */
};

struct pdk_walk_item {
    enum pdk_walk_event event;
    const char *path;
    const struct stat *st;               /* NULL for some warnings */
    const struct pdk_index_entry *entry; /* NULL: none */
    enum pdk_capture_warning_kind kind;
};

struct pdk_walk_spec {
    const struct pdk_repo *repo;
    int root_fd;
    int upper_fd; /* of an overlay: only what its upper layer has is told; -1: none */
    const struct pdk_index *index;
    int (*visit)(const struct pdk_walk_item *item, void *user, struct pdk_err *err);
    void *user;
    uint64_t ignored_files; /* filled: new files that ignore rules kept out */
};

/* PDK_ENOTFOUND when the root has gone. */
int pdk_walk(struct pdk_walk_spec *spec, struct pdk_err *err);

#endif
