/*
 * Indexes that many sandboxes share, read once: a few of them, by the file they lie in. Only files with
 * several names are kept (a template's, under its sandboxes): they are replaced, never written in place.
 * Safe on every thread.
 */
#ifndef PDK_TREES_INDEX_CACHE_H
#define PDK_TREES_INDEX_CACHE_H

#include "base/auto.h"
#include "trees/index.h"

struct pdk_index_cache; /* opaque, heap */
struct pdk_index_lease; /* opaque, heap: one index in use */

/* NULL when out of memory. */
struct pdk_index_cache *pdk_index_cache_new(void);
/* What is leased stays until it is given back. NULL is fine. */
void pdk_index_cache_free(struct pdk_index_cache *cache);

/* As pdk_index_read(); cache may be NULL: nothing is kept then. */
int pdk_index_borrow(struct pdk_index_cache *cache, const char *path,
        struct pdk_index_lease **out, struct pdk_err *err);
/* Never changed by anybody, until the lease is given back. */
const struct pdk_index *pdk_index_leased(const struct pdk_index_lease *lease);
void pdk_index_return(struct pdk_index_lease *lease); /* NULL is fine */
PDK_DEFINE_AUTO(struct pdk_index_lease, pdk_index_return)
#define PDK_AUTO_LEASE PDK_AUTO(pdk_index_return)

#endif
