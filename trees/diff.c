#include "trees/diff.h"

#include <git2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/str.h"
#include "process/run.h"
#include "trees/internal.h"
#include "trees/repo_internal.h"
#include "trees/vault.h"

void pdk_diff_fini(struct pdk_diff *diff)
{
    for (size_t i = 0; i < diff->len; i++)
        free(diff->changes[i].path);
    free(diff->changes);
    *diff = (struct pdk_diff){ NULL, 0, 0, 0 };
}

/* ---- what differs: subtrees that are equal are not opened, and need not be there */

struct comparing {
    struct pdk_vault *vault;
    struct pdk_diff *out;
    size_t cap;
};

static int compare_trees(struct comparing *c, const git_oid *old_id,
        const git_oid *new_id, const char *dir, struct pdk_err *err);

static struct pdk_change *grow(struct comparing *c)
{
    if (c->out->len == c->cap) {
        size_t cap = c->cap ? c->cap * 2 : 32;
        struct pdk_change *grown =
                reallocarray(c->out->changes, cap, sizeof(*c->out->changes));

        if (!grown)
            return NULL;
        c->out->changes = grown;
        c->cap = cap;
    }
    return &c->out->changes[c->out->len];
}

static void fill_side(const git_tree_entry *entry, uint32_t *mode, struct pdk_oid *oid)
{
    if (!entry)
        return;
    *mode = (uint32_t)git_tree_entry_filemode(entry);
    pdk_oid_of(git_tree_entry_id(entry), oid);
}

static char status_of(const struct pdk_change *change)
{
    if (change->old_mode == 0)
        return 'A';
    if (change->new_mode == 0)
        return 'D';
    return (change->old_mode & S_IFMT) == (change->new_mode & S_IFMT) ? 'M' : 'T';
}

static int add_change(struct comparing *c, const char *path, const git_tree_entry *a,
        const git_tree_entry *b, struct pdk_err *err)
{
    struct pdk_change *made;

    if (!a && !b)
        return 0;
    made = grow(c);
    if (!made)
        return pdk_fail_nomem(err);
    *made = (struct pdk_change){ .path = strdup(path) };
    if (!made->path)
        return pdk_fail_nomem(err);
    c->out->len++;
    fill_side(a, &made->old_mode, &made->old_oid);
    fill_side(b, &made->new_mode, &made->new_oid);
    made->status = status_of(made);
    return 0;
}

static bool is_tree(const git_tree_entry *entry)
{
    return entry && git_tree_entry_type(entry) == GIT_OBJECT_TREE;
}

static bool same_entry(const git_tree_entry *a, const git_tree_entry *b)
{
    return a && b && git_tree_entry_filemode(a) == git_tree_entry_filemode(b) &&
            git_oid_equal(git_tree_entry_id(a), git_tree_entry_id(b));
}

/* What one name is on both sides; NULL where it is not. */
static int compare_pair(struct comparing *c, const git_tree_entry *a,
        const git_tree_entry *b, const char *dir, struct pdk_err *err)
{
    const git_oid *x = is_tree(a) ? git_tree_entry_id(a) : NULL;
    const git_oid *y = is_tree(b) ? git_tree_entry_id(b) : NULL;
    PDK_AUTO_FREE char *path = NULL;

    if (same_entry(a, b))
        return 0;
    path = pdk_strf("%s%s%s", dir, dir[0] ? "/" : "", git_tree_entry_name(a ? a : b));
    if (!path)
        return pdk_fail_nomem(err);
    if (add_change(c, path, x ? NULL : a, y ? NULL : b, err) < 0)
        return err->code;
    return x || y ? compare_trees(c, x, y, path, err) : 0;
}

static const git_tree_entry *by_name(const git_tree *tree, const git_tree_entry *like)
{
    return tree ? git_tree_entry_byname(tree, git_tree_entry_name(like)) : NULL;
}

static int compare_entries(struct comparing *c, const git_tree *a, const git_tree *b,
        const char *dir, struct pdk_err *err)
{
    size_t in_a = a ? git_tree_entrycount(a) : 0, in_b = b ? git_tree_entrycount(b) : 0;

    for (size_t i = 0; i < in_b; i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(b, i);

        if (compare_pair(c, by_name(a, entry), entry, dir, err) < 0)
            return err->code;
    }
    for (size_t i = 0; i < in_a; i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(a, i);

        if (!by_name(b, entry) && compare_pair(c, entry, NULL, dir, err) < 0)
            return err->code;
    }
    return 0;
}

