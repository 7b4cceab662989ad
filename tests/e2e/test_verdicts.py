#!/usr/bin/env python3
"""What a mission ends with: verdicts, reasons, exit codes, and who wins."""

import shutil
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t


def mission_file(checks, run="echo two > f", more=""):
    return "schema: paddock/v1\nkind: mission\nid: m\nmission: {run: '%s'}\n%sverify:\n  checks:\n%s" % (
        run, more, "".join("    - %s\n" % c for c in checks))


class Verdicts(t.Case):
    def run_checks(self, *checks, code, run="echo two > f"):
        doc = self.mission(self.file("m.yaml", mission_file(checks, run)), code=code)
        return doc, doc["candidates"][0]

    def test_a_check_that_passes_is_a_pass(self):
        doc = self.mission("--cmd", "echo two > f", "--check", "grep -q two f", code=0)
        self.assertEqual((doc["verdict"], doc["reason"], doc["winner"]), ("pass", None, "c1"))
        self.assertEqual(doc["candidates"][0]["checks"][0]["exit_code"], 0)

    def test_no_check_is_an_abstain(self):
        doc = self.mission("--cmd", "echo two > f", code=3)
        self.assertEqual((doc["verdict"], doc["candidates"][0]["reason"], doc["winner"]), ("abstain", "no_checks", None))

    def test_all_candidates_failing_is_a_fail(self):
        doc = self.mission("--cmd", "echo two > f", "--check", "false", "-n", "3", "-j", "2", code=1)
        self.assertEqual([c["verdict"] for c in doc["candidates"]], ["fail"] * 3)
        self.assertEqual((doc["verdict"], doc["winner"]), ("fail", None))

    def test_one_pass_among_failures_wins(self):
        doc = self.mission("--cmd", "echo $PADDOCK_CANDIDATE > f", "--check", "grep -q 3 f", "-n", "4", "-j", "2", code=0)
        self.assertEqual(doc["winner"], "c3")
        self.assertEqual([c["verdict"] for c in doc["candidates"]], ["fail", "fail", "pass", "fail"])

    def test_a_manual_check_abstains(self):
        _, c = self.run_checks("{name: ok, run: 'true'}", "{name: legal}", code=3)
        self.assertEqual((c["verdict"], c["reason"]), ("abstain", "manual_check"))
        self.assertEqual([k["verdict"] for k in c["checks"]], ["pass", "abstain"])

    def test_a_determinate_failure_outranks_an_abstention(self):
        _, c = self.run_checks("{name: legal}", "{name: bad, run: 'false'}", code=1)
        self.assertEqual(c["verdict"], "fail")

    def test_a_warning_never_blocks(self):
        _, c = self.run_checks("{name: ok, run: 'true'}", "{name: style, run: 'false', severity: warn}", code=0)
        self.assertEqual([k["verdict"] for k in c["checks"]], ["pass", "fail"])

    def test_only_warnings_are_no_proof(self):
        _, c = self.run_checks("{name: style, run: 'true', severity: warn}", code=3)
        self.assertEqual(c["verdict"], "abstain")

    def test_exit_codes_that_cannot_judge_count_only_where_declared(self):
        _, c = self.run_checks("{name: a, run: 'exit 77', abstain_exit: [77]}", code=3)
        self.assertEqual(c["verdict"], "abstain")
        _, c = self.run_checks("{name: a, run: 'exit 77'}", code=1)
        self.assertEqual(c["checks"][0]["exit_code"], 77)

    def test_patterns_read_the_output(self):
        self.run_checks("{name: a, run: 'echo OK 3', expect: {stdout: \"^OK [0-9]\"}}", code=0)
        self.run_checks("{name: a, run: 'echo no', expect: {stdout: \"^OK\"}}", code=1)
        self.run_checks("{name: a, run: 'echo warning: x >&2', expect: {not_stderr: \"warning:\"}}", code=1)
        self.run_checks("{name: a, run: 'exit 3', expect: {exit: 3}}", code=0)

    def test_a_check_that_outlives_its_timeout_fails_unless_told_otherwise(self):
        _, c = self.run_checks("{name: slow, run: 'sleep 99', timeout: 200ms}", code=1)
        self.assertTrue(c["checks"][0]["timed_out"])
        _, c = self.run_checks("{name: slow, run: 'sleep 99', timeout: 200ms, on_timeout: abstain}", code=3)
        self.assertEqual(c["verdict"], "abstain")

    def test_a_check_that_does_not_exist_has_judged_nothing(self):
        for command in ("./no-such", "[./no-such]", "[/etc/passwd]"):
            _, c = self.run_checks("{name: a, run: %s}" % command, code=3)
            self.assertEqual(c["reason"], "spawn_failed", command)

    def test_a_check_whose_sandbox_vanishes_abstains(self):
        for how in ("fresh", "same"):
            with self.subTest(how):
                text = mission_file(["{name: gone, run: 'rm -rf \"$PADDOCK_SANDBOX\"; exit 1'}"])
                text = text.replace("verify:\n", "verify:\n  in: %s\n" % how)
                doc = self.mission(self.file("m.yaml", text), code=3)
                self.assertEqual(doc["candidates"][0]["verdict"], "abstain")

    def test_a_sandbox_that_somebody_else_deletes_is_an_abstain(self):
        where, go = t.Signs(self, self.dir / "where"), t.Signs(self, self.dir / "go")
        text = mission_file(["{name: gone, run: 'pwd > %s; head -c 1 %s; exit 1'}" % (where.path, go.path)])
        process = self.start("--json", "mission", "run", self.file("m.yaml", text))
        shutil.rmtree(where.wait()[0])
        go.give()
        out, err = process.communicate()
        self.assertEqual(process.returncode, 3, (out, err))

    def test_a_failing_mission_is_still_captured_and_judged(self):
        doc = self.mission("--cmd", "echo two > f; exit 9", "--check", "grep -q two f", code=None)
        c = doc["candidates"][0]
        self.assertEqual(c["mission"]["exit_code"], 9)
        self.assertTrue(c["changed"])
        self.assertIsNotNone(c["tree"])

    def test_a_timed_out_mission_is_still_captured(self):
        doc = self.mission("--cmd", "echo two > f; sleep 99", "--check", "true", "--timeout", "300ms", code=None)
        c = doc["candidates"][0]
        self.assertTrue(c["mission"]["timed_out"])
        self.assertEqual(c["lines_added"], 1)

    def test_an_unchanged_tree_cannot_win_unless_allowed(self):
        doc = self.mission("--cmd", "true", "--check", "true", code=3)
        self.assertIsNone(doc["winner"])
        self.assertEqual(doc["candidates"][0]["reason"], "nothing_attempted")
        doc = self.mission("--cmd", "true", "--check", "true", "--allow-empty", code=0)
        self.assertEqual(doc["winner"], "c1")

    def test_the_smaller_diff_wins_and_then_the_lower_index(self):
        doc = self.mission("--cmd", "seq $((9 - PADDOCK_CANDIDATE * 2)) > f", "--check", "true", "-n", "3")
        self.assertEqual(doc["winner"], "c3")
        doc = self.mission("--cmd", "echo $PADDOCK_CANDIDATE > f", "--check", "true", "-n", "3")
        self.assertEqual(doc["winner"], "c1")

    def test_the_same_tree_is_verified_once(self):
        runs = self.dir / "runs"
        doc = self.mission("--cmd", "echo two > f", "--check", "echo x >> '%s'" % runs, "-n", "5", "-j", "2")
        self.assertEqual(len(runs.read_text().split()), 1)
        self.assertEqual([c["verdict"] for c in doc["candidates"]], ["pass"] * 5)
        self.assertTrue(all(len(c["checks"]) == 1 for c in doc["candidates"]))

    def test_checks_see_the_tree_alone_in_a_fresh_sandbox(self):
        self.repo.write(".gitignore", "built\n")
        self.repo.commit()
        self.mission("--cmd", "echo two > f; echo x > built", "--check", "test ! -e built", code=0)

    def test_checks_see_what_the_mission_left_in_the_same_sandbox(self):
        self.repo.write(".gitignore", "built\n")
        self.repo.commit()
        text = mission_file(["{name: a, run: test -e built}"], run="echo two > f; echo x > built")
        self.mission(self.file("m.yaml", text.replace("verify:\n", "verify:\n  in: same\n")), code=0)

    def test_what_a_check_writes_is_not_in_the_candidate(self):
        for how in ("fresh", "same"):
            text = mission_file(["{name: a, run: echo spoiled > f}"]).replace("verify:\n", "verify:\n  in: %s\n" % how)
            self.mission("--promote", self.file("m.yaml", text))
            self.assertEqual(self.repo.read("f"), "two\n")
            self.repo.git("checkout", "-q", "f")


