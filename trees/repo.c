/*
 * Finding the user's repository and running git on it. git is the only reader: it copes with worktree
 * configuration, sparse checkouts and formats that no library here knows, and says so where it does
 * not.
 */
#include "trees/repo.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "process/env.h"
#include "process/run.h"
#include "trees/index_cache.h"
#include "trees/repo_internal.h"

/* What keeps git from running anything of the user's, or asking anybody. */
static const char *const safe_config[] = { "-c", "core.hooksPath=/dev/null", "-c",
    "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c",
    "protocol.allow=never", "-c", "gc.auto=0", "-c", "core.fsync=all", "-c",
    "advice.detachedHead=false" };

void pdk_repo_free(struct pdk_repo *repo)
{
    if (!repo)
        return;
    free(repo->root);
    free(repo->prefix);
    free(repo->git_dir);
    free(repo->common_dir);
    free(repo->objects);
    free(repo->user_name);
    free(repo->user_email);
    free(repo->excludes_file);
    free(repo->autocrlf);
    free(repo->eol);
    pdk_index_cache_free(repo->indexes);
    free(repo);
}

/* The base environment has no GIT_* at all; the user's own configuration is found through HOME. */
static int make_env(const char *const *extra, struct pdk_strv *env, struct pdk_err *err)
{
    pdk_env_base(env);
    pdk_env_pass(env, "XDG_CONFIG_HOME");
    pdk_env_set(env, "LC_ALL", "C");
    pdk_env_set(env, "GIT_TERMINAL_PROMPT", "0");
    pdk_env_set(env, "GIT_OPTIONAL_LOCKS", "0");
    pdk_env_set(env, "GIT_NO_REPLACE_OBJECTS", "1");
    for (size_t i = 0; extra && extra[i]; i++)
        pdk_strv_add(env, extra[i]);
    return pdk_strv_ok(env, err);
}

int pdk_git_run(const struct pdk_git_spec *spec, struct pdk_run_result *result,
        struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv argv = PDK_STRV_INIT;
    PDK_AUTO_STRV struct pdk_strv env = PDK_STRV_INIT;
    struct pdk_run_spec run = { .cwd = spec->dir,
        .input = spec->input,
        .input_len = spec->input_len,
        .timeout_ms = 600000,
        .max_output = (size_t)1 << 30 };

    pdk_strv_add(&argv, "git");
    for (size_t i = 0; i < sizeof(safe_config) / sizeof(safe_config[0]); i++)
        pdk_strv_add(&argv, safe_config[i]);
    for (size_t i = 0; spec->args[i]; i++)
        pdk_strv_add(&argv, spec->args[i]);
    if (pdk_strv_ok(&argv, err) < 0 || make_env(spec->env, &env, err) < 0)
        return err->code;
    run.argv = (const char *const *)argv.items;
    run.envp = (const char *const *)env.items;
    return pdk_run(&run, result, err);
}

/* git's own complaint, without its prefix. */
int pdk_git_complain(const struct pdk_git_spec *spec, const struct pdk_run_result *result,
        struct pdk_err *err)
{
    const char *said = pdk_buf_str(&result->err);

    if (pdk_starts_with(said, "fatal: "))
        said += strlen("fatal: ");
    if (pdk_starts_with(said, "error: "))
        said += strlen("error: ");
    return pdk_fail(err, PDK_EIO, 0, "git %s: %.*s", spec->args[0],
            (int)strcspn(said, "\n"), said[0] ? said : "failed without a word");
}

int pdk_repo_git(const struct pdk_repo *repo, const char *const *args,
        const char *const *env, struct pdk_buf *out, struct pdk_err *err)
{
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    struct pdk_git_spec spec = { .dir = repo->root, .args = args, .env = env };

    if (pdk_git_run(&spec, &result, err) < 0)
        return err->code;
    if (result.exit_code != 0)
        return pdk_git_complain(&spec, &result, err);
    if (out)
        pdk_buf_add(out, pdk_buf_str(&result.out), result.out.len);
    return out ? pdk_buf_ok(out, err) : 0;
}

/* ---- opening */

/* The next line of *at, cut off; NULL at the end. */
static char *next_line(char **at)
{
    char *line = *at, *end;

    if (!line || !*line)
        return NULL;
    end = strchr(line, '\n');
    *at = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    return line;
}

