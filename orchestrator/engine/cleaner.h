/* Removes in the background what teardowns moved away: nobody waits for it. */
#ifndef PDK_ORCHESTRATOR_ENGINE_CLEANER_H
#define PDK_ORCHESTRATOR_ENGINE_CLEANER_H

#include "base/auto.h"

struct pdk_cleaner; /* opaque, heap: a thread */

/*
 * Starts with what earlier processes left. lock: the registry lock, copied. NULL where no thread can be
 * had: the next run, or gc, removes it then.
 */
struct pdk_cleaner *pdk_cleaner_open(const char *lock);
/* There is more. NULL is fine. */
void pdk_cleaner_kick(struct pdk_cleaner *cleaner);
/* Waits a moment for it to finish, then ends it: the rest is the next one's. NULL is fine. */
void pdk_cleaner_close(struct pdk_cleaner *cleaner);

#endif
