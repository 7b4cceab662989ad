/*
 * Errors are values: a function that can fail returns 0 or a negative pdk_code
 * and describes the failure in a struct pdk_err that its caller owns.
 *
 * On failure outputs are untouched; on success the error is untouched.
 * Nothing here allocates. Safe on every thread.
 */
#ifndef PDK_BASE_ERROR_H
#define PDK_BASE_ERROR_H

#include <stdarg.h>

/* What a caller can act on; the details are in the message. */
enum pdk_code {
    PDK_OK = 0,
    PDK_EINVAL = -1,        /* wrong usage, wrong specification, wrong input */
    PDK_ENOMEM = -2,        /* out of memory */
    PDK_EIO = -3,           /* the environment failed: disk, git, a process */
    PDK_ENOTFOUND = -4,     /* no such run, sandbox, path, ref */
    PDK_ECONFLICT = -5,     /* refused: dirty, changed meanwhile, exists already */
    PDK_EUNAVAIL = -6,      /* what was asked for cannot be had on this host */
    PDK_ETIMEDOUT = -7,     /* a deadline passed */
    PDK_ECANCELED = -8,     /* somebody asked for the end */
    PDK_EPROTO = -9,        /* the other side does not keep the protocol */
    PDK_ECORRUPT = -10,     /* stored state is damaged or of a newer version */
    PDK_EUNSUPPORTED = -11, /* known, but not built yet */
    PDK_EBUG = -12,         /* an invariant of ours does not hold */
};

struct pdk_err {
    int code;       /* an enum pdk_code; 0 when unset */
    int os_errno;   /* 0 where no errno belongs to it */
    char msg[512];  /* what happened and where, one line */
    char hint[256]; /* what to do next; may be empty */
};

#define PDK_ERR_INIT                                                                     \
    {                                                                                    \
        0, 0, "", ""                                                                     \
    }

/* Fills err (NULL allowed) and returns code. A non-zero os_errno has its text appended. */
__attribute__((format(printf, 4, 5))) int pdk_fail(
        struct pdk_err *err, int code, int os_errno, const char *fmt, ...);

/* As pdk_fail(), for callers that have a va_list. */
__attribute__((format(printf, 4, 0))) int pdk_vfail(
        struct pdk_err *err, int code, int os_errno, const char *fmt, va_list args);

/* Puts "<text>: " before err's message and returns err->code. */
__attribute__((format(printf, 2, 3))) int pdk_wrap(
        struct pdk_err *err, const char *fmt, ...);

/* Sets the hint and returns err->code. */
__attribute__((format(printf, 2, 3))) int pdk_hint(
        struct pdk_err *err, const char *fmt, ...);

/* PDK_ENOMEM with the usual text. */
int pdk_fail_nomem(struct pdk_err *err);

/* The pdk_code that an errno of a system call amounts to. */
int pdk_code_of_errno(int os_errno);

/* Stable name for machines: "invalid", "no_memory", "io", "not_found", … Static storage. */
const char *pdk_code_name(int code);

/* The process exit status for a failure with this code (architecture.md section 8). */
int pdk_exit_status(int code);

/*
 * Static analyzers look at one file at a time and would take these for functions that may
 * return 0: tell them. Compilers never see this part.
 */
#if defined(__clang_analyzer__) || defined(PDK_ANALYZER)
static inline int pdk_analyzed(int rc, int known)
{
    (void)rc;
    return known;
}
#    define pdk_fail(err, code, ...) pdk_analyzed(pdk_fail(err, code, __VA_ARGS__), code)
#    define pdk_wrap(...)            pdk_analyzed(pdk_wrap(__VA_ARGS__), PDK_EIO)
#    define pdk_hint(...)            pdk_analyzed(pdk_hint(__VA_ARGS__), PDK_EIO)
#    define pdk_fail_nomem(err)      pdk_analyzed(pdk_fail_nomem(err), PDK_ENOMEM)
#endif

#endif
