/*
 * Opening below a directory handle: links and ".." never lead out of it, whatever others move about
 * meanwhile. By the kernel (openat2), or step by step where that lacks the call. Safe on every thread.
 */
#ifndef PDK_BASE_BENEATH_H
#define PDK_BASE_BENEATH_H

#include <stdbool.h>
#include <sys/types.h>

/* As openat(), with no symbolic link followed anywhere (ELOOP); close-on-exec. -1 with errno; EXDEV: it leads out. */
int pdk_beneath_open(int root_fd, const char *path, int flags, mode_t mode);
/* The same, with links followed that stay beneath; an absolute one leads out. */
int pdk_beneath_follow(int root_fd, const char *path, int flags, mode_t mode);

/* What the two do on a kernel without openat2(). */
int pdk_beneath_walk(int root_fd, const char *path, int flags, mode_t mode, bool follow);

#endif
