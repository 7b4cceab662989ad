#include "verify/named.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "plan/plan.h"

/* One simple command, word by word. */
struct reader {
    struct pdk_strv *out;
    char dir[256];   /* where `cd` went; "" for the top */
    bool started;    /* its program's name has been read */
    bool interprets; /* the next word that is no option is a script */
    bool changes;    /* the next word is where `cd` goes */
};

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

/* Words before a command that are none themselves. */
static bool is_prefix(const char *word)
{
    static const char *const list[] = { "!", "do", "else", "elif", "env", "exec", "if",
        "nice", "then", "time", "until", "while", "command", "{" };
    const char *equals = strchr(word, '=');

    if (equals && equals > word && (isalpha((unsigned char)*word) || *word == '_') &&
            !memchr(word, '/', (size_t)(equals - word)))
        return true;
    return is_one_of(word, list, sizeof(list) / sizeof(*list));
}

static bool is_interpreter(const char *word)
{
    static const char *const list[] = { ".", "source", "sh", "bash", "dash", "ash", "ksh",
        "zsh", "perl", "ruby", "node", "php", "lua", "tclsh", "Rscript" };
    const char *slash = strrchr(word, '/');
    const char *name = slash ? slash + 1 : word;

    return pdk_starts_with(name, "python") ||
            is_one_of(name, list, sizeof(list) / sizeof(*list));
}

static void add_path(struct reader *r, const char *word)
{
    while (pdk_starts_with(word, "./"))
        word += 2;
    if (*word == '\0' || *word == '/' || strstr(word, "..") || strchr(word, '$'))
        return;
    pdk_strv_addf(r->out, "%s%s%s", r->dir, r->dir[0] ? "/" : "", word);
}

static void change_dir(struct reader *r, const char *word)
{
    size_t len = strlen(r->dir);

    while (pdk_starts_with(word, "./"))
        word += 2;
    if (*word && strcmp(word, ".") != 0 && len + strlen(word) + 2 < sizeof(r->dir))
        (void)snprintf(r->dir + len, sizeof(r->dir) - len, "%s%s", len ? "/" : "", word);
    len = strlen(r->dir);
    if (len > 1 && r->dir[len - 1] == '/')
        r->dir[len - 1] = '\0';
}

static void take_word(struct reader *r, const char *word)
{
    if (r->changes) {
        change_dir(r, word);
        r->changes = false;
    } else if (r->interprets && *word != '-') {
        add_path(r, word);
        r->interprets = false;
    } else if (!r->started && !is_prefix(word)) {
        r->started = true;
        r->changes = strcmp(word, "cd") == 0;
        r->interprets = is_interpreter(word);
        if (!r->changes && strcmp(word, ".") != 0)
            add_path(r, word);
    }
}

static void end_command(struct reader *r)
{
    r->started = r->interprets = r->changes = false;
}

/* A word of a line up to a blank or an operator; quotes are taken off. */
static const char *read_word(const char *at, struct pdk_buf *word)
{
    char quote = '\0';

    for (; *at; at++) {
        if (quote && *at == quote)
            quote = '\0';
        else if (!quote && (*at == '"' || *at == '\''))
            quote = *at;
        else if (!quote && (isspace((unsigned char)*at) || strchr(";&|()<>`", *at)))
            break;
        else if (*at == '\\' && at[1] && quote != '\'')
            pdk_buf_addc(word, *++at);
        else
            pdk_buf_addc(word, *at);
    }
    return at;
}

static void read_line(struct reader *r, const char *line)
{
    PDK_AUTO_BUF struct pdk_buf word = PDK_BUF_INIT;

    while (*line) {
        if (*line == '\n' || strchr(";&|()`", *line)) {
            end_command(r);
            line++;
        } else if (isspace((unsigned char)*line) || *line == '<' || *line == '>') {
            line++;
        } else {
            pdk_buf_reset(&word);
            line = read_word(line, &word);
            take_word(r, pdk_buf_str(&word));
        }
    }
}

void pdk_named_files(const struct pdk_command *command, struct pdk_strv *out)
{
    struct reader r = { .out = out };

    if (command->shell && command->argv.len >= 3) {
        read_line(&r, command->argv.items[2]);
        return;
    }
    for (size_t i = 0; i < command->argv.len; i++)
        take_word(&r, command->argv.items[i]);
}
