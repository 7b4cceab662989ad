/* Opening beneath a root: what leads out is refused, by the kernel and by our own walk alike. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"

static int root = -1;

static void setup(void)
{
    pdk_test_dir_setup();
    free(pdk_test_sh(pdk_test_dir(),
            "mkdir -p root/d/e secret; cd root; echo x > d/e/f; echo x > f; echo s > ../secret/f; "
            "ln -s .. d/up; ln -s ../.. d/out; ln -s ../../secret d/evil; ln -s /etc abs; "
            "ln -s self self; ln -s d/e l; ln -s d/e/f lf; ln -s d/new dangling; "
            "ln -s d/../d/e/ dd; ln -s . here; ln -s l/../.. tricky; ln -s f/ notdir; mkfifo p; "
            "ln -s d link40; i=39; while [ $i -ge 0 ]; do ln -s link$((i+1)) link$i; i=$((i-1)); done"));
    PDK_AUTO_FREE char *path = pdk_test_path("root");
    root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(root, 0);
}

static void teardown(void)
{
    (void)close(root);
    pdk_test_dir_discard();
}

/* The name of what is open, from the root on; what was made (every file of the fixture has content) is removed. */
static char *made(int fd, const struct stat *st)
{
    PDK_AUTO_FREE char *link = pdk_strf("/proc/self/fd/%d", fd);
    char path[4096] = "";

    ck_assert_int_gt(readlink(link, path, sizeof(path) - 1), 0);
    ck_assert_int_eq(unlink(path), 0);
    return pdk_strf("made %s %o", strstr(path, "/root/"), st->st_mode);
}

/* What an opening came to: an errno, or which file it is and how it is open. */
static char *told(int fd)
{
    struct stat st;
    char *text;

    if (fd < 0)
        return strdup(strerrorname_np(errno));
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    if (S_ISREG(st.st_mode) && st.st_size == 0)
        text = made(fd, &st);
    else
        text = pdk_strf("inode %llu, flags %o", (unsigned long long)st.st_ino,
                (unsigned int)(fcntl(fd, F_GETFL) & ~O_NOFOLLOW));
    (void)close(fd);
    return text;
}

static char *try(bool walk, const char *path, int flags, bool follow)
{
    if (walk)
        return told(pdk_beneath_walk(root, path, flags, 0640, follow));
    return told(follow ? pdk_beneath_follow(root, path, flags, 0640)
                       : pdk_beneath_open(root, path, flags, 0640));
}

static void expect_equal(const char *path, int flags, bool follow)
{
    PDK_AUTO_FREE char *kernels = try(false, path, flags, follow);
    PDK_AUTO_FREE char *ours = try(true, path, flags, follow);

    ck_assert_msg(strcmp(kernels, ours) == 0,
            "'%s' (flags %o, follow %d): %s, walked: %s", path, (unsigned int)flags,
            follow, kernels, ours);
}

static const int all_flags[] = { O_RDONLY | O_NONBLOCK,
    O_RDONLY | O_NONBLOCK | O_NOFOLLOW, O_RDONLY | O_DIRECTORY,
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW, O_PATH, O_PATH | O_NOFOLLOW,
    O_PATH | O_DIRECTORY, O_PATH | O_DIRECTORY | O_NOFOLLOW, O_RDWR | O_NONBLOCK,
    O_WRONLY | O_CREAT | O_NONBLOCK, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
    O_WRONLY | O_CREAT | O_EXCL, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW };

enum { FLAGS = sizeof(all_flags) / sizeof(all_flags[0]) };

START_TEST(the_walk_is_the_kernels_equal)
{
    static const char *const paths[] = { "", "/", "/etc", ".", "./", "..", "../",
        "../root", "f", "f/", "f/.", "f/..", "./f", ".//f", "missing", "missing/",
        "missing/x", "missing/..", "d", "d/", "d//", "d/.", "d/..", "d/../f", "d/../..",
        "d/../../root/f", "d/e/f", "d/e/../../f", "d/e/../../../secret/f", "d/up",
        "d/up/", "d/up/f", "d/out", "d/out/secret/f", "d/evil", "d/evil/f", "abs", "abs/",
        "abs/passwd", "self", "self/x", "l", "l/", "l/f", "l/..", "l/../e/f", "lf", "lf/",
        "dangling", "dangling/", "d/new", "d/new/", "dd", "dd/f", "dd/..", "here",
        "here/", "here/here/f", "tricky", "tricky/d", "notdir", "p", "p/", "p/x", "link0",
        "link1", "link1/", "link1/e", "here/link1", "here/here/link1/e/f", "d/e/./../.",
        "new/../d/new" };

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        expect_equal(paths[i], all_flags[_i], false);
        expect_equal(paths[i], all_flags[_i], true);
    }
}
END_TEST

START_TEST(any_path_ends_as_with_the_kernel)
{
    static const char *const names[] = { "d", "e", "f", "l", "lf", "up", "out", "evil",
        "abs", "here", "dd", "tricky", "link39", "..", "..", ".", "", "dangling", "self",
        "new" };
    unsigned int seed = (unsigned int)_i + 1;

    for (int round = 0; round < 300; round++) {
        PDK_AUTO_BUF struct pdk_buf path = PDK_BUF_INIT;
        size_t n = 1 + (size_t)rand_r(&seed) % 7;

        for (size_t i = 0; i < n; i++)
            pdk_buf_addf(&path, "%s%s", i > 0 ? "/" : "",
                    names[(size_t)rand_r(&seed) % (sizeof(names) / sizeof(names[0]))]);
        expect_equal(pdk_buf_str(&path), all_flags[(size_t)rand_r(&seed) % FLAGS],
                rand_r(&seed) % 2);
    }
}
END_TEST

