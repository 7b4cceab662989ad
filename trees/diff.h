/* What differs between two trees: paths, counts, patches. No renames: a rename is two paths. */
#ifndef PDK_TREES_DIFF_H
#define PDK_TREES_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "trees/oid.h"

struct pdk_err;
struct pdk_vault;
struct pdk_buf;
struct pdk_strv;

struct pdk_change {
    char *path;        /* raw bytes, NUL-terminated, relative to the top */
    char status;       /* 'A', 'M', 'D', 'T' (type changed) */
    uint32_t old_mode; /* 0100644, 0100755, 0120000, 0160000; 0 where absent */
    uint32_t new_mode;
    struct pdk_oid old_oid, new_oid;
    int64_t added, deleted; /* lines; 0 for binary */
    bool binary;
};

struct pdk_diff {
    struct pdk_change *changes; /* sorted by path bytes */
    size_t len;
    int64_t added, deleted; /* sums */
};

void pdk_diff_fini(struct pdk_diff *diff);
#define PDK_AUTO_DIFF __attribute__((cleanup(pdk_diff_fini)))

enum pdk_diff_flags { PDK_DIFF_LINES = 1U << 0 /* count lines: reads blobs */ };

int pdk_diff_trees(struct pdk_vault *vault, const struct pdk_oid *from,
        const struct pdk_oid *to, unsigned int flags, struct pdk_diff *out,
        struct pdk_err *err);
/* Appends a patch that `git apply` takes: --binary --full-index --no-renames, exact bytes. */
int pdk_diff_patch(struct pdk_vault *vault, const struct pdk_oid *from,
        const struct pdk_oid *to, struct pdk_buf *out, struct pdk_err *err);

enum pdk_diff_side { PDK_DIFF_OLD, PDK_DIFF_NEW };
/* The tree `onto` with one side of each change put in. */
int pdk_diff_apply(struct pdk_vault *vault, const struct pdk_diff *diff,
        enum pdk_diff_side side, const struct pdk_oid *onto, struct pdk_oid *out,
        struct pdk_err *err);

/*
 * The tree `onto` with the changes between from and to put in, path by path (what to has at a
 * changed path replaces what onto has there).
 */
int pdk_diff_transplant(struct pdk_vault *vault, const struct pdk_oid *from,
        const struct pdk_oid *to, const struct pdk_oid *onto, struct pdk_oid *out,
        struct pdk_err *err);

/*
 * The tree `to` of a diff with some of its changes taken back: each path is as the diff's other side
 * has it. Paths that the diff does not have are left as they are.
 */
int pdk_diff_take_back(struct pdk_vault *vault, const struct pdk_diff *diff,
        const struct pdk_strv *paths, const struct pdk_oid *to, struct pdk_oid *out,
        struct pdk_err *err);

#endif
