/*
 * One command:
 *
 *   RUNNING --leader reaped--> SWEEPING --no descendant left (or given up)--> answered
 *
 * The ladder starts by timeout, by cancel, or in SWEEPING for whatever outlives the leader. It
 * signals every descendant, whatever session it is in. The answer is sent when waitpid() says that
 * no child is left and the outputs are at their end: nothing of the command is alive then.
 *
 * Callbacks record, then call step(), the only place that moves the state.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "process/descend.h"
#include "process/env.h"
#include "process/oom.h"
#include "process/output.h"
#include "process/proc.h"
#include "sandbox/agent/agent.h"
#include "sandbox/agent/fence.h"

enum {
    LIVE_RATE = 64 << 10,   /* bytes a second of each stream, for the eye */
    BACKLOG_HIGH = 1 << 20, /* bytes; past that a full stream pauses the command */
    RESTARTS = 3,           /* of what confines a command */
    SWEEP_MS = 20           /* how often a tree that is being ended is looked at */
};

enum job_state { JOB_RUNNING, JOB_SWEEPING, JOB_ANSWERED };

enum stream_mode { STREAM_NONE, STREAM_LIVE, STREAM_FULL };

struct stream {
    struct pdk_output *file; /* NULL: not kept */
    uint64_t bytes, lost;    /* lost: these were to be kept and could not be written */
    int64_t window_ms;       /* start of the second that allowance counts for */
    size_t sent;             /* in that second */
    uint64_t skipped;        /* since the last chunk that was sent */
};

struct job {
    struct agent *agent;
    int64_t call;
    struct pdk_exec_request request;
    enum stream_mode mode;
    enum job_state state;
    struct pdk_proc *proc; /* NULL once it has reported its end */
    uv_timer_t timer;      /* the timeout, then the ladder's steps */
    struct pdk_ladder ladder;
    int64_t started_ms, deadline_ms;
    bool leader_gone, given_up, paused;
    int restarts; /* of what confines it, before it ran */
    struct rusage before;
    int64_t oom_before; /* -1 where kills for memory are not counted */
    struct stream streams[2];
    struct pdk_fence *fence;     /* NULL: not confined */
    struct pdk_limiter *limiter; /* NULL: no limits */
    struct pdk_exec_result result;
};

static void step(struct job *job);
static bool restart(struct job *job);

/* ---- the answer */

static void close_streams(struct job *job)
{
    struct pdk_output_totals totals[2] = { { 0, 0 }, { 0, 0 } };

    for (int i = 0; i < 2; i++) {
        struct pdk_err err = PDK_ERR_INIT;

        /* What cannot be brought into order is there in the order it was written. */
        if (pdk_output_close(job->streams[i].file, &totals[i], &err) < 0)
            job->result.spool_failed = true;
        totals[i].bytes = job->streams[i].bytes;
        totals[i].dropped += job->streams[i].lost;
    }
    job->result.out_bytes = totals[0].bytes;
    job->result.out_dropped = totals[0].dropped;
    job->result.err_bytes = totals[1].bytes;
    job->result.err_dropped = totals[1].dropped;
}

static int64_t cpu_ms(const struct rusage *usage)
{
    return usage->ru_utime.tv_sec * 1000 + usage->ru_utime.tv_usec / 1000 +
            usage->ru_stime.tv_sec * 1000 + usage->ru_stime.tv_usec / 1000;
}

static void job_on_closed(uv_handle_t *handle)
{
    struct job *job = handle->data;
    struct agent *a = job->agent;

    pdk_limiter_free(job->limiter);
    pdk_fence_free(job->fence);
    pdk_exec_request_fini(&job->request);
    free(job);
    pdk_agent_idle(a);
}

static void answer(struct job *job)
{
    struct agent *a = job->agent;
    struct pdk_json *result = NULL;
    struct pdk_err err = PDK_ERR_INIT;
    struct rusage after;

    job->state = JOB_ANSWERED;
    a->job = NULL; /* who has the answer may ask for the next at once */
    close_streams(job);
    if (job->fence)
        pdk_fence_finish(job->fence, &job->result);
    (void)getrusage(RUSAGE_CHILDREN, &after); /* cannot fail */
    job->result.cpu_ms = cpu_ms(&after) - cpu_ms(&job->before);
    job->result.max_rss_kb = after.ru_maxrss;
    job->result.duration_ms = pdk_clock_ms() - job->started_ms;
    job->result.root_gone = pdk_agent_root_gone(a);
    job->result.oom = job->oom_before >= 0 && pdk_oom_kills("") > job->oom_before;
    if (job->limiter && pdk_limiter_oom_kills(job->limiter) > 0)
        job->result.oom = true;
    (void)snprintf(job->result.nonce, sizeof(job->result.nonce), "%s",
            job->request.nonce ? job->request.nonce : "");
    if (pdk_exec_result_to_json(&job->result, &result, &err) == 0)
        pdk_agent_result(a, job->call, result);
    else
        pdk_agent_error(a, job->call, PDK_WIRE_IO, err.msg);
    uv_close((uv_handle_t *)&job->timer, job_on_closed);
}

