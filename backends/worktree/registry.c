#include "backends/worktree/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

/* Where an entry is while it is made; git looks at nothing of that name. */
static char *name_place(const struct pdk_repo *repo, const char *id)
{
    return pdk_strf("%s/paddock-%s", repo->common_dir, id);
}

/* ---- adding */

static int fill_entry(const char *place, const char *entry, const char *root,
        const char *head, struct pdk_err *err)
{
    PDK_AUTO_FREE char *gitdir = pdk_strf("%s/.git\n", root);
    PDK_AUTO_FREE char *file = pdk_strf("%s/.git", root);
    PDK_AUTO_FREE char *link = pdk_strf("gitdir: %s\n", entry);

    if (!gitdir || !file || !link)
        return pdk_fail_nomem(err);
    int rc = pdk_fs_write(file, link, strlen(link), 0644, 0, err);
    if (rc == 0)
        rc = pdk_gitfile_put(place, "commondir", "../..\n", err);
    if (rc == 0)
        rc = pdk_gitfile_put(place, "HEAD", head, err);
    if (rc == 0)
        rc = pdk_gitfile_put(place, "gitdir", gitdir, err);
    return rc;
}

/* Never over what is there, not even an empty directory that git has just made for somebody. */
static int move_new(const char *from, const char *to)
{
    int rc = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);

    /* A file system that knows no such thing: ids make names that nobody else uses. */
    if (rc < 0 && errno == EINVAL && !pdk_fs_exists(to))
        rc = rename(from, to);
    return rc;
}

/* 0 with the entry in place, 1 where another name is worth a try. */
static int publish(const struct pdk_repo *repo, const char *place, const char *entry,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *parent = pdk_strf("%s/worktrees", repo->common_dir);

    if (!parent)
        return pdk_fail_nomem(err);
    if (mkdir(parent, 0755) < 0 && errno != EEXIST)
        return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make '%s'", parent);
    if (move_new(place, entry) == 0)
        return 0;
    /* Taken, or somebody's prune removed an empty worktrees/ just now. */
    if (errno == EEXIST || errno == ENOENT)
        return 1;
    return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make '%s'", entry);
}

/*
 * The entry is made beside worktrees/ and moved there whole: one that a prune of the user's sees bare
 * it takes away, at any moment after it saw it.
 */
static int add_named(const struct pdk_repo *repo, const char *place, const char *entry,
        const char *root, const char *head, struct pdk_err *err)
{
    struct pdk_err ignored = PDK_ERR_INIT;

    if (mkdir(place, 0755) < 0)
        return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make '%s'", place);
    int rc = fill_entry(place, entry, root, head, err);
    if (rc == 0)
        rc = publish(repo, place, entry, err);
    if (rc != 0)
        (void)pdk_fs_remove_tree(place, &ignored); /* the first error matters */
    return rc;
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
    PDK_AUTO_FREE char *place = name_place(repo, id);
    int rc = 1;

    if (!place)
        return pdk_fail_nomem(err);
    for (int attempt = 0; rc > 0 && attempt < MAX_TRIES; attempt++) {
        PDK_AUTO_FREE char *entry = name_entry(repo, id, attempt);

        rc = entry ? add_named(repo, place, entry, root, head, err) : pdk_fail_nomem(err);
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

int pdk_registry_remove(const struct pdk_repo *repo, const char *id, const char *root,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *entry = NULL;
    PDK_AUTO_FREE char *place =
            name_place(repo, id); /* left there by a kill, if at all */
    int rc = place ? pdk_registry_find(repo, id, root, &entry, err) : pdk_fail_nomem(err);

    if (rc == 0 && entry)
        rc = pdk_fs_remove_tree(entry, err);
    if (rc == 0)
        rc = pdk_fs_remove_tree(place, err);
    if (rc == 0)
        drop_parent(repo);
    return rc;
}
