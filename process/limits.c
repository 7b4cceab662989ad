#include "process/limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/str.h"
#include "process/oom.h"
#include "process/spawn.h"

enum { MAX_GROUPS = 3, MAX_LIMITS = 2, FILE_MAX = 64 << 10, PERIOD_US = 100000 };

struct group {
    char *dir;
    int procs; /* its cgroup.procs */
};

struct pdk_limiter {
    struct pdk_held held;
    char name[32];
    struct group groups[MAX_GROUPS];
    int procs[MAX_GROUPS];
    size_t groups_len;
    struct pdk_spawn_limit limits[MAX_LIMITS];
    size_t limits_len;
    cpu_set_t cpus;
    bool pinned;
    char *memory; /* the group that counts memory; borrowed of groups; NULL */
};

static const char *const hold_names[] = { "none", "rlimit", "affinity", "cgroup" };

const char *pdk_hold_name(enum pdk_hold hold)
{
    return hold_names[hold];
}

int pdk_hold_find(const char *name)
{
    for (size_t i = 0; i < sizeof(hold_names) / sizeof(hold_names[0]); i++)
        if (strcmp(hold_names[i], name) == 0)
            return (int)i;
    return -1;
}

bool pdk_held_in_full(const struct pdk_limits *limits, const struct pdk_held *held)
{
    return (limits->memory == 0 || held->memory == PDK_HOLD_CGROUP) &&
            (limits->pids == 0 || held->pids == PDK_HOLD_CGROUP) &&
            (limits->cpus <= 0 || held->cpus == PDK_HOLD_CGROUP);
}

/* ---- cgroups */

/* A cgroup of the calling process's in which groups are made, and how its files are called. */
struct parent {
    char *dir; /* NULL: none */
    bool v2;
};

/* In a container the mounted tree may begin at our own cgroup, whatever path /proc tells. */
static char *directory_of(const char *mount, const char *path)
{
    PDK_AUTO_FREE char *full =
            pdk_strf("%s%s", mount, strcmp(path, "/") == 0 ? "" : path);

    if (full && pdk_fs_is_dir(full))
        return pdk_take_ptr(&full);
    return pdk_fs_is_dir(mount) ? strdup(mount) : NULL;
}

/* Several controllers may share a tree: "cpu,cpuacct". */
static bool has_controller(const char *list, const char *controller)
{
    size_t len = strlen(controller);

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, controller, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

/* One line of /proc/self/cgroup, "ID:CONTROLLERS:PATH"; version 2 has no controllers there. */
static bool take_line(char *line, const char *controller, struct parent *out)
{
    char *controllers = strchr(line, ':'), *path;
    PDK_AUTO_FREE char *mount = NULL;

    path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return false;
    *path++ = '\0';
    controllers++;
    if (*controllers == '\0') {
        out->v2 = true;
        out->dir = directory_of("/sys/fs/cgroup", path);
    } else if (has_controller(controllers, controller)) {
        out->v2 = false;
        mount = pdk_strf("/sys/fs/cgroup/%s", controllers);
        out->dir = mount ? directory_of(mount, path) : NULL;
    }
    return out->dir != NULL;
}

/* Version 1's own tree for the controller goes first: where both are mounted, it is there. */
static struct parent find_parent(const char *controller)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct parent found = { NULL, false };
    char *rest = NULL;

    if (pdk_fs_read("/proc/self/cgroup", FILE_MAX, &text, NULL) < 0 || !text.data)
        return found;
    for (char *line = strtok_r(text.data, "\n", &rest); line && (!found.dir || found.v2);
            line = strtok_r(NULL, "\n", &rest)) {
        struct parent this = { NULL, false };

        if (!take_line(line, controller, &this))
            continue;
        free(found.dir);
        found = this;
    }
    return found;
}

