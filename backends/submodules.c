#include "backends/submodules.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/backend_impl.h"
#include "backends/gitdir.h"
#include "backends/handle.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/utf8.h"
#include "trees/checkout.h"
#include "trees/index.h"
#include "trees/vault.h"

enum { GITLINK = 0160000, GITMODULES_MAX = 1 << 20, ABOUT_MAX = 16384, DEPTH_MAX = 16 };

/* One repository whose submodules are looked at: the user's, or a submodule of it. */
struct level {
    const char *
            prefix; /* its path in the copy with a slash at the end; "": the copy itself */
    const char *index;   /* of ours */
    const char *modules; /* where the user has the git directories of its submodules */
    const char *other;   /* another such place; NULL: none */
    struct pdk_vault *vault;
    int depth;
};

struct filling {
    struct pdk_sandbox *sb;
    bool recursive;
    struct pdk_strv *warnings;
    int made; /* so many have a directory below <dir>/modules */
};

static int warn(
        struct filling *f, const char *path, const char *text, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf line = PDK_BUF_INIT;

    pdk_buf_adds(&line, "submodule ");
    pdk_utf8_printable(path, strlen(path), &line);
    pdk_buf_adds(&line, text);
    pdk_strv_take(f->warnings, pdk_buf_take(&line));
    return pdk_strv_ok(f->warnings, err);
}

static int warn_of_commit(struct filling *f, const char *path,
        const struct pdk_oid *commit, struct pdk_err *err)
{
    PDK_AUTO_FREE char *text = pdk_strf(
            ": .git/modules lacks its commit %s, it was left empty", commit->hex);

    return text ? warn(f, path, text, err) : pdk_fail_nomem(err);
}

/* ---- the user's side */

/* A repository value for what only reads a few of its fields: everything in it is borrowed. */
static struct pdk_repo borrow_repo(
        const struct pdk_repo *user, char *root, char *git_dir, char *objects)
{
    return (struct pdk_repo){
        .root = root,
        .prefix = user->prefix,
        .git_dir = git_dir,
        .common_dir = git_dir,
        .objects = objects,
        .user_name = user->user_name,
        .user_email = user->user_email,
        .autocrlf = user->autocrlf,
        .eol = user->eol,
        .indexes = user->indexes,
        .file_mode = user->file_mode,
    };
}

/* "submodule.NAME.path\nPATH\0" for each that .gitmodules of the level's tree names. */
static int read_names(const struct filling *f, const struct level *l,
        const struct pdk_index *index, struct pdk_buf *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *file = pdk_strf("%s/modules/gitmodules", f->sb->record.dir);
    const char *const args[] = { "config", "-z", "--no-includes", "-f", file,
        "--get-regexp", "^submodule\\..*\\.path$", NULL };
    const struct pdk_index_entry *entry = pdk_index_find(index, ".gitmodules");
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;

    if (!entry || !S_ISREG(entry->mode))
        return 0;
    if (!file)
        return pdk_fail_nomem(err);
    if (pdk_vault_read_blob(l->vault, &entry->oid, GITMODULES_MAX, &text, err) < 0 ||
            pdk_fs_write(file, pdk_buf_str(&text), text.len, 0600, 0, err) < 0)
        return err->code;
    /* One that is no configuration names nothing, and each submodule is told of then. */
    if (pdk_repo_git(f->sb->repo, args, NULL, out, &ignored) < 0)
        out->len = 0;
    return 0;
}

/* The name of the submodule at path; owned by the caller, NULL where there is none that will do. */
static char *find_name(const struct pdk_buf *names, const char *path)
{
    static const char before[] = "submodule.", after[] = ".path";
    const char *at = pdk_buf_str(names), *end = at + names->len;

    for (; at < end; at += strlen(at) + 1) {
        const char *value = strchr(at, '\n');
        size_t len = value ? (size_t)(value - at) : 0;

        if (!value || strcmp(value + 1, path) != 0 ||
                len <= sizeof(before) + sizeof(after) - 2)
            continue;
        at += sizeof(before) - 1;
        len -= sizeof(before) + sizeof(after) - 2;
        return pdk_path_is_safe(at, len) ? strndup(at, len) : NULL;
    }
    return NULL;
}

