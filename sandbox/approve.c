#include "sandbox/approve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "process/spawn.h"
#include "sandbox/confine/confine.h"

enum { ANSWER_MAX = 4096, CANCEL_MS = 10000 };

/* One who answers: a descriptor to read a line from, and the signals that cancel. */
struct asked {
    int answers, signals;
    int64_t deadline_ms; /* 0: none */
    struct pdk_buf line;
};

enum heard { HEARD_LINE, HEARD_END, HEARD_CANCEL, HEARD_LATE };

static int wait_ms(const struct asked *a)
{
    int64_t left = a->deadline_ms - pdk_clock_ms();

    if (a->deadline_ms == 0)
        return -1;
    return left < 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
}

/* A line, the end of it, a cancellation or the deadline, whichever comes first. */
static enum heard listen_for(struct asked *a)
{
    for (;;) {
        struct pollfd fds[] = { { a->answers, POLLIN, 0 }, { a->signals, POLLIN, 0 } };
        char chunk[256];
        ssize_t n;
        int ready = poll(fds, 2, wait_ms(a));

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return HEARD_LATE;
        if (fds[1].revents)
            return HEARD_CANCEL;
        n = read(a->answers, chunk, sizeof(chunk));
        if (n <= 0 || a->line.len > ANSWER_MAX)
            return a->line.len > 0 && a->line.len <= ANSWER_MAX ? HEARD_LINE : HEARD_END;
        pdk_buf_add(&a->line, chunk, (size_t)n);
        if (memchr(a->line.data, '\n', a->line.len))
            return HEARD_LINE;
    }
}

static char *first_line(struct asked *a)
{
    char *text = a->line.data;

    text[strcspn(text, "\r\n")] = '\0';
    return text;
}

/* ---- a program */

static int request_line(
        const struct pdk_approval_request *r, struct pdk_buf *out, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *v = pdk_json_object();
    struct pdk_json *argv = pdk_json_array();

    for (size_t i = 0; argv && i < r->argv->len; i++) {
        PDK_AUTO_BUF struct pdk_buf clean = PDK_BUF_INIT;

        pdk_utf8_clean(r->argv->items[i], strlen(r->argv->items[i]), &clean);
        (void)pdk_json_append(argv, pdk_json_str(pdk_buf_str(&clean)));
    }
    (void)pdk_json_set_str(v, "sandbox", r->sandbox);
    (void)pdk_json_set_str(v, "session", r->session);
    (void)pdk_json_set_str(v, "mode", pdk_mode_name(r->from));
    (void)pdk_json_set_str(v, "sandbox_permissions", pdk_mode_name(r->to));
    (void)pdk_json_set_bytes(
            v, "justification", r->justification, strlen(r->justification));
    (void)pdk_json_set(v, "argv", argv);
    if (pdk_json_write(v, PDK_JSON_COMPACT, out, err) < 0)
        return PDK_ENOMEM;
    pdk_buf_addc(out, '\n');
    return pdk_buf_ok(out, err);
}

/* The whole group: asked first, then made. */
static void end_approver(const struct pdk_child *child, bool canceled)
{
    struct pollfd ended = { child->pidfd, POLLIN, 0 };

    if (canceled)
        (void)kill(-child->pid, SIGTERM);
    if (poll(&ended, 1, CANCEL_MS) <= 0)
        (void)kill(-child->pid, SIGKILL);
    (void)waitpid(child->pid, NULL, 0);
    (void)close(child->pidfd);
}

static enum pdk_decision decide(enum heard heard, struct asked *a)
{
    if (heard == HEARD_CANCEL)
        return PDK_DECISION_CANCELED;
    return heard == HEARD_LINE ? pdk_decision_find(first_line(a))
                               : PDK_DECISION_UNAVAILABLE;
}

