/*
 * Running one short command to its end with its output in memory: git plumbing, probes.
 * Blocks its thread; meant for worker threads and command-line verbs. Safe on every thread.
 */
#ifndef PDK_PROCESS_RUN_H
#define PDK_PROCESS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct pdk_err;

struct pdk_run_spec {
    const char *const *argv;
    const char *const *envp;
    const char *cwd;   /* NULL: the caller's */
    const void *input; /* for stdin; NULL: /dev/null */
    size_t input_len;
    size_t max_output;  /* of each stream; 0: 64 MiB. More is an error */
    int64_t timeout_ms; /* 0: 60 s. Then the whole group is killed: PDK_ETIMEDOUT */
};

struct pdk_run_result {
    int exit_code; /* -1 where a signal ended it */
    int signal;    /* 0 where it exited */
    struct pdk_buf out, err;
};

void pdk_run_result_fini(struct pdk_run_result *result);
#define PDK_AUTO_RUN_RESULT __attribute__((cleanup(pdk_run_result_fini)))

/* 0 once it ended by itself, whatever its exit code. `out` must be zeroed; fini it in any case. */
int pdk_run(
        const struct pdk_run_spec *spec, struct pdk_run_result *out, struct pdk_err *err);

/* As pdk_run(), and a non-zero ending is PDK_EIO with the first line of stderr in the message. */
int pdk_run_ok(
        const struct pdk_run_spec *spec, struct pdk_run_result *out, struct pdk_err *err);

#endif
