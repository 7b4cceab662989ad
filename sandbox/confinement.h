/* What confines commands on this host, asked of the agent program; and the operator's own runner. Blocks. */
#ifndef PDK_SANDBOX_CONFINEMENT_H
#define PDK_SANDBOX_CONFINEMENT_H

#include "sandbox/confine/confine.h"

struct pdk_err;

/* agent: its path; root: a directory that is there, which it is tried on. */
int pdk_confinement_probe(
        const char *agent, const char *root, struct pdk_means *out, struct pdk_err *err);

/*
 * The runner of $PADDOCK_RUNNER, else of $XDG_CONFIG_HOME/paddock/runner.json (~/.config): a JSON
 * object in the form of pdk_runner_from_json(). No file: an empty one. PDK_EINVAL names the file that
 * is out of form. The file is the operator's: nothing of a repository or a mission leads to it.
 */
int pdk_confinement_runner(struct pdk_runner *out, struct pdk_err *err);

#endif
