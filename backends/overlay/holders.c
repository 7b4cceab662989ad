/*
 * Who holds the mount of a sandbox in a user namespace, and how it is mounted again when nobody does.
 *
 *   <dir>/layers   boot id, lower layers, each with a NUL at its end
 *   <dir>/holders  a line for each holder: process, its descriptors and what they are
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backends/overlay/userns.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/str.h"

enum { LAYERS_MAX = 1 << 20, HOLDERS_MAX = 1 << 20, LOWER_MAX = 16 };

/* A process and what it holds; inode numbers tell a descriptor that is another one by now. */
struct holder {
    int pid, mnt_fd, root_fd;
    uintmax_t ns_ino, root_dev, root_ino;
};

static int read_boot_id(struct pdk_buf *out, struct pdk_err *err)
{
    char id[64];
    PDK_AUTO_FD int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof(id));

    if (n <= 1)
        return pdk_fail(err, PDK_EIO, errno, "cannot read the boot id");
    pdk_buf_add(out, id, (size_t)n - 1);
    pdk_buf_addc(out, '\0');
    return pdk_buf_ok(out, err);
}

/* ---- the list */

static bool is_live(const struct holder *h, struct pdk_overlay_ns *out)
{
    char path[64];
    struct statfs fs;
    struct stat ns, root;

    *out = (struct pdk_overlay_ns)PDK_OVERLAY_NS_INIT;
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", h->pid, h->mnt_fd);
    out->mnt_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", h->pid, h->root_fd);
    out->root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->mnt_fd >= 0 && out->root_fd >= 0 && fstat(out->mnt_fd, &ns) == 0 &&
            fstat(out->root_fd, &root) == 0 && fstatfs(out->root_fd, &fs) == 0 &&
            fs.f_type == OVERLAYFS_SUPER_MAGIC && ns.st_ino == h->ns_ino &&
            root.st_dev == h->root_dev && root.st_ino == h->root_ino)
        return true;
    pdk_overlay_ns_close(out);
    return false;
}

static bool parse_holder(const char *line, struct holder *h)
{
    uintmax_t numbers[6];
    const char *at = line;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char *end;

        errno = 0;
        numbers[i] = strtoumax(at, &end, 10);
        if (end == at || errno != 0 || (i < 3 && numbers[i] > INT_MAX))
            return false;
        at = end;
    }
    *h = (struct holder){ (int)numbers[0], (int)numbers[1], (int)numbers[2], numbers[3],
        numbers[4], numbers[5] };
    return h->pid > 0;
}

static void add_holder(struct pdk_buf *list, const struct holder *h)
{
    pdk_buf_addf(list, "%d %d %d %ju %ju %ju\n", h->pid, h->mnt_fd, h->root_fd, h->ns_ino,
            h->root_dev, h->root_ino);
}

/* The first live holder's mount in *out (none: not set), and all live ones into live. */
static int find_live(const char *path, struct pdk_overlay_ns *out, struct pdk_buf *live,
        struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err why = PDK_ERR_INIT;
    int rc = pdk_fs_read(path, HOLDERS_MAX, &text, &why);

    if (rc == PDK_ENOTFOUND)
        return 0;
    if (rc < 0)
        return pdk_fail(err, rc, why.os_errno, "cannot read '%s'", path);
    for (const char *at = pdk_buf_str(&text); *at; at += strcspn(at, "\n") + 1) {
        struct pdk_overlay_ns ns;
        struct holder h;

        if (parse_holder(at, &h) && is_live(&h, &ns)) {
            add_holder(live, &h);
            if (out->mnt_fd < 0)
                *out = ns;
            else
                pdk_overlay_ns_close(&ns);
        }
        if (!strchr(at, '\n'))
            break;
    }
    return pdk_buf_ok(live, err);
}

static int add_ourselves(const char *path, const struct pdk_overlay_ns *ns,
        struct pdk_buf *live, struct pdk_err *err)
{
    struct stat mnt, root;

