/* Podman, without a daemon: as root, or rootless in a user namespace of the caller's. */
#include <unistd.h>

#include "backends/container/engine.h"

static const char *const podman_info[] = { "info", "--format", "json", NULL };

/* Rootless, the caller is mapped to itself, so that files come out as the caller's own. */
static void podman_add_run(struct pdk_strv *argv)
{
    pdk_strv_add(argv, "--pull=never");
    if (geteuid() != 0)
        pdk_strv_add(argv, "--userns=keep-id");
}

const struct pdk_engine pdk_podman_engine = {
    .name = "podman",
    .program = "podman",
    .claim =
            "commands ran in Podman containers using Linux container isolation on this host",
    .info_argv = podman_info,
    .version_at = "version.Version",
    .runtime_at = "host.ociRuntime.name",
    .kernel_at = "host.kernel",
    .list_format = "{{.Names}}\t{{index .Labels \"paddock.run\"}}",
    .add_run = podman_add_run,
};
