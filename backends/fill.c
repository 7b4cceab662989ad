#include "backends/fill.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "trees/checkout.h"
#include "trees/template.h"
#include "trees/vault.h"

char *pdk_sandbox_templates(const char *lock)
{
    PDK_AUTO_FREE char *dir = pdk_path_dirname(lock);

    return dir ? pdk_path_join(dir, "templates") : NULL;
}

/* Everything but .git goes: what a damaged template left half copied. */
static int clear(const char *root, struct pdk_err *err)
{
    PDK_AUTO_DIR DIR *dir = opendir(root);
    const struct dirent *entry;

    if (!dir)
        return pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", root);
    while ((entry = readdir(dir))) {
        const char *name = entry->d_name;
        PDK_AUTO_FREE char *path = NULL;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
                strcmp(name, ".git") == 0)
            continue;
        path = pdk_path_join(root, name);
        if (!path)
            return pdk_fail_nomem(err);
        if (pdk_fs_remove_tree(path, err) < 0)
            return err->code;
    }
    return 0;
}

static int copy_template(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        const struct pdk_checkout_spec *checkout, struct pdk_err *err)
{
    PDK_AUTO_FREE char *dir = pdk_sandbox_templates(spec->lock);
    PDK_AUTO_TEMPLATE struct pdk_template *template = NULL;

    if (!dir)
        return pdk_fail_nomem(err);
    if (pdk_template_open(spec->vault, spec->repo, dir, &spec->template,
                PDK_TEMPLATE_TRUST, &template, err) < 0 ||
            pdk_template_copy(template, sb->root, sb->index, checkout->git_index, err) <
                    0)
        return err->code;
    if (pdk_oid_equal(&spec->template, &spec->tree))
        return 0;
    return pdk_checkout_switch(spec->vault, checkout, &spec->template, err);
}

int pdk_sandbox_fill(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        const char *git_index, struct pdk_err *err)
{
    struct pdk_checkout_spec checkout = {
        .repo = spec->repo,
        .tree = spec->tree,
        .dir = sb->root,
        .index = sb->index,
        .git_index = git_index,
    };
    int rc;

    if (!spec->template.hex[0])
        return pdk_checkout(spec->vault, &checkout, err);
    rc = copy_template(sb, spec, &checkout, err);
    /* A template that was changed under us is not trusted; nor does it matter here. */
    if (rc != PDK_ECORRUPT && rc != PDK_EUNSUPPORTED)
        return rc;
    if (clear(sb->root, err) < 0)
        return err->code;
    return pdk_checkout(spec->vault, &checkout, err);
}

int pdk_sandbox_start_commit(const struct pdk_sandbox_spec *spec, const char *objects,
        struct pdk_oid *out, struct pdk_err *err)
{
    if (pdk_oid_equal(&spec->tree, &spec->base.tree)) {
        *out = spec->base.commit;
        return 0;
    }
    if (pdk_vault_export(spec->vault, objects, &spec->base.tree, &spec->tree, err) < 0 ||
            pdk_vault_seal(
                    spec->vault, objects, &spec->base.commit, &spec->tree, out, err) < 0)
        return pdk_wrap(err, "cannot seal what the sandbox starts from");
    return 0;
}
