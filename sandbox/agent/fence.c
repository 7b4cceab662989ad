#include "sandbox/agent/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"
#include "process/env.h"
#include "sandbox/confine/bubblewrap.h"
#include "sandbox/confine/classify.h"
#include "sandbox/confine/landlock.h"

enum {
    TAIL = 4096,         /* bytes of stderr that a diagnosis looks at */
    PROBE_MS = 10000,    /* for one start of bubblewrap */
    BWRAP_PROCESSES = 3, /* itself, its first process inside, the shim */
    PIPE_MAX = 64 << 10, /* what a pipe holds: all of it is there at the end */
    CHILD_FDS = PDK_BWRAP_FD_END - PDK_BWRAP_STATUS
};

struct pdk_fence {
    const struct pdk_exec_request *request; /* borrowed */
    char *root;                             /* resolved */
    int root_fd;                            /* borrowed of the agent */
    enum pdk_dialect dialect;
    int landlock;
    struct pdk_strv argv, env; /* of what is started, where they are not the command's */
    bool own_argv, own_env;
    int ruleset;               /* -1: none */
    char *tmp;                 /* a private directory that goes with it; NULL: none */
    struct pdk_strv sockets;   /* that are masked */
    struct pdk_buf said, told; /* what came of status and report, once read */
    int status, report;        /* our ends; -1: none */
    int child_fds[CHILD_FDS];  /* as they become 3, 4, …; -1: not there (any more) */
    char tail[TAIL];
    size_t tail_len;
};

/* ---- small things */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* The root's own descriptor is borrowed. */
void pdk_fence_started(struct pdk_fence *f)
{
    f->child_fds[PDK_BWRAP_ROOT - PDK_BWRAP_STATUS] = -1;
    for (size_t i = 0; i < CHILD_FDS; i++)
        close_fd(&f->child_fds[i]);
    close_fd(&f->ruleset);
}

void pdk_fence_free(struct pdk_fence *f)
{
    struct pdk_err err = PDK_ERR_INIT;

    if (!f)
        return;
    pdk_fence_started(f);
    close_fd(&f->status);
    close_fd(&f->report);
    if (f->tmp)
        (void)pdk_fs_remove_tree(
                f->tmp, &err); /* it lies in the sandbox, which goes as a whole */
    pdk_strv_fini(&f->argv);
    pdk_strv_fini(&f->sockets);
    pdk_buf_fini(&f->said);
    pdk_buf_fini(&f->told);
    pdk_strv_fini(&f->env);
    free(f->tmp);
    free(f->root);
    free(f);
}

static struct pdk_fence *new_fence(void)
{
    struct pdk_fence *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->ruleset = f->status = f->report = -1;
    for (size_t i = 0; i < CHILD_FDS; i++)
        f->child_fds[i] = -1;
    return f;
}

/* What the root's descriptor stands for, whatever is at its path now. */
static int resolve_root(const struct agent *a, char **out, struct pdk_err *err)
{
    PDK_AUTO_FREE char *link = pdk_strf("/proc/self/fd/%d", a->root_fd);
    char path[PATH_MAX];
    ssize_t n = link ? readlink(link, path, sizeof(path) - 1) : -1;

    if (n <= 0 || path[0] != '/')
        return pdk_fail(err, PDK_EIO, errno, "the root has no path");
    path[n] = '\0';
    *out = strdup(path);
    return *out ? 0 : pdk_fail_nomem(err);
}

/* ---- bubblewrap */

/* Never one of the sandbox's own. */
static char *find_bubblewrap(const char *root)
{
    const char *at = getenv("PATH"); /* the agent never changes its environment */

    for (at = at ? at : "/usr/bin:/bin"; *at; at += *at == ':') {
        size_t len = strcspn(at, ":");
        PDK_AUTO_FREE char *path = pdk_strf("%.*s/bwrap", (int)len, at);
        PDK_AUTO_FREE char *resolved = NULL;
        struct pdk_err none = PDK_ERR_INIT;

        if (path && path[0] == '/' && access(path, X_OK) == 0 &&
                pdk_fs_realpath(path, &resolved, &none) == 0 &&
                !pdk_path_is_within(resolved, root))
            return pdk_take_ptr(&resolved);
        at += len;
    }
    return NULL;
}

