/*
 * gitignore patterns (gitignore(5)): parsing and matching. Pure; used by capture, include lists,
 * protect lists and the agent's searches. Read-only use is safe on every thread.
 */
#ifndef PDK_BASE_IGNORE_H
#define PDK_BASE_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/auto.h"

struct pdk_err;
struct pdk_ignore; /* opaque, heap: patterns of one source */

/* Patterns of a file's text. base: the directory that they are relative to ("" for the top). */
int pdk_ignore_parse(const char *text, size_t len, const char *base,
        struct pdk_ignore **out, struct pdk_err *err);
void pdk_ignore_free(struct pdk_ignore *ignore);
PDK_DEFINE_AUTO(struct pdk_ignore, pdk_ignore_free)
#define PDK_AUTO_IGNORE PDK_AUTO(pdk_ignore_free)

enum pdk_ignore_match {
    PDK_IGNORE_NONE,
    PDK_IGNORE_YES,
    PDK_IGNORE_NO /* a negated pattern */
};

/* The last pattern that matches path (relative to the top) decides. */
enum pdk_ignore_match pdk_ignore_match(
        const struct pdk_ignore *ignore, const char *path, bool is_dir);

/* git's wildmatch with WM_PATHNAME: * and ? stop at a slash, ** does not. */
bool pdk_ignore_wildmatch(const char *pattern, const char *path);

#endif
