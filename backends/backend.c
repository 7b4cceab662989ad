/*
 * The way in to all backends: the table, arguments, and the handle's life. What it does with a sandbox
 * is in sandbox.c.
 */
#include "backends/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend_impl.h"
#include "backends/contain.h"
#include "backends/handle.h"
#include "base/error.h"

static const struct pdk_backend *const backends[] = {
    &pdk_directory_backend,
    &pdk_worktree_backend,
    &pdk_overlay_backend,
    &pdk_container_backend,
};

/* One more, where a program is linked with it: the tests' fake. */
extern const struct pdk_backend *const pdk_backend_extra __attribute__((weak));

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

int pdk_backend_probe(const struct pdk_backend *be, const char *dir, const char **way,
        struct pdk_err *err)
{
    const char *found = NULL;

    if (be->probe && be->probe(dir, &found, err) < 0)
        return pdk_wrap(err, "backend '%s'", be->name);
    if (way)
        *way = found;
    return 0;
}

bool pdk_backend_needs_template(const struct pdk_backend *be)
{
    return be->needs_template;
}

bool pdk_backend_shares_refs(const struct pdk_backend *be)
{
    return be->shares_refs;
}

bool pdk_backend_in_container(const struct pdk_backend *be)
{
    return be->in_container;
}

size_t pdk_backend_count(void)
{
    return LENGTH(backends) + (&pdk_backend_extra ? 1U : 0U);
}

const struct pdk_backend *pdk_backend_at(size_t index)
{
    if (index < LENGTH(backends))
        return backends[index];
    return index < pdk_backend_count() ? pdk_backend_extra : NULL;
}

const char *pdk_backend_name(const struct pdk_backend *be)
{
    return be->name;
}

const char *pdk_backend_claim(const struct pdk_backend *be)
{
    return be->claim;
}

static int fail_unknown(const char *name, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf list = PDK_BUF_INIT;

    for (size_t i = 0; i < pdk_backend_count(); i++)
        pdk_buf_addf(&list, "%s%s", i > 0 ? ", " : "", pdk_backend_at(i)->name);
    (void)pdk_fail(err, PDK_EINVAL, 0, "there is no backend '%s'", name);
    return err ? pdk_hint(err, "there are: %s", pdk_buf_str(&list)) : PDK_EINVAL;
}

int pdk_backend_find(
        const char *name, const struct pdk_backend **out, struct pdk_err *err)
{
    for (size_t i = 0; i < pdk_backend_count(); i++) {
        if (pdk_streq(pdk_backend_at(i)->name, name)) {
            *out = pdk_backend_at(i);
            return 0;
        }
    }
    return fail_unknown(name ? name : "", err);
}

void pdk_sandbox_record_fini(struct pdk_sandbox_record *record)
{
    if (!record)
        return;
    free(record->id);
    free(record->backend);
    free(record->dir);
    free(record->branch);
    free(record->engine);
    memset(record, 0, sizeof(*record));
}

static int copy_record(struct pdk_sandbox_record *to,
        const struct pdk_sandbox_record *from, struct pdk_err *err)
{
    to->id = strdup(from->id);
    to->backend = strdup(from->backend);
    to->dir = strdup(from->dir);
    to->branch = from->branch ? strdup(from->branch) : NULL;
    to->engine = from->engine ? strdup(from->engine) : NULL;
    to->engine_deadline_ms = from->engine_deadline_ms;
    to->base = from->base;
    to->tree = from->tree;
    to->start = from->start;
    if (!to->id || !to->backend || !to->dir || (from->branch && !to->branch) ||
            (from->engine && !to->engine))
        return pdk_fail_nomem(err);
    return 0;
}

int pdk_handle_new(const struct pdk_backend *be, const struct pdk_sandbox_record *record,
        const struct pdk_repo *repo, const char *lock, struct pdk_sandbox **out,
        struct pdk_err *err)
{
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = calloc(1, sizeof(*sb));

