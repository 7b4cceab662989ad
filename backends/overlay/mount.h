/* Mounting an overlay, and taking it away. Needs the privilege to mount. */
#ifndef PDK_BACKENDS_OVERLAY_MOUNT_H
#define PDK_BACKENDS_OVERLAY_MOUNT_H

#include <stddef.h>

struct pdk_buf;
struct pdk_err;

struct pdk_overlay_spec {
    const char *const *lower; /* topmost first */
    size_t lower_len;
    const char *upper, *work; /* on one file system; work is empty */
    const char *target;       /* a directory */
};

/* The mount options that every way of mounting has in common, appended to out. */
void pdk_overlay_options(const struct pdk_overlay_spec *spec, struct pdk_buf *out);
/* PDK_EUNAVAIL where this host or user cannot, with the reason. */
int pdk_overlay_mount(const struct pdk_overlay_spec *spec, struct pdk_err *err);
/* What is not mounted is fine; links are not followed; busy ones go when the last user does. */
int pdk_overlay_unmount(const char *target, struct pdk_err *err);
/* Is an overlay mounted there? */
int pdk_overlay_is_mounted(const char *target);

#endif
