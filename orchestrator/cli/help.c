/* Help, from the table that parsing uses. */
#include <stdio.h>
#include <string.h>

#include "orchestrator/cli/cli.h"

static void print_options(const struct pdk_option *options, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct pdk_option *o = &options[i];
        char left[64];

        (void)snprintf(left, sizeof(left), "%c%c%c --%s%s%s%s", o->letter ? '-' : ' ',
                o->letter ? o->letter : ' ', o->letter ? ',' : ' ', o->name,
                o->arg == PDK_OPTION_OPTIONAL       ? "[="
                        : o->arg == PDK_OPTION_TEXT ? " "
                                                    : "",
                o->value ? o->value : "", o->arg == PDK_OPTION_OPTIONAL ? "]" : "");
        printf("  %-32s %s\n", left, o->help);
    }
}

static void print_row(const struct pdk_command_row *row)
{
    char left[64];

    (void)snprintf(left, sizeof(left), "%s%s%s %s", row->group ? row->group : "",
            row->group ? " " : "", row->name, row->usage);
    printf("  %-42s %s%s\n", left, row->summary, row->run ? "" : " (not built yet)");
}

static void print_list(const char *group)
{
    size_t n;
    const struct pdk_command_row *table = pdk_command_table(&n);

    for (size_t i = 0; i < n; i++)
        if (!group || pdk_streq(table[i].group, group))
            print_row(&table[i]);
}

void pdk_help_print(const struct pdk_command_row *row, const char *group)
{
    if (row) {
        printf("usage: paddock %s%s%s [options] %s\n\n%s.\n",
                row->group ? row->group : "", row->group ? " " : "", row->name,
                row->usage, row->summary);
        if (!row->run)
            printf("Not built yet.\n");
        if (row->options_len > 0)
            printf("\noptions:\n");
        print_options(row->options, row->options_len);
    } else {
        printf("usage: paddock [options] COMMAND ...\n\n"
               "Runs a task in many sandboxes at once, checks each result, and brings the best one "
               "home.\n\ncommands:\n");
        print_list(group);
    }
    printf("\nglobal options:\n");
    print_options(pdk_global_options, pdk_global_options_len);
}