/* ---- the tree of processes */

/* Reaps orphans that came to us; the leader is its owner's to reap. */
static void reap_orphans(struct job *job)
{
    for (;;) {
        siginfo_t info = { 0 };

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
            return;
        if (job->proc && !job->leader_gone && info.si_pid == pdk_proc_pid(job->proc))
            return;
        (void)waitpid(info.si_pid, NULL, 0);
    }
}

static void job_on_timer(uv_timer_t *timer)
{
    step(timer->data);
}

static void wait_more(struct job *job, int64_t ms)
{
    (void)uv_timer_start(&job->timer, job_on_timer, ms > 0 ? (uint64_t)ms : 0, 0);
}

/* One look at the ladder: signals what is due, and comes back when the next step is. */
static void climb(struct job *job)
{
    int64_t wait = -1;
    int sig = pdk_ladder_step(&job->ladder, pdk_clock_ms(), &wait);
    struct pdk_err err = PDK_ERR_INIT;

    if (sig != 0)
        (void)pdk_descend_signal(
                sig, &err); /* what cannot be scanned now is at the next step */
    if (sig == SIGTERM || sig == SIGINT)
        (void)pdk_descend_signal(SIGCONT, &err); /* a stopped one must run to hear it */
    if (job->ladder.state == PDK_LADDER_GIVEN_UP) {
        job->given_up = true;
        return;
    }
    wait_more(job, wait > SWEEP_MS || wait < 0 ? SWEEP_MS : wait);
}

/* The leader is gone: whoever is left is ended, politely but soon. */
static void begin_sweep(struct job *job)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_graces graces = job->request.graces;
    int left = pdk_descend_none() ? 0 : pdk_descend_count(&err);

    job->state = JOB_SWEEPING;
    job->result.stragglers = left > 0 ? left : 0;
    graces.int_ms = 0;
    pdk_ladder_start(&job->ladder, &graces, pdk_clock_ms());
}

static bool none_left(struct job *job)
{
    reap_orphans(job);
    return pdk_descend_none();
}

/* Nothing answers any more: what is alive is counted and said. */
static void give_up(struct job *job)
{
    struct pdk_err err = PDK_ERR_INIT;
    int left = pdk_descend_count(&err);

    job->result.leaked = left > 0 ? left : 1;
    if (job->proc)
        return; /* its end is reported by its drain */
    answer(job);
}

static void on_deadline(struct job *job, int64_t now)
{
    if (job->deadline_ms == 0 || now < job->deadline_ms || job->ladder.started)
        return;
    job->result.timed_out = true;
    pdk_ladder_start(&job->ladder, &job->request.graces, now);
}

/* The only place that moves the state. */
static void step(struct job *job)
{
    int64_t now = pdk_clock_ms();

    if (job->state == JOB_ANSWERED)
        return;
    on_deadline(job, now);
    if (job->state == JOB_RUNNING && job->leader_gone)
        begin_sweep(job);
    if (job->state == JOB_SWEEPING && none_left(job)) {
        if (!job->proc && !restart(job))
            answer(job);
        return;
    }
    if (job->given_up) {
        give_up(job);
        return;
    }
    if (job->ladder.started)
        climb(job);
    else if (job->deadline_ms > 0)
        wait_more(job, job->deadline_ms - now);
    if (job->given_up)
        give_up(job);
}

/* ---- output */

static void send_chunk(struct job *job, int fd, const char *data, size_t len)
{
    struct stream *s = &job->streams[fd - 1];
    struct pdk_json *params = pdk_json_object();

    if (!params)
        return;
    (void)pdk_json_set_int(params, "call", job->call);
    (void)pdk_json_set_str(params, "stream", fd == 2 ? "stderr" : "stdout");
    (void)pdk_json_set_bytes(params, "data", data, len);
    if (s->skipped > 0)
        (void)pdk_json_set_int(params, "skipped", (int64_t)s->skipped);
    s->skipped = 0;
    pdk_agent_notify(job->agent, "exec.output", params);
}

