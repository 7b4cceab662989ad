/* Where removed sandboxes wait for their files to go: trash/ beside the registry lock. */
#ifndef PDK_BACKENDS_TRASH_H
#define PDK_BACKENDS_TRASH_H

struct pdk_err;

/*
 * Takes dir (a directory below sandboxes/, or nothing) out of the way by a rename; removes it in place
 * where that cannot be. pdk_sandbox_clean() in backend.h removes it for good.
 */
int pdk_trash_put(const char *dir, const char *lock, struct pdk_err *err);

#endif
