/*
 * The argv that confines a command by bubblewrap: the whole file system read-only, temporary
 * directories private, sockets masked, the root bound by its handle, no capabilities. Pure, but for
 * pdk_bubblewrap_sockets(). What runs inside is a shim of ours that is given by its descriptor, so
 * that nothing of the command's own (words, environment) is on this argv.
 */
#ifndef PDK_SANDBOX_CONFINE_BUBBLEWRAP_H
#define PDK_SANDBOX_CONFINE_BUBBLEWRAP_H

#include "base/str.h"
#include "plan/plan.h"

struct pdk_err;

/* Descriptors of bubblewrap's process, in the order in which the caller passes them on. */
enum pdk_bubblewrap_fd {
    PDK_BWRAP_STATUS = 3, /* its own account */
    PDK_BWRAP_ROOT,       /* the sandbox's root */
    PDK_BWRAP_SHIM,       /* our program */
    PDK_BWRAP_JOB,        /* what the shim is to run */
    PDK_BWRAP_REPORT,     /* what came of it */
    PDK_BWRAP_FD_END
};

struct pdk_bubblewrap {
    const char *program;
    enum pdk_confine mode;
    const char *root; /* absolute, resolved */
    const struct pdk_strv
            *temps; /* directories to be private and empty; none below another */
    const struct pdk_strv *visible; /* stay readable below those */
    const struct pdk_strv *sockets; /* to be masked */
    const struct pdk_strv *kernel;  /* files and directories of /proc to be read-only */
};

int pdk_bubblewrap_argv(
        const struct pdk_bubblewrap *b, struct pdk_strv *out, struct pdk_err *err);

/*
 * Paths of sockets that something listens on, as /proc/net/unix has them: absolute, still sockets,
 * not below any of the directories. At most 64: more are PDK_EUNAVAIL, since each is a mount.
 */
int pdk_bubblewrap_sockets(
        const struct pdk_strv *but, struct pdk_strv *out, struct pdk_err *err);
/* What of /proc is the whole kernel's and could be written by uid 0 without any capability. */
int pdk_bubblewrap_kernel(struct pdk_strv *out, struct pdk_err *err);

#endif
