#include "trees/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/error.h"

enum { THREADS_MAX = 8 };

struct pool {
    const struct pdk_pool_spec *spec;
    atomic_size_t next;
    atomic_bool stop;
};

struct worker {
    struct pool *pool;
    pthread_t thread;
    struct pdk_err err;
    int rc;
};

static void *work(void *user)
{
    struct worker *w = user;
    const struct pdk_pool_spec *spec = w->pool->spec;
    void *local = NULL;

    w->rc = spec->open ? spec->open(spec->user, &local, &w->err) : 0;
    while (w->rc == 0 && !atomic_load(&w->pool->stop)) {
        size_t item = atomic_fetch_add(&w->pool->next, 1);

        if (item >= spec->items)
            break;
        w->rc = spec->run(spec->user, local, item, &w->err);
    }
    if (w->rc < 0)
        atomic_store(&w->pool->stop, true);
    if (spec->close && local)
        spec->close(spec->user, local);
    return NULL;
}

static int count_threads(const struct pdk_pool_spec *spec)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long useful = (long)(spec->items / (spec->share ? spec->share : 1)) + 1;
    long n = spec->threads > 0 ? spec->threads : cores;

    n = n < useful ? n : useful;
    n = n < THREADS_MAX ? n : THREADS_MAX;
    return n > 0 ? (int)n : 1;
}

int pdk_pool_run(const struct pdk_pool_spec *spec, struct pdk_err *err)
{
    struct worker workers[THREADS_MAX];
    struct pool pool = { .spec = spec };
    int n = count_threads(spec), started = 1, rc = 0;

    atomic_init(&pool.next, 0);
    atomic_init(&pool.stop, false);
    for (int i = 0; i < n; i++)
        workers[i] = (struct worker){ .pool = &pool };
    /* A thread that cannot be had is one less: the others do its share. */
    while (started < n &&
            pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
        started++;
    (void)work(&workers[0]);
    for (int i = 0; i < started; i++) {
        if (i > 0)
            (void)pthread_join(workers[i].thread, NULL);
        if (workers[i].rc < 0 && rc == 0) {
            rc = workers[i].rc;
            *err = workers[i].err;
        }
    }
    return rc;
}
