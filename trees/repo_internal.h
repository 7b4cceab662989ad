/* Running git, for the files that speak to the user's repository. */
#ifndef PDK_TREES_REPO_INTERNAL_H
#define PDK_TREES_REPO_INTERNAL_H

#include <stddef.h>

struct pdk_err;
struct pdk_repo;
struct pdk_run_result;
struct pdk_strv;

struct pdk_git_spec {
    const char *dir;         /* where git starts */
    const char *const *args; /* NULL-terminated, after "git" */
    const char *const *env;  /* NAME=value to add; NULL: none */
    const void *input;       /* NULL: none */
    size_t input_len;
};

/* 0 once git ended by itself, whatever its exit code. result must be zeroed. */
int pdk_git_run(const struct pdk_git_spec *spec, struct pdk_run_result *result,
        struct pdk_err *err);
/* PDK_EIO with the first line that git said. */
int pdk_git_complain(const struct pdk_git_spec *spec, const struct pdk_run_result *result,
        struct pdk_err *err);

/* Appends to env the entries of extra (NULL: none) and what keeps the repository's filters from running. */
int pdk_repo_filter_env(const struct pdk_repo *repo, const char *const *extra,
        struct pdk_strv *env, struct pdk_err *err);

#endif
