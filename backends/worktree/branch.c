#include "backends/worktree/branch.h"

#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"
#include "trees/repo.h"

#define NO_COMMIT "0000000000000000000000000000000000000000"

enum { HEX = 40, MAX_LOG = 64 << 20 };

/* What the first line of its log ends with. */
static char *creation_note(const struct pdk_sandbox_record *record)
{
    return pdk_strf("paddock: sandbox %s", record->id);
}

int pdk_branch_add(const struct pdk_repo *repo, const struct pdk_sandbox_record *record,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *ref = pdk_strf("refs/heads/%s", record->branch);
    PDK_AUTO_FREE char *note = creation_note(record);
    struct pdk_oid there = { "" };
    const char *const args[] = { "update-ref", "--no-deref", "--create-reflog", "-m",
        note, ref, record->start.hex, NO_COMMIT, NULL };

    if (!ref || !note)
        return pdk_fail_nomem(err);
    int rc = pdk_branch_tip(repo, record->branch, &there, err);
    if (rc < 0)
        return rc;
    if (*there.hex)
        return pdk_fail(
                err, PDK_ECONFLICT, 0, "branch '%s' exists already", record->branch);
    return pdk_repo_git(repo, args, NULL, NULL, err);
}

/* Where the branch stands and the working tree that has it checked out, both "" where none. */
static int look_up(const struct pdk_repo *repo, const char *branch, struct pdk_oid *tip,
        char **out_worktree, struct pdk_err *err)
{
    PDK_AUTO_FREE char *ref = pdk_strf("refs/heads/%s", branch);
    PDK_AUTO_FREE char *want = pdk_strf(" refs/heads/%s ", branch);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    const char *const args[] = { "for-each-ref",
        "--format=%(objectname) %(refname) %(worktreepath)", ref, NULL };

    if (!ref || !want)
        return pdk_fail_nomem(err);
    int rc = pdk_repo_git(repo, args, NULL, &text, err);
    if (rc < 0)
        return rc;
    tip->hex[0] = '\0';
    *out_worktree = strdup("");
    /* The pattern also matches what lies below a directory of that name. */
    if (text.len > HEX && pdk_starts_with(text.data + HEX, want)) {
        const char *path = text.data + HEX + strlen(want);

        free(*out_worktree);
        *out_worktree = strndup(path, strcspn(path, "\n"));
        memcpy(tip->hex, text.data, HEX);
        tip->hex[HEX] = '\0';
    }
    return *out_worktree ? 0 : pdk_fail_nomem(err);
}

int pdk_branch_tip(const struct pdk_repo *repo, const char *branch, struct pdk_oid *out,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *worktree = NULL;

    return look_up(repo, branch, out, &worktree, err);
}

static bool log_is_ours(
        const struct pdk_repo *repo, const struct pdk_sandbox_record *record)
{
    PDK_AUTO_FREE char *path =
            pdk_strf("%s/logs/refs/heads/%s", repo->common_dir, record->branch);
    PDK_AUTO_FREE char *note = creation_note(record);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT;

    if (!path || !note || pdk_fs_read(path, MAX_LOG, &text, &ignored) < 0)
        return false;
    const char *line = pdk_buf_str(&text);
    PDK_AUTO_FREE char *first = strndup(line, strcspn(line, "\n"));
    return first && pdk_ends_with(first, note);
}

/* Does the tip's history hold the start? */
static int holds_start(const struct pdk_repo *repo,
        const struct pdk_sandbox_record *record, const struct pdk_oid *tip, bool *out,
        struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    const char *const args[] = { "rev-list", "--count", "--max-count=1",
        record->start.hex, "--not", tip->hex, NULL };
    int rc = pdk_repo_git(repo, args, NULL, &text, err);

    if (rc == 0)
        *out = strtol(pdk_buf_str(&text), NULL, 10) == 0;
    return rc;
}

int pdk_branch_remove(const struct pdk_repo *repo,
        const struct pdk_sandbox_record *record, struct pdk_err *err)
{
    PDK_AUTO_FREE char *ref = pdk_strf("refs/heads/%s", record->branch);
    PDK_AUTO_FREE char *worktree = NULL;
    struct pdk_oid tip = { "" };
    const char *const args[] = { "update-ref", "--no-deref", "-d", ref, tip.hex, NULL };
    int rc = ref ? look_up(repo, record->branch, &tip, &worktree, err)
                 : pdk_fail_nomem(err);
    bool ours = rc == 0 && *tip.hex && log_is_ours(repo, record);

    /* The record of a creation that was killed knows no start. */
    if (rc == 0 && *tip.hex && !ours && *record->start.hex)
        rc = holds_start(repo, record, &tip, &ours, err);
    if (rc < 0 || !ours)
        return rc;
    if (*worktree)
        return pdk_fail(err, PDK_ECONFLICT, 0,
                "branch '%s' is checked out in '%s', so it stays", record->branch,
                worktree);
    return pdk_repo_git(repo, args, NULL, NULL, err);
}
