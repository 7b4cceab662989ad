/* What was committed in a sandbox that has a git directory of its own. */
#include <errno.h>
#include <fcntl.h>

#include "backends/backend_impl.h"
#include "backends/commits.h"
#include "backends/gitdir.h"
#include "base/auto.h"
#include "base/error.h"

/*
 * Where its objects are, for git, which resolves links and so cannot be led into a namespace: what the
 * sandbox made is in the upper layer.
 */
static char *find_objects(const struct pdk_sandbox *sb)
{
    const char *top = sb->mount_fd >= 0 ? sb->upper : sb->root;

    return pdk_strf("%s/.git/objects", top);
}

int pdk_gitdir_count_commits(
        struct pdk_sandbox *sb, unsigned int flags, int *out, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv tips = PDK_STRV_INIT;
    PDK_AUTO_FREE char *objects = find_objects(sb);
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

int pdk_gitdir_find_head(
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
    *objects = find_objects(sb);
    return *objects ? 0 : pdk_fail_nomem(err);
}
