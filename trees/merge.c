#include "trees/merge.h"

#include <git2.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "trees/internal.h"
#include "trees/vault.h"

static int read_input(struct pdk_vault *vault, const struct pdk_oid *oid,
        struct pdk_buf *text, git_merge_file_input *out, struct pdk_err *err)
{
    if (pdk_vault_read_blob(vault, oid, SIZE_MAX, text, err) < 0)
        return err->code;
    out->ptr = pdk_buf_str(text);
    out->size = text->len;
    return 0;
}

int pdk_merge_blobs(struct pdk_vault *vault, const struct pdk_oid *base,
        const struct pdk_oid *mine, const struct pdk_oid *theirs, struct pdk_oid *out,
        bool *clean, struct pdk_err *err)
{
    struct pdk_buf text[3] = { PDK_BUF_INIT, PDK_BUF_INIT, PDK_BUF_INIT };
    git_merge_file_input input[3] = { { .version = GIT_MERGE_FILE_INPUT_VERSION },
        { .version = GIT_MERGE_FILE_INPUT_VERSION },
        { .version = GIT_MERGE_FILE_INPUT_VERSION } };
    const struct pdk_oid *const from[3] = { base, mine, theirs };
    git_merge_file_result result = { 0 };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < 3; i++)
        rc = read_input(vault, from[i], &text[i], &input[i], err);
    if (rc == 0) {
        rc = git_merge_file(&result, &input[0], &input[1], &input[2], NULL);
        if (rc < 0)
            rc = pdk_git2_fail(err, rc, "merging %s", mine->hex);
    }
    *clean = rc == 0 && result.automergeable != 0;
    if (*clean)
        rc = pdk_vault_write_blob(vault, result.ptr, result.len, out, err);
    git_merge_file_result_free(&result);
    for (size_t i = 0; i < 3; i++)
        pdk_buf_fini(&text[i]);
    return rc;
}
