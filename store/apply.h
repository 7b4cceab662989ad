/* From an event to the projections. The store's own. */
#ifndef PDK_STORE_APPLY_H
#define PDK_STORE_APPLY_H

struct pdk_err;
struct pdk_event;
struct pdk_store;

/* Within a transaction. Codes as pdk_store_append(). */
int pdk_apply(
        struct pdk_store *store, const struct pdk_event *event, struct pdk_err *err);

#endif
