#!/usr/bin/env python3
"""A person's word on a candidate, and verdicts folded again from the log."""

import json
import pathlib
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

HEAD = "schema: paddock/v1\nkind: mission\nid: m\nmission: {run: 'echo $PADDOCK_CANDIDATE > f'}\nverify:\n  checks:\n"


class Base(t.Case):
    def run_checks(self, *checks, code, more="", run="r"):
        path = self.file("m.yaml", HEAD.replace("verify:", more + "verify:") + "".join("    - %s\n" % c for c in checks))
        return self.mission("--run-id", run, path, code=code)

    def say(self, verdict, *args, code=0, name="r/c1"):
        return self.paddock("--json", "mission", "verdict", name, verdict, *args, code=code)

    def replay(self, run, code):
        log = self.paddock("events", run).out
        stored = self.paddock("verdict", run, code=code).out
        self.assertEqual(self.paddock("verdict", "--replay", "-", data=log, code=code).out, stored)
        self.paddock("doctor", code=None)
        return json.loads(stored)


class Word(Base):
    def test_a_person_answers_what_a_manual_check_asks(self):
        self.run_checks("{name: ok, run: 'true'}", "{name: legal}", code=3)
        self.say("pass", "--rationale", "read it", "--by", "Ada")
        doc = self.paddock("--json", "show", "r").json
        self.assertEqual((doc["verdict"], doc["reason"], doc["winner"]), ("pass", None, "c1"))
        manual = doc["candidates"][0]["manual"]
        self.assertEqual((manual["verdict"], manual["rationale"], manual["by"]), ("pass", "read it", "Ada"))
        self.replay("r", 0)
        self.paddock("promote", "r")
        self.assertEqual(self.repo.read("f"), "1\n")

    def test_a_verdict_needs_its_reasons(self):
        self.run_checks("{name: legal}", code=3)
        self.assertIn(b"--rationale", self.paddock("mission", "verdict", "r/c1", "pass", code=2).err)
        self.say("perhaps", "--rationale", "x", code=None)
        self.assertEqual(self.paddock("--json", "show", "r").json["verdict"], "abstain")

    def test_a_failed_check_stands_unless_it_is_waived_by_name(self):
        self.run_checks("{name: bad, run: 'false'}", "{name: worse, run: 'false'}", code=1)
        doc = self.say("pass", "--rationale", "x", "--waive", "bad").json
        self.assertEqual((doc["verdict"], doc["reason"]), ("fail", "check_failed"))
        doc = self.say("pass", "--rationale", "known", "--waive", "bad", "--waive", "worse").json
        self.assertEqual(doc["verdict"], "pass")
        self.replay("r", 0)

    def test_the_last_word_counts(self):
        self.run_checks("{name: ok, run: 'true'}", code=0)
        self.assertEqual(self.say("needs-attention", "--rationale", "x").json["reason"], "needs_attention")
        self.assertEqual(self.say("needs-remediation", "--rationale", "x").json["reason"], "needs_remediation")
        self.assertIsNone(self.paddock("--json", "show", "r").json["winner"])
        self.paddock("promote", "r/c1", code=None)
        self.assertEqual(self.repo.read("f"), "one\n")
        self.replay("r", 1)

    def test_no_word_makes_a_result_out_of_nothing(self):
        self.mission("--run-id", "r", "--cmd", "true", "--check", "true", code=3)
        self.assertEqual(self.say("pass", "--rationale", "x").json["reason"], "nothing_attempted")


class Replay(Base):
    def test_the_log_folds_to_the_same_bytes(self):
        self.run_checks("{name: a, run: 'grep -q 2 f'}", code=0, more="candidates: 3\n")
        doc = self.replay("r", 0)
        self.assertEqual([c["verdict"] for c in doc["tasks"][0]["candidates"]], ["fail", "pass", "fail"])
        self.run_checks("{name: a, run: 'exit 7', abstain_exit: [7]}", code=3, run="s")
        self.assertEqual(self.replay("s", 3)["reason"], "abstain_exit")

    def test_a_log_that_is_none_is_refused_by_its_line(self):
        for text, what in (("{}\n", b"line 1"), ("\n\nnonsense\n", b"line 3"),
                           ('{"run":"a","type":"warning"}\n{"run":"b","type":"warning"}\n', b"another run")):
            result = self.paddock("verdict", "--replay", "-", data=text.encode(), code=2)
            self.assertIn(what, result.err)
        self.assertIn(b"--replay", self.paddock("verdict", code=2).err)

    def test_the_doctor_finds_a_store_that_says_otherwise_than_its_log(self):
        self.run_checks("{name: a, run: 'false'}", code=1)
        item = {i["name"]: i for i in self.paddock("--json", "doctor", code=None).json["items"]}["verdicts"]
        self.assertEqual((item["ok"], item["detail"]), (True, "1 runs, as their logs say"))
        store = next((self.dir / "state").glob("*/store.db"))
        with sqlite3.connect(store) as db:
            db.execute("UPDATE candidate SET verdict = 'pass', reason = NULL")
        item = {i["name"]: i for i in self.paddock("--json", "doctor", code=4).json["items"]}["verdicts"]
        self.assertIn("its log says fail", item["detail"])


if __name__ == "__main__":
    t.main()
