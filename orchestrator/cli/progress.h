/*
 * The eye's view of a run on stderr: a live table on a terminal, one line a change elsewhere.
 * Untrusted output is made printable. Loop thread only.
 */
#ifndef PDK_ORCHESTRATOR_CLI_PROGRESS_H
#define PDK_ORCHESTRATOR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "orchestrator/engine/listener.h"

struct pdk_err;
struct pdk_progress; /* opaque, heap */

/* For n candidates. live: a table that is redrawn; quiet: nothing at all. */
int pdk_progress_new(
        size_t n, bool live, bool quiet, struct pdk_progress **out, struct pdk_err *err);
void pdk_progress_free(struct pdk_progress *p);
/* Fills the listener's functions but on_event, and its user. */
void pdk_progress_listen(struct pdk_progress *p, struct pdk_engine_listener *listener);
/* Draws the last state and leaves the cursor below it. */
void pdk_progress_end(struct pdk_progress *p);

#endif
