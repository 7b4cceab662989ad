/*
 * The verbs of the protocol on the command line: `sandbox read`, `write`, `remove`, `stat`, `glob`,
 * `grep`, `fingerprint`. Words become params, over those of --params; with --json the answer is
 * printed as it came.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/utf8.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/sandbox_ask.h"

enum { INPUT_MAX = 64 << 20 };

struct verb_call {
    const struct pdk_cli *cli;
    struct pdk_ask ask;
    struct pdk_json *params;
    void (*print)(const struct verb_call *v, const struct pdk_json *result);
};

/* ---- answers */

static int add_member(const char *key, struct pdk_json *value, void *user)
{
    (void)pdk_json_set(user, key, pdk_json_ref(value));
    return 0;
}

/* The answer as it came, with the version of our documents before it. */
static int print_json(const struct verb_call *v, const struct pdk_json *result)
{
    struct pdk_json *doc = pdk_json_object();

    (void)pdk_json_set_int(doc, "schema_version", 1);
    (void)pdk_json_each(result, add_member, doc);
    return pdk_cli_print(v->cli, doc) == 0 ? 0 : PDK_EIO;
}

static int verb_on_result(const struct pdk_json *result, struct pdk_json **again,
        void *user, struct pdk_err *err)
{
    struct verb_call *v = user;

    (void)again;
    if (v->cli->json)
        return print_json(v, result) == 0 ? 0 : pdk_fail_nomem(err);
    v->print(v, result);
    if (pdk_json_get_bool(result, "truncated", false))
        pdk_cli_say(v->cli, "paddock: there is more\n");
    return 0;
}

/* A path or a line of the sandbox's is not ours: nothing in it may move a terminal. */
static void print_shown(const struct pdk_json *v, const char *key, const char *end)
{
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf shown = PDK_BUF_INIT;
    size_t len = 0;
    const char *text = pdk_json_text(v, &len);

    if (text)
        pdk_buf_add(&bytes, text, len);
    else
        (void)pdk_json_get_bytes(v, key, &bytes, NULL);
    if (isatty(STDOUT_FILENO))
        pdk_utf8_printable(pdk_buf_str(&bytes), bytes.len, &shown);
    else
        pdk_buf_add(&shown, pdk_buf_str(&bytes), bytes.len);
    (void)fwrite(pdk_buf_str(&shown), 1, shown.len, stdout);
    (void)fputs(end, stdout);
}

static void print_write(const struct verb_call *v, const struct pdk_json *result)
{
    (void)v;
    printf("%s %lld bytes, %+lld lines, sha256 %s\n",
            pdk_json_get_bool(result, "existed_before", false) ? "replaced" : "created",
            (long long)pdk_json_get_int(result, "bytes_written", 0),
            (long long)pdk_json_get_int(result, "line_delta", 0),
            pdk_json_get_str(result, "digest", ""));
}

static void print_remove(const struct verb_call *v, const struct pdk_json *result)
{
    (void)v;
    if (pdk_json_get_bool(result, "existed_before", false))
        printf("removed a %s\n", pdk_json_get_str(result, "type", ""));
    else
        puts("it was not there");
}

static void print_stat(const struct verb_call *v, const struct pdk_json *result)
{
    const struct pdk_json *items = pdk_json_get(result, "items");
    const struct pdk_json *paths = pdk_json_get(v->params, "paths");

    for (size_t i = 0; i < pdk_json_len(items); i++) {
        const struct pdk_json *item = pdk_json_at(items, i);
        const char *wrong = pdk_json_get_str(item, "error", NULL);

        if (pdk_json_type(item) == PDK_JSON_NULL)
            printf("- ");
        else if (wrong)
            printf("%s ", wrong);
        else
            printf("%s %04llo %lld ", pdk_json_get_str(item, "type", ""),
                    (unsigned long long)pdk_json_get_int(item, "mode", 0),
                    (long long)pdk_json_get_int(item, "size", 0));
        print_shown(pdk_json_at(paths, i), "path", "\n");
    }
}

static void print_glob(const struct verb_call *v, const struct pdk_json *result)
{
    const struct pdk_json *paths = pdk_json_get(result, "paths");

    (void)v;
    for (size_t i = 0; i < pdk_json_len(paths); i++)
        print_shown(pdk_json_at(paths, i), "path", "\n");
}

static void print_grep(const struct verb_call *v, const struct pdk_json *result)
{
    const struct pdk_json *items = pdk_json_get(result, "items");

    (void)v;
    for (size_t i = 0; i < pdk_json_len(items); i++) {
        const struct pdk_json *item = pdk_json_at(items, i);

        print_shown(item, "path", ":");
        printf("%lld:", (long long)pdk_json_get_int(item, "line", 0));
        print_shown(item, "text", "\n");
    }
}

