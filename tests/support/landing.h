/* A repository, a vault, and two trees made by plain git: what landing is tested on. */
#ifndef PDK_TESTS_SUPPORT_LANDING_H
#define PDK_TESTS_SUPPORT_LANDING_H

#include "promote/land.h"

struct pdk_err;
struct pdk_repo;
struct pdk_vault;

struct pdk_test_landing {
    char *path; /* the user's repository */
    char *other, *vault_path;
    struct pdk_repo *repo;
    struct pdk_vault *vault;
    struct pdk_oid from, to;
};

/*
 * Runs `before` (shell) in a new repository and commits all of it; runs `change` in a copy and makes a
 * tree of that, whose objects are in the vault alone.
 */
void pdk_test_landing_open(
        struct pdk_test_landing *t, const char *before, const char *change);
void pdk_test_landing_close(struct pdk_test_landing *t);
int pdk_test_landing_do(struct pdk_test_landing *t, bool dry_run,
        struct pdk_land_result *out, struct pdk_err *err);
/* The tree that git sees in the working tree, by an index of its own; owned by the caller. */
char *pdk_test_landing_tree(const struct pdk_test_landing *t);
/* Names, types, modes, bytes, the index and HEAD as text; owned by the caller. */
char *pdk_test_landing_state(const struct pdk_test_landing *t);

#endif
