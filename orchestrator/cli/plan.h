/* From a command line to a plan: the file, the flags over it, and what is said when it is wrong. */
#ifndef PDK_ORCHESTRATOR_CLI_PLAN_H
#define PDK_ORCHESTRATOR_CLI_PLAN_H

struct pdk_args;
struct pdk_cli;
struct pdk_err;
struct pdk_plan;

/*
 * Loads path (NULL: from flags alone) with the flags of args. Prints what is wrong with the file
 * on stderr, or returns it in the JSON envelope. Returns 0 and *out, or the exit status.
 */
int pdk_cli_load_plan(struct pdk_cli *cli, const struct pdk_args *args, const char *path,
        struct pdk_plan **out);

#endif
