#include "sandbox/confine/classify.h"

#include <string.h>

/* What each dialect's refusals look like, as the C library words them: never the union. */
static const char *const bubblewrap_signatures[] = { "Read-only file system", NULL };
static const char *const landlock_signatures[] = { "Permission denied",
    "Invalid cross-device link", NULL };

static bool holds(const struct pdk_finish *f, const char *text)
{
    return memmem(f->err, f->err_len, text, strlen(text)) != NULL;
}

static bool holds_any(const struct pdk_finish *f, const char *const *texts)
{
    for (; *texts; texts++)
        if (holds(f, *texts))
            return true;
    return false;
}

static bool holds_of(const struct pdk_finish *f, const struct pdk_strv *texts)
{
    for (size_t i = 0; i < texts->len; i++)
        if (holds(f, texts->items[i]))
            return true;
    return false;
}

/* A line of bubblewrap's own or its account decides, not its exit code, which commands have too. */
static bool runner_failed(const struct pdk_finish *f)
{
    if (f->signal != 0)
        return false;
    if (f->dialect == PDK_DIALECT_BUBBLEWRAP)
        return !f->reported && !f->has_exit;
    return f->dialect == PDK_DIALECT_RUNNER && f->exit_code == f->runner->failure_exit &&
            holds_of(f, &f->runner->failures);
}

static bool denied(const struct pdk_finish *f)
{
    if (f->signal != 0 || f->exit_code == 0)
        return false;
    switch (f->dialect) {
    case PDK_DIALECT_BUBBLEWRAP:
        return holds_any(f, bubblewrap_signatures);
    case PDK_DIALECT_LANDLOCK:
        return holds_any(f, landlock_signatures);
    case PDK_DIALECT_RUNNER:
        return holds_of(f, &f->runner->signatures);
    case PDK_DIALECT_NONE:
    case PDK_DIALECT_COUNT:
        break;
    }
    return false;
}

enum pdk_ending pdk_classify(const struct pdk_finish *f)
{
    if (runner_failed(f))
        return PDK_ENDING_RUNNER;
    return denied(f) ? PDK_ENDING_DENIED : PDK_ENDING_ORDINARY;
}
