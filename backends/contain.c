#include "backends/contain.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/path.h"
#include "base/str.h"

/* What exists must be a directory itself. */
static int check_one(const char *path, struct pdk_err *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0
                               : pdk_fail(err, pdk_code_of_errno(errno), errno,
                                         "cannot look at '%s'", path);
    if (!S_ISDIR(st.st_mode))
        return pdk_fail(err, PDK_ECONFLICT, 0, "'%s' is %s, not a directory", path,
                S_ISLNK(st.st_mode) ? "a symbolic link" : "a file");
    return 0;
}

int pdk_contain_check(const char *dir, const char *lock, struct pdk_err *err)
{
    PDK_AUTO_FREE char *state = pdk_path_dirname(lock);
    PDK_AUTO_FREE char *top = state ? pdk_strf("%s/sandboxes/", state) : NULL;
    PDK_AUTO_FREE char *copy = strdup(dir);

    if (!top || !copy)
        return pdk_fail_nomem(err);
    size_t prefix = strlen(top);
    const char *rest = dir + (pdk_starts_with(dir, top) ? prefix : 0);
    if (*lock != '/' || rest == dir || !pdk_path_is_safe(rest, strlen(rest)))
        return pdk_fail(err, PDK_ECONFLICT, 0, "'%s' is not below '%s'", dir, top);
    int rc = 0;
    for (char *at = copy + prefix - 1; at && rc == 0; at = strchr(at + 1, '/')) {
        *at = '\0';
        rc = check_one(copy, err);
        *at = '/';
    }
    return rc < 0 ? rc : check_one(copy, err);
}