/* Directories to be private: those of everybody, and where the command's TMPDIR points. */
static int list_temps(
        const struct pdk_fence *f, struct pdk_strv *out, struct pdk_err *err)
{
    const char *paths[] = { "/tmp", "/var/tmp", NULL };
    PDK_AUTO_STRV struct pdk_strv found = PDK_STRV_INIT;

    paths[2] = f->request ? pdk_env_get(&f->request->env, "TMPDIR") : NULL;
    if (pdk_confine_roots(paths, 3, &found, err) < 0)
        return err->code;
    for (size_t i = 0; i < found.len; i++)
        if (strcmp(found.items[i], "/") != 0 &&
                !pdk_path_is_within(found.items[i], f->root) &&
                !pdk_path_is_within(found.items[i], "/run"))
            pdk_strv_add(out, found.items[i]);
    return pdk_strv_ok(out, err);
}

/* Of what shall stay visible, that which would not. Missing ones are none of ours to report. */
static int list_visible(const struct pdk_fence *f, const struct pdk_strv *masked,
        struct pdk_strv *out, struct pdk_err *err)
{
    const struct pdk_strv *wanted = &f->request->policy.visible;
    PDK_AUTO_STRV struct pdk_strv found = PDK_STRV_INIT;

    if (pdk_confine_roots((const char *const *)wanted->items, wanted->len, &found, err) <
            0)
        return err->code;
    for (size_t i = 0; i < found.len; i++)
        for (size_t k = 0; k < masked->len; k++)
            if (pdk_path_is_within(found.items[i], masked->items[k]) &&
                    strcmp(found.items[i], masked->items[k]) != 0)
                pdk_strv_add(out, found.items[i]);
    return pdk_strv_ok(out, err);
}

static int build_argv(struct pdk_fence *f, const char *program, enum pdk_confine mode,
        struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv temps = PDK_STRV_INIT, visible = PDK_STRV_INIT,
                                  masked = PDK_STRV_INIT, kernel = PDK_STRV_INIT;
    struct pdk_bubblewrap b = { program, mode, f->root, &temps, &visible, &f->sockets,
        &kernel };

    if (list_temps(f, &temps, err) < 0 || pdk_strv_copy(&masked, &temps, err) < 0)
        return err->code;
    pdk_strv_add(&masked, "/run");
    if (pdk_strv_ok(&masked, err) < 0 ||
            (f->request && list_visible(f, &masked, &visible, err) < 0))
        return err->code;
    pdk_strv_add(&masked, f->root);
    if (pdk_strv_ok(&masked, err) < 0 ||
            pdk_bubblewrap_sockets(&masked, &f->sockets, err) < 0 ||
            pdk_bubblewrap_kernel(&kernel, err) < 0)
        return err->code;
    f->own_argv = f->own_env = true;
    pdk_strv_add(&f->env, "PATH=/usr/bin:/bin");
    pdk_strv_add(&f->env, "LC_ALL=C");
    if (pdk_strv_ok(&f->env, err) < 0)
        return err->code;
    return pdk_bubblewrap_argv(&b, &f->argv, err);
}

/* job is written to a file in memory that the shim reads. */
static int put_job(const struct pdk_json *job, int *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_FD int fd = memfd_create("paddock-job", MFD_CLOEXEC);

    if (fd < 0)
        return pdk_fail(err, PDK_EIO, errno, "no file in memory");
    if (pdk_json_write(job, PDK_JSON_COMPACT, &text, err) < 0 ||
            pdk_fs_write_fd(fd, text.data, text.len, err) < 0)
        return err->code;
    *out = pdk_take_fd(&fd);
    return 0;
}

static int open_pipe(int *ours, int *theirs, struct pdk_err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return pdk_fail(err, PDK_EIO, errno, "no pipe");
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *ours = ends[0];
    *theirs = ends[1];
    return 0;
}

