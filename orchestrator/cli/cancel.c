/*
 * `paddock mission cancel`: asks the process that drives a run to end it, as Ctrl-C there would:
 * everything is stopped, captured and recorded, and then this returns.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"

static int refuse_ended(const struct pdk_run_row *row, struct pdk_err *err)
{
    (void)pdk_fail(err, PDK_ECONFLICT, 0, "run %s has ended already: %s", row->id,
            row->verdict ? row->verdict : "abstain");
    return pdk_hint(err, "'paddock show %s' has its verdict", row->id);
}

/* The kill itself is the only way that the outside has: the driver's handler does the rest. */
static int ask(const struct pdk_cli *cli, const struct pdk_run_row *row, int *pidfd,
        struct pdk_err *err)
{
    if (pdk_state_run_driver(&cli->paths, row->id, row->pid, pidfd, err) < 0)
        return pdk_hint(err,
                "if it was cut off, 'paddock gc' removes what it left; if it runs in "
                "another container or as another user, end it there");
    if (syscall(SYS_pidfd_send_signal, *pidfd, SIGINT, NULL, 0) < 0)
        return pdk_fail(
                err, PDK_EIO, errno, "cannot signal the process of run %s", row->id);
    return 0;
}

/* Until its end: the driver's own graces bound it, and Ctrl-C here leaves it to end alone. */
static void wait_end(int pidfd)
{
    struct pollfd end = { .fd = pidfd, .events = POLLIN };

    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        continue;
}

static int report(struct pdk_cli *cli, const char *run)
{
    PDK_AUTO_RUN_ROW struct pdk_run_row row = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_json *doc;

    if (pdk_store_run(cli->store, run, &row, &err) < 0)
        return pdk_cli_fail(cli, &err);
    if (!row.canceled) {
        (void)refuse_ended(&row, &err); /* it got to its end before the signal did */
        return pdk_cli_fail(cli, &err);
    }
    if (!cli->json) {
        printf("run %s is cancelled: %s\n", row.id,
                row.verdict ? row.verdict : "abstain");
        return 0;
    }
    doc = pdk_json_object();
    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_set_str(doc, "run", row.id);
    (void)pdk_json_set_bool(doc, "canceled", true);
    (void)pdk_json_set_str(doc, "verdict", row.verdict);
    return pdk_cli_print(cli, doc);
}

int pdk_command_cancel(struct pdk_cli *cli, const struct pdk_args *args)
{
    PDK_AUTO_RUN_ROW struct pdk_run_row row = { 0 };
    PDK_AUTO_FD int pidfd = -1;
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_cli_open_store_ro(cli, &err) < 0 ||
            pdk_store_run(cli->store, args->words[0], &row, &err) < 0)
        return pdk_cli_fail(cli, &err);
    if (pdk_streq(row.state, "ended"))
        (void)refuse_ended(&row, &err);
    if (err.code < 0 || ask(cli, &row, &pidfd, &err) < 0)
        return pdk_cli_fail(cli, &err);
    wait_end(pidfd);
    return report(cli, row.id);
}
