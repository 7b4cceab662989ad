#include "process/oom.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/fs.h"
#include "base/str.h"

enum { FILE_MAX = 64 << 10 };

/* The number behind "oom_kill " in a file; -1 where there is no such file or line. */
int64_t pdk_oom_counter(const char *path)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    const char *line;

    if (!path || pdk_fs_read(path, FILE_MAX, &text, NULL) < 0)
        return -1;
    line = pdk_buf_str(&text);
    while (line && strncmp(line, "oom_kill ", 9) != 0) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return line ? strtoll(line + 9, NULL, 10) : -1;
}

/* In a container the mounted tree may begin at our own cgroup, whatever path /proc tells. */
static int64_t read_either(
        const char *root, const char *mount, const char *cgroup, const char *file)
{
    PDK_AUTO_FREE char *full = pdk_strf("%s%s%s/%s", root, mount, cgroup, file);
    PDK_AUTO_FREE char *top = pdk_strf("%s%s/%s", root, mount, file);
    int64_t kills = pdk_oom_counter(full);

    return kills >= 0 ? kills : pdk_oom_counter(top);
}

/* One line, "ID:CONTROLLERS:PATH"; version 2 has no controllers there. */
static int64_t read_line(const char *root, const char *line)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers ? strchr(controllers + 1, ':') : NULL;

    if (!path)
        return -1;
    if (strncmp(controllers, "::", 2) == 0)
        return read_either(root, "/sys/fs/cgroup", path + 1, "memory.events");
    if (strncmp(controllers, ":memory:", 8) == 0)
        return read_either(root, "/sys/fs/cgroup/memory", path + 1, "memory.oom_control");
    return -1;
}

int64_t pdk_oom_kills(const char *root)
{
    PDK_AUTO_FREE char *path = pdk_strf("%s/proc/self/cgroup", root);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    char *rest = NULL;
    int64_t kills = -1;

    if (!path || pdk_fs_read(path, FILE_MAX, &text, NULL) < 0 || !text.data)
        return -1;
    for (char *line = strtok_r(text.data, "\n", &rest); line && kills < 0;
            line = strtok_r(NULL, "\n", &rest))
        kills = read_line(root, line);
    return kills;
}
