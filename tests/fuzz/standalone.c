/*
 * Runs a fuzz target over files, without a fuzzer: each argument is a file or a folder of files. So the corpus is a
 * regression test in every build. The empty input always runs too.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

static int run_file(const char *path, off_t size)
{
    /* Exactly as long as the input, so that a sanitizer sees a read past its end. */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    FILE *file = fopen(path, "re");
    int rc = -1;
    if (data && file && fread(data, 1, (size_t)size, file) == (size_t)size)
        rc = LLVMFuzzerTestOneInput(data, (size_t)size);
    else
        perror(path);
    if (file)
        (void)fclose(file); /* only read */
    free(data);
    return rc;
}

static int run_path(const char *path);

static int run_folder(const char *path)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    int rc = count < 0 ? -1 : 0;
    for (int i = 0; i < count; i++) {
        char *child = NULL;
        if (entries[i]->d_name[0] != '.' &&
                asprintf(&child, "%s/%s", path, entries[i]->d_name) >= 0) {
            rc = run_path(child) < 0 ? -1 : rc;
            free(child);
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static int run_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0) {
        perror(path);
        return -1;
    }
    return S_ISDIR(st.st_mode) ? run_folder(path) : run_file(path, st.st_size);
}

int main(int argc, char **argv)
{
    int rc = LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++)
        rc = run_path(argv[i]) < 0 ? -1 : rc;
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
