#!/usr/bin/env python3
"""What makes a pass worth something: the base seen first, tests that are still there, passing again."""

import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t


def mission_file(run, verify, more=""):
    return "schema: paddock/v1\nkind: mission\nid: m\nmission:\n  run: |\n    %s\n%sverify:\n%s" % (
        run.replace("\n", "\n    "), more, "".join("  %s\n" % line for line in verify))


TESTS = "for t in t_*; do if sh $t; then echo PASS $t; else echo FAIL $t; bad=1; fi; done; exit ${bad:-0}"


class Base(t.Case):
    def run_with(self, run, verify, code, more=""):
        doc = self.mission(self.file("m.yaml", mission_file(run, verify, more)), code=code)
        return doc, doc["candidates"][0]

    def events(self, doc, kind):
        import json
        out = self.paddock("events", doc["run"]).out
        return [e for e in map(json.loads, out.splitlines()) if e["type"] == kind]


class Witness(Base):
    def test_a_check_that_fails_on_the_base_and_passes_here_is_a_flip(self):
        doc, c = self.run_with("echo two > f", ["baseline: fail", "checks: [{name: a, run: grep -q two f}]"], 0)
        self.assertEqual((doc["verdict"], doc["winner"]), ("pass", "c1"))
        base = self.events(doc, "baseline.ended")
        self.assertEqual([e["body"]["checks"][0]["verdict"] for e in base], ["fail"])
        self.assertEqual(len(self.events(doc, "confirm.ended")), 1)

    def test_a_check_that_passes_on_the_base_already_shows_nothing(self):
        _, c = self.run_with("echo two > f", ["baseline: fail", "checks: [{name: a, run: 'true'}]"], 3)
        self.assertEqual(c["reason"], "no_flip")

    def test_the_same_failure_before_and_after_is_no_verdict_on_the_candidate(self):
        _, c = self.run_with("echo two > f", ["baseline: fail", "checks: [{name: a, run: 'echo broken since $$; exit 4'}]"], 3)
        self.assertEqual((c["verdict"], c["reason"]), ("abstain", "witness_unsatisfiable"))

    def test_another_failure_than_before_is_a_failure(self):
        _, c = self.run_with("echo two > f", ["baseline: fail", "checks: [{name: a, run: 'cat f; exit 4'}]"], 1)
        self.assertEqual(c["reason"], "check_failed")

    def test_a_base_that_times_out_or_cannot_start_was_not_seen(self):
        for check in ("{name: a, run: 'grep -q two f || sleep 99', timeout: 2s}", "{name: a, run: [./new]}"):
            _, c = self.run_with("echo two > f; echo '#!/bin/sh' > new; chmod +x new", ["baseline: fail", "checks: [%s]" % check], 3)
            self.assertEqual(c["reason"], "baseline_not_observed", check)

    def test_a_broken_base_is_no_fault_of_the_candidate(self):
        _, c = self.run_with("echo two > f", ["baseline: pass", "checks: [{name: a, run: 'exit 3'}]"], 3)
        self.assertEqual(c["reason"], "baseline_broken")
        _, c = self.run_with("echo two > f", ["baseline: pass", "checks: [{name: a, run: grep -q two f}]"], 3)
        self.assertEqual(c["reason"], "baseline_broken")
        self.run_with("echo two > f", ["baseline: pass", "checks: [{name: a, run: test -e f}]"], 0)
        _, c = self.run_with("echo two > f", ["baseline: pass", "checks: [{name: a, run: grep -q one f}]"], 1)

    def test_the_base_is_seen_once_a_run_whoever_waits_for_it(self):
        count = self.dir / "count"
        text = mission_file("echo $PADDOCK_CANDIDATE > f", [
            "baseline: fail", "checks: [{name: a, run: 'grep -q one f && echo x >> %s; ! grep one f'}]" % count], "candidates: 5\nmax_concurrent: 3\n")
        doc = self.mission(self.file("m.yaml", text), code=0)
        self.assertEqual(self.lines("count"), ["x"])
        self.assertLessEqual(doc["peak_concurrent"], 3)
        self.assertEqual([c["verdict"] for c in doc["candidates"]], ["pass"] * 5)

    def test_both_places_to_verify_see_the_base(self):
        for where in ("fresh", "same"):
            self.run_with("echo two > f", ["in: %s" % where, "baseline: fail", "checks: [{name: a, run: grep -q two f}]"], 0)


