/* One setter a type: checks a node and puts its value where the key says. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "missions/fill.h"
#include "missions/mission.h"
#include "missions/scalar.h"
#include "missions/template.h"
#include "plan/plan.h"

static const char *scalar(struct pdk_fill *f, const struct pdk_node *node)
{
    if (!pdk_fill_is(f, node, PDK_NODE_SCALAR))
        return NULL;
    if (!node->plain || !pdk_scalar_null(node->text))
        return node->text;
    pdk_fill_fault(f, node, "has no value");
    pdk_diags_hint(f->diags, "leave the key out, or write \"\" for empty text");
    return NULL;
}

const char *pdk_fill_text(struct pdk_fill *f, const struct pdk_node *node)
{
    const char *text = scalar(f, node);
    bool value;

    if (!text || !node->plain || f->fallback || !pdk_scalar_old_bool(text, &value))
        return text;
    pdk_diags_add(f->diags, PDK_DIAG_WARNING, &node->pos,
            "'%s' is the text '%s', which older YAML read as %s", pdk_buf_str(&f->path),
            text, value ? "true" : "false");
    pdk_diags_hint(f->diags, "write \"%s\" to say that it is text", text);
    return text;
}

const char *pdk_fill_template(struct pdk_fill *f, const struct pdk_node *node)
{
    const char *text = pdk_fill_text(f, node);
    struct pdk_err err = PDK_ERR_INIT;

    if (!text || !f->templates || pdk_template_check(text, f->matrix, &err) == 0)
        return text;
    bool muted = f->diags->muted;
    f->diags->muted = false; /* defaults are read again for each task, for this alone */
    pdk_diags_add(f->diags, PDK_DIAG_ERROR, &node->pos, "%s", err.msg);
    pdk_diags_hint(f->diags, "%s", err.hint);
    f->diags->muted = muted;
    return NULL;
}

static void put_text(struct pdk_fill *f, const char *text, char **at)
{
    free(*at);
    *at = strdup(text);
    f->oom |= !*at;
}

static void set_string(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    const char *text = pdk_fill_template(f, node);

    if (!text)
        return;
    if (key->min > 0 && !*text)
        pdk_fill_fault(f, node, "is empty");
    else
        put_text(f, text, (void *)(base + key->at));
}

static const char *id_text(struct pdk_fill *f, const struct pdk_node *node)
{
    const char *text = pdk_fill_text(f, node);

    if (!text || pdk_scalar_id(text))
        return text;
    pdk_fill_fault(f, node, "must be an identifier, not '%s'", text);
    pdk_diags_hint(f->diags,
            "letters, digits, '.', '_' and '-', at most 128, beginning with a letter or digit");
    return NULL;
}

static void set_id(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    const char *text = id_text(f, node);

    if (text)
        put_text(f, text, (void *)(base + key->at));
}

static void word_fault(
        struct pdk_fill *f, const struct pdk_key *key, const struct pdk_node *node)
{
    const char *words[32];
    char list[256];
    size_t n = 0;

    pdk_word_list(key->words, list, sizeof(list));
    pdk_fill_fault(f, node, "must be %s, not '%s'", list, node->text);
    for (size_t i = 0; key->words[i].text && n < 32; i++)
        words[n++] = key->words[i].text;
    const char *nearest = pdk_nearest(node->text, words, n);
    if (nearest)
        pdk_diags_hint(f->diags, "did you mean '%s'?", nearest);
}

/* Index of the word, or -1 after a complaint. */
static int word(
        struct pdk_fill *f, const struct pdk_key *key, const struct pdk_node *node)
{
    const char *text = scalar(f, node);

    if (!text)
        return -1;
    int index = pdk_word_find(key->words, text);
    if (index < 0)
        word_fault(f, key, node);
    else if (key->words[index].state == PDK_KEY_LATER)
        pdk_fill_later(f, node);
    return index;
}

/* It has the type of the table's functions. */
static void set_fixed(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node,
        char *base) /* NOLINT(readability-non-const-parameter) */
{
    (void)base;
    (void)word(f, key, node); /* it is only checked */
}

