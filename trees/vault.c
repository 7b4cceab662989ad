/*
 * Two views of objects: `all` is the vault's repository, whose alternates lead to the user's; `own` is
 * the vault's directory alone. What has to last is written to `own`, also where an alternate has it.
 */
#include "trees/vault.h"

#include <git2.h>
#include <git2/sys/odb_backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/str.h"
#include "trees/internal.h"

struct pdk_vault {
    char *path;
    git_repository *repo;
    git_odb *all; /* the repository's */
    git_odb *own;
};

void pdk_oid_of(const struct git_oid *from, struct pdk_oid *to)
{
    git_oid_tostr(to->hex, sizeof(to->hex), from);
}

int pdk_oid_to(const struct pdk_oid *from, struct git_oid *to, struct pdk_err *err)
{
    if (git_oid_fromstr(to, from->hex) < 0)
        return pdk_fail(err, PDK_EINVAL, 0, "'%s' is no object id", from->hex);
    return 0;
}

/* ---- opening */

void pdk_vault_close(struct pdk_vault *vault)
{
    if (!vault)
        return;
    git_odb_free(vault->own);
    git_odb_free(vault->all);
    git_repository_free(vault->repo);
    free(vault->path);
    free(vault);
}

const char *pdk_vault_path(const struct pdk_vault *vault)
{
    return vault->path;
}

struct git_repository *pdk_vault_repository(const struct pdk_vault *vault)
{
    return vault->repo;
}

struct git_odb *pdk_vault_odb(const struct pdk_vault *vault)
{
    return vault->all;
}

/* Objects below one directory and nowhere else. */
static int open_objects(const char *dir, git_odb **out, struct pdk_err *err)
{
    git_odb *odb = NULL;
    git_odb_backend *loose = NULL, *packed = NULL;
    int rc = git_odb_new(&odb);

    if (rc == 0)
        rc = git_odb_backend_loose(&loose, dir, -1, 1, 0, 0);
    if (rc == 0)
        rc = git_odb_add_backend(odb, loose, 2);
    if (rc == 0 && git_odb_backend_pack(&packed, dir) == 0)
        rc = git_odb_add_backend(odb, packed, 1);
    if (rc < 0) {
        (void)pdk_git2_fail(err, rc, "opening the objects in '%s'", dir);
        git_odb_free(odb);
        return err->code;
    }
    *out = odb;
    return 0;
}

/* The user's objects are read through this file; written only where it says otherwise. */
static int set_alternates(const char *path, const char *objects, struct pdk_err *err)
{
    PDK_AUTO_FREE char *file = pdk_strf("%s/objects/info/alternates", path);
    PDK_AUTO_FREE char *want = pdk_strf("%s\n", objects);
    PDK_AUTO_BUF struct pdk_buf have = PDK_BUF_INIT;

    if (!file || !want)
        return pdk_fail_nomem(err);
    if (strchr(objects, '\n') || objects[0] == '"')
        return pdk_fail(err, PDK_EUNAVAIL, 0,
                "the path '%s' cannot stand in an alternates file", objects);
    if (pdk_fs_read(file, 65536, &have, NULL) == 0 && pdk_streq(pdk_buf_str(&have), want))
        return 0;
    return pdk_fs_write(file, want, strlen(want), 0600, PDK_FS_SYNC, err);
}

