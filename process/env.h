/* Environments for children: built by allow-list, never inherited whole. */
#ifndef PDK_PROCESS_ENV_H
#define PDK_PROCESS_ENV_H

#include "base/str.h"

struct pdk_err;

/*
 * Appends the safe base of the caller's environment: PATH HOME LANG LC_* TERM TMPDIR TZ USER LOGNAME
 * SHELL, with defaults for PATH and HOME where they are missing.
 */
void pdk_env_base(struct pdk_strv *env);
/* Sets NAME=value, replacing an earlier entry of that name. */
void pdk_env_set(struct pdk_strv *env, const char *name, const char *value);
/* Copies NAME from the caller's environment when it is there. */
void pdk_env_pass(struct pdk_strv *env, const char *name);
/* NULL where it is not set. Borrowed. */
const char *pdk_env_get(const struct pdk_strv *env, const char *name);
/* Does the name look like a credential: *KEY* *SECRET* *TOKEN* *PASSWORD*, any case? */
bool pdk_env_is_secret(const char *name);

#endif
