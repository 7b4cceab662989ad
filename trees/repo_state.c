/* Asking the user's repository: revisions, its working tree as a tree, pins, operations under way. */
#include <errno.h>
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
#include "base/utf8.h"
#include "process/run.h"
#include "trees/repo.h"
#include "trees/repo_internal.h"
#include "trees/vault.h"

static bool take_oid(const char *line, struct pdk_oid *out)
{
    char hex[41];

    if (strlen(line) < 40)
        return false;
    memcpy(hex, line, 40);
    hex[40] = '\0';
    return pdk_oid_parse(hex, out);
}

static int no_such_revision(
        const char *revision, const struct pdk_buf *said, struct pdk_err *err)
{
    const char *text = pdk_buf_str(said);

    (void)pdk_fail(
            err, PDK_ENOTFOUND, 0, "'%s' names no commit of this repository", revision);
    return pdk_hint(err, "%.*s", (int)strcspn(text, "\n"), text);
}

/* Some versions of git repeat the marker, unless they verify one name only. */
static const char *after_marker(const char *text)
{
    static const char marker[] = "--end-of-options\n";

    return pdk_starts_with(text, marker) ? text + strlen(marker) : text;
}

struct pdk_json *pdk_base_json(const struct pdk_base *base)
{
    struct pdk_json *v = pdk_json_object();

    (void)pdk_json_set_str(v, "commit", base->commit.hex[0] ? base->commit.hex : NULL);
    (void)pdk_json_set_str(v, "tree", base->tree.hex);
    return v;
}

