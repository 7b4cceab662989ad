#include "process/descend.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"

enum { STOP_ROUNDS = 64, EXIT_SIGNAL_FIELD = 38 };

struct entry {
    pid_t pid, parent, group, session;
    bool alive; /* no zombie */
    bool apart; /* its end is not told by SIGCHLD */
    bool ours;  /* a descendant of this process */
};

struct table {
    struct entry *items;
    size_t len, cap;
};

int pdk_descend_adopt(struct pdk_err *err)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot become the reaper of descendants");
    return 0;
}

static int add_entry(struct table *t, const struct entry *entry, struct pdk_err *err)
{
    if (t->len == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 256;
        struct entry *grown = reallocarray(t->items, cap, sizeof(*grown));

        if (!grown)
            return pdk_fail_nomem(err);
        t->items = grown;
        t->cap = cap;
    }
    t->items[t->len++] = *entry;
    return 0;
}

/* State and parent from /proc/PID/stat; false for a process that has just gone. */
static bool read_entry(const char *name, struct entry *out)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    char path[64], state, *end;
    const char *after;
    long parent, group, session;

    (void)snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
    if (pdk_fs_read(path, 4096, &text, NULL) < 0)
        return false;
    /* The name stands in parentheses and may hold anything, parentheses too. */
    after = strrchr(pdk_buf_str(&text), ')');
    if (!after || strlen(after) < 4)
        return false;
    state = after[2];
    parent = strtol(after + 3, &end, 10);
    group = strtol(end, &end, 10);
    session = strtol(end, &end, 10);
    for (int field = 7; field < EXIT_SIGNAL_FIELD; field++)
        (void)strtoull(end, &end, 10); /* what is above a long is no matter */
    *out = (struct entry){ .pid = (pid_t)strtol(name, NULL, 10),
        .apart = strtol(end, NULL, 10) != SIGCHLD,
        .parent = (pid_t)parent,
        .group = (pid_t)group,
        .session = (pid_t)session,
        .alive = state != 'Z' && state != 'X' };
    return true;
}

static int scan(struct table *t, struct pdk_err *err)
{
    PDK_AUTO_DIR DIR *proc = opendir("/proc");
    const struct dirent *name;

    if (!proc)
        return pdk_fail(err, PDK_EIO, errno, "cannot open /proc");
    while ((name = readdir(proc))) {
        struct entry entry;

        if (name->d_name[0] < '1' || name->d_name[0] > '9' ||
                !read_entry(name->d_name, &entry))
            continue;
        if (add_entry(t, &entry, err) < 0)
            return err ? err->code : PDK_ENOMEM;
    }
    return 0;
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct entry *)a)->pid, y = ((const struct entry *)b)->pid;

    return (x > y) - (x < y);
}

static struct entry *find_entry(const struct table *t, pid_t pid)
{
    struct entry key = { .pid = pid };

    if (t->len == 0)
        return NULL;
    return bsearch(&key, t->items, t->len, sizeof(*t->items), by_pid);
}

/* Marks descendants, pass after pass: a table read while processes fork has no useful order. */
static void mark_ours(struct table *t)
{
    pid_t self = getpid();
    bool more = true;

    if (t->len == 0)
        return;
    qsort(t->items, t->len, sizeof(*t->items), by_pid);
    while (more) {
        more = false;
        for (size_t i = 0; i < t->len; i++) {
            struct entry *e = &t->items[i];
            const struct entry *up = e->ours ? NULL : find_entry(t, e->parent);

            if (e->ours || (e->parent == self && e->apart) ||
                    (e->parent != self && !(up && up->ours)))
                continue;
            e->ours = true;
            more = true;
        }
    }
}

static int read_table(struct table *t, struct pdk_err *err)
{
    if (scan(t, err) < 0) {
        free(t->items);
        return err ? err->code : PDK_EIO;
    }
    mark_ours(t);
    return 0;
}

int pdk_descend_count(struct pdk_err *err)
{
    struct table t = { NULL, 0, 0 };
    int n = 0;

    if (read_table(&t, err) < 0)
        return err ? err->code : PDK_EIO;
    for (size_t i = 0; i < t.len; i++)
        n += t.items[i].ours && t.items[i].alive;
    free(t.items);
    return n;
}

/*
 * One process, and its whole group where that is not one of our own session: a child that a member
 * forks right now is in it too, and one that forks and ends all the time is never met by its number.
 */
static void signal_one(const struct entry *e, int sig)
{
    bool final = sig == SIGKILL || sig == SIGSTOP;

    if (final && e->session > 1 && e->group > 1 && e->session != getsid(0))
        (void)kill(-e->group, sig);
    (void)kill(e->pid, sig); /* gone meanwhile, or next time */
}

static bool has_apart(const struct table *t)
{
    for (size_t i = 0; i < t->len; i++)
        if (t->items[i].apart && t->items[i].parent == getpid())
            return true;
    return false;
}

static int signal_all(const struct table *t, int sig)
{
    bool by_kernel = getpid() == 1 && !has_apart(t);
    int n = 0;

    for (size_t i = 0; i < t->len; i++) {
        if (!t->items[i].ours || !t->items[i].alive)
            continue;
        n++;
        if (!by_kernel)
            signal_one(&t->items[i], sig);
    }
    return n;
}

/* Is there one among ours that the earlier table did not have? */
static bool has_new(const struct table *now, const struct table *before)
{
    for (size_t i = 0; i < now->len; i++) {
        const struct entry *e = &now->items[i];
        const struct entry *was = e->ours && e->alive ? find_entry(before, e->pid) : e;

        if (!was || (e->ours && e->alive && !was->ours))
            return true;
    }
    return false;
}

/*
 * What forks faster than a table is read is stopped first: a stopped process forks no more, so the
 * rounds get through as soon as one finds nobody new.
 */
static int stop_all(struct pdk_err *err)
{
    struct table before = { NULL, 0, 0 }, now = { NULL, 0, 0 };
    bool more = true;

    for (int round = 0; more && round < STOP_ROUNDS; round++) {
        now = (struct table){ NULL, 0, 0 };
        if (read_table(&now, err) < 0) {
            free(before.items);
            return err ? err->code : PDK_EIO;
        }
        more = has_new(&now, &before);
        (void)signal_all(&now, SIGSTOP);
        free(before.items);
        before = now;
    }
    free(before.items);
    return 0;
}

/* As init of a namespace the kernel sends to all of them at once, and misses nobody. */
static int signal_namespace(int sig, struct pdk_err *err)
{
    if (kill(-1, sig) < 0 && errno != ESRCH)
        return pdk_fail(err, PDK_EIO, errno, "cannot signal the namespace");
    return 0;
}

int pdk_descend_signal(int sig, struct pdk_err *err)
{
    struct table t = { NULL, 0, 0 };
    bool by_kernel;
    int n;

    if (read_table(&t, err) < 0)
        return err ? err->code : PDK_EIO;
    by_kernel = getpid() == 1 && !has_apart(&t);
    free(t.items);
    t = (struct table){ NULL, 0, 0 };
    if (by_kernel && signal_namespace(sig, err) < 0)
        return err ? err->code : PDK_EIO;
    if (sig == SIGKILL && !by_kernel && stop_all(err) < 0)
        return err ? err->code : PDK_EIO;
    if (read_table(&t, err) < 0)
        return err ? err->code : PDK_EIO;
    n = signal_all(&t, sig);
    free(t.items);
    return n;
}

bool pdk_descend_none(void)
{
    siginfo_t info;

    /* WNOWAIT: what has ended is left for its owner to reap, and still counts as a child. */
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}