static int open_descriptors(
        struct pdk_fence *f, int root_fd, const struct pdk_json *job, struct pdk_err *err)
{
    int *fds = f->child_fds;

    fds[PDK_BWRAP_ROOT - PDK_BWRAP_STATUS] = root_fd;
    fds[PDK_BWRAP_SHIM - PDK_BWRAP_STATUS] = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    if (fds[PDK_BWRAP_SHIM - PDK_BWRAP_STATUS] < 0)
        return pdk_fail(err, PDK_EIO, errno, "the agent cannot open itself");
    if (open_pipe(&f->status, &fds[0], err) < 0 ||
            open_pipe(&f->report, &fds[PDK_BWRAP_REPORT - PDK_BWRAP_STATUS], err) < 0)
        return err->code;
    return put_job(job, &fds[PDK_BWRAP_JOB - PDK_BWRAP_STATUS], err);
}

static struct pdk_json *job_of(const struct pdk_fence *f)
{
    struct pdk_json *job = pdk_json_object(), *request = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (!job || pdk_exec_request_to_json(f->request, &request, &err) < 0) {
        pdk_json_free(job);
        return NULL;
    }
    (void)pdk_json_set(job, "request", request);
    (void)pdk_json_set_str(job, "root", f->root);
    (void)pdk_json_set_bool(job, "scopes", f->landlock >= PDK_LANDLOCK_SCOPES);
    return job;
}

static int open_bubblewrap(struct pdk_fence *f, int root_fd, struct pdk_err *err)
{
    PDK_AUTO_FREE char *program = find_bubblewrap(f->root);
    PDK_AUTO_JSON struct pdk_json *job = job_of(f);

    if (!program)
        return pdk_fail(
                err, PDK_EUNAVAIL, 0, "SANDBOX_UNAVAILABLE: there is no bubblewrap");
    if (pdk_json_ok(job, err) < 0)
        return PDK_ENOMEM;
    if (build_argv(f, program, f->request->policy.mode, err) < 0)
        return err->code;
    return open_descriptors(f, root_fd, job, err);
}

/* ---- Landlock */

/* Beside the root, with which it goes, or where temporary directories are. */
static int make_tmp(struct pdk_fence *f, struct pdk_err *err)
{
    PDK_AUTO_FREE char *parent = pdk_path_dirname(f->root);
    const char *places[] = { parent, getenv("TMPDIR"), "/tmp" }; /* never changed by us */

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        PDK_AUTO_FREE char *made = places[i] && places[i][0] == '/'
                ? pdk_strf("%s/.tmp-XXXXXX", places[i])
                : NULL;

        if (!made || !mkdtemp(made))
            continue;
        f->tmp = pdk_take_ptr(&made);
        return 0;
    }
    return pdk_fail(err, PDK_EIO, errno, "no temporary directory can be made");
}

/* The environment with TMPDIR where the command may write. */
static int own_tmp(struct pdk_fence *f, struct pdk_err *err)
{
    if (make_tmp(f, err) < 0 || pdk_strv_copy(&f->env, &f->request->env, err) < 0)
        return err->code;
    pdk_env_set(&f->env, "TMPDIR", f->tmp);
    f->own_env = true;
    return pdk_strv_ok(&f->env, err);
}

static int open_landlock(struct pdk_fence *f, int root_fd, struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv roots = PDK_STRV_INIT;

    if (f->landlock == 0)
        return pdk_fail(
                err, PDK_EUNAVAIL, 0, "SANDBOX_UNAVAILABLE: the kernel has no Landlock");
    if (f->request->policy.mode == PDK_CONFINE_WORKSPACE && own_tmp(f, err) < 0)
        return err->code;
    pdk_strv_addf(
            &roots, "/proc/self/fd/%d", root_fd); /* by its handle, not by its path */
    if (f->tmp)
        pdk_strv_add(&roots, f->tmp);
    if (pdk_strv_ok(&roots, err) < 0)
        return err->code;
    return pdk_landlock_ruleset(
            f->request->policy.mode, &roots, f->landlock, &f->ruleset, err);
}

