#include "backends/gitdir.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/gitfile.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/str.h"
#include "trees/layer.h"
#include "trees/repo.h"

enum { MAX_COPIED = 16 << 20 };

static int add_dirs(struct pdk_layer *out, struct pdk_err *err)
{
    static const char *const dirs[] = { "objects", "objects/info", "objects/pack", "refs",
        "refs/heads", "refs/tags", "info" };

    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
        if (pdk_layer_add_dir(out, dirs[i], err) < 0)
            return err->code;
    return 0;
}

static int add_text(struct pdk_layer *out, const char *name, const struct pdk_buf *text,
        struct pdk_err *err)
{
    int rc = pdk_buf_ok(text, err);

    return rc < 0 ? rc : pdk_layer_add_file(out, name, pdk_buf_str(text), text->len, err);
}

static void add_value(struct pdk_buf *out, const char *key, const char *value)
{
    if (!value)
        return;
    pdk_buf_addf(out, "\t%s = ", key);
    pdk_gitfile_quote_value(out, value);
    pdk_buf_addc(out, '\n');
}

/*
 * What a fresh repository says, and of the user's own settings a safe few: no filters, no hooks, no
 * remotes, no includes. A gc in the background would outlive the command that set it off.
 */
static int add_config(
        struct pdk_layer *out, const struct pdk_repo *repo, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    pdk_buf_adds(&text, "[core]\n\trepositoryformatversion = 0\n");
    pdk_buf_addf(&text, "\tfilemode = %s\n", repo->file_mode ? "true" : "false");
    pdk_buf_adds(&text, "\tbare = false\n\tlogallrefupdates = true\n");
    add_value(&text, "autocrlf", repo->autocrlf);
    add_value(&text, "eol", repo->eol);
    add_value(&text, "excludesFile", repo->excludes_file);
    if (repo->user_name || repo->user_email)
        pdk_buf_adds(&text, "[user]\n");
    add_value(&text, "name", repo->user_name);
    add_value(&text, "email", repo->user_email);
    pdk_buf_adds(&text, "[gc]\n\tautoDetach = false\n");
    return add_text(out, "config", &text, err);
}

/* A plain line where that will do, for readers other than git; quoted where the path needs it. */
static int add_alternates(
        struct pdk_layer *out, const struct pdk_repo *repo, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (strchr(repo->objects, '\n'))
        pdk_gitfile_quote_path(&text, repo->objects);
    else
        pdk_buf_adds(&text, repo->objects);
    pdk_buf_addc(&text, '\n');
    return add_text(out, "objects/info/alternates", &text, err);
}

/* A file of the user's common directory where there is one. */
static int add_copy(struct pdk_layer *out, const struct pdk_repo *repo, const char *name,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *from = pdk_path_join(repo->common_dir, name);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err why = PDK_ERR_INIT;

    if (!from)
        return pdk_fail_nomem(err);
    int rc = pdk_fs_read(from, MAX_COPIED, &text, &why);
    if (rc == PDK_ENOTFOUND)
        return 0;
    if (rc < 0)
        return pdk_fail(err, rc, why.os_errno, "cannot copy '%s'", from);
    return add_text(out, name, &text, err);
}

int pdk_gitdir_describe(
        const struct pdk_repo *repo, struct pdk_layer *out, struct pdk_err *err)
{
    int rc = add_dirs(out, err);

    if (rc == 0)
        rc = add_config(out, repo, err);
    if (rc == 0)
        rc = add_alternates(out, repo, err);
    if (rc == 0)
        rc = add_copy(out, repo, "info/exclude", err);
    if (rc == 0)
        rc = add_copy(out, repo, "shallow", err);
    return rc;
}

int pdk_gitdir_describe_head(struct pdk_layer *out, const char *commit,
        const char *branch, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf head = PDK_BUF_INIT;

    pdk_gitfile_head(&head, commit, *commit || branch ? branch : "main");
    return add_text(out, "HEAD", &head, err);
}

int pdk_gitdir_make(const char *path, const struct pdk_repo *repo, struct pdk_err *err)
{
    PDK_AUTO_LAYER struct pdk_layer layer = PDK_LAYER_INIT;

    if (pdk_gitdir_describe(repo, &layer, err) < 0)
        return err->code;
    if (mkdir(path, 0755) < 0)
        return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make '%s'", path);
    return pdk_layer_write(&layer, path, err);
}

/* The file of a branch that is "sandbox/<name>". */
static int put_branch(
        const char *path, const char *commit, const char *branch, struct pdk_err *err)
{
    PDK_AUTO_FREE char *name = pdk_strf("refs/heads/%s", branch);
    PDK_AUTO_FREE char *file = name ? pdk_path_join(path, name) : NULL;
    PDK_AUTO_FREE char *parent = file ? pdk_path_dirname(file) : NULL;
    PDK_AUTO_FREE char *line = pdk_strf("%s\n", commit);

    if (!parent || !line)
        return pdk_fail_nomem(err);
    if (pdk_fs_mkdirs(parent, 0755, err) < 0)
        return pdk_wrap(err, "branch '%s'", branch);
    return pdk_gitfile_put(path, name, line, err);
}

int pdk_gitdir_start(
        const char *path, const char *commit, const char *branch, struct pdk_err *err)
{
    PDK_AUTO_LAYER struct pdk_layer head = PDK_LAYER_INIT;

    if (*commit && branch && put_branch(path, commit, branch, err) < 0)
        return pdk_wrap(err, "HEAD");
    if (pdk_gitdir_describe_head(&head, commit, branch, err) < 0)
        return err->code;
    return pdk_layer_write(&head, path, err);
}
