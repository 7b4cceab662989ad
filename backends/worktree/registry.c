#include "backends/worktree/registry.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/gitfile.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"
#include "trees/repo.h"

enum { MAX_GITDIR = 8192, MAX_TRIES = 100 };

/* An id as a name of an entry: git makes references of these names, and is picky about dots there. */
static char *name_entry(const struct pdk_repo *repo, const char *id, int attempt)
{
    char *path = attempt == 0
            ? pdk_strf("%s/worktrees/%s", repo->common_dir, id)
            : pdk_strf("%s/worktrees/%s-%d", repo->common_dir, id, attempt);

    for (char *at = path ? path + strlen(repo->common_dir) : NULL; at && *at; at++)
        if (*at == '.')
            *at = '-';
    return path;
}

/* ---- adding */

/*
 * gitdir comes last: without it git does not see the entry, and with it finds root/.git in place, so that
 * no prune takes it away. A bare entry may be pruned by somebody else: PDK_ENOTFOUND.
 */
static int fill_entry(
        const char *entry, const char *root, const char *head, struct pdk_err *err)
{
    PDK_AUTO_FREE char *gitdir = pdk_strf("%s/.git\n", root);
    PDK_AUTO_FREE char *file = pdk_strf("%s/.git", root);
    PDK_AUTO_FREE char *link = pdk_strf("gitdir: %s\n", entry);

    if (!gitdir || !file || !link)
        return pdk_fail_nomem(err);
    int rc = pdk_fs_write(file, link, strlen(link), 0644, 0, err);
    if (rc == 0)
        rc = pdk_gitfile_put(entry, "commondir", "../..\n", err);
    if (rc == 0)
        rc = pdk_gitfile_put(entry, "HEAD", head, err);
    if (rc == 0)
        rc = pdk_gitfile_put(entry, "gitdir", gitdir, err);
    return rc;
}

/* 0 with a new directory, 1 where that name is taken or worktrees/ went away just now. */
static int try_entry(const struct pdk_repo *repo, const char *entry, struct pdk_err *err)
{
    PDK_AUTO_FREE char *parent = pdk_strf("%s/worktrees", repo->common_dir);

    if (!parent)
        return pdk_fail_nomem(err);
    if (mkdir(parent, 0755) < 0 && errno != EEXIST)
        return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make '%s'", parent);
    if (mkdir(entry, 0755) == 0)
        return 0;
    if (errno == EEXIST || (errno == ENOENT && pdk_fs_is_dir(repo->common_dir)))
        return 1;
    return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make '%s'", entry);
}

/* 0 with a complete entry, 1 where another name is worth a try. */
static int add_named(const struct pdk_repo *repo, const char *entry, const char *root,
        const char *head, struct pdk_err *err)
{
    struct pdk_err why = PDK_ERR_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;
    int rc = try_entry(repo, entry, err);

    if (rc != 0)
        return rc;
    rc = fill_entry(entry, root, head, &why);
    if (rc == 0)
        return 0;
    (void)pdk_fs_remove_tree(entry, &ignored); /* the first error matters */
    return rc == PDK_ENOTFOUND ? 1 : pdk_fail(err, rc, 0, "%s", why.msg);
}

/* As git does with the last one; fails while others have entries. */
static void drop_parent(const struct pdk_repo *repo)
{
    PDK_AUTO_FREE char *parent = pdk_strf("%s/worktrees", repo->common_dir);

    if (parent)
        (void)rmdir(parent);
}

int pdk_registry_add(const struct pdk_repo *repo, const char *id, const char *root,
        const char *head, char **out_entry, struct pdk_err *err)
{
    int rc = 1;

    for (int attempt = 0; rc > 0 && attempt < MAX_TRIES; attempt++) {
        PDK_AUTO_FREE char *entry = name_entry(repo, id, attempt);

        rc = entry ? add_named(repo, entry, root, head, err) : pdk_fail_nomem(err);
        if (rc == 0)
            *out_entry = pdk_take_ptr(&entry);
    }
    if (rc > 0)
        rc = pdk_fail(err, PDK_ECONFLICT, 0, "no free name below '%s/worktrees' for '%s'",
                repo->common_dir, id);
    if (rc < 0)
        drop_parent(repo);
    return rc;
}

/* ---- finding */

/* Only a real directory whose gitdir file names our working copy is ours. */
static bool points_at(const char *entry, const char *root)
{
    PDK_AUTO_FREE char *path = pdk_strf("%s/gitdir", entry);
    PDK_AUTO_FREE char *want = pdk_strf("%s/.git\n", root);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;

    if (!path || !want || !pdk_fs_is_dir(entry) ||
            pdk_fs_read(path, MAX_GITDIR, &text, &ignored) < 0)
        return false;
    return strcmp(pdk_buf_str(&text), want) == 0;
}

static int scan(const struct pdk_repo *repo, const char *root, char **out_entry,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *parent = pdk_strf("%s/worktrees", repo->common_dir);
    PDK_AUTO_DIR DIR *dir = parent ? opendir(parent) : NULL;

    if (!parent)
        return pdk_fail_nomem(err);
    for (const struct dirent *at = dir ? readdir(dir) : NULL; at; at = readdir(dir)) {
        PDK_AUTO_FREE char *entry = pdk_strf("%s/%s", parent, at->d_name);

        if (!entry)
            return pdk_fail_nomem(err);
        if (points_at(entry, root)) {
            *out_entry = pdk_take_ptr(&entry);
            return 0;
        }
    }
    return 0;
}

int pdk_registry_find(const struct pdk_repo *repo, const char *id, const char *root,
        char **out_entry, struct pdk_err *err)
{
    PDK_AUTO_FREE char *entry = name_entry(repo, id, 0);

    if (!entry)
        return pdk_fail_nomem(err);
    *out_entry = NULL;
    if (!points_at(entry, root))
        return scan(repo, root, out_entry, err);
    *out_entry = pdk_take_ptr(&entry);
    return 0;
}

/* What a kill leaves while an entry is made: no gitdir yet, so that git takes it for rubbish, too. */
static bool is_half_made(const char *entry)
{
    PDK_AUTO_FREE char *path = pdk_strf("%s/gitdir", entry);

    return path && pdk_fs_is_dir(entry) && !pdk_fs_exists(path);
}

int pdk_registry_remove(const struct pdk_repo *repo, const char *id, const char *root,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *entry = NULL;
    PDK_AUTO_FREE char *named = name_entry(repo, id, 0);
    int rc = named ? pdk_registry_find(repo, id, root, &entry, err) : pdk_fail_nomem(err);

    if (rc == 0 && entry)
        rc = pdk_fs_remove_tree(entry, err);
    if (rc == 0 && is_half_made(named))
        rc = pdk_fs_remove_tree(named, err);
    if (rc == 0)
        drop_parent(repo);
    return rc;
}