static void set_word(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    int index = word(f, key, node);

    if (index >= 0)
        put_text(f, key->words[index].text, (void *)(base + key->at));
}

static void set_backend(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    const char *text = id_text(f, node);
    int index = text ? pdk_word_find(key->words, text) : -1;

    if (!text)
        return;
    if (index < 0 || key->words[index].state == PDK_KEY_LATER)
        pdk_fill_later(f, node);
    put_text(f, text, (void *)(base + key->at));
}

static void set_enum(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    int index = word(f, key, node);

    if (index >= 0)
        *(int *)(void *)(base + key->at) = index;
}

static void set_choice(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    int index = word(f, key, node);

    if (index >= 0)
        *(bool *)(void *)(base + key->at) = index != 0;
}

static void set_bool(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    const char *text = scalar(f, node);
    bool value;

    if (!text)
        return;
    if (node->plain && pdk_scalar_bool(text, (void *)(base + key->at)))
        return;
    pdk_fill_fault(f, node, "must be true or false, not '%s'", text);
    if (pdk_scalar_old_bool(text, &value) || pdk_scalar_bool(text, &value))
        pdk_diags_hint(f->diags, "write %s", value ? "true" : "false");
}

/* Says what is wrong with a number; false unless it is fine and within the key's bounds. */
static bool int_ok(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, enum pdk_scalar_result rc, int64_t value)
{
    if (rc == PDK_SCALAR_BAD || (!node->plain && rc == PDK_SCALAR_OK)) {
        pdk_fill_fault(f, node, "must be a whole number, not '%s'", node->text);
        return false;
    }
    if (rc == PDK_SCALAR_OK && value >= key->min && value <= key->max)
        return true;
    pdk_fill_fault(f, node, "must be between %lld and %lld, not %s", (long long)key->min,
            (long long)key->max, node->text);
    return false;
}

static bool get_int(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, int64_t *out)
{
    const char *text = scalar(f, node);

    if (!text)
        return false;
    enum pdk_scalar_result rc = pdk_scalar_int(text, out);
    return int_ok(f, key, node, rc, *out);
}

static void set_int(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    int64_t value = 0;

    if (get_int(f, key, node, &value))
        *(int *)(void *)(base + key->at) = (int)value;
}

static void set_long(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    int64_t value = 0;

    if (get_int(f, key, node, &value))
        *(int64_t *)(void *)(base + key->at) = value;
}

static void set_number(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    const char *text = scalar(f, node);
    double value = 0;

    if (!text)
        return;
    if (!node->plain || pdk_scalar_number(text, &value) == PDK_SCALAR_BAD)
        pdk_fill_fault(f, node, "must be a number, not '%s'", text);
    else if (!(value > (double)key->min) || value > (double)key->max)
        pdk_fill_fault(f, node, "must be above %lld and at most %lld, not %s",
                (long long)key->min, (long long)key->max, text);
    else
        *(double *)(void *)(base + key->at) = value;
}

/* What differs between durations and sizes. */
struct measure {
    enum pdk_scalar_result (*read)(const char *text, int64_t *out);
    void (*show)(int64_t value, char out[static 32]);
    const char *what, *example, *unit;
};

static void set_measure(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base, const struct measure *measure)
{
    const char *text = scalar(f, node);
    char low[32];
    char high[32];
    int64_t value = 0;

    if (!text)
        return;
    enum pdk_scalar_result rc = measure->read(text, &value);
    if (rc == PDK_SCALAR_OK && value >= key->min && value <= key->max) {
        *(int64_t *)(void *)(base + key->at) = value;
        return;
    }
    if (rc == PDK_SCALAR_UNIT) {
        pdk_fill_fault(f, node, "needs a unit: '%s'", text);
        pdk_diags_hint(f->diags, "write %s%s", text, measure->unit);
        return;
    }
    if (rc == PDK_SCALAR_BAD) {
        pdk_fill_fault(f, node, "must be a %s, not '%s'", measure->what, text);
        pdk_diags_hint(f->diags, "%s", measure->example);
        return;
    }
    measure->show(key->min, low);
    measure->show(key->max, high);
    pdk_fill_fault(f, node, "must be between %s and %s, not %s", low, high, text);
}