class NamedTests(Base):
    def setUp(self):
        super().setUp()
        self.repo.write("t_old", "test -e f\n")
        self.repo.write("t_bug", "grep -q two f\n")
        self.repo.commit()
        self.check = "{name: tests, run: '%s', tests: {format: patterns, passed: '^PASS (.*)', failed: '^FAIL (.*)'}}" % TESTS

    def test_fixing_what_the_failing_test_shows_passes(self):
        _, c = self.run_with("echo two > f", ["baseline: fail", "checks: [%s]" % self.check], 0)
        self.assertEqual(c["checks"][0]["tests"], {"passed": 2, "failed": 0, "skipped": 0})

    def test_deleting_the_failing_test_does_not_help(self):
        _, c = self.run_with("rm t_bug; echo x > g", ["baseline: fail", "checks: [%s]" % self.check], 3)
        self.assertEqual(c["reason"], "tests_missing")

    def test_an_empty_suite_is_too_few(self):
        check = self.check.replace("tests: {", "min_tests: 1, tests: {")
        _, c = self.run_with("rm t_*; echo true > t_; echo 'exit 0' > none", ["checks: [%s]" % check.replace(TESTS, "true")], 3)
        self.assertEqual(c["reason"], "tests_not_measured")
        tap = "{name: tests, run: 'echo 1..0', tests: {format: tap}, min_tests: 1}"
        _, c = self.run_with("rm t_*", ["checks: [%s]" % tap], 1)
        self.assertEqual(c["reason"], "too_few_tests")

    def test_a_results_file_is_the_checks_own(self):
        forged = '<testsuite><testcase name="a"/><testcase name="b"/></testsuite>'
        check = "{name: tests, run: '%s', results: r.xml, tests: {format: junit}, min_tests: 2}"
        self.repo.write("base.xml", forged)
        self.repo.commit()
        for where in ("fresh", "same"):
            run = "echo two > f; echo '%s' > r.xml" % forged
            _, c = self.run_with(run, ["in: " + where, "checks: [%s]" % (check % "true")], 3)
            self.assertEqual(c["reason"], "tests_not_measured")
            writes = (check % "cat base.xml > r.xml")
            _, c = self.run_with(run, ["in: " + where, "checks: [%s]" % writes], 0)
            self.assertEqual(c["checks"][0]["tests"]["passed"], 2)


class Confirm(Base):
    def flaky(self, name):
        """Passes at first and fails the second time it runs."""
        mark = self.dir / name
        return "{name: a, run: 'test ! -e %s || exit 1; touch %s'}" % (mark, mark)

    def test_a_winner_that_passes_again_is_confirmed(self):
        doc, c = self.run_with("echo two > f", ["confirm: 2", "checks: [{name: a, run: 'echo x >> %s'}]" % (self.dir / "n")], 0)
        self.assertEqual(len(self.lines("n")), 3)
        self.assertEqual([e["body"]["verdict"] for e in self.events(doc, "confirm.ended")], ["pass"] * 2)

    def test_mixed_results_are_flaky_and_abstain(self):
        doc, c = self.run_with("echo two > f", ["confirm: 3", "checks: [%s]" % self.flaky("m1")], 3)
        self.assertEqual((c["verdict"], c["reason"], c["detail"]), ("abstain", "flaky", "passed 1 of 2 runs"))
        self.assertIsNone(doc["winner"])
        self.assertEqual(self.paddock("promote", doc["run"], code=None).code != 0, True)
        self.assertEqual(self.repo.read("f"), "one\n")

    def test_the_policy_says_how_many_are_enough(self):
        for policy, code in (("any", 0), ("majority", 3), ("all", 3)):
            self.run_with("echo two > f", ["confirm: 1", "flaky: " + policy, "checks: [%s]" % self.flaky("m" + policy)], code)

    def test_the_next_best_is_confirmed_where_the_first_is_not(self):
        mark = self.dir / "seen"
        check = "{name: a, run: 'test $(wc -l < f) -ne 1 || { test ! -e %s || exit 1; touch %s; }'}" % (mark, mark)
        text = mission_file("seq $PADDOCK_CANDIDATE > f", ["confirm: 1", "checks: [%s]" % check], "candidates: 2\nmax_concurrent: 1\n")
        doc = self.mission(self.file("m.yaml", text), code=0)
        self.assertEqual([c["verdict"] for c in doc["candidates"]], ["abstain", "pass"])
        self.assertEqual((doc["winner"], doc["peak_concurrent"]), ("c2", 1))

    def test_the_same_tree_is_confirmed_once(self):
        text = mission_file("echo two > f", ["confirm: 1", "checks: [{name: a, run: 'echo x >> %s'}]" % (self.dir / "n")], "candidates: 3\n")
        doc = self.mission(self.file("m.yaml", text), code=0)
        self.assertEqual(len(self.lines("n")), 2)
        self.assertEqual(len(self.events(doc, "confirm.ended")), 3)


if __name__ == "__main__":
    t.main()
