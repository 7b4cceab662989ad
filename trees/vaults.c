#include "trees/vaults.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trees/vault.h"

/* As many as worker threads; more are closed when they come back. */
enum { IDLE_MAX = 4 };

struct pdk_vaults {
    char *path, *objects;
    pthread_mutex_t mutex; /* of what follows */
    struct pdk_vault *idle[IDLE_MAX];
    size_t len;
};

int pdk_vaults_new(const char *path, const char *objects, struct pdk_vaults **out,
        struct pdk_err *err)
{
    struct pdk_vaults *v = calloc(1, sizeof(*v));

    if (!v)
        return pdk_fail_nomem(err);
    (void)pthread_mutex_init(&v->mutex, NULL); /* of the default kind: cannot fail */
    v->path = strdup(path);
    v->objects = strdup(objects);
    if (!v->path || !v->objects) {
        pdk_vaults_free(v);
        return pdk_fail_nomem(err);
    }
    *out = v;
    return 0;
}

void pdk_vaults_free(struct pdk_vaults *v)
{
    if (!v)
        return;
    while (v->len > 0)
        pdk_vault_close(v->idle[--v->len]);
    (void)pthread_mutex_destroy(&v->mutex);
    free(v->path);
    free(v->objects);
    free(v);
}

int pdk_vaults_take(struct pdk_vaults *v, struct pdk_vault **out, struct pdk_err *err)
{
    struct pdk_vault *vault = NULL;

    (void)pthread_mutex_lock(&v->mutex);
    if (v->len > 0)
        vault = v->idle[--v->len];
    (void)pthread_mutex_unlock(&v->mutex);
    if (!vault)
        return pdk_vault_open(v->path, v->objects, out, err);
    *out = vault;
    return 0;
}

void pdk_vaults_give(struct pdk_vaults *v, struct pdk_vault *vault)
{
    if (!vault)
        return;
    (void)pthread_mutex_lock(&v->mutex);
    if (v->len < IDLE_MAX) {
        v->idle[v->len++] = vault;
        vault = NULL;
    }
    (void)pthread_mutex_unlock(&v->mutex);
    pdk_vault_close(vault);
}