/* For the eye: what is over the rate, or would queue up, is counted and left out. */
static void show_live(struct job *job, int fd, const char *data, size_t len)
{
    struct stream *s = &job->streams[fd - 1];
    int64_t now = pdk_clock_ms();

    if (now - s->window_ms >= 1000) {
        s->window_ms = now;
        s->sent = 0;
    }
    if (s->sent + len > LIVE_RATE || pdk_agent_backlog(job->agent) > BACKLOG_HIGH) {
        s->skipped += len;
        return;
    }
    s->sent += len;
    send_chunk(job, fd, data, len);
}

static void show_full(struct job *job, int fd, const char *data, size_t len)
{
    while (len > 0) {
        size_t n = len < PDK_CHUNK_MAX ? len : PDK_CHUNK_MAX;

        send_chunk(job, fd, data, n);
        data += n;
        len -= n;
    }
    if (pdk_agent_backlog(job->agent) <= BACKLOG_HIGH || !job->proc)
        return;
    job->paused = true;
    pdk_proc_pause(job->proc);
}

/* A full disk ends the record of a stream, not the command; the bytes that are missing count. */
static void keep(struct job *job, struct stream *s, const char *data, size_t len)
{
    struct pdk_output_totals kept = { 0, 0 };
    struct pdk_err err = PDK_ERR_INIT;

    s->bytes += len;
    if (s->lost > 0) {
        s->lost += len;
    } else if (s->file && pdk_output_write(s->file, data, len, &err) < 0) {
        (void)pdk_output_close(s->file, &kept, &err);
        s->file = NULL;
        s->lost = s->bytes - kept.bytes + kept.dropped;
        job->result.spool_failed = true;
    }
}

static void job_on_output(
        struct pdk_proc *proc, int fd, const char *data, size_t len, void *user)
{
    struct job *job = user;
    struct stream *s = &job->streams[fd - 1];

    (void)proc;
    keep(job, s, data, len);
    if (job->fence && fd == 2)
        pdk_fence_heard(job->fence, data, len);
    if (job->mode == STREAM_LIVE)
        show_live(job, fd, data, len < PDK_CHUNK_MAX ? len : PDK_CHUNK_MAX);
    else if (job->mode == STREAM_FULL)
        show_full(job, fd, data, len);
}

void pdk_agent_drained(struct agent *a)
{
    struct job *job = a->job;

    if (!job || !job->paused || !job->proc)
        return;
    job->paused = false;
    pdk_proc_resume(job->proc);
}

static void job_on_reaped(
        struct pdk_proc *proc, const struct pdk_proc_end *end, void *user)
{
    struct job *job = user;

    (void)proc;
    job->leader_gone = true;
    job->result.exit_code = end->exit_code;
    job->result.signal = end->signal;
    step(job);
}

static void job_on_end(struct pdk_proc *proc, const struct pdk_proc_end *end, void *user)
{
    struct job *job = user;

    (void)proc;
    (void)end;
    job->proc = NULL;
    step(job);
}

/* ---- the start */

static bool is_log_name(const char *name)
{
    return pdk_path_is_id(name);
}

static int open_stream(
        struct job *job, int which, const char *suffix, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = NULL;

    if (!job->request.log || !job->agent->spool)
        return 0;
    path = pdk_strf("%s/%s.%s", job->agent->spool, job->request.log, suffix);
    if (!path)
        return pdk_fail_nomem(err);
    return pdk_output_open(
            path, (size_t)job->request.output_cap, &job->streams[which].file, err);
}

/* Both or none: the first is not left behind without the second. */
static int open_streams(struct job *job, struct pdk_err *err)
{
    PDK_AUTO_FREE char *made = NULL;

    if (open_stream(job, 0, "stdout", err) < 0)
        return err->code;
    if (open_stream(job, 1, "stderr", err) == 0)
        return 0;
    made = pdk_strf("%s/%s.stdout", job->agent->spool, job->request.log);
    if (made)
        (void)unlink(made); /* the first error matters */
    return err->code;
}

static enum stream_mode mode_of(const struct pdk_json *params)
{
    const char *mode = pdk_json_get_str(params, "stream", "none");

    if (strcmp(mode, "full") == 0)
        return STREAM_FULL;
    return strcmp(mode, "live") == 0 ? STREAM_LIVE : STREAM_NONE;
}