/* The user's git directory of that submodule, owned by the caller; NULL: there is none. */
static char *find_git_dir(const struct level *l, const char *name)
{
    const char *const places[] = { l->modules, l->other };

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        PDK_AUTO_FREE char *dir = places[i] ? pdk_path_join(places[i], name) : NULL;
        PDK_AUTO_FREE char *objects = dir ? pdk_path_join(dir, "objects") : NULL;

        if (objects && pdk_fs_is_dir(objects))
            return pdk_take_ptr(&dir);
    }
    return NULL;
}

/* ---- filling one */

struct module {
    char *path;    /* in the copy */
    char *git_dir; /* the user's */
    char *objects;
    char *root;              /* path by which its directory is reached */
    char *own;               /* <dir>/modules/N */
    char *index, *own_vault; /* in it */
    struct pdk_vault *vault;
};

static void module_fini(struct module *m)
{
    pdk_vault_close(m->vault);
    free(m->path);
    free(m->git_dir);
    free(m->objects);
    free(m->root);
    free(m->own);
    free(m->index);
    free(m->own_vault);
}

#define AUTO_MODULE __attribute__((cleanup(module_fini)))

static int complete(
        const struct pdk_sandbox *sb, int number, struct module *m, struct pdk_err *err)
{
    m->objects = m->git_dir ? pdk_path_join(m->git_dir, "objects") : NULL;
    m->root = m->path ? pdk_strf("%s/%s", pdk_handle_reach(sb), m->path) : NULL;
    m->own = pdk_strf("%s/modules/%d", sb->record.dir, number);
    m->index = m->own ? pdk_path_join(m->own, "index") : NULL;
    m->own_vault = m->own ? pdk_path_join(m->own, "vault.git") : NULL;
    return m->objects && m->root && m->index && m->own_vault ? 0 : pdk_fail_nomem(err);
}

static int write_about(const struct module *m, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf about = PDK_BUF_INIT;
    PDK_AUTO_FREE char *file = pdk_path_join(m->own, "about");

    pdk_buf_add(&about, m->path, strlen(m->path) + 1);
    pdk_buf_add(&about, m->git_dir, strlen(m->git_dir) + 1);
    if (!file || pdk_buf_ok(&about, err) < 0)
        return pdk_fail_nomem(err);
    return pdk_fs_write(file, about.data, about.len, 0600, 0, err);
}

static int check_out(struct filling *f, const struct module *m,
        const struct pdk_oid *commit, const struct pdk_oid *tree, struct pdk_err *err)
{
    PDK_AUTO_FREE char *git = pdk_path_join(m->root, ".git");
    PDK_AUTO_FREE char *git_index = pdk_path_join(m->root, ".git/index");
    PDK_AUTO_FD int fd =
            pdk_beneath_open(f->sb->root_fd, m->path, O_PATH | O_DIRECTORY, 0);
    struct pdk_repo repo = borrow_repo(f->sb->repo, m->root, m->git_dir, m->objects);
    struct pdk_checkout_spec spec = { .repo = &repo,
        .tree = *tree,
        .dir = m->root,
        .index = m->index,
        .git_index = git_index };
    int rc;

    if (!git || !git_index)
        return pdk_fail_nomem(err);
    if (fd < 0)
        return pdk_fail(err, PDK_EIO, 0, "its directory is not there");
    rc = pdk_gitdir_make(git, &repo, err);
    if (rc == 0)
        rc = pdk_gitdir_start(git, commit->hex, NULL, err);
    if (rc == 0)
        rc = pdk_checkout(m->vault, &spec, err);
    return rc == 0 ? write_about(m, err) : rc;
}

static int fill_level(struct filling *f, const struct level *l, struct pdk_err *err);

static int fill_below(
        struct filling *f, const struct level *l, struct module *m, struct pdk_err *err)
{
    PDK_AUTO_FREE char *prefix = pdk_strf("%s/", m->path);
    PDK_AUTO_FREE char *modules = pdk_path_join(m->git_dir, "modules");
    struct level below = { .prefix = prefix,
        .index = m->index,
        .modules = modules,
        .vault = m->vault,
        .depth = l->depth + 1 };

    if (!prefix || !modules)
        return pdk_fail_nomem(err);
    if (below.depth >= DEPTH_MAX)
        return warn(f, m->path, ": submodules below it are too deep and left empty", err);
    return fill_level(f, &below, err);
}

