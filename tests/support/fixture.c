#include "tests/support/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One test runs at a time in a process, so one directory is enough. */
static char test_dir[PATH_MAX];

void pdk_test_dir_setup(void)
{
    const char *parent = getenv("TMPDIR");
    char *template = NULL;
    ck_assert_int_gt(
            asprintf(&template, "%s/pdk-unit.XXXXXX", parent ? parent : "/tmp"), 0);
    ck_assert_msg(mkdtemp(template) != NULL, "mkdtemp %s: %s", template, strerror(errno));
    ck_assert_ptr_nonnull(realpath(template, test_dir));
    free(template);
}

void pdk_test_dir_teardown(void)
{
    int rc = rmdir(test_dir);
    if (rc < 0 && errno == ENOTEMPTY) {
        struct dirent **left = NULL;
        int count = scandir(test_dir, &left, NULL, alphasort);
        const char *last = count > 0 ? left[count - 1]->d_name : "?";
        pdk_test_remove(test_dir);
        ck_abort_msg("the test left %d things in its directory, such as '%s'", count - 2,
                last);
    }
    ck_assert_msg(rc == 0, "rmdir %s: %s", test_dir, strerror(errno));
    test_dir[0] = '\0';
}

void pdk_test_dir_discard(void)
{
    pdk_test_remove(test_dir);
    test_dir[0] = '\0';
}

const char *pdk_test_dir(void)
{
    ck_assert_msg(test_dir[0] != '\0', "this test case has no directory fixture");
    return test_dir;
}

char *pdk_test_path(const char *format, ...)
{
    char *name = NULL;
    char *path = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&name, format, args);
    va_end(args);
    ck_assert_int_ge(length, 0);
    ck_assert_int_ge(asprintf(&path, "%s/%s", pdk_test_dir(), name), 0);
    free(name);
    return path;
}

void pdk_test_mkdirs(const char *path)
{
    char *copy = strdup(path);
    ck_assert_ptr_nonnull(copy);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        ck_assert_msg(mkdir(copy, 0777) == 0 || errno == EEXIST, "mkdir %s: %s", copy,
                strerror(errno));
        *slash = '/';
    }
    ck_assert_msg(mkdir(copy, 0777) == 0 || errno == EEXIST, "mkdir %s: %s", copy,
            strerror(errno));
    free(copy);
}

static void make_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return;
    char *parent = strndup(path, (size_t)(slash - path));
    ck_assert_ptr_nonnull(parent);
    pdk_test_mkdirs(parent);
    free(parent);
}

void pdk_test_write(const char *path, const void *data, size_t size)
{
    make_parent(path);
    FILE *file = fopen(path, "we");
    ck_assert_msg(file != NULL, "open %s: %s", path, strerror(errno));
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

void pdk_test_write_text(const char *path, const char *text)
{
    pdk_test_write(path, text, strlen(text));
}

char *pdk_test_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "re");
    ck_assert_msg(file != NULL, "open %s: %s", path, strerror(errno));
    char *data = NULL;
    size_t capacity = 0;
    size_t used = 0;
    size_t got = 0;
    do {
        capacity = capacity * 2 + 4096;
        data = realloc(data, capacity + 1);
        ck_assert_ptr_nonnull(data);
        got = fread(data + used, 1, capacity - used, file);
        used += got;
    } while (got > 0 && used == capacity);
    ck_assert_int_eq(ferror(file), 0);
    ck_assert_int_eq(fclose(file), 0);
    data[used] = '\0';
    if (size)
        *size = used;
    return data;
}

bool pdk_test_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Before its entries are removed, a folder must be writable for us. */
static int open_up(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    if (type == FTW_D || type == FTW_DNR)
        return chmod(path, st->st_mode | S_IRWXU);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void pdk_test_remove(const char *path)
{
    if (!pdk_test_exists(path))
        return;
    ck_assert_int_eq(nftw(path, open_up, 32, FTW_PHYS), 0);
    ck_assert_msg(nftw(path, remove_one, 32, FTW_PHYS | FTW_DEPTH) == 0, "remove %s: %s",
            path, strerror(errno));
}

int pdk_test_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