START_TEST(what_leads_out_is_told_as_such)
{
    static const struct {
        const char *path;
        int open_errno, follow_errno; /* 0: it is opened */
    } rows[] = { { "d/e/f", 0, 0 }, { "..", EXDEV, EXDEV }, { "/etc", EXDEV, EXDEV },
        { "d/../../secret/f", EXDEV, EXDEV }, { "d/up/f", ELOOP, 0 }, { "l/f", ELOOP, 0 },
        { "lf", ELOOP, 0 }, { "d/evil/f", ELOOP, EXDEV }, { "d/out", ELOOP, EXDEV },
        { "abs/passwd", ELOOP, EXDEV }, { "tricky", ELOOP, 0 }, { "self", ELOOP, ELOOP },
        { "link0", ELOOP, ELOOP }, { "link1", ELOOP, 0 }, { "missing", ENOENT, ENOENT },
        { "f/x", ENOTDIR, ENOTDIR } };

    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        const char *path = rows[i / 2].path;
        bool follow = i % 2;
        int expected = follow ? rows[i / 2].follow_errno : rows[i / 2].open_errno;
        PDK_AUTO_FD int fd =
                pdk_beneath_walk(root, path, O_RDONLY | O_NONBLOCK, 0, follow);

        ck_assert_msg(
                (fd < 0 ? errno : 0) == expected, "'%s': %s", path, strerror(errno));
    }
}
END_TEST

START_TEST(too_long_a_path_is_refused)
{
    PDK_AUTO_BUF struct pdk_buf path = PDK_BUF_INIT;

    for (int i = 0; i < 2048; i++)
        pdk_buf_adds(&path, "./");
    expect_equal(pdk_buf_str(&path), O_RDONLY, false);
    pdk_buf_drop(&path, 2);
    expect_equal(pdk_buf_str(&path), O_RDONLY, false);
    pdk_buf_reset(&path);
    for (int i = 0; i < 256; i++)
        pdk_buf_addc(&path, 'x');
    expect_equal(pdk_buf_str(&path), O_RDONLY, false);
    pdk_buf_adds(&path, "/y");
    expect_equal(pdk_buf_str(&path), O_RDONLY, true);
}
END_TEST

/* ---- while somebody swaps a directory for a link that leads out */

static void *swap_all_the_time(void *arg)
{
    const atomic_bool *over = arg;

    while (!atomic_load(over))
        ck_assert_int_eq(renameat2(root, "d", root, "swap", RENAME_EXCHANGE), 0);
    return NULL;
}

START_TEST(a_swapped_directory_leads_nowhere)
{
    PDK_AUTO_FREE char *secret = pdk_test_path("secret/f");
    atomic_bool over = false;
    struct stat outside, st;
    pthread_t swapper;
    int opened = 0;

    ck_assert_int_eq(stat(secret, &outside), 0);
    free(pdk_test_sh(pdk_test_dir(), "echo x > root/d/f; ln -s ../secret root/swap"));
    ck_assert_int_eq(pthread_create(&swapper, NULL, swap_all_the_time, &over), 0);
    for (int i = 0; i < 20000; i++) {
        bool follow = i % 2;
        PDK_AUTO_FD int fd = i % 4 < 2
                ? pdk_beneath_walk(root, "d/f", O_RDONLY, 0, follow)
                : pdk_beneath_walk(root, "d/e/../f", O_RDONLY, 0, follow);

        if (fd < 0)
            continue;
        ck_assert_int_eq(fstat(fd, &st), 0);
        ck_assert(st.st_ino != outside.st_ino);
        opened++;
    }
    atomic_store(&over, true);
    ck_assert_int_eq(pthread_join(swapper, NULL), 0);
    ck_assert_int_gt(opened, 0);
}
END_TEST

static int open_descriptors(void)
{
    PDK_AUTO_DIR DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(dir))
        n++;
    return n;
}

START_TEST(no_descriptor_stays_open)
{
    int before = open_descriptors();

    for (int i = 0; i < 50; i++) {
        PDK_AUTO_FD int fd =
                pdk_beneath_walk(root, "l/../e/../up/dd/f", O_RDONLY, 0, true);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_lt(pdk_beneath_walk(root, "l/../e/../out/x", O_RDONLY, 0, true), 0);
        ck_assert_int_lt(pdk_beneath_walk(root, "d/e/missing", O_RDONLY, 0, false), 0);
    }
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/beneath");
    TCase *tc = tcase_create("beneath");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, the_walk_is_the_kernels_equal, 0, FLAGS);
    tcase_add_loop_test(tc, any_path_ends_as_with_the_kernel, 0, 20);
    tcase_add_test(tc, what_leads_out_is_told_as_such);
    tcase_add_test(tc, too_long_a_path_is_refused);
    tcase_add_test(tc, a_swapped_directory_leads_nowhere);
    tcase_add_test(tc, no_descriptor_stays_open);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
