/*
 * The shim: the agent's own program, started inside of bubblewrap by its descriptor. It starts the
 * command in a session of its own, waits for it, ends what outlives it, and reports how it went in
 * the form of exec's result. A command cannot read or trace it (no dumping); it may kill it, which
 * ends the sandbox and counts as the command's own end.
 *
 * A job with "probe" runs nothing: it says whether the profile really holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/path.h"
#include "process/descend.h"
#include "process/spawn.h"
#include "sandbox/agent/fence.h"
#include "sandbox/confine/landlock.h"

enum { MAX_JOB = 8 << 20, MAX_STATUS = 64 << 10, LOOK_MS = 20 };

static void say(int report_fd, const struct pdk_json *v)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    /* What cannot be told is taken for a failure of ours by whoever waits for it. */
    if (v && pdk_json_write(v, PDK_JSON_COMPACT, &text, &err) == 0)
        (void)pdk_fs_write_fd(report_fd, text.data, text.len, &err);
}

/* ---- the end of what outlives the command */

static void reap_all(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

static void wait_a_moment(int64_t ms)
{
    struct timespec limit = { 0, (ms > LOOK_MS || ms < 0 ? LOOK_MS : ms) * 1000000 };
    sigset_t child;

    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigtimedwait(&child, NULL, &limit);
}

static void sweep(const struct pdk_graces *graces, struct pdk_exec_result *result)
{
    struct pdk_ladder ladder = { 0 };
    struct pdk_graces polite = { 0, graces->term_ms, graces->kill_ms };
    struct pdk_err err = PDK_ERR_INIT;
    int left;

    reap_all();
    left = pdk_descend_none() ? 0 : pdk_descend_count(&err);
    result->stragglers = left > 0 ? left : 0;
    pdk_ladder_start(&ladder, &polite, pdk_clock_ms());
    while (!pdk_descend_none() && ladder.state != PDK_LADDER_GIVEN_UP) {
        int64_t wait = -1;
        int sig = pdk_ladder_step(&ladder, pdk_clock_ms(), &wait);

        if (sig != 0)
            (void)pdk_descend_signal(sig, &err);
        if (sig == SIGTERM)
            (void)pdk_descend_signal(
                    SIGCONT, &err); /* a stopped one must run to hear it */
        wait_a_moment(wait);
        reap_all();
    }
}

/* ---- the command */

static void wait_for(pid_t leader, struct pdk_exec_result *result)
{
    int status = 0;
    pid_t ended;

    do
        ended = waitpid(-1, &status, 0); /* orphans come to us as well */
    while (ended != leader && (ended > 0 || errno == EINTR));
    result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static enum pdk_exec_start why_unstarted(enum pdk_spawn_stage stage, int os_errno)
{
    if (stage == PDK_SPAWN_CWD)
        return PDK_EXEC_NO_CWD;
    return stage == PDK_SPAWN_EXEC ? PDK_EXEC_NO_COMMAND
            : os_errno != 0        ? PDK_EXEC_NO_SPAWN
                                   : PDK_EXEC_NO_CONFINEMENT;
}

static void run(const struct pdk_exec_request *request, const char *root, bool scopes,
        struct pdk_exec_result *result)
{
    static const char *const no_env[] = { NULL };
    PDK_AUTO_FREE char *cwd = pdk_path_join(root, request->cwd ? request->cwd : "");
    struct pdk_spawn_spec spec = {
        .argv = (const char *const *)request->argv.items,
        .envp = request->env.items ? (const char *const *)request->env.items : no_env,
        .cwd = cwd,
        .cwd_fd = -1,
        .fds = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO },
    };
    enum pdk_spawn_stage stage = PDK_SPAWN_OK;
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_child child;
    int ruleset = -1;

    result->exit_code = -1;
    if (!cwd || (scopes && pdk_landlock_scopes(&ruleset, &err) < 0)) {
        result->start = PDK_EXEC_NO_CONFINEMENT;
        return;
    }
    spec.ruleset_fd = ruleset;
    spec.flags = isatty(STDIN_FILENO) ? PDK_SPAWN_TTY : 0;
    if (pdk_spawn(&spec, &child, &stage, &err) < 0) {
        result->start = why_unstarted(stage, err.os_errno);
        result->start_errno = err.os_errno;
        return;
    }
    wait_for(child.pid, result);
    sweep(&request->graces, result);
}

/* ---- does the profile hold? */

static const char *capabilities_left(void)
{
    PDK_AUTO_BUF struct pdk_buf status = PDK_BUF_INIT;
    const char *line;

    if (pdk_fs_read("/proc/self/status", MAX_STATUS, &status, NULL) < 0)
        return "/proc cannot be read";
    line = strstr(pdk_buf_str(&status), "CapEff:");
    return line && strtoull(line + strlen("CapEff:"), NULL, 16) == 0
            ? NULL
            : "capabilities are left";
}

static bool can_be_written(const char *path)
{
    PDK_AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0;
}

/* NULL: it holds. */
static const char *find_gap(const char *root)
{
    struct statvfs fs;

    if (statvfs("/", &fs) < 0 || !(fs.f_flag & ST_RDONLY))
        return "the file system is not read-only";
    if (can_be_written("/proc/sys/kernel/core_pattern") ||
            can_be_written("/proc/sysrq-trigger"))
        return "the kernel's settings can be written";
    if (access(root, W_OK) < 0)
        return "the root cannot be written";
    return capabilities_left();
}

static void probe(const char *root, int report_fd)
{
    PDK_AUTO_JSON struct pdk_json *v = pdk_json_object();
    const char *gap = find_gap(root);

    (void)pdk_json_set_bool(v, "holds", gap == NULL);
    (void)pdk_json_set_str(v, "why", gap);
    say(report_fd, v);
}

/* ---- the start */

/* All but the three streams, the report's and, until it is read, the job's. */
static void close_others(int job_fd, int report_fd)
{
    int low = job_fd < report_fd ? job_fd : report_fd,
        high = job_fd < report_fd ? report_fd : job_fd;

    (void)fcntl(low, F_SETFD, FD_CLOEXEC);
    (void)fcntl(high, F_SETFD, FD_CLOEXEC);
    if (low > 3)
        (void)syscall(SYS_close_range, 3U, (unsigned int)low - 1, 0U);
    if (high > low + 1)
        (void)syscall(SYS_close_range, (unsigned int)low + 1, (unsigned int)high - 1, 0U);
    (void)syscall(SYS_close_range, (unsigned int)high + 1, ~0U, 0U);
}

static int read_job(int job_fd, struct pdk_json **out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (lseek(job_fd, 0, SEEK_SET) < 0 || pdk_fs_read_fd(job_fd, MAX_JOB, &text, err) < 0)
        return -1;
    return pdk_json_parse(pdk_buf_str(&text), text.len, out, err);
}

static void block_child_signal(void)
{
    sigset_t child;

    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &child, NULL);
}

static void do_job(const struct pdk_json *job, int report_fd)
{
    const char *root = pdk_json_get_str(job, "root", "/");
    PDK_AUTO_JSON struct pdk_json *answer = NULL;
    struct pdk_exec_request request = { 0 };
    struct pdk_exec_result result = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    if (pdk_json_get_bool(job, "probe", false)) {
        probe(root, report_fd);
        return;
    }
    if (pdk_exec_request_from_json(pdk_json_get(job, "request"), &request, &err) < 0)
        return;
    (void)snprintf(result.nonce, sizeof(result.nonce), "%s", request.nonce);
    run(&request, root, pdk_json_get_bool(job, "scopes", false), &result);
    if (pdk_exec_result_to_json(&result, &answer, &err) == 0)
        say(report_fd, answer);
    pdk_exec_request_fini(&request);
}

int pdk_agent_shim(int job_fd, int report_fd)
{
    PDK_AUTO_JSON struct pdk_json *job = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    close_others(job_fd, report_fd);
    block_child_signal();
    if (pdk_descend_adopt(&err) < 0 || read_job(job_fd, &job, &err) < 0)
        return 1;
    (void)close(job_fd);
    do_job(job, report_fd);
    return 0;
}
