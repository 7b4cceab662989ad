/* From argv to pdk_args: options by table, positionals and options in any order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "orchestrator/cli/cli.h"

const struct pdk_option pdk_global_options[] = {
    { "directory", 'C', PDK_OPTION_TEXT, "DIR", "work in DIR instead of here" },
    { "state", '\0', PDK_OPTION_TEXT, "DIR", "where runs are kept (PADDOCK_STATE)" },
    { "json", '\0', PDK_OPTION_NONE, NULL, "one JSON document on stdout" },
    { "color", '\0', PDK_OPTION_TEXT, "WHEN", "auto, always or never" },
    { "quiet", 'q', PDK_OPTION_NONE, NULL, "no talk on stderr but errors" },
    { "verbose", 'v', PDK_OPTION_NONE, NULL, "more talk on stderr" },
    { "version", '\0', PDK_OPTION_NONE, NULL, "print the version" },
    { "help", 'h', PDK_OPTION_NONE, NULL, "print help" },
};
const size_t pdk_global_options_len =
        sizeof(pdk_global_options) / sizeof(pdk_global_options[0]);

void pdk_args_fini(struct pdk_args *args)
{
    free(args->given);
    free(args->words);
    free(args->rest);
    *args = (struct pdk_args){ 0 };
}

const char *pdk_args_get(
        const struct pdk_args *args, const char *name, const char *fallback)
{
    const char *value = fallback;

    for (size_t i = 0; i < args->given_len; i++)
        if (strcmp(args->given[i].option->name, name) == 0 && args->given[i].value)
            value = args->given[i].value;
    return value;
}

bool pdk_args_has(const struct pdk_args *args, const char *name)
{
    for (size_t i = 0; i < args->given_len; i++) {
        const struct pdk_option *option = args->given[i].option;

        if (option && strcmp(option->name, name) == 0)
            return true;
    }
    return false;
}

const char *pdk_args_next(const struct pdk_args *args, const char *name, size_t *at)
{
    while (*at < args->given_len) {
        const struct pdk_given *given = &args->given[(*at)++];

        if (strcmp(given->option->name, name) == 0)
            return given->value;
    }
    return NULL;
}

int pdk_args_int(const struct pdk_args *args, const char *name, int min, int max,
        int fallback, int *out, struct pdk_err *err)
{
    const char *text = pdk_args_get(args, name, NULL);
    char *end = NULL;
    long value;

    *out = fallback;
    if (!text)
        return 0;
    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end || value < min || value > max)
        return pdk_fail(err, PDK_EINVAL, 0,
                "--%s takes a whole number from %d to %d, not '%s'", name, min, max,
                text);
    *out = (int)value;
    return 0;
}

/* ---- parsing */

static const struct pdk_option *find_in(const struct pdk_option *options, size_t n,
        const char *name, size_t len, char letter)
{
    for (size_t i = 0; i < n; i++) {
        if (letter && options[i].letter == letter)
            return &options[i];
        if (name && strlen(options[i].name) == len &&
                strncmp(options[i].name, name, len) == 0)
            return &options[i];
    }
    return NULL;
}

static const struct pdk_option *find_option(
        const struct pdk_command_row *row, const char *name, size_t len, char letter)
{
    const struct pdk_option *found = NULL;

    if (row)
        found = find_in(row->options, row->options_len, name, len, letter);
    if (!found)
        found = find_in(pdk_global_options, pdk_global_options_len, name, len, letter);
    return found;
}

static int unknown_option(
        const struct pdk_command_row *row, const char *word, struct pdk_err *err)
{
    const char *names[64];
    size_t n = 0;
    const char *near;

    for (size_t i = 0; row && i < row->options_len && n < 48; i++)
        names[n++] = row->options[i].name;
    for (size_t i = 0; i < pdk_global_options_len && n < 64; i++)
        names[n++] = pdk_global_options[i].name;
    (void)pdk_fail(err, PDK_EINVAL, 0, "unknown option '%s'", word);
    near = word[0] == '-' && word[1] == '-' ? pdk_nearest(word + 2, names, n) : NULL;
    if (near)
        return pdk_hint(err, "did you mean --%s?", near);
    return pdk_hint(err, "'paddock%s%s%s%s --help' lists the options",
            row && row->group ? " " : "", row && row->group ? row->group : "",
            row ? " " : "", row ? row->name : "");
}

struct parser {
    int argc;
    char **argv;
    int at;
    struct pdk_args *args;
};

static void add_given(
        struct pdk_args *args, const struct pdk_option *option, const char *value)
{
    args->given[args->given_len++] = (struct pdk_given){ option, value };
}

/* The value of an option that needs one: what follows in the same word, or the next word. */
static int option_value(struct parser *p, const struct pdk_option *option,
        const char *inline_value, const char **out, struct pdk_err *err)
{
    *out = inline_value;
    if (option->arg == PDK_OPTION_NONE && inline_value)
        return pdk_fail(err, PDK_EINVAL, 0, "--%s takes no value", option->name);
    if (option->arg != PDK_OPTION_TEXT || inline_value)
        return 0;
    if (p->at >= p->argc)
        return pdk_fail(err, PDK_EINVAL, 0, "--%s needs a value: %s", option->name,
                option->value);
    *out = p->argv[p->at++];
    return 0;
}

