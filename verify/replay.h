/* Events as `paddock events` prints them, folded again: anywhere, without a store. */
#ifndef PDK_VERIFY_REPLAY_H
#define PDK_VERIFY_REPLAY_H

#include <stddef.h>

struct pdk_err;
struct pdk_fold;

/*
 * Folds every line of text; blank ones and events of types that this version does not know have no
 * effect. PDK_EINVAL names the line that is no event of one run, and what is wrong with it.
 */
int pdk_replay(struct pdk_fold *fold, const char *text, size_t len, struct pdk_err *err);

#endif
