/* Ids, random names and digests. Safe on every thread. */
#ifndef PDK_BASE_ID_H
#define PDK_BASE_ID_H

#include <stddef.h>

struct pdk_err;

/* n random bytes as 2n hex digits and a NUL into out. */
int pdk_id_random(char *out, size_t n, struct pdk_err *err);
/* "YYYYMMDDTHHMMSSZ-xxxxxx" (24 bytes with the NUL): unique, sorted by time. */
int pdk_id_run(char out[24], struct pdk_err *err);
/* SHA-256 as 64 hex digits and a NUL. */
void pdk_digest_hex(const void *data, size_t len, char out[65]);

/* SHA-1, raw: for git's formats only. */
void pdk_digest_sha1(const void *data, size_t len, unsigned char out[20]);

/* Digest of a stream. */
struct pdk_digest;                       /* opaque, heap */
struct pdk_digest *pdk_digest_new(void); /* NULL when out of memory */
void pdk_digest_free(struct pdk_digest *d);
void pdk_digest_add(struct pdk_digest *d, const void *data, size_t len);
void pdk_digest_end(struct pdk_digest *d, char out[65]); /* once */

#endif
