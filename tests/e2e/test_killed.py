#!/usr/bin/env python3
"""Killed at every system call that writes, a promotion and its undoing leave the old tree or the new one.

PDK_SWEEP=all goes through every call; else some sixty of them are taken, evenly.
"""
# timeout: 1500

import json
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

KILLER = pathlib.Path(t.PADDOCK).resolve().parents[1] / "tests" / "children" / "child_killer"
KILLED, SKIPPED = 99, 77
POINTS = 60


class Killed(t.Case):
    def setUp(self):
        super().setUp()
        for name in ("d/e/x", "d/y", "swap/a", "gone", "link-to-be"):
            self.repo.write(name, name + "\n")
        self.repo.write("key", "k\n", 0o600)
        self.repo.write("merged", "".join("%d\n" % i for i in range(20)))
        self.repo.commit()
        self.mission("--run-id", "r", "--check", "true", "--keep", "none", "--cmd",
                     "echo two > f; echo more >> key; rm -r d gone; echo d > d; rm -r swap; mkdir -p n/m; echo n > n/m/new; "
                     "ln -sf f link-to-be; sed -i s/^1$/one/ merged; chmod +x f")
        self.repo.write("merged", self.repo.read("merged").replace("18", "eighteen"))
        self.repo.write("mine", "mine\n")
        (self.repo.path / "swap" / "empty").mkdir()

    def shot(self):
        """Every path with its mode and content, directories as well."""
        dirs = {os.path.relpath(top, self.repo.path): oct(os.stat(top).st_mode) for top, _, _ in os.walk(self.repo.path)
                if ".git" not in pathlib.Path(top).parts}
        return {"files": self.repo.files(), "dirs": dirs, "index": self.repo.index_bytes(), "refs": self.repo.git("for-each-ref")}

    def keep(self, name):
        for part in ("repo", "state"):
            self.run_argv(["cp", "-a", str(self.dir / part), str(self.dir / (name + "-" + part))], cwd=self.dir)

    def restore(self, name):
        for part in ("repo", "state"):
            shutil.rmtree(self.dir / part)
            self.run_argv(["cp", "-a", str(self.dir / (name + "-" + part)), str(self.dir / part)], cwd=self.dir)

    def kill(self, at, *args):
        count = self.dir / "count"
        result = self.run_argv([str(KILLER), str(at), str(count), *self.argv(*args)])
        if result.code == SKIPPED:
            self.skipTest("nothing can be traced here")
        return result, int(count.read_text())

    def points(self, count):
        step = 1 if os.environ.get("PDK_SWEEP") == "all" else max(1, count // POINTS)
        return range(1, count + 1, step)

    def ended(self):
        rows = [json.loads(x) for x in self.paddock("events", "r").out.decode().splitlines()]
        return [x["type"] for x in rows if x["type"].startswith("promotion.")][-1]

    def sweep(self, args, again):
        """Kills at each point; returns how often the tree was the old one and the new one."""
        old = self.shot()
        self.keep("before")
        result, count = self.kill(0, *args)
        self.assertEqual(result.code, 0, str(result))
        new = self.shot()
        self.assertNotEqual(old, new)
        seen = {"old": 0, "new": 0}
        for at in self.points(count):
            with self.subTest(at=at):
                self.restore("before")
                result, _ = self.kill(at, *args)
                self.assertIn(result.code, (KILLED, 0), str(result))
                self.paddock("runs")
                now = self.shot()
                self.assertIn(now, (old, new))
                self.assertEqual([p.name for p in self.repo.path.iterdir() if "paddock" in p.name], [])
                seen["new" if now == new else "old"] += 1
                if now == new:
                    self.assertEqual(self.ended(), "promotion.done")
                else:
                    self.paddock(*again)
                    self.assertEqual(self.shot(), new)
        return seen

    def test_promote(self):
        seen = self.sweep(("promote", "r"), ("promote", "r"))
        self.assertTrue(seen["old"] and seen["new"], seen)

    def test_undo(self):
        self.paddock("promote", "r")
        seen = self.sweep(("undo",), ("undo",))
        self.assertTrue(seen["old"] and seen["new"], seen)


if __name__ == "__main__":
    t.main()