class ExitCodes(t.Case):
    def test_an_unknown_key_is_a_usage_error(self):
        path = self.file("m.yaml", "schema: paddock/v1\nkind: mission\nid: m\nmission: {run: 'true'}\nverfy: {}\n")
        result = self.paddock("mission", "run", path, code=2)
        self.assertIn(b"verify", result.err)
        self.assertIn(b"m.yaml:5:1", result.err)

    def test_outside_a_repository_is_an_environment_error(self):
        (self.dir / "plain").mkdir()
        self.paddock("mission", "run", "--cmd", "true", cwd=self.dir / "plain", code=4)

    def test_a_promotion_over_changed_bytes_is_refused(self):
        self.mission("--run-id", "r", "--cmd", "echo two > f", "--check", "true")
        self.repo.write("f", "mine\n")
        result = self.paddock("promote", "r", code=5)
        self.assertIn(b"f", result.err)
        self.assertEqual(self.repo.read("f"), "mine\n")

    def test_a_key_that_needs_what_is_not_built_names_itself(self):
        refused = 0
        for line in ("sandbox: {container: {engine: opensandbox}}",):
            with self.subTest(line):
                path = self.file("m.yaml", "schema: paddock/v1\nkind: mission\nid: m\nmission: {run: ': > %s'}\n%s\n" % (self.dir / "ran", line))
                names = self.paddock("--json", "mission", "validate", path).json["items"][0]["not_built"]
                if names:
                    result = self.paddock("mission", "run", path, code=2)
                    self.assertIn("not built yet: " + names[0], result.err.decode())
                    self.assertFalse((self.dir / "ran").exists())
                    refused += 1
        self.assertGreater(refused, 0)

    def test_commands_that_are_not_built_say_so(self):
        for words in (("mission", "resume", "x"), ("fleet", "resume", "x")):
            with self.subTest(words):
                result = self.paddock(*words, code=2)
                self.assertTrue(b"not built yet" in result.err or b"there is no" in result.err or b"no run" in result.err, str(result))

    def test_usage_errors(self):
        for words in (("nonsense",), ("mission", "run"), ("mission", "run", "--cmd"), ("mission", "run", "--wat"),
                      ("mission", "run", "--cmd", "true", "-n", "0"), ("mission", "run", "--cmd", "true", "-n", "x"),
                      ("mission", "run", "--cmd", "true", "--timeout", "30"),
                      ("mission", "run", "--cmd", "true", "--keep", "some"),
                      ("mission", "run", "--cmd", "true", "--run-id", "../x"),
                      ("mission", "run", "--cmd", "true", "--backend", "nope"),
                      ("sandbox", "list", "surplus")):
            with self.subTest(words):
                self.assertNotEqual(self.paddock(*words, code=2).err, b"")
        self.assertEqual(self.paddock("--json", "runs").json["items"], [])

    def test_a_base_that_is_none_is_an_error_and_leaves_nothing(self):
        self.paddock("mission", "run", "--cmd", "true", "--base", "no-such", code=None)
        self.assertEqual(self.paddock("--json", "sandbox", "list").json["items"], [])


if __name__ == "__main__":
    t.main()
