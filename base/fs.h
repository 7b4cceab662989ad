/*
 * Files and directories. Nothing here follows a symbolic link in the last component of
 * what it changes or removes. Safe on every thread.
 */
#ifndef PDK_BASE_FS_H
#define PDK_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pdk_buf;
struct pdk_err;

/* Reads a whole regular file of at most max bytes (more: PDK_EINVAL). Appends to out. */
int pdk_fs_read(const char *path, size_t max, struct pdk_buf *out, struct pdk_err *err);
int pdk_fs_read_fd(int fd, size_t max, struct pdk_buf *out, struct pdk_err *err);

enum pdk_fs_write_flags { PDK_FS_SYNC = 1U << 0 /* fsync the file and its directory */ };
/* Atomic: a sibling temporary, then rename. The old content or the new one, never between. */
int pdk_fs_write(const char *path, const void *data, size_t len, mode_t mode,
        unsigned int flags, struct pdk_err *err);
/* Writes all bytes to fd, through short writes and EINTR. */
int pdk_fs_write_fd(int fd, const void *data, size_t len, struct pdk_err *err);

/* Makes a directory and its missing parents (mode for each made); an existing one is fine. */
int pdk_fs_mkdirs(const char *path, mode_t mode, struct pdk_err *err);
/*
 * Removes a file or a whole tree, by directory handles, never following a link and never
 * crossing into another mount; makes directories writable as needed. Absent is fine.
 */
int pdk_fs_remove_tree(const char *path, struct pdk_err *err);
/* The same, of a path relative to a directory handle; err->os_errno says why. */
int pdk_fs_remove_at(int dir_fd, const char *path, struct pdk_err *err);
/* Asked before each entry: PDK_ECANCELED where go_on() says no, the rest is still there. */
int pdk_fs_remove_at_while(int dir_fd, const char *path, bool (*go_on)(void *user),
        void *user, struct pdk_err *err);
bool pdk_fs_exists(const char *path); /* lstat() succeeds */
bool pdk_fs_is_dir(const char *path); /* a directory itself, not a link to one */
/* Absolute path without links; owned by the caller. */
int pdk_fs_realpath(const char *path, char **out, struct pdk_err *err);

/*
 * A kernel lock (open file description) on the file at path, which is made when missing and never
 * removed. Ends with the returned descriptor, so a crash leaves nothing to unlock.
 * wait = false: PDK_ECONFLICT when somebody else holds it.
 */
int pdk_fs_lock(const char *path, bool wait, int *out_fd, struct pdk_err *err);
/* The same, shared with other shared holders. */
int pdk_fs_lock_shared(const char *path, bool wait, int *out_fd, struct pdk_err *err);
/*
 * For a lock that is taken often: gives it up and takes it again without opening the file anew. Where
 * the file was removed meanwhile, so that nobody else meets this lock, relock says PDK_ENOTFOUND.
 */
void pdk_fs_unlock(int fd);
int pdk_fs_relock(int fd, bool wait, struct pdk_err *err);

#endif
