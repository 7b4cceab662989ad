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

void pdk_test_run(
        const char *const *argv, const char *cwd, struct pdk_test_output *output)
{
    int out = make_sink("stdout");
    int err = make_sink("stderr");
    pid_t pid = start(argv, cwd, out, err);
    int status = 0;
    ck_assert_int_eq(TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)), pid);
    output->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    output->out = take_sink(out, &output->out_size);
    output->err = take_sink(err, &output->err_size);
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
