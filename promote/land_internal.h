/* What the files of landing share. One struct landing lives for one pdk_land_worktree(). */
#ifndef PDK_PROMOTE_LAND_INTERNAL_H
#define PDK_PROMOTE_LAND_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "trees/diff.h"

struct pdk_err;
struct pdk_land_result;
struct pdk_land_spec;
struct pdk_repo;

/* One changed path. Its file in the stage is named by its position in the diff. */
struct pdk_land_item {
    const struct pdk_change *change;
    mode_t keep;      /* permission bits of the file that it replaces; 0: as umask says */
    bool done;        /* nothing to do: the user has it already */
    bool merged;      /* with what the user has changed there */
    struct stat made; /* our new file, to know it again */
    bool staged; /* the stage has a file of this item: a new one, or one that it replaced */
};

enum pdk_land_deed {
    PDK_LAND_ADDED,
    PDK_LAND_SWAPPED,
    PDK_LAND_TAKEN,
    PDK_LAND_MADE_DIR,
    PDK_LAND_REMOVED_DIR
};

/* What was done to the working tree, to be undone in reverse. */
struct pdk_land_step {
    enum pdk_land_deed deed;
    struct pdk_land_item *item; /* of a file */
    char *dir;                  /* of a directory; owned */
    mode_t mode;
};

struct pdk_landing {
    const struct pdk_land_spec *spec;
    struct pdk_land_result *out;
    struct pdk_diff diff;        /* from what the user has to what is to be there */
    struct pdk_land_item *items; /* diff.len */
    int root_fd;
    bool converts_all;   /* pdk_land_converts_all(), asked once */
    char stage_name[48]; /* a directory at the top of the working tree; "": none yet */
    int stage_fd;
    struct pdk_land_step *steps;
    size_t n_steps, cap_steps;
    bool stranded; /* the stage holds something that could not go back */
};

/* ---- land.c */

/* Once l->diff is known: an item for each change, and the working tree opened. */
int pdk_land_open(struct pdk_landing *l, struct pdk_err *err);

/* ---- land_look.c: what is there */

/* The directory of path, opened beneath the root and through no link. -1 and errno. */
int pdk_land_open_parent(const struct pdk_landing *l, const char *path);
/* The directory at path itself, "" for the root, with flags of open(). -1 and errno. */
int pdk_land_open_dir(const struct pdk_landing *l, const char *path, int flags);

/*
 * Is the old side of the change what `name` in dir_fd holds? *why is NULL if so, else static text. shown
 * is the file's path below the root, for git to read.
 */
int pdk_land_compare(const struct pdk_landing *l, const struct pdk_change *change,
        int dir_fd, const char *name, const char *shown, const char **why,
        struct pdk_err *err);
/* The same for the path in the working tree; *bits: the permission bits of the file there. */
int pdk_land_look(const struct pdk_landing *l, const struct pdk_change *change,
        mode_t *bits, const char **why, struct pdk_err *err);
/* Has the change something at a path below dir, on its new side? */
bool pdk_land_wants_dir(const struct pdk_landing *l, const char *dir);
/* May git convert bytes of any path, by configuration rather than by a .gitattributes? */
bool pdk_land_converts_all(const struct pdk_repo *repo);
/* May git convert the bytes of this path between a blob and a file? */
bool pdk_land_converts(const struct pdk_landing *l, const char *path);

/* ---- land_merge.c: what shall become of it */

/*
 * Looks at a path, and turns change into what is to be done there: from what the user has to what both
 * sides together come to. *why is NULL, or why that cannot be.
 */
int pdk_land_resolve(const struct pdk_landing *l, struct pdk_land_item *item,
        struct pdk_change *change, const char **why, struct pdk_err *err);

/* ---- land_stage.c: the new files, before they are put in place */

/* The name of an item's file in the stage. */
struct pdk_land_name {
    char text[24];
};
struct pdk_land_name pdk_land_name(
        const struct pdk_landing *l, const struct pdk_land_item *item);
int pdk_land_stage(struct pdk_landing *l, struct pdk_err *err);
/* Its name, by the promotion's id or at random. */
int pdk_land_name_stage(struct pdk_landing *l, struct pdk_err *err);
/* Removes the stage and what is in it, unless something is stranded there. */
void pdk_land_unstage(struct pdk_landing *l);

/* ---- land_journal.c: what a landing under way is told by */

/* A directory that the landing may make or remove: how it was before. */
struct pdk_land_dir {
    char *path;
    mode_t mode; /* 0: it was not there */
};

struct pdk_land_journal {
    char id[33];
    char stage[48];
    struct pdk_oid before, after; /* trees that differ in what is landed */
    struct pdk_land_dir *dirs;    /* parents before what is in them */
    size_t n_dirs;
};

void pdk_land_journal_fini(struct pdk_land_journal *journal);
/* Keeps both sides in the vault and writes the journal, durably: before the working tree is touched. */
int pdk_land_journal_write(struct pdk_landing *l, struct pdk_err *err);
/* PDK_ENOTFOUND where there is none. */
int pdk_land_journal_read(
        const char *path, struct pdk_land_journal *out, struct pdk_err *err);
int pdk_land_journal_drop(const char *path, struct pdk_err *err);

/* ---- land_place.c: putting them in place, and back */

/* A conflict met here is added to the result. On failure the caller undoes. */
int pdk_land_place(struct pdk_landing *l, struct pdk_err *err);
void pdk_land_undo(struct pdk_landing *l);
/* Everything that the landing touches, durably: the directories, that is. */
int pdk_land_sync(const struct pdk_landing *l, struct pdk_err *err);

/* ---- land.c */

void pdk_land_fini(struct pdk_landing *l); /* what it holds, not what it did */

/* PDK_ECONFLICT with a few of the paths in the message. */
int pdk_land_refuse(const struct pdk_land_result *out, struct pdk_err *err);

#endif
