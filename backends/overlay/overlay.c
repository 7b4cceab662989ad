/*
 * The overlay backend: a template below, one upper layer a sandbox, the working copy where they are
 * mounted together. Making one costs a mount, whatever the size of the tree.
 *
 *   <dir>/upper   what the sandbox changed
 *   <dir>/work    the kernel's
 *   <dir>/tree    the mount point
 *
 * The git directory is a lower layer as well, index and all, shared until git writes in it: what a
 * sandbox has of its own is its branch, or a start that is not the base.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/commits.h"
#include "backends/fill.h"
#include "backends/gitdir.h"
#include "backends/handle.h"
#include "backends/overlay/mount.h"
#include "backends/overlay/userns.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "trees/checkout.h"
#include "trees/layer.h"
#include "trees/lfs.h"
#include "trees/template.h"
#include "trees/vault.h"

/* Paths of a sandbox that is being made. */
struct layout {
    char *upper, *work, *gitdir, *objects, *templates;
};

static void layout_fini(struct layout *l)
{
    free(l->upper);
    free(l->work);
    free(l->gitdir);
    free(l->objects);
    free(l->templates);
}

static int make_layout(
        const struct pdk_sandbox_spec *spec, struct layout *l, struct pdk_err *err)
{
    l->upper = pdk_path_join(spec->dir, "upper");
    l->work = pdk_path_join(spec->dir, "work");
    l->gitdir = l->upper ? pdk_path_join(l->upper, ".git") : NULL;
    l->objects = l->gitdir ? pdk_path_join(l->gitdir, "objects") : NULL;
    l->templates = pdk_sandbox_templates(spec->lock);
    return l->work && l->objects && l->templates ? 0 : pdk_fail_nomem(err);
}

static int make_dirs(
        const struct pdk_sandbox *sb, const struct layout *l, struct pdk_err *err)
{
    const char *dirs[] = { l->upper, l->work, sb->root };

    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
        if (mkdir(dirs[i], 0755) < 0)
            return pdk_fail(
                    err, pdk_code_of_errno(errno), errno, "cannot make '%s'", dirs[i]);
    return 0;
}

/* Does it start where the template below does, with no branch to call its own? */
static bool starts_plainly(const struct pdk_sandbox_spec *spec)
{
    return !spec->branch && pdk_oid_equal(&spec->tree, &spec->base.tree);
}

/* What only this sandbox has: its branch, and the objects of a start that is not the base. */
static int make_own_start(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        const struct layout *l, struct pdk_err *err)
{
    const char *dirs[] = { l->gitdir, l->objects };

    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
        if (mkdir(dirs[i], 0755) < 0)
            return pdk_fail(
                    err, pdk_code_of_errno(errno), errno, "cannot make '%s'", dirs[i]);
    if (pdk_sandbox_start_commit(spec, l->objects, &sb->record.start, err) < 0)
        return err->code;
    return pdk_gitdir_start(l->gitdir, sb->record.start.hex, spec->branch, err);
}

static int make_start(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        const struct layout *l, struct pdk_err *err)
{
    return starts_plainly(spec)
            ? pdk_sandbox_start_commit(spec, l->objects, &sb->record.start, err)
            : make_own_start(sb, spec, l, err);
}

/* The git directory that sandboxes of one start share, below their upper layers. */
static int find_git_layer(const struct pdk_sandbox *sb,
        const struct pdk_sandbox_spec *spec, const struct pdk_template *t, char **out,
        struct pdk_err *err)
{
    PDK_AUTO_LAYER struct pdk_layer layer = PDK_LAYER_INIT;

    if (pdk_gitdir_describe(spec->repo, &layer, err) < 0)
        return err->code;
    if (starts_plainly(spec) &&
            pdk_gitdir_describe_head(&layer, sb->record.start.hex, NULL, err) < 0)
        return err->code;
    return pdk_template_layer(t, &layer, out, err);
}

static const char *const by_root = "direct", *const by_user = "user-namespace";

/* In our own namespace where we may, else in one of its own. */
static int mount_somehow(
        struct pdk_sandbox *sb, const struct pdk_overlay_spec *spec, struct pdk_err *err)
{
    struct pdk_overlay_ns ns;
    int rc = pdk_overlay_mount(spec, err);