    if (!sb)
        return pdk_fail_nomem(err);
    sb->be = be;
    sb->root_fd = sb->mount_fd = -1;
    sb->repo = repo;
    sb->lock = strdup(lock);
    sb->root = pdk_strf("%s/tree", record->dir);
    sb->index = pdk_strf("%s/index", record->dir);
    sb->baseline = pdk_strf("%s/baseline", record->dir);
    sb->upper = be->upper ? pdk_strf("%s/%s", record->dir, be->upper) : NULL;
    if (!sb->lock || !sb->root || !sb->index || !sb->baseline ||
            (be->upper && !sb->upper))
        return pdk_fail_nomem(err);
    int rc = copy_record(&sb->record, record, err);
    if (rc < 0)
        return rc;
    *out = pdk_take_ptr(&sb);
    return 0;
}

int pdk_handle_hold_mount(
        struct pdk_sandbox *sb, int mount_fd, int root_fd, struct pdk_err *err)
{
    sb->mount_fd = mount_fd;
    sb->root_fd = root_fd;
    /* By our process id, so that a git of ours finds it as well. */
    sb->space = pdk_strf("/proc/%d/fd/%d", getpid(), mount_fd);
    sb->mounted = pdk_strf("/proc/%d/fd/%d/.", getpid(), root_fd);
    if (sb->space && sb->mounted)
        return 0;
    pdk_handle_drop_mount(sb);
    return pdk_fail_nomem(err);
}

void pdk_handle_drop_mount(struct pdk_sandbox *sb)
{
    if (sb->mount_fd < 0)
        return;
    (void)close(sb->mount_fd);
    (void)close(sb->root_fd);
    sb->mount_fd = sb->root_fd = -1;
    free(pdk_take_ptr(&sb->space));
    free(pdk_take_ptr(&sb->mounted));
}

const char *pdk_handle_reach(const struct pdk_sandbox *sb)
{
    return sb->mounted ? sb->mounted : sb->root;
}

int pdk_handle_hold_root(struct pdk_sandbox *sb, struct pdk_err *err)
{
    if (sb->mount_fd >= 0)
        return 0;
    sb->root_fd = open(sb->root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (sb->root_fd >= 0)
        return sb->be->check_root ? sb->be->check_root(sb->root, err) : 0;
    if (errno == ENOENT)
        return pdk_fail(err, PDK_ENOTFOUND, 0, "its directory '%s' has gone", sb->root);
    if (errno == ELOOP || errno == ENOTDIR)
        return pdk_fail(err, PDK_ECONFLICT, 0,
                "'%s' is no longer the directory that was made", sb->root);
    return pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", sb->root);
}

int pdk_sandbox_open(const struct pdk_sandbox_record *record, const struct pdk_repo *repo,
        const char *lock, struct pdk_sandbox **out, struct pdk_err *err)
{
    PDK_AUTO_SANDBOX struct pdk_sandbox *sb = NULL;
    const struct pdk_backend *be = NULL;
    int rc = pdk_contain_check(record->dir, lock, err);

    if (rc == 0)
        rc = pdk_backend_find(record->backend, &be, err);
    if (rc == 0)
        rc = pdk_handle_new(be, record, repo, lock, &sb, err);
    if (rc == 0 && be->attach)
        rc = be->attach(sb, err);
    if (rc == 0)
        rc = pdk_handle_hold_root(sb, err);
    if (rc < 0)
        return pdk_wrap(err, "sandbox '%s'", record->id);
    *out = pdk_take_ptr(&sb);
    return 0;
}

void pdk_sandbox_close(struct pdk_sandbox *sb)
{
    if (!sb)
        return;
    pdk_handle_drop_mount(sb);
    if (sb->root_fd >= 0)
        (void)close(sb->root_fd);
    pdk_sandbox_record_fini(&sb->record);
    free(sb->lock);
    free(sb->root);
    free(sb->index);
    free(sb->baseline);
    free(sb->upper);
    free(sb);
}

const char *pdk_sandbox_root(const struct pdk_sandbox *sb)
{
    return sb->root;
}

const char *pdk_sandbox_namespace(const struct pdk_sandbox *sb)
{
    return sb->space;
}

const char *pdk_sandbox_way(const struct pdk_sandbox *sb)
{
    return sb->way;
}

const struct pdk_sandbox_record *pdk_sandbox_get_record(const struct pdk_sandbox *sb)
{
    return &sb->record;
}