static void print_fingerprint(const struct verb_call *v, const struct pdk_json *result)
{
    (void)v;
    puts(pdk_json_get_str(result, "fingerprint", ""));
}

/* ---- params */

static int read_input(const char *path, struct pdk_buf *out, struct pdk_err *err)
{
    if (strcmp(path, "-") == 0)
        return pdk_fs_read_fd(STDIN_FILENO, INPUT_MAX, out, err);
    return pdk_fs_read(path, INPUT_MAX, out, err);
}

static int take_params(
        const struct pdk_args *args, struct pdk_json **out, struct pdk_err *err)
{
    const char *path = pdk_args_get(args, "params", NULL);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    if (!path) {
        *out = pdk_json_object();
        return *out ? 0 : pdk_fail_nomem(err);
    }
    if (read_input(path, &text, err) < 0 ||
            pdk_json_parse(pdk_buf_str(&text), text.len, out, err) < 0)
        return pdk_wrap(err, "--params");
    if (pdk_json_type(*out) != PDK_JSON_OBJECT)
        return pdk_fail(err, PDK_EINVAL, 0, "--params is no JSON object");
    return 0;
}

static struct pdk_json *words(const struct pdk_args *args, size_t from, const char *key)
{
    struct pdk_json *list = pdk_json_array();

    for (size_t i = from; i < args->words_len; i++) {
        const char *word = args->words[i];
        struct pdk_json *item = pdk_json_object();

        if (pdk_utf8_valid(word, strlen(word))) {
            pdk_json_free(item);
            item = pdk_json_str(word);
        } else {
            (void)pdk_json_set_bytes(item, key, word, strlen(word));
        }
        (void)pdk_json_append(list, item);
    }
    return list;
}

static void set_word(struct verb_call *v, const struct pdk_args *args, const char *key)
{
    if (args->words_len > 1)
        (void)pdk_json_set_bytes(v->params, key, args->words[1], strlen(args->words[1]));
}

static void set_option(struct verb_call *v, const struct pdk_args *args,
        const char *option, const char *key)
{
    const char *value = pdk_args_get(args, option, NULL);

    if (value)
        (void)pdk_json_set_bytes(v->params, key, value, strlen(value));
}

static void set_switch(struct verb_call *v, const struct pdk_args *args,
        const char *option, const char *key)
{
    if (pdk_args_has(args, option))
        (void)pdk_json_set_bool(v->params, key, true);
}

static int set_number(struct verb_call *v, const struct pdk_args *args,
        const char *option, const char *key, struct pdk_err *err)
{
    int value = -1;

    if (pdk_args_int(args, option, 0, 1 << 30, -1, &value, err) < 0)
        return err->code;
    if (value >= 0)
        (void)pdk_json_set_int(v->params, key, value);
    return 0;
}

/* ---- commands */

static int finish(struct pdk_cli *cli, const struct pdk_args *args, struct verb_call *v,
        struct pdk_err *err)
{
    int rc = err->code ? err->code : pdk_json_ok(v->params, err);

    v->ask.params = v->params;
    v->ask.user = v;
    if (!v->ask.on_result)
        v->ask.on_result = verb_on_result;
    if (rc == 0)
        rc = pdk_sandbox_ask(cli, args->words[0], &v->ask, err);
    pdk_json_free(v->params);
    return rc == 0 ? 0 : pdk_cli_fail(cli, err);
}

static struct verb_call begin(const struct pdk_cli *cli, const struct pdk_args *args,
        enum pdk_verb verb, struct pdk_err *err)
{
    struct verb_call v = { .cli = cli, .ask = { .verb = verb } };

    (void)take_params(args, &v.params, err);
    return v;
}

/* Bytes as they are, window after window to the end that was asked for. */
static int read_on_result(const struct pdk_json *result, struct pdk_json **again,
        void *user, struct pdk_err *err)
{
    struct verb_call *v = user;
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;
    int64_t got = pdk_json_get_int(result, "length", 0);
    int64_t left = pdk_json_get_int(v->params, "length", INT64_MAX) - got;

    if (v->cli->json)
        return print_json(v, result) == 0 ? 0 : pdk_fail_nomem(err);
    if (pdk_json_get_bytes(result, "data", &bytes, err) < 0 ||
            pdk_fs_write_fd(STDOUT_FILENO, pdk_buf_str(&bytes), bytes.len, err) < 0)
        return err->code;
    if (pdk_json_get_bool(result, "eof", true) || got == 0 || left <= 0 ||
            pdk_json_get_int(v->params, "line_count", 0) > 0)
        return 0;
    pdk_json_remove(v->params, "line_from");
    (void)pdk_json_set_int(
            v->params, "offset", pdk_json_get_int(result, "offset", 0) + got);
    if (pdk_json_get(v->params, "length"))
        (void)pdk_json_set_int(v->params, "length", left);
    *again = pdk_json_ref(v->params);
    return 0;
}

