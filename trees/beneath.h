/* Opening below a directory handle: the kernel keeps links and ".." from leading out. */
#ifndef PDK_TREES_BENEATH_H
#define PDK_TREES_BENEATH_H

#include <sys/types.h>

/* As openat(), with no symbolic link followed anywhere; close-on-exec. -1 with errno. */
int pdk_beneath_open(int root_fd, const char *path, int flags, mode_t mode);

#endif
