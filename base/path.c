#include "base/path.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

char *pdk_path_join(const char *dir, const char *name)
{
    if (name[0] == '/' || dir[0] == '\0')
        return strdup(name);
    return pdk_strf(pdk_ends_with(dir, "/") ? "%s%s" : "%s/%s", dir, name);
}

char *pdk_path_dirname(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    if (slash == path)
        return strdup("/");
    return strndup(path, (size_t)(slash - path));
}

const char *pdk_path_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

size_t pdk_path_shared(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

bool pdk_path_next_dir(const char *path, size_t *at, char *dir, size_t size)
{
    const char *slash = strchr(path + *at, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;

    if (!slash || len >= size)
        return false;
    memcpy(dir, path, len);
    dir[len] = '\0';
    *at = len + 1;
    return true;
}

bool pdk_path_is_id(const char *id)
{
    size_t len = strlen(id);

    if (len == 0 || len > 128 || !isalnum((unsigned char)id[0]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)id[i]) && !strchr("._-", id[i]))
            return false;
    return true;
}

/* Code points that HFS+ ignores when it compares names. */
static bool hfs_ignores(uint32_t cp)
{
    return (cp >= 0x200c && cp <= 0x200f) || (cp >= 0x202a && cp <= 0x202e) ||
            (cp >= 0x206a && cp <= 0x206f) || cp == 0xfeff;
}

static bool is_dotgit_hfs(const char *name, size_t len)
{
    static const char want[] = ".git";
    size_t matched = 0;

    while (len > 0) {
        uint32_t cp = 0;
        size_t n = pdk_utf8_seq(name, len, &cp);

        if (n == 0)
            return false;
        name += n;
        len -= n;
        if (hfs_ignores(cp))
            continue;
        if (matched == 4 || cp > 0x7f || tolower((int)cp) != want[matched])
            return false;
        matched++;
    }
    return matched == 4;
}

/* NTFS drops trailing dots and spaces, and names a stream after a colon; git~1 is the short name. */
static bool is_dotgit_ntfs(const char *name, size_t len)
{
    size_t stem = 0;

    if (len >= 4 && strncasecmp(name, ".git", 4) == 0)
        stem = 4;
    else if (len >= 5 && strncasecmp(name, "git~1", 5) == 0)
        stem = 5;
    if (stem == 0)
        return false;
    for (size_t i = stem; i < len; i++) {
        if (name[i] == ':')
            return true;
        if (name[i] != '.' && name[i] != ' ')
            return false;
    }
    return true;
}

bool pdk_path_is_dotgit(const char *name, size_t len)
{
    return is_dotgit_ntfs(name, len) || is_dotgit_hfs(name, len);
}

static bool component_is_safe(const char *name, size_t len)
{
    if (len == 0 || (len == 1 && name[0] == '.') ||
            (len == 2 && memcmp(name, "..", 2) == 0))
        return false;
    return !pdk_path_is_dotgit(name, len);
}

bool pdk_path_is_safe(const char *path, size_t len)
{
    if (len == 0 || len > 4095 || memchr(path, '\0', len))
        return false;
    for (;;) {
        const char *slash = memchr(path, '/', len);
        size_t n = slash ? (size_t)(slash - path) : len;

        if (!component_is_safe(path, n))
            return false;
        if (!slash)
            return true;
        path += n + 1;
        len -= n + 1;
    }
}
