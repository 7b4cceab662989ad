/* The tables and how they came to be. The store's own. */
#ifndef PDK_STORE_SCHEMA_H
#define PDK_STORE_SCHEMA_H

#include <stdint.h>

struct pdk_err;
struct pdk_store;

/* The version that this program writes. */
int64_t pdk_schema_version(void);
/*
 * Brings an open database up to this version, each step in a transaction. The write lock is held.
 * PDK_ECORRUPT for a newer one (both named) and for a database of something else.
 */
int pdk_schema_migrate(struct pdk_store *store, struct pdk_err *err);
/* Refuses a database that is not of this version: for readers. 0, or PDK_ENOTFOUND for an empty one. */
int pdk_schema_expect(struct pdk_store *store, struct pdk_err *err);
/* A cheap look at a database of this version: are all tables there; small ones are read whole. */
int pdk_schema_look(struct pdk_store *store, struct pdk_err *err);
/* Reads every page and index. */
int pdk_schema_check(struct pdk_store *store, struct pdk_err *err);
/* Empties the projections, within a transaction. */
int pdk_schema_clear(struct pdk_store *store, struct pdk_err *err);

#endif
