/* A tree with some paths changed: only the directories on the way are written anew. */
#include <git2.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "trees/internal.h"

/* Updates below one directory: paths from here on begin after `skip` bytes. */
struct slice {
    const struct pdk_tree_update *items;
    size_t len;
    size_t skip;
};

static int apply(struct git_repository *repo, const git_oid *base, const struct slice *s,
        git_oid *out, bool *empty, struct pdk_err *err);

static size_t component(const char *path)
{
    return strcspn(path, "/");
}

/* How many of the first updates share the first one's component. */
static size_t group_len(const struct slice *s)
{
    const char *first = s->items[0].path + s->skip;
    size_t len = component(first), n = 1;

    while (n < s->len) {
        const char *path = s->items[n].path + s->skip;

        if (component(path) != len || strncmp(path, first, len) != 0)
            break;
        n++;
    }
    return n;
}

/* The update of the name itself; NULL where there are only some below it. */
static const struct pdk_tree_update *leaf_of(const struct slice *group)
{
    const struct pdk_tree_update *first = &group->items[0];

    return first->path[group->skip + component(first->path + group->skip)] ? NULL : first;
}

static bool any_kept(const struct slice *s)
{
    for (size_t i = 0; i < s->len; i++)
        if (s->items[i].mode != 0)
            return true;
    return false;
}

static int set_entry(git_treebuilder *builder, const char *name, const git_oid *id,
        uint32_t mode, struct pdk_err *err)
{
    int rc = git_treebuilder_insert(NULL, builder, name, id, (git_filemode_t)mode);

    return rc < 0 ? pdk_git2_fail(err, rc, "tree entry '%s'", name) : 0;
}

static int remove_entry(git_treebuilder *builder, const char *name, struct pdk_err *err)
{
    int rc;

    if (!git_treebuilder_get(builder, name))
        return 0;
    rc = git_treebuilder_remove(builder, name);
    return rc < 0 ? pdk_git2_fail(err, rc, "tree entry '%s'", name) : 0;
}

static int apply_below(struct git_repository *repo, git_treebuilder *builder,
        const char *name, const struct slice *below, struct pdk_err *err)
{
    const git_tree_entry *entry = git_treebuilder_get(builder, name);
    bool is_tree = entry && git_tree_entry_type(entry) == GIT_OBJECT_TREE, empty = false;
    git_oid made;

    /* Removals below what is no directory have nothing to remove. */
    if (!is_tree && !any_kept(below))
        return 0;
    if (apply(repo, is_tree ? git_tree_entry_id(entry) : NULL, below, &made, &empty,
                err) < 0)
        return err->code;
    if (empty)
        return remove_entry(builder, name, err);
    return set_entry(builder, name, &made, GIT_FILEMODE_TREE, err);
}

static int apply_group(struct git_repository *repo, git_treebuilder *builder,
        const struct slice *group, struct pdk_err *err)
{
    const struct pdk_tree_update *leaf = leaf_of(group);
    const char *first = group->items[0].path + group->skip;
    PDK_AUTO_FREE char *name = strndup(first, component(first));
    struct slice below = { group->items + (leaf ? 1 : 0), group->len - (leaf ? 1 : 0),
        group->skip + component(first) + 1 };
    git_oid id;

    if (!name)
        return pdk_fail_nomem(err);
    if (leaf && leaf->mode != 0) {
        if (pdk_oid_to(&leaf->oid, &id, err) < 0)
            return err->code;
        return set_entry(builder, name, &id, leaf->mode, err);
    }
    if (leaf && remove_entry(builder, name, err) < 0)
        return err->code;
    return below.len > 0 ? apply_below(repo, builder, name, &below, err) : 0;
}

static int apply_all(struct git_repository *repo, git_treebuilder *builder,
        const struct slice *s, struct pdk_err *err)
{
    struct slice rest = *s;

    while (rest.len > 0) {
        struct slice group = { rest.items, group_len(&rest), rest.skip };

        if (apply_group(repo, builder, &group, err) < 0)
            return err->code;
        rest.items += group.len;
        rest.len -= group.len;
    }
    return 0;
}

static int apply(struct git_repository *repo, const git_oid *base, const struct slice *s,
        git_oid *out, bool *empty, struct pdk_err *err)
{
    git_treebuilder *builder = NULL;
    git_tree *tree = NULL;
    int rc = base ? git_tree_lookup(&tree, repo, base) : 0;

    if (rc == 0)
        rc = git_treebuilder_new(&builder, repo, tree);
    git_tree_free(tree);
    if (rc < 0)
        return pdk_git2_fail(err, rc, "reading a tree");
    rc = apply_all(repo, builder, s, err);
    *empty = git_treebuilder_entrycount(builder) == 0;
    if (rc == 0) {
        rc = git_treebuilder_write(out, builder);
        if (rc < 0)
            (void)pdk_git2_fail(err, rc, "writing a tree");
    }
    git_treebuilder_free(builder);
    return rc < 0 ? err->code : 0;
}

int pdk_tree_apply(struct pdk_vault *vault, const struct pdk_oid *base,
        const struct pdk_tree_update *updates, size_t n, struct pdk_oid *out,
        struct pdk_err *err)
{
    struct slice all = { updates, n, 0 };
    git_oid from, made;
    bool empty, none = strcmp(base->hex, PDK_EMPTY_TREE) == 0;

    if (n == 0) {
        *out = *base;
        return 0;
    }
    if (pdk_oid_to(base, &from, err) < 0 ||
            apply(pdk_vault_repository(vault), none ? NULL : &from, &all, &made, &empty,
                    err) < 0)
        return err->code;
    pdk_oid_of(&made, out);
    return 0;
}
