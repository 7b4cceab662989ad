/* What is refused before YAML sees a byte. */
#include "missions/compose.h"

#include <string.h>

#include "base/utf8.h"
#include "missions/mission.h"

static struct pdk_pos place_of(const struct pdk_source *source, size_t offset)
{
    struct pdk_pos pos = { source, 1, 1 };

    for (size_t i = 0; i < offset; i++) {
        if (source->text[i] == '\n') {
            pos.line++;
            pos.col = 1;
        } else if (((unsigned char)source->text[i] & 0xc0U) != 0x80U) {
            pos.col++;
        }
    }
    return pos;
}

/* UTF-16 and UTF-32 begin with their mark, or, since a file begins in ASCII, with a NUL near by. */
static bool looks_wide(const struct pdk_source *source)
{
    const char *text = source->text;

    if (source->len < 2)
        return false;
    if (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)
        return true;
    return (text[0] == '\0') != (text[1] == '\0');
}

static bool fault(const struct pdk_source *source, size_t offset, struct pdk_diags *diags,
        const char *message, const char *hint)
{
    struct pdk_pos pos = place_of(source, offset);

    pdk_diags_add(diags, PDK_DIAG_ERROR, &pos, "%s", message);
    if (hint)
        pdk_diags_hint(diags, "%s", hint);
    return false;
}

bool pdk_yaml_bytes_ok(const struct pdk_source *source, struct pdk_diags *diags)
{
    if (source->len > PDK_MISSION_MAX_BYTES)
        return fault(source, 0, diags, "the file is larger than 1 MiB", NULL);
    if (looks_wide(source))
        return fault(
                source, 0, diags, "the file is UTF-16 or UTF-32", "save it as UTF-8");
    const char *nul = memchr(source->text, '\0', source->len);
    if (nul)
        return fault(source, (size_t)(nul - source->text), diags,
                "a NUL byte has no place in a text file", NULL);
    for (size_t i = 0; i < source->len;) {
        uint32_t codepoint;
        size_t n = pdk_utf8_seq(source->text + i, source->len - i, &codepoint);
        if (n == 0)
            return fault(source, i, diags, "a byte that is not UTF-8",
                    "save the file as UTF-8");
        i += n;
    }
    return true;
}
