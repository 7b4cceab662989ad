/* Kills by the kernel for want of memory, as the cgroup that this process lives in counts them. */
#ifndef PDK_PROCESS_OOM_H
#define PDK_PROCESS_OOM_H

#include <stdint.h>

/*
 * The counter as it stands (cgroup v2: memory.events, v1: memory.oom_control); -1 where it cannot be
 * read. Two of them, taken before and after, tell whether there was one in between. `root` is put
 * before /proc and /sys; "" but in tests.
 */
int64_t pdk_oom_kills(const char *root);
/* The number of one such file; -1 where it cannot be read. path NULL: -1. */
int64_t pdk_oom_counter(const char *path);

#endif
