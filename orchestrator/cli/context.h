/*
 * What every command is given: the global options, and the things that most commands open,
 * opened on first use and closed at the end.
 */
#ifndef PDK_ORCHESTRATOR_CLI_CONTEXT_H
#define PDK_ORCHESTRATOR_CLI_CONTEXT_H

#include <stdbool.h>

#include "base/error.h"
#include "orchestrator/cli/cli.h"
#include "store/state.h"
#include "store/store.h"
#include "trees/repo.h"
#include "trees/vault.h"
#include "verify/verdict.h"

struct pdk_cli {
    const char *dir;   /* -C, or "." */
    const char *state; /* --state, or NULL */
    bool json, quiet, verbose;
    bool color; /* stderr may carry colours */
    struct pdk_repo *repo;
    struct pdk_state paths; /* root NULL: not opened */
    struct pdk_store *store;
    struct pdk_vault *vault;
};

void pdk_cli_fini(struct pdk_cli *cli);

/*
 * Each opens what is missing; borrowed, until pdk_cli_fini(). With the store a promotion that was cut off
 * is finished or taken back.
 */
int pdk_cli_open_repo(struct pdk_cli *cli, struct pdk_err *err);
int pdk_cli_open_store(
        struct pdk_cli *cli, struct pdk_err *err); /* repo and state as well */
/*
 * For commands that only look, and make nothing: the store to read, or NULL in cli->store where
 * nothing is recorded yet.
 */
int pdk_cli_find_store(struct pdk_cli *cli, struct pdk_err *err);
/* The same, where having none is PDK_ENOTFOUND. */
int pdk_cli_open_store_ro(struct pdk_cli *cli, struct pdk_err *err);
int pdk_cli_open_vault(struct pdk_cli *cli, struct pdk_err *err); /* the store as well */

/* Reports the failure (stderr, or the JSON envelope on stdout) and returns the exit status. */
int pdk_cli_fail(const struct pdk_cli *cli, const struct pdk_err *err);
/* The same; extra (taken; NULL: none) stands in the JSON envelope's error under key. */
int pdk_cli_fail_with(const struct pdk_cli *cli, const struct pdk_err *err,
        struct pdk_json *extra, const char *key);
/* Prints and frees doc on stdout, one document; returns 0, or the status of a failure. */
int pdk_cli_print(const struct pdk_cli *cli, struct pdk_json *doc);
/* The exit status of a verdict: 0, 1, and 3 for an abstain. */
int pdk_verdict_status(enum pdk_verdict verdict);
/* {"schema_version": 1, "items": items}; takes items. */
struct pdk_json *pdk_cli_listing(struct pdk_json *items);
/* Talk on stderr, unless -q. */
__attribute__((format(printf, 2, 3))) void pdk_cli_say(
        const struct pdk_cli *cli, const char *fmt, ...);

/* "RUN/CAND" or "RUN/TASK/CAND": the parts, owned by the caller; what is missing is NULL. */
struct pdk_run_name {
    char *run, *task, *candidate;
};

void pdk_run_name_fini(struct pdk_run_name *name);
#define PDK_AUTO_RUN_NAME __attribute__((cleanup(pdk_run_name_fini)))
int pdk_run_name_parse(const char *text, struct pdk_run_name *out, struct pdk_err *err);
/* The number in a candidate's name "c3"; PDK_EINVAL where it is missing or none. */
int pdk_run_name_index(const struct pdk_run_name *name, struct pdk_err *err);

#endif