int pdk_repo_resolve(const struct pdk_repo *repo, const char *revision,
        struct pdk_base *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *commit = pdk_strf("%s^{commit}", revision);
    /* Of a tag or a commit, and of nothing else once the first line is there. */
    PDK_AUTO_FREE char *tree = pdk_strf("%s^{commit}^{tree}", revision);
    const char *args[] = { "rev-parse", "--end-of-options", commit, tree, NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    struct pdk_git_spec spec = { .dir = repo->root, .args = args };
    const char *text;
    struct pdk_base base;

    if (!commit || !tree)
        return pdk_fail_nomem(err);
    if (repo->unborn && strcmp(revision, "HEAD") == 0) {
        *out = (struct pdk_base){ { "" }, { PDK_EMPTY_TREE } };
        return 0;
    }
    if (pdk_git_run(&spec, &result, err) < 0)
        return err->code;
    text = after_marker(pdk_buf_str(&result.out));
    if (result.exit_code != 0 || !take_oid(text, &base.commit) || text[40] != '\n' ||
            !take_oid(text + 41, &base.tree))
        return no_such_revision(revision, &result.err, err);
    *out = base;
    return 0;
}

/* ---- snapshot */

/* A private directory for an index of our own. */
struct scratch {
    char *dir, *index;
};

static void scratch_fini(struct scratch *s)
{
    struct pdk_err ignored = PDK_ERR_INIT;

    if (s->dir)
        (void)pdk_fs_remove_tree(
                s->dir, &ignored); /* a leftover below TMPDIR is no harm */
    free(s->dir);
    free(s->index);
}

static int make_scratch(struct scratch *s, struct pdk_err *err)
{
    const char *tmp = getenv("TMPDIR"); /* the program never changes its environment */

    s->dir = pdk_strf("%s/paddock-index-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    if (!s->dir)
        return pdk_fail_nomem(err);
    if (!mkdtemp(s->dir)) {
        (void)pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", s->dir);
        free(s->dir);
        s->dir = NULL;
        return err->code;
    }
    s->index = pdk_path_join(s->dir, "index");
    return s->index ? 0 : pdk_fail_nomem(err);
}

/* The user's index, byte for byte; none where there is none yet. */
static int copy_index(const struct pdk_repo *repo, const char *to, struct pdk_err *err)
{
    PDK_AUTO_FREE char *from = pdk_path_join(repo->git_dir, "index");
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;

    if (!from)
        return pdk_fail_nomem(err);
    if (!pdk_fs_exists(from))
        return 0;
    if (pdk_fs_read(from, (size_t)1 << 30, &bytes, err) < 0)
        return err->code;
    return pdk_fs_write(to, pdk_buf_str(&bytes), bytes.len, 0600, 0, err);
}

/* Paths that a merge left open have no one content to take along. */
static int check_unmerged(
        const struct pdk_repo *repo, const char *const *env, struct pdk_err *err)
{
    static const char *const args[] = { "ls-files", "-z", "--unmerged", NULL };
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf name = PDK_BUF_INIT;
    const char *tab;

    if (pdk_repo_git(repo, args, env, &out, err) < 0)
        return err->code;
    if (out.len == 0)
        return 0;
    tab = strchr(pdk_buf_str(&out), '\t');
    pdk_utf8_printable(tab ? tab + 1 : "?", strlen(tab ? tab + 1 : "?"), &name);
    (void)pdk_fail(err, PDK_ECONFLICT, 0,
            "your index holds unmerged paths: '%s' and maybe more", pdk_buf_str(&name));
    return pdk_hint(err, "finish the merge first, or run without --seed worktree");
}

/* Untracked nested repositories are named, so that `add` leaves them out instead of embedding them. */
static int list_nested(const struct pdk_repo *repo, const char *const *env,
        struct pdk_buf *pathspecs, struct pdk_err *err)
{
    static const char *const args[] = { "ls-files", "-z", "--others",
        "--exclude-standard", NULL };
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    const char *at, *end;

    if (pdk_repo_git(repo, args, env, &out, err) < 0)
        return err->code;
    at = pdk_buf_str(&out);
    end = at + out.len;
    pdk_buf_add(pathspecs, ":/", 3);
    for (; at < end; at += strlen(at) + 1) {
        if (!pdk_ends_with(at, "/"))
            continue;
        pdk_buf_adds(pathspecs, ":(exclude,top,literal)");
        pdk_buf_add(pathspecs, at, strlen(at));
        pdk_buf_addc(pathspecs, '\0');
    }
    return pdk_buf_ok(pathspecs, err);
}

static int add_all(
        const struct pdk_repo *repo, const char *const *env, struct pdk_err *err)
{
    static const char *const args[] = { "add", "--all", "--ignore-errors",
        "--pathspec-from-file=-", "--pathspec-file-nul", NULL };
    PDK_AUTO_BUF struct pdk_buf pathspecs = PDK_BUF_INIT;
    PDK_AUTO_STRV struct pdk_strv all = PDK_STRV_INIT;
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    struct pdk_git_spec spec = { .dir = repo->root, .args = args };

    if (list_nested(repo, env, &pathspecs, err) < 0 ||
            pdk_repo_filter_env(repo, env, &all, err) < 0)
        return err->code;
    spec.env = (const char *const *)all.items;
    spec.input = pathspecs.data;
    spec.input_len = pathspecs.len;
    if (pdk_git_run(&spec, &result, err) < 0)
        return err->code;
    return result.exit_code == 0 ? 0 : pdk_git_complain(&spec, &result, err);
}

static int write_tree(const struct pdk_repo *repo, const char *const *env,
        struct pdk_oid *out, struct pdk_err *err)
{
    static const char *const args[] = { "write-tree", NULL };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    /* It reads files again whose time stamps tell too little. */
    if (pdk_repo_git_converting(repo, args, env, &text, err) < 0)
        return err->code;
    if (!take_oid(pdk_buf_str(&text), out))
        return pdk_fail(err, PDK_EIO, 0, "git write-tree gave no tree");
    return 0;
}

int pdk_repo_snapshot(const struct pdk_repo *repo, struct pdk_vault *vault,
        const struct pdk_base *base, struct pdk_oid *out_tree, struct pdk_err *err)
{
    __attribute__((cleanup(scratch_fini))) struct scratch s = { NULL, NULL };
    PDK_AUTO_FREE char *index = NULL;
    PDK_AUTO_FREE char *objects =
            pdk_strf("GIT_OBJECT_DIRECTORY=%s/objects", pdk_vault_path(vault));
    PDK_AUTO_FREE char *others =
            pdk_strf("GIT_ALTERNATE_OBJECT_DIRECTORIES=%s", repo->objects);
    const char *env[4] = { NULL };

    (void)base; /* the tree stands by itself; what differs from base is a matter of diffing */
    if (make_scratch(&s, err) < 0 || copy_index(repo, s.index, err) < 0)
        return err->code;
    index = pdk_strf("GIT_INDEX_FILE=%s", s.index);
    if (!index || !objects || !others)
        return pdk_fail_nomem(err);
    env[0] = index;
    env[1] = objects;
    env[2] = others;
    if (check_unmerged(repo, env, err) < 0 || add_all(repo, env, err) < 0)
        return err->code;
    return write_tree(repo, env, out_tree, err);
}

int pdk_repo_count_dirty(const struct pdk_repo *repo, int *out, struct pdk_err *err)
{
    static const char *const args[] = { "status", "--porcelain", "-z", "--no-renames",
        "--untracked-files=all", "--ignore-submodules=dirty", NULL };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    int n = 0;

    if (pdk_repo_git_converting(repo, args, NULL, &text, err) < 0)
        return err->code;
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\0';
    *out = n;
    return 0;
}

/* ---- pins */

int pdk_repo_pin(const struct pdk_repo *repo, const char *name,
        const struct pdk_oid *commit, struct pdk_err *err)
{
    PDK_AUTO_FREE char *ref = pdk_strf("refs/paddock/%s", name);
    const char *args[] = { "update-ref", "--no-deref", ref, commit->hex, NULL };

    return ref ? pdk_repo_git(repo, args, NULL, NULL, err) : pdk_fail_nomem(err);
}

/* git leaves the directories of a deleted ref behind; a run leaves nothing. */
static void remove_empty_parents(const struct pdk_repo *repo, const char *ref)
{
    PDK_AUTO_FREE char *path = pdk_path_join(repo->common_dir, ref);
    size_t top = strlen(repo->common_dir) + strlen("/refs");

    while (path && strlen(path) > top) {
        char *slash = strrchr(path, '/');

        *slash = '\0';
        if (strlen(path) <= top || (rmdir(path) < 0 && errno != ENOENT))
            return;
    }
}

int pdk_repo_unpin(const struct pdk_repo *repo, const char *name, struct pdk_err *err)
{
    PDK_AUTO_FREE char *ref = pdk_strf("refs/paddock/%s", name);
    const char *args[] = { "update-ref", "--no-deref", "-d", ref, NULL };

    if (!ref)
        return pdk_fail_nomem(err);
    if (pdk_repo_git(repo, args, NULL, NULL, err) < 0)
        return err->code;
    remove_empty_parents(repo, ref);
    return 0;
}

/* ---- operations */

const char *pdk_repo_operation(const struct pdk_repo *repo)
{
    static const struct {
        const char *file, *name;
    } marks[] = { { "MERGE_HEAD", "merge" }, { "rebase-merge", "rebase" },
        { "rebase-apply", "rebase" }, { "CHERRY_PICK_HEAD", "cherry-pick" },
        { "REVERT_HEAD", "revert" } };

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        PDK_AUTO_FREE char *path = pdk_path_join(repo->git_dir, marks[i].file);

        if (path && pdk_fs_exists(path))
            return marks[i].name;
    }
    return NULL;
}
