/*
 * An index file in git's format (version 2), as checkout writes it and capture reads it: paths with
 * object ids and the stat data that they were written with. One extension of ours ("PDKT", optional
 * by its upper-case letter, so git skips it) names the tree that the entries make up.
 */
#ifndef PDK_TREES_INDEX_H
#define PDK_TREES_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "trees/oid.h"

struct pdk_err;

/* The stat fields that git compares, cut to 32 bits as git does. */
struct pdk_stat_data {
    uint32_t ctime_s, ctime_ns, mtime_s, mtime_ns, dev, ino, uid, gid, size;
};

struct pdk_index_entry {
    char *path;
    uint32_t mode;
    struct pdk_oid oid;
    struct pdk_stat_data stat; /* all 0: unknown */
    bool upper; /* of an overlay: it was seen in the upper layer (kept in our indexes only) */
    bool borrowed; /* path belongs to somebody else */
};

struct pdk_index {
    struct pdk_index_entry *entries; /* sorted by path bytes */
    size_t len, cap;
    char *bytes; /* of the file that was read: its paths point into it */
    size_t bytes_len;
    bool has_attributes; /* there is a .gitattributes among the entries that were read */
    struct pdk_oid tree;
    struct timespec written; /* when the file that was read was last changed */
};

void pdk_index_fini(struct pdk_index *index);
#define PDK_AUTO_INDEX __attribute__((cleanup(pdk_index_fini)))

void pdk_stat_data_of(const struct stat *st, struct pdk_stat_data *out);
/* Adds at the end, in path order. path is copied. */
int pdk_index_add(struct pdk_index *index, const char *path, uint32_t mode,
        const struct pdk_oid *oid, struct pdk_err *err);
/* Adds old's like at the end, in path order. Its path is borrowed. */
int pdk_index_keep(
        struct pdk_index *index, const struct pdk_index_entry *old, struct pdk_err *err);
/* The entry of the path, or NULL. */
struct pdk_index_entry *pdk_index_find(const struct pdk_index *index, const char *path);
/* The entries below the directory ("": all), n of them; they stand together. */
struct pdk_index_entry *pdk_index_below(
        const struct pdk_index *index, const char *dir, size_t *n);
/* Is there an entry below the directory? */
bool pdk_index_has_below(const struct pdk_index *index, const char *dir);

/* The entries below one directory, for walks that go from one to the next. */
struct pdk_index_range {
    size_t first, end;
    size_t skip; /* bytes of each path that are the directory's */
};

/* Of the whole index. */
struct pdk_index_range pdk_index_all(const struct pdk_index *index);
/* Of the directory `name` of the range's: empty where there is none. */
struct pdk_index_range pdk_index_range_below(const struct pdk_index *index,
        const struct pdk_index_range *range, const char *name);
/* The entry `name` of the range's directory itself, or NULL. */
struct pdk_index_entry *pdk_index_find_in(const struct pdk_index *index,
        const struct pdk_index_range *range, const char *name);
/*
 * The entry's file is as it was: same stat data, and not changed in the very moment in which the
 * index was written (git's "racily clean").
 */
bool pdk_index_is_clean(const struct pdk_index *index,
        const struct pdk_index_entry *entry, const struct stat *st);

/* PDK_ECORRUPT for what is no index of this kind. */
int pdk_index_read(const char *path, struct pdk_index *out, struct pdk_err *err);
/* Atomic. The second writes one for git: without what only we put in. */
int pdk_index_write(const char *path, const struct pdk_index *index, struct pdk_err *err);
int pdk_index_write_git(
        const char *path, const struct pdk_index *index, struct pdk_err *err);

#endif
