/*
 * Limits on what a command and its descendants may use, by a cgroup of their own where one can be
 * made, else by what each process can put on itself; which of them held is told. Safe on every
 * thread, one limiter per command.
 */
#ifndef PDK_PROCESS_LIMITS_H
#define PDK_PROCESS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct pdk_err;
struct pdk_spawn_spec;

/* 0: no limit. */
struct pdk_limits {
    int64_t memory; /* bytes, of all processes together */
    int64_t pids;   /* processes and threads at once */
    double cpus;    /* processors' worth of time */
};

/* What keeps a limit. Of the weaker ones, RLIMIT is per process (memory) or per user (pids). */
enum pdk_hold { PDK_HOLD_NONE, PDK_HOLD_RLIMIT, PDK_HOLD_AFFINITY, PDK_HOLD_CGROUP };

/* NONE also where no limit was asked for. */
struct pdk_held {
    enum pdk_hold memory, pids, cpus;
};

const char *pdk_hold_name(
        enum pdk_hold hold);         /* "none", "rlimit", "affinity", "cgroup" */
int pdk_hold_find(const char *name); /* -1 where it is none */
/* Every limit that was asked for is held by a cgroup. */
bool pdk_held_in_full(const struct pdk_limits *limits, const struct pdk_held *held);

struct pdk_limiter; /* opaque, heap */

/* own: processes of ours that run beside the command's in it. Fails for want of memory alone. */
int pdk_limiter_new(const struct pdk_limits *limits, int own, struct pdk_limiter **out,
        struct pdk_err *err);
/* The child of that spec puts the limits on itself; what the spec points at is the limiter's. */
void pdk_limiter_apply(struct pdk_limiter *l, struct pdk_spawn_spec *spec);
struct pdk_held pdk_limiter_held(const struct pdk_limiter *l);
/* How many of its processes the kernel ended for want of memory; 0 where that is not told. */
int64_t pdk_limiter_oom_kills(const struct pdk_limiter *l);
/* Once no process is left in it: removes the cgroup. NULL is fine. */
void pdk_limiter_free(struct pdk_limiter *l);

#endif