/* ---- a runner of the operator's */

static void put_value(struct pdk_buf *out, const char *key, const struct pdk_fence *f)
{
    if (strncmp(key, "{root}", strlen("{root}")) == 0)
        pdk_buf_adds(out, f->root);
    else if (strncmp(key, "{tmp}", strlen("{tmp}")) == 0)
        pdk_buf_adds(out, f->tmp ? f->tmp : "/tmp");
    else
        pdk_buf_adds(out, pdk_mode_name(f->request->policy.mode));
}

static size_t placeholder(const char *at)
{
    static const char *const keys[] = { "{root}", "{tmp}", "{mode}" };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (pdk_starts_with(at, keys[i]))
            return strlen(keys[i]);
    return 0;
}

static void add_expanded(struct pdk_fence *f, const char *word)
{
    struct pdk_buf out = PDK_BUF_INIT;

    while (*word) {
        size_t len = placeholder(word);

        if (len > 0)
            put_value(&out, word, f);
        else
            pdk_buf_addc(&out, *word);
        word += len > 0 ? len : 1;
    }
    pdk_strv_take(&f->argv, pdk_buf_take(&out));
    pdk_buf_fini(&out);
}

static int open_runner(struct pdk_fence *f, struct pdk_err *err)
{
    const struct pdk_strv *runner = &f->request->policy.runner.argv;

    if (f->request->policy.mode == PDK_CONFINE_WORKSPACE && own_tmp(f, err) < 0)
        return err->code;
    for (size_t i = 0; i < runner->len; i++)
        add_expanded(f, runner->items[i]);
    for (size_t i = 0; i < f->request->argv.len; i++)
        pdk_strv_add(&f->argv, f->request->argv.items[i]);
    f->own_argv = true;
    return pdk_strv_ok(&f->argv, err);
}

/* ---- opening */

static int choose(struct agent *a, struct pdk_fence *f, struct pdk_err *err)
{
    const struct pdk_policy *policy = &f->request->policy;
    bool named = policy->dialect != PDK_DIALECT_NONE || policy->runner.argv.len > 0;
    const struct pdk_means *means =
            named && !policy->require_full ? NULL : pdk_fence_means(a);

    f->landlock = pdk_landlock_abi();
    return pdk_confine_choose(policy, means, &f->dialect, err);
}

static int prepare(struct agent *a, struct pdk_fence *f, struct pdk_err *err)
{
    if (resolve_root(a, &f->root, err) < 0 || choose(a, f, err) < 0)
        return err->code;
    if (f->dialect == PDK_DIALECT_BUBBLEWRAP)
        return open_bubblewrap(f, a->root_fd, err);
    if (f->dialect == PDK_DIALECT_LANDLOCK)
        return open_landlock(f, a->root_fd, err);
    return open_runner(f, err);
}

int pdk_fence_open(struct agent *a, const struct pdk_exec_request *request,
        struct pdk_fence **out, struct pdk_err *err)
{
    struct pdk_fence *f = new_fence();

    if (!f)
        return pdk_fail_nomem(err);
    f->request = request;
    if (prepare(a, f, err) < 0) {
        pdk_fence_free(f);
        return err->code;
    }
    *out = f;
    return 0;
}

int pdk_fence_processes(const struct pdk_fence *f)
{
    return f->dialect == PDK_DIALECT_BUBBLEWRAP ? BWRAP_PROCESSES : 0;
}

bool pdk_fence_runs_own(const struct pdk_fence *f)
{
    return f->own_argv;
}

