#include "tests/support/peer.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "tests/support/fixture.h"

enum { DEADLINE_MS = 60000, NOBODY = 65534, WORDS = 16 };

int pdk_peer_ways(void)
{
    return geteuid() == 0 ? 3 : 1;
}

/* ---- start and end */

/* Root's private directories are closed to user 65534: then the place is /tmp itself. */
static void make_dirs(struct pdk_peer *p, int way)
{
    const char *parent = getenv("TMPDIR");
    PDK_AUTO_FREE char *made = pdk_strf(
            "%s/pdk-peer.XXXXXX", parent && way != PDK_PEER_NOBODY ? parent : "/tmp");
    uid_t owner = way == PDK_PEER_NOBODY ? NOBODY : geteuid();
    gid_t group = way == PDK_PEER_NOBODY ? NOBODY : getegid();

    ck_assert_ptr_nonnull(mkdtemp(made));
    p->dir = realpath(made, NULL);
    p->root = pdk_strf("%s/root", p->dir);
    p->spool = pdk_strf("%s/spool", p->dir);
    ck_assert_int_eq(mkdir(p->root, 0755), 0);
    ck_assert_int_eq(mkdir(p->spool, 0700), 0);
    ck_assert_int_eq(chown(p->root, owner, group), 0);
    ck_assert_int_eq(chown(p->spool, owner, group), 0);
    ck_assert_int_eq(chown(p->dir, owner, group), 0);
}

