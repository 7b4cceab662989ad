/* Uncommitted changes of a sandbox in which commits were made. */
#ifndef PDK_BACKENDS_DIRT_H
#define PDK_BACKENDS_DIRT_H

#include "trees/capture.h"
#include "trees/oid.h"

struct pdk_err;
struct pdk_repo;
struct pdk_vault;

struct pdk_dirt_query {
    const struct pdk_repo *repo;
    struct pdk_vault *vault;
    const char
            *objects; /* where head's objects are beside the user's; NULL: nowhere else */
    struct pdk_oid start; /* the commit that the sandbox started from; "" for none */
    struct pdk_oid head;  /* what its HEAD names now */
    struct pdk_oid now;   /* the tree of its working copy */
};

/*
 * Turns *dirt, which is what changed since the baseline, into what head does not hold. A path that
 * neither changed since the baseline nor was committed is set-up's, and stays out.
 */
int pdk_dirt_uncommitted(
        const struct pdk_dirt_query *query, struct pdk_dirt *dirt, struct pdk_err *err);

#endif
