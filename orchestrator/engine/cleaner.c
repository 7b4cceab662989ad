#include "orchestrator/engine/cleaner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "backends/backend.h"
#include "base/error.h"
#include "base/log.h"

enum { PATIENCE_MS = 500, PASS_MS = 3600 * 1000 };

struct pdk_cleaner {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    char *lock;
    bool asked, busy, ending; /* under the mutex */
    atomic_bool stop;         /* leave off where you are */
};

static void clean(struct pdk_cleaner *c)
{
    struct pdk_err err = PDK_ERR_INIT;
    int rc = pdk_sandbox_clean(c->lock, PASS_MS, &c->stop, NULL, &err);

    /* Another process at it, and an end before the end, are as they should be. */
    if (rc < 0 && rc != PDK_ECONFLICT && rc != PDK_ECANCELED)
        pdk_log(PDK_LOG_WARN, "cleaning error=\"%s\", left for gc", err.msg);
}

static void *cleaner_run(void *user)
{
    struct pdk_cleaner *c = user;

    /* Of this thread alone: what runs comes first. It need not succeed. */
    (void)setpriority(PRIO_PROCESS, 0, 10);
    (void)pthread_mutex_lock(&c->mutex);
    for (;;) {
        while (!c->asked && !c->ending)
            (void)pthread_cond_wait(&c->changed, &c->mutex);
        if (!c->asked)
            break;
        c->asked = false;
        c->busy = true;
        (void)pthread_mutex_unlock(&c->mutex);
        clean(c);
        (void)pthread_mutex_lock(&c->mutex);
        c->busy = false;
        (void)pthread_cond_broadcast(&c->changed);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return NULL;
}

static void cleaner_free(struct pdk_cleaner *c)
{
    (void)pthread_cond_destroy(&c->changed);
    (void)pthread_mutex_destroy(&c->mutex);
    free(c->lock);
    free(c);
}

struct pdk_cleaner *pdk_cleaner_open(const char *lock)
{
    struct pdk_cleaner *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    (void)pthread_mutex_init(&c->mutex, NULL); /* these cannot fail on Linux */
    (void)pthread_cond_init(&c->changed, NULL);
    atomic_init(&c->stop, false);
    c->asked = true;
    c->lock = strdup(lock);
    if (c->lock && pthread_create(&c->thread, NULL, cleaner_run, c) == 0)
        return c;
    cleaner_free(c);
    return NULL;
}

void pdk_cleaner_kick(struct pdk_cleaner *c)
{
    if (!c)
        return;
    (void)pthread_mutex_lock(&c->mutex);
    c->asked = true;
    (void)pthread_cond_broadcast(&c->changed);
    (void)pthread_mutex_unlock(&c->mutex);
}

void pdk_cleaner_close(struct pdk_cleaner *c)
{
    struct timespec until = { 0, 0 };
    int rc = 0;

    if (!c)
        return;
    (void)clock_gettime(CLOCK_REALTIME, &until); /* cannot fail for this clock */
    until.tv_nsec += PATIENCE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    (void)pthread_mutex_lock(&c->mutex);
    c->ending = true;
    (void)pthread_cond_broadcast(&c->changed);
    while ((c->asked || c->busy) && rc == 0)
        rc = pthread_cond_timedwait(&c->changed, &c->mutex, &until);
    atomic_store(&c->stop, true);
    (void)pthread_mutex_unlock(&c->mutex);
    (void)pthread_join(c->thread, NULL);
    cleaner_free(c);
}
