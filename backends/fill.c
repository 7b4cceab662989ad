#include "backends/fill.h"

#include "base/error.h"
#include "trees/checkout.h"
#include "trees/vault.h"

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
