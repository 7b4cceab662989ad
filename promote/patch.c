#include "promote/patch.h"

#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
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

static int commit(const struct pdk_repo *repo, const struct pdk_branch_spec *spec,
        struct pdk_oid *out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *trailers = pdk_strf(
            "Paddock-Run: %s\nPaddock-Candidate: %d", spec->run, spec->candidate);
    PDK_AUTO_FREE char *subject = pdk_strf("paddock: %s", spec->subject);
    const char *parent = spec->parent.hex;
    const char *args[] = { "commit-tree", spec->tree.hex, "-m", subject, "-m", trailers,
        parent[0] ? "-p" : NULL, parent, NULL };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    const char *const *env = repo->user_name && repo->user_email ? NULL : nobody;
    int rc = subject && trailers ? pdk_repo_git(repo, args, env, &text, err)
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
    struct pdk_oid made = { "" };
    int rc = check_name(repo, spec->branch, err);

    if (rc == 0)
        rc = pdk_vault_export(vault, repo->objects, &spec->base_tree, &spec->tree, err);
    if (rc == 0)
        rc = commit(repo, spec, &made, err);
    if (rc == 0)
        rc = create(repo, spec->branch, &made, err);
    if (rc == 0 && out)
        *out = made;
    return rc;
}
