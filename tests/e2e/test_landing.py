#!/usr/bin/env python3
"""Who may be landed, how often, as what; and taking it back."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t


class Base(t.Case):
    def won(self, command, *args, run="r", check="true", code=0):
        return self.mission("--run-id", run, "--cmd", command, "--check", check, *args, code=code)

    def events(self, kind, run="r"):
        rows = [json.loads(x) for x in self.paddock("events", run).out.decode().splitlines()]
        return [x["body"] for x in rows if x["type"] == kind]


class Undo(Base):
    def test_everything_comes_back(self):
        self.repo.write("key", "k\n", 0o600)
        self.repo.write("d/x", "x\n")
        self.repo.commit()
        self.won("echo two > f; chmod +x key; rm -r d; echo d > d; mkdir n; echo n > n/n")
        before = self.repo.files()
        self.paddock("promote", "r")
        self.assertNotEqual(self.repo.files(), before)
        self.paddock("undo")
        self.assertEqual(self.repo.files(), before)
        self.assertFalse((self.repo.path / "n").exists())
        self.paddock("undo", code=2)

    def test_what_the_user_had_done_before_comes_back(self):
        self.repo.write("f", "".join("%d\n" % i for i in range(20)))
        self.repo.commit()
        self.won("sed -i s/^1$/one/ f")
        self.repo.write("f", self.repo.read("f").replace("18", "eighteen"))
        before = self.repo.files()
        self.paddock("promote", "r")
        self.paddock("undo")
        self.assertEqual(self.repo.files(), before)

    def test_a_path_that_was_edited_since_is_not_taken_back(self):
        self.won("echo two > f; echo n > n")
        self.paddock("promote", "r")
        self.repo.write("f", "three\n")
        before = self.repo.files()
        result = self.paddock("--json", "undo", code=5)
        self.assertEqual([(c["path"], c["kind"]) for c in result.json["error"]["conflicts"]], [("f", "your tree changed since")])
        self.assertEqual(self.repo.files(), before)
        self.repo.write("f", "two\n")
        self.paddock("undo")
        self.assertEqual(self.repo.read("f"), "one\n")

    def test_by_the_beginning_of_its_id(self):
        self.won("echo two > f")
        self.won("echo n > n", run="s")
        self.paddock("promote", "r")
        self.paddock("promote", "s")
        first = self.events("promotion.intent")[0]["id"]
        self.paddock("undo", first[:10])
        self.assertEqual((self.repo.read("f"), self.repo.read("n")), ("one\n", "n\n"))
        self.paddock("undo", first, code=5)
        self.paddock("undo", "zz", code=2)
        self.assertEqual(self.paddock("--json", "undo").json["decision"], "undone")


class Once(Base):
    def test_a_run_is_promoted_once(self):
        self.won("echo $PADDOCK_CANDIDATE > f", "-n", "2")
        self.paddock("promote", "r/c1")
        self.paddock("promote", "r/c2", code=5)
        self.paddock("promote", "r/c2", "--again", code=5)
        self.assertEqual(self.repo.read("f"), "1\n")
        self.paddock("undo")
        self.paddock("promote", "r/c2", code=5)
        self.paddock("promote", "r/c2", "--again")
        self.assertEqual(self.repo.read("f"), "2\n")

    def test_one_that_was_refused_may_be_tried_again(self):
        self.won("echo two > f")
        self.repo.write("f", "mine\n")
        self.paddock("promote", "r", code=5)
        self.repo.write("f", "one\n")
        self.paddock("promote", "r")

    def test_a_winner_that_changed_nothing(self):
        self.won("echo two > f")
        self.repo.write("f", "two\n")
        self.paddock("promote", "r")
        self.assertEqual([x["paths"] for x in self.events("promotion.done")], [0])


class Unproven(Base):
    def test_what_abstained_lands_only_when_somebody_says_so(self):
        self.won("echo two > f", check="exit 127", code=None)
        doc = self.mission("--run-id", "a", "--cmd", "echo two > f", code=3)
        self.assertEqual(doc["verdict"], "abstain")
        self.paddock("promote", "a/c1", code=5)
        self.paddock("promote", "a/c1", "--accept-unproven")
        self.assertEqual(self.repo.read("f"), "two\n")
        self.assertIs(self.events("promotion.intent", "a")[0]["unproven"], True)

    def test_what_failed_never_does(self):
        self.won("echo two > f", check="false", code=1)
        self.paddock("promote", "r/c1", "--accept-unproven", code=5)
        self.assertEqual(self.repo.read("f"), "one\n")

    def test_what_wrote_outside_never_does_and_the_paths_are_named(self):
        self.won("echo two > f; for i in 1 2 3 4 5; do echo > g$i; echo > '%s'/g$i; done" % self.repo.path, code=3)
        for i in range(1, 6):
            (self.repo.path / ("g%d" % i)).unlink()
        result = self.paddock("--json", "promote", "r/c1", "--accept-unproven", code=5)
        conflicts = result.json["error"]["conflicts"]
        self.assertEqual([c["path"] for c in conflicts], ["g1", "g2", "g3", "g4", "g5"])
        self.assertEqual({c["kind"] for c in conflicts}, {"the candidate wrote outside its sandbox"})
        text = self.paddock("promote", "r/c1", code=5).err.decode()
        self.assertIn("the candidate wrote outside its sandbox", text)
        self.assertIn("'g4' and more", text)

    def test_who_decided_is_on_record(self):
        self.won("echo two > f")
        self.paddock("promote", "r")
        (intent,) = self.events("promotion.intent")
        self.assertIn(self.repo.git("config", "user.name").strip(), intent["by"])
        self.assertEqual((intent["decision"], intent["verdict"]), ("promoted", "pass"))


class Commit(Base):
    def test_a_commit_on_head_with_trailers_and_no_hooks(self):
        ran = self.dir / "ran"
        for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
            self.repo.write(".git/hooks/" + name, "#!/bin/sh\ntouch '%s'\n" % ran, 0o755)
        self.won("echo two > f; echo n > n; rm -f gone")
        self.repo.write("later", "l\n")
        head = self.repo.commit("later")
        ran.unlink(missing_ok=True)
        self.repo.write("untracked", "u\n")
        self.paddock("promote", "r", "--as", "commit")
        self.assertFalse(ran.exists())
        self.assertEqual(self.repo.git("rev-parse", "HEAD^").strip(), head)
        self.assertEqual(self.repo.git("status", "--porcelain"), "?? untracked\n")
        self.assertEqual(self.repo.git("show", "--name-status", "--format=", "HEAD"), "M\tf\nA\tn\n")
        message = self.repo.git("log", "-1", "--format=%B")
        self.assertIn("Paddock-Run: r\nPaddock-Candidate: 1\n", message)
        self.paddock("undo", self.events("promotion.intent")[0]["id"], code=5)

    def test_only_on_a_clean_tree(self):
        self.repo.write("g", "g\n")
        head = self.repo.commit()
        self.won("echo two > f")
        for words in ((), ("add", "g")):
            self.repo.write("g", "mine\n")
            if words:
                self.repo.git(*words)
            self.paddock("promote", "r", "--as", "commit", code=5)
        self.repo.git("reset", "-q", "--hard")
        self.repo.write(".git/index.lock", "")
        self.paddock("promote", "r", "--as", "commit", code=5)
        (self.repo.path / ".git/index.lock").unlink()
        self.assertEqual((self.repo.git("rev-parse", "HEAD").strip(), self.repo.read("f")), (head, "one\n"))


class Underway(Base):
    def test_nothing_lands_into_a_merge(self):
        self.won("echo two > f")
        for name in ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"):
            self.repo.write(".git/" + name, self.repo.git("rev-parse", "HEAD"))
            self.paddock("promote", "r", code=5)
            (self.repo.path / ".git" / name).unlink()
        (self.repo.path / ".git" / "rebase-merge").mkdir()
        self.paddock("promote", "r", code=5)
        self.assertEqual(self.repo.read("f"), "one\n")

    def test_json_has_every_conflict(self):
        self.won("for i in 1 2 3 4 5 6; do echo n > n$i; done")
        for i in range(1, 7):
            self.repo.write("n%d" % i, "mine\n")
        result = self.paddock("--json", "promote", "r", "--dry-run", code=5)
        self.assertEqual(len(result.json["error"]["conflicts"]), 6)
        text = self.paddock("promote", "r", code=5).err.decode()
        self.assertIn("and 2 more", text)
        self.assertIn("your tree changed since", text)

    def test_json_of_a_preview_is_that_of_the_landing(self):
        self.won("echo two > f; echo n > n; chmod +x f")
        preview = self.paddock("--json", "promote", "r", "--dry-run").json
        landed = self.paddock("--json", "promote", "r").json
        self.assertEqual(preview["paths"], landed["paths"])
        self.assertEqual((preview["decision"], landed["decision"]), ("previewed", "promoted"))


if __name__ == "__main__":
    t.main()
