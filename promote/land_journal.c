/*
 * The journal of a landing: one small file, there from before the first change of the working tree until
 * after the last. What is landed is the difference of two trees that the vault keeps.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "promote/land.h"
#include "promote/land_internal.h"
#include "trees/vault.h"

enum { MAX_JOURNAL = 256 << 20 };

void pdk_land_journal_fini(struct pdk_land_journal *journal)
{
    for (size_t i = 0; i < journal->n_dirs; i++)
        free(journal->dirs[i].path);
    free(journal->dirs);
    *journal = (struct pdk_land_journal){ 0 };
}

/* ---- directories that may come or go */

static void add_dir(struct pdk_json *dirs, const char *path, mode_t mode)
{
    struct pdk_json *entry = pdk_json_object();

    (void)pdk_json_set_bytes(entry, "path", path, strlen(path));
    (void)pdk_json_set_int(entry, "mode", mode);
    (void)pdk_json_append(dirs, entry);
}

/* The directories above path, outermost first, but for those that `last` is below as well. */
static void add_parents(const struct pdk_landing *l, const char *path, const char *last,
        struct pdk_json *dirs)
{
    char dir[4096];
    struct stat st;

    (void)snprintf(dir, sizeof(dir), "%s", path);
    for (char *at = strchr(dir, '/'); at; at = strchr(at + 1, '/')) {
        size_t len = (size_t)(at - dir) + 1;

        if (last && strncmp(last, dir, len) == 0)
            continue;
        *at = '\0';
        PDK_AUTO_FD int fd = pdk_land_open_dir(l, dir, O_PATH);

        add_dir(dirs, dir, fd >= 0 && fstat(fd, &st) == 0 ? st.st_mode & 07777 : 0);
        *at = '/';
    }
}

/* A directory that stands where a file is to be, and those below it. */
static void add_tree(const struct pdk_landing *l, const char *path, struct pdk_json *dirs)
{
    int fd = pdk_land_open_dir(l, path, O_RDONLY);
    PDK_AUTO_DIR DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    struct stat st;

    if (!dir) {
        pdk_cleanup_fd(&fd);
        return;
    }
    if (fstat(fd, &st) == 0)
        add_dir(dirs, path, st.st_mode & 07777);
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        PDK_AUTO_FREE char *child = pdk_strf("%s/%s", path, entry->d_name);

        if (child)
            add_tree(l, child, dirs);
    }
}

static struct pdk_json *list_dirs(const struct pdk_landing *l)
{
    struct pdk_json *dirs = pdk_json_array();
    const char *last = NULL;

    for (size_t i = 0; i < l->diff.len; i++) {
        const struct pdk_change *c = &l->diff.changes[i];

        if (c->old_mode != 0 && c->new_mode != 0)
            continue;
        add_parents(l, c->path, last, dirs);
        if (c->old_mode == 0)
            add_tree(l, c->path, dirs);
        last = c->path;
    }
    return dirs;
}

/* ---- writing */

static int keep_sides(const struct pdk_landing *l, struct pdk_oid *before,
        struct pdk_oid *after, struct pdk_err *err)
{
    const struct pdk_land_spec *spec = l->spec;
    PDK_AUTO_FREE char *name = pdk_strf("promotions/%s", spec->id);

    if (!name)
        return pdk_fail_nomem(err);
    if (pdk_diff_apply(spec->vault, &l->diff, PDK_DIFF_OLD, &spec->from, before, err) <
                    0 ||
            pdk_diff_apply(spec->vault, &l->diff, PDK_DIFF_NEW, before, after, err) < 0)
        return err->code;
    return pdk_vault_keep(spec->vault, name, before, after, err);
}

