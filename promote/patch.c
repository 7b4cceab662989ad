#include "promote/patch.h"

#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/str.h"
#include "trees/diff.h"
#include "trees/repo.h"
#include "trees/vault.h"

int pdk_promote_patch(struct pdk_vault *vault, const struct pdk_oid *from,
        const struct pdk_oid *to, const char *path, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    int rc = pdk_diff_patch(vault, from, to, &text, err);

    if (rc < 0)
        return rc;
    if (strcmp(path, "-") == 0)
        return pdk_fs_write_fd(STDOUT_FILENO, pdk_buf_str(&text), text.len, err);
    return pdk_fs_write(path, pdk_buf_str(&text), text.len, 0644, PDK_FS_SYNC, err);
}

/* git refuses to guess who commits; somebody without an identity still gets a branch. */
static const char *const nobody[] = { "GIT_AUTHOR_NAME=Paddock",
    "GIT_AUTHOR_EMAIL=paddock@localhost", "GIT_COMMITTER_NAME=Paddock",
    "GIT_COMMITTER_EMAIL=paddock@localhost", NULL };

static int check_name(
        const struct pdk_repo *repo, const char *branch, struct pdk_err *err)
{
    PDK_AUTO_FREE char *ref = pdk_strf("refs/heads/%s", branch);
    const char *args[] = { "check-ref-format", ref, NULL };
    struct pdk_err ignored = PDK_ERR_INIT;

    if (!ref)
        return pdk_fail_nomem(err);
    if (branch[0] == '-' || strcmp(branch, "HEAD") == 0 ||
            pdk_repo_git(repo, args, NULL, NULL, &ignored) < 0)
        return pdk_fail(err, PDK_EINVAL, 0, "'%.200s' is no name for a branch", branch);
    return 0;
}

struct message {
    const char *subject, *trailers;
};

static int commit(const struct pdk_repo *repo, const struct message *message,
        const struct pdk_oid *tree, const struct pdk_oid *parent, struct pdk_oid *out,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *subject = pdk_strf("paddock: %s", message->subject);
    const char *args[] = { "commit-tree", tree->hex, "-m", subject, "-m",
        message->trailers, parent->hex[0] ? "-p" : NULL, parent->hex, NULL };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    const char *const *env = repo->user_name && repo->user_email ? NULL : nobody;
    int rc = subject && message->trailers ? pdk_repo_git(repo, args, env, &text, err)
                                          : pdk_fail_nomem(err);

    if (rc < 0)
        return rc;
    if (text.len > 0)
        text.data[text.len - 1] = '\0';
    if (!pdk_oid_parse(pdk_buf_str(&text), out))
        return pdk_fail(err, PDK_EIO, 0, "git commit-tree named no commit");
    return 0;
}

static int create(const struct pdk_repo *repo, const char *branch,
        const struct pdk_oid *commit, struct pdk_err *err)
{
    static const char absent[] = "0000000000000000000000000000000000000000";
    PDK_AUTO_FREE char *ref = pdk_strf("refs/heads/%s", branch);
    const char *args[] = { "update-ref", "--no-deref", ref, commit->hex, absent, NULL };
    const char *look[] = { "show-ref", "--verify", "--quiet", ref, NULL };
    struct pdk_err ignored = PDK_ERR_INIT;
    int rc = ref ? pdk_repo_git(repo, args, NULL, NULL, err) : pdk_fail_nomem(err);

    if (rc < 0 && ref && pdk_repo_git(repo, look, NULL, NULL, &ignored) == 0)
        return pdk_fail(err, PDK_ECONFLICT, 0, "branch '%s' exists already", branch);
    return rc;
}

