#include "trees/diff.h"

#include <git2.h>
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

static int open_tree(struct pdk_vault *vault, const struct pdk_oid *oid, git_tree **out,
        struct pdk_err *err)
{
    git_oid id;
    int rc;

    if (strcmp(oid->hex, PDK_EMPTY_TREE) == 0) {
        *out = NULL; /* which is how the library spells it */
        return 0;
    }
    if (pdk_oid_to(oid, &id, err) < 0)
        return err->code;
    rc = git_tree_lookup(out, pdk_vault_repository(vault), &id);
    return rc < 0 ? pdk_git2_fail(err, rc, "reading tree %s", oid->hex) : 0;
}

static int make_diff(struct pdk_vault *vault, const struct pdk_oid *from,
        const struct pdk_oid *to, git_diff **out, struct pdk_err *err)
{
    git_diff_options options;
    git_tree *a = NULL, *b = NULL;
    int rc;

    (void)git_diff_options_init(
            &options, GIT_DIFF_OPTIONS_VERSION); /* this version is known */
    options.flags = GIT_DIFF_INCLUDE_TYPECHANGE | GIT_DIFF_SHOW_BINARY;
    options.id_abbrev = 40;
    options.old_prefix = "a";
    options.new_prefix = "b";
    if (open_tree(vault, from, &a, err) < 0)
        return err->code;
    if (open_tree(vault, to, &b, err) < 0) {
        git_tree_free(a);
        return err->code;
    }
    rc = git_diff_tree_to_tree(out, pdk_vault_repository(vault), a, b, &options);
    git_tree_free(a);
    git_tree_free(b);
    return rc < 0 ? pdk_git2_fail(err, rc, "comparing trees") : 0;
}

static char status_of(git_delta_t status)
{
    switch ((int)status) {
    case GIT_DELTA_ADDED:
        return 'A';
    case GIT_DELTA_DELETED:
        return 'D';
    case GIT_DELTA_TYPECHANGE:
        return 'T';
    default:
        return 'M';
    }
}

static void fill_side(const git_diff_file *file, uint32_t *mode, struct pdk_oid *oid)
{
    *mode = file->mode;
    oid->hex[0] = '\0';
    if (file->mode != 0)
        pdk_oid_of(&file->id, oid);
}

/* Lines that a blob has by itself: as if it came from nothing. */
static int count_blob(struct pdk_vault *vault, const struct pdk_oid *oid, size_t *out,
        bool *binary, struct pdk_err *err)
{
    git_blob *blob = NULL;
    git_patch *patch = NULL;
    git_oid id;
    int rc;

    if (pdk_oid_to(oid, &id, err) < 0)
        return err->code;
    rc = git_blob_lookup(&blob, pdk_vault_repository(vault), &id);
    if (rc == 0)
        rc = git_patch_from_blobs(&patch, NULL, NULL, blob, NULL, NULL);
    if (rc == 0 && patch) {
        *binary = *binary ||
                (git_patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY) != 0;
        rc = git_patch_line_stats(NULL, out, NULL, patch);
    }
    git_patch_free(patch);
    git_blob_free(blob);
    return rc < 0 ? pdk_git2_fail(err, rc, "comparing object %s", oid->hex) : 0;
}

/* A change of type is the end of one file and the beginning of another, as git counts it. */
static int count_type_change(
        struct pdk_vault *vault, struct pdk_change *change, struct pdk_err *err)
{
    size_t added = 0, deleted = 0;

    if ((change->old_mode & S_IFMT) == 0160000 || (change->new_mode & S_IFMT) == 0160000)
        return 0;
    if (count_blob(vault, &change->old_oid, &deleted, &change->binary, err) < 0 ||
            count_blob(vault, &change->new_oid, &added, &change->binary, err) < 0)
        return err->code;
    change->added = (int64_t)added;
    change->deleted = (int64_t)deleted;
    return 0;
}