static int explain(const char *said, const char *dir, struct pdk_err *err)
{
    if (strstr(said, "dubious ownership")) {
        (void)pdk_fail(err, PDK_EUNAVAIL, 0,
                "the repository at '%s' belongs to somebody else", dir);
        return pdk_hint(
                err, "git config --global --add safe.directory DIR, if you trust it");
    }
    if (strstr(said, "must be run in a work tree")) {
        (void)pdk_fail(err, PDK_EUNAVAIL, 0,
                "'%s' is in a bare repository or a .git directory", dir);
        return pdk_hint(err, "work in a checkout of it: git worktree add DIR");
    }
    if (strstr(said, "unknown repository extension") ||
            strstr(said, "repository version")) {
        (void)pdk_fail(err, PDK_EUNAVAIL, 0, "this git cannot read the repository: %.*s",
                (int)strcspn(said, "\n"), said);
        return pdk_hint(err,
                "a newer git may; SHA-256 and reftable repositories are not supported");
    }
    if (strstr(said, "not a git repository")) {
        (void)pdk_fail(err, PDK_EUNAVAIL, 0, "'%s' is in no git repository", dir);
        return pdk_hint(
                err, "go to a repository, name one with -C, or make one: git init");
    }
    return pdk_fail(err, PDK_EUNAVAIL, 0, "git: %.*s", (int)strcspn(said, "\n"), said);
}

static char *copy_line(char **at)
{
    const char *line = next_line(at);

    return line ? strdup(line) : NULL;
}

static int check_format(const char *format, const char *bare, struct pdk_err *err)
{
    if (bare && strcmp(bare, "true") == 0)
        return explain("must be run in a work tree", "this directory", err);
    if (format && strcmp(format, "sha1") == 0)
        return 0;
    (void)pdk_fail(err, PDK_EUNAVAIL, 0, "the repository uses %s object ids",
            format ? format : "unknown");
    return pdk_hint(err, "only SHA-1 repositories are supported");
}

/* One answer of rev-parse, whatever bytes it has: all but the newline at its end. */
static int ask(const char *dir, const char *flag, const char *argument, char **out,
        struct pdk_err *err)
{
    const char *const args[] = { "rev-parse", "--path-format=absolute", flag, argument,
        NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    struct pdk_git_spec spec = { .dir = dir, .args = args };

    if (pdk_git_run(&spec, &result, err) < 0)
        return err->code;
    if (result.exit_code != 0 || result.out.len == 0)
        return explain(pdk_buf_str(&result.err), dir, err);
    *out = strndup(result.out.data, result.out.len - 1);
    return *out ? 0 : pdk_fail_nomem(err);
}

/* The slow way, for paths with newlines in them. */
static int ask_each(const char *dir, struct pdk_repo *repo, struct pdk_err *err)
{
    if (ask(dir, "--show-toplevel", NULL, &repo->root, err) < 0 ||
            ask(dir, "--absolute-git-dir", NULL, &repo->git_dir, err) < 0 ||
            ask(dir, "--git-common-dir", NULL, &repo->common_dir, err) < 0 ||
            ask(dir, "--git-path", "objects", &repo->objects, err) < 0)
        return err->code;
    return ask(dir, "--show-prefix", NULL, &repo->prefix, err);
}

static size_t count_lines(const struct pdk_buf *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->len; i++)
        n += text->data[i] == '\n';
    return n;
}

static void take_lines(char *at, struct pdk_repo *repo)
{
    repo->root = copy_line(&at);
    repo->git_dir = copy_line(&at);
    repo->common_dir = copy_line(&at);
    repo->objects = copy_line(&at);
    repo->prefix = copy_line(&at);
    if (!repo->prefix)
        repo->prefix = strdup("");
}

