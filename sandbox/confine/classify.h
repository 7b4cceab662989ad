/*
 * What a finished confined command says, in this order: the runner failed (nothing is known of the
 * command), a write was denied, an ordinary end. Pure. Output is the command's own to write: a
 * signature that it prints can spoil the diagnosis, never the confinement.
 */
#ifndef PDK_SANDBOX_CONFINE_CLASSIFY_H
#define PDK_SANDBOX_CONFINE_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "sandbox/confine/confine.h"

enum pdk_ending { PDK_ENDING_ORDINARY, PDK_ENDING_DENIED, PDK_ENDING_RUNNER };

struct pdk_finish {
    enum pdk_dialect dialect;
    const struct pdk_runner *runner; /* of PDK_DIALECT_RUNNER; else NULL */
    bool reported; /* the shim told how the command ended, or there is no shim */
    bool has_exit; /* bubblewrap told an exit code of what it ran */
    int exit_code; /* -1 where a signal ended it */
    int signal;
    const char *err; /* the end of its stderr */
    size_t err_len;
};

enum pdk_ending pdk_classify(const struct pdk_finish *f);

#endif
