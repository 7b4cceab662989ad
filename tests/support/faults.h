/*
 * Allocations that fail on demand. A program that calls any of these has calloc, malloc, realloc, reallocarray and
 * strdup wrapped, and says so: "wrap: calloc malloc realloc reallocarray strdup" in a comment of its own.
 */
#ifndef PDK_TESTS_SUPPORT_FAULTS_H
#define PDK_TESTS_SUPPORT_FAULTS_H

/* The n-th allocation from now on fails (0: the next), once. */
void pdk_fault_arm(long n);
void pdk_fault_disarm(void);
/*
 * Runs act with the 1st, 2nd, … allocation failing, until a run meets none: PDK_ENOMEM each time, 0 at the end. The act
 * arms and disarms around what it tests, with the number that it is given: Check itself allocates, too.
 */
void pdk_fault_every(int (*act)(void *user, long fault), void *user);

#endif
