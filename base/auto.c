#include "base/auto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void pdk_cleanup_free(void *ptr_to_ptr)
{
    void *ptr;

    /* Copied bytewise: the variable may be of any pointer type. */
    memcpy(&ptr, ptr_to_ptr, sizeof(ptr));
    free(ptr);
}

void pdk_cleanup_fd(const int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        (void)close(*fd);
    errno = saved;
}

void pdk_cleanup_file(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

void pdk_cleanup_dir(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

int pdk_take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}