static int parse_long(struct parser *p, const char *word, struct pdk_err *err)
{
    const char *eq = strchr(word, '=');
    size_t len = eq ? (size_t)(eq - word) - 2 : strlen(word) - 2;
    const struct pdk_option *option = find_option(p->args->row, word + 2, len, '\0');
    const char *value;

    if (!option)
        return unknown_option(p->args->row, word, err);
    if (option_value(p, option, eq ? eq + 1 : NULL, &value, err) < 0)
        return err->code;
    add_given(p->args, option, value);
    return 0;
}

/* -n4, -n 4, -qv. */
static int parse_short(struct parser *p, const char *word, struct pdk_err *err)
{
    for (const char *at = word + 1; *at; at++) {
        const struct pdk_option *option = find_option(p->args->row, NULL, 0, *at);
        const char *value = NULL;

        if (!option)
            return unknown_option(p->args->row, word, err);
        if (option->arg == PDK_OPTION_NONE) {
            add_given(p->args, option, NULL);
            continue;
        }
        if (option_value(p, option, at[1] ? at + 1 : NULL, &value, err) < 0)
            return err->code;
        add_given(p->args, option, value);
        break;
    }
    return 0;
}

static const struct pdk_command_row *find_command(const char *group, const char *name)
{
    size_t n;
    const struct pdk_command_row *table = pdk_command_table(&n);

    for (size_t i = 0; i < n; i++)
        if (pdk_streq(table[i].group, group) && strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static bool is_group(const char *name)
{
    size_t n;
    const struct pdk_command_row *table = pdk_command_table(&n);

    for (size_t i = 0; i < n; i++)
        if (table[i].group && strcmp(table[i].group, name) == 0)
            return true;
    return false;
}

static int unknown_command(const char *group, const char *word, struct pdk_err *err)
{
    const char *names[64];
    size_t n, count = 0;
    const struct pdk_command_row *table = pdk_command_table(&n);
    const char *near;

    for (size_t i = 0; i < n && count < 64; i++) {
        if (pdk_streq(table[i].group, group))
            names[count++] = table[i].name;
        else if (!group && (count == 0 || strcmp(names[count - 1], table[i].group) != 0))
            names[count++] = table[i].group;
    }
    (void)pdk_fail(err, PDK_EINVAL, 0, "unknown command '%s%s%s'", group ? group : "",
            group ? " " : "", word);
    near = pdk_nearest(word, names, count);
    if (near)
        return pdk_hint(err, "did you mean '%s'?", near);
    return pdk_hint(err, "'paddock --help' lists the commands");
}

/* A word that is no option: the command's name, part by part, then positionals. */
static int parse_word(
        struct parser *p, const char *word, const char **group, struct pdk_err *err)
{
    struct pdk_args *args = p->args;

    if (args->row) {
        args->words[args->words_len++] = word;
        return 0;
    }
    if (!*group && is_group(word)) {
        *group = word;
        return 0;
    }
    args->row = find_command(*group, word);
    return args->row ? 0 : unknown_command(*group, word, err);
}

static int check_words(const struct pdk_args *args, struct pdk_err *err)
{
    const struct pdk_command_row *row = args->row;

    if (!row || pdk_args_has(args, "help"))
        return 0;
    if (args->words_len >= row->min_words && args->words_len <= row->max_words)
        return 0;
    (void)pdk_fail(err, PDK_EINVAL, 0, "%s arguments",
            args->words_len < row->min_words ? "missing" : "too many");
    return pdk_hint(err, "usage: paddock %s%s%s %s", row->group ? row->group : "",
            row->group ? " " : "", row->name, row->usage);
}

static int take_rest(struct parser *p)
{
    while (p->at < p->argc)
        p->args->rest[p->args->rest_len++] = p->argv[p->at++];
    return 0;
}

int pdk_args_parse(int argc, char **argv, struct pdk_args *args, const char **group,
        struct pdk_err *err)
{
    struct parser p = { argc, argv, 1, args };
    size_t room = 1;
    int rc = 0;

    *group = NULL;
    for (int i = 1; i < argc; i++)
        room += strlen(argv[i]) + 1; /* -qqq is three */
    *args = (struct pdk_args){ 0 };
    args->given = calloc(room, sizeof(*args->given));
    args->words = calloc((size_t)argc + 1, sizeof(*args->words));
    args->rest = calloc((size_t)argc + 1, sizeof(*args->rest));
    if (!args->given || !args->words || !args->rest)
        return pdk_fail_nomem(err);
    while (rc == 0 && p.at < argc) {
        const char *word = argv[p.at++];

        if (strcmp(word, "--") == 0)
            rc = take_rest(&p);
        else if (pdk_starts_with(word, "--"))
            rc = parse_long(&p, word, err);
        else if (word[0] == '-' && word[1])
            rc = parse_short(&p, word, err);
        else
            rc = parse_word(&p, word, group, err);
    }
    return rc < 0 ? rc : check_words(args, err);
}
