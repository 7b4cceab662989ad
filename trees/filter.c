#include "trees/filter.h"

#include <git2.h>
#include <git2/sys/repository.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"
#include "trees/internal.h"
#include "trees/repo.h"
#include "trees/vault.h"

struct pdk_filter {
    struct pdk_vault *vault;
    git_repository *repo; /* borrowed from the vault */
    git_oid attributes;   /* a commit of the tree whose .gitattributes hold */
    git_index *index; /* in memory: the one path that is converted, as the base has it */
};

bool pdk_filter_needed(const struct pdk_repo *repo, bool has_attributes)
{
    return has_attributes || (repo->autocrlf && strcasecmp(repo->autocrlf, "false") != 0);
}

static const char *autocrlf_of(const struct pdk_repo *user)
{
    if (!user->autocrlf || strcasecmp(user->autocrlf, "false") == 0)
        return "false";
    return strcasecmp(user->autocrlf, "input") == 0 ? "input" : "true";
}

static const char *eol_of(const struct pdk_repo *user)
{
    return user->eol && strcasecmp(user->eol, "crlf") == 0 ? "crlf" : "lf";
}

/* A file for each of the few settings, so that handles at work side by side share no lock. */
static int configure(
        struct pdk_vault *vault, const struct pdk_repo *user, struct pdk_err *err)
{
    const char *autocrlf = autocrlf_of(user), *eol = eol_of(user);
    PDK_AUTO_FREE char *path =
            pdk_strf("%s/eol-%s-%s", pdk_vault_path(vault), autocrlf, eol);
    PDK_AUTO_FREE char *text = pdk_strf(
            "[core]\n\tbare = true\n\tautocrlf = %s\n\teol = %s\n", autocrlf, eol);
    git_config *config = NULL;
    int rc;

    if (!path || !text)
        return pdk_fail_nomem(err);
    if (!pdk_fs_exists(path) &&
            pdk_fs_write(path, text, strlen(text), 0600, PDK_FS_SYNC, err) < 0)
        return err->code;
    rc = git_config_open_ondisk(&config, path);
    if (rc == 0)
        rc = git_repository_set_config(pdk_vault_repository(vault), config);
    git_config_free(config);
    return rc < 0 ? pdk_git2_fail(err, rc, "taking over the end-of-line settings") : 0;
}

int pdk_filter_open(struct pdk_vault *vault, const struct pdk_repo *repo,
        const struct pdk_oid *tree, struct pdk_filter **out, struct pdk_err *err)
{
    PDK_AUTO_FILTER struct pdk_filter *filter = calloc(1, sizeof(*filter));
    struct pdk_oid none = { "" }, commit;

    if (!filter)
        return pdk_fail_nomem(err);
    filter->vault = vault;
    filter->repo = pdk_vault_repository(vault);
    if (configure(vault, repo, err) < 0 ||
            pdk_commit_write(vault, pdk_vault_odb(vault), &none, tree,
                    "paddock: attributes", &commit, err) < 0 ||
            pdk_oid_to(&commit, &filter->attributes, err) < 0)
        return err->code;
    if (git_index_new(&filter->index) < 0 ||
            git_repository_set_index(filter->repo, filter->index) < 0)
        return pdk_git2_fail(err, GIT_ERROR, "preparing an index");
    *out = pdk_take_ptr(&filter);
    return 0;
}

void pdk_filter_free(struct pdk_filter *filter)
{
    if (!filter)
        return;
    if (filter->index)
        (void)git_repository_set_index(filter->repo, NULL); /* cannot fail for none */
    git_index_free(filter->index);
    free(filter);
}

/* blob: whose name `ident` puts in; NULL: none. */
static int convert(struct pdk_filter *filter, git_blob *blob, const char *path,
        const struct pdk_buf *data, struct pdk_buf *out, struct pdk_err *err)
{
    git_filter_options options = { .version = GIT_FILTER_OPTIONS_VERSION };
    git_filter_list *list = NULL;
    git_buf text = GIT_BUF_INIT;
    git_filter_mode_t mode = blob ? GIT_FILTER_TO_WORKTREE : GIT_FILTER_TO_ODB;
    int rc;

    options.flags = GIT_FILTER_ATTRIBUTES_FROM_COMMIT | GIT_FILTER_ALLOW_UNSAFE |
            GIT_FILTER_NO_SYSTEM_ATTRIBUTES;
    options.attr_commit_id = filter->attributes;
    rc = git_filter_list_load_ext(&list, filter->repo, blob, path, mode, &options);
    if (rc == 0 && !list) {
        pdk_buf_add(out, pdk_buf_str(data), data->len);
        return pdk_buf_ok(out, err);
    }
    if (rc == 0)
        rc = blob ? git_filter_list_apply_to_blob(&text, list, blob)
                  : git_filter_list_apply_to_buffer(
                            &text, list, pdk_buf_str(data), data->len);
    git_filter_list_free(list);
    if (rc < 0)
        return pdk_git2_fail(err, rc, "converting '%s'", path);
    pdk_buf_add(out, text.ptr ? text.ptr : "", text.size);
    git_buf_dispose(&text);
    return pdk_buf_ok(out, err);
}

