#include "tests/support/command.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Output goes to memory files, so a program that writes a lot to both never blocks us. */
static int make_sink(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static char *take_sink(int fd, size_t *size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    ck_assert_int_ge(end, 0);
    char *data = malloc((size_t)end + 1);
    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(pread(fd, data, (size_t)end, 0), end);
    data[end] = '\0';
    *size = (size_t)end;
    ck_assert_int_eq(close(fd), 0);
    return data;
}

static pid_t start(const char *const *argv, const char *cwd, int out, int err)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    ck_assert_int_eq(
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0), 0);
    ck_assert_int_eq(posix_spawn_file_actions_adddup2(&actions, out, 1), 0);
    ck_assert_int_eq(posix_spawn_file_actions_adddup2(&actions, err, 2), 0);
    if (cwd)
        ck_assert_int_eq(posix_spawn_file_actions_addchdir_np(&actions, cwd), 0);
    /* posix_spawn takes pointers to non-const for history's sake only. */
    char *const *args = (char *const *)(const void *)argv;
    int rc = posix_spawnp(&pid, argv[0], &actions, NULL, args, environ);
    ck_assert_msg(rc == 0, "cannot start %s: %s", argv[0], strerror(rc));
    ck_assert_int_eq(posix_spawn_file_actions_destroy(&actions), 0);
    return pid;
}

/*
 * A working copy that is mounted in a namespace: the file beside it tells who holds it (backends/overlay).
 * The path of the namespace, owned by the caller; NULL for any other directory.
 */
static char *find_namespace(const char *cwd)
{
    char *name = NULL, *space = NULL;
    int pid = 0, fd = 0;

    ck_assert_int_ge(asprintf(&name, "%s/../holders", cwd), 0);
    FILE *file = fopen(name, "re");
    while (file && fscanf(file, "%d %d %*[^\n]", &pid, &fd) == 2)
        ; /* the last one was the last to come */
    if (pid > 0)
        ck_assert_int_ge(asprintf(&space, "/proc/%d/fd/%d", pid, fd), 0);
    if (file)
        (void)fclose(file);
    free(name);
    return space;
}

static pid_t start_inside(
        const char *space, const char *const *argv, const char *cwd, int out, int err)
{
    const char *inside[20] = { PDK_TEST_CHILD_DIR "/child_enter", space, cwd };
    size_t n = 3;

    for (; *argv; argv++) {
        ck_assert_uint_lt(n + 1, sizeof(inside) / sizeof(inside[0]));
        inside[n++] = *argv;
    }
    return start(inside, NULL, out, err);
}

void pdk_test_run(
        const char *const *argv, const char *cwd, struct pdk_test_output *output)
{
    int out = make_sink("stdout");
    int err = make_sink("stderr");
    char *space = cwd ? find_namespace(cwd) : NULL;
    pid_t pid =
            space ? start_inside(space, argv, cwd, out, err) : start(argv, cwd, out, err);
    int status = 0;
    ck_assert_int_eq(TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)), pid);
    output->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    output->out = take_sink(out, &output->out_size);
    output->err = take_sink(err, &output->err_size);
    free(space);
}

void pdk_test_output_fini(struct pdk_test_output *output)
{
    free(output->out);
    free(output->err);
    *output = (struct pdk_test_output){ 0 };
}

char *pdk_test_sh(const char *cwd, const char *format, ...)
{
    char *script = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&script, format, args);
    va_end(args);
    ck_assert_int_ge(length, 0);
    const char *const argv[] = { "sh", "-c", script, NULL };
    struct pdk_test_output output;
    pdk_test_run(argv, cwd, &output);
    ck_assert_msg(output.status == 0, "%s: status %d\n%s%s", script, output.status,
            output.out, output.err);
    free(script);
    if (output.out_size > 0 && output.out[output.out_size - 1] == '\n')
        output.out[output.out_size - 1] = '\0';
    char *out = output.out;
    output.out = NULL;
    pdk_test_output_fini(&output);
    return out;
}
