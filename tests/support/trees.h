/* A repository, a vault, and a checkout of a tree with its index: what capture and checkout are tested on. */
#ifndef PDK_TESTS_SUPPORT_TREES_H
#define PDK_TESTS_SUPPORT_TREES_H

#include "trees/oid.h"

struct pdk_capture;
struct pdk_dirt;
struct pdk_err;
struct pdk_repo;
struct pdk_vault;

struct pdk_test_trees {
    char *path; /* "<dir>/repo": the user's repository */
    char *copy; /* "<dir>/copy": a checkout of HEAD */
    char *index, *vault_path;
    struct pdk_repo *repo;
    struct pdk_vault *vault;
    struct pdk_oid tree; /* what was checked out */
    int root_fd;         /* of copy; -1 before the checkout */
};

/* Runs `setup` (shell) in a new repository, commits everything and opens it and a vault. */
void pdk_test_trees_open(struct pdk_test_trees *t, const char *setup);
void pdk_test_trees_close(struct pdk_test_trees *t);
/* Checks HEAD out into copy and waits until its files are older than the clock's tick. */
void pdk_test_trees_checkout(struct pdk_test_trees *t);
/* Checks any tree out into copy; what pdk_checkout() says. */
int pdk_test_trees_try(
        struct pdk_test_trees *t, const struct pdk_oid *tree, struct pdk_err *err);
/* The tree of the copy; the capture may be NULL. */
struct pdk_oid pdk_test_trees_capture(
        struct pdk_test_trees *t, struct pdk_capture *capture);
/* "M path\n" for each dirty path; owned by the caller. */
char *pdk_test_trees_dirt(struct pdk_test_trees *t);
/* The tree that git makes of the copy with an index of its own that begins at the checkout's tree. */
struct pdk_oid pdk_test_trees_git(struct pdk_test_trees *t);
/* `git ls-tree -r` of a tree in the vault; owned by the caller. */
char *pdk_test_trees_list(const struct pdk_test_trees *t, const struct pdk_oid *tree);

#endif
