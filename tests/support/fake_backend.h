/*
 * A backend for tests: a plain directory with the tree's files and no git, its registry in memory, its
 * failures scripted. A program that calls any of these has it in the table, as "fake".
 * Set the script while nothing runs; the backend itself is safe on every thread.
 */
#ifndef PDK_TESTS_SUPPORT_FAKE_BACKEND_H
#define PDK_TESTS_SUPPORT_FAKE_BACKEND_H

struct pdk_backend;

enum pdk_fake_step {
    PDK_FAKE_MATERIALIZE, /* before anything is made */
    PDK_FAKE_FILLED,      /* when everything is made: it undoes that */
    PDK_FAKE_TEARDOWN,
    PDK_FAKE_COUNT,
    PDK_FAKE_DIRT,
    PDK_FAKE_STEPS
};

const struct pdk_backend *pdk_fake_backend(void);
/* No failures, no commits, nothing alive, counters at zero. */
void pdk_fake_reset(void);
/* The step fails with code from its skip-th call (0: the first) on, `times` times. */
void pdk_fake_fail(enum pdk_fake_step step, int code, int skip, int times);
/* What count_commits answers. */
void pdk_fake_set_commits(int commits);
/* How often the step was called, failures included. */
int pdk_fake_calls(enum pdk_fake_step step);
int pdk_fake_alive(void); /* made and not torn down */
int pdk_fake_peak(void);  /* the most that were alive at once */

#endif
