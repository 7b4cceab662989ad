/*
 * Commits that only a sandbox holds. Its git directory may hold anything by now, so it is never given
 * to git as one: names of commits are read from its files byte by byte, and git itself runs on the
 * user's repository with the sandbox's objects as an alternate.
 */
#ifndef PDK_BACKENDS_COMMITS_H
#define PDK_BACKENDS_COMMITS_H

#include "base/str.h"
#include "trees/oid.h"

struct pdk_err;
struct pdk_repo;

/*
 * Appends what HEAD, its log, packed-refs and the files below refs/ name in the git directory at fd:
 * ids as 40 hex digits, sorted, each once. Never follows a link. Refuses (PDK_EUNAVAIL) more than 10000.
 */
int pdk_commits_tips(int fd, struct pdk_strv *tips, struct pdk_err *err);

/*
 * What HEAD says in the git directory at fd: a commit in *out, or the full name of a reference in *ref
 * (owned by the caller). Neither ("", NULL) where it says something else.
 */
int pdk_commits_head(int fd, struct pdk_oid *out, char **ref, struct pdk_err *err);
/* What the reference names in the files of that git directory; "" where it is not there. */
int pdk_commits_resolve(
        int fd, const char *ref, struct pdk_oid *out, struct pdk_err *err);

struct pdk_commits_query {
    const struct pdk_repo *repo;
    const struct pdk_strv *tips;
    struct pdk_oid start; /* what the sandbox started from; "" for nothing */
    const char *objects;  /* an object directory beside the user's; NULL: none */
    const char *
            exclude_ref; /* a ref of the user's that does not count as theirs; NULL: none */
};

/* How many commits the tips reach that neither start nor a ref or HEAD of the user's does. */
int pdk_commits_count(
        const struct pdk_commits_query *query, int *out, struct pdk_err *err);

#endif
