/* The same work on several threads: each item once, and the first failure ends it. */
/* wrap: pthread_create */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "tests/support/fixture.h"
#include "trees/pool.h"

enum { ITEMS = 1000, THREADS_MAX = 8 };

struct seen {
    atomic_int items[ITEMS];
    atomic_int opened, closed, failed_opens;
    int fail_at;       /* -1: none */
    int opens_that_do; /* how many opens go well; -1: all */
    char locals[64];
    atomic_int strangers; /* items that came without what open() gave */
};

static int threads_left = -1; /* how many more can be had; -1: any number */

int __real_pthread_create(
        pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);
int __wrap_pthread_create(
        pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);

int __wrap_pthread_create(
        pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
    if (threads_left == 0)
        return EAGAIN;
    threads_left -= threads_left > 0;
    return __real_pthread_create(thread, attr, start, arg);
}

static int pool_open(void *user, void **local, struct pdk_err *err)
{
    struct seen *s = user;
    int n = atomic_fetch_add(&s->opened, 1);

    if (s->opens_that_do >= 0 && n >= s->opens_that_do) {
        (void)atomic_fetch_add(&s->failed_opens, 1);
        return pdk_fail(err, PDK_ENOMEM, 0, "no local");
    }
    *local = &s->locals[n % 64];
    return 0;
}

static int pool_item(void *user, void *local, size_t item, struct pdk_err *err)
{
    struct seen *s = user;
    const char *mine = local;

    if (mine && (mine < s->locals || mine >= s->locals + sizeof(s->locals)))
        (void)atomic_fetch_add(&s->strangers, 1);
    (void)atomic_fetch_add(&s->items[item], 1);
    if ((int)item == s->fail_at)
        return pdk_fail(err, PDK_ECORRUPT, 0, "item %zu", item);
    return 0;
}

static void pool_close(void *user, void *local)
{
    struct seen *s = user;

    (void)local;
    (void)atomic_fetch_add(&s->closed, 1);
}

static void init(struct seen *s)
{
    memset(s, 0, sizeof(*s));
    s->fail_at = -1;
    s->opens_that_do = -1;
    threads_left = -1;
}

static void expect_each(struct seen *s, size_t items)
{
    for (size_t i = 0; i < ITEMS; i++)
        ck_assert_int_eq(atomic_load(&s->items[i]), i < items);
    ck_assert_int_eq(atomic_load(&s->strangers), 0);
}

START_TEST(each_item_is_done_once)
{
    static const size_t sizes[] = { 0, 1, 2, 7, 8, 9, 255, ITEMS };
    struct pdk_err err = PDK_ERR_INIT;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int threads = 0; threads < 12; threads += 3) {
            struct seen s;
            struct pdk_pool_spec spec = { .items = sizes[i],
                .share = 4,
                .threads = threads,
                .open = pool_open,
                .run = pool_item,
                .close = pool_close,
                .user = &s };

            init(&s);
            ck_assert_int_eq(pdk_pool_run(&spec, &err), 0);
            expect_each(&s, sizes[i]);
            ck_assert_int_eq(atomic_load(&s.opened), atomic_load(&s.closed));
            ck_assert_int_le(atomic_load(&s.opened), THREADS_MAX);
        }
    }
    ck_assert_str_eq(err.msg, "");
}
END_TEST

START_TEST(few_items_are_worth_one_thread)
{
    struct seen s;
    struct pdk_pool_spec spec = { .items = 99,
        .share = 100,
        .threads = 8,
        .open = pool_open,
        .run = pool_item,
        .close = pool_close,
        .user = &s };
    struct pdk_err err = PDK_ERR_INIT;

    init(&s);
    threads_left = 0; /* one would be refused */
    ck_assert_int_eq(pdk_pool_run(&spec, &err), 0);
    expect_each(&s, 99);
    ck_assert_int_eq(atomic_load(&s.opened), 1);
}
END_TEST

START_TEST(it_needs_neither_open_nor_close)
{
    struct seen s;
    struct pdk_pool_spec spec = {
        .items = ITEMS, .share = 10, .threads = 4, .run = pool_item, .user = &s
    };
    struct pdk_err err = PDK_ERR_INIT;

    init(&s);
    ck_assert_int_eq(pdk_pool_run(&spec, &err), 0);
    expect_each(&s, ITEMS);
}
END_TEST

START_TEST(threads_that_cannot_be_had_are_done_without)
{
    for (int left = 0; left < 4; left++) {
        struct seen s;
        struct pdk_pool_spec spec = { .items = ITEMS,
            .share = 1,
            .threads = 8,
            .open = pool_open,
            .run = pool_item,
            .close = pool_close,
            .user = &s };
        struct pdk_err err = PDK_ERR_INIT;

        init(&s);
        threads_left = left;
        ck_assert_int_eq(pdk_pool_run(&spec, &err), 0);
        expect_each(&s, ITEMS);
        ck_assert_int_eq(atomic_load(&s.opened), left + 1);
    }
}
END_TEST

START_TEST(a_failure_stops_the_rest_and_is_told)
{
    for (int threads = 1; threads <= 8; threads++) {
        struct seen s;
        struct pdk_pool_spec spec = { .items = ITEMS,
            .share = 1,
            .threads = threads,
            .open = pool_open,
            .run = pool_item,
            .close = pool_close,
            .user = &s };
        struct pdk_err err = PDK_ERR_INIT;

        init(&s);
        s.fail_at = 17;
        ck_assert_int_eq(pdk_pool_run(&spec, &err), PDK_ECORRUPT);
        ck_assert_str_eq(err.msg, "item 17");
        for (size_t i = 0; i < ITEMS; i++)
            ck_assert_int_le(atomic_load(&s.items[i]), 1);
        if (threads == 1)
            ck_assert_int_eq(atomic_load(&s.items[18]), 0);
        ck_assert_int_eq(atomic_load(&s.opened), atomic_load(&s.closed));
    }
}
END_TEST

START_TEST(an_open_that_fails_is_a_failure)
{
    for (int good = 0; good < 3; good++) {
        struct seen s;
        struct pdk_pool_spec spec = { .items = ITEMS,
            .share = 1,
            .threads = 4,
            .open = pool_open,
            .run = pool_item,
            .close = pool_close,
            .user = &s };
        struct pdk_err err = PDK_ERR_INIT;

        init(&s);
        s.opens_that_do = good;
        ck_assert_int_eq(pdk_pool_run(&spec, &err), PDK_ENOMEM);
        ck_assert_str_eq(err.msg, "no local");
        ck_assert_int_eq(atomic_load(&s.opened) - atomic_load(&s.failed_opens),
                atomic_load(&s.closed));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees_pool");
    TCase *tc = tcase_create("pool");

    tcase_add_test(tc, each_item_is_done_once);
    tcase_add_test(tc, few_items_are_worth_one_thread);
    tcase_add_test(tc, it_needs_neither_open_nor_close);
    tcase_add_test(tc, threads_that_cannot_be_had_are_done_without);
    tcase_add_test(tc, a_failure_stops_the_rest_and_is_told);
    tcase_add_test(tc, an_open_that_fails_is_a_failure);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
