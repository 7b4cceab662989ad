/* The first line is a path, the rest are patterns: whatever they are, an answer, and in bounded time. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/ignore.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *newline = size > 0 ? memchr(text, '\n', size) : NULL;
    size_t path_len = newline ? (size_t)(newline - text) : 0;
    PDK_AUTO_FREE char *path = calloc(1, path_len + 1); /* strict strndup() wants a NUL */
    PDK_AUTO_IGNORE struct pdk_ignore *ignore = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (!path || !newline)
        return 0;
    memcpy(path, text, path_len);
    newline++;
    if (pdk_ignore_parse(newline, size - (size_t)(newline - text), "", &ignore, &err) < 0)
        abort();
    (void)pdk_ignore_match(ignore, path, false);
    (void)pdk_ignore_match(ignore, path, true);
    return 0;
}