int pdk_command_sandbox_read(struct pdk_cli *cli, const struct pdk_args *args)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct verb_call v = begin(cli, args, PDK_VERB_READ, &err);

    set_word(&v, args, "path");
    v.ask.on_result = read_on_result;
    if (err.code == 0 && set_number(&v, args, "line", "line_from", &err) == 0 &&
            set_number(&v, args, "lines", "line_count", &err) == 0 &&
            set_number(&v, args, "offset", "offset", &err) == 0)
        (void)set_number(&v, args, "length", "length", &err);
    if (pdk_args_has(args, "lines") && !pdk_args_has(args, "line"))
        (void)pdk_json_set_int(v.params, "line_from", 1);
    return finish(cli, args, &v, &err);
}

int pdk_command_sandbox_write(struct pdk_cli *cli, const struct pdk_args *args)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct verb_call v = begin(cli, args, PDK_VERB_WRITE, &err);
    const char *mode = pdk_args_get(args, "mode", NULL),
               *input = pdk_args_get(args, "input", "-");
    PDK_AUTO_BUF struct pdk_buf data = PDK_BUF_INIT;

    v.print = print_write;
    set_word(&v, args, "path");
    if (mode)
        (void)pdk_json_set_int(v.params, "mode", strtol(mode, NULL, 8));
    if (err.code == 0 && !pdk_json_get(v.params, "data") &&
            !pdk_json_get(v.params, "data_base64") && read_input(input, &data, &err) == 0)
        (void)pdk_json_set_data(v.params, "data", pdk_buf_str(&data), data.len);
    return finish(cli, args, &v, &err);
}

int pdk_command_sandbox_remove(struct pdk_cli *cli, const struct pdk_args *args)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct verb_call v = begin(cli, args, PDK_VERB_REMOVE, &err);

    v.print = print_remove;
    set_word(&v, args, "path");
    set_switch(&v, args, "recursive", "recursive");
    return finish(cli, args, &v, &err);
}

int pdk_command_sandbox_stat(struct pdk_cli *cli, const struct pdk_args *args)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct verb_call v = begin(cli, args, PDK_VERB_STAT_MANY, &err);

    v.print = print_stat;
    if (args->words_len > 1)
        (void)pdk_json_set(v.params, "paths", words(args, 1, "path"));
    return finish(cli, args, &v, &err);
}

int pdk_command_sandbox_glob(struct pdk_cli *cli, const struct pdk_args *args)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct verb_call v = begin(cli, args, PDK_VERB_GLOB, &err);

    v.print = print_glob;
    if (args->words_len > 1)
        (void)pdk_json_set(v.params, "patterns", words(args, 1, "word"));
    set_option(&v, args, "path", "path");
    set_switch(&v, args, "ignored", "ignored");
    if (err.code == 0)
        (void)set_number(&v, args, "limit", "limit", &err);
    return finish(cli, args, &v, &err);
}

int pdk_command_sandbox_grep(struct pdk_cli *cli, const struct pdk_args *args)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct verb_call v = begin(cli, args, PDK_VERB_GREP, &err);

    v.print = print_grep;
    set_word(&v, args, "pattern");
    if (args->words_len > 2)
        (void)pdk_json_set(v.params, "paths", words(args, 2, "word"));
    set_option(&v, args, "path", "path");
    set_switch(&v, args, "ignored", "ignored");
    set_switch(&v, args, "ignore-case", "ignore_case");
    set_switch(&v, args, "fixed", "fixed");
    if (err.code == 0 && set_number(&v, args, "context", "context", &err) == 0)
        (void)set_number(&v, args, "limit", "limit", &err);
    return finish(cli, args, &v, &err);
}

int pdk_command_sandbox_fingerprint(struct pdk_cli *cli, const struct pdk_args *args)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct verb_call v = begin(cli, args, PDK_VERB_FINGERPRINT, &err);

    v.print = print_fingerprint;
    return finish(cli, args, &v, &err);
}