static bool put(const char *dir, const char *file, const char *value)
{
    PDK_AUTO_FREE char *path = pdk_strf("%s/%s", dir, file);
    PDK_AUTO_FD int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    ssize_t len = (ssize_t)strlen(value);

    return fd >= 0 && write(fd, value, (size_t)len) == len;
}

/* The group of this name below a parent, made unless another limit has made it. */
static struct group *make_group(struct pdk_limiter *l, const char *parent)
{
    PDK_AUTO_FREE char *dir = pdk_strf("%s/%s", parent, l->name);
    PDK_AUTO_FREE char *procs = dir ? pdk_strf("%s/cgroup.procs", dir) : NULL;
    struct group *g = &l->groups[l->groups_len];

    for (size_t i = 0; dir && i < l->groups_len; i++)
        if (strcmp(l->groups[i].dir, dir) == 0)
            return &l->groups[i];
    if (!procs || l->groups_len == MAX_GROUPS || mkdir(dir, 0755) < 0)
        return NULL;
    g->procs = open(procs, O_WRONLY | O_CLOEXEC);
    if (g->procs < 0) {
        (void)rmdir(dir);
        return NULL;
    }
    g->dir = pdk_take_ptr(&dir);
    l->procs[l->groups_len++] = g->procs;
    return g;
}

/* A group whose limit cannot be set is of no use for it; it stays for another one. */
static struct group *hold_by_cgroup(struct pdk_limiter *l, const char *controller,
        const char *file_v1, const char *file_v2, const char *value_v1,
        const char *value_v2)
{
    struct parent parent = find_parent(controller);
    PDK_AUTO_FREE char *enable = pdk_strf("+%s", controller);
    struct group *g;

    if (!parent.dir || !enable)
        return NULL;
    if (parent.v2)
        (void)put(
                parent.dir, "cgroup.subtree_control", enable); /* the file below tells */
    g = make_group(l, parent.dir);
    free(parent.dir);
    if (!g ||
            !put(g->dir, parent.v2 ? file_v2 : file_v1, parent.v2 ? value_v2 : value_v1))
        return NULL;
    return g;
}

/* ---- each limit */

static void add_rlimit(struct pdk_limiter *l, int resource, int64_t value)
{
    l->limits[l->limits_len++] = (struct pdk_spawn_limit){ resource, (uint64_t)value };
}

static void limit_memory(struct pdk_limiter *l, int64_t bytes)
{
    char value[32];
    struct group *g;

    (void)snprintf(value, sizeof(value), "%lld", (long long)bytes);
    g = hold_by_cgroup(l, "memory", "memory.limit_in_bytes", "memory.max", value, value);
    if (g) {
        l->memory = g->dir;
        l->held.memory = PDK_HOLD_CGROUP;
        return;
    }
    add_rlimit(l, RLIMIT_AS, bytes);
    l->held.memory = PDK_HOLD_RLIMIT;
}

/* The kernel's count is the user's, whoever started them: what is there already is added. */
static int64_t count_own(void)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    int64_t count = 0;
    struct stat st;

    while (proc && (entry = readdir(proc)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                fstatat(dirfd(proc), entry->d_name, &st, 0) == 0 && st.st_uid == getuid())
            count++;
    if (proc)
        (void)closedir(proc);
    return count;
}

static void limit_pids(struct pdk_limiter *l, int64_t pids)
{
    char value[32];

    (void)snprintf(value, sizeof(value), "%lld", (long long)pids);
    if (hold_by_cgroup(l, "pids", "pids.max", "pids.max", value, value)) {
        l->held.pids = PDK_HOLD_CGROUP;
    } else if (geteuid() != 0) { /* root is not counted */
        add_rlimit(l, RLIMIT_NPROC, pids + count_own());
        l->held.pids = PDK_HOLD_RLIMIT;
    }
}

/* The next of those that were not taken yet; CPU_SETSIZE where none is left. */
static size_t next_cpu(const cpu_set_t *all, const cpu_set_t *taken, int *skip)
{
    size_t cpu = 0;

    while (cpu < CPU_SETSIZE &&
            (!CPU_ISSET(cpu, all) || CPU_ISSET(cpu, taken) || (*skip)-- > 0))
        cpu++;
    return cpu;
}

