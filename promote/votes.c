#include "promote/votes.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"

static bool begins(const char *line, size_t len, const char *word)
{
    size_t n = strlen(word);

    return len >= n && memcmp(line, word, n) == 0;
}

/* Which lines tell what changed: those of a hunk, and those that name a file or its mode. */
static bool tells(const char *line, size_t len, bool in_hunk)
{
    static const char *const heads[] = { "diff --git ", "new file mode ",
        "deleted file mode ", "old mode ", "new mode " };

    if (in_hunk)
        return len > 0 && (*line == '+' || *line == '-');
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
        if (begins(line, len, heads[i]))
            return true;
    return false;
}

/* The line without its blanks; one of a hunk that is blank says nothing. */
static void add_line(struct pdk_digest *d, const char *line, size_t len, bool in_hunk)
{
    bool any = !in_hunk;

    for (size_t i = in_hunk ? 1 : 0; i < len && !any; i++)
        any = !isspace((unsigned char)line[i]);
    for (size_t i = 0; any && i < len; i++)
        if (!isspace((unsigned char)line[i]))
            pdk_digest_add(d, &line[i], 1);
    if (any)
        pdk_digest_add(d, "\n", 1);
}

int pdk_votes_digest(const char *patch, size_t len, char out[65], struct pdk_err *err)
{
    struct pdk_digest *d = pdk_digest_new();
    const char *end = patch + len;
    bool in_hunk = false, binary = false;

    if (!d)
        return pdk_fail_nomem(err);
    for (const char *line = patch; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((newline ? newline : end) - line);

        if (begins(line, n, "diff --git "))
            in_hunk = binary = false;
        else if (begins(line, n, "GIT binary patch"))
            binary = true;
        else if (begins(line, n, "@@ "))
            in_hunk = true;
        if (binary || (!begins(line, n, "@@ ") && tells(line, n, in_hunk)))
            add_line(d, line, n, in_hunk);
        line += n + 1;
    }
    pdk_digest_end(d, out);
    pdk_digest_free(d);
    return 0;
}
