/* The handle of a sandbox, between backend.c, which makes and opens it, and sandbox.c, which uses it. */
#ifndef PDK_BACKENDS_HANDLE_H
#define PDK_BACKENDS_HANDLE_H

#include "backends/backend_impl.h"

/* A handle on what record names, which is copied; nothing is opened yet (root_fd is -1). */
int pdk_handle_new(const struct pdk_backend *be, const struct pdk_sandbox_record *record,
        const struct pdk_repo *repo, const char *lock, struct pdk_sandbox **out,
        struct pdk_err *err);

/*
 * For a backend that mounts where we are not: root_fd is the top of the copy, mount_fd the namespace.
 * Both are the handle's from here on, also when it fails.
 */
int pdk_handle_hold_mount(
        struct pdk_sandbox *sb, int mount_fd, int root_fd, struct pdk_err *err);
void pdk_handle_drop_mount(struct pdk_sandbox *sb); /* none is fine */
/* The path by which we reach what is at root: the same, or one that leads into the namespace. */
const char *pdk_handle_reach(const struct pdk_sandbox *sb);

/* Opens root_fd, never through a link. PDK_ENOTFOUND, PDK_ECONFLICT when it is something else. */
int pdk_handle_hold_root(struct pdk_sandbox *sb, struct pdk_err *err);

#endif
