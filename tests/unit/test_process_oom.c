/* The kernel's count of kills for memory, read from made-up trees. */
#include <check.h>
#include <stdlib.h>

#include "base/auto.h"
#include "process/oom.h"
#include "tests/support/fixture.h"

static void put(const char *path, const char *text)
{
    PDK_AUTO_FREE char *full = pdk_test_path("%s", path);

    pdk_test_write_text(full, text);
}

START_TEST(version_2_is_read_at_our_cgroup)
{
    put("proc/self/cgroup", "0::/user/a\n");
    put("sys/fs/cgroup/user/a/memory.events", "low 0\noom 1\noom_kill 12\n");
    put("sys/fs/cgroup/memory.events", "oom_kill 99\n");
    ck_assert_int_eq(pdk_oom_kills(pdk_test_dir()), 12);
}
END_TEST

START_TEST(in_a_container_the_mount_is_our_cgroup)
{
    put("proc/self/cgroup", "0::/docker/abc\n");
    put("sys/fs/cgroup/memory.events", "oom_kill 4\n");
    ck_assert_int_eq(pdk_oom_kills(pdk_test_dir()), 4);
}
END_TEST

START_TEST(version_1_is_read_by_its_controller)
{
    put("proc/self/cgroup", "9:cpu:/x\n5:memory:/j\n0::/\n");
    put("sys/fs/cgroup/memory/j/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    ck_assert_int_eq(pdk_oom_kills(pdk_test_dir()), 3);
}
END_TEST

START_TEST(what_cannot_be_read_is_no_number)
{
    ck_assert_int_eq(pdk_oom_kills(pdk_test_dir()), -1);
    put("proc/self/cgroup", "garbage\n0::/a\n");
    ck_assert_int_eq(pdk_oom_kills(pdk_test_dir()), -1);
    put("sys/fs/cgroup/a/memory.events", "oom 1\n");
    ck_assert_int_eq(pdk_oom_kills(pdk_test_dir()), -1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("process: oom");
    TCase *tc = tcase_create("oom");

    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_test(tc, version_2_is_read_at_our_cgroup);
    tcase_add_test(tc, in_a_container_the_mount_is_our_cgroup);
    tcase_add_test(tc, version_1_is_read_by_its_controller);
    tcase_add_test(tc, what_cannot_be_read_is_no_number);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