static int open_tree(
        struct pdk_vault *vault, const git_oid *id, git_tree **out, struct pdk_err *err)
{
    struct pdk_oid name;
    int rc = id ? git_tree_lookup(out, pdk_vault_repository(vault), id) : 0;

    if (rc == 0)
        return 0;
    pdk_oid_of(id, &name);
    return pdk_git2_fail(err, rc, "reading tree %s", name.hex);
}

static int compare_trees(struct comparing *c, const git_oid *old_id,
        const git_oid *new_id, const char *dir, struct pdk_err *err)
{
    git_tree *a = NULL, *b = NULL;
    int rc = open_tree(c->vault, old_id, &a, err);

    if (rc == 0)
        rc = open_tree(c->vault, new_id, &b, err);
    if (rc == 0)
        rc = compare_entries(c, a, b, dir, err);
    git_tree_free(a);
    git_tree_free(b);
    return rc;
}

/* The empty tree need not be there either. */
static int compare(struct comparing *c, const struct pdk_oid *from,
        const struct pdk_oid *to, struct pdk_err *err)
{
    bool no_old = strcmp(from->hex, PDK_EMPTY_TREE) == 0;
    bool no_new = strcmp(to->hex, PDK_EMPTY_TREE) == 0;
    git_oid a, b;

    if (pdk_oid_to(from, &a, err) < 0 || pdk_oid_to(to, &b, err) < 0)
        return err->code;
    if (git_oid_equal(&a, &b))
        return 0;
    return compare_trees(c, no_old ? NULL : &a, no_new ? NULL : &b, "", err);
}

/* ---- lines */

static bool is_blob(uint32_t mode)
{
    return S_ISREG(mode) || S_ISLNK(mode);
}

static int open_blob(struct pdk_vault *vault, uint32_t mode, const struct pdk_oid *oid,
        git_blob **out, struct pdk_err *err)
{
    git_oid id;
    int rc;

    if (!is_blob(mode))
        return 0;
    if (pdk_oid_to(oid, &id, err) < 0)
        return err->code;
    rc = git_blob_lookup(out, pdk_vault_repository(vault), &id);
    return rc < 0 ? pdk_git2_fail(err, rc, "reading object %s", oid->hex) : 0;
}

/* Adds the lines between two contents; mode 0 for none. A file that is binary has no lines. */
static int count_between(struct pdk_vault *vault, struct pdk_change *change,
        uint32_t old_mode, uint32_t new_mode, struct pdk_err *err)
{
    git_blob *a = NULL, *b = NULL;
    git_patch *patch = NULL;
    size_t added = 0, deleted = 0;
    int rc = open_blob(vault, old_mode, &change->old_oid, &a, err);

    if (rc == 0)
        rc = open_blob(vault, new_mode, &change->new_oid, &b, err);
    if (rc == 0 && git_patch_from_blobs(&patch, a, NULL, b, NULL, NULL) < 0)
        rc = pdk_git2_fail(err, GIT_ERROR, "comparing '%s'", change->path);
    if (rc == 0 && patch) {
        if (git_patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY)
            change->binary = true;
        if (git_patch_line_stats(NULL, &added, &deleted, patch) < 0)
            rc = pdk_git2_fail(err, GIT_ERROR, "comparing '%s'", change->path);
    }
    git_patch_free(patch);
    git_blob_free(a);
    git_blob_free(b);
    change->added += (int64_t)added;
    change->deleted += (int64_t)deleted;
    return rc;
}

/* A change of type is the end of one file and the beginning of another, as git counts it. */
static int count_lines(
        struct pdk_vault *vault, struct pdk_change *change, struct pdk_err *err)
{
    /* A submodule counts as the one line that names its commit. */
    change->deleted = change->old_mode && !is_blob(change->old_mode);
    change->added = change->new_mode && !is_blob(change->new_mode);
    if (change->status != 'T')
        return count_between(vault, change, change->old_mode, change->new_mode, err);
    if (count_between(vault, change, change->old_mode, 0, err) < 0)
        return err->code;
    return count_between(vault, change, 0, change->new_mode, err);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(
            ((const struct pdk_change *)a)->path, ((const struct pdk_change *)b)->path);
}

