#include "trees/filter.h"

#include <git2.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "trees/internal.h"
#include "trees/repo.h"
#include "trees/vault.h"

struct pdk_filter {
    git_repository *repo; /* borrowed from the vault */
    git_oid attributes;   /* a commit of the tree whose .gitattributes hold */
};

bool pdk_filter_needed(const struct pdk_repo *repo, bool has_attributes)
{
    return has_attributes || (repo->autocrlf && strcasecmp(repo->autocrlf, "false") != 0);
}

/* One key of the vault's configuration brought in line; NULL removes it. */
static int set_key(git_config *config, const char *key, const char *want)
{
    git_buf have = GIT_BUF_INIT;
    int rc = git_config_get_string_buf(&have, config, key);
    bool same = rc == 0 ? want && strcmp(have.ptr, want) == 0 : !want;

    git_buf_dispose(&have);
    if (same)
        return 0;
    return want ? git_config_set_string(config, key, want)
                : git_config_delete_entry(config, key);
}

static int configure(
        git_repository *repo, const struct pdk_repo *user, struct pdk_err *err)
{
    git_config *config = NULL;
    int rc = git_repository_config(&config, repo);

    if (rc == 0)
        rc = set_key(config, "core.autocrlf", user->autocrlf);
    if (rc == 0)
        rc = set_key(config, "core.eol", user->eol);
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
    filter->repo = pdk_vault_repository(vault);
    if (configure(filter->repo, repo, err) < 0 ||
            pdk_commit_write(vault, pdk_vault_odb(vault), &none, tree,
                    "paddock: attributes", &commit, err) < 0 ||
            pdk_oid_to(&commit, &filter->attributes, err) < 0)
        return err->code;
    *out = pdk_take_ptr(&filter);
    return 0;
}

void pdk_filter_free(struct pdk_filter *filter)
{
    free(filter);
}

static int convert(struct pdk_filter *filter, git_filter_mode_t mode, const char *path,
        const void *data, size_t len, struct pdk_buf *out, struct pdk_err *err)
{
    git_filter_options options = { .version = GIT_FILTER_OPTIONS_VERSION };
    git_filter_list *list = NULL;
    git_buf text = GIT_BUF_INIT;
    int rc;

    options.flags = GIT_FILTER_ATTRIBUTES_FROM_COMMIT | GIT_FILTER_ALLOW_UNSAFE |
            GIT_FILTER_NO_SYSTEM_ATTRIBUTES;
    options.attr_commit_id = filter->attributes;
    rc = git_filter_list_load_ext(&list, filter->repo, NULL, path, mode, &options);
    if (rc == 0 && !list) {
        pdk_buf_add(out, data, len);
        return pdk_buf_ok(out, err);
    }
    if (rc == 0)
        rc = git_filter_list_apply_to_buffer(&text, list, data, len);
    git_filter_list_free(list);
    if (rc < 0)
        return pdk_git2_fail(err, rc, "converting '%s'", path);
    pdk_buf_add(out, text.ptr ? text.ptr : "", text.size);
    git_buf_dispose(&text);
    return pdk_buf_ok(out, err);
}

int pdk_filter_to_worktree(struct pdk_filter *filter, const char *path, const void *data,
        size_t len, struct pdk_buf *out, struct pdk_err *err)
{
    return convert(filter, GIT_FILTER_TO_WORKTREE, path, data, len, out, err);
}

int pdk_filter_to_object(struct pdk_filter *filter, const char *path, const void *data,
        size_t len, struct pdk_buf *out, struct pdk_err *err)
{
    return convert(filter, GIT_FILTER_TO_ODB, path, data, len, out, err);
}
