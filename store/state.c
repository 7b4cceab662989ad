#include "store/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/path.h"
#include "base/str.h"

enum { HASH_DIGITS = 12 };

void pdk_state_fini(struct pdk_state *state)
{
    free(state->root);
    free(state->dir);
    free(state->store);
    free(state->vault);
    free(state->sandboxes);
    free(state->logs);
    free(state->locks);
    free(state->registry_lock);
    *state = (struct pdk_state){ .root = NULL };
}

/* Moves the state out of a variable that would free it. */
static struct pdk_state take_state(struct pdk_state *from)
{
    struct pdk_state taken = *from;

    *from = (struct pdk_state){ .root = NULL };
    return taken;
}

static char *root_from_environment(void)
{
    const char *state = getenv("PADDOCK_STATE");
    const char *xdg = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");

    if (state && *state)
        return strdup(state);
    if (xdg && *xdg == '/')
        return pdk_path_join(xdg, "paddock");
    return pdk_path_join(home, ".local/state/paddock");
}

static bool environment_has_root(void)
{
    const char *state = getenv("PADDOCK_STATE");
    const char *xdg = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");

    return (state && *state) || (xdg && *xdg == '/') || (home && *home == '/');
}

/* The root may not exist yet, so it is made absolute as text. */
static char *absolute(const char *path)
{
    PDK_AUTO_FREE char *cwd = NULL;

    if (*path == '/')
        return strdup(path);
    cwd = getcwd(NULL, 0);
    return cwd ? pdk_path_join(cwd, path) : NULL;
}

int pdk_state_root(const char *given, char **out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *root = NULL;
    char *path = NULL;

    if (given && *given) {
        root = strdup(given);
    } else if (environment_has_root()) {
        root = root_from_environment();
    } else {
        (void)pdk_fail(err, PDK_EINVAL, 0, "no place for state: HOME is not set");
        (void)pdk_hint(err, "set PADDOCK_STATE or pass --state DIR");
        return PDK_EINVAL;
    }
    if (!root)
        return pdk_fail_nomem(err);
    path = absolute(root);
    if (!path)
        return pdk_fail(err, PDK_EIO, errno, "cannot tell the current directory");
    *out = path;
    return 0;
}

/* What people know the repository by: the folder that holds .git, or the bare repository's. */
static char *repo_name(const char *common_dir)
{
    PDK_AUTO_FREE char *parent = pdk_path_dirname(common_dir);
    const char *name = pdk_path_basename(common_dir);
    char *copy = NULL;

    if (!parent)
        return NULL;
    if (pdk_streq(name, ".git"))
        name = pdk_path_basename(parent);
    copy = strndup(*name ? name : "root", 64);
    for (char *c = copy; c && *c; c++) {
        bool alnum = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                (*c >= '0' && *c <= '9');
        if (!alnum && (c == copy || !strchr("._-", *c)))
            *c = '_';
    }
    return copy;
}

/* Fills the paths below root, which is absolute. */
static int fill(const char *root, const char *common_dir, struct pdk_state *out,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *real = NULL;
    PDK_AUTO_FREE char *name = NULL;
    PDK_AUTO_STATE struct pdk_state s = { .root = NULL };
    char digest[65];
    int rc = pdk_fs_realpath(common_dir, &real, err);

    if (rc < 0)
        return rc;
    name = repo_name(real);
    pdk_digest_hex(real, strlen(real), digest);
    s.root = strdup(root);
    if (!name || !s.root)
        return pdk_fail_nomem(err);
    s.dir = pdk_strf("%s/%s-%.*s", root, name, HASH_DIGITS, digest);
    if (!s.dir)
        return pdk_fail_nomem(err);
    s.store = pdk_path_join(s.dir, "store.db");
    s.vault = pdk_path_join(s.dir, "vault.git");
    s.sandboxes = pdk_path_join(s.dir, "sandboxes");
    s.logs = pdk_path_join(s.dir, "logs");
    s.locks = pdk_path_join(s.dir, "locks");
    s.registry_lock = pdk_path_join(s.dir, "registry.lock");
    if (!s.store || !s.vault || !s.sandboxes || !s.logs || !s.locks || !s.registry_lock)
        return pdk_fail_nomem(err);
    *out = take_state(&s);
    return 0;
}