static int make_vault(const char *path, const char *objects, struct pdk_err *err)
{
    git_repository_init_options options;
    git_repository *repo = NULL;
    PDK_AUTO_FREE char *lock_path = pdk_strf("%s.lock", path);
    PDK_AUTO_FREE char *head = pdk_path_join(path, "HEAD");
    PDK_AUTO_FREE char *info = pdk_path_join(path, "objects/info");
    PDK_AUTO_FD int lock = -1;
    int rc;

    if (!lock_path || !head || !info)
        return pdk_fail_nomem(err);
    if (pdk_fs_lock(lock_path, true, &lock, err) < 0)
        return err->code;
    if (!pdk_fs_exists(head)) {
        (void)git_repository_init_options_init(
                &options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
        options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_MKPATH;
        options.mode = 0700;
        rc = git_repository_init_ext(&repo, path, &options);
        git_repository_free(repo);
        if (rc < 0)
            return pdk_git2_fail(err, rc, "making the vault '%s'", path);
    }
    if (pdk_fs_mkdirs(info, 0700, err) < 0)
        return err->code;
    return set_alternates(path, objects, err);
}

int pdk_vault_open(const char *path, const char *objects, struct pdk_vault **out,
        struct pdk_err *err)
{
    PDK_AUTO_VAULT struct pdk_vault *vault = NULL;
    PDK_AUTO_FREE char *own = pdk_path_join(path, "objects");
    int rc;

    if (pdk_git2_start(err) < 0 || make_vault(path, objects, err) < 0)
        return err->code;
    vault = calloc(1, sizeof(*vault));
    if (!vault || !own)
        return pdk_fail_nomem(err);
    vault->path = strdup(path);
    if (!vault->path)
        return pdk_fail_nomem(err);
    rc = git_repository_open_bare(&vault->repo, path);
    if (rc == 0)
        rc = git_repository_odb(&vault->all, vault->repo);
    if (rc < 0)
        return pdk_git2_fail(err, rc, "opening the vault '%s'", path);
    if (open_objects(own, &vault->own, err) < 0)
        return err->code;
    *out = pdk_take_ptr(&vault);
    return 0;
}

/* ---- copying objects */

struct copying {
    git_odb *from, *to;
    git_repository *repo; /* that reads trees */
    bool both;            /* the old side as well */
};

static int copy_object(const struct copying *c, const git_oid *id, struct pdk_err *err)
{
    git_odb_object *object = NULL;
    git_oid written;
    struct pdk_oid name;
    int rc;

    if (git_odb_exists(c->to, id))
        return 0;
    rc = git_odb_read(&object, c->from, id);
    if (rc == 0)
        rc = git_odb_write(&written, c->to, git_odb_object_data(object),
                git_odb_object_size(object), git_odb_object_type(object));
    git_odb_object_free(object);
    pdk_oid_of(id, &name);
    return rc < 0 ? pdk_git2_fail(err, rc, "copying object %s", name.hex) : 0;
}

static int open_tree(
        const struct copying *c, const git_oid *id, git_tree **out, struct pdk_err *err)
{
    struct pdk_oid name;
    int rc = id ? git_tree_lookup(out, c->repo, id) : 0;

    if (!id)
        *out = NULL;
    if (rc == 0)
        return 0;
    pdk_oid_of(id, &name);
    return pdk_git2_fail(err, rc, "reading tree %s", name.hex);
}

static int copy_trees(const struct copying *c, const git_oid *old_id,
        const git_oid *new_id, struct pdk_err *err);

static const git_oid *subtree(const git_tree_entry *entry)
{
    return entry && git_tree_entry_type(entry) == GIT_OBJECT_TREE
            ? git_tree_entry_id(entry)
            : NULL;
}

static int copy_blob(
        const struct copying *c, const git_tree_entry *entry, struct pdk_err *err)
{
    if (!entry || git_tree_entry_type(entry) != GIT_OBJECT_BLOB)
        return 0;
    return copy_object(c, git_tree_entry_id(entry), err);
}

/* What one name is on both sides; equal ones cost nothing. */
static int copy_pair(const struct copying *c, const git_tree_entry *a,
        const git_tree_entry *b, struct pdk_err *err)
{
    const git_oid *x = subtree(a), *y = subtree(b);

    if (a && b && git_tree_entry_filemode(a) == git_tree_entry_filemode(b) &&
            git_oid_equal(git_tree_entry_id(a), git_tree_entry_id(b)))
        return 0;
    if (c->both && copy_blob(c, a, err) < 0)
        return err->code;
    if (copy_blob(c, b, err) < 0)
        return err->code;
    return x || y ? copy_trees(c, x, y, err) : 0;
}

static const git_tree_entry *by_name(const git_tree *tree, const git_tree_entry *like)
{
    return tree ? git_tree_entry_byname(tree, git_tree_entry_name(like)) : NULL;
}

static int copy_entries(const struct copying *c, const git_tree *a, const git_tree *b,
        struct pdk_err *err)
{
    size_t in_a = a ? git_tree_entrycount(a) : 0, in_b = b ? git_tree_entrycount(b) : 0;

    for (size_t i = 0; i < in_b; i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(b, i);

        if (copy_pair(c, by_name(a, entry), entry, err) < 0)
            return err->code;
    }
    for (size_t i = 0; c->both && i < in_a; i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(a, i);

        if (!by_name(b, entry) && copy_pair(c, entry, NULL, err) < 0)
            return err->code;
    }
    return 0;
}

/* Copies both trees and, below them, what differs. The depth is that of the paths: at most 4096. */
static int copy_trees(const struct copying *c, const git_oid *old_id,
        const git_oid *new_id, struct pdk_err *err)
{
    git_tree *a = NULL, *b = NULL;
    int rc = open_tree(c, old_id, &a, err);

    if (rc == 0)
        rc = open_tree(c, new_id, &b, err);
    if (rc == 0 && c->both && old_id)
        rc = copy_object(c, old_id, err);
    if (rc == 0 && new_id)
        rc = copy_object(c, new_id, err);
    if (rc == 0)
        rc = copy_entries(c, a, b, err);
    git_tree_free(a);
    git_tree_free(b);
    return rc;
}

static int copy_difference(struct pdk_vault *vault, git_odb *to,
        const struct pdk_oid *base, const struct pdk_oid *tree, bool both,
        struct pdk_err *err)
{
    struct copying c = { vault->all, to, vault->repo, both };
    git_oid a, b;

    if (pdk_oid_to(base, &a, err) < 0 || pdk_oid_to(tree, &b, err) < 0)
        return err->code;
    return copy_trees(&c, strcmp(base->hex, PDK_EMPTY_TREE) == 0 ? NULL : &a, &b, err);
}

/* ---- commits */

static int commit_text(const struct pdk_oid *parent, const struct pdk_oid *tree,
        const char *message, struct pdk_buf *out, struct pdk_err *err)
{
    pdk_buf_addf(out, "tree %s\n", tree->hex);
    if (parent->hex[0])
        pdk_buf_addf(out, "parent %s\n", parent->hex);
    pdk_buf_addf(out,
            "author Paddock <paddock@localhost> 0 +0000\n"
            "committer Paddock <paddock@localhost> 0 +0000\n\n%s\n",
            message);
    return pdk_buf_ok(out, err);
}

int pdk_commit_write(struct pdk_vault *vault, struct git_odb *odb,
        const struct pdk_oid *parent, const struct pdk_oid *tree, const char *message,
        struct pdk_oid *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    git_oid id;
    int rc;

    (void)vault;
    if (commit_text(parent, tree, message, &text, err) < 0)
        return err->code;
    rc = git_odb_write(&id, odb, text.data, text.len, GIT_OBJECT_COMMIT);
    if (rc < 0)
        return pdk_git2_fail(err, rc, "writing a commit");
    pdk_oid_of(&id, out);
    return 0;
}

static const char kept_message[] = "paddock: a tree that is kept";

/* Does the reference, which is written last, lead to this tree already? */
static bool is_kept(struct pdk_vault *vault, const char *name, const struct pdk_oid *tree)
{
    PDK_AUTO_FREE char *file = pdk_strf("%s/refs/paddock/%s", vault->path, name);
    PDK_AUTO_BUF struct pdk_buf have = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_oid none = { "" }, want;
    struct pdk_err ignored = PDK_ERR_INIT;
    git_oid id;

    if (!file || pdk_fs_read(file, 64, &have, &ignored) < 0 ||
            commit_text(&none, tree, kept_message, &text, &ignored) < 0 ||
            git_odb_hash(&id, text.data, text.len, GIT_OBJECT_COMMIT) < 0)
        return false;
    pdk_oid_of(&id, &want);
    return pdk_starts_with(pdk_buf_str(&have), want.hex);
}

/* Written by a rename: two threads that keep one tree do not meet in a lock. */
static int set_ref(struct pdk_vault *vault, const char *name, const struct pdk_oid *tree,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *file = pdk_strf("%s/refs/paddock/%s", vault->path, name);
    PDK_AUTO_FREE char *dir = file ? pdk_path_dirname(file) : NULL;
    struct pdk_oid none = { "" }, commit;
    char line[sizeof(commit.hex) + 1];

    if (!dir)
        return pdk_fail_nomem(err);
    if (pdk_commit_write(vault, vault->own, &none, tree, kept_message, &commit, err) <
                    0 ||
            (!pdk_fs_is_dir(dir) && pdk_fs_mkdirs(dir, 0700, err) < 0))
        return err->code;
    (void)snprintf(line, sizeof(line), "%s\n", commit.hex); /* fits */
    if (pdk_fs_write(file, line, strlen(line), 0600, PDK_FS_SYNC, err) < 0)
        return pdk_wrap(err, "keeping '%s'", name);
    return 0;
}

int pdk_vault_keep(struct pdk_vault *vault, const char *name, const struct pdk_oid *base,
        const struct pdk_oid *tree, struct pdk_err *err)
{
    PDK_AUTO_FREE char *base_name = pdk_strf("%s.base", name);

    if (!base_name)
        return pdk_fail_nomem(err);
    if (is_kept(vault, name, tree) && is_kept(vault, base_name, base))
        return 0;
    if (copy_difference(vault, vault->own, base, tree, true, err) < 0)
        return pdk_wrap(err, "keeping '%s'", name);
    if (set_ref(vault, base_name, base, err) < 0)
        return err->code;
    return set_ref(vault, name, tree, err);
}

static int find_ref(struct pdk_vault *vault, const char *name, struct pdk_oid *out,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *file = pdk_strf("%s/refs/paddock/%s", vault->path, name);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_oid kept;

    if (!file)
        return pdk_fail_nomem(err);
    if (!pdk_fs_exists(file))
        return pdk_fail(err, PDK_ENOTFOUND, 0, "nothing is kept as '%s'", name);
    if (pdk_fs_read(file, 64, &text, err) < 0)
        return pdk_wrap(err, "looking for '%s'", name);
    if (text.len > 0)
        text.data[text.len - 1] = '\0';
    if (!pdk_oid_parse(pdk_buf_str(&text), &kept))
        return pdk_fail(err, PDK_ECORRUPT, 0, "'%s' is damaged", file);
    return pdk_vault_peel(vault, &kept, out, err);
}

int pdk_vault_find(struct pdk_vault *vault, const char *name, struct pdk_oid *out_base,
        struct pdk_oid *out_tree, struct pdk_err *err)
{
    PDK_AUTO_FREE char *base_name = pdk_strf("%s.base", name);

    if (!base_name)
        return pdk_fail_nomem(err);
    if (find_ref(vault, base_name, out_base, err) < 0)
        return err->code;
    return find_ref(vault, name, out_tree, err);
}

static int remove_ref(struct pdk_vault *vault, const char *name, struct pdk_err *err)
{
    PDK_AUTO_FREE char *ref = pdk_strf("refs/paddock/%s", name);
    int rc = ref ? git_reference_remove(vault->repo, ref) : GIT_ERROR;

    return rc < 0 && rc != GIT_ENOTFOUND ? pdk_git2_fail(err, rc, "forgetting '%s'", name)
                                         : 0;
}

int pdk_vault_forget(struct pdk_vault *vault, const char *name, struct pdk_err *err)
{
    PDK_AUTO_FREE char *base_name = pdk_strf("%s.base", name);

    if (!base_name)
        return pdk_fail_nomem(err);
    if (remove_ref(vault, name, err) < 0)
        return err->code;
    return remove_ref(vault, base_name, err);
}

/* ---- blobs */

int pdk_vault_read_blob(struct pdk_vault *vault, const struct pdk_oid *blob, size_t max,
        struct pdk_buf *out, struct pdk_err *err)
{
    git_odb_object *object = NULL;
    git_oid id;
    int rc;

    if (pdk_oid_to(blob, &id, err) < 0)
        return err->code;
    rc = git_odb_read(&object, vault->all, &id);
    if (rc < 0)
        return pdk_git2_fail(err, rc, "reading object %s", blob->hex);
    if (git_odb_object_size(object) > max)
        rc = pdk_fail(
                err, PDK_EINVAL, 0, "object %s is larger than %zu bytes", blob->hex, max);
    else
        pdk_buf_add(out, git_odb_object_data(object), git_odb_object_size(object));
    git_odb_object_free(object);
    return rc < 0 ? rc : pdk_buf_ok(out, err);
}

int pdk_vault_write_blob(struct pdk_vault *vault, const void *data, size_t len,
        struct pdk_oid *out, struct pdk_err *err)
{
    git_oid id;
    int rc = git_odb_write(&id, vault->all, data, len, GIT_OBJECT_BLOB);

    if (rc < 0)
        return pdk_git2_fail(err, rc, "writing a blob of %zu bytes", len);
    pdk_oid_of(&id, out);
    return 0;
}

int pdk_vault_peel(struct pdk_vault *vault, const struct pdk_oid *any,
        struct pdk_oid *out_tree, struct pdk_err *err)
{
    git_object *object = NULL, *tree = NULL;
    git_oid id;
    int rc;

    if (pdk_oid_to(any, &id, err) < 0)
        return err->code;
    rc = git_object_lookup(&object, vault->repo, &id, GIT_OBJECT_ANY);
    if (rc == 0)
        rc = git_object_peel(&tree, object, GIT_OBJECT_TREE);
    if (rc == 0)
        pdk_oid_of(git_object_id(tree), out_tree);
    git_object_free(tree);
    git_object_free(object);
    return rc < 0 ? pdk_git2_fail(err, rc, "object %s leads to no tree", any->hex) : 0;
}

/* ---- for other object directories */

int pdk_vault_export(struct pdk_vault *vault, const char *objects,
        const struct pdk_oid *base, const struct pdk_oid *tree, struct pdk_err *err)
{
    git_odb *to = NULL;
    int rc = open_objects(objects, &to, err);

    if (rc == 0)
        rc = copy_difference(vault, to, base, tree, false, err);
    git_odb_free(to);
    return rc < 0 ? pdk_wrap(err, "copying objects to '%s'", objects) : 0;
}

int pdk_vault_seal(struct pdk_vault *vault, const char *objects,
        const struct pdk_oid *parent, const struct pdk_oid *tree,
        struct pdk_oid *out_commit, struct pdk_err *err)
{
    git_odb *to = NULL;
    int rc = open_objects(objects, &to, err);

    if (rc == 0)
        rc = pdk_commit_write(vault, to, parent, tree,
                "paddock: what this sandbox starts from\n\nNot a commit of anybody: it seals the "
                "tree so that what comes after is the work.",
                out_commit, err);
    git_odb_free(to);
    return rc;
}