int pdk_land_journal_write(struct pdk_landing *l, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *doc = pdk_json_object();
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_oid before, after;

    if (keep_sides(l, &before, &after, err) < 0)
        return pdk_wrap(err, "keeping what is landed");
    (void)pdk_json_set_int(doc, "version", 1);
    (void)pdk_json_set_str(doc, "id", l->spec->id);
    (void)pdk_json_set_str(doc, "stage", l->stage_name);
    (void)pdk_json_set_str(doc, "before", before.hex);
    (void)pdk_json_set_str(doc, "after", after.hex);
    (void)pdk_json_set(doc, "dirs", list_dirs(l));
    if (pdk_json_write(doc, PDK_JSON_COMPACT, &text, err) < 0)
        return err->code;
    return pdk_fs_write(
            l->spec->journal, pdk_buf_str(&text), text.len, 0600, PDK_FS_SYNC, err);
}

/* ---- reading */

static int read_dir(
        const struct pdk_json *entry, struct pdk_land_dir *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf path = PDK_BUF_INIT;

    if (pdk_json_get_bytes(entry, "path", &path, err) < 0)
        return err->code;
    if (!pdk_path_is_safe(pdk_buf_str(&path), path.len))
        return pdk_fail(err, PDK_ECORRUPT, 0, "a directory with an unsafe path");
    out->mode = (mode_t)pdk_json_get_int(entry, "mode", 0) & 07777;
    out->path = pdk_buf_take(&path);
    return out->path ? 0 : pdk_fail_nomem(err);
}

static int read_dirs(
        const struct pdk_json *list, struct pdk_land_journal *out, struct pdk_err *err)
{
    size_t n = pdk_json_len(list);
    int rc = 0;

    out->dirs = calloc(n + 1, sizeof(*out->dirs));
    if (!out->dirs)
        return pdk_fail_nomem(err);
    for (; rc == 0 && out->n_dirs < n; out->n_dirs += rc == 0)
        rc = read_dir(pdk_json_at(list, out->n_dirs), &out->dirs[out->n_dirs], err);
    return rc;
}

static int read_members(
        const struct pdk_json *doc, struct pdk_land_journal *out, struct pdk_err *err)
{
    const char *id = pdk_json_get_str(doc, "id", "");
    const char *stage = pdk_json_get_str(doc, "stage", "");

    if (pdk_json_get_int(doc, "version", 0) != 1 || strlen(id) >= sizeof(out->id) ||
            strlen(stage) >= sizeof(out->stage) || !pdk_path_is_id(id) ||
            strchr(stage, '/') || stage[0] != '.' ||
            !pdk_oid_parse(pdk_json_get_str(doc, "before", ""), &out->before) ||
            !pdk_oid_parse(pdk_json_get_str(doc, "after", ""), &out->after))
        return pdk_fail(err, PDK_ECORRUPT, 0, "it is damaged, or of another version");
    (void)snprintf(out->id, sizeof(out->id), "%s", id);
    (void)snprintf(out->stage, sizeof(out->stage), "%s", stage);
    return read_dirs(pdk_json_get(doc, "dirs"), out, err);
}

int pdk_land_journal_read(
        const char *path, struct pdk_land_journal *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_JSON struct pdk_json *doc = NULL;
    struct pdk_land_journal made = { 0 };
    int rc = pdk_fs_read(path, MAX_JOURNAL, &text, err);

    if (rc == 0)
        rc = pdk_json_parse(pdk_buf_str(&text), text.len, &doc, err);
    if (rc == 0)
        rc = read_members(doc, &made, err);
    if (rc < 0) {
        pdk_land_journal_fini(&made);
        return rc;
    }
    *out = made;
    return 0;
}

int pdk_land_journal_drop(const char *path, struct pdk_err *err)
{
    PDK_AUTO_FREE char *dir = pdk_path_dirname(path);
    PDK_AUTO_FD int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (!dir)
        return pdk_fail_nomem(err);
    if ((unlink(path) < 0 && errno != ENOENT) || fd < 0 || fsync(fd) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot remove '%s'", path);
    return 0;
}