static struct job *make_job(
        struct agent *a, int64_t id, const struct pdk_json *params, struct pdk_err *err)
{
    struct job *job = calloc(1, sizeof(*job));

    if (!job) {
        (void)pdk_fail_nomem(err);
        return NULL;
    }
    job->agent = a;
    job->call = id;
    job->mode = mode_of(params);
    if (pdk_exec_request_from_json(params, &job->request, err) < 0) {
        free(job);
        return NULL;
    }
    if (job->request.log && !is_log_name(job->request.log)) {
        (void)pdk_fail(err, PDK_EINVAL, 0, "'log' is no plain name");
        pdk_exec_request_fini(&job->request);
        free(job);
        return NULL;
    }
    return job;
}

static void free_unstarted(struct job *job)
{
    struct pdk_err err = PDK_ERR_INIT;

    for (int i = 0; i < 2; i++)
        (void)pdk_output_close(job->streams[i].file, NULL, &err);
    pdk_exec_request_fini(&job->request);
    free(job);
}

/* Nothing ran: that is an answer as well, told apart from what a command may do. */
static void answer_unstarted(struct job *job, enum pdk_exec_start start, int os_errno)
{
    struct agent *a = job->agent;

    job->result.start = start;
    job->result.start_errno = os_errno;
    job->result.exit_code = -1;
    (void)uv_timer_init(a->loop, &job->timer);
    job->timer.data = job;
    a->job = job;
    answer(job);
}

/* Want of processes, memory or descriptors is ours; the rest is about the command. */
static enum pdk_exec_start why_unstarted(int os_errno)
{
    return os_errno == EAGAIN || os_errno == ENOMEM || os_errno == EMFILE ||
                    os_errno == ENFILE
            ? PDK_EXEC_NO_SPAWN
            : PDK_EXEC_NO_COMMAND;
}

/* Where what was asked for cannot be had, nothing runs. */
static int raise_fence(struct job *job, struct pdk_err *err)
{
    if (job->request.policy.mode == PDK_CONFINE_NONE)
        return 0;
    if (pdk_fence_open(job->agent, &job->request, &job->fence, err) == 0)
        return 0;
    (void)snprintf(job->result.why, sizeof(job->result.why), "%s", err->msg);
    return err->code;
}

/* Where limits must hold in full and do not, nothing runs either. */
static int set_limits(struct job *job, struct pdk_err *err)
{
    const struct pdk_limits *limits = &job->request.limits;
    int own = job->fence ? pdk_fence_processes(job->fence) : 0;

    if (limits->memory == 0 && limits->pids == 0 && limits->cpus <= 0)
        return 0;
    if (pdk_limiter_new(limits, own, &job->limiter, err) < 0)
        return err->code;
    job->result.held = pdk_limiter_held(job->limiter);
    if (!job->request.limits_in_full ||
            pdk_held_in_full(&job->request.limits, &job->result.held))
        return 0;
    (void)pdk_fail(err, PDK_EUNAVAIL, 0,
            "SANDBOX_UNAVAILABLE: no cgroup can be had for the limits");
    (void)snprintf(job->result.why, sizeof(job->result.why), "%s", err->msg);
    return err->code;
}

static void answer_spawn_failed(struct job *job, const struct pdk_err *err)
{
    enum pdk_exec_start start = why_unstarted(err->os_errno);

    if (job->fence && pdk_fence_runs_own(job->fence)) {
        start = PDK_EXEC_NO_CONFINEMENT;
        (void)snprintf(job->result.why, sizeof(job->result.why),
                "SANDBOX_UNAVAILABLE: %.480s", err->msg);
    }
    answer_unstarted(job, start, err->os_errno);
}

/* Ours beneath what was asked for: an image's PATH is known here alone. */
static int inherit_env(struct pdk_strv *asked, struct pdk_err *err)
{
    struct pdk_strv all = PDK_STRV_INIT;

    for (char **entry = environ; *entry; entry++)
        pdk_strv_add(&all, *entry);
    for (size_t i = 0; i < asked->len; i++) {
        char *equals = strchr(asked->items[i], '=');

        if (!equals)
            continue;
        *equals = '\0';
        pdk_env_set(&all, asked->items[i], equals + 1);
        *equals = '=';
    }
    pdk_strv_fini(asked);
    *asked = all;
    return pdk_strv_ok(asked, err);
}