int pdk_promote_branch(const struct pdk_repo *repo, struct pdk_vault *vault,
        const struct pdk_branch_spec *spec, struct pdk_oid *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *trailers = pdk_strf(
            "Paddock-Run: %s\nPaddock-Candidate: %d", spec->run, spec->candidate);
    struct message message = { spec->subject, trailers };
    struct pdk_oid made = { "" };
    int rc = check_name(repo, spec->branch, err);

    if (rc == 0)
        rc = pdk_vault_export(vault, repo->objects, &spec->base_tree, &spec->tree, err);
    if (rc == 0)
        rc = commit(repo, &message, &spec->tree, &spec->parent, &made, err);
    if (rc == 0)
        rc = create(repo, spec->branch, &made, err);
    if (rc == 0 && out)
        *out = made;
    return rc;
}

/* ---- the commit of what has landed */

int pdk_promote_check_clean(const struct pdk_repo *repo, struct pdk_err *err)
{
    static const char *const args[] = { "status", "--porcelain", "-z", "--no-renames",
        "--untracked-files=no", "--ignore-submodules=dirty", NULL };
    PDK_AUTO_FREE char *lock = pdk_path_join(repo->git_dir, "index.lock");
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (!lock)
        return pdk_fail_nomem(err);
    if (pdk_fs_exists(lock))
        return pdk_fail(err, PDK_ECONFLICT, 0, "somebody works on the index: '%s'", lock);
    if (pdk_repo_git_converting(repo, args, NULL, &text, err) < 0)
        return err->code;
    if (text.len == 0)
        return 0;
    (void)pdk_fail(err, PDK_ECONFLICT, 0,
            "a commit needs a clean tree, and yours has changes that are not committed");
    return pdk_hint(err, "promote without --as commit, or as a branch");
}

static bool is_committed(const struct pdk_repo *repo, const struct pdk_commit_spec *spec)
{
    static const char *const args[] = { "cat-file", "commit", "HEAD", NULL };
    PDK_AUTO_FREE char *trailer = pdk_strf("\nPaddock-Promotion: %s\n", spec->promotion);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;

    return trailer && pdk_repo_git(repo, args, NULL, &text, &ignored) == 0 &&
            strstr(pdk_buf_str(&text), trailer) != NULL;
}

static int commit_on_head(const struct pdk_repo *repo, struct pdk_vault *vault,
        const struct pdk_commit_spec *spec, const struct pdk_base *head,
        struct pdk_err *err)
{
    static const char absent[] = "0000000000000000000000000000000000000000";
    PDK_AUTO_FREE char *trailers =
            pdk_strf("Paddock-Run: %s\nPaddock-Candidate: %d\nPaddock-Promotion: %s",
                    spec->run, spec->candidate, spec->promotion);
    struct message message = { spec->subject, trailers };
    struct pdk_oid tree, made = { "" };
    const char *args[] = { "update-ref", "-m", "paddock: promote", "HEAD", made.hex,
        head->commit.hex[0] ? head->commit.hex : absent, NULL };

    if (pdk_diff_transplant(vault, &spec->before, &spec->after, &head->tree, &tree, err) <
                    0 ||
            pdk_vault_export(vault, repo->objects, &head->tree, &tree, err) < 0 ||
            commit(repo, &message, &tree, &head->commit, &made, err) < 0)
        return err->code;
    return pdk_repo_git(repo, args, NULL, NULL, err);
}

int pdk_promote_commit(const struct pdk_repo *repo, struct pdk_vault *vault,
        const struct pdk_commit_spec *spec, struct pdk_err *err)
{
    static const char *const read_tree[] = { "read-tree", "HEAD", NULL };
    static const char *const refresh[] = { "update-index", "-q", "--refresh", NULL };
    struct pdk_err ignored = PDK_ERR_INIT;
    struct pdk_base head;

    if (!is_committed(repo, spec)) {
        if (pdk_repo_resolve(repo, "HEAD", &head, err) < 0 ||
                commit_on_head(repo, vault, spec, &head, err) < 0)
            return err->code;
    }
    if (pdk_repo_git(repo, read_tree, NULL, NULL, err) < 0)
        return err->code;
    (void)pdk_repo_git_converting(
            repo, refresh, NULL, NULL, &ignored); /* saves git a look, no more */
    return 0;
}
