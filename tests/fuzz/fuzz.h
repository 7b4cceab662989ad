/* What every fuzz target defines: read the bytes, crash only when the code under test is wrong, return 0. */
#ifndef PDK_TESTS_FUZZ_H
#define PDK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