static int start(struct job *job, int cwd_fd, struct pdk_err *err)
{
    static const struct pdk_proc_handlers handlers = { job_on_output, job_on_reaped,
        job_on_end };
    struct pdk_spawn_spec spec = {
        .argv = (const char *const *)job->request.argv.items,
        .envp = (const char *const *)job->request.env.items,
        .cwd_fd = cwd_fd,
        .fds = { -1, -1, -1 },
    };
    static const char *const no_env[] = { NULL };
    int rc;

    if (!spec.envp)
        spec.envp = no_env;
    if (job->fence)
        pdk_fence_apply(job->fence, &spec);
    if (job->limiter)
        pdk_limiter_apply(job->limiter, &spec);
    rc = pdk_proc_start(job->agent->loop, &spec, false, &handlers, job, &job->proc, err);
    if (job->fence)
        pdk_fence_started(job->fence);
    return rc;
}

/* What should have confined the command failed, and is tried again: true. Nothing of it has run. */
static bool restart(struct job *job)
{
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_FD int cwd_fd = -1;

    if (!job->fence || job->restarts == RESTARTS || job->result.timed_out ||
            job->result.canceled || !pdk_fence_is_outdated(job->fence))
        return false;
    cwd_fd = pdk_agent_open(job->agent, job->request.cwd ? job->request.cwd : ".",
            O_RDONLY | O_DIRECTORY);
    pdk_fence_free(job->fence);
    job->fence = NULL;
    job->restarts++;
    job->state = JOB_RUNNING;
    job->leader_gone = false;
    job->result.stragglers = 0;
    job->ladder = (struct pdk_ladder){ .started = false };
    if (job->deadline_ms > 0)
        wait_more(job, job->deadline_ms - pdk_clock_ms());
    if (cwd_fd >= 0 && raise_fence(job, &err) == 0 && start(job, cwd_fd, &err) == 0)
        return true;
    job->result.start = PDK_EXEC_NO_CONFINEMENT;
    job->result.exit_code = -1;
    job->result.signal = 0;
    return false;
}

static void begin(struct job *job)
{
    struct agent *a = job->agent;

    job->started_ms = pdk_clock_ms();
    if (job->request.timeout_ms > 0)
        job->deadline_ms = job->started_ms + job->request.timeout_ms;
    (void)uv_timer_init(a->loop, &job->timer); /* cannot fail */
    job->timer.data = job;
    a->job = job;
    step(job);
}

void pdk_agent_exec(struct agent *a, int64_t id, const struct pdk_json *params)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct job *job;
    PDK_AUTO_FD int cwd_fd = -1;

    if (a->job) {
        pdk_agent_error(a, id, PDK_WIRE_BUSY, "another command is running");
        return;
    }
    job = make_job(a, id, params, &err);
    if (!job) {
        pdk_agent_error(a, id, PDK_WIRE_BAD_PARAMS, err.msg);
        return;
    }
    if (job->request.inherit_env && inherit_env(&job->request.env, &err) < 0) {
        pdk_agent_error(a, id, PDK_WIRE_IO, err.msg);
        free_unstarted(job);
        return;
    }
    (void)getrusage(RUSAGE_CHILDREN, &job->before); /* cannot fail */
    job->oom_before = pdk_oom_kills("");
    if (open_streams(job, &err) < 0) {
        pdk_agent_error(a, id, PDK_WIRE_IO, err.msg);
        free_unstarted(job);
        return;
    }
    cwd_fd = pdk_agent_open(
            a, job->request.cwd ? job->request.cwd : ".", O_RDONLY | O_DIRECTORY);
    if (cwd_fd < 0)
        answer_unstarted(job, PDK_EXEC_NO_CWD, errno);
    else if (raise_fence(job, &err) < 0 || set_limits(job, &err) < 0)
        answer_unstarted(job, PDK_EXEC_NO_CONFINEMENT, err.os_errno);
    else if (start(job, cwd_fd, &err) < 0)
        answer_spawn_failed(job, &err);
    else
        begin(job);
}

void pdk_agent_cancel(struct agent *a, int64_t call, bool at_once)
{
    struct job *job = a->job;

    if (!job || job->call != call || job->state == JOB_ANSWERED)
        return;
    job->result.canceled = job->result.canceled || !job->leader_gone;
    if (at_once)
        pdk_ladder_now(&job->ladder, pdk_clock_ms());
    else
        pdk_ladder_start(&job->ladder, &job->request.graces, pdk_clock_ms());
    step(job);
}

void pdk_agent_stop(struct agent *a)
{
    if (a->job)
        pdk_agent_cancel(a, a->job->call, false);
}

void pdk_agent_on_child(struct agent *a)
{
    if (a->job)
        step(a->job);
}
