/* Sessions of a sandbox: what a call may write, who decides when it asks for more. */
#ifndef PDK_ORCHESTRATOR_CLI_SANDBOX_MODE_H
#define PDK_ORCHESTRATOR_CLI_SANDBOX_MODE_H

#include "orchestrator/cli/sandbox.h"
#include "sandbox/confine/confine.h"

/*
 * The policy of one call by its options (--session, --mode, --sandbox-permissions, --justification,
 * --require-enforcement): settled, and asked for where it must be, before anything runs. An error
 * means that nothing may run. What is in *out is the caller's, also after a failure.
 */
int pdk_call_policy(struct pdk_cli *cli, const struct pdk_args *args,
        const struct pdk_named *named, struct pdk_policy *out, struct pdk_err *err);

/*
 * Held while a terminal of the session is being opened or is open: its mode stays meanwhile.
 * PDK_ECONFLICT while it is being changed. *fd is owned by the caller; closing it lets go.
 */
int pdk_session_hold_terminal(struct pdk_cli *cli, const struct pdk_args *args,
        const struct pdk_named *named, int *fd, struct pdk_err *err);

#endif
