/*
 * paddock: runs a task in many sandboxes at once, checks each result, brings the best one home.
 *
 * The map of the program:
 *
 *   main() -> cli/args.c takes the command line apart by cli/table.c -> one function a command.
 *   `mission run`: cli/run.c makes a plan (missions/), engine/engine.c carries it out:
 *     scheduler.c says which candidate starts; candidate.c moves each through its life, in
 *     sandboxes that session.c opens (backends/ for the copy, sandbox/client.c for the agent);
 *     verification.c runs the checks (verify/); every step is an event (store/).
 *   cli/render_*.c print what the store knows; promote/ chooses and lands.
 *   paddock-agent (sandbox/agent/) is the program at the far side.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "orchestrator/cli/context.h"
#include "paddock_config.h"

static void take_globals(struct pdk_cli *cli, const struct pdk_args *args)
{
    const char *color = pdk_args_get(args, "color", "auto");

    cli->dir = pdk_args_get(args, "directory", ".");
    cli->state = pdk_args_get(args, "state", NULL);
    cli->json = pdk_args_has(args, "json");
    cli->quiet = pdk_args_has(args, "quiet");
    cli->verbose = pdk_args_has(args, "verbose");
    cli->color = strcmp(color, "always") == 0 ||
            (strcmp(color, "auto") == 0 && isatty(STDERR_FILENO) == 1);
    if (cli->verbose)
        pdk_log_set_level(PDK_LOG_DEBUG);
}

/* The envelope of errors is owed also where the command line itself is wrong. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

static int not_built(const struct pdk_cli *cli, const struct pdk_command_row *row)
{
    struct pdk_err err = PDK_ERR_INIT;

    (void)pdk_fail(&err, PDK_EUNSUPPORTED, 0, "'%s%s%s' is not built yet",
            row->group ? row->group : "", row->group ? " " : "", row->name);
    return pdk_cli_fail(cli, &err);
}

static int dispatch(struct pdk_cli *cli, const struct pdk_args *args, const char *group)
{
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_args_has(args, "version")) {
        puts("paddock " PDK_VERSION);
        return 0;
    }
    if (pdk_args_has(args, "help")) {
        pdk_help_print(args->row, group);
        return 0;
    }
    if (!args->row) {
        (void)pdk_fail(&err, PDK_EINVAL, 0, "which command?");
        (void)pdk_hint(&err, "'paddock --help' lists them");
        return pdk_cli_fail(cli, &err);
    }
    return args->row->run ? args->row->run(cli, args) : not_built(cli, args->row);
}

int main(int argc, char **argv)
{
    PDK_AUTO_ARGS struct pdk_args args = { 0 };
    struct pdk_cli cli = { .dir = "." };
    struct pdk_err err = PDK_ERR_INIT;
    const char *group;
    int status;

    /* A reader that went away is an error of write(), not the end of a run. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (pdk_args_parse(argc, argv, &args, &group, &err) < 0) {
        cli.json = wants_json(argc, argv);
        return pdk_cli_fail(&cli, &err);
    }
    take_globals(&cli, &args);
    status = dispatch(&cli, &args, group);
    pdk_cli_fini(&cli);
    if (fflush(stdout) != 0 && status == 0)
        status = 4;
    return status;
}
