/*
 * child_fake_agent SCRIPT: an agent that keeps the protocol only as far as its script says. It ends with its input, and
 * with its parent.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "sandbox/protocol.h"

static void say(const char *text)
{
    (void)fputs(text, stdout);
    (void)fflush(stdout);
}

/* The next request; ends the program with its input. */
static int64_t next_request(char nonce[PDK_NONCE_MAX + 1])
{
    static char *line;
    static size_t room;
    ssize_t len;

    while ((len = getline(&line, &room, stdin)) > 0) {
        PDK_AUTO_JSON struct pdk_json *frame = NULL;

        if (pdk_json_parse(line, (size_t)len, &frame, NULL) < 0)
            exit(3);
        (void)snprintf(nonce, PDK_NONCE_MAX + 1, "%s",
                pdk_json_get_str(pdk_json_get(frame, "params"), "nonce", ""));
        if (pdk_json_get(frame, "id"))
            return pdk_json_get_int(frame, "id", 0);
    }
    exit(0);
}

static int64_t request(void)
{
    char nonce[PDK_NONCE_MAX + 1];

    return next_request(nonce);
}

static void answer(int64_t id, const char *result)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    pdk_buf_addf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%s}\n",
            (long long)id, result);
    say(pdk_buf_str(&text));
}

static void become_ready(void)
{
    answer(request(), "{\"protocol\":1}");
}

static void answer_exec(int64_t id, const char *nonce)
{
    struct pdk_exec_result r = { .exit_code = 7 };
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    (void)snprintf(r.nonce, sizeof(r.nonce), "%s", nonce);
    if (pdk_exec_result_to_json(&r, &v, NULL) < 0 ||
            pdk_frame_result(&text, id, v, NULL) < 0)
        exit(3);
    say(pdk_buf_str(&text));
}

static void wait_for_end(void)
{
    for (;;)
        (void)request();
}

static void good(void)
{
    char nonce[PDK_NONCE_MAX + 1];

    become_ready();
    for (;;) {
        int64_t id = next_request(nonce);

        say("\r\n{\"jsonrpc\":\"2.0\",\"method\":\"later\",\"params\":[]}\r\n");
        if (!nonce[0])
            answer(id, "{\"x\":1}");
        else
            answer_exec(id, nonce);
    }
}

static void two_outputs(void)
{
    char nonce[PDK_NONCE_MAX + 1];
    int64_t id;

    become_ready();
    id = next_request(nonce);
    (void)printf(
            "{\"jsonrpc\":\"2.0\",\"method\":\"exec.output\",\"params\":{\"call\":%lld,"
            "\"stream\":\"stdout\",\"data\":\"?\",\"data_base64\":\"/wA=\"}}\n",
            (long long)id);
    (void)printf(
            "{\"jsonrpc\":\"2.0\",\"method\":\"exec.output\",\"params\":{\"call\":%lld,"
            "\"stream\":\"stderr\",\"data\":\"e\"}}\n",
            (long long)id);
    (void)printf(
            "{\"jsonrpc\":\"2.0\",\"method\":\"exec.output\",\"params\":{\"call\":99,"
            "\"stream\":\"stderr\",\"data\":5}}\n");
    answer_exec(id, nonce);
    wait_for_end();
}

static void output_of_a_number(void)
{
    int64_t id;

    become_ready();
    id = request();
    (void)printf(
            "{\"jsonrpc\":\"2.0\",\"method\":\"exec.output\",\"params\":{\"call\":%lld,"
            "\"stream\":\"stdout\",\"data\":5}}\n",
            (long long)id);
    say("");
    wait_for_end();
}

static void dies_mid_frame(void)
{
    become_ready();
    (void)request();
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"resu");
}

static void ends_when_asked(void)
{
    become_ready();
    (void)request();
}

static void answers_twice(void)
{
    char nonce[PDK_NONCE_MAX + 1];

    become_ready();
    for (;;) {
        int64_t id = next_request(nonce);

        answer_exec(id, nonce);
        answer_exec(id, nonce);
    }
}

static void wrong_id(void)
{
    char nonce[PDK_NONCE_MAX + 1];
    int64_t id;

    become_ready();
    id = next_request(nonce);
    answer_exec(id + 1000, nonce);
    answer_exec(id, nonce);
    wait_for_end();
}

static void wrong_nonce(void)
{
    become_ready();
    answer_exec(request(), "another");
    wait_for_end();
}