/* Lines of one file; a file that is binary has none. */
static int count_lines(
        git_diff *diff, size_t i, struct pdk_change *change, struct pdk_err *err)
{
    git_patch *patch = NULL;
    size_t added = 0, deleted = 0;
    int rc = git_patch_from_diff(&patch, diff, i);

    if (rc == 0 && patch)
        rc = git_patch_line_stats(NULL, &added, &deleted, patch);
    if (rc == 0 && patch)
        change->binary = (git_patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY) != 0;
    git_patch_free(patch);
    if (rc < 0)
        return pdk_git2_fail(err, rc, "comparing '%s'", change->path);
    change->added = (int64_t)added;
    change->deleted = (int64_t)deleted;
    return 0;
}

static int fill_change(struct pdk_vault *vault, git_diff *diff, size_t i,
        unsigned int flags, struct pdk_change *change, struct pdk_err *err)
{
    const git_diff_delta *delta = git_diff_get_delta(diff, i);
    const char *path = delta->new_file.path ? delta->new_file.path : delta->old_file.path;

    change->path = strdup(path);
    if (!change->path)
        return pdk_fail_nomem(err);
    change->status = status_of(delta->status);
    fill_side(&delta->old_file, &change->old_mode, &change->old_oid);
    fill_side(&delta->new_file, &change->new_mode, &change->new_oid);
    if (delta->status == GIT_DELTA_ADDED)
        fill_side(&(git_diff_file){ 0 }, &change->old_mode, &change->old_oid);
    if (delta->status == GIT_DELTA_DELETED)
        fill_side(&(git_diff_file){ 0 }, &change->new_mode, &change->new_oid);
    if (!(flags & PDK_DIFF_LINES))
        return 0;
    if (change->status == 'T')
        return count_type_change(vault, change, err);
    return count_lines(diff, i, change, err);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(
            ((const struct pdk_change *)a)->path, ((const struct pdk_change *)b)->path);
}

static int fill_diff(struct pdk_vault *vault, git_diff *diff, unsigned int flags,
        struct pdk_diff *out, struct pdk_err *err)
{
    size_t n = git_diff_num_deltas(diff);

    out->changes = calloc(n + 1, sizeof(*out->changes));
    if (!out->changes)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        out->len = i + 1;
        if (fill_change(vault, diff, i, flags, &out->changes[i], err) < 0)
            return err->code;
        out->added += out->changes[i].added;
        out->deleted += out->changes[i].deleted;
    }
    qsort(out->changes, out->len, sizeof(*out->changes), by_path);
    return 0;
}

int pdk_diff_trees(struct pdk_vault *vault, const struct pdk_oid *from,
        const struct pdk_oid *to, unsigned int flags, struct pdk_diff *out,
        struct pdk_err *err)
{
    struct pdk_diff made = { NULL, 0, 0, 0 };
    git_diff *diff = NULL;
    int rc;

    if (make_diff(vault, from, to, &diff, err) < 0)
        return err->code;
    rc = fill_diff(vault, diff, flags, &made, err);
    git_diff_free(diff);
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

int pdk_diff_transplant(struct pdk_vault *vault, const struct pdk_oid *from,
        const struct pdk_oid *to, const struct pdk_oid *onto, struct pdk_oid *out,
        struct pdk_err *err)
{
    PDK_AUTO_DIFF struct pdk_diff diff = { NULL, 0, 0, 0 };
    PDK_AUTO_FREE struct pdk_tree_update *updates = NULL;

    if (pdk_diff_trees(vault, from, to, 0, &diff, err) < 0)
        return err->code;
    updates = calloc(diff.len + 1, sizeof(*updates));
    if (!updates)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < diff.len; i++)
        updates[i] = (struct pdk_tree_update){ diff.changes[i].path,
            diff.changes[i].new_mode, diff.changes[i].new_oid };
    return pdk_tree_apply(vault, onto, updates, diff.len, out, err);
}
