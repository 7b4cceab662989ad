/*
 * An overlay in a user and mount namespace of its own, for a user who may not mount. No process lives
 * there: descriptors hold it, and it goes with the last of them. An agent enters by the first; the
 * orchestrator reaches the files by the second.
 */
#ifndef PDK_BACKENDS_OVERLAY_USERNS_H
#define PDK_BACKENDS_OVERLAY_USERNS_H

#include "backends/overlay/mount.h"

struct pdk_overlay_ns {
    int mnt_fd;  /* the mount namespace; its user namespace follows from it */
    int root_fd; /* top of the mounted overlay */
};

#define PDK_OVERLAY_NS_INIT                                                              \
    {                                                                                    \
        -1, -1                                                                           \
    }

/* PDK_EUNAVAIL where the kernel refuses, with the reason. The descriptors are the caller's. */
int pdk_overlay_ns_mount(const struct pdk_overlay_spec *spec, struct pdk_overlay_ns *out,
        struct pdk_err *err);
void pdk_overlay_ns_close(struct pdk_overlay_ns *ns);

/*
 * Two mounts of one upper layer would spoil it, so who opens a sandbox joins the mount that another
 * live process holds. spec says how it is mounted where nobody does; it is remembered in the directory
 * dir. PDK_ENOTFOUND when the machine was started anew since.
 */
int pdk_overlay_ns_start(const char *dir, const struct pdk_overlay_spec *spec,
        struct pdk_overlay_ns *out, struct pdk_err *err);
/* PDK_ENOTFOUND as well where it was never mounted in this way. */
int pdk_overlay_ns_join(const char *dir, struct pdk_overlay_ns *out, struct pdk_err *err);

#endif