/* Everything that one rev-parse can tell. Its lines come in the order of the flags. */
static int find_paths(const char *dir, struct pdk_repo *repo, struct pdk_err *err)
{
    static const char *const args[] = { "rev-parse", "--path-format=absolute",
        "--is-bare-repository", "--show-object-format", "--show-toplevel",
        "--absolute-git-dir", "--git-common-dir", "--git-path", "objects",
        "--show-prefix", NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    struct pdk_git_spec spec = { .dir = dir, .args = args };
    char *at, *bare, *format;
    size_t lines;

    if (!pdk_fs_exists(dir))
        return pdk_fail(err, PDK_ENOTFOUND, 0, "there is no directory '%s'", dir);
    if (pdk_git_run(&spec, &result, err) < 0) {
        if (err->code == PDK_ENOTFOUND)
            err->code = PDK_EUNAVAIL;
        return pdk_hint(err, "paddock needs git on the PATH");
    }
    if (result.exit_code != 0)
        return explain(pdk_buf_str(&result.err), dir, err);
    lines = count_lines(&result.out);
    at = result.out.data;
    bare = next_line(&at);
    format = next_line(&at);
    if (check_format(format, bare, err) < 0)
        return err->code;
    if (lines <= 7) /* one for each flag */
        take_lines(at, repo);
    else if (ask_each(dir, repo, err) < 0)
        return err->code;
    if (!repo->root || !repo->git_dir || !repo->common_dir || !repo->objects ||
            !repo->prefix)
        return pdk_fail(err, PDK_EIO, 0, "git says too little about '%s'", dir);
    if (pdk_ends_with(repo->prefix, "/"))
        repo->prefix[strlen(repo->prefix) - 1] = '\0';
    return 0;
}

static int set_text(char **to, const char *value, struct pdk_err *err)
{
    free(*to);
    *to = strdup(value);
    return *to ? 0 : pdk_fail_nomem(err);
}

/* "~/x" as git reads it: the only form of home directory that matters for core.excludesFile. */
static int set_excludes(struct pdk_repo *repo, const char *value, struct pdk_err *err)
{
    const char *home = getenv("HOME"); /* the program never changes its environment */

    free(repo->excludes_file);
    if (pdk_starts_with(value, "~/") && home)
        repo->excludes_file = pdk_path_join(home, value + 2);
    else
        repo->excludes_file = pdk_path_join(repo->root, value);
    return repo->excludes_file ? 0 : pdk_fail_nomem(err);
}

/*
 * What hides files is the repository's to say, not somebody's global habit: a mission's new file must
 * not be lost by a rule that the repository does not have.
 */
static bool is_of_the_repository(const char *scope)
{
    return strcmp(scope, "local") == 0 || strcmp(scope, "worktree") == 0;
}

static int take_config(struct pdk_repo *repo, const char *scope, const char *key,
        const char *value, struct pdk_err *err)
{
    if (strcmp(key, "user.name") == 0)
        return set_text(&repo->user_name, value, err);
    if (strcmp(key, "user.email") == 0)
        return set_text(&repo->user_email, value, err);
    if (strcmp(key, "core.autocrlf") == 0)
        return set_text(&repo->autocrlf, value, err);
    if (strcmp(key, "core.eol") == 0)
        return set_text(&repo->eol, value, err);
    if (strcmp(key, "core.excludesfile") == 0 && is_of_the_repository(scope))
        return set_excludes(repo, value, err);
    if (strcmp(key, "core.filemode") == 0)
        repo->file_mode = strcmp(value, "false") != 0;
    return 0;
}

/* "scope\0key\nvalue\0" after one another; later ones win, as in git. */
static int read_config(struct pdk_repo *repo, struct pdk_err *err)
{
    static const char *const args[] = { "config", "-z", "--show-scope", "--get-regexp",
        "^(user\\.(name|email)|core\\.(autocrlf|eol|excludesfile|filemode))$", NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    struct pdk_git_spec spec = { .dir = repo->root, .args = args };
    const char *at, *end, *scope;

    repo->file_mode = true;
    if (pdk_git_run(&spec, &result, err) < 0)
        return err->code;
    if (result.exit_code > 1)
        return pdk_git_complain(&spec, &result, err);
    at = pdk_buf_str(&result.out);
    end = at + result.out.len;
    while (at < end) {
        const char *entry = at + strlen(at) + 1;
        const char *newline = entry < end ? strchr(entry, '\n') : NULL;
        PDK_AUTO_FREE char *key =
                newline ? strndup(entry, (size_t)(newline - entry)) : NULL;

        scope = at;
        if (key && take_config(repo, scope, key, newline + 1, err) < 0)
            return err->code;
        at = entry < end ? entry + strlen(entry) + 1 : end;
    }
    return 0;
}

static int check_head(struct pdk_repo *repo, struct pdk_err *err)
{
    static const char *const args[] = { "rev-parse", "--verify", "--quiet",
        "HEAD^{commit}", NULL };
    PDK_AUTO_RUN_RESULT struct pdk_run_result result = { 0 };
    struct pdk_git_spec spec = { .dir = repo->root, .args = args };

    if (pdk_git_run(&spec, &result, err) < 0)
        return err->code;
    repo->unborn = result.exit_code != 0;
    return 0;
}

int pdk_repo_open(const char *dir, struct pdk_repo **out, struct pdk_err *err)
{
    PDK_AUTO_REPO struct pdk_repo *repo = calloc(1, sizeof(*repo));

    if (repo)
        repo->indexes = pdk_index_cache_new();
    if (!repo || !repo->indexes)
        return pdk_fail_nomem(err);
    if (find_paths(dir, repo, err) < 0 || read_config(repo, err) < 0 ||
            check_head(repo, err) < 0)
        return err->code;
    *out = pdk_take_ptr(&repo);
    return 0;
}