static void set_duration(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    static const struct measure duration = { pdk_scalar_duration,
        pdk_scalar_show_duration, "duration",
        "such as 90s, 5m or 1h30m; units are ms, s, m, h and d", "s" };

    set_measure(f, key, node, base, &duration);
}

static void set_size(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    static const struct measure size = { pdk_scalar_size, pdk_scalar_show_size, "size",
        "such as 512MiB or 2GB; units are B, kB, MB, GB, TB, KiB, MiB, GiB and TiB",
        "MiB" };

    set_measure(f, key, node, base, &size);
}

static void set_exit(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    struct pdk_expect *expect = (void *)base;
    int64_t value = 0;

    if (node->kind == PDK_NODE_SCALAR && strcmp(node->text, "any") == 0) {
        expect->has_exit = false;
        expect->exit = 0;
    } else if (get_int(f, key, node, &value)) {
        expect->has_exit = true;
        expect->exit = (int)value;
    }
}

static void argv_of_list(
        struct pdk_fill *f, const struct pdk_node *node, struct pdk_command *out)
{
    for (size_t i = 0; i < node->len; i++) {
        const char *text = pdk_fill_template(f, node->items[i]);
        if (text)
            pdk_strv_add(&out->argv, text);
    }
    if (node->len == 0 || (out->argv.len > 0 && !out->argv.items[0][0]))
        pdk_fill_fault(f, node, "is an empty command");
}

void pdk_fill_command(
        struct pdk_fill *f, const struct pdk_node *node, struct pdk_command *out)
{
    const char *text;

    pdk_strv_fini(&out->argv);
    out->argv = (struct pdk_strv)PDK_STRV_INIT;
    out->shell = node->kind == PDK_NODE_SCALAR;
    if (node->kind == PDK_NODE_MAP) {
        pdk_fill_fault(f, node, "must be text or a list, not a mapping");
        return;
    }
    if (node->kind == PDK_NODE_LIST) {
        argv_of_list(f, node, out);
    } else {
        text = pdk_fill_template(f, node);
        if (!text)
            return;
        if (text[strspn(text, " \t\n")] == '\0')
            pdk_fill_fault(f, node, "is an empty command");
        pdk_strv_add(&out->argv, "sh");
        pdk_strv_add(&out->argv, "-c");
        pdk_strv_add(&out->argv, text);
    }
    f->oom |= out->argv.failed;
}

static void set_command(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    pdk_fill_command(f, node, (void *)(base + key->at));
}

static void set_commands(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    struct pdk_command **items = (void *)(base + key->at);
    size_t *len = (void *)(base + key->count_at);

    if (!pdk_fill_is(f, node, PDK_NODE_LIST) || !pdk_fill_count(f, key, node) ||
            node->len == 0)
        return;
    *items = calloc(node->len, sizeof(struct pdk_command));
    f->oom |= !*items;
    for (size_t i = 0; *items && i < node->len; i++)
        pdk_fill_command(f, node->items[i], &(*items)[(*len)++]);
}

static void add_distinct(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, const char *text, struct pdk_strv *list)
{
    if ((key->flags & PDK_KEY_DISTINCT) && list->len < 1000 && pdk_strv_has(list, text))
        pdk_fill_fault(f, node, "has '%s' twice", text);
    else
        pdk_strv_add(list, text);
}

typedef const char *entry_reader(struct pdk_fill *f, const struct pdk_node *node);

static void set_list(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base, entry_reader *read)
{
    struct pdk_strv *list = (void *)(base + key->at);

    pdk_strv_fini(list);
    *list = (struct pdk_strv)PDK_STRV_INIT;
    if (!pdk_fill_is(f, node, PDK_NODE_LIST) || !pdk_fill_count(f, key, node))
        return;
    for (size_t i = 0; i < node->len; i++) {
        const char *text = read(f, node->items[i]);
        if (text)
            add_distinct(f, key, node->items[i], text, list);
    }
    f->oom |= list->failed;
}