void pdk_fence_apply(struct pdk_fence *f, struct pdk_spawn_spec *spec)
{
    if (f->own_argv)
        spec->argv = (const char *const *)f->argv.items;
    if (f->own_env)
        spec->envp = (const char *const *)f->env.items;
    if (f->dialect == PDK_DIALECT_LANDLOCK) {
        spec->ruleset_fd = f->ruleset;
        spec->flags |= PDK_SPAWN_NO_PRIVILEGES;
    }
    if (f->dialect == PDK_DIALECT_BUBBLEWRAP) {
        spec->extra_fds = f->child_fds;
        spec->extra_fds_len = CHILD_FDS;
        spec->flags |=
                PDK_SPAWN_DEAF; /* its end would be the end of everything inside at once */
    }
}

/* ---- the end */

void pdk_fence_heard(struct pdk_fence *f, const char *data, size_t len)
{
    size_t keep;

    if (len > TAIL) {
        data += len - TAIL;
        len = TAIL;
    }
    keep = f->tail_len < TAIL - len ? f->tail_len : TAIL - len;
    memmove(f->tail, f->tail + f->tail_len - keep, keep);
    memcpy(f->tail + keep, data, len);
    f->tail_len = keep + len;
}

static void read_pipe(int fd, struct pdk_buf *out)
{
    char chunk[4096];
    ssize_t n;

    while (out->len < PIPE_MAX && (n = read(fd, chunk, sizeof(chunk))) > 0)
        pdk_buf_add(out, chunk, (size_t)n);
}

static bool take_report(struct pdk_fence *f, struct pdk_exec_result *out)
{
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    read_pipe(f->report, &f->told);
    return f->told.len > 0 &&
            pdk_json_parse(pdk_buf_str(&f->told), f->told.len, &v, &err) == 0 &&
            pdk_exec_result_from_json(v, out, &err) == 0 &&
            strcmp(out->nonce, f->request->nonce) == 0;
}

static bool has_exit(struct pdk_fence *f)
{
    read_pipe(f->status, &f->said);
    return strstr(pdk_buf_str(&f->said), "\"exit-code\"") != NULL;
}

bool pdk_fence_is_outdated(struct pdk_fence *f)
{
    struct pdk_exec_result report = { 0 };

    if (f->dialect != PDK_DIALECT_BUBBLEWRAP || has_exit(f) || take_report(f, &report))
        return false;
    for (size_t i = 0; i < f->sockets.len; i++)
        if (!pdk_fs_exists(f->sockets.items[i]))
            return true;
    return false;
}

/* What bubblewrap's own end says of the command, as far as the shim could tell. */
static void settle_bubblewrap(
        struct pdk_fence *f, struct pdk_finish *finish, struct pdk_exec_result *result)
{
    struct pdk_exec_result report = { 0 };

    finish->has_exit = has_exit(f);
    finish->reported = take_report(f, &report);
    if (finish->reported) {
        result->start = report.start;
        result->start_errno = report.start_errno;
        result->exit_code = report.exit_code;
        result->signal = report.signal;
        result->stragglers = report.stragglers;
        if (report.start == PDK_EXEC_NO_CONFINEMENT)
            (void)snprintf(result->why, sizeof(result->why),
                    "SANDBOX_UNAVAILABLE: the command could not be restricted");
    } else if (result->signal == 0 && finish->has_exit && result->exit_code > 128) {
        result->signal = result->exit_code - 128; /* the shim itself was ended by it */
        result->exit_code = -1;
    }
}

static void say_why(const struct pdk_fence *f, struct pdk_exec_result *result)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    size_t len = f->tail_len;

    while (len > 0 && f->tail[len - 1] == '\n')
        len--;
    pdk_buf_addf(&text, "SANDBOX_UNAVAILABLE: %s failed: ", pdk_dialect_name(f->dialect));
    pdk_utf8_printable(f->tail, len, &text);
    (void)snprintf(result->why, sizeof(result->why), "%s", pdk_buf_str(&text));
}

