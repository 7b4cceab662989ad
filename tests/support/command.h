/* Running a program and keeping what it wrote. Like all of tests/support, these fail the test rather than return. */
#ifndef PDK_TESTS_SUPPORT_COMMAND_H
#define PDK_TESTS_SUPPORT_COMMAND_H

#include <stddef.h>

struct pdk_test_output {
    int status; /* the exit code, or 128 + the signal that ended it */
    char *out;  /* what it wrote to stdout, with a NUL behind it */
    size_t out_size;
    char *err; /* the same of stderr */
    size_t err_size;
};

/* Runs argv (found in PATH, NULL at the end) in `cwd` (NULL: here), stdin from /dev/null, and waits for it. */
void pdk_test_run(
        const char *const *argv, const char *cwd, struct pdk_test_output *output);
void pdk_test_output_fini(struct pdk_test_output *output);

/* Runs a line of shell in `cwd`, expects 0, and returns its stdout without the last newline; owned by the caller. */
char *pdk_test_sh(const char *cwd, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

#endif
