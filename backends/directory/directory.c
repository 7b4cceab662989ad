/*
 * The directory backend: a working copy with a git directory of its own, objects by an alternate that
 * leads to the user's. It holds the start and nothing else: no other refs, no remotes, no stash. What is
 * committed in it lies in it, and goes with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "backends/commits.h"
#include "backends/directory/gitdir.h"
#include "backends/fill.h"
#include "base/error.h"

static int directory_materialize(struct pdk_sandbox *sb,
        const struct pdk_sandbox_spec *spec, struct pdk_strv *warnings,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *gitdir = pdk_strf("%s/.git", sb->root);
    PDK_AUTO_FREE char *objects = pdk_strf("%s/.git/objects", sb->root);
    PDK_AUTO_FREE char *index = pdk_strf("%s/.git/index", sb->root);

    (void)warnings; /* it has none of its own */
    if (!gitdir || !objects || !index)
        return pdk_fail_nomem(err);
    if (mkdir(sb->root, 0755) < 0)
        return pdk_fail(
                err, pdk_code_of_errno(errno), errno, "cannot make '%s'", sb->root);
    int rc = pdk_gitdir_make(gitdir, spec->repo, err);
    if (rc == 0)
        rc = pdk_sandbox_start_commit(spec, objects, &sb->record.start, err);
    if (rc == 0)
        rc = pdk_sandbox_fill(sb, spec, index, err);
    if (rc == 0)
        rc = pdk_gitdir_start(gitdir, sb->record.start.hex, spec->branch, err);
    return rc;
}

/* Everything of it lies in its directory, which the dispatcher removes. */
static int directory_teardown(const struct pdk_sandbox_record *record,
        const struct pdk_repo *repo, const char *lock, unsigned int flags,
        struct pdk_err *err)
{
    (void)record;
    (void)repo;
    (void)lock;
    (void)flags;
    (void)err;
    return 0;
}

static int directory_count_commits(
        struct pdk_sandbox *sb, unsigned int flags, int *out, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv tips = PDK_STRV_INIT;
    PDK_AUTO_FREE char *objects = pdk_strf("%s/.git/objects", sb->root);
    PDK_AUTO_FD int fd =
            openat(sb->root_fd, ".git", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    (void)flags; /* its branch goes in any case */
    if (!objects)
        return pdk_fail_nomem(err);
    if (fd < 0)
        return pdk_fail(err, PDK_ECONFLICT, errno,
                "its git directory is not the one that was made");
    if (pdk_commits_tips(fd, &tips, err) < 0)
        return pdk_wrap(err, "cannot count its commits");
    struct pdk_commits_query query = {
        .repo = sb->repo,
        .tips = &tips,
        .start = sb->record.start,
        .objects = objects,
    };
    return pdk_commits_count(&query, out, err);
}

static int directory_find_head(
        struct pdk_sandbox *sb, struct pdk_oid *out, char **objects, struct pdk_err *err)
{
    PDK_AUTO_FREE char *ref = NULL;
    PDK_AUTO_FD int fd =
            openat(sb->root_fd, ".git", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    out->hex[0] = '\0';
    if (fd < 0)
        return 0;
    int rc = pdk_commits_head(fd, out, &ref, err);
    if (rc == 0 && ref)
        rc = pdk_commits_resolve(fd, ref, out, err);
    if (rc < 0)
        return rc;
    *objects = pdk_strf("%s/.git/objects", sb->root);
    return *objects ? 0 : pdk_fail_nomem(err);
}

const struct pdk_backend pdk_directory_backend = {
    .name = "directory",
    .claim = "self-contained copy",
    .materialize = directory_materialize,
    .teardown = directory_teardown,
    .count_commits = directory_count_commits,
    .find_head = directory_find_head,
};
