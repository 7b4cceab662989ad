/* The handle of a sandbox, between backend.c, which makes and opens it, and sandbox.c, which uses it. */
#ifndef PDK_BACKENDS_HANDLE_H
#define PDK_BACKENDS_HANDLE_H

#include "backends/backend_impl.h"

/* A handle on what record names, which is copied; nothing is opened yet (root_fd is -1). */
int pdk_handle_new(const struct pdk_backend *be, const struct pdk_sandbox_record *record,
        const struct pdk_repo *repo, const char *lock, struct pdk_sandbox **out,
        struct pdk_err *err);

/* Opens root_fd, never through a link. PDK_ENOTFOUND, PDK_ECONFLICT when it is something else. */
int pdk_handle_hold_root(struct pdk_sandbox *sb, struct pdk_err *err);

#endif
