/* The kernel headers of the build may be older than the kernel: the numbers that we use are here. */
#include "sandbox/confine/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"

enum { CREATE_RULESET_VERSION = 1, RULE_PATH_BENEATH = 1 };

#define FS_WRITE_FILE  (UINT64_C(1) << 1)
#define FS_REMOVE_DIR  (UINT64_C(1) << 4)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_CHAR   (UINT64_C(1) << 6)
#define FS_MAKE_DIR    (UINT64_C(1) << 7)
#define FS_MAKE_REG    (UINT64_C(1) << 8)
#define FS_MAKE_SOCK   (UINT64_C(1) << 9)
#define FS_MAKE_FIFO   (UINT64_C(1) << 10)
#define FS_MAKE_BLOCK  (UINT64_C(1) << 11)
#define FS_MAKE_SYM    (UINT64_C(1) << 12)
#define FS_REFER       (UINT64_C(1) << 13) /* ABI 2 */
#define FS_TRUNCATE    (UINT64_C(1) << 14) /* ABI 3 */
#define FS_IOCTL_DEV   (UINT64_C(1) << 15) /* ABI 5 */
#define SCOPE_BOTH     UINT64_C(3)         /* ABI 6: abstract sockets, signals */

struct ruleset {
    uint64_t fs, net, scoped;
};

struct path_beneath {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

int pdk_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

    return abi > 0 ? (int)abi : 0;
}

/* Everything that changes files, as far as the version knows it. Reading is not handled. */
static uint64_t handled(int abi)
{
    uint64_t rights = FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_CHAR |
            FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_BLOCK |
            FS_MAKE_SYM;

    rights |= abi >= 2 ? FS_REFER : 0;
    rights |= abi >= 3 ? FS_TRUNCATE : 0;
    rights |= abi >= 5 ? FS_IOCTL_DEV : 0;
    return rights;
}

static int create(
        const struct ruleset *ruleset, size_t size, int *out, struct pdk_err *err)
{
    long fd = syscall(SYS_landlock_create_ruleset, ruleset, size, 0);

    if (fd < 0)
        return pdk_fail(err, PDK_EUNAVAIL, errno, "no Landlock ruleset can be made");
    *out = (int)fd;
    return 0;
}

/* A path that is not there needs no rule. */
static int allow(int ruleset, const char *path, uint64_t rights, struct pdk_err *err)
{
    PDK_AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC);
    struct path_beneath rule = { .allowed = rights, .parent_fd = fd };

    if (fd < 0)
        return errno == ENOENT ? 0
                               : pdk_fail(err, pdk_code_of_errno(errno), errno,
                                         "cannot open '%s'", path);
    if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) < 0)
        return pdk_fail(err, PDK_EIO, errno, "no Landlock rule for '%s'", path);
    return 0;
}

static int allow_devices(int ruleset, uint64_t known, struct pdk_err *err)
{
    static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full",
        "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx" };
    uint64_t rights = known & (FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV);

    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
        if (allow(ruleset, devices[i], rights, err) < 0)
            return err->code;
    return allow(ruleset, "/dev/pts", rights, err);
}

int pdk_landlock_ruleset(enum pdk_confine mode, const struct pdk_strv *roots, int abi,
        int *out, struct pdk_err *err)
{
    uint64_t known = handled(abi),
             below = known & ~(FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_IOCTL_DEV);
    struct ruleset ruleset = { known, 0, abi >= PDK_LANDLOCK_SCOPES ? SCOPE_BOTH : 0 };
    size_t size = abi >= PDK_LANDLOCK_SCOPES ? sizeof(ruleset) : sizeof(uint64_t);
    PDK_AUTO_FD int fd = -1;

    if (create(&ruleset, size, &fd, err) < 0 || allow_devices(fd, known, err) < 0)
        return err->code;
    for (size_t i = 0; mode == PDK_CONFINE_WORKSPACE && i < roots->len; i++)
        if (allow(fd, roots->items[i], below, err) < 0)
            return err->code;
    *out = pdk_take_fd(&fd);
    return 0;
}

int pdk_landlock_scopes(int *out, struct pdk_err *err)
{
    struct ruleset ruleset = { 0, 0, SCOPE_BOTH };

    return create(&ruleset, sizeof(ruleset), out, err);
}

void pdk_landlock_missing(int abi, struct pdk_strv *out)
{
    static const struct {
        int since;
        const char *what;
    } gaps[] = {
        { 2, "moving files between directories is refused, inside of the roots too" },
        { 3, "files outside may be truncated" },
        { 5, "ioctl on devices outside" },
        { 6, "abstract sockets and signals" },
    };

    for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++)
        if (abi < gaps[i].since)
            pdk_strv_add(out, gaps[i].what);
    pdk_strv_add(out, "sockets by path: a process outside may be asked to write");
    pdk_strv_add(out, "mode, owner, times and extended attributes of files outside");
    pdk_strv_add(out, "/tmp is not private: it is not writable, TMPDIR is");
}
