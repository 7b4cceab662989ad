#include "backends/overlay/mount.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/error.h"
#include "base/str.h"

/* A path in the options: commas, colons and backslashes have a meaning there. */
static void add_path(struct pdk_buf *out, const char *path)
{
    for (; *path; path++) {
        if (strchr(",:\\", *path))
            pdk_buf_addc(out, '\\');
        pdk_buf_addc(out, *path);
    }
}

void pdk_overlay_options(const struct pdk_overlay_spec *spec, struct pdk_buf *out)
{
    pdk_buf_adds(out, "lowerdir=");
    for (size_t i = 0; i < spec->lower_len; i++) {
        if (i > 0)
            pdk_buf_addc(out, ':');
        add_path(out, spec->lower[i]);
    }
    pdk_buf_adds(out, ",upperdir=");
    add_path(out, spec->upper);
    pdk_buf_adds(out, ",workdir=");
    add_path(out, spec->work);
    /* Nothing is shared between copies but the lower layers. */
    pdk_buf_adds(out, ",index=off,metacopy=off");
}

int pdk_overlay_mount(const struct pdk_overlay_spec *spec, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf options = PDK_BUF_INIT;

    pdk_overlay_options(spec, &options);
    /*
     * Directories can be renamed. Volatile, since one that was unmounted is made anew: else its end would
     * write the whole file system out.
     */
    pdk_buf_adds(&options, ",redirect_dir=on,volatile");
    if (pdk_buf_ok(&options, err) < 0)
        return err->code;
    if (mount("overlay", spec->target, "overlay", MS_NODEV | MS_NOSUID, options.data) ==
            0)
        return 0;
    if (errno == EPERM || errno == EACCES || errno == ENODEV || errno == ENOSYS ||
            errno == EINVAL) {
        (void)pdk_fail(err, PDK_EUNAVAIL, errno, "an overlay cannot be mounted here");
        return pdk_hint(err, "'directory' works everywhere");
    }
    return pdk_fail(err, PDK_EIO, errno, "cannot mount an overlay at '%s'", spec->target);
}

int pdk_overlay_unmount(const char *target, struct pdk_err *err)
{
    if (umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        return 0;
    if (errno == EINVAL || errno == ENOENT || errno == ENOTDIR || errno == EPERM)
        return pdk_overlay_is_mounted(target)
                ? pdk_fail(err, PDK_EIO, errno, "cannot unmount '%s'", target)
                : 0;
    return pdk_fail(err, PDK_EIO, errno, "cannot unmount '%s'", target);
}

int pdk_overlay_is_mounted(const char *target)
{
    struct statfs fs;
    struct stat st;

    if (lstat(target, &st) < 0 || !S_ISDIR(st.st_mode) || statfs(target, &fs) < 0)
        return 0;
    return fs.f_type == OVERLAYFS_SUPER_MAGIC;
}
