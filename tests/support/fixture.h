/*
 * A private directory for each test, and small helpers on files. All of them fail the running test (ck_abort) where the
 * system refuses; none returns an error.
 *
 *     tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_teardown);
 */
#ifndef PDK_TESTS_SUPPORT_FIXTURE_H
#define PDK_TESTS_SUPPORT_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

/* Makes the directory of the test that is about to run. */
void pdk_test_dir_setup(void);
/* Fails unless the test left its directory empty, and removes it: for code that must clean up after itself. */
void pdk_test_dir_teardown(void);
/* Removes the directory with whatever is in it: for tests that make files themselves. */
void pdk_test_dir_discard(void);

/* The directory of the running test: absolute, free of symbolic links, borrowed until the teardown. */
const char *pdk_test_dir(void);
/* "<dir>/<formatted>"; owned by the caller. */
char *pdk_test_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes a file, and the folders above it where they are missing. */
void pdk_test_write(const char *path, const void *data, size_t size);
void pdk_test_write_text(const char *path, const char *text);
/* The whole file, with a NUL behind it; owned by the caller. `size` may be NULL. */
char *pdk_test_read(const char *path, size_t *size);
/* Whether anything has that name, be it a dangling link. */
bool pdk_test_exists(const char *path);
/* Makes a folder and those above it. */
void pdk_test_mkdirs(const char *path);
/* Removes a file or a whole tree, following no link; a missing one is fine. */
void pdk_test_remove(const char *path);

/* Runs a suite as CK_FORK, CK_VERBOSITY and the like say; returns main's exit status. Takes the suite. */
int pdk_test_main(Suite *suite);

#endif
