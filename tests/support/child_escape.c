/*
 * child_escape CASE OUTSIDE: tries one way out of its working directory, to change the file OUTSIDE/f, to make OUTSIDE/new, or
 * to get hold of what it should not. Exit 0: it did it, as far as it can tell; 1: it did not.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATHS = 4096, SWAPS = 100000 };

static char target[PATHS]; /* OUTSIDE/f */
static char fresh[PATHS];  /* OUTSIDE/new */
static const char *outside;

static bool overwrite(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND);
    bool done = fd >= 0 && write(fd, "escaped\n", 8) == 8;

    if (fd >= 0)
        (void)close(fd);
    return done;
}

static bool by_computed_path(void)
{
    char path[PATHS];
    size_t len = 0;

    for (const char *at = target; *at; at++) /* no checker of texts would find it */
        path[len++] = *at;
    path[len] = '\0';
    return overwrite(path);
}

static bool by_dotdot(void)
{
    char path[2 * PATHS], here[PATHS];
    size_t len = 0;

    if (!getcwd(here, sizeof(here)))
        return false;
    for (const char *at = here; *at && len + 3 < PATHS; at++)
        if (*at == '/') {
            memcpy(path + len, "../", 3);
            len += 3;
        }
    (void)snprintf(path + len, sizeof(path) - len, "%s", target + 1);
    return overwrite(path);
}

static bool by_symlink(void)
{
    return symlink(target, "link") == 0 && overwrite("link");
}

static bool by_link_swap(void)
{
    pid_t swapper;
    struct stat before, now;
    bool done = false;

    if (mkdir("real", 0755) < 0 || symlink(outside, "other") < 0 ||
            stat(target, &before) < 0)
        memset(&before, 0, sizeof(before));
    (void)close(open("real/f", O_CREAT | O_WRONLY, 0644));
    swapper = fork();
    while (swapper == 0 && getppid() > 0)
        (void)syscall(
                SYS_renameat2, AT_FDCWD, "real", AT_FDCWD, "other", 2 /* exchange */);
    for (int i = 0; i < SWAPS && !done; i++) {
        (void)overwrite("real/f");
        done = stat(target, &now) == 0 && now.st_size != before.st_size;
    }
    (void)kill(swapper, SIGKILL);
    (void)waitpid(swapper, NULL, 0);
    return done;
}

static bool by_hard_link(void)
{
    return link(target, "hard") == 0 && overwrite("hard");
}

static bool by_proc_root(void)
{
    char path[2 * PATHS];

    (void)snprintf(path, sizeof(path), "/proc/self/root%s", target);
    return overwrite(path);
}

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        (void)close(fd);
    return done;
}

/* In namespaces of its own, where it may mount: a second way to the same files, and the old one made writable. */
static bool by_bind_mount(void)
{
    char map[64];
    uid_t uid = geteuid();

    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 && unshare(CLONE_NEWNS) < 0)
        return false;
    (void)snprintf(map, sizeof(map), "0 %u 1", uid);
    (void)put("/proc/self/uid_map", map);
    (void)mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    (void)mkdir("mounted", 0755);
    if (mount(outside, "mounted", NULL, MS_BIND, NULL) == 0) {
        (void)mount(NULL, "mounted", NULL, MS_REMOUNT | MS_BIND, NULL);
        if (overwrite("mounted/f"))
            return true;
    }
    (void)mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL);
    return overwrite(target);
}

static bool by_inherited_descriptor(void)
{
    bool done = false;

    for (int fd = 3; fd < 1024; fd++)
        done |= write(fd, "escaped\n", 8) == 8;
    return done;
}

static bool by_truncation(void)
{
    return truncate(target, 0) == 0;
}

static bool by_removal(void)
{
    return unlink(target) == 0;
}

static bool by_rename(void)
{
    (void)close(open("mine", O_CREAT | O_WRONLY, 0644));
    return rename("mine", fresh) == 0;
}

