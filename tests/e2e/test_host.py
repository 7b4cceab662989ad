#!/usr/bin/env python3
"""What a person at the terminal has besides runs: the live table, `doctor` and `gc`."""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

ROOT = os.geteuid() == 0


def everything(top):
    """Names, modes and bytes of a whole directory; of a database its rows, wherever in its files they are."""
    found = {}
    for path in sorted(pathlib.Path(top).rglob("*")):
        if path.suffix == ".db":
            with contextlib.closing(sqlite3.connect(path)) as db:
                found[str(path)] = list(db.iterdump())
        elif not path.name.endswith((".db-shm", ".db-wal")):
            found[str(path)] = (path.lstat().st_mode, path.read_bytes() if path.is_file() and not path.is_symlink() else None)
    return found


class Doctor(t.Case):
    def items(self, result):
        return {item["name"]: item for item in result.json["items"]}

    def test_what_works_is_told(self):
        items = self.items(self.paddock("--json", "doctor"))
        self.assertTrue(all(items[name]["ok"] for name in ("kernel", "git", "agent", "repository", "state")), items)
        self.assertIn("backend directory", items)
        self.assertEqual(items["repository"]["detail"], str(self.repo.path))
        text = self.paddock("doctor").out.decode()
        self.assertEqual(sum(line.startswith("ok ") for line in text.splitlines()), len(items))

    def test_what_does_not_is_named_with_a_hint(self):
        done = self.paddock("--json", "doctor", code=4, env=dict(self.env, PATH="/nonexistent"))
        git = self.items(done)["git"]
        self.assertEqual((git["ok"], git["hint"]), (False, "install git"))
        done = self.paddock("doctor", code=4, env=dict(self.env, PADDOCK_AGENT="/nonexistent/agent"))
        self.assertRegex(done.out.decode(), r"(?m)^no  agent +.*/nonexistent/agent")

    def test_outside_of_a_repository(self):
        items = self.items(self.paddock("--json", "doctor", code=4, cwd=self.dir))
        self.assertFalse(items["repository"]["ok"])
        self.assertTrue(items["git"]["ok"])

    def test_a_damaged_store_is_told(self):
        self.mission("--cmd", "echo two > f", "--check", "true")
        store, = (self.dir / "state").glob("*/*.db")
        store.write_bytes(b"not a database" * 1000)
        item = self.items(self.paddock("--json", "doctor", code=4))["state"]
        self.assertFalse(item["ok"])
        self.assertIn("damaged", item["detail"])
        self.assertNotEqual(item["hint"], None)


