/*
 * The command line: one row a command, options as data; parsing, help and README check read the
 * same table. Results go to stdout, talk to stderr.
 */
#ifndef PDK_ORCHESTRATOR_CLI_CLI_H
#define PDK_ORCHESTRATOR_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/auto.h"
#include "base/str.h"

struct pdk_err;
struct pdk_json;
struct pdk_buf;

enum pdk_option_arg {
    PDK_OPTION_NONE,    /* a switch */
    PDK_OPTION_TEXT,    /* --name VALUE or --name=VALUE */
    PDK_OPTION_OPTIONAL /* --name or --name=VALUE */
};

struct pdk_option {
    const char *name; /* without the dashes */
    char letter;      /* '\0': none */
    enum pdk_option_arg arg;
    const char *value; /* what help calls it; NULL for a switch */
    const char *help;
};

/* What was given for one option, in turn. */
struct pdk_given {
    const struct pdk_option *option;
    const char *
            value; /* NULL for a switch and an optional one without; borrowed from argv */
};

/* A command line taken apart. Strings are borrowed from argv. */
struct pdk_args {
    const struct pdk_command_row *row;
    struct pdk_given *given;
    size_t given_len;
    const char **words; /* positionals */
    size_t words_len;
    const char **rest; /* after `--`; NULL where there was none */
    size_t rest_len;
};

struct pdk_cli; /* what every command is given: cli_context.h */

struct pdk_command_row {
    const char *group; /* "mission", "sandbox", …; NULL: top level */
    const char *name;
    const char *usage;                /* positionals as help shows them; "" for none */
    const char *summary;              /* one line */
    const struct pdk_option *options; /* options_len of its own, beside the global ones */
    size_t options_len;
    size_t min_words, max_words;
    /* Returns the process's exit status. NULL: of a later version; says so and exits 2. */
    int (*run)(struct pdk_cli *cli, const struct pdk_args *args);
};

void pdk_args_fini(struct pdk_args *args);
#define PDK_AUTO_ARGS __attribute__((cleanup(pdk_args_fini)))

/* The last value given, or fallback. */
const char *pdk_args_get(
        const struct pdk_args *args, const char *name, const char *fallback);
bool pdk_args_has(const struct pdk_args *args, const char *name);
/* Every value given for name, in turn: start with *at = 0; NULL at the end. */
const char *pdk_args_next(const struct pdk_args *args, const char *name, size_t *at);
/* A whole number from min to max; fallback when it is not given. */
int pdk_args_int(const struct pdk_args *args, const char *name, int min, int max,
        int fallback, int *out, struct pdk_err *err);

/* The table, sorted by group and name. */
const struct pdk_command_row *pdk_command_table(size_t *len);
extern const struct pdk_option pdk_global_options[];
extern const size_t pdk_global_options_len;

/*
 * Finds the command in argv (global options may come first) and takes the rest apart.
 * PDK_EINVAL with the nearest name for what is unknown. args->row stays NULL where no command
 * was named (`paddock`, `paddock --help`, `paddock mission`); *group then holds the group, or NULL.
 */
int pdk_args_parse(int argc, char **argv, struct pdk_args *args, const char **group,
        struct pdk_err *err);

/* Help for everything (row and group NULL), a group, or one command. */
void pdk_help_print(const struct pdk_command_row *row, const char *group);

#endif
