/* Running the engine from a command, with an eye on stderr. */
#ifndef PDK_ORCHESTRATOR_CLI_DRIVE_H
#define PDK_ORCHESTRATOR_CLI_DRIVE_H

struct pdk_args;
struct pdk_cli;
struct pdk_engine_result;
struct pdk_engine_spec;
struct pdk_err;

/* Fills the listener of spec; the rest is the caller's. */
int pdk_drive(struct pdk_cli *cli, const struct pdk_args *args,
        struct pdk_engine_spec *spec, struct pdk_engine_result *result,
        struct pdk_err *err);
/* The exit status of a run: its verdict's, or the signal's that interrupted it. */
int pdk_drive_status(const struct pdk_engine_result *result);

#endif