class Gc(t.Case):
    def sandboxes(self):
        return sorted(p.name for p in (self.dir / "state").glob("*/sandboxes/*"))

    def killed(self, *args):
        """A run that was killed while its two commands ran; its agents are gone, too."""
        signs = t.Signs(self, self.dir / ("signs%d" % len(list(self.dir.glob("signs*")))))
        run = self.start("mission", "run", *args, "--cmd", "echo > '%s'; sleep 99" % signs.path, "--check", "true", "-n", "2",
                         "-j", "2")
        signs.wait(2)
        agents = t.children(run.pid)
        run.send_signal(signal.SIGKILL)
        run.wait()
        t.ended(agents)

    def test_a_dry_run_changes_nothing(self):
        for backend in t.BACKENDS:
            with self.subTest(backend):
                self.killed("--backend", backend)
                before = (everything(self.dir / "state"), self.repo.snapshot())
                items = self.paddock("--json", "gc", "--dry-run").json["items"]
                self.assertEqual([i["action"] for i in items], ["would remove"] * 2)
                self.assertEqual(sorted(pathlib.Path(i["detail"]).name for i in items), self.sandboxes())
                self.assertEqual((everything(self.dir / "state"), self.repo.snapshot()), before)
                self.paddock("gc")

    def test_what_a_killed_run_left_goes(self):
        for backend in t.BACKENDS:
            with self.subTest(backend):
                before = self.repo.snapshot()
                self.killed("--backend", backend)
                self.assertEqual(len(self.sandboxes()), 2)
                self.assertRegex(self.paddock("gc").out.decode(), r"(?m)^removed ")
                self.assertEqual(self.sandboxes(), [])
                self.assertEqual(self.repo.snapshot(), before)
                self.assertEqual(self.paddock("--json", "gc").json["items"], [])

    def test_a_live_run_is_left_alone(self):
        signs = t.Signs(self, self.dir / "signs")
        go = t.Signs(self, self.dir / "go")
        run = self.start("mission", "run", "--cmd", "echo > '%s'; head -c 1 '%s'; echo two > f" % (signs.path, go.path),
                         "--check", "true")
        signs.wait(1)
        items = self.paddock("--json", "gc").json["items"]
        self.assertEqual([(i["action"], i["detail"]) for i in items], [("kept", "its run is live")])
        go.give(1)
        run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0)
        self.assertEqual(self.paddock("--json", "gc").json["items"], [])

    def test_kept_working_copies_go(self):
        self.mission("--keep", "all", "--cmd", "echo two > f", "--check", "true")
        self.assertEqual(len(self.sandboxes()), 1)
        self.paddock("gc")
        self.assertEqual(self.sandboxes(), [])

    def test_a_directory_that_is_gone_is_no_failure(self):
        self.killed("--backend", "directory")
        for path in (self.dir / "state").glob("*/sandboxes/*"):
            subprocess.run(["rm", "-rf", path], check=True)
        self.paddock("gc")
        self.assertEqual(self.paddock("--json", "gc").json["items"], [])

    @t.unittest.skipUnless(ROOT, "templates are the overlays', which take root")
    def test_old_templates_go(self):
        self.mission("--backend", "overlay", "--cmd", "echo two > f", "--check", "true")
        templates, = (self.dir / "state").glob("*/templates")
        before = everything(templates)
        self.assertNotEqual(before, {})
        self.assertEqual(self.paddock("--json", "gc").json["items"], [])
        self.assertEqual(everything(templates), before)
        long_ago = time.time() - 15 * 86400
        for lock in templates.glob("*.lock"):
            os.utime(lock, (long_ago, long_ago))
        would = self.paddock("--json", "gc", "--dry-run").json["items"]
        self.assertEqual([i["action"] for i in would], ["would remove"])
        self.assertGreaterEqual(would[0]["templates"], 1)
        self.assertEqual(everything(templates), before)
        self.assertRegex(self.paddock("gc").out.decode(), r"(?m)^removed %d templates \(" % would[0]["templates"])
        self.assertEqual([p for p in templates.iterdir() if p.is_dir()], [])


class Terminal(t.Case):
    """The program with a terminal as its stderr."""

    def open(self, *args):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        env = {k: v for k, v in self.env.items() if k != "NO_COLOR"}
        process = subprocess.Popen(self.argv(*args), cwd=self.repo.path, env=dict(env, TERM="xterm"), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        self.addCleanup(self.end, process)
        return process, ours

    @staticmethod
    def read_until(screen, sign, seconds=60):
        """What came up to a table in which each row has the sign; None: to the end."""
        text = b""
        while sign is None or not any(frame.count(sign) == 2 for frame in text.split(b"\x1b[2A")[-3:]):
            if not select.select([screen], [], [], seconds)[0]:
                raise AssertionError("never came: %r in %r" % (sign, text[-3000:]))
            try:
                text += os.read(screen, 65536)
            except OSError:  # the other side is gone
                return text
        return text

    def test_the_table_is_live_bounded_in_rate_and_clean(self):
        go = t.Signs(self, self.dir / "go")
        started = time.monotonic()
        process, screen = self.open(
            "mission", "run", "-n", "2", "-j", "2", "--check", "true", "--cmd",
            r"printf 'one\n\033]0;owned\007\033[2Jlast line\n'; head -c 1 '%s'; echo two > f" % go.path)
        text = self.read_until(screen, rb"\x1b]0;owned\x07\x1b[2Jlast line")
        go.give(2)
        text += self.read_until(screen, None)
        took = time.monotonic() - started
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertIn(rb"\x1b]0;owned\x07\x1b[2Jlast line", text)
        self.assertEqual(set(re.findall(rb"\x1b[^A-Za-z]*[A-Za-z]", text)), {b"\x1b[K", b"\x1b[2A"})
        self.assertNotIn(b"\x07", text)
        self.assertLessEqual(text.count(b"\x1b[2A"), took * 10 + 1)
        self.assertRegex(text.split(b"\x1b[2A")[-1], rb"c1 +\S+ +\S+ +pass")

    def test_quiet_holds_on_a_terminal(self):
        process, screen = self.open("--quiet", "mission", "run", "--check", "true", "--cmd", "echo two > f")
        process.communicate(timeout=60)
        self.assertEqual(self.read_until(screen, None), b"")


if __name__ == "__main__":
    t.main()
