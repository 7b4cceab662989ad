/* Random patterns and paths: our matching against git's own word. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/ignore.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"

enum { ROUNDS = 60, PATTERNS = 6, PATHS = 60 };

static size_t pick(unsigned int *seed, size_t n)
{
    return (size_t)rand_r(seed) % n;
}

static void add_pattern(struct pdk_buf *text, unsigned int *seed)
{
    static const char *const parts[] = { "a", "b", "ab", "*", "?", "/", "/", "[ab]",
        "[!a]", "[a-c]", "\\*", "\\", "[[:alpha:]]", "[]a]", "[a-]", "[", "[[:nope:]]",
        "**/", "/**", " ", "\\ ", ".", "[^b]", "***", "*.b" };
    size_t n = 1 + pick(seed, 5);

    if (pick(seed, 5) == 0)
        pdk_buf_addc(text, '!');
    if (pick(seed, 4) == 0)
        pdk_buf_addc(text, '/');
    while (n-- > 0)
        pdk_buf_adds(text, parts[pick(seed, sizeof(parts) / sizeof(parts[0]))]);
    if (pick(seed, 8) == 0)
        pdk_buf_adds(text, "/");
    if (pick(seed, 10) == 0)
        pdk_buf_adds(text, "\r");
    pdk_buf_addc(text, '\n');
}

/* Stars that touch something else than slashes: git's answer is not defined for all of them. */
static bool has_loose_stars(const char *line)
{
    for (const char *at = strstr(line, "**"); at; at = strstr(at, "**")) {
        const char *end = at + strspn(at, "*");

        if (at != line && at[-1] != '/' && at[-1] != '!')
            return true;
        at = end;
    }
    return false;
}

static void add_patterns(struct pdk_buf *text, unsigned int *seed)
{
    for (int i = 0; i < PATTERNS; i++) {
        PDK_AUTO_BUF struct pdk_buf line = PDK_BUF_INIT;

        add_pattern(&line, seed);
        if (!has_loose_stars(pdk_buf_str(&line)))
            pdk_buf_adds(text, pdk_buf_str(&line));
    }
}

static void add_path(struct pdk_strv *paths, unsigned int *seed)
{
    static const char *const names[] = { "a", "b", "ab", "ba", "a.b", "c", "*", "[",
        "a b", "-", "aab", "]" };
    PDK_AUTO_BUF struct pdk_buf path = PDK_BUF_INIT;
    size_t depth = 1 + pick(seed, 4);

    for (size_t i = 0; i < depth; i++)
        pdk_buf_addf(&path, "%s%s", i ? "/" : "",
                names[pick(seed, sizeof(names) / sizeof(names[0]))]);
    pdk_strv_add(paths, pdk_buf_str(&path));
}

/* As the walk does it: a directory that is ignored takes along all that is below it. */
static bool ours(const struct pdk_ignore *ignore, const char *path)
{
    PDK_AUTO_FREE char *copy = strdup(path);

    for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (pdk_ignore_match(ignore, copy, true) == PDK_IGNORE_YES)
            return true;
        *slash = '/';
    }
    return pdk_ignore_match(ignore, path, false) == PDK_IGNORE_YES;
}

static void compare(const char *patterns, const struct pdk_strv *paths)
{
    PDK_AUTO_FREE char *repo = pdk_test_path("repo");
    PDK_AUTO_FREE char *rules = pdk_test_path("repo/.gitignore");
    PDK_AUTO_FREE char *input = pdk_test_path("input");
    PDK_AUTO_BUF struct pdk_buf list = PDK_BUF_INIT;
    PDK_AUTO_IGNORE struct pdk_ignore *ignore = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    for (size_t i = 0; i < paths->len; i++)
        pdk_buf_addf(&list, "%s\n", paths->items[i]);
    pdk_test_write_text(rules, patterns);
    pdk_test_write_text(input, pdk_buf_str(&list));
    PDK_AUTO_FREE char *said = pdk_test_sh(repo,
            "git -c core.excludesFile=/dev/null check-ignore -v --non-matching --no-index "
            "--stdin < '%s' || [ $? = 1 ]",
            input);
    ck_assert_int_eq(pdk_ignore_parse(patterns, strlen(patterns), "", &ignore, &err), 0);
    char *at = said;
    for (size_t i = 0; i < paths->len; i++) {
        char *end = strchr(at, '\n'), *tab = strchr(at, '\t');
        const char *rule = at;
        bool theirs;

        ck_assert_ptr_nonnull(tab);
        /* "source:line:pattern": no match has them all empty, a negated one does not ignore. */
        rule = strchr(at, ':') + 1;
        rule = strchr(rule, ':') + 1;
        theirs = rule < tab && *rule != '!';
        ck_assert_msg(ours(ignore, paths->items[i]) == theirs,
                "path '%s': git says %d\n%s\npatterns:\n%s", paths->items[i], theirs, at,
                patterns);
        at = end ? end + 1 : at + strlen(at);
    }
}

START_TEST(as_git_check_ignore_says)
{
    unsigned int seed = (unsigned int)_i * 7919U + 1;
    PDK_AUTO_BUF struct pdk_buf patterns = PDK_BUF_INIT;
    PDK_AUTO_STRV struct pdk_strv paths = PDK_STRV_INIT;
    PDK_AUTO_FREE char *repo = pdk_test_path("repo");

    pdk_test_mkdirs(repo);
    free(pdk_test_sh(repo, "git init -q"));
    add_patterns(&patterns, &seed);
    for (int i = 0; i < PATHS; i++)
        add_path(&paths, &seed);
    compare(pdk_buf_str(&patterns), &paths);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("property_ignore");
    TCase *tc = tcase_create("ignore");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_loop_test(tc, as_git_check_ignore_says, 0, ROUNDS);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
