/*
 * The tests that a check's output names. Pure. verify's own.
 *
 * Output is data of the candidate's: whatever it is, reading it ends, in time linear in its length
 * (but for the patterns of a mission file, which pattern.h bounds).
 */
#ifndef PDK_VERIFY_TESTS_H
#define PDK_VERIFY_TESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct pdk_err;
struct pdk_pattern;
struct pdk_subject;

struct pdk_tests {
    bool found;                     /* the output has the form at all */
    struct pdk_strv passed, failed; /* names, in the output's order */
    size_t skipped;
};

void pdk_tests_fini(struct pdk_tests *tests);
#define PDK_AUTO_TESTS __attribute__((cleanup(pdk_tests_fini)))

/* Each adds to a struct of zeros what it reads; PDK_ENOMEM alone. */

/* JUnit XML: each testcase, as "class.name"; one with a failure or error in it failed. */
int pdk_tests_junit(
        const char *text, size_t len, struct pdk_tests *out, struct pdk_err *err);
/* TAP: lines "ok N - name" and "not ok N - name"; # SKIP and # TODO are skipped. */
int pdk_tests_tap(
        const char *text, size_t len, struct pdk_tests *out, struct pdk_err *err);
/* By patterns (NULL: none) whose group is a test's name. */
int pdk_tests_patterns(const struct pdk_subject *subject,
        const struct pdk_pattern *passed, const struct pdk_pattern *failed,
        struct pdk_tests *out, struct pdk_err *err);

#endif