static int fill_diff(struct comparing *c, const struct pdk_oid *from,
        const struct pdk_oid *to, unsigned int flags, struct pdk_err *err)
{
    struct pdk_diff *diff = c->out;

    if (compare(c, from, to, err) < 0)
        return err->code;
    for (size_t i = 0; (flags & PDK_DIFF_LINES) && i < diff->len; i++) {
        if (count_lines(c->vault, &diff->changes[i], err) < 0)
            return err->code;
        diff->added += diff->changes[i].added;
        diff->deleted += diff->changes[i].deleted;
    }
    if (diff->len > 1)
        qsort(diff->changes, diff->len, sizeof(*diff->changes), by_path);
    return 0;
}

int pdk_diff_trees(struct pdk_vault *vault, const struct pdk_oid *from,
        const struct pdk_oid *to, unsigned int flags, struct pdk_diff *out,
        struct pdk_err *err)
{
    struct pdk_diff made = { NULL, 0, 0, 0 };
    struct comparing c = { vault, &made, 0 };
    int rc = fill_diff(&c, from, to, flags, err);

    if (rc < 0) {
        pdk_diff_fini(&made);
        return rc;
    }
    *out = made;
    return 0;
}

/* git writes the patch: the library's form of a changed type is one that git refuses. */
int pdk_diff_patch(struct pdk_vault *vault, const struct pdk_oid *from,
        const struct pdk_oid *to, struct pdk_buf *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *dir = pdk_strf("GIT_DIR=%s", pdk_vault_path(vault));
    const char *env[] = { dir, NULL };
    const char *args[] = { "diff-tree", "-r", "-p", "--binary", "--full-index",
        "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/",
        "--dst-prefix=b/", from->hex, to->hex, NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    struct pdk_git_spec spec = { .dir = pdk_vault_path(vault), .args = args, .env = env };

    if (!dir)
        return pdk_fail_nomem(err);
    if (pdk_git_run(&spec, &result, err) < 0)
        return err->code;
    if (result.exit_code != 0)
        return pdk_git_complain(&spec, &result, err);
    pdk_buf_add(out, pdk_buf_str(&result.out), result.out.len);
    return pdk_buf_ok(out, err);
}

int pdk_diff_apply(struct pdk_vault *vault, const struct pdk_diff *diff,
        enum pdk_diff_side side, const struct pdk_oid *onto, struct pdk_oid *out,
        struct pdk_err *err)
{
    PDK_AUTO_FREE struct pdk_tree_update *updates =
            calloc(diff->len + 1, sizeof(*updates));

    if (!updates)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < diff->len; i++) {
        const struct pdk_change *c = &diff->changes[i];
        bool old = side == PDK_DIFF_OLD;

        updates[i] = (struct pdk_tree_update){ c->path, old ? c->old_mode : c->new_mode,
            old ? c->old_oid : c->new_oid };
    }
    return pdk_tree_apply(vault, onto, updates, diff->len, out, err);
}

int pdk_diff_transplant(struct pdk_vault *vault, const struct pdk_oid *from,
        const struct pdk_oid *to, const struct pdk_oid *onto, struct pdk_oid *out,
        struct pdk_err *err)
{
    PDK_AUTO_DIFF struct pdk_diff diff = { NULL, 0, 0, 0 };

    if (pdk_diff_trees(vault, from, to, 0, &diff, err) < 0)
        return err->code;
    return pdk_diff_apply(vault, &diff, PDK_DIFF_NEW, onto, out, err);
}

int pdk_diff_take_back(struct pdk_vault *vault, const struct pdk_diff *diff,
        const struct pdk_strv *paths, const struct pdk_oid *to, struct pdk_oid *out,
        struct pdk_err *err)
{
    PDK_AUTO_FREE struct pdk_tree_update *updates =
            calloc(diff->len + 1, sizeof(*updates));
    size_t n = 0;

    if (!updates)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < diff->len; i++)
        if (pdk_strv_has(paths, diff->changes[i].path))
            updates[n++] = (struct pdk_tree_update){ diff->changes[i].path,
                diff->changes[i].old_mode, diff->changes[i].old_oid };
    return pdk_tree_apply(vault, to, updates, n, out, err);
}
