/* A log from somewhere else: it is folded or refused by its line, and what is folded has a verdict. */
#include <stdlib.h>

#include "base/error.h"
#include "base/json.h"
#include "tests/fuzz/fuzz.h"
#include "verify/replay.h"
#include "verify/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    PDK_AUTO_FOLD struct pdk_fold *fold = pdk_fold_new();
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (!fold)
        return 0;
    if (pdk_replay(fold, (const char *)data, size, &err) < 0 && err.code != PDK_EINVAL)
        abort();
    doc = pdk_fold_json(fold);
    if (pdk_json_ok(doc, &err) < 0)
        abort();
    return 0;
}
