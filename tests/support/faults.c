#include "tests/support/faults.h"

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

void *__real_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
char *__real_strdup(const char *text);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
char *__wrap_strdup(const char *text);

static long fault_left =
        -1; /* allocations until the one that fails; negative: none will */

static bool fault_met;

void pdk_fault_arm(long n)
{
    fault_left = n;
}

void pdk_fault_disarm(void)
{
    fault_left = -1;
}

static bool fault_now(void)
{
    if (fault_left < 0)
        return false;
    fault_met = fault_left == 0;
    fault_left--;
    return fault_met;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fault_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_malloc(size_t size)
{
    return fault_now() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fault_now() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return fault_now() ? NULL : __real_reallocarray(old, n, size);
}

char *__wrap_strdup(const char *text)
{
    return fault_now() ? NULL : __real_strdup(text);
}

void pdk_fault_every(int (*act)(void *user, long fault), void *user)
{
    long n = 0;

    do {
        fault_met = false;
        int rc = act(user, n);
        ck_assert_msg(rc == (fault_met ? PDK_ENOMEM : 0), "allocation %ld: %d", n, rc);
        n++;
    } while (fault_met);
    ck_assert_int_gt(n, 1);
}
