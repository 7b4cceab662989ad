/* Making a copy that has a git directory of its own: the same for every backend whose copies do. */
#include <errno.h>
#include <sys/stat.h>

#include "backends/fill.h"
#include "backends/gitdir.h"
#include "base/error.h"

int pdk_gitdir_materialize(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        struct pdk_strv *warnings, struct pdk_err *err)
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