static int make_dirs(const struct pdk_state *s, struct pdk_err *err)
{
    const char *const dirs[] = { s->dir, s->sandboxes, s->logs, s->locks };

    for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
        int rc = pdk_fs_mkdirs(dirs[i], 0700, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static bool is_inside(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* A root inside the user's tree must not show up as their untracked files. */
static int hide_root(const char *root, const char *worktree, struct pdk_err *err)
{
    PDK_AUTO_FREE char *top = NULL;
    PDK_AUTO_FREE char *ignore = NULL;
    int rc;

    if (!worktree)
        return 0;
    rc = pdk_fs_realpath(worktree, &top, err);
    if (rc < 0 || !is_inside(root, top))
        return rc;
    ignore = pdk_path_join(root, ".gitignore");
    if (!ignore)
        return pdk_fail_nomem(err);
    return pdk_fs_exists(ignore) ? 0 : pdk_fs_write(ignore, "*\n", 2, 0600, 0, err);
}

int pdk_state_open(const char *root, const char *common_dir, const char *worktree,
        struct pdk_state *out, struct pdk_err *err)
{
    PDK_AUTO_STATE struct pdk_state s = { .root = NULL };
    PDK_AUTO_FREE char *real = NULL;
    int rc = pdk_fs_mkdirs(root, 0700, err);

    if (rc == 0)
        rc = pdk_fs_realpath(root, &real, err);
    if (rc == 0)
        rc = fill(real, common_dir, &s, err);
    if (rc == 0)
        rc = hide_root(real, worktree, err);
    if (rc == 0)
        rc = make_dirs(&s, err);
    if (rc < 0) {
        (void)pdk_wrap(err, "state directory"); /* rc is the code */
        return rc;
    }
    *out = take_state(&s);
    return 0;
}

int pdk_state_find(const char *root, const char *common_dir, struct pdk_state *out,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *real = NULL;

    if (pdk_fs_exists(root)) {
        int rc = pdk_fs_realpath(root, &real, err);
        if (rc < 0)
            return rc;
    }
    return fill(real ? real : root, common_dir, out, err);
}

static char *run_lock_path(const struct pdk_state *state, const char *run)
{
    return pdk_strf("%s/%s.lock", state->locks, run);
}

int pdk_state_lock_run(
        const struct pdk_state *state, const char *run, int *out_fd, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = NULL;
    int rc;

    if (!pdk_path_is_id(run))
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' is no run id", run);
    path = run_lock_path(state, run);
    if (!path)
        return pdk_fail_nomem(err);
    rc = pdk_fs_lock(path, false, out_fd, err);
    if (rc < 0)
        (void)pdk_wrap(err, "run %s", run); /* rc is the code */
    return rc;
}

/* Asks without taking it, so that the asker never stands in the way of who wants it. */
int pdk_state_run_is_live(
        const struct pdk_state *state, const char *run, bool *out, struct pdk_err *err)
{
    struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
    PDK_AUTO_FREE char *path = run_lock_path(state, run);
    PDK_AUTO_FD int fd = -1;

    if (!path)
        return pdk_fail_nomem(err);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        *out = false;
        return 0;
    }
    if (fd < 0 || fcntl(fd, F_OFD_GETLK, &lock) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot ask for the lock '%s'", path);
    *out = lock.l_type != F_UNLCK;
    return 0;
}

/* Whether one of the process's descriptors is open on the file. */
static bool has_open(int64_t pid, const struct stat *file)
{
    char fds[64];
    PDK_AUTO_DIR DIR *dir = NULL;
    const struct dirent *entry;
    struct stat st;

    (void)snprintf(fds, sizeof(fds), "/proc/%lld/fd", (long long)pid);
    dir = opendir(fds);
    while (dir && (entry = readdir(dir)))
        if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 &&
                st.st_dev == file->st_dev && st.st_ino == file->st_ino)
            return true;
    return false;
}

int pdk_state_run_driver(const struct pdk_state *state, const char *run, int64_t pid,
        int *out_pidfd, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = run_lock_path(state, run);
    PDK_AUTO_FD int pidfd = -1;
    struct stat lock;
    bool live = false;

    if (!path)
        return pdk_fail_nomem(err);
    /* first the handle, then the proof: what it holds now is what the handle means */
    if (pid > 0)
        pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (pidfd < 0 || stat(path, &lock) < 0 || !has_open(pid, &lock))
        return pdk_fail(err, PDK_ENOTFOUND, 0, "run %s: no process that drives it", run);
    if (pdk_state_run_is_live(state, run, &live, err) < 0)
        return err->code;
    if (!live)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "run %s: nobody holds it", run);
    *out_pidfd = pdk_take_fd(&pidfd);
    return 0;
}
