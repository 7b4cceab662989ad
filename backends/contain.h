/* Where sandboxes may live: a record that names another place is refused before anything is touched. */
#ifndef PDK_BACKENDS_CONTAIN_H
#define PDK_BACKENDS_CONTAIN_H

struct pdk_err;

/*
 * 0 where dir lies below sandboxes/ beside the lock and no directory on the way, itself included,
 * is a link (what is not there yet is fine). Otherwise PDK_ECONFLICT.
 */
int pdk_contain_check(const char *dir, const char *lock, struct pdk_err *err);

#endif
