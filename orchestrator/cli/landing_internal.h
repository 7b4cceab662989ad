/* What the files of landing share. */
#ifndef PDK_ORCHESTRATOR_CLI_LANDING_INTERNAL_H
#define PDK_ORCHESTRATOR_CLI_LANDING_INTERNAL_H

struct pdk_cli;
struct pdk_err;
struct pdk_err;
struct pdk_json;
struct pdk_run_row;
struct pdk_promotion_row;

/* Puts into a record who decides: the account, and git's name for the person. */
void pdk_landing_sign(const struct pdk_cli *cli, struct pdk_json *body);
/* Commits what the promotion, which is in place, brought; fine where that has been done. */
int pdk_landing_commit(struct pdk_cli *cli, const struct pdk_run_row *run, int candidate,
        const char *promotion, struct pdk_err *err);

#endif