/* So many whole processors, from a random one on, lest all commands crowd on the first. */
static void pin(struct pdk_limiter *l, double cpus)
{
    int wanted = (int)cpus + (cpus > (int)cpus), have, skip, taken = 0;
    cpu_set_t all;

    if (sched_getaffinity(0, sizeof(all), &all) < 0)
        return;
    have = CPU_COUNT(&all);
    skip = have > 0 ? (int)((unsigned char)l->name[sizeof("paddock-")] % have) : 0;
    CPU_ZERO(&l->cpus);
    for (int looks = 0; looks <= have && taken < wanted; looks++) {
        size_t cpu = next_cpu(&all, &l->cpus, &skip);

        if (cpu == CPU_SETSIZE)
            continue; /* all were skipped: from the first on, then */
        CPU_SET(cpu, &l->cpus);
        taken++;
    }
    l->pinned = taken > 0;
    l->held.cpus = taken > 0 ? PDK_HOLD_AFFINITY : PDK_HOLD_NONE;
}

static void limit_cpus(struct pdk_limiter *l, double cpus)
{
    char v1[32], v2[64];

    (void)snprintf(v1, sizeof(v1), "%lld", (long long)(cpus * PERIOD_US));
    (void)snprintf(v2, sizeof(v2), "%lld %d", (long long)(cpus * PERIOD_US), PERIOD_US);
    if (hold_by_cgroup(l, "cpu", "cpu.cfs_quota_us", "cpu.max", v1, v2))
        l->held.cpus = PDK_HOLD_CGROUP;
    else
        pin(l, cpus);
}

/* ---- the whole */

int pdk_limiter_new(const struct pdk_limits *limits, int own, struct pdk_limiter **out,
        struct pdk_err *err)
{
    struct pdk_limiter *l = calloc(1, sizeof(*l));
    char id[17];

    if (!l)
        return pdk_fail_nomem(err);
    if (pdk_id_random(id, sizeof(id) / 2, err) < 0) {
        free(l);
        return err->code;
    }
    (void)snprintf(l->name, sizeof(l->name), "paddock-%s", id);
    if (limits->memory > 0)
        limit_memory(l, limits->memory);
    if (limits->pids > 0)
        limit_pids(l, limits->pids + own);
    if (limits->cpus > 0)
        limit_cpus(l, limits->cpus);
    *out = l;
    return 0;
}

void pdk_limiter_apply(struct pdk_limiter *l, struct pdk_spawn_spec *spec)
{
    spec->limits = l->limits;
    spec->limits_len = l->limits_len;
    spec->cgroup_fds = l->procs;
    spec->cgroup_fds_len = l->groups_len;
    spec->cpus = l->pinned ? &l->cpus : NULL;
    spec->cpus_size = l->pinned ? sizeof(l->cpus) : 0;
}

struct pdk_held pdk_limiter_held(const struct pdk_limiter *l)
{
    return l->held;
}

int64_t pdk_limiter_oom_kills(const struct pdk_limiter *l)
{
    PDK_AUTO_FREE char *v1 =
            pdk_strf("%s/memory.oom_control", l->memory ? l->memory : "");
    PDK_AUTO_FREE char *v2 = pdk_strf("%s/memory.events", l->memory ? l->memory : "");
    int64_t kills = l->memory ? pdk_oom_counter(v1) : 0;

    if (kills < 0)
        kills = pdk_oom_counter(v2);
    return kills > 0 ? kills : 0;
}

void pdk_limiter_free(struct pdk_limiter *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->groups_len; i++) {
        (void)close(l->groups[i].procs);
        (void)rmdir(
                l->groups[i].dir); /* with a process that could not be ended it stays */
        free(l->groups[i].dir);
    }
    free(l);
}