static int fill_one(struct filling *f, const struct level *l, const char *path,
        const char *name, const struct pdk_oid *commit, struct pdk_err *err)
{
    AUTO_MODULE struct module m = { .path = pdk_strf("%s%s", l->prefix, path) };
    struct pdk_oid tree;
    int rc;

    if (!m.path)
        return pdk_fail_nomem(err);
    if (!name)
        return warn(f, m.path, " is not named by .gitmodules: it was left empty", err);
    m.git_dir = find_git_dir(l, name);
    if (!m.git_dir)
        return warn(f, m.path,
                " is not below .git/modules: it was left empty (git submodule update --init)",
                err);
    if (complete(f->sb, ++f->made, &m, err) < 0 || pdk_fs_mkdirs(m.own, 0700, err) < 0 ||
            pdk_vault_open(m.own_vault, m.objects, &m.vault, err) < 0)
        return err->code;
    rc = pdk_vault_peel(m.vault, commit, &tree, err);
    if (rc == PDK_ENOTFOUND)
        return warn_of_commit(f, m.path, commit, err);
    if (rc == 0)
        rc = check_out(f, &m, commit, &tree, err);
    if (rc < 0)
        return pdk_wrap(err, "submodule '%s'", m.path);
    return f->recursive ? fill_below(f, l, &m, err) : 0;
}

static int fill_level(struct filling *f, const struct level *l, struct pdk_err *err)
{
    PDK_AUTO_INDEX struct pdk_index index = { 0 };
    PDK_AUTO_BUF struct pdk_buf names = PDK_BUF_INIT;
    bool read = false;

    if (pdk_index_read(l->index, &index, err) < 0)
        return err->code;
    for (size_t i = 0; i < index.len; i++) {
        const struct pdk_index_entry *e = &index.entries[i];
        PDK_AUTO_FREE char *name = NULL;

        if (e->mode != GITLINK)
            continue;
        if (!read && read_names(f, l, &index, &names, err) < 0)
            return err->code;
        read = true;
        name = find_name(&names, e->path);
        if (fill_one(f, l, e->path, name, &e->oid, err) < 0)
            return err->code;
    }
    return pdk_strv_ok(f->warnings, err);
}

int pdk_submodules_fill(struct pdk_sandbox *sb, struct pdk_vault *vault, bool recursive,
        struct pdk_strv *warnings, struct pdk_err *err)
{
    PDK_AUTO_FREE char *modules = pdk_path_join(sb->repo->git_dir, "modules");
    PDK_AUTO_FREE char *common = pdk_path_join(sb->repo->common_dir, "modules");
    PDK_AUTO_FREE char *own = pdk_path_join(sb->record.dir, "modules");
    struct filling f = { .sb = sb, .recursive = recursive, .warnings = warnings };
    struct level top = { .prefix = "",
        .index = sb->index,
        .modules = modules,
        .other = common,
        .vault = vault };

