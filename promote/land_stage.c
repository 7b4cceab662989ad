/* The stage: a private directory at the top of the working tree, on its file system, that holds the new
 * files before they are swapped in and the old ones after. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/str.h"
#include "promote/land.h"
#include "promote/land_internal.h"
#include "trees/lfs.h"
#include "trees/repo.h"
#include "trees/vault.h"

struct pdk_land_name pdk_land_name(
        const struct pdk_landing *l, const struct pdk_land_item *item)
{
    struct pdk_land_name name;

    (void)snprintf(name.text, sizeof(name.text), "%zu", (size_t)(item - l->items));
    return name;
}

/* The bytes that git would write for the blob at this path. */
static int read_content(const struct pdk_landing *l, const struct pdk_change *c,
        struct pdk_buf *out, struct pdk_err *err)
{
    struct pdk_vault *vault = l->spec->vault;

    if (S_ISLNK(c->new_mode) || !pdk_land_converts(l, c->path))
        return pdk_vault_read_blob(vault, &c->new_oid, SIZE_MAX, out, err);

    PDK_AUTO_FREE char *as = pdk_strf("--path=%s", c->path);
    PDK_AUTO_FREE char *objects = pdk_strf(
            "GIT_ALTERNATE_OBJECT_DIRECTORIES=%s/objects", pdk_vault_path(vault));
    const char *args[] = { "cat-file", "--filters", as, c->new_oid.hex, NULL };
    const char *env[] = { objects, NULL };

    PDK_AUTO_BUF struct pdk_buf blob = PDK_BUF_INIT;

    if (!as || !objects)
        return pdk_fail_nomem(err);
    /* Where it is a pointer, the filter of the user's finds the content in the user's store. */
    if (pdk_vault_read_blob(vault, &c->new_oid, SIZE_MAX, &blob, err) < 0 ||
            pdk_lfs_hand_over(l->spec->repo, vault, &blob, err) < 0)
        return err->code;
    return pdk_repo_git_converting(l->spec->repo, args, env, out, err);
}

static int write_link(const struct pdk_landing *l, const struct pdk_change *c,
        const char *name, const struct pdk_buf *content, struct pdk_err *err)
{
    if (symlinkat(pdk_buf_str(content), l->stage_fd, name) < 0)
        return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make the link '%s'",
                c->path);
    return 0;
}

static int write_file(const struct pdk_landing *l, const struct pdk_land_item *item,
        const char *name, const struct pdk_buf *content, struct pdk_err *err)
{
    const struct pdk_change *c = item->change;
    mode_t mode = (c->new_mode & 0100) ? 0777 : 0666;
    PDK_AUTO_FD int fd = openat(l->stage_fd, name,
            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    int rc;

    if (fd < 0)
        return pdk_fail(
                err, pdk_code_of_errno(errno), errno, "cannot stage '%s'", c->path);
    rc = pdk_fs_write_fd(fd, pdk_buf_str(content), content->len, err);
    if (rc < 0)
        return rc;
    if ((item->keep != 0 && fchmod(fd, item->keep) < 0) || fsync(fd) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot stage '%s'", c->path);
    return 0;
}

static int stage_item(
        struct pdk_landing *l, struct pdk_land_item *item, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf content = PDK_BUF_INIT;
    struct pdk_land_name name = pdk_land_name(l, item);
    const struct pdk_change *c = item->change;
    int rc = read_content(l, c, &content, err);

    if (rc < 0)
        return rc;
    item->staged = true; /* even half of it is to be removed */
    if (S_ISLNK(c->new_mode))
        rc = write_link(l, c, name.text, &content, err);
    else
        rc = write_file(l, item, name.text, &content, err);
    if (rc == 0 && fstatat(l->stage_fd, name.text, &item->made, AT_SYMLINK_NOFOLLOW) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot stage '%s'", c->path);
    return rc;
}

int pdk_land_name_stage(struct pdk_landing *l, struct pdk_err *err)
{
    char id[17];
    int rc = l->spec->id ? 0 : pdk_id_random(id, 8, err);

    if (rc == 0)
        (void)snprintf(l->stage_name, sizeof(l->stage_name), ".paddock-landing-%.16s",
                l->spec->id ? l->spec->id : id);
    return rc;
}

static int open_stage(struct pdk_landing *l, struct pdk_err *err)
{
    if (mkdirat(l->root_fd, l->stage_name, 0700) < 0) {
        l->stage_name[0] = '\0';
        return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot write to '%s'",
                l->spec->repo->root);
    }
    l->stage_fd = openat(
            l->root_fd, l->stage_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (l->stage_fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", l->stage_name);
    return 0;
}

int pdk_land_stage(struct pdk_landing *l, struct pdk_err *err)
{
    int rc = open_stage(l, err);

    for (size_t i = 0; rc == 0 && i < l->diff.len; i++)
        if (l->items[i].change->new_mode != 0)
            rc = stage_item(l, &l->items[i], err);
    return rc;
}

void pdk_land_unstage(struct pdk_landing *l)
{
    if (!l->stage_name[0] || l->stranded)
        return;
    for (size_t i = 0; l->stage_fd >= 0 && i < l->diff.len; i++) {
        struct pdk_land_name name = pdk_land_name(l, &l->items[i]);

        if (l->items[i].staged)
            (void)unlinkat(l->stage_fd, name.text, 0); /* the rmdir below says the same */
    }
    (void)unlinkat(
            l->root_fd, l->stage_name, AT_REMOVEDIR); /* an empty one harms nobody */
}
