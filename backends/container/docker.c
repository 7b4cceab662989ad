/* Docker Engine, through its own client: DOCKER_HOST and contexts hold as the user has them. */
#include "backends/container/engine.h"

static const char *const docker_info[] = { "info", "--format", "{{json .}}", NULL };

/* An image that is not there is our error to tell, with what to do; never a download on the way. */
static void docker_add_run(struct pdk_strv *argv)
{
    pdk_strv_add(argv, "--pull=never");
}

const struct pdk_engine pdk_docker_engine = {
    .name = "docker",
    .program = "docker",
    .claim =
            "commands ran in Docker containers using Linux container isolation on this host",
    .info_argv = docker_info,
    .version_at = "ServerVersion",
    .runtime_at = "DefaultRuntime",
    .kernel_at = "KernelVersion",
    .list_format = "{{.Names}}\t{{.Label \"paddock.run\"}}",
    .add_run = docker_add_run,
};
