/* Following a run that another process drives, and printing events as JSON Lines. */
#ifndef PDK_ORCHESTRATOR_CLI_FOLLOW_H
#define PDK_ORCHESTRATOR_CLI_FOLLOW_H

#include <stdbool.h>

struct pdk_cli;
struct pdk_event;

/* Whether a process drives the run now (its lock is held). */
bool pdk_follow_is_live(const struct pdk_cli *cli, const char *run);
/* The pause between two looks. */
void pdk_follow_wait(void);
/* One event as a line of JSON on stdout; non-zero once stdout takes no more. */
int pdk_event_print(const struct pdk_event *event, void *user);

#endif
