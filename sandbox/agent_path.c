#include "sandbox/agent_path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "paddock_config.h"

/* The first of these that may be executed. */
static char *first_usable(char *const *places, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (places[i] && access(places[i], X_OK) == 0)
            return strdup(places[i]);
    return NULL;
}

int pdk_agent_path(char **out, struct pdk_err *err)
{
    const char *given =
            getenv("PADDOCK_AGENT"); /* the program never changes its environment */
    PDK_AUTO_FREE char *self = NULL;
    PDK_AUTO_FREE char *dir = NULL;
    PDK_AUTO_FREE char *beside = NULL;
    PDK_AUTO_FREE char *moved = NULL;
    char installed[] = PDK_AGENT_INSTALLED;

    if (given && given[0]) {
        if (access(given, X_OK) < 0)
            return pdk_fail(
                    err, PDK_EUNAVAIL, 0, "PADDOCK_AGENT='%s' cannot be executed", given);
        *out = strdup(given);
        return *out ? 0 : pdk_fail_nomem(err);
    }
    if (pdk_fs_realpath("/proc/self/exe", &self, err) < 0)
        return pdk_wrap(err, "finding our own program");
    dir = pdk_path_dirname(self);
    beside = dir ? pdk_path_join(dir, "paddock-agent") : NULL;
    moved = dir ? pdk_path_join(dir, PDK_AGENT_FROM_BIN) : NULL;
    if (!beside || !moved)
        return pdk_fail_nomem(err);
    *out = first_usable((char *[]){ beside, moved, installed }, 3);
    if (*out)
        return 0;
    (void)pdk_fail(err, PDK_EUNAVAIL, 0, "there is no paddock-agent at '%s' or '%s'",
            beside, installed);
    return pdk_hint(err, "install it there, or name it in PADDOCK_AGENT");
}
