/*
 * Submodules of a sandbox: filled from what the user has below .git/modules, never from anywhere else.
 * Each has a git directory of its own (its objects lead to the user's) and an index of ours beside the
 * sandbox, by which changes in it are noticed. What changes in one is no part of the result, whose
 * gitlinks stay as they are: it is dirt, and a capture warns of it.
 *
 *   <dir>/modules/N/  index, vault.git, and `about`: its path and the user's git directory of it
 */
#ifndef PDK_BACKENDS_SUBMODULES_H
#define PDK_BACKENDS_SUBMODULES_H

#include <stdbool.h>

#include "trees/capture.h"

struct pdk_err;
struct pdk_sandbox;
struct pdk_vault;

/*
 * Fills what can be filled; warnings name the others. Called once, when sb's copy and index are made.
 * recursive: submodules of submodules as well.
 */
int pdk_submodules_fill(struct pdk_sandbox *sb, struct pdk_vault *vault, bool recursive,
        struct pdk_strv *warnings, struct pdk_err *err);

/* Adds an 'M' for each that was changed. */
int pdk_submodules_dirt(
        const struct pdk_sandbox *sb, struct pdk_dirt *dirt, struct pdk_err *err);
/* Adds a line for each that was changed. */
int pdk_submodules_warn(
        const struct pdk_sandbox *sb, struct pdk_strv *warnings, struct pdk_err *err);
/* As they are now they are clean. */
int pdk_submodules_rebase(const struct pdk_sandbox *sb, struct pdk_err *err);

#endif