    /* Without this file there are no submodules: an index of many files need not be read. */
    if (faccessat(sb->root_fd, ".gitmodules", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (!modules || !common || !own)
        return pdk_fail_nomem(err);
    if (!pdk_fs_is_dir(modules) && !pdk_fs_is_dir(common))
        top.modules = top.other = NULL; /* and every submodule is told of */
    if (pdk_fs_mkdirs(own, 0700, err) < 0)
        return err->code;
    return fill_level(&f, &top, err);
}

/* ---- looking at them */

/* What is done with one that is there. */
typedef int (*look_fn)(const struct module *m, const struct pdk_capture_spec *spec,
        void *user, struct pdk_err *err);

/* 1: there is none of this number; its path and directories are filled in else. */
static int open_module(
        const struct pdk_sandbox *sb, int number, struct module *m, struct pdk_err *err)
{
    PDK_AUTO_FREE char *own = pdk_strf("%s/modules/%d", sb->record.dir, number);
    PDK_AUTO_FREE char *file = own ? pdk_path_join(own, "about") : NULL;
    PDK_AUTO_BUF struct pdk_buf about = PDK_BUF_INIT;
    struct pdk_err why = PDK_ERR_INIT;
    const char *path;
    int rc;

    if (!file)
        return pdk_fail_nomem(err);
    if (!pdk_fs_is_dir(own))
        return 1;
    rc = pdk_fs_read(file, ABOUT_MAX, &about, &why);
    if (rc == PDK_ENOTFOUND)
        return 0; /* it was left empty */
    path = pdk_buf_str(&about);
    if (rc < 0 || about.len < 4 || path[about.len - 1] != '\0' ||
            strlen(path) + 2 > about.len || !pdk_path_is_safe(path, strlen(path)))
        return pdk_fail(err, PDK_ECORRUPT, why.os_errno, "'%s' is damaged", file);
    m->path = strdup(path);
    m->git_dir = strdup(path + strlen(path) + 1);
    if (!m->path || !m->git_dir)
        return pdk_fail_nomem(err);
    return complete(sb, number, m, err);
}

static int look_at(const struct pdk_sandbox *sb, struct module *m, look_fn look,
        void *user, struct pdk_err *err)
{
    PDK_AUTO_FD int fd =
            pdk_beneath_open(sb->root_fd, m->path, O_RDONLY | O_DIRECTORY, 0);
    struct pdk_repo repo = borrow_repo(sb->repo, m->root, m->git_dir, m->objects);
    struct pdk_capture_spec spec = { .repo = &repo, .root_fd = fd, .index = m->index };
    int rc;

    if (fd < 0)
        return 0; /* that is a change of the copy, which its own walk tells */
    rc = pdk_vault_open(m->own_vault, m->objects, &m->vault, err);
    if (rc == 0)
        rc = look(m, &spec, user, err);
    return rc < 0 ? pdk_wrap(err, "submodule '%s'", m->path) : 0;
}

static int look_at_all(
        const struct pdk_sandbox *sb, look_fn look, void *user, struct pdk_err *err)
{
    for (int number = 1;; number++) {
        AUTO_MODULE struct module m = { 0 };
        int rc = open_module(sb, number, &m, err);

        if (rc == 0 && m.path)
            rc = look_at(sb, &m, look, user, err);
        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
}

static int add_dirt(const struct module *m, const struct pdk_capture_spec *spec,
        void *user, struct pdk_err *err)
{
    struct pdk_dirt *dirt = user;
    PDK_AUTO_DIRT struct pdk_dirt own = { 0 };
    struct pdk_dirt_entry *entries;
    size_t at = 0;

    if (pdk_capture_dirt(m->vault, spec, &own, err) < 0)
        return err->code;
    if (own.len == 0)
        return 0;
    entries = reallocarray(dirt->entries, dirt->len + 1, sizeof(*entries));
    if (!entries)
        return pdk_fail_nomem(err);
    dirt->entries = entries;
    while (at < dirt->len && strcmp(entries[at].path, m->path) < 0)
        at++;
    if (at < dirt->len && strcmp(entries[at].path, m->path) == 0)
        return 0;
    char *path = strdup(m->path);
    if (!path)
        return pdk_fail_nomem(err);
    memmove(&entries[at + 1], &entries[at], (dirt->len - at) * sizeof(*entries));
    entries[at] = (struct pdk_dirt_entry){ 'M', path };
    dirt->len++;
    return 0;
}

int pdk_submodules_dirt(
        const struct pdk_sandbox *sb, struct pdk_dirt *dirt, struct pdk_err *err)
{
    return look_at_all(sb, add_dirt, dirt, err);
}

static int add_warning(const struct module *m, const struct pdk_capture_spec *spec,
        void *user, struct pdk_err *err)
{
    PDK_AUTO_DIRT struct pdk_dirt own = { 0 };
    PDK_AUTO_BUF struct pdk_buf line = PDK_BUF_INIT;
    struct pdk_strv *warnings = user;

    if (pdk_capture_dirt(m->vault, spec, &own, err) < 0)
        return err->code;
    if (own.len == 0)
        return 0;
    pdk_utf8_printable(m->path, strlen(m->path), &line);
    pdk_buf_addf(&line, " is a submodule: what changed in it is not in the result (%zu, ",
            own.len);
    pdk_utf8_printable(own.entries[0].path, strlen(own.entries[0].path), &line);
    pdk_buf_adds(&line, own.len > 1 ? ", …)" : ")");
    pdk_strv_take(warnings, pdk_buf_take(&line));
    return pdk_strv_ok(warnings, err);
}

int pdk_submodules_warn(
        const struct pdk_sandbox *sb, struct pdk_strv *warnings, struct pdk_err *err)
{
    return look_at_all(sb, add_warning, warnings, err);
}

static int set_clean(const struct module *m, const struct pdk_capture_spec *spec,
        void *user, struct pdk_err *err)
{
    PDK_AUTO_CAPTURE struct pdk_capture capture = { 0 };

    (void)user;
    return pdk_capture_tree(m->vault, spec, &capture, err);
}

int pdk_submodules_rebase(const struct pdk_sandbox *sb, struct pdk_err *err)
{
    return look_at_all(sb, set_clean, NULL, err);
}
