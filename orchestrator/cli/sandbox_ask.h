/* One verb of the protocol, asked of a sandbox by its name. */
#ifndef PDK_ORCHESTRATOR_CLI_SANDBOX_ASK_H
#define PDK_ORCHESTRATOR_CLI_SANDBOX_ASK_H

#include "orchestrator/cli/sandbox.h"
#include "sandbox/client.h"

/* What starts an agent on an open sandbox. The strings are borrowed from it, and from agent. */
struct pdk_agent_start {
    const char *argv[6];
    struct pdk_strv env;
    char *agent;
};

int pdk_agent_start_init(
        struct pdk_agent_start *s, const struct pdk_sandbox *sb, struct pdk_err *err);
void pdk_agent_start_fini(struct pdk_agent_start *s);

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
