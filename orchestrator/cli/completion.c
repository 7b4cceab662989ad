/*
 * `paddock completion`: what a shell offers after Tab, written from the table that parsing uses.
 * zsh reads bash's through its own bridge.
 */
#include <stdio.h>
#include <string.h>

#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"

static void print_options(const struct pdk_option *options, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf(" --%s", options[i].name);
}

static bool is_built(const struct pdk_command_row *row, const char *group)
{
    return row->run && pdk_streq(row->group, group);
}

static void print_names(const char *group)
{
    size_t n;
    const struct pdk_command_row *table = pdk_command_table(&n);

    for (size_t i = 0; i < n; i++)
        if (is_built(&table[i], group))
            printf(" %s", table[i].name);
}

/* Calls visit with each group once; the table is sorted by them. */
static void each_group(void (*visit)(const char *group))
{
    size_t n;
    const struct pdk_command_row *table = pdk_command_table(&n);
    const char *last = NULL;

    for (size_t i = 0; i < n; i++) {
        if (table[i].group && !pdk_streq(table[i].group, last))
            visit(table[i].group);
        last = table[i].group;
    }
}

static void print_group_name(const char *group)
{
    printf(" %s", group);
}

static void bash_group(const char *group)
{
    printf("    %s/) words=\"", group);
    print_names(group);
    printf("\" ;;\n");
}

static void bash_command(const struct pdk_command_row *row)
{
    printf("    %s/%s) words=\"", row->group ? row->group : row->name,
            row->group ? row->name : "*");
    print_options(row->options, row->options_len);
    printf("\" ;;\n");
}

static void print_bash(void)
{
    size_t n;
    const struct pdk_command_row *table = pdk_command_table(&n);

    printf("_paddock()\n{\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} first='' second='' words='' i\n"
           "    COMPREPLY=()\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in\n"
           "        --) return ;;\n"
           "        -C | --state | --color) ((i++)) ;;\n"
           "        -*) ;;\n"
           "        *) if [[ -z $first ]]; then first=${COMP_WORDS[i]}; "
           "elif [[ -z $second ]]; then second=${COMP_WORDS[i]}; fi ;;\n"
           "        esac\n"
           "    done\n"
           "    case $first/$second in\n"
           "    /) words=\"");
    print_names(NULL);
    each_group(print_group_name);
    printf("\" ;;\n");
    each_group(bash_group);
    for (size_t i = 0; i < n; i++)
        if (table[i].run)
            bash_command(&table[i]);
    printf("    esac\n    [[ $current != -* ]] || words+=\"");
    print_options(pdk_global_options, pdk_global_options_len);
    printf("\"\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n}\n"
           "complete -o default -F _paddock paddock\n");
}

/* As a word in fish's single quotes. */
static void fish_text(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void fish_options(
        const char *condition, const struct pdk_option *options, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        printf("complete -c paddock%s -l %s", condition, options[i].name);
        if (options[i].letter)
            printf(" -s %c", options[i].letter);
        printf("%s -d ", options[i].arg == PDK_OPTION_TEXT ? " -r" : "");
        fish_text(options[i].help);
        putchar('\n');
    }
}

static void fish_group(const char *group)
{
    printf("complete -c paddock -n __fish_use_subcommand -a %s\n", group);
}

/* Its options come after its own words only; a group's command needs both. */
static void fish_command(const struct pdk_command_row *row)
{
    char condition[160];

    if (row->group)
        (void)snprintf(condition, sizeof(condition),
                " -n '__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s'",
                row->group, row->name);
    else
        (void)snprintf(condition, sizeof(condition),
                " -n '__fish_seen_subcommand_from %s'", row->name);
    printf("complete -c paddock -n '%s %s' -a %s -d ",
            row->group ? "__fish_seen_subcommand_from" : "__fish_use_subcommand",
            row->group ? row->group : "", row->name);
    fish_text(row->summary);
    putchar('\n');
    fish_options(condition, row->options, row->options_len);
}

static void print_fish(void)
{
    size_t n;
    const struct pdk_command_row *table = pdk_command_table(&n);

    fish_options("", pdk_global_options, pdk_global_options_len);
    each_group(fish_group);
    for (size_t i = 0; i < n; i++)
        if (table[i].run)
            fish_command(&table[i]);
}

int pdk_command_completion(struct pdk_cli *cli, const struct pdk_args *args)
{
    struct pdk_err err = PDK_ERR_INIT;
    const char *shell = args->words[0];

    if (strcmp(shell, "bash") == 0) {
        print_bash();
    } else if (strcmp(shell, "zsh") == 0) {
        printf("autoload -U +X bashcompinit && bashcompinit\n");
        print_bash();
    } else if (strcmp(shell, "fish") == 0) {
        print_fish();
    } else {
        (void)pdk_fail(&err, PDK_EINVAL, 0, "no completion for the shell '%s'", shell);
        (void)pdk_hint(&err, "there is one for bash, zsh and fish");
        return pdk_cli_fail(cli, &err);
    }
    return 0;
}