static int ask_program(const struct pdk_approval_request *r, struct asked *a,
        enum pdk_decision *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_FD int ours = -1, theirs = -1, in_read = -1, in_write = -1;
    const char *argv[] = { r->approver, NULL };
    struct pdk_spawn_spec spec = {
        .argv = argv, .envp = r->envp, .cwd = "/", .cwd_fd = -1
    };
    struct pdk_child child;
    struct pdk_err why = PDK_ERR_INIT;
    int to[2], from[2];
    enum heard heard;

    *out = PDK_DECISION_UNAVAILABLE;
    if (request_line(r, &text, err) < 0)
        return err->code;
    if (r->approver[0] != '/' || pipe2(to, O_CLOEXEC) < 0)
        return 0;
    in_read = to[0];
    in_write = to[1];
    if (pipe2(from, O_CLOEXEC) < 0)
        return 0;
    ours = from[0];
    theirs = from[1];
    spec.fds[0] = in_read;
    spec.fds[1] = theirs;
    spec.fds[2] = STDERR_FILENO;
    if (pdk_spawn(&spec, &child, NULL, &why) < 0)
        return 0;
    (void)close(pdk_take_fd(&theirs));
    (void)close(pdk_take_fd(&in_read));
    (void)fcntl(
            in_write, F_SETFL, O_NONBLOCK); /* one that does not read is not waited for */
    (void)pdk_fs_write_fd(in_write, text.data, text.len, &why);
    (void)close(pdk_take_fd(&in_write));
    a->answers = ours;
    heard = listen_for(a);
    *out = decide(heard, a);
    end_approver(&child, heard != HEARD_LINE && heard != HEARD_END);
    return 0;
}

/* ---- the terminal */

static int prompt(const struct pdk_approval_request *r, int tty, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err gone = PDK_ERR_INIT;

    pdk_buf_addf(&text,
            "paddock: sandbox '%s' is %s; asked for, once: %s\n  command:", r->sandbox,
            pdk_mode_name(r->from), pdk_mode_name(r->to));
    for (size_t i = 0; i < r->argv->len; i++) {
        pdk_buf_addc(&text, ' ');
        pdk_utf8_printable(r->argv->items[i], strlen(r->argv->items[i]), &text);
    }
    pdk_buf_adds(&text, "\n  because: ");
    pdk_utf8_printable(r->justification, strlen(r->justification), &text);
    pdk_buf_adds(&text, "\nAllow it? [y/N] ");
    if (pdk_buf_ok(&text, err) < 0)
        return err->code;
    (void)pdk_fs_write_fd(
            tty, text.data, text.len, &gone); /* then its end is read at once */
    return 0;
}

static int ask_terminal(const struct pdk_approval_request *r, struct asked *a,
        enum pdk_decision *out, struct pdk_err *err)
{
    PDK_AUTO_FD int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    enum heard heard;

    *out = PDK_DECISION_UNAVAILABLE;
    if (tty < 0)
        return 0;
    if (prompt(r, tty, err) < 0)
        return err->code;
    a->answers = tty;
    heard = listen_for(a);
    if (heard == HEARD_LINE)
        *out = strcmp(first_line(a), "y") == 0 || strcmp(first_line(a), "yes") == 0
                ? PDK_ALLOWED_ONCE
                : PDK_REJECTED;
    else if (heard != HEARD_LATE)
        *out = PDK_DECISION_CANCELED;
    return 0;
}

int pdk_approve(const struct pdk_approval_request *request, enum pdk_decision *out,
        struct pdk_err *err)
{
    struct asked a = { .answers = -1,
        .deadline_ms =
                request->timeout_ms > 0 ? pdk_clock_ms() + request->timeout_ms : 0 };
    sigset_t set, old;
    int rc;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &set, &old);
    a.signals = signalfd(-1, &set, SFD_CLOEXEC);
    if (a.signals < 0)
        rc = pdk_fail(err, PDK_EIO, errno, "cannot watch signals");
    else
        rc = request->approver ? ask_program(request, &a, out, err)
                               : ask_terminal(request, &a, out, err);
    if (a.signals >= 0)
        (void)close(a.signals);
    pdk_buf_fini(&a.line);
    /* What canceled is used up: it does not end the program as well before it has said so. */
    while (sigtimedwait(&set, NULL, &(struct timespec){ 0, 0 }) > 0)
        continue;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}
