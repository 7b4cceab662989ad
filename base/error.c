#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Here the functions themselves are defined, not what analyzers are told of them. */
#undef pdk_fail
#undef pdk_wrap
#undef pdk_hint
#undef pdk_fail_nomem

struct code_row {
    int code;
    const char *name;
    int exit_status;
};

static const struct code_row code_rows[] = {
    { PDK_OK, "ok", 0 },
    { PDK_EINVAL, "invalid", 2 },
    { PDK_ENOMEM, "no_memory", 4 },
    { PDK_EIO, "io", 4 },
    { PDK_ENOTFOUND, "not_found", 2 },
    { PDK_ECONFLICT, "conflict", 5 },
    { PDK_EUNAVAIL, "unavailable", 4 },
    { PDK_ETIMEDOUT, "timed_out", 4 },
    { PDK_ECANCELED, "canceled", 130 },
    { PDK_EPROTO, "protocol", 4 },
    { PDK_ECORRUPT, "corrupt", 4 },
    { PDK_EUNSUPPORTED, "unsupported", 2 },
    { PDK_EBUG, "bug", 70 },
};

static const struct code_row *find_row(int code)
{
    for (size_t i = 0; i < sizeof(code_rows) / sizeof(code_rows[0]); i++)
        if (code_rows[i].code == code)
            return &code_rows[i];
    return NULL;
}

const char *pdk_code_name(int code)
{
    const struct code_row *row = find_row(code);

    return row ? row->name : "unknown";
}

int pdk_exit_status(int code)
{
    const struct code_row *row = find_row(code);

    return row ? row->exit_status : 70;
}

/* A message that does not fit is cut: vsnprintf() always ends it. */
__attribute__((format(printf, 3, 0))) static void put_text(
        char *to, size_t size, const char *fmt, va_list args)
{
    if (vsnprintf(to, size, fmt, args) < 0)
        to[0] = '\0';
}

int pdk_vfail(struct pdk_err *err, int code, int os_errno, const char *fmt, va_list args)
{
    size_t used;

    if (!err)
        return code;
    err->code = code;
    err->os_errno = os_errno;
    err->hint[0] = '\0';
    put_text(err->msg, sizeof(err->msg), fmt, args);
    if (os_errno == 0)
        return code;
    used = strlen(err->msg);
    (void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s",
            strerrordesc_np(os_errno) ? strerrordesc_np(os_errno) : "unknown error");
    return code;
}

int pdk_fail(struct pdk_err *err, int code, int os_errno, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)pdk_vfail(err, code, os_errno, fmt, args);
    va_end(args);
    return code;
}

int pdk_wrap(struct pdk_err *err, const char *fmt, ...)
{
    char old[sizeof(err->msg)];
    size_t used;
    va_list args;

    if (!err)
        return PDK_EIO;
    memcpy(old, err->msg, sizeof(old));
    va_start(args, fmt);
    put_text(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    used = strlen(err->msg);
    (void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", old);
    return err->code;
}

int pdk_hint(struct pdk_err *err, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return PDK_EIO;
    va_start(args, fmt);
    put_text(err->hint, sizeof(err->hint), fmt, args);
    va_end(args);
    return err->code;
}

int pdk_fail_nomem(struct pdk_err *err)
{
    return pdk_fail(err, PDK_ENOMEM, 0, "out of memory");
}

int pdk_code_of_errno(int os_errno)
{
    switch (os_errno) {
    case ENOMEM:
        return PDK_ENOMEM;
    case ENOENT:
    case ENOTDIR:
        return PDK_ENOTFOUND;
    case EEXIST:
    case ENOTEMPTY:
        return PDK_ECONFLICT;
    case ETIMEDOUT:
        return PDK_ETIMEDOUT;
    case EINVAL:
    case ENAMETOOLONG:
        return PDK_EINVAL;
    default:
        return PDK_EIO;
    }
}
