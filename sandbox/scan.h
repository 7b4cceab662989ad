/*
 * What is below a directory, in git's order of paths: the one walk behind searches and transfers.
 * Follows no link, enters no .git, and leaves out what .gitignore files name. It reads no index: a
 * file that is tracked and ignored counts as ignored. One descriptor is open at a time.
 */
#ifndef PDK_SANDBOX_SCAN_H
#define PDK_SANDBOX_SCAN_H

#include <stdbool.h>

struct pdk_err;

enum pdk_scan_kind { PDK_SCAN_FILE, PDK_SCAN_DIRECTORY, PDK_SCAN_LINK, PDK_SCAN_OTHER };

struct pdk_scan_spec {
    int root_fd;
    const char *path; /* where to begin, relative to the root; NULL or ".": the root */
    bool ignored;     /* also what .gitignore names */
    /* path is relative to the root, borrowed; a directory comes before what is in it. Non-zero stops. */
    int (*visit)(const char *path, enum pdk_scan_kind kind, void *user);
    void *user;
};

/*
 * The first non-zero of visit, or 0. A directory that is gone or closed to us has nothing in it.
 * PDK_ENOTFOUND, PDK_EIO for the one to begin with, PDK_ENOMEM. Safe on every thread.
 */
int pdk_scan(const struct pdk_scan_spec *spec, struct pdk_err *err);

/* As openat(), beneath the handle whatever the links are; close-on-exec; -1 with errno (EXDEV: it leads out). */
int pdk_scan_open(int root_fd, const char *path, int flags);

#endif
