/*
 * Handles on one vault for the threads of a run: opening one reads a dozen files, and a handle is for one
 * thread at a time. Every call is safe on every thread.
 */
#ifndef PDK_TREES_VAULTS_H
#define PDK_TREES_VAULTS_H

#include "base/auto.h"

struct pdk_err;
struct pdk_vault;
struct pdk_vaults; /* opaque, heap */

/* path and objects as for pdk_vault_open(); copied. Opens nothing yet. */
int pdk_vaults_new(const char *path, const char *objects, struct pdk_vaults **out,
        struct pdk_err *err);
/* All handles were given back. NULL is fine. */
void pdk_vaults_free(struct pdk_vaults *vaults);
PDK_DEFINE_AUTO(struct pdk_vaults, pdk_vaults_free)
#define PDK_AUTO_VAULTS PDK_AUTO(pdk_vaults_free)

/* One for the calling thread, until it gives it back: an idle one, else a new one. */
int pdk_vaults_take(
        struct pdk_vaults *vaults, struct pdk_vault **out, struct pdk_err *err);
void pdk_vaults_give(struct pdk_vaults *vaults, struct pdk_vault *vault);

#endif
