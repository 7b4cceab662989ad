#!/usr/bin/env python3
"""What a run is told as: numbers where they are defined, and reports to hand on."""

import json
import pathlib
import sys
import xml.etree.ElementTree as xml

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t


class Numbers(t.Case):
    def numbers(self, *args, code=0):
        return self.mission(*args, code=code)["statistics"]

    def test_of_five_two_pass(self):
        s = self.numbers("--cmd", "echo $PADDOCK_CANDIDATE > f", "--check", "grep -q '[12]' f", "-n", "5")
        self.assertEqual((s["candidates"], s["passed"], s["failed"], s["abstained"], s["censored"]), (5, 2, 3, 0, 0))
        self.assertEqual([round(p["any"], 6) for p in s["pass_at"]], [0.4, 0.7, 0.9, 1.0, 1.0])
        self.assertEqual([round(p["all"], 6) for p in s["pass_at"]], [0.4, 0.1, 0, 0, 0])
        self.assertEqual((round(s["wilson"]["low"], 4), round(s["wilson"]["high"], 4)), (0.1176, 0.7693))
        self.assertIsNone(s["clustered"])
        self.assertEqual(s["agreement"], {"groups": 2, "largest": 1, "agrees": False})

    def test_what_abstains_is_no_try_and_counts_either_way(self):
        text = ("schema: paddock/v1\nkind: mission\nid: m\ncandidates: 4\nmission: {run: 'echo $PADDOCK_CANDIDATE > f'}\n"
                "verify: {checks: [{name: a, run: 'exit $(($(cat f) - 1))', abstain_exit: [3]}]}\n")
        s = self.numbers(self.file("m.yaml", text))
        self.assertEqual((s["passed"], s["failed"], s["abstained"]), (1, 2, 1))
        self.assertEqual(len(s["pass_at"]), 3)
        self.assertEqual(s["bounds"], {"low": 0.25, "high": 0.5})

    def test_nothing_defined_is_no_number(self):
        s = self.numbers("--cmd", "echo x > f", code=3)
        self.assertEqual((s["pass_at"], s["wilson"], s["clustered"], s["arms"]), ([], None, None, []))

    def test_a_fleet_is_clustered_and_arms_are_paired(self):
        text = ("schema: paddock/v1\nkind: fleet\nid: m\ndefaults:\n  matrix: {agent: [a, b]}\n  candidates: 2\n"
                "  verify: {checks: [{name: a, run: 'grep -q a f'}]}\n"
                "tasks: [{id: x, run: 'echo $PADDOCK_MATRIX_AGENT > f'}, {id: y, run: 'echo $PADDOCK_MATRIX_AGENT > f'}]\n")
        s = self.paddock("--json", "fleet", "run", self.file("m.yaml", text)).json["statistics"]
        self.assertEqual((s["passed"], s["failed"], s["clustered"]["rate"]), (4, 4, 0.5))
        arm = s["arms"][0]
        self.assertEqual((arm["axis"], arm["a"], arm["b"], arm["pairs"], arm["only_a"], arm["only_b"], arm["difference"], round(arm["p"], 6)),
                         ("agent", "a", "b", 4, 4, 0, 1.0, 0.125))
        self.assertEqual([round(p["any"], 6) for p in s["pass_at"]], [0.5, 0.833333, 1.0, 1.0])


class Reports(t.Case):
    def setUp(self):
        super().setUp()
        text = ("schema: paddock/v1\nkind: mission\nid: m\ncandidates: 2\nmission: {run: 'echo $PADDOCK_CANDIDATE > f'}\n"
                "verify: {checks: [{name: one, run: grep -q 1 f}, {name: legal, severity: warn},\n"
                "  {name: odd, run: 'true', expect: {not_stdout: '<b>\"&x'}}]}\n")
        self.mission("--run-id", "r", self.file("m.yaml", text))

    def report(self, form, *args):
        return self.paddock("report", "r", "--format", form, *args).out.decode()

    def test_markdown_says_why_the_winner_won(self):
        text = self.report("md")
        self.assertIn("# m: pass", text)
        self.assertIn("c1 wins by verdict.", text)
        self.assertIn("| c2 | fail |", text)
        self.assertIn("pass@2 1.000", text)
        self.assertEqual(text, self.paddock("report", "r").out.decode())

    def test_junit_is_read_by_who_reads_junit(self):
        root = xml.fromstring(self.report("junit"))
        suites = root.findall("testsuite")
        self.assertEqual([(s.get("name"), s.get("tests"), s.get("failures"), s.get("skipped")) for s in suites],
                         [("c1", "3", "0", "1"), ("c2", "3", "1", "1")])
        self.assertIn("check_failed", suites[1].find("testcase/failure").get("message"))

    def test_json_is_what_show_says(self):
        self.assertEqual(json.loads(self.report("json")), self.paddock("--json", "show", "r").json)

    def test_a_page_has_nothing_of_others_in_its_markup(self):
        self.mission("--run-id", "s", "--cmd", "echo x > f", "--check", "echo '<script>&' ; exit 1", "-n", "2", code=1)
        out = self.dir / "page.html"
        self.paddock("report", "s", "--format", "html", "-o", out)
        text = out.read_text()
        self.assertTrue(text.startswith("<!DOCTYPE html>"))
        self.assertNotIn("<script", text)
        self.assertIn("check_failed", text)

    def test_a_format_that_is_none_is_a_usage_error(self):
        self.paddock("report", "r", "--format", "pdf", code=2)


if __name__ == "__main__":
    t.main()
