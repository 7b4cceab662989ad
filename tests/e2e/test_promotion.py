#!/usr/bin/env python3
"""Landing a winner: all of it or nothing, as a working tree, a patch or a branch; and fleets."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t


class Promotion(t.Case):
    def won(self, command, *args, run="r"):
        return self.mission("--run-id", run, "--cmd", command, "--check", "true", *args)

    def test_index_head_and_untouched_paths_stay(self):
        self.repo.write("wip", "mine\n")
        self.repo.write("g", "staged\n")
        self.repo.git("add", "g")
        before = self.repo.snapshot()
        self.won("echo two > f; echo n > new")
        self.paddock("promote", "r")
        self.assertEqual(self.repo.snapshot(), before)
        self.assertEqual((self.repo.read("f"), self.repo.read("new"), self.repo.read("wip")), ("two\n", "n\n", "mine\n"))

    def test_a_conflict_writes_nothing_and_names_the_paths(self):
        self.repo.write("g", "g\n")
        self.repo.commit()
        self.won("echo two > f; echo two > g; echo n > new")
        self.repo.write("g", "edited\n")
        self.repo.write("new", "in the way\n")
        before = self.repo.files()
        result = self.paddock("promote", "r", code=5)
        self.assertEqual(self.repo.files(), before)
        self.assertIn(b"g", result.err)
        self.assertIn(b"new", result.err)

    def test_edits_on_both_sides_come_together(self):
        self.repo.write("f", "".join("%d\n" % i for i in range(20)))
        self.repo.commit()
        self.won("sed -i s/^1$/one/ f; echo n > new")
        self.repo.write("f", self.repo.read("f").replace("18", "eighteen"))
        self.repo.write("new", "n\n")
        before = self.repo.snapshot()
        preview = self.paddock("promote", "r", "--dry-run").out
        self.assertEqual(preview, b"M f\n")
        self.paddock("promote", "r")
        self.assertEqual(self.repo.snapshot(), before)
        lines = self.repo.read("f").split()
        self.assertEqual((lines[1], lines[18]), ("one", "eighteen"))

    def test_a_conflict_of_run_promote_is_an_exit_code_too(self):
        doc = self.mission("--cmd", "echo mine > '%s/f'; echo two > f" % self.repo.path, "--check", "true", "--promote", code=5)
        self.assertEqual(doc["verdict"], "pass")
        self.assertEqual(doc["promotion"]["decision"], "refused")
        self.assertEqual(self.repo.read("f"), "mine\n")

    def test_only_what_passed_lands(self):
        self.mission("--run-id", "r", "--cmd", "echo two > f", "--check", "false", "--promote", code=1)
        self.assertEqual(self.repo.read("f"), "one\n")
        self.paddock("promote", "r", code=5)
        self.paddock("promote", "r/c1", code=5)
        self.assertEqual(self.repo.read("f"), "one\n")

    def test_any_passing_candidate_may_be_named(self):
        self.won("echo $PADDOCK_CANDIDATE > f", "-n", "3")
        self.paddock("promote", "r/c3")
        self.assertEqual(self.repo.read("f"), "3\n")

    def test_an_unknown_name_is_an_error(self):
        self.won("echo two > f")
        for name in ("nope", "r/c9", "r/zz"):
            self.paddock("promote", name, code=2)

    def test_a_dry_run_writes_nothing(self):
        self.won("echo two > f; echo n > new")
        out = self.paddock("promote", "r", "--dry-run").out
        self.assertIn(b"M f", out)
        self.assertIn(b"A new", out)
        self.assertEqual(self.repo.git("status", "--porcelain"), "")

    def test_a_patch_applies(self):
        self.won("printf '\\000\\001' > bin; echo two > f; chmod +x f")
        self.paddock("promote", "r", "--as", "patch", "--output", "out.patch")
        self.assertEqual(self.repo.read("f"), "one\n")
        self.assertEqual(self.paddock("promote", "r", "--as", "patch", "--output", "-").out, (self.repo.path / "out.patch").read_bytes())
        patch = (self.repo.path / "out.patch").rename(self.dir / "p")
        self.repo.git("apply", patch)
        self.assertEqual((self.repo.path / "bin").read_bytes(), b"\0\1")
        self.assertTrue(os.access(self.repo.path / "f", os.X_OK))

    def test_a_branch_holds_the_tree_on_the_base(self):
        head = self.repo.git("rev-parse", "HEAD")
        doc = self.won("echo two > f")
        self.paddock("promote", "r", "--as", "branch", "--branch", "won")
        self.assertEqual(self.repo.git("rev-parse", "won^{tree}").strip(), doc["candidates"][0]["tree"])
        self.assertEqual(self.repo.git("rev-parse", "won^"), head)
        self.assertEqual(self.repo.git("rev-parse", "HEAD"), head)
        self.assertEqual(self.repo.git("status", "--porcelain"), "")
        self.paddock("promote", "r", "--as", "branch", "--branch", "won", code=None)
        self.assertEqual(self.repo.git("rev-parse", "won^{tree}").strip(), doc["candidates"][0]["tree"])

    def test_modes_and_owners_of_the_user_stay(self):
        self.repo.write("key", "k\n", 0o600)
        self.repo.commit()
        self.won("echo two > f; echo more >> key")
        self.paddock("promote", "r")
        self.assertEqual(os.stat(self.repo.path / "key").st_mode & 0o777, 0o600)

    def test_the_record_of_a_promotion(self):
        doc = self.won("echo two > f", "--promote")
        self.assertEqual((doc["promotion"]["decision"], doc["promotion"]["as"]), ("promoted", "worktree"))
        types = [line for line in self.paddock("events", "r").out.decode().splitlines() if "promotion." in line]
        self.assertEqual(len(types), 2)


FLEET = """schema: paddock/v1
kind: fleet
id: fl
%s
defaults: {verify: {checks: [{name: a, run: 'true'}]}}
tasks:
%s"""


class Fleet(t.Case):
    def fleet(self, tasks, *args, top="max_concurrent: 2", code=0):
        path = self.file("fleet.yaml", FLEET % (top, "".join("  - {%s}\n" % x for x in tasks)))
        return self.paddock("--json", "fleet", "run", *args, path, code=code)

    def test_tasks_run_in_the_order_of_their_needs(self):
        log = self.dir / "log"
        doc = self.fleet(["id: last, needs: [mid], run: 'echo last >> %s; echo l > l'" % log,
                          "id: mid, needs: [first], run: 'echo mid >> %s; echo m > m'" % log,
                          "id: first, run: 'echo first >> %s; echo f > f'" % log]).json
        self.assertEqual(log.read_text().split(), ["first", "mid", "last"])
        self.assertEqual([x["id"] for x in doc["tasks"]], ["last", "mid", "first"])
        self.assertEqual((doc["kind"], doc["verdict"]), ("fleet", "pass"))
        self.assertNotIn("candidates", doc)

    def test_a_cycle_is_an_error_that_prints_it(self):
        result = self.fleet(["id: a, needs: [b], run: 'true'", "id: b, needs: [c], run: 'true'", "id: c, needs: [a], run: 'true'"], code=2)
        self.assertRegex(result.err.decode(), r"a.*b.*c.*a")

    def test_bad_plans(self):
        for tasks in (["id: a, run: 'true'", "id: a, run: 'true'"], ["id: a, needs: [zz], run: 'true'"], ["id: a, needs: [a], run: 'true'"]):
            self.assertIn(b"fleet.yaml:", self.fleet(tasks, code=2).err)

    def test_dependents_of_a_failure_are_skipped(self):
        ran = self.dir / "ran"
        doc = self.fleet(["id: bad, run: 'echo x > f', verify: {checks: [{name: a, run: 'false'}]}",
                          "id: child, needs: [bad], run: ': > %s'" % ran, "id: grandchild, needs: [child], run: ': > %s'" % ran,
                          "id: other, run: 'echo y > f'"], code=1).json
        by = {x["id"]: x for x in doc["tasks"]}
        self.assertEqual([by[k]["verdict"] for k in ("bad", "child", "grandchild", "other")], ["fail", "abstain", "abstain", "pass"])
        self.assertEqual([by[k]["reason"] for k in ("child", "grandchild")], ["skipped", "skipped"])
        self.assertFalse(ran.exists())

    def test_the_bound_holds_over_the_whole_fleet(self):
        live = self.dir / "live"
        live.mkdir()
        command = "mkdir '%s'/$$; ls '%s' | wc -l >> '%s/peak'; echo {{candidate}} > f; rmdir '%s'/$$" % (live, live, self.dir, live)
        doc = self.fleet(["id: t%d, candidates: 2, run: \"%s\"" % (i, command) for i in range(6)], top="max_concurrent: 3").json
        self.assertLessEqual(doc["peak_concurrent"], 3)
        self.assertLessEqual(max(map(int, self.lines("peak"))), 3)
        self.assertEqual([len(x["candidates"]) for x in doc["tasks"]], [2] * 6)

    def test_land_branches_makes_one_for_each_passing_task(self):
        doc = self.fleet(["id: a, run: 'echo a > f'", "id: b, run: 'echo b > g'",
                          "id: c, run: 'echo c > h', verify: {checks: [{name: a, run: 'false'}]}"], "--run-id", "fr",
                         top="land: branches", code=1).json
        branches = self.repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
        landed = [b for b in branches if b != "main"]
        self.assertEqual(len(landed), 2, branches)
        trees = {self.repo.git("rev-parse", b + "^{tree}").strip() for b in landed}
        self.assertEqual(trees, {x["candidates"][0]["tree"] for x in doc["tasks"] if x["verdict"] == "pass"})
        self.assertEqual(self.repo.git("status", "--porcelain"), "")

    def test_a_train_is_not_built_and_says_so(self):
        self.assertIn("not built yet", self.fleet(["id: a, run: 'true'"], top="land: train", code=2).json["error"]["message"])

    def test_run_takes_either_kind_and_the_named_kinds_do_not(self):
        path = self.file("fleet.yaml", FLEET % ("", "  - {id: a, run: 'echo > f'}\n"))
        self.paddock("run", path)
        self.paddock("mission", "run", path, code=2)


if __name__ == "__main__":
    t.main()
