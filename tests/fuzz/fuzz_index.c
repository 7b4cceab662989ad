/* Any bytes as an index, under the checksum that belongs to them: entries in order, or corruption. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"
#include "trees/index.h"

static void check(const char *path)
{
    PDK_AUTO_INDEX struct pdk_index index = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    int rc = pdk_index_read(path, &index, &err);

    if (rc < 0 && rc != PDK_ECORRUPT)
        abort();
    for (size_t i = 1; i < index.len; i++)
        if (strcmp(index.entries[i - 1].path, index.entries[i].path) >= 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/pdk-fuzz-index-XXXXXX";
    PDK_AUTO_FD int fd = mkstemp(path);
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;
    unsigned char sum[20];

    if (fd < 0)
        abort();
    pdk_buf_add(&bytes, data, size);
    pdk_digest_sha1(data, size, sum);
    pdk_buf_add(&bytes, sum, sizeof(sum));
    if (pdk_fs_write_fd(fd, bytes.data, bytes.len, NULL) < 0)
        abort();
    check(path);
    (void)unlink(path); /* a leftover in /tmp is no harm */
    return 0;
}
