/* Where the agent program is. */
#ifndef PDK_SANDBOX_AGENT_PATH_H
#define PDK_SANDBOX_AGENT_PATH_H

struct pdk_err;

/*
 * $PADDOCK_AGENT, else beside our own program, else where it was installed (as seen from our own
 * program, then by its absolute path). Owned by the caller. PDK_EUNAVAIL names the places.
 */
int pdk_agent_path(char **out, struct pdk_err *err);

#endif