int pdk_filter_to_worktree(struct pdk_filter *filter, const char *path,
        const struct pdk_oid *blob, const struct pdk_buf *data, struct pdk_buf *out,
        struct pdk_err *err)
{
    git_blob *object = NULL;
    git_oid id;
    int rc;

    if (pdk_oid_to(blob, &id, err) < 0)
        return err->code;
    rc = git_blob_lookup(&object, filter->repo, &id);
    if (rc < 0)
        return pdk_git2_fail(err, rc, "reading object %s", blob->hex);
    rc = convert(filter, object, path, data, out, err);
    git_blob_free(object);
    return rc;
}

int pdk_filter_is_lfs(
        struct pdk_filter *filter, const char *path, bool *out, struct pdk_err *err)
{
    git_attr_options options = { .version = GIT_ATTR_OPTIONS_VERSION };
    const char *value = NULL;
    int rc;

    options.flags = GIT_ATTR_CHECK_INDEX_ONLY | GIT_ATTR_CHECK_NO_SYSTEM |
            GIT_ATTR_CHECK_INCLUDE_COMMIT;
    options.attr_commit_id = filter->attributes;
    rc = git_attr_get_ext(&value, filter->repo, &options, path, "filter");
    if (rc < 0)
        return pdk_git2_fail(err, rc, "looking up the attributes of '%s'", path);
    *out = git_attr_value(value) == GIT_ATTR_VALUE_STRING && strcmp(value, "lfs") == 0;
    return 0;
}

struct text_stats {
    size_t nul, lone_cr, crlf, printable, other;
};

static void count_byte(struct text_stats *stats, unsigned char c, bool before_newline)
{
    if (c == '\r' && before_newline)
        stats->crlf++;
    else if (c == '\r')
        stats->lone_cr++;
    else if (c == 0)
        stats->nul++;
    if (c == '\r' || c == '\n')
        return;
    if (c >= ' ' ? c != 127 : (c && strchr("\b\t\033\014", c)))
        stats->printable++;
    else
        stats->other++;
}

/* What git's conversion of recognized texts goes by: text, with line ends of two bytes. */
static bool has_crlf(const struct pdk_buf *data)
{
    struct text_stats stats = { 0 };

    for (size_t i = 0; i < data->len; i++)
        count_byte(&stats, (unsigned char)data->data[i],
                i + 1 < data->len && data->data[i + 1] == '\n');
    if (data->len > 0 && data->data[data->len - 1] == '\032')
        stats.other--; /* an old end-of-file mark */
    return stats.crlf > 0 && stats.nul == 0 && stats.lone_cr == 0 &&
            stats.printable / 128 >= stats.other;
}

static int old_has_crlf(struct pdk_filter *filter, const struct pdk_oid *old, bool *out,
        struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf data = PDK_BUF_INIT;

    *out = false;
    if (!old)
        return 0;
    if (pdk_vault_read_blob(filter->vault, old, SIZE_MAX, &data, err) < 0)
        return err->code;
    *out = has_crlf(&data);
    return 0;
}

static int show_old(struct pdk_filter *filter, const char *path,
        const struct pdk_oid *old, struct pdk_err *err)
{
    git_index_entry entry = { .mode = GIT_FILEMODE_BLOB, .path = path };
    bool shown;
    int rc = git_index_clear(filter->index);

    if (old_has_crlf(filter, old, &shown, err) < 0)
        return err->code;
    if (rc == 0 && shown) {
        if (pdk_oid_to(old, &entry.id, err) < 0)
            return err->code;
        rc = git_index_add(filter->index, &entry);
    }
    return rc < 0 ? pdk_git2_fail(err, rc, "looking at '%s' in the base", path) : 0;
}

int pdk_filter_to_object(struct pdk_filter *filter, const char *path,
        const struct pdk_oid *old, const struct pdk_buf *data, struct pdk_buf *out,
        struct pdk_err *err)
{
    if (show_old(filter, path, old, err) < 0)
        return err->code;
    return convert(filter, NULL, path, data, out, err);
}