void pdk_fence_finish(struct pdk_fence *f, struct pdk_exec_result *result)
{
    const struct pdk_policy *policy = &f->request->policy;
    struct pdk_finish finish = { .dialect = f->dialect,
        .runner = &policy->runner,
        .err = f->tail,
        .err_len = f->tail_len };
    enum pdk_ending ending;

    result->confined = (struct pdk_confined){ policy->mode, f->dialect,
        pdk_confine_enforced(f->dialect, f->landlock), false };
    if (f->dialect == PDK_DIALECT_BUBBLEWRAP)
        settle_bubblewrap(f, &finish, result);
    if (result->start != PDK_EXEC_STARTED)
        return;
    finish.exit_code = result->exit_code;
    finish.signal = result->signal;
    ending = pdk_classify(&finish);
    result->confined.denied = ending == PDK_ENDING_DENIED;
    if (ending != PDK_ENDING_RUNNER)
        return;
    result->start = PDK_EXEC_NO_CONFINEMENT;
    result->exit_code = -1;
    result->signal = 0;
    say_why(f, result);
}

/* ---- probing */

static int wait_probe(const struct pdk_child *child, struct pdk_err *err)
{
    struct pollfd watch = { child->pidfd, POLLIN, 0 };
    int n;

    do
        n = poll(&watch, 1, PROBE_MS);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        (void)kill(-child->pid, SIGKILL);
    (void)waitpid(child->pid, NULL, 0);
    (void)close(child->pidfd);
    return n > 0 ? 0 : pdk_fail(err, PDK_ETIMEDOUT, 0, "bubblewrap did not end in time");
}

static int run_probe(struct pdk_fence *f, int null_fd, struct pdk_err *err)
{
    struct pdk_spawn_spec spec = {
        .argv = (const char *const *)f->argv.items,
        .envp = (const char *const *)f->env.items,
        .cwd = "/",
        .cwd_fd = -1,
        .fds = { -1, -1, null_fd },
        .extra_fds = f->child_fds,
        .extra_fds_len = CHILD_FDS,
    };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    struct pdk_child child;

    if (pdk_spawn(&spec, &child, NULL, err) < 0)
        return err->code;
    pdk_fence_started(f);
    if (wait_probe(&child, err) < 0)
        return err->code;
    read_pipe(f->report, &text);
    if (text.len == 0 || pdk_json_parse(pdk_buf_str(&text), text.len, &v, err) < 0)
        return pdk_fail(err, PDK_EUNAVAIL, 0, "its profile cannot be set up here");
    if (!pdk_json_get_bool(v, "holds", false))
        return pdk_fail(err, PDK_EUNAVAIL, 0, "its profile does not hold here: %s",
                pdk_json_get_str(v, "why", ""));
    return 0;
}

static int probe_bubblewrap(struct agent *a, char **out, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *job = pdk_json_object();
    PDK_AUTO_FREE char *program = NULL;
    struct pdk_fence *f = new_fence();
    int rc;

    if (!f || !job) {
        pdk_fence_free(f);
        return pdk_fail_nomem(err);
    }
    (void)pdk_json_set_bool(job, "probe", true);
    rc = resolve_root(a, &f->root, err);
    program = rc == 0 ? find_bubblewrap(f->root) : NULL;
    (void)pdk_json_set_str(job, "root", f->root);
    if (rc == 0 && !program)
        rc = pdk_fail(err, PDK_EUNAVAIL, 0, "no bwrap in PATH");
    if (rc == 0)
        rc = build_argv(f, program, PDK_CONFINE_WORKSPACE, err);
    if (rc == 0)
        rc = open_descriptors(f, a->root_fd, job, err);
    if (rc == 0)
        rc = run_probe(f, -1, err);
    if (rc == 0)
        *out = pdk_take_ptr(&program);
    pdk_fence_free(f);
    return rc;
}

const struct pdk_means *pdk_fence_means(struct agent *a)
{
    struct pdk_err err = PDK_ERR_INIT;

    if (a->probed)
        return &a->means;
    a->probed = true;
    a->means.landlock = pdk_landlock_abi();
    if (a->means.landlock == 0)
        a->means.landlock_why = strdup("the kernel has none, or it is off");
    if (probe_bubblewrap(a, &a->means.bubblewrap, &err) < 0)
        a->means.bubblewrap_why = strdup(err.msg);
    return &a->means;
}