    if (fstat(ns->mnt_fd, &mnt) < 0 || fstat(ns->root_fd, &root) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot look at the mount");
    struct holder h = { getpid(), ns->mnt_fd, ns->root_fd, mnt.st_ino, root.st_dev,
        root.st_ino };
    add_holder(live, &h);
    if (pdk_buf_ok(live, err) < 0)
        return err->code;
    return pdk_fs_write(path, live->data, live->len, 0600, 0, err);
}

/* Joins who holds it, else mounts; spec NULL: only joins. */
static int hold(const char *dir, const struct pdk_overlay_spec *spec,
        struct pdk_overlay_ns *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *lock_path = pdk_path_join(dir, "holders.lock");
    PDK_AUTO_FREE char *path = pdk_path_join(dir, "holders");
    PDK_AUTO_BUF struct pdk_buf live = PDK_BUF_INIT;
    PDK_AUTO_FD int lock = -1;
    int rc;

    *out = (struct pdk_overlay_ns)PDK_OVERLAY_NS_INIT;
    if (!lock_path || !path)
        return pdk_fail_nomem(err);
    rc = pdk_fs_lock(lock_path, true, &lock, err);
    if (rc == 0)
        rc = find_live(path, out, &live, err);
    if (rc == 0 && out->mnt_fd < 0)
        rc = pdk_overlay_ns_mount(spec, out, err);
    if (rc == 0)
        rc = add_ourselves(path, out, &live, err);
    if (rc < 0)
        pdk_overlay_ns_close(out);
    return rc;
}

/* ---- how it is mounted */

int pdk_overlay_ns_start(const char *dir, const struct pdk_overlay_spec *spec,
        struct pdk_overlay_ns *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = pdk_path_join(dir, "layers");
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (!path)
        return pdk_fail_nomem(err);
    if (read_boot_id(&text, err) < 0)
        return err->code;
    for (size_t i = 0; i < spec->lower_len; i++)
        pdk_buf_add(&text, spec->lower[i], strlen(spec->lower[i]) + 1);
    if (pdk_buf_ok(&text, err) < 0 ||
            pdk_fs_write(path, text.data, text.len, 0600, 0, err) < 0)
        return err->code;
    return hold(dir, spec, out, err);
}

static int check_boot(const char *recorded, const char *path, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf now = PDK_BUF_INIT;

    if (read_boot_id(&now, err) < 0)
        return err->code;
    if (strcmp(recorded, now.data) == 0)
        return 0;
    return pdk_fail(err, PDK_ENOTFOUND, 0,
            "the machine was started anew since '%s' was mounted", path);
}

int pdk_overlay_ns_join(const char *dir, struct pdk_overlay_ns *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = pdk_path_join(dir, "layers");
    PDK_AUTO_FREE char *upper = pdk_path_join(dir, "upper");
    PDK_AUTO_FREE char *work = pdk_path_join(dir, "work");
    PDK_AUTO_FREE char *target = pdk_path_join(dir, "tree");
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    const char *lower[LOWER_MAX], *at, *end;
    struct pdk_overlay_spec spec = {
        .lower = lower, .upper = upper, .work = work, .target = target
    };

    if (!path || !upper || !work || !target)
        return pdk_fail_nomem(err);
    if (pdk_fs_read(path, LAYERS_MAX, &text, err) < 0)
        return err->code;
    at = pdk_buf_str(&text);
    end = at + text.len;
    if (text.len == 0 || end[-1] != '\0')
        return pdk_fail(err, PDK_ECORRUPT, 0, "'%s' is no list of layers", path);
    if (check_boot(at, target, err) < 0)
        return err->code;
    for (at += strlen(at) + 1; at < end && spec.lower_len < LOWER_MAX;
            at += strlen(at) + 1)
        lower[spec.lower_len++] = at;
    return hold(dir, &spec, out, err);
}
