/* What two candidates have to have in common to vote for the same result. Pure. */
#ifndef PDK_PROMOTE_VOTES_H
#define PDK_PROMOTE_VOTES_H

#include <stddef.h>

struct pdk_err;

/*
 * Digest of a patch by what it takes away and adds, path by path, without blanks, empty lines and
 * where in a file it is. 64 hex digits and a NUL. PDK_ENOMEM.
 */
int pdk_votes_digest(const char *patch, size_t len, char out[65], struct pdk_err *err);

#endif
