/* Paths as text. Nothing here touches the file system. */
#ifndef PDK_BASE_PATH_H
#define PDK_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Heap text, owned by the caller; NULL when out of memory. */
char *pdk_path_join(
        const char *dir, const char *name); /* an absolute name stands alone */
char *pdk_path_dirname(const char *path);
const char *pdk_path_basename(
        const char *path); /* borrowed; what follows the last slash */

/* How many bytes two paths share from the start. */
size_t pdk_path_shared(const char *a, const char *b);
/*
 * The directories of a path, outermost first: copies the one that ends at or after *at into dir and moves *at
 * behind it. Begin at 0, or at what the path shares with one whose directories are done. False at the end,
 * and where it does not fit.
 */
bool pdk_path_next_dir(const char *path, size_t *at, char *dir, size_t size);

/* An id: [A-Za-z0-9][A-Za-z0-9._-]*, at most 128 bytes. */
bool pdk_path_is_id(const char *id);
/*
 * A path below a tree's root, as git stores it: not empty, relative, no empty, "." or ".."
 * component, no NUL, at most 4095 bytes, and no component that is .git on any platform
 * (letter case, trailing dots and spaces, git~1, HFS+ ignorable code points, an NTFS stream).
 */
bool pdk_path_is_safe(const char *path, size_t len);
/* Is the one component of len bytes a spelling of .git on any platform? */
bool pdk_path_is_dotgit(const char *name, size_t len);

#endif
