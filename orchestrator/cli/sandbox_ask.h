/* One verb of the protocol, asked of a sandbox by its name. */
#ifndef PDK_ORCHESTRATOR_CLI_SANDBOX_ASK_H
#define PDK_ORCHESTRATOR_CLI_SANDBOX_ASK_H

#include "orchestrator/cli/sandbox.h"
#include "sandbox/client.h"

/* The process that becomes the agent of an open named sandbox, which is on this host. */
struct pdk_named_agent {
    struct pdk_strv argv, env;
};

int pdk_named_agent_init(
        struct pdk_named_agent *a, const struct pdk_sandbox *sb, struct pdk_err *err);
void pdk_named_agent_fini(struct pdk_named_agent *a);
#define PDK_AUTO_NAMED_AGENT __attribute__((cleanup(pdk_named_agent_fini)))
/* What a client is opened with; borrowed from a. */
struct pdk_client_spec pdk_named_agent_spec(const struct pdk_named_agent *a);

/*
 * on_result is given each answer (borrowed), in the loop; where it sets *again (taken), the verb is
 * asked once more with those params. What it returns ends it.
 */
struct pdk_ask {
    enum pdk_verb verb;
    const struct pdk_json *params;
    int (*on_result)(const struct pdk_json *result, struct pdk_json **again, void *user,
            struct pdk_err *err);
    void *user;
};

int pdk_sandbox_ask(struct pdk_cli *cli, const char *name, const struct pdk_ask *ask,
        struct pdk_err *err);

#endif
