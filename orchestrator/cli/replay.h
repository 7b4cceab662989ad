/* The verdicts of a run out of its log. */
#ifndef PDK_ORCHESTRATOR_CLI_REPLAY_H
#define PDK_ORCHESTRATOR_CLI_REPLAY_H

#include <stddef.h>

struct pdk_err;
struct pdk_fold;
struct pdk_store;

/* All events of a run, folded; owned by the caller. */
int pdk_replay_run(struct pdk_store *store, const char *run, struct pdk_fold **out,
        struct pdk_err *err);
/*
 * Holds what the store says of every ended run against its log. PDK_ECORRUPT names the first that
 * differs; *runs is how many were looked at.
 */
int pdk_replay_check(struct pdk_store *store, size_t *runs, struct pdk_err *err);

#endif
