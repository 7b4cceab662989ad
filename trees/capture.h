/*
 * From a working copy to a tree in the vault. Trusts nothing in the working copy: the index,
 * the configuration and the object store are ours, the copy's .git is never read, links are never
 * followed, special files never opened.
 */
#ifndef PDK_TREES_CAPTURE_H
#define PDK_TREES_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "trees/oid.h"

struct pdk_err;
struct pdk_vault;
struct pdk_repo;

struct pdk_capture_spec {
    const struct pdk_repo
            *repo;     /* ignore rules beyond the tree's own, end-of-line settings */
    int root_fd;       /* O_PATH or O_RDONLY handle of the copy's top */
    const char *upper; /* of an overlay: the directory of its upper layer; NULL: none */
    const char *index; /* our index (pdk_checkout); read, brought up to date, replaced */
    int64_t max_file;  /* bytes of one file; 0: 2 GiB. More: PDK_EINVAL names it */
};

enum pdk_capture_warning_kind {
    PDK_CAPTURE_NESTED_REPO, /* its files are in, its .git is not */
    PDK_CAPTURE_UNREADABLE,  /* a file that could not be read: its base version stays */
    PDK_CAPTURE_SPECIAL,     /* a FIFO, socket, device: not in the tree */
    PDK_CAPTURE_DOTGIT,      /* a path that spells .git: not in the tree */
    PDK_CAPTURE_EMPTY_DIR,   /* git cannot say it */
    PDK_CAPTURE_MODE         /* set-id, sticky bits that git cannot say */
};

struct pdk_capture {
    struct pdk_oid tree;
    struct pdk_strv warnings; /* one line of printable text each, bounded in number */
    uint64_t
            ignored_files; /* new files that ignore rules kept out, as far as they were met */
};

void pdk_capture_fini(struct pdk_capture *capture);
#define PDK_AUTO_CAPTURE __attribute__((cleanup(pdk_capture_fini)))

/*
 * What `git add -A` would see, files of nested repositories included; filters of the copy never run.
 * PDK_ENOTFOUND when the root has gone.
 */
int pdk_capture_tree(struct pdk_vault *vault, const struct pdk_capture_spec *spec,
        struct pdk_capture *out, struct pdk_err *err);

/*
 * The same walk without writing a blob: paths that differ from the index, for dirt lists.
 * status: 'M' changed, 'D' deleted, '?' untracked, 'T' type changed.
 */
struct pdk_dirt_entry {
    char status;
    char *path;
};

struct pdk_dirt {
    struct pdk_dirt_entry *entries; /* sorted by path bytes */
    size_t len;
    uint64_t
            ignored_files; /* new files that ignore rules keep out, as far as they were met */
};

void pdk_dirt_fini(struct pdk_dirt *dirt);
#define PDK_AUTO_DIRT __attribute__((cleanup(pdk_dirt_fini)))
int pdk_capture_dirt(struct pdk_vault *vault, const struct pdk_capture_spec *spec,
        struct pdk_dirt *out, struct pdk_err *err);

#endif
