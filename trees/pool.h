/* The same work on several threads: items are handed out by a counter, the first failure stops all. */
#ifndef PDK_TREES_POOL_H
#define PDK_TREES_POOL_H

#include <stddef.h>

struct pdk_err;

struct pdk_pool_spec {
    size_t items; /* 0… items - 1 are done, each once */
    size_t share; /* so many items are worth a thread */
    int threads;  /* at most; 0: as many as there are cores */
    /* What one thread works with; NULL functions: nothing. */
    int (*open)(void *user, void **local, struct pdk_err *err);
    int (*run)(void *user, void *local, size_t item, struct pdk_err *err);
    void (*close)(void *user, void *local);
    void *user;
};

/* Blocks until all is done. The error is that of the first thread that failed. */
int pdk_pool_run(const struct pdk_pool_spec *spec, struct pdk_err *err);

#endif
