/* Small git repositories for tests, made with git itself under a configuration that is the same everywhere. */
#ifndef PDK_TESTS_SUPPORT_REPO_H
#define PDK_TESTS_SUPPORT_REPO_H

/* Makes a repository without a commit, on branch main. */
void pdk_test_repo_init(const char *path);
/* Makes a repository with one commit that holds README ("hello\n") and src/main.c. */
void pdk_test_repo_sample(const char *path);
/* Writes a file of the working tree. */
void pdk_test_repo_write(const char *path, const char *file, const char *text);
/* Commits everything in the working tree and returns the commit's id; owned by the caller. */
char *pdk_test_repo_commit(const char *path, const char *message);
/* Runs git with a formatted tail in the repository and returns its output; owned by the caller. */
char *pdk_test_git(const char *path, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

#endif
