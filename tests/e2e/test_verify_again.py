#!/usr/bin/env python3
"""The checks on trees that are there already."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t


class Again(t.Case):
    def test_stored_trees_come_to_the_same_verdicts(self):
        ran = self.dir / "ran"
        self.mission("--run-id", "r", "--cmd", "echo x >> %s; echo $PADDOCK_CANDIDATE > f" % ran, "--check", "grep -q 2 f", "-n", "3")
        before = self.paddock("--json", "show", "r").json
        doc = self.paddock("--json", "verify", "r", "--again").json
        self.assertEqual((doc["of"], doc["same"], doc["compared"]), ("r", 3, 3))
        self.assertEqual([i["now"] for i in doc["items"]], ["fail", "pass", "fail"])
        self.assertEqual(len(self.lines("ran")), 3)
        self.assertEqual(self.paddock("--json", "show", "r").json, before)
        again = self.paddock("--json", "show", doc["run"]).json
        self.assertEqual([c["tree"] for c in again["candidates"]], [c["tree"] for c in before["candidates"]])
        self.assertEqual(again["base"], before["base"])
        self.assertIn("3 of 3 as before", self.paddock("verify", "r", "--again").out.decode())

    def test_one_candidate_alone(self):
        self.mission("--run-id", "r", "--cmd", "echo $PADDOCK_CANDIDATE > f", "--check", "grep -q 2 f", "-n", "3")
        doc = self.paddock("--json", "verify", "r/c2").json
        self.assertEqual([(c["id"], c["verdict"]) for c in doc["candidates"]], [("c2", "pass")])
        self.paddock("verify", "r/c1", code=1)
        self.paddock("verify", "r/c9", code=2)

    def test_verdicts_that_differ_are_told(self):
        mark = self.dir / "mark"
        self.mission("--run-id", "r", "--cmd", "echo two > f", "--check", "test ! -e '%s'" % mark)
        mark.write_text("")
        doc = self.paddock("--json", "verify", "r", "--again", code=3).json
        self.assertEqual([(i["before"], i["now"], i["same"]) for i in doc["items"]], [("pass", "fail", False)])
        self.assertEqual(self.paddock("--json", "show", "r").json["verdict"], "pass")

    def test_the_users_work_then_is_the_start_now(self):
        self.repo.write("f", "mine\n")
        self.mission("--run-id", "r", "--seed", "worktree", "--cmd", "echo x > g", "--check", "grep -q mine f")
        self.repo.git("checkout", "-q", "f")
        doc = self.paddock("--json", "verify", "r").json
        self.assertEqual((doc["verdict"], doc["candidates"][0]["files_changed"]), ("pass", 1))

    def test_a_fleet_is_verified_again_as_well(self):
        text = ("schema: paddock/v1\nkind: fleet\nid: m\ndefaults: {verify: {checks: [{name: a, run: test -e f}]}}\n"
                "tasks: [{id: x, run: echo x > f}, {id: y, run: echo y > f, needs: [x]}]\n")
        self.paddock("fleet", "run", "--run-id", "r", self.file("m.yaml", text))
        self.assertEqual(self.paddock("--json", "verify", "r", "--again").json["compared"], 2)
        doc = self.paddock("--json", "verify", "r/y/c1").json
        self.assertEqual([task["id"] for task in doc["tasks"]], ["y"])


class Given(t.Case):
    FILE = "schema: paddock/v1\nkind: mission\nid: m\nmission: {run: 'false'}\nverify: {checks: [{name: a, run: grep -q two f}]}\n"

    def test_a_commit_or_tree_of_the_repository(self):
        path = self.file("m.yaml", self.FILE)
        base = self.repo.git("rev-parse", "HEAD").strip()
        self.repo.write("f", "two\n")
        commit = self.repo.commit()
        self.repo.git("reset", "-q", "--hard", base)
        tree = self.repo.git("rev-parse", commit + "^{tree}").strip()
        for oid in (commit, tree):
            doc = self.paddock("--json", "verify", "--tree", oid, "-f", path).json
            self.assertEqual((doc["verdict"], doc["candidates"][0]["tree"]), ("pass", tree))
        self.assertEqual(self.paddock("--json", "verify", "--tree", base, "-f", path, code=1).json["verdict"], "fail")

    def test_a_sandbox_as_it_stands(self):
        path = self.file("m.yaml", self.FILE)
        self.paddock("sandbox", "create", "try")
        self.paddock("verify", "--sandbox", "try", "-f", path, code=1)
        self.paddock("sandbox", "exec", "try", "--", "sh", "-c", "echo two > f")
        self.assertEqual(self.paddock("--json", "verify", "--sandbox", "try", "-f", path).json["verdict"], "pass")

    def test_what_makes_no_sense_is_a_usage_error(self):
        path = self.file("m.yaml", self.FILE)
        for words in ((), ("r", "-f", path), ("--tree", "0" * 40), ("--tree", "xyz", "-f", path), ("r", "--tree", "0" * 40, "-f", path)):
            self.paddock("verify", *words, code=2)


if __name__ == "__main__":
    t.main()