static bool by_making(void)
{
    return mkdir(fresh, 0755) == 0 || mkfifo(fresh, 0644) == 0 ||
            symlink("x", fresh) == 0;
}

/* Needs no path that could be checked. Root only. */
static bool by_handle(void)
{
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle = { .head = { .handle_bytes = 128 } };
    int mount_id, dir = open("/", O_RDONLY | O_DIRECTORY), fd;

    if (name_to_handle_at(AT_FDCWD, target, &handle.head, &mount_id, 0) < 0)
        return false;
    dir = open(outside, O_RDONLY | O_DIRECTORY);
    fd = open_by_handle_at(dir, &handle.head, O_WRONLY | O_APPEND);
    return fd >= 0 && write(fd, "escaped\n", 8) == 8;
}

/* A way to a whole disk. Root only; it is not opened. */
static bool by_device(void)
{
    return mknod("disk", S_IFBLK | 0600, makedev(7, 0)) == 0;
}

/* A setting that would run a program outside. Root only; nothing is written. */
static bool by_kernel_setting(void)
{
    int fd = open("/proc/sys/kernel/core_pattern", O_WRONLY);
    int other = open("/proc/sysrq-trigger", O_WRONLY);

    return fd >= 0 || other >= 0;
}

static bool is_called(const char *pid, const char *word)
{
    char path[PATHS], line[PATHS];
    int fd;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
    fd = open(path, O_RDONLY);
    n = fd >= 0 ? read(fd, line, sizeof(line)) : -1;
    (void)close(fd);
    return n > 0 && memmem(line, (size_t)n, word, strlen(word)) != NULL;
}

/* Attaches to whoever has that word in its arguments. */
static bool trace(const char *word)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    bool done = false;

    while (proc && (entry = readdir(proc)) && !done) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid <= 0 || pid == getpid() || !is_called(entry->d_name, word))
            continue;
        done = ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0;
        if (!done)
            continue;
        (void)waitpid(pid, NULL, __WALL);
        (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
    }
    if (proc)
        (void)closedir(proc);
    return done;
}

static bool by_tracing_the_agent(void)
{
    return trace("--spool");
}

static bool by_tracing_the_shim(void)
{
    return trace("--shim");
}

static bool reach(const struct sockaddr_un *address, socklen_t len)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    bool done = fd >= 0 && connect(fd, (const struct sockaddr *)address, len) == 0;

    (void)close(fd);
    return done;
}

/* OUTSIDE/socket: somebody who would write for us listens there. */
static bool by_socket(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", outside);
    return reach(&address, sizeof(address));
}

/* The same under an abstract name: the basename of OUTSIDE. */
static bool by_abstract_socket(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s",
            strrchr(outside, '/') + 1);

    return reach(&address,
            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n));
}

static bool by_mode(void)
{
    return chmod(target, 0777) == 0;
}

static const struct {
    const char *name;
    bool (*attempt)(void);
} cases[] = {
    { "computed", by_computed_path },
    { "dotdot", by_dotdot },
    { "symlink", by_symlink },
    { "swap", by_link_swap },
    { "hardlink", by_hard_link },
    { "procroot", by_proc_root },
    { "mount", by_bind_mount },
    { "descriptor", by_inherited_descriptor },
    { "truncate", by_truncation },
    { "remove", by_removal },
    { "rename", by_rename },
    { "make", by_making },
    { "handle", by_handle },
    { "device", by_device },
    { "kernel", by_kernel_setting },
    { "ptrace", by_tracing_the_agent },
    { "shim", by_tracing_the_shim },
    { "socket", by_socket },
    { "abstract", by_abstract_socket },
    { "mode", by_mode },
};

int main(int argc, char **argv)
{
    if (argc != 3 || argv[2][0] != '/')
        return 2;
    outside = argv[2];
    (void)snprintf(target, sizeof(target), "%s/f", outside);
    (void)snprintf(fresh, sizeof(fresh), "%s/new", outside);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            return cases[i].attempt() ? 0 : 1;
    return 2;
}