    if (rc == 0)
        sb->way = by_root;
    if (rc != PDK_EUNAVAIL)
        return rc;
    rc = pdk_overlay_ns_start(sb->record.dir, spec, &ns, err);
    if (rc < 0)
        return rc;
    sb->way = by_user;
    return pdk_handle_hold_mount(sb, ns.mnt_fd, ns.root_fd, err);
}

static int mount_layers(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        const struct layout *l, const struct pdk_template *t, struct pdk_err *err)
{
    PDK_AUTO_FREE char *git_layer = NULL;

    if (find_git_layer(sb, spec, t, &git_layer, err) < 0)
        return err->code;
    const char *lower[] = { git_layer, pdk_template_root(t) };
    struct pdk_overlay_spec mount = { .lower = lower,
        .lower_len = 2,
        .upper = l->upper,
        .work = l->work,
        .target = sb->root };

    return mount_somehow(sb, &mount, err);
}

/* Our index is the template's own file: it is replaced, never written in place. */
static int share_index(
        const struct pdk_sandbox *sb, const struct pdk_template *t, struct pdk_err *err)
{
    if (link(pdk_template_index(t), sb->index) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot link '%s'", sb->index);
    return pdk_lfs_share_missing(pdk_template_index(t), sb->index, err);
}

/* From the template's tree to the one asked for, by the mount: the kernel makes the whiteouts. */
static int change_tree(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        const struct pdk_oid *from, struct pdk_err *err)
{
    PDK_AUTO_FREE char *git_index = pdk_path_join(pdk_handle_reach(sb), ".git/index");
    struct pdk_checkout_spec checkout = {
        .repo = spec->repo,
        .tree = spec->tree,
        .dir = pdk_handle_reach(sb),
        .index = sb->index,
        .git_index = git_index,
    };

    if (!git_index)
        return pdk_fail_nomem(err);
    return pdk_checkout_switch(spec->vault, &checkout, from, err);
}

/* The template below: the run's where that will do, else one of the tree itself. */
static int open_template(const struct pdk_sandbox_spec *spec, const struct layout *l,
        struct pdk_oid *tree, struct pdk_template **out, struct pdk_err *err)
{
    unsigned int flags = spec->template.hex[0] ? PDK_TEMPLATE_TRUST : 0;

    *tree = spec->template.hex[0] ? spec->template : spec->tree;
    return pdk_template_open(
            spec->vault, spec->repo, l->templates, tree, flags, out, err);
}

static int mount_on(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        const struct layout *l, const struct pdk_oid *tree, const struct pdk_template *t,
        struct pdk_err *err)
{
    struct pdk_err ignored = PDK_ERR_INIT;
    int rc = pdk_template_use(t, spec->id, err);

    if (rc == 0)
        rc = share_index(sb, t, err);
    if (rc == 0)
        rc = mount_layers(sb, spec, l, t, err);
    if (rc == 0 && !pdk_oid_equal(tree, &spec->tree))
        rc = change_tree(sb, spec, tree, err);
    if (rc < 0) {
        pdk_handle_drop_mount(sb);
        (void)pdk_overlay_unmount(sb->root, &ignored); /* the first error matters */
        (void)pdk_template_release(l->templates, spec->id, &ignored);
        (void)unlink(sb->index);
    }
    return rc;
}

static int overlay_materialize(struct pdk_sandbox *sb,
        const struct pdk_sandbox_spec *spec, struct pdk_strv *warnings,
        struct pdk_err *err)
{
    __attribute__((cleanup(layout_fini))) struct layout l = { 0 };
    PDK_AUTO_TEMPLATE struct pdk_template *template = NULL;
    struct pdk_sandbox_spec own = *spec;
    struct pdk_oid tree;
    int rc = make_layout(spec, &l, err);

    (void)warnings; /* it has none of its own */
    if (rc == 0)
        rc = make_dirs(sb, &l, err);
    if (rc == 0)
        rc = make_start(sb, spec, &l, err);
    if (rc == 0)
        rc = open_template(spec, &l, &tree, &template, err);
    if (rc == 0)
        rc = mount_on(sb, spec, &l, &tree, template, err);
    if (rc != PDK_EUNSUPPORTED)
        return rc;
    /* Attributes differ: this tree's files look different, so it stands on a template of its own. */
    pdk_template_close(pdk_take_ptr(&template));
    own.template.hex[0] = '\0';
    rc = open_template(&own, &l, &tree, &template, err);
    return rc < 0 ? rc : mount_on(sb, &own, &l, &tree, template, err);
}

static int overlay_teardown(const struct pdk_sandbox_record *record,
        const struct pdk_repo *repo, const char *lock, unsigned int flags,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *root = pdk_path_join(record->dir, "tree");
    PDK_AUTO_FREE char *templates = pdk_sandbox_templates(lock);

    (void)repo;
    (void)flags;
    if (!root || !templates)
        return pdk_fail_nomem(err);
    if (pdk_overlay_unmount(root, err) < 0)
        return err->code;
    return pdk_template_release(templates, record->id, err);
}

/* After a reboot, or an unmount by somebody, only the mount point is left. */
static int overlay_check_root(const char *root, struct pdk_err *err)
{
    if (pdk_overlay_is_mounted(root))
        return 0;
    return pdk_fail(err, PDK_ENOTFOUND, 0, "nothing is mounted at '%s' any more", root);
}

/* Ours is mounted and stays so; one of a user namespace is joined, or mounted again. */
static int overlay_attach(struct pdk_sandbox *sb, struct pdk_err *err)
{
    struct pdk_overlay_ns ns;
    int rc;

    sb->way = by_root;
    if (pdk_overlay_is_mounted(sb->root))
        return 0;
    rc = pdk_overlay_ns_join(sb->record.dir, &ns, err);
    if (rc == PDK_ENOTFOUND)
        return pdk_fail(err, rc, 0, "nothing is mounted at '%s' any more", sb->root);
    if (rc < 0)
        return rc;
    sb->way = by_user;
    return pdk_handle_hold_mount(sb, ns.mnt_fd, ns.root_fd, err);
}

/* A mount of two empty layers, the way it will be done. */
static int try_ways(
        const struct pdk_overlay_spec *spec, const char **way, struct pdk_err *err)
{
    struct pdk_overlay_ns ns = PDK_OVERLAY_NS_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;
    int rc = pdk_overlay_mount(spec, err);

    *way = rc == 0 ? by_root : by_user;
    (void)pdk_overlay_unmount(spec->target, &ignored);
    if (rc != PDK_EUNAVAIL)
        return rc;
    rc = pdk_overlay_ns_mount(spec, &ns, err);
    /* A directory that is made in one of the lower layer brings that one up, with its owner and group. */
    if (rc == 0 && mkdirat(ns.root_fd, "lower/new", 0700) < 0)
        rc = pdk_fail(err, PDK_EUNAVAIL, errno,
                "an overlay in a user namespace cannot be written: is the state's group this user's?");
    pdk_overlay_ns_close(&ns);
    return rc;
}

static int overlay_probe(const char *dir, const char **way, struct pdk_err *err)
{
    PDK_AUTO_FREE char *top = pdk_strf("%s/overlay-probe-XXXXXX", dir);
    const char *names[] = { "lower", "upper", "work", "target", "lower/lower" };
    char *paths[5] = { NULL };
    struct pdk_err ignored = PDK_ERR_INIT;
    int rc = 0;

    if (!top)
        return pdk_fail_nomem(err);
    if (!mkdtemp(top))
        return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", top);
    for (int i = 0; rc == 0 && i < 5; i++) {
        paths[i] = pdk_path_join(top, names[i]);
        rc = paths[i] && mkdir(paths[i], 0700) == 0
                ? 0
                : pdk_fail(err, PDK_EIO, errno, "cannot make a directory in '%s'", top);
    }
    if (rc == 0) {
        struct pdk_overlay_spec spec = { .lower = (const char *const[]){ paths[0] },
            .lower_len = 1,
            .upper = paths[1],
            .work = paths[2],
            .target = paths[3] };

        rc = try_ways(&spec, way, err);
    }
    for (int i = 0; i < 5; i++)
        free(paths[i]);
    (void)pdk_fs_remove_tree(top, &ignored); /* empty directories, at worst */
    return rc;
}

const struct pdk_backend pdk_overlay_backend = {
    .name = "overlay",
    .claim = "copy-on-write copy",
    .upper = "upper",
    .needs_template = true,
    .check_root = overlay_check_root,
    .probe = overlay_probe,
    .attach = overlay_attach,
    .materialize = overlay_materialize,
    .teardown = overlay_teardown,
    .count_commits = pdk_gitdir_count_commits,
    .find_head = pdk_gitdir_find_head,
};
