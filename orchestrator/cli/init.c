/* `paddock init`: a first mission file to edit. It never writes over anything. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/path.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/context.h"

#define DEFAULT_NAME "paddock.yaml"

static const char first_mission[] =
        "# A mission: one task, tried in several sandboxes; the best try can be promoted.\n"
        "#   paddock mission validate FILE     is it right?\n"
        "#   paddock mission run FILE          run it; add --promote to land the winner\n"
        "# docs/mission.md and `paddock schema mission` have every key.\n"
        "schema: paddock/v1\n"
        "kind: mission\n"
        "id: first\n"
        "title: Say what should come out\n"
        "objective: |\n"
        "  What the command is to achieve; it finds this text in $PADDOCK_OBJECTIVE_FILE.\n"
        "base: HEAD\n"
        "seed: head                # worktree: start from your uncommitted work as well\n"
        "sandbox:\n"
        "  backend: auto           # overlay where it can be had, else directory\n"
        "candidates: 3\n"
        "max_concurrent: 2\n"
        "mission:\n"
        "  run: echo \"candidate $PADDOCK_CANDIDATE\" >> paddock-was-here.txt   # yours\n"
        "  timeout: 20m\n"
        "verify:\n"
        "  checks:\n"
        "    - name: unit\n"
        "      run: test -s paddock-was-here.txt                              # yours\n"
        "      timeout: 5m\n"
        "select: [verdict, smaller-diff, index]\n";

static int create(const char *path, struct pdk_err *err)
{
    PDK_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0 && errno == EEXIST) {
        (void)pdk_fail(err, PDK_ECONFLICT, 0, "%s is there already", path);
        return pdk_hint(err, "name another file: paddock init FILE");
    }
    if (fd < 0)
        return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make %s", path);
    if (pdk_fs_write_fd(fd, first_mission, strlen(first_mission), err) < 0) {
        (void)unlink(path); /* a part of it is of no use */
        return pdk_wrap(err, "%s", path);
    }
    return 0;
}

int pdk_command_init(struct pdk_cli *cli, const struct pdk_args *args)
{
    const char *name = args->words_len > 0 ? args->words[0] : DEFAULT_NAME;
    PDK_AUTO_FREE char *path = pdk_path_join(cli->dir, name);
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_json *doc;

    if (!path)
        (void)pdk_fail_nomem(&err);
    if (!path || create(path, &err) < 0)
        return pdk_cli_fail(cli, &err);
    pdk_cli_say(cli, "wrote %s; edit its two commands, then: paddock mission run %s",
            name, name);
    if (!cli->json)
        return 0;
    doc = pdk_json_object();
    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_set_str(doc, "path", path);
    return pdk_cli_print(cli, doc);
}
