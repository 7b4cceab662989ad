#include "trees/index_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum { SLOTS = 2 };

struct pdk_index_lease {
    struct pdk_index index;
    struct stat st;   /* of its file */
    int fd;           /* held, so that no other file gets its number; -1: not kept */
    atomic_int users; /* leases, and the cache */
};

struct pdk_index_cache {
    pthread_mutex_t mutex;
    struct pdk_index_lease *slots[SLOTS]; /* the last one used first */
};

struct pdk_index_cache *pdk_index_cache_new(void)
{
    struct pdk_index_cache *cache = calloc(1, sizeof(*cache));

    if (cache)
        (void)pthread_mutex_init(&cache->mutex, NULL); /* cannot fail on Linux */
    return cache;
}

void pdk_index_return(struct pdk_index_lease *lease)
{
    if (!lease || atomic_fetch_sub(&lease->users, 1) > 1)
        return;
    pdk_index_fini(&lease->index);
    if (lease->fd >= 0)
        (void)close(lease->fd);
    free(lease);
}

void pdk_index_cache_free(struct pdk_index_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        pdk_index_return(cache->slots[i]);
    (void)pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

const struct pdk_index *pdk_index_leased(const struct pdk_index_lease *lease)
{
    return &lease->index;
}

/* Its number of names changes all the time, and its change time with that. */
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
            a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
            a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Puts it first; what was last is given back. */
static void keep(struct pdk_index_cache *cache, struct pdk_index_lease *lease, size_t at)
{
    if (at == SLOTS) {
        at = SLOTS - 1;
        pdk_index_return(cache->slots[at]);
        (void)atomic_fetch_add(&lease->users, 1);
    }
    for (size_t i = at; i > 0; i--)
        cache->slots[i] = cache->slots[i - 1];
    cache->slots[0] = lease;
}

static struct pdk_index_lease *find(struct pdk_index_cache *cache, const struct stat *st)
{
    struct pdk_index_lease *found = NULL;

    (void)pthread_mutex_lock(&cache->mutex);
    for (size_t i = 0; i < SLOTS && !found; i++) {
        if (!cache->slots[i] || !is_same(&cache->slots[i]->st, st))
            continue;
        found = cache->slots[i];
        keep(cache, found, i);
        (void)atomic_fetch_add(&found->users, 1);
    }
    (void)pthread_mutex_unlock(&cache->mutex);
    return found;
}

int pdk_index_borrow(struct pdk_index_cache *cache, const char *path,
        struct pdk_index_lease **out, struct pdk_err *err)
{
    PDK_AUTO_FD int fd = cache ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    PDK_AUTO_LEASE struct pdk_index_lease *made = NULL;
    struct stat st = { 0 }, after;
    bool shared = fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink > 1;

    *out = shared ? find(cache, &st) : NULL;
    if (*out)
        return 0;
    made = calloc(1, sizeof(*made));
    if (!made)
        return pdk_fail_nomem(err);
    made->fd = -1;
    atomic_init(&made->users, 1);
    if (pdk_index_read(path, &made->index, err) < 0)
        return err->code;
    if (shared && stat(path, &after) == 0 && is_same(&st, &after)) {
        made->st = st;
        made->fd = pdk_take_fd(&fd);
        (void)pthread_mutex_lock(&cache->mutex);
        keep(cache, made, SLOTS);
        (void)pthread_mutex_unlock(&cache->mutex);
    }
    *out = pdk_take_ptr(&made);
    return 0;
}