/* mount() is refused from here on, as some containers have it. */
static int refuse_mounts(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* By its descriptor, since the build folder may be closed to that user. */
_Noreturn static void become_agent(
        int program, int in, int out, int way, char *const *argv)
{
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(125);
    if (way == PDK_PEER_NOBODY &&
            (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                    setresuid(NOBODY, NOBODY, NOBODY) < 0))
        _exit(125);
    if (way == PDK_PEER_NO_MOUNT && refuse_mounts() < 0)
        _exit(125);
    (void)execveat(program, "", argv, environ, AT_EMPTY_PATH);
    _exit(126);
}

static void start(struct pdk_peer *p, int way, char *const *argv)
{
    PDK_AUTO_FD int program = open(PDK_TEST_AGENT, O_PATH | O_CLOEXEC);
    int in[2], out[2];

    ck_assert_int_ge(program, 0);
    ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    p->pid = fork();
    ck_assert_int_ge(p->pid, 0);
    if (p->pid == 0)
        become_agent(program, in[0], out[1], way, argv);
    ck_assert_int_eq(close(in[0]), 0);
    ck_assert_int_eq(close(out[1]), 0);
    p->in = in[1];
    p->out = out[0];
}

static void initialize(struct pdk_peer *p)
{
    struct pdk_json *params = pdk_json_object();

    (void)pdk_json_set_int(params, "protocol", PDK_PROTOCOL_VERSION);
    (void)pdk_json_set_int(params, "heartbeat_ms", 3600000);
    pdk_json_free(pdk_peer_ask(p, "initialize", params));
}

void pdk_peer_open_with(struct pdk_peer *p, int way, const char *const *args)
{
    char *argv[WORDS] = { strdup("paddock-agent") };
    size_t n = 1;

    (void)signal(SIGPIPE, SIG_IGN);
    *p = (struct pdk_peer){ .frames = pdk_json_array() };
    make_dirs(p, way);
    for (; args && *args && n < WORDS - 5; args++)
        argv[n++] = strdup(*args);
    argv[n++] = strdup("--root");
    argv[n++] = strdup(p->root);
    argv[n++] = strdup("--spool");
    argv[n++] = strdup(p->spool);
    start(p, way, argv);
    while (n > 0)
        free(argv[--n]);
    initialize(p);
}

void pdk_peer_open(struct pdk_peer *p, int way)
{
    pdk_peer_open_with(p, way, NULL);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void pdk_peer_close_stdin(struct pdk_peer *p)
{
    close_end(&p->in);
}

/* The end of its output comes with its end, since nobody else has that pipe: no timer is needed. */
int pdk_peer_wait(struct pdk_peer *p)
{
    int status = 0;

    while (!p->ended)
        pdk_json_free(pdk_peer_next(p));
    ck_assert_int_eq(waitpid(p->pid, &status, 0), p->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void pdk_peer_fini(struct pdk_peer *p)
{
    close_end(&p->in);
    close_end(&p->out);
    pdk_test_remove(p->dir);
    free(p->dir);
    free(p->root);
    free(p->spool);
    pdk_framer_fini(&p->framer);
    pdk_json_free(p->frames);
}

void pdk_peer_close(struct pdk_peer *p)
{
    pdk_peer_close_stdin(p);
    ck_assert_int_eq(pdk_peer_wait(p), 0);
    pdk_peer_fini(p);
}

char *pdk_peer_path(const struct pdk_peer *p, const char *name)
{
    return pdk_strf("%s/%s", p->root, name);
}

/* ---- frames */

void pdk_peer_send_text(struct pdk_peer *p, const char *text)
{
    size_t len = strlen(text);

    while (len > 0) {
        ssize_t n = write(p->in, text, len);

        ck_assert_msg(n > 0, "the agent takes no more: %s", strerror(errno));
        text += n;
        len -= (size_t)n;
    }
}

int64_t pdk_peer_send(struct pdk_peer *p, const char *method, struct pdk_json *params)
{
    PDK_AUTO_JSON struct pdk_json *owned = params;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_frame_request(&text, ++p->last_id, method, owned, &err), 0);
    pdk_peer_send_text(p, pdk_buf_str(&text));
    return p->last_id;
}

void pdk_peer_notify(struct pdk_peer *p, const char *method, struct pdk_json *params)
{
    PDK_AUTO_JSON struct pdk_json *owned = params;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_frame_notify(&text, method, owned, &err), 0);
    pdk_peer_send_text(p, pdk_buf_str(&text));
}

static int keep_frame(struct pdk_json *frame, const struct pdk_err *why, void *user)
{
    struct pdk_peer *p = user;

    ck_assert_msg(frame != NULL, "no frame: %s", why ? why->msg : "");
    return pdk_json_append(p->frames, pdk_json_ref(frame));
}

/* Reads once; false at the end. */
static bool receive(struct pdk_peer *p, int64_t deadline_ms)
{
    struct pollfd fd = { p->out, POLLIN, 0 };
    char chunk[8192];
    ssize_t n;
    int64_t left = deadline_ms - pdk_clock_ms();

    ck_assert_msg(left > 0 && poll(&fd, 1, (int)left) > 0, "the agent says nothing");
    n = read(p->out, chunk, sizeof(chunk));
    ck_assert_int_ge(n, 0);
    p->ended = n == 0;
    if (n > 0)
        ck_assert_int_eq(pdk_framer_feed(&p->framer, chunk, (size_t)n, keep_frame, p), 0);
    return n > 0;
}

/* Takes the frame at a place out of those that wait. */
static struct pdk_json *take_frame(struct pdk_peer *p, size_t at)
{
    struct pdk_json *taken = pdk_json_ref(pdk_json_at(p->frames, at));
    struct pdk_json *rest = pdk_json_array();

    for (size_t i = 0; i < pdk_json_len(p->frames); i++)
        if (i != at)
            (void)pdk_json_append(rest, pdk_json_ref(pdk_json_at(p->frames, i)));
    pdk_json_free(p->frames);
    p->frames = rest;
    return taken;
}

struct pdk_json *pdk_peer_next(struct pdk_peer *p)
{
    int64_t deadline_ms = pdk_clock_ms() + DEADLINE_MS;

    while (pdk_json_len(p->frames) == 0)
        if (p->ended || !receive(p, deadline_ms))
            return NULL;
    return take_frame(p, 0);
}

struct pdk_json *pdk_peer_answer(struct pdk_peer *p, int64_t id)
{
    int64_t deadline_ms = pdk_clock_ms() + DEADLINE_MS;

    for (size_t i = 0;; i++) {
        while (i >= pdk_json_len(p->frames))
            ck_assert_msg(!p->ended && receive(p, deadline_ms), "the agent has ended");
        const struct pdk_json *frame = pdk_json_at(p->frames, i);
        if (!pdk_json_get(frame, "method") && pdk_json_get_int(frame, "id", 0) == id)
            return take_frame(p, i);
    }
}

struct pdk_json *pdk_peer_ask(
        struct pdk_peer *p, const char *method, struct pdk_json *params)
{
    PDK_AUTO_JSON struct pdk_json *frame =
            pdk_peer_answer(p, pdk_peer_send(p, method, params));
    const struct pdk_json *error = pdk_json_get(frame, "error");

    ck_assert_msg(!error, "%s: %s", method, pdk_json_get_str(error, "message", "?"));
    return pdk_json_ref(pdk_json_get(frame, "result"));
}

void pdk_peer_refused(
        struct pdk_peer *p, const char *method, struct pdk_json *params, const char *code)
{
    PDK_AUTO_JSON struct pdk_json *frame =
            pdk_peer_answer(p, pdk_peer_send(p, method, params));
    const struct pdk_json *data = pdk_json_get(pdk_json_get(frame, "error"), "data");

    ck_assert_str_eq(pdk_json_get_str(data, "code", "no error"), code);
}

/* ---- exec */

struct pdk_json *pdk_peer_argv(const char *const *argv)
{
    struct pdk_json *params = pdk_json_object();
    struct pdk_json *words = pdk_json_array(), *graces = pdk_json_object();
    static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin" };

    for (; *argv; argv++)
        (void)pdk_json_append(words, pdk_json_str(*argv));
    (void)pdk_json_set_int(graces, "int_ms", 10000);
    (void)pdk_json_set_int(graces, "term_ms", 10000);
    (void)pdk_json_set_int(graces, "kill_ms", 10000);
    (void)pdk_json_set(params, "argv", words);
    (void)pdk_json_set(params, "env", pdk_json_strv(env, 1));
    (void)pdk_json_set(params, "graces", graces);
    (void)pdk_json_set_str(params, "nonce", "n");
    (void)pdk_json_set_str(params, "stream", "full");
    return params;
}

struct pdk_json *pdk_peer_sh(const char *text)
{
    return pdk_peer_argv((const char *const[]){ "sh", "-c", text, NULL });
}

void pdk_peer_await_output(struct pdk_peer *p, int64_t id, const char *text)
{
    PDK_AUTO_BUF struct pdk_buf seen = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    while (!strstr(pdk_buf_str(&seen), text)) {
        PDK_AUTO_JSON struct pdk_json *frame = pdk_peer_next(p);
        const struct pdk_json *params = pdk_json_get(frame, "params");

        ck_assert_ptr_nonnull(frame);
        ck_assert_msg(pdk_json_get(frame, "method") != NULL,
                "the command ended without '%s', after '%s'", text, pdk_buf_str(&seen));
        if (pdk_json_get_int(params, "call", 0) == id)
            ck_assert_int_eq(pdk_json_get_bytes(params, "data", &seen, &err), 0);
    }
}

void pdk_peer_result(struct pdk_peer *p, int64_t id, struct pdk_exec_result *out)
{
    PDK_AUTO_JSON struct pdk_json *frame = pdk_peer_answer(p, id);
    const struct pdk_json *error = pdk_json_get(frame, "error");
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(!error, "exec: %s", pdk_json_get_str(error, "message", "?"));
    ck_assert_msg(
            pdk_exec_result_from_json(pdk_json_get(frame, "result"), out, &err) == 0,
            "%s", err.msg);
    ck_assert_str_eq(out->nonce, "n");
}

void pdk_peer_run(struct pdk_peer *p, const char *sh, struct pdk_exec_result *out)
{
    pdk_peer_result(p, pdk_peer_send(p, "exec", pdk_peer_sh(sh)), out);
}

/* ---- its processes */

/* The only child of the outer process is the inner one; without an outer one, tests look before any command runs. */
pid_t pdk_peer_agent(const struct pdk_peer *p)
{
    PDK_AUTO_FREE char *path =
            pdk_strf("/proc/%d/task/%d/children", (int)p->pid, (int)p->pid);
    PDK_AUTO_FREE char *text = pdk_test_read(path, NULL);
    char *end = text;
    long child = strtol(text, &end, 10);

    return end == text ? p->pid : (pid_t)child;
}

int64_t pdk_peer_status(pid_t pid, const char *key)
{
    PDK_AUTO_FREE char *path = pdk_strf("/proc/%d/status", (int)pid);
    PDK_AUTO_FREE char *text = pdk_test_exists(path) ? pdk_test_read(path, NULL) : NULL;
    PDK_AUTO_FREE char *mark = pdk_strf("%s:", key);
    const char *line = text ? strstr(text, mark) : NULL;

    return line ? strtol(line + strlen(mark), NULL, 10) : -1;
}
