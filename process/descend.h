/*
 * The descendants of this process: found, signalled, and proven gone. Needs
 * pdk_descend_adopt() at start, so that orphans come back to us. A child of ours that was cloned to tell
 * its end by another signal than SIGCHLD (or by none) stands apart, with all below it: nothing here
 * counts, signals or waits for it, and nothing that it leaves behind can become one of those.
 */
#ifndef PDK_PROCESS_DESCEND_H
#define PDK_PROCESS_DESCEND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pdk_err;

/* Makes this process the reaper of its descendants (PR_SET_CHILD_SUBREAPER). */
int pdk_descend_adopt(struct pdk_err *err);
/*
 * Sends sig to every living descendant (as init of a pid namespace: to everybody else in it).
 * KILL stops them all first, so that none that forks meanwhile gets away.
 * Returns how many were signalled, or a negative code.
 */
int pdk_descend_signal(int sig, struct pdk_err *err);
/* How many living (not zombie) descendants there are, now. Negative code when it cannot be told. */
int pdk_descend_count(struct pdk_err *err);
/*
 * True when waitpid() says that we have no child at all: since orphans come to us, no descendant
 * is alive. The proof that a tree is gone.
 */
bool pdk_descend_none(void);

#endif
