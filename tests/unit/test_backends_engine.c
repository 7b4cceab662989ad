/* Container engines: the argv that starts a container, word by word, and what becomes of what a client says. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/container/engine.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "tests/support/fixture.h"

static struct pdk_err err;

/* A client called "docker" that is the script, first on the PATH. */
static void setup(void)
{
    pdk_test_dir_setup();
    err = (struct pdk_err)PDK_ERR_INIT;
    PDK_AUTO_FREE char *bin = pdk_test_path("bin");
    PDK_AUTO_FREE char *path = pdk_strf("%s:%s", bin, getenv("PATH"));
    pdk_test_mkdirs(bin);
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
}

static void say(const char *script)
{
    PDK_AUTO_FREE char *path = pdk_test_path("bin/docker");
    PDK_AUTO_FREE char *text = pdk_strf("#!/bin/sh\n%s\n", script);

    ck_assert_int_eq(pdk_fs_write(path, text, strlen(text), 0755, 0, &err), 0);
    ck_assert_int_eq(chmod(path, 0755), 0);
}

START_TEST(a_container_is_started_by_these_words)
{
    static const char *const command[] = { "/opt/agent", "--root", "/w,\"x", NULL };
    static const struct pdk_bind binds[] = { { "/w,\"x", false }, { "/objects", true } };
    static const struct pdk_container container = { .name = "n",
        .owner = "/state",
        .run = "r1",
        .image = "sha256:1",
        .network = "none",
        .user = "1:2",
        .cpus = 0.5,
        .memory = 64 << 20,
        .pids = 7,
        .binds = binds,
        .binds_len = 2,
        .command = command };
    static const char *const golden[] = { "docker", "run", "--interactive", "--rm",
        "--name=n", "--label=paddock.owner=/state", "--label=paddock.run=r1",
        "--log-driver=none", "--network=none", "--cap-drop=ALL",
        "--security-opt=no-new-privileges", "--user=1:2", "--env=HOME=/tmp",
        "--tmpfs=/tmp:rw,exec,mode=1777", "--cpus=0.5", "--pids-limit=7",
        "--memory=67108864", "--memory-swap=67108864", "--mount",
        "type=bind,\"source=/w,\"\"x\",\"target=/w,\"\"x\"", "--mount",
        "type=bind,source=/objects,target=/objects,readonly", "--entrypoint=/opt/agent",
        "--pull=never", "--", "sha256:1", "--root", "/w,\"x" };
    PDK_AUTO_STRV struct pdk_strv argv = PDK_STRV_INIT;

    pdk_engine_run_argv(&pdk_docker_engine, &container, &argv);
    ck_assert_uint_eq(argv.len, sizeof(golden) / sizeof(*golden));
    for (size_t i = 0; i < argv.len; i++)
        ck_assert_str_eq(argv.items[i], golden[i]);
}
END_TEST

START_TEST(facts_are_what_it_says_of_itself)
{
    struct pdk_engine_facts facts = { 0 };

    say("echo '{\"ServerVersion\": \"9\", \"DefaultRuntime\": \"runsc\", \"KernelVersion\": \"6\"}'");
    ck_assert_int_eq(pdk_engine_probe(&pdk_docker_engine, &facts, &err), 0);
    ck_assert_str_eq(facts.version, "9");
    ck_assert_str_eq(facts.runtime, "runsc");
    ck_assert_str_eq(facts.kernel, "6");
    pdk_engine_facts_fini(&facts);
}
END_TEST

START_TEST(an_engine_that_does_not_answer_cannot_be_had)
{
    static const char *const scripts[] = { "echo no daemon >&2; exit 1",
        "echo '{\"ServerErrors\": [\"no daemon\"]}'", "echo no daemon", "kill -9 $$" };
    struct pdk_engine_facts facts = { 0 };

    for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
        say(scripts[i]);
        ck_assert_int_eq(
                pdk_engine_probe(&pdk_docker_engine, &facts, &err), PDK_EUNAVAIL);
        ck_assert_ptr_null(facts.version);
        ck_assert_str_ne(err.hint, "");
    }
    ck_assert_int_eq(setenv("PATH", "/nowhere", 1), 0);
    ck_assert_int_eq(pdk_engine_probe(&pdk_docker_engine, &facts, &err), PDK_EUNAVAIL);
    ck_assert_ptr_nonnull(strstr(err.msg, "not installed"));
}
END_TEST

