/*
 * Lines of a text that match a PCRE2 pattern. The compiled pattern is shared by threads; each has a
 * user of its own.
 */
#ifndef PDK_SANDBOX_AGENT_LINES_H
#define PDK_SANDBOX_AGENT_LINES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct pdk_err;
struct pdk_json;
struct pdk_lines; /* opaque, heap */

enum { PDK_LINES_SAMPLE = 8000 /* a NUL in so many first bytes makes a file binary */ };

struct pdk_lines_spec {
    bool fixed, ignore_case;
    int context;   /* lines before and after each match */
    int64_t limit; /* matches of one text */
};

/* PDK_EINVAL says what is wrong with the pattern, and where. */
int pdk_lines_new(const char *pattern, size_t len, const struct pdk_lines_spec *spec,
        struct pdk_lines **out, struct pdk_err *err);
void pdk_lines_free(struct pdk_lines *lines);

struct pdk_lines_user {
    struct pdk_buf text; /* the caller fills it */
    int64_t deadline_ms;
    const atomic_bool *stop;
    bool undecided;                /* the last text: a match went over its limits */
    void *match, *context, *stack; /* of the PCRE2 library; NULL before the first use */
};

#define PDK_LINES_USER_INIT                                                              \
    {                                                                                    \
        PDK_BUF_INIT, 0, NULL, false, NULL, NULL, NULL                                   \
    }

int pdk_lines_user_init(const struct pdk_lines *lines, struct pdk_lines_user *user);
void pdk_lines_user_fini(struct pdk_lines_user *user);

/*
 * *out becomes an array (NULL where nothing matched) of {line, column, text, before, after, room}:
 * room is what the item takes in a frame at the most. Returns how many; PDK_ENOMEM.
 */
int64_t pdk_lines_find(const struct pdk_lines *lines, struct pdk_lines_user *user,
        struct pdk_json **out);

#endif
