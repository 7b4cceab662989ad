/*
 * Container engines, one const table each, behind calls that block and have deadlines: an engine that
 * hangs costs its deadline and no more. All by argv of the engine's own client; never a shell.
 */
#ifndef PDK_BACKENDS_CONTAINER_ENGINE_H
#define PDK_BACKENDS_CONTAINER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct pdk_err;
struct pdk_json;

enum { PDK_ENGINE_DEADLINE_MS = 30000 };

/* What an engine said about itself and the image. Owned text; "" where it said nothing. */
struct pdk_engine_facts {
    char *version, *runtime, *kernel, *image; /* image: its id, a digest */
};

void pdk_engine_facts_fini(struct pdk_engine_facts *facts);

/* One bind mount; paths are the same on both sides. */
struct pdk_bind {
    const char *path;
    bool read_only;
};

/* A container to start. All borrowed. */
struct pdk_container {
    const char *name;
    const char *owner, *run; /* labels; run NULL: none */
    const char *image, *network, *user;
    double cpus;    /* 0: no limit, as below */
    int64_t memory; /* bytes */
    int pids;
    const struct pdk_bind *binds;
    size_t binds_len;
    const char *const *command; /* its first process: NULL-terminated argv */
};

struct pdk_engine {
    const char *name;
    const char *program; /* the client, found by PATH */
    const char *claim;   /* what may be said once it was seen to work here */
    /* Members of `info`'s JSON, by dotted path. */
    const char *const *info_argv; /* after the program, NULL-terminated */
    const char *version_at, *runtime_at, *kernel_at;
    const char *list_format; /* of `ps`: name, tab, label of the run */
    /* Arguments of `run` that only this one needs; NULL: none. */
    void (*add_run)(struct pdk_strv *argv);
};

extern const struct pdk_engine pdk_docker_engine;
extern const struct pdk_engine pdk_podman_engine;

size_t pdk_engine_count(void);
const struct pdk_engine *pdk_engine_at(size_t i);
/* PDK_EINVAL lists those there are. */
int pdk_engine_find(const char *name, const struct pdk_engine **out, struct pdk_err *err);

/* The environment of the client: a safe base and where the engine is to be found. */
void pdk_engine_env(struct pdk_strv *env);
/* Asks it: PDK_EUNAVAIL where there is none or it does not answer. facts->image stays NULL. */
int pdk_engine_probe(const struct pdk_engine *engine, struct pdk_engine_facts *facts,
        struct pdk_err *err);
/*
 * The image's id. pull: "never", "missing" or "always"; PDK_EUNAVAIL with the command that would fetch
 * it where it is not there and may not be pulled.
 */
int pdk_engine_image(const struct pdk_engine *engine, const char *image, const char *pull,
        char **id, struct pdk_err *err);
/* argv of the client that starts it, attached: its stdin and stdout are those of the first process. */
void pdk_engine_run_argv(const struct pdk_engine *engine,
        const struct pdk_container *container, struct pdk_strv *argv);
/* Ends and removes it; one that is not there is fine. deadline_ms 0: the default. */
int pdk_engine_remove(const struct pdk_engine *engine, const char *name,
        int64_t deadline_ms, struct pdk_err *err);
/* Calls visit with name and run (label; "" for none) of each container with owner's label. */
int pdk_engine_list(const struct pdk_engine *engine, const char *owner,
        void (*visit)(const char *name, const char *run, void *user), void *user,
        struct pdk_err *err);

#endif
