#include "missions/template.h"

#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "missions/compose.h"
#include "missions/mission.h"
#include "plan/plan.h"

enum { NAME_MAX_LEN = 160 };

/* What stands at some "{{". */
enum piece { PIECE_NAME, PIECE_ESCAPE, PIECE_OPEN };

/* Reads the piece at *at, which begins with "{{", into name, and moves past it. */
static enum piece next_piece(const char **at, char name[static NAME_MAX_LEN])
{
    const char *from = *at + 2;

    if (strncmp(from, "{{", 2) == 0) {
        *at += 4;
        return PIECE_ESCAPE;
    }
    const char *end = strstr(from, "}}");
    if (!end || end - from >= NAME_MAX_LEN)
        return PIECE_OPEN;
    while (from < end && *from == ' ')
        from++;
    size_t len = (size_t)(end - from);
    while (len > 0 && from[len - 1] == ' ')
        len--;
    memcpy(name, from, len);
    name[len] = '\0';
    *at = end + 2;
    return PIECE_NAME;
}

static int open_fault(struct pdk_err *err)
{
    (void)pdk_fail(err, PDK_EINVAL, 0, "'{{' without a name and '}}'");
    return pdk_hint(err, "write {{{{ for {{ itself");
}

static int name_fault(struct pdk_err *err, const char *name)
{
    (void)pdk_fail(err, PDK_EINVAL, 0, "unknown name '{{%s}}'", name);
    return pdk_hint(err,
            "there are {{run}}, {{candidate}} and {{matrix.<axis>}}; write "
            "{{{{ for {{ itself");
}

int pdk_template_check(
        const char *text, const struct pdk_node *matrix, struct pdk_err *err)
{
    char name[NAME_MAX_LEN];

    for (const char *at = strstr(text, "{{"); at; at = strstr(at, "{{")) {
        enum piece piece = next_piece(&at, name);
        if (piece == PIECE_OPEN)
            return open_fault(err);
        if (piece == PIECE_ESCAPE || strcmp(name, "run") == 0 ||
                strcmp(name, "candidate") == 0)
            continue;
        if (!pdk_starts_with(name, "matrix.") ||
                !pdk_node_get(matrix, name + strlen("matrix.")))
            return name_fault(err, name);
    }
    return 0;
}

static const char *value_of(const char *name, const struct pdk_template_values *values)
{
    if (strcmp(name, "run") == 0)
        return values->run;
    if (strcmp(name, "candidate") == 0)
        return values->candidate;
    if (values->matrix && pdk_starts_with(name, "matrix."))
        return pdk_pairs_get(values->matrix, name + strlen("matrix."));
    return NULL;
}

int pdk_template_expand(const char *text, const struct pdk_template_values *values,
        struct pdk_buf *out, struct pdk_err *err)
{
    char name[NAME_MAX_LEN];
    const char *from = text;

    for (const char *at = strstr(text, "{{"); at; at = strstr(at, "{{")) {
        pdk_buf_add(out, from, (size_t)(at - from));
        enum piece piece = next_piece(&at, name);
        if (piece == PIECE_OPEN)
            return open_fault(err);
        const char *value = piece == PIECE_ESCAPE ? "{{" : value_of(name, values);
        if (!value)
            return name_fault(err, name);
        pdk_buf_adds(out, value);
        from = at;
    }
    pdk_buf_adds(out, from);
    return pdk_buf_ok(out, err);
}
