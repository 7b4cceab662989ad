/*
 * The vault: a bare repository of ours that holds candidate trees. It reads the user's objects
 * through alternates, and owns both sides of every path that a kept candidate changed, so that a
 * candidate can be shown, diffed and promoted from the vault alone.
 *
 * A pdk_vault is one open handle: use one per thread (objects on disk are shared and safe).
 */
#ifndef PDK_TREES_VAULT_H
#define PDK_TREES_VAULT_H

#include "base/auto.h"
#include "trees/oid.h"

struct pdk_err;
struct pdk_repo;
struct pdk_buf;
struct pdk_vault; /* opaque, heap */

/* Opens the vault at path, making it when missing; objects is the user's object directory. */
int pdk_vault_open(const char *path, const char *objects, struct pdk_vault **out,
        struct pdk_err *err);
void pdk_vault_close(struct pdk_vault *vault);
PDK_DEFINE_AUTO(struct pdk_vault, pdk_vault_close)
#define PDK_AUTO_VAULT PDK_AUTO(pdk_vault_close)
const char *pdk_vault_path(const struct pdk_vault *vault);

/*
 * Keeps tree under refs/paddock/<name>, together with base and what differs between the two on
 * both sides (trees on the way, blobs), all in the vault's own object directory, durably. What is kept
 * under that name already costs a look.
 */
int pdk_vault_keep(struct pdk_vault *vault, const char *name, const struct pdk_oid *base,
        const struct pdk_oid *tree, struct pdk_err *err);
/* The two trees of what is kept. PDK_ENOTFOUND where nothing is under that name. */
int pdk_vault_find(struct pdk_vault *vault, const char *name, struct pdk_oid *out_base,
        struct pdk_oid *out_tree, struct pdk_err *err);
int pdk_vault_forget(struct pdk_vault *vault, const char *name, struct pdk_err *err);

/* Appends a blob's bytes; at most max (PDK_EINVAL beyond). PDK_ENOTFOUND names the object. */
int pdk_vault_read_blob(struct pdk_vault *vault, const struct pdk_oid *blob, size_t max,
        struct pdk_buf *out, struct pdk_err *err);
int pdk_vault_write_blob(struct pdk_vault *vault, const void *data, size_t len,
        struct pdk_oid *out, struct pdk_err *err);
/* The tree of a commit, or the tree itself. */
int pdk_vault_peel(struct pdk_vault *vault, const struct pdk_oid *any,
        struct pdk_oid *out_tree, struct pdk_err *err);

/*
 * Copies into the object directory at objects what tree needs and base's closure lacks (trees and
 * blobs on changed paths), and with a message makes a commit of it by the machinery's identity on
 * parent ("" for none): the seal that a sandbox starts from. out_commit may be NULL.
 */
int pdk_vault_export(struct pdk_vault *vault, const char *objects,
        const struct pdk_oid *base, const struct pdk_oid *tree, struct pdk_err *err);
int pdk_vault_seal(struct pdk_vault *vault, const char *objects,
        const struct pdk_oid *parent, const struct pdk_oid *tree,
        struct pdk_oid *out_commit, struct pdk_err *err);

#endif
