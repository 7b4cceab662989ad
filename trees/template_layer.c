/* What many sandboxes' git directories have in common, laid under all of them. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/str.h"
#include "trees/layer.h"
#include "trees/template_internal.h"

static const char prefix[] = "git-";

/* The template's index once more: one file, which is replaced, never written in place. */
static int fill(const struct pdk_template *t, const struct pdk_layer *layer,
        const char *temp, struct pdk_err *err)
{
    PDK_AUTO_FREE char *gitdir = pdk_path_join(temp, ".git");
    PDK_AUTO_FREE char *index = pdk_path_join(temp, ".git/index");

    if (!gitdir || !index)
        return pdk_fail_nomem(err);
    if (chmod(temp, 0755) < 0 || mkdir(gitdir, 0755) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", gitdir);
    if (pdk_layer_write(layer, gitdir, err) < 0)
        return err->code;
    if (link(t->index, index) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot link '%s'", index);
    return 0;
}

static int make(const struct pdk_template *t, const struct pdk_layer *layer,
        const char *path, struct pdk_err *err)
{
    PDK_AUTO_FREE char *temp = pdk_strf("%s.tmp-XXXXXX", t->path);
    struct pdk_err ignored = PDK_ERR_INIT;
    bool lost;
    int rc;

    if (!temp)
        return pdk_fail_nomem(err);
    if (!mkdtemp(temp))
        return pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", temp);
    rc = fill(t, layer, temp, err);
    if (rc == 0 && rename(temp, path) == 0)
        return 0;
    lost = rc == 0 && (errno == EEXIST || errno == ENOTEMPTY);
    if (rc == 0 && !lost)
        rc = pdk_fail(err, PDK_EIO, errno, "cannot publish '%s'", path);
    /* Another one was first, with the same; or the first error matters: a sweep finds it. */
    (void)pdk_fs_remove_tree(temp, &ignored);
    return rc;
}

int pdk_template_layer(const struct pdk_template *t, const struct pdk_layer *layer,
        char **out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = NULL;
    char digest[65];

    if (pdk_layer_digest(layer, digest, err) < 0)
        return err->code;
    path = pdk_strf("%s/%s%.32s", t->path, prefix, digest);
    if (!path)
        return pdk_fail_nomem(err);
    if (!pdk_fs_is_dir(path) && make(t, layer, path, err) < 0)
        return err->code;
    *out = pdk_take_ptr(&path);
    return 0;
}

/* ---- is it what its name says? */

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool has_only(const char *dir, const char *name)
{
    PDK_AUTO_DIR DIR *open_dir = opendir(dir);
    const struct dirent *entry;

    while (open_dir && (entry = readdir(open_dir)))
        if (!is_dot(entry->d_name) && strcmp(entry->d_name, name) != 0)
            return false;
    return open_dir != NULL;
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;

    return lstat(one, &a) == 0 && lstat(other, &b) == 0 && a.st_dev == b.st_dev &&
            a.st_ino == b.st_ino;
}

static bool is_layer_sound(const struct pdk_template *t, const char *name)
{
    PDK_AUTO_FREE char *path = pdk_path_join(t->path, name);
    PDK_AUTO_FREE char *gitdir = path ? pdk_path_join(path, ".git") : NULL;
    PDK_AUTO_FREE char *index = gitdir ? pdk_path_join(gitdir, "index") : NULL;
    PDK_AUTO_LAYER struct pdk_layer layer = PDK_LAYER_INIT;
    struct pdk_err err = PDK_ERR_INIT;
    char digest[65];

    return index && pdk_fs_is_dir(path) && has_only(path, ".git") &&
            is_same_file(index, t->index) &&
            pdk_layer_read(gitdir, "index", &layer, &err) == 0 &&
            pdk_layer_digest(&layer, digest, &err) == 0 &&
            strncmp(digest, name + sizeof(prefix) - 1, 32) == 0;
}

bool pdk_template_layers_sound(const struct pdk_template *t)
{
    PDK_AUTO_DIR DIR *dir = opendir(t->path);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        bool fine = is_dot(name) || strcmp(name, "tree") == 0 ||
                strcmp(name, "index") == 0 ||
                (pdk_starts_with(name, prefix) && is_layer_sound(t, name));

        if (!fine)
            return false;
    }
    return dir != NULL;
}
