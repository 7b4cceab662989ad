#include "trees/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

int pdk_beneath_open(int root_fd, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
        .mode = flags & O_CREAT ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    long fd;

    do
        fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
    while (fd < 0 &&
            errno == EAGAIN); /* a rename in the way: the kernel asks to try again */
    return (int)fd;
}
