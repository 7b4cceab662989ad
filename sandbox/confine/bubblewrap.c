#include "sandbox/confine/bubblewrap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "sandbox/confine/confine.h"

enum { MAX_SOCKETS = 64, MAX_TABLE = 4 << 20, UNIX_PATH_FIELD = 7 };

static void add(struct pdk_strv *out, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pdk_strv_add(out, words[i]);
}

static void add_bind(struct pdk_strv *out, const char *from, const char *to)
{
    const char *words[] = { "--ro-bind", from, to };

    add(out, words, 3);
}

/* Namespaces, and what a process in them may do. */
static void add_process(struct pdk_strv *out)
{
    static const char *const words[] = { "--die-with-parent", "--new-session",
        "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
        "--unshare-cgroup-try", "--cap-drop", "ALL" };

    add(out, words, sizeof(words) / sizeof(words[0]));
}

static void add_system(const struct pdk_bubblewrap *b, struct pdk_strv *out)
{
    static const char *const words[] = { "--ro-bind", "/", "/", "--dev", "/dev", "--proc",
        "/proc" };

    add(out, words, sizeof(words) / sizeof(words[0]));
    for (size_t i = 0; i < b->kernel->len; i++)
        add_bind(out, b->kernel->items[i], b->kernel->items[i]);
}

/* Directories made empty: only then what stays visible in them, and only then what is masked. */
static void add_masks(const struct pdk_bubblewrap *b, struct pdk_strv *out)
{
    for (size_t i = 0; i < b->temps->len; i++) {
        pdk_strv_add(out, "--tmpfs");
        pdk_strv_add(out, b->temps->items[i]);
    }
    pdk_strv_add(out, "--tmpfs");
    pdk_strv_add(out, "/run");
    for (size_t i = 0; i < b->visible->len; i++)
        add_bind(out, b->visible->items[i], b->visible->items[i]);
    for (size_t i = 0; i < b->sockets->len; i++)
        add_bind(out, "/dev/null", b->sockets->items[i]);
}

static void add_root(const struct pdk_bubblewrap *b, struct pdk_strv *out)
{
    bool writable = b->mode == PDK_CONFINE_WORKSPACE;

    pdk_strv_add(out, writable ? "--bind-fd" : "--ro-bind-fd");
    pdk_strv_addf(out, "%d", PDK_BWRAP_ROOT);
    pdk_strv_add(out, b->root);
}

/* Last: what was mounted above needed its mount points made. */
static void add_remounts(const struct pdk_bubblewrap *b, struct pdk_strv *out)
{
    pdk_strv_add(out, "--remount-ro");
    pdk_strv_add(out, "/run");
    if (b->mode == PDK_CONFINE_WORKSPACE)
        return;
    for (size_t i = 0; i < b->temps->len; i++) {
        pdk_strv_add(out, "--remount-ro");
        pdk_strv_add(out, b->temps->items[i]);
    }
    pdk_strv_add(out, "--remount-ro");
    pdk_strv_add(out, "/dev");
}

int pdk_bubblewrap_argv(
        const struct pdk_bubblewrap *b, struct pdk_strv *out, struct pdk_err *err)
{
    pdk_strv_add(out, b->program);
    add_process(out);
    add_system(b, out);
    add_masks(b, out);
    add_root(b, out);
    add_remounts(b, out);
    pdk_strv_add(out, "--json-status-fd");
    pdk_strv_addf(out, "%d", PDK_BWRAP_STATUS);
    pdk_strv_add(out, "--chdir");
    pdk_strv_add(out, b->root);
    pdk_strv_add(out, "--");
    pdk_strv_addf(out, "/proc/self/fd/%d", PDK_BWRAP_SHIM);
    pdk_strv_add(out, "--shim");
    pdk_strv_addf(out, "%d", PDK_BWRAP_JOB);
    pdk_strv_addf(out, "%d", PDK_BWRAP_REPORT);
    return pdk_strv_ok(out, err);
}

/* ---- what is on this host */

static bool is_below_any(const char *path, const struct pdk_strv *dirs)
{
    for (size_t i = 0; i < dirs->len; i++)
        if (pdk_path_is_within(path, dirs->items[i]))
            return true;
    return false;
}

/* The eighth field of a line, which may hold blanks; NULL where there is none. */
static const char *path_of(const char *line)
{
    for (int i = 0; i < UNIX_PATH_FIELD; i++) {
        line += strspn(line, " ");
        line += strcspn(line, " ");
    }
    line += strspn(line, " ");
    return *line == '/' ? line : NULL;
}

static int take_socket(const char *path, const struct pdk_strv *but, struct pdk_strv *out,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *resolved = NULL;
    struct pdk_err gone = PDK_ERR_INIT;
    struct stat st;

    if (pdk_fs_realpath(path, &resolved, &gone) < 0 || lstat(resolved, &st) < 0 ||
            !S_ISSOCK(st.st_mode) || is_below_any(resolved, but) ||
            pdk_strv_has(out, resolved))
        return 0;
    if (out->len >= MAX_SOCKETS)
        return pdk_fail(err, PDK_EUNAVAIL, 0,
                "more than %d sockets outside of temporary directories to be masked",
                MAX_SOCKETS);
    pdk_strv_take(out, pdk_take_ptr(&resolved));
    return pdk_strv_ok(out, err);
}

int pdk_bubblewrap_sockets(
        const struct pdk_strv *but, struct pdk_strv *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf table = PDK_BUF_INIT;
    struct pdk_err missing = PDK_ERR_INIT;
    char *line, *rest;

    if (pdk_fs_read("/proc/net/unix", MAX_TABLE, &table, &missing) < 0)
        return missing.code == PDK_ENOTFOUND
                ? 0
                : pdk_fail(err, missing.code, 0, "sockets: %s", missing.msg);
    for (line = strtok_r(table.data, "\n", &rest); line;
            line = strtok_r(NULL, "\n", &rest)) {
        const char *path = path_of(line);

        if (path && take_socket(path, but, out, err) < 0)
            return err->code;
    }
    return 0;
}

int pdk_bubblewrap_kernel(struct pdk_strv *out, struct pdk_err *err)
{
    static const char *const paths[] = { "/proc/sys", "/proc/sysrq-trigger", "/proc/irq",
        "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi", "/proc/driver",
        "/proc/mtrr" };

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (pdk_fs_exists(paths[i]))
            pdk_strv_add(out, paths[i]);
    return pdk_strv_ok(out, err);
}