START_TEST(an_image_is_pulled_only_where_that_was_asked_for)
{
    PDK_AUTO_FREE char *id = NULL;
    PDK_AUTO_FREE char *pulled = pdk_test_path("pulled");
    PDK_AUTO_FREE char *script = pdk_strf("case $1 in\n"
                                          "pull) : > '%s' ;;\n"
                                          "*) [ -e '%s' ] && echo sha256:7 ;;\n"
                                          "esac",
            pulled, pulled);

    say(script);
    ck_assert_int_eq(
            pdk_engine_image(&pdk_docker_engine, "i", NULL, &id, &err), PDK_EUNAVAIL);
    ck_assert_ptr_nonnull(strstr(err.hint, "docker pull 'i'"));
    ck_assert(!pdk_test_exists(pulled));
    ck_assert_int_eq(pdk_engine_image(&pdk_docker_engine, "i", "missing", &id, &err), 0);
    ck_assert_str_eq(id, "sha256:7");
}
END_TEST

START_TEST(removing_waits_for_a_removal_under_way_and_takes_what_is_gone)
{
    PDK_AUTO_FREE char *seen = pdk_test_path("seen");
    PDK_AUTO_FREE char *script = pdk_strf(
            "if [ -e '%s' ]; then echo 'Error: No such container: n' >&2; else : > '%s'; "
            "echo 'removal of container n is already in progress' >&2; fi; exit 1",
            seen, seen);

    say(script);
    ck_assert_int_eq(pdk_engine_remove(&pdk_docker_engine, "n", 0, &err), 0);
    say("echo 'already in progress' >&2; exit 1");
    ck_assert_int_eq(pdk_engine_remove(&pdk_docker_engine, "n", 1, &err), PDK_ETIMEDOUT);
    say("echo broken >&2; exit 1");
    ck_assert_int_eq(pdk_engine_remove(&pdk_docker_engine, "n", 0, &err), PDK_EIO);
    ck_assert_ptr_nonnull(strstr(err.msg, "broken"));
}
END_TEST

START_TEST(a_client_that_hangs_costs_its_deadline)
{
    say("exec tail -f /dev/null");
    ck_assert_int_eq(pdk_engine_remove(&pdk_docker_engine, "n", 50, &err), PDK_ETIMEDOUT);
}
END_TEST

static void collect(const char *name, const char *run, void *user)
{
    pdk_buf_addf(user, "%s=%s;", name, run);
}

START_TEST(a_list_names_containers_with_their_runs)
{
    PDK_AUTO_BUF struct pdk_buf seen = PDK_BUF_INIT;

    say("printf 'a\\tr1\\nb\\t\\n'");
    ck_assert_int_eq(pdk_engine_list(&pdk_docker_engine, "o", collect, &seen, &err), 0);
    ck_assert_str_eq(pdk_buf_str(&seen), "a=r1;b=;");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("container engines");
    TCase *tc = tcase_create("engine");
    tcase_add_checked_fixture(tc, setup, pdk_test_dir_discard);
    tcase_add_test(tc, a_container_is_started_by_these_words);
    tcase_add_test(tc, facts_are_what_it_says_of_itself);
    tcase_add_test(tc, an_engine_that_does_not_answer_cannot_be_had);
    tcase_add_test(tc, an_image_is_pulled_only_where_that_was_asked_for);
    tcase_add_test(tc, removing_waits_for_a_removal_under_way_and_takes_what_is_gone);
    tcase_add_test(tc, a_client_that_hangs_costs_its_deadline);
    tcase_add_test(tc, a_list_names_containers_with_their_runs);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
