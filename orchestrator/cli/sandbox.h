/* What the sandbox commands share: finding one by name and opening it. */
#ifndef PDK_ORCHESTRATOR_CLI_SANDBOX_H
#define PDK_ORCHESTRATOR_CLI_SANDBOX_H

#include "backends/backend.h"
#include "orchestrator/cli/context.h"

/* A sandbox by its row. Fini may run more than once. */
struct pdk_named {
    struct pdk_sandbox_row row;
    struct pdk_sandbox_record record;
};

void pdk_named_fini(struct pdk_named *named);
#define PDK_AUTO_NAMED __attribute__((cleanup(pdk_named_fini)))

/* Opens the store as well. PDK_ENOTFOUND lists those there are; one that is gone counts as none. */
int pdk_named_find(struct pdk_cli *cli, const char *name, struct pdk_named *out,
        struct pdk_err *err);
int pdk_named_record(const struct pdk_sandbox_row *row, struct pdk_sandbox_record *out,
        struct pdk_err *err);
/* The handle on its working copy, and the vault. */
int pdk_named_open(struct pdk_cli *cli, const struct pdk_named *named,
        struct pdk_sandbox **out, struct pdk_err *err);
/* Its state as a tree, in the vault. Opens what it needs; warnings of the capture are said. */
int pdk_named_tree(struct pdk_cli *cli, const char *name, struct pdk_named *named,
        struct pdk_oid *to, struct pdk_err *err);
/* Appends one event about it to the log. body is taken. */
int pdk_named_event(struct pdk_cli *cli, const struct pdk_sandbox_row *row, int type,
        struct pdk_json *body, struct pdk_err *err);

#endif