static const char *entry_text(struct pdk_fill *f, const struct pdk_node *node)
{
    const char *text = pdk_fill_template(f, node);

    if (!text || *text)
        return text;
    pdk_fill_fault(f, node, "has an empty entry");
    return NULL;
}

static const char *entry_name(struct pdk_fill *f, const struct pdk_node *node)
{
    const char *text = pdk_fill_text(f, node);

    if (!text || pdk_scalar_name(text))
        return text;
    pdk_fill_fault(f, node, "has '%s', which is no name of a variable", text);
    return NULL;
}

static void set_strings(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    set_list(f, key, node, base, entry_text);
}

static void set_ids(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    set_list(f, key, node, base, id_text);
}

static void set_names(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    set_list(f, key, node, base, entry_name);
}

static const char *pattern(struct pdk_fill *f, const struct pdk_node *node)
{
    const char *text = pdk_fill_text(f, node);
    struct pdk_err err = PDK_ERR_INIT;
    size_t offset = 0;

    if (!text || !f->hooks || !f->hooks->check_pattern || f->diags->muted)
        return text;
    if (f->hooks->check_pattern(text, &offset, &err, f->hooks->user) == 0)
        return text;
    pdk_fill_fault(f, node, "is no pattern: %s, at byte %zu of it", err.msg, offset + 1);
    pdk_diags_hint(
            f->diags, "patterns are PCRE2; in \"double quotes\" a backslash is \\\\");
    return NULL;
}

static void set_pattern(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    const char *text = pattern(f, node);

    if (text)
        put_text(f, text, (void *)(base + key->at));
}

static void set_patterns(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    struct pdk_strv *list = (void *)(base + key->at);

    if (node->kind != PDK_NODE_SCALAR) {
        set_list(f, key, node, base, pattern);
        return;
    }
    const char *text = pattern(f, node);
    if (text)
        pdk_strv_add(list, text);
    f->oom |= list->failed;
}

static void set_ints(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    int **items = (void *)(base + key->at);
    size_t *len = (void *)(base + key->count_at);

    if (!pdk_fill_is(f, node, PDK_NODE_LIST) || node->len == 0)
        return;
    *items = calloc(node->len, sizeof(int));
    f->oom |= !*items;
    for (size_t i = 0; *items && i < node->len; i++) {
        int64_t value = 0;
        if (get_int(f, key, node->items[i], &value))
            (*items)[(*len)++] = (int)value;
    }
}

typedef void setter(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base);

void pdk_fill_value(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    static setter *const setters[PDK_KEY_TYPES] = {
        [PDK_KEY_FIXED] = set_fixed,
        [PDK_KEY_STRING] = set_string,
        [PDK_KEY_ID] = set_id,
        [PDK_KEY_WORD] = set_word,
        [PDK_KEY_BACKEND] = set_backend,
        [PDK_KEY_ENUM] = set_enum,
        [PDK_KEY_CHOICE] = set_choice,
        [PDK_KEY_BOOL] = set_bool,
        [PDK_KEY_INT] = set_int,
        [PDK_KEY_LONG] = set_long,
        [PDK_KEY_NUMBER] = set_number,
        [PDK_KEY_DURATION] = set_duration,
        [PDK_KEY_SIZE] = set_size,
        [PDK_KEY_EXIT] = set_exit,
        [PDK_KEY_COMMAND] = set_command,
        [PDK_KEY_COMMANDS] = set_commands,
        [PDK_KEY_STRINGS] = set_strings,
        [PDK_KEY_IDS] = set_ids,
        [PDK_KEY_NAMES] = set_names,
        [PDK_KEY_PATTERN] = set_pattern,
        [PDK_KEY_PATTERNS] = set_patterns,
        [PDK_KEY_INTS] = set_ints,
        [PDK_KEY_ENV] = pdk_fill_env,
        [PDK_KEY_SLOTS] = pdk_fill_slots,
        [PDK_KEY_MATRIX] = pdk_fill_matrix,
        [PDK_KEY_SELECT] = pdk_fill_select,
    };

    if (setters[key->type])
        setters[key->type](f, key, node, base);
}
