/*
 * Landlock: a ruleset that a child puts on itself before it executes a command. By ABI version: a
 * kernel gets the rights that it knows, and what it cannot cover is said.
 */
#ifndef PDK_SANDBOX_CONFINE_LANDLOCK_H
#define PDK_SANDBOX_CONFINE_LANDLOCK_H

#include "base/str.h"
#include "plan/plan.h"

struct pdk_err;

enum {
    PDK_LANDLOCK_SCOPES = 6 /* the first ABI that fences abstract sockets and signals */
};

/* The kernel's ABI version; 0 where there is none, with errno. */
int pdk_landlock_abi(void);

/*
 * A ruleset for a mode, as an open descriptor (owned by the caller, close-on-exec): reading and
 * executing anywhere, writing to the usual devices and, but for read-only, below the roots. Devices
 * cannot be made anywhere. PDK_EUNAVAIL where the kernel has no Landlock.
 */
int pdk_landlock_ruleset(enum pdk_confine mode, const struct pdk_strv *roots, int abi,
        int *out, struct pdk_err *err);
/* Only the scopes (abstract sockets, signals), for use inside of another dialect; ABI 6 and above. */
int pdk_landlock_scopes(int *out, struct pdk_err *err);
/* What this version does not cover, a line each. */
void pdk_landlock_missing(int abi, struct pdk_strv *out);

#endif
