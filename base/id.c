#include "base/id.h"

#include <errno.h>
#include <sha1.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/error.h"

struct pdk_digest {
    SHA2_CTX sha;
};

static void put_hex(const unsigned char *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

int pdk_id_random(char *out, size_t n, struct pdk_err *err)
{
    unsigned char bytes[64];

    if (n > sizeof(bytes))
        return pdk_fail(err, PDK_EBUG, 0, "random id of %zu bytes", n);
    if (getrandom(bytes, n, 0) != (ssize_t)n)
        return pdk_fail(err, PDK_EIO, errno, "no random bytes");
    put_hex(bytes, n, out);
    return 0;
}

int pdk_id_run(char out[24], struct pdk_err *err)
{
    time_t now = time(NULL);
    char date[17] = "", tail[7] = "";
    struct tm tm;

    if (!gmtime_r(&now, &tm) || strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &tm) == 0)
        return pdk_fail(err, PDK_EIO, 0, "the clock shows no date");
    if (pdk_id_random(tail, 3, err) < 0)
        return err ? err->code : PDK_EIO;
    (void)snprintf(out, 24, "%s-%s", date, tail);
    return 0;
}

struct pdk_digest *pdk_digest_new(void)
{
    struct pdk_digest *d = calloc(1, sizeof(*d));

    if (d)
        SHA256Init(&d->sha);
    return d;
}

void pdk_digest_free(struct pdk_digest *d)
{
    free(d);
}

void pdk_digest_add(struct pdk_digest *d, const void *data, size_t len)
{
    SHA256Update(&d->sha, data, len);
}

void pdk_digest_end(struct pdk_digest *d, char out[65])
{
    unsigned char sum[SHA256_DIGEST_LENGTH];

    SHA256Final(sum, &d->sha);
    put_hex(sum, sizeof(sum), out);
}

void pdk_digest_hex(const void *data, size_t len, char out[65])
{
    struct pdk_digest d;

    SHA256Init(&d.sha);
    pdk_digest_add(&d, data, len);
    pdk_digest_end(&d, out);
}

void pdk_digest_sha1(const void *data, size_t len, unsigned char out[20])
{
    SHA1_CTX sha;

    SHA1Init(&sha);
    SHA1Update(&sha, data, len);
    SHA1Final(out, &sha);
}
