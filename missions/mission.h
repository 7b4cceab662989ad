/*
 * Mission and fleet files: from text, or from flags alone, to a checked plan.
 *
 * One table (keys.c) describes every key; the parser, the resolved plan, the JSON Schema and the
 * reference in docs/mission.md come from it. All that is wrong with a file is reported in one go.
 * No state is kept: any thread may call, each with its own diagnostics.
 */
#ifndef PDK_MISSIONS_MISSION_H
#define PDK_MISSIONS_MISSION_H

#include <stdbool.h>
#include <stddef.h>

struct pdk_buf;
struct pdk_err;
struct pdk_json;
struct pdk_plan;
struct pdk_pos;

enum pdk_diag_severity { PDK_DIAG_ERROR, PDK_DIAG_WARNING };

/* One thing to say about a file. Strings are owned by the list. */
struct pdk_diag {
    char *file;
    int line, col; /* from 1, in characters; line 0: file is a flag and has no lines */
    int caret;     /* where in excerpt, from 1 */
    enum pdk_diag_severity severity;
    char *message;
    char *hint;    /* NULL: none */
    char *excerpt; /* the source line, made printable */
};

struct pdk_diags {
    struct pdk_diag *items;
    size_t len;
    size_t errors;  /* all, also those not kept */
    size_t dropped; /* past the first PDK_DIAGS_MAX */
    bool failed;    /* an allocation failed */
    bool muted;     /* additions are ignored */
    bool fresh;     /* the last addition was kept and may have its hint set */
};

enum { PDK_DIAGS_MAX = 200 };

#define PDK_DIAGS_INIT                                                                   \
    {                                                                                    \
        NULL, 0, 0, 0, false, false, false                                               \
    }

void pdk_diags_fini(struct pdk_diags *diags);
#define PDK_AUTO_DIAGS __attribute__((cleanup(pdk_diags_fini)))
__attribute__((format(printf, 4, 5))) void pdk_diags_add(struct pdk_diags *diags,
        enum pdk_diag_severity severity, const struct pdk_pos *pos, const char *fmt, ...);
/* Gives the addition just made a hint; nothing when it was not kept. */
__attribute__((format(printf, 2, 3))) void pdk_diags_hint(
        struct pdk_diags *diags, const char *fmt, ...);
/* By place; one of equal ones stays. */
void pdk_diags_sort(struct pdk_diags *diags);
/* Appends all as "file:line:col: message", the source line, a caret, a hint. */
void pdk_diags_print(const struct pdk_diags *diags, struct pdk_buf *out);

/* A value that a flag gives; it stands over the file's. All borrowed. */
enum pdk_override_kind {
    PDK_OVERRIDE_YAML, /* value is read as YAML: --set */
    PDK_OVERRIDE_TEXT, /* value is the text itself: --cmd */
    /* value is a command, added to key's list: of checks (--check), or of commands (--setup) */
    PDK_OVERRIDE_APPEND
};

struct pdk_override {
    const char *flag; /* as in messages: "--set", "-n" */
    const char *key;  /* dotted: "sandbox.backend", "verify.checks.0.timeout" */
    const char *value;
    enum pdk_override_kind kind;
};

struct pdk_mission_hooks {
    /* Is this a PCRE2 pattern? Else a negative code, the reason in err, the byte in *offset. NULL: not asked. */
    int (*check_pattern)(
            const char *pattern, size_t *offset, struct pdk_err *err, void *user);
    void *user;
};

/*
 * Where the mission comes from. path "-" is stdin. With text, path is only its name in messages.
 * With neither: from overrides alone, on a mission called "mission".
 */
struct pdk_mission_source {
    const char *path;
    const char *text;
    size_t len;
    const struct pdk_override *overrides;
    size_t overrides_len;
};

enum { PDK_MISSION_MAX_BYTES = 1 << 20 };

/*
 * Reads and checks. 0: *out is the caller's (pdk_plan_free()) and diags may hold warnings.
 * PDK_EINVAL: diags says what is wrong, sorted, and err how much of it. PDK_ENOTFOUND, PDK_EIO:
 * the file cannot be read. hooks may be NULL.
 */
int pdk_mission_load(const struct pdk_mission_source *source,
        const struct pdk_mission_hooks *hooks, struct pdk_plan **out,
        struct pdk_diags *diags, struct pdk_err *err);

/* 0, or PDK_EUNSUPPORTED naming each key that the plan needs and this version only checks. */
int pdk_plan_require_built(const struct pdk_plan *plan, struct pdk_err *err);

/* The resolved plan as a mission file would say it, defaults included. NULL: out of memory. Owned. */
struct pdk_json *pdk_plan_json(const struct pdk_plan *plan);
/* The same as YAML text; reading it gives an equal plan. PDK_ENOMEM. */
int pdk_plan_show(const struct pdk_plan *plan, struct pdk_buf *out, struct pdk_err *err);

/* The JSON Schema (draft-07) of both kinds of file, ending in a newline. PDK_ENOMEM. */
int pdk_mission_schema(struct pdk_buf *out, struct pdk_err *err);
/* The reference of all keys, as Markdown. PDK_ENOMEM. */
int pdk_mission_reference(struct pdk_buf *out, struct pdk_err *err);

/* What {{names}} in a string stand for. */
struct pdk_template_values {
    const char *run;
    const char *candidate;
    const struct pdk_pairs *matrix; /* NULL: none */
};

/*
 * Appends text with {{run}}, {{candidate}} and {{matrix.KEY}} replaced; "{{{{" stands for "{{".
 * PDK_EINVAL for an unknown name, or PDK_ENOMEM.
 */
int pdk_template_expand(const char *text, const struct pdk_template_values *values,
        struct pdk_buf *out, struct pdk_err *err);

#endif