static void result_before_start(void)
{
    PDK_AUTO_BUF struct pdk_buf both = PDK_BUF_INIT;
    struct pdk_exec_result r = { .exit_code = 0 };
    PDK_AUTO_JSON struct pdk_json *v = NULL;

    pdk_buf_addf(&both, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"protocol\":1}}\n",
            (long long)request());
    if (pdk_exec_result_to_json(&r, &v, NULL) < 0 ||
            pdk_frame_result(&both, 2, v, NULL) < 0)
        exit(3);
    say(pdk_buf_str(&both));
    wait_for_end();
}

static void result_out_of_form(void)
{
    become_ready();
    answer(request(), "{\"start\":\"started\",\"exit_code\":0}");
    wait_for_end();
}

static void no_result(void)
{
    become_ready();
    (void)printf("{\"jsonrpc\":\"2.0\",\"id\":%lld}\n", (long long)request());
    say("");
    wait_for_end();
}

static void refuses(void)
{
    become_ready();
    for (;;) {
        PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

        if (pdk_frame_error(&text, request(), PDK_WIRE_BUSY, "busy\033[2J", NULL) < 0)
            exit(3);
        say(pdk_buf_str(&text));
    }
}

static void does_not_understand(void)
{
    become_ready();
    (void)request();
    say("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"message\":\"what?\",\"data\":{\"code\":"
        "\"bad_frame\"}}}\n");
    wait_for_end();
}

static void no_kind_of_frame(void)
{
    become_ready();
    say("{\"jsonrpc\":\"2.0\"}\n");
    wait_for_end();
}

static void silent(void)
{
    become_ready();
    wait_for_end();
}

static void never_ready(void)
{
    wait_for_end();
}

static void wrong_version(void)
{
    answer(request(), "{\"protocol\":2}");
    wait_for_end();
}

static void dies_at_once(void)
{
    (void)fputs("first line\nno\033such root\n", stderr);
    exit(0);
}

/* Heartbeats, but no answer; with its input, too, it ends. */
static void alive_but_mute(void)
{
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

    become_ready();
    for (;;) {
        char drop[4096];

        say("{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\n");
        if (poll(&in, 1, 10) > 0 && read(STDIN_FILENO, drop, sizeof(drop)) <= 0)
            exit(0);
    }
}

/* Answers the first call only when the second one comes. */
static void answers_late(void)
{
    int64_t first;

    become_ready();
    first = request();
    for (;;) {
        int64_t second = request();

        answer(first, "{}");
        answer(second, "{}");
    }
}

static void floods_stderr(void)
{
    become_ready();
    (void)request();
    for (int i = 0; i < 100000; i++)
        (void)fputs("0123456789012345678901234567890123456789\n", stderr);
    (void)fputs("last words\n\n", stderr);
}

static void ignores_stdin(void)
{
    become_ready();
    for (;;) {
        say("{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\n");
        (void)poll(NULL, 0, 10);
    }
}

static void long_line(void)
{
    become_ready();
    for (int i = 0; i < 2 << 20; i++)
        (void)putchar('x');
    say("");
    wait_for_end();
}

static void bad_utf8(void)
{
    become_ready();
    say("{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}\n");
    wait_for_end();
}

static void deep(void)
{
    become_ready();
    say("{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":");
    for (int i = 0; i < 100000; i++)
        (void)putchar('[');
    for (int i = 0; i < 100000; i++)
        (void)putchar(']');
    say("}\n");
    wait_for_end();
}

#define ROW(name)                                                                        \
    {                                                                                    \
#        name, name                                                                      \
    }

static const struct {
    const char *name;
    void (*run)(void);
} scripts[] = {
    ROW(good),
    ROW(two_outputs),
    ROW(output_of_a_number),
    ROW(dies_mid_frame),
    ROW(ends_when_asked),
    ROW(answers_twice),
    ROW(wrong_id),
    ROW(wrong_nonce),
    ROW(result_before_start),
    ROW(result_out_of_form),
    ROW(no_result),
    ROW(refuses),
    ROW(does_not_understand),
    ROW(no_kind_of_frame),
    ROW(silent),
    ROW(never_ready),
    ROW(wrong_version),
    ROW(dies_at_once),
    ROW(alive_but_mute),
    ROW(answers_late),
    ROW(floods_stderr),
    ROW(ignores_stdin),
    ROW(long_line),
    ROW(bad_utf8),
    ROW(deep),
};

int main(int argc, char **argv)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
        if (argc == 2 && strcmp(argv[1], scripts[i].name) == 0) {
            scripts[i].run();
            return 0;
        }
    (void)fputs("no such script\n", stderr);
    return 2;
}
