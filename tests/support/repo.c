#include "tests/support/repo.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/command.h"
#include "tests/support/fixture.h"

/* Fixed names and dates: the same content gives the same ids in every run. */
#define GIT                                                                                \
    "GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1"                                    \
    " GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'"    \
    " git -c user.name=Tester -c user.email=tester@example.org -c init.defaultBranch=main" \
    " -c core.hooksPath=/dev/null -c commit.gpgSign=false"

char *pdk_test_git(const char *path, const char *format, ...)
{
    char *tail = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&tail, format, args);
    va_end(args);
    ck_assert_int_ge(length, 0);
    char *out = pdk_test_sh(path, GIT " %s", tail);
    free(tail);
    return out;
}

void pdk_test_repo_init(const char *path)
{
    pdk_test_mkdirs(path);
    free(pdk_test_git(path, "init -q"));
}

void pdk_test_repo_write(const char *path, const char *file, const char *text)
{
    char *full = NULL;
    ck_assert_int_ge(asprintf(&full, "%s/%s", path, file), 0);
    pdk_test_write_text(full, text);
    free(full);
}

char *pdk_test_repo_commit(const char *path, const char *message)
{
    free(pdk_test_git(path, "add -A"));
    free(pdk_test_git(path, "commit -q --allow-empty -m '%s'", message));
    return pdk_test_git(path, "rev-parse HEAD");
}

void pdk_test_repo_sample(const char *path)
{
    pdk_test_repo_init(path);
    pdk_test_repo_write(path, "README", "hello\n");
    pdk_test_repo_write(path, "src/main.c", "int main(void)\n{\n    return 0;\n}\n");
    free(pdk_test_repo_commit(path, "first"));
}
