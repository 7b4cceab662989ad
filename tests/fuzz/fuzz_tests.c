/* What a check prints is the candidate's: whatever it is, its tests are counted and reading ends. */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "verify/tests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    PDK_AUTO_TESTS struct pdk_tests tests = { .found = false };

    if (pdk_tests_junit((const char *)data, size, &tests, NULL) < 0 ||
            pdk_tests_tap((const char *)data, size, &tests, NULL) < 0)
        abort();
    if (!tests.found && tests.passed.len + tests.failed.len + tests.skipped > 0)
        abort();
    return 0;
}
