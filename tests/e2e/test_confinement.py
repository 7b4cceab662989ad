#!/usr/bin/env python3
"""Modes: what commands of missions and of named sandboxes may write, what is recorded of it, and that nothing runs without it."""

import fcntl
import json
import os
import pathlib
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

MISSION = "schema: paddock/v1\nkind: mission\nid: m\nmission: {run: %s}\nsandbox: {%s}\nverify: {checks: [{name: c, run: %s}]}\n"
DIALECTS = ("bubblewrap", "landlock")


class Base(t.Case):
    def setUp(self):
        super().setUp()
        # Outside of temporary directories, which are private to confined commands anyhow.
        outside = tempfile.TemporaryDirectory(prefix="outside.", dir=pathlib.Path(t.PADDOCK).resolve().parent)
        self.addCleanup(outside.cleanup)
        self.outside = pathlib.Path(outside.name)
        self.target = self.outside / "f"
        self.target.write_text("kept\n")

    def without_bubblewrap(self):
        """An environment in which there is none: the dialect is Landlock then."""
        links = self.dir / "bin"
        if not links.exists():
            links.mkdir()
            for folder in ("/usr/local/bin", "/usr/bin", "/bin"):
                for name in os.listdir(folder):
                    if name != "bwrap" and not (links / name).is_symlink():
                        (links / name).symlink_to(os.path.join(folder, name))
        return dict(self.env, PATH=str(links))

    def env_of(self, dialect):
        return self.env if dialect == "bubblewrap" else self.without_bubblewrap()

    def without_any(self):
        """An agent that says of its host what one without any confinement says."""
        real = self.env.get("PADDOCK_AGENT") or str(pathlib.Path(shutil.which(t.PADDOCK)).resolve().parent / "paddock-agent")
        script = self.dir / "agent"
        script.write_text("#!/bin/sh\ncase \"$*\" in *--probe) echo '%s';; *) exec '%s' \"$@\";; esac\n" % (
            json.dumps({"bubblewrap_why": "no bwrap in PATH", "landlock": 0, "landlock_why": "off"}), real))
        script.chmod(0o755)
        return dict(self.env, PADDOCK_AGENT=str(script))

    def mission_of(self, run, sandbox, check="'true'"):
        return self.file("m.yaml", MISSION % (json.dumps(run), sandbox, check))


class Confinement(Base):
    def test_a_mission_writes_inside_and_not_outside(self):
        for dialect in DIALECTS:
            with self.subTest(dialect):
                before = self.repo.snapshot()
                path = self.mission_of("echo two > f; echo t > \"${TMPDIR:-/tmp}/t\"; echo no > '%s'; true" % self.target,
                                       "confine: workspace-write")
                doc = self.mission(path, env=self.env_of(dialect))
                c = doc["candidates"][0]
                self.assertEqual((c["verdict"], c["files_changed"]), ("pass", 1))
                self.assertEqual(self.target.read_text(), "kept\n")
                self.assertEqual(c["execution"]["enforcement"], "full" if dialect == "bubblewrap" else "partial")
                self.assertEqual(c["execution"]["confinement"]["mode"], "workspace-write")
                self.assertEqual(c["execution"]["confinement"]["dialect"], dialect)
                self.assertEqual(bool(c["execution"]["confinement"]["not_covered"]), dialect == "landlock")
                self.assertEqual(self.repo.snapshot(), before)

    def test_a_denial_is_a_fact_on_the_result_and_a_warning(self):
        for dialect in DIALECTS:
            with self.subTest(dialect):
                path = self.mission_of("echo two > f; echo no > '%s'" % self.target, "confine: workspace-write")
                doc = self.mission(path, "--run-id", dialect, env=self.env_of(dialect))
                self.assertTrue(any("denied" in w and "workspace-write" in w for w in doc["candidates"][0]["warnings"]), doc)
                ended = [json.loads(line) for line in self.paddock("events", dialect).out.splitlines()]
                confined = [e["body"]["confined"] for e in ended if e["type"] == "command.ended"]
                self.assertEqual([c["denied"] for c in confined], [True])

    def test_read_only_writes_nothing_at_all(self):
        for dialect in DIALECTS:
            with self.subTest(dialect):
                path = self.mission_of("echo x > /dev/null && ! echo two > f && ! touch /tmp/x", "confine: read-only")
                doc = self.mission(path, code=3, env=self.env_of(dialect))
                c = doc["candidates"][0]
                self.assertEqual((c["mission"]["exit_code"], c["changed"], c["reason"]), (0, False, "nothing_attempted"))

    def test_checks_are_confined_as_the_mission_is(self):
        path = self.mission_of("echo two > f", "confine: workspace-write", "\"echo no > '%s'\"" % self.target)
        doc = self.mission(path, code=1)
        self.assertEqual(doc["candidates"][0]["reason"], "check_failed")
        self.assertEqual(self.target.read_text(), "kept\n")

    def test_full_access_is_what_it_was(self):
        path = self.mission_of("echo two > f; echo more >> '%s'" % self.target, "confine: danger-full-access, require_enforcement: full")
        doc = self.mission(path, env=self.without_any())
        self.assertEqual(self.target.read_text(), "kept\nmore\n")
        self.assertEqual(doc["candidates"][0]["execution"]["enforcement"], "none")

    def test_where_it_cannot_be_had_nothing_runs(self):
        ran = self.dir / "ran"
        for env, more in ((self.without_any(), ""), (self.without_bubblewrap(), ", require_enforcement: full")):
            with self.subTest(more):
                path = self.mission_of(": > '%s'" % ran, "confine: workspace-write" + more)
                result = self.paddock("--json", "mission", "run", path, code=4, env=env)
                self.assertIn("SANDBOX_UNAVAILABLE", result.json["error"]["message"])
                self.assertEqual(result.json["error"]["code"], "unavailable")
                self.assertFalse(ran.exists())
                self.assertEqual(self.paddock("--json", "runs").json["items"], [])
                self.assertEqual(self.repo.git("for-each-ref", "refs/paddock"), "")

    def test_git_commits_where_the_git_directory_is_the_sandboxs_own(self):
        command = "git -c user.name=a -c user.email=a@b commit -qam two --allow-empty && git log --oneline | wc -l > count"
        for dialect in DIALECTS:
            for backend in ("directory", "overlay"):
                with self.subTest((dialect, backend)):
                    if backend == "overlay" and os.geteuid() != 0:
                        continue
                    path = self.mission_of("echo two > f; " + command, "confine: workspace-write, backend: %s" % backend, "grep -q 2 count")
                    self.mission(path, env=self.env_of(dialect))

    def test_a_shared_repository_cannot_be_hurt(self):
        evil = ("for d in \"$(git rev-parse --git-common-dir)\"; do rm -rf $d/objects/?? $d/refs $d/worktrees; echo x >> $d/config;"
                " echo x > $d/hooks/post-checkout; git update-ref refs/heads/evil HEAD; git commit -qam no && echo committed; true; done")
        for dialect in DIALECTS:
            with self.subTest(dialect):
                before = self.repo.snapshot()
                path = self.mission_of("echo two > f; " + evil, "confine: workspace-write, backend: git-worktree")
                doc = self.mission(path, "--run-id", "w" + dialect, env=self.env_of(dialect))
                self.assertTrue(any("git cannot commit" in w for w in doc["candidates"][0]["warnings"]), doc)
                self.assertNotIn(b"committed", self.paddock("logs", "w%s/c1" % dialect, "mission").out)
                self.assertEqual(self.repo.snapshot(), before)
                self.repo.git("fsck", "--full", "--strict")

    def test_a_named_sandbox_takes_a_mode_for_one_command(self):
        self.paddock("sandbox", "create", "s", "--backend", "directory")
        write = ("sh", "-c", "echo no >> '%s'" % self.target)
        for dialect in DIALECTS:
            with self.subTest(dialect):
                result = self.paddock("sandbox", "exec", "s", "--mode", "workspace-write", "--", *write, code=None, env=self.env_of(dialect))
                self.assertNotEqual(result.code, 0)
                self.assertIn(b"denied", result.err)
                self.paddock("sandbox", "exec", "s", "--mode", "read-only", "--", "sh", "-c", "echo x > g", code=None, env=self.env_of(dialect))
                self.paddock("sandbox", "exec", "s", "--", "test", "!", "-e", "g")
        self.assertEqual(self.target.read_text(), "kept\n")
        self.paddock("sandbox", "exec", "s", "--mode", "danger-full-access", "--", *write)
        self.assertEqual(self.target.read_text(), "kept\nno\n")
        result = self.paddock("sandbox", "exec", "s", "--mode", "x", "--", "true", code=None)
        self.assertIn(b"'x' is no mode", result.err)
        result = self.paddock("sandbox", "exec", "s", "--mode", "read-only", "--require-enforcement", "full", "--", "true",
                              code=125, env=self.without_bubblewrap())
        self.assertIn(b"SANDBOX_UNAVAILABLE", result.err)

    def runner(self, script, **more):
        path = self.dir / "runner.json"
        path.write_text(json.dumps(dict({"argv": ["/bin/sh", "-c", script, "runner"], "signatures": ["RUNNER SAYS NO"],
                                         "failures": ["runner broke"]}, **more)))
        return dict(self.without_any(), PADDOCK_RUNNER=str(path))

    def test_a_runner_of_the_operators_is_trusted_and_declares_its_signatures(self):
        path = self.mission_of("echo two > f", "confine: workspace-write, require_enforcement: full")
        doc = self.mission(path, env=self.runner("echo used >> '%s'; exec \"$@\"" % (self.dir / "used")))
        self.assertEqual(doc["candidates"][0]["execution"]["confinement"]["dialect"], "runner")
        self.assertEqual(self.lines("used"), ["used", "used"])
        result = self.paddock("mission", "run", path, code=2, env=self.runner("exec \"$@\"", signatures=[]))
        self.assertIn(b"signatures", result.err)

    def test_a_runner_that_fails_is_the_infrastructures_fault(self):
        path = self.mission_of("echo two > f", "confine: workspace-write")
        doc = self.mission(path, code=3, env=self.runner("echo runner broke >&2; exit 125"))
        self.assertEqual((doc["candidates"][0]["verdict"], doc["candidates"][0]["reason"]), ("abstain", "confinement_failed"))

    def test_limits_are_held_and_what_held_is_recorded(self):
        path = self.mission_of("head -c 300000000 /dev/zero | tail -c 290000000 | wc -c; echo two > f", "limits: {memory: 64MiB, pids: 50, cpus: 1}")
        doc = self.mission(path, code=None)
        c = doc["candidates"][0]
        held = c["execution"]["limits"]
        self.assertIn(held["memory"], ("cgroup", "rlimit"))
        self.assertIn(held["cpus"], ("cgroup", "affinity"))
        if held["memory"] == "cgroup":
            self.assertEqual((c["verdict"], c["reason"]), ("abstain", "out_of_memory"))
        whole = all(held[k] == "cgroup" for k in ("memory", "pids", "cpus"))
        path = self.mission_of("echo two > f", "limits: {memory: 64MiB, pids: 50, cpus: 1}, require_enforcement: full")
        result = self.paddock("mission", "run", path, code=0 if whole else 4)
        self.assertEqual(b"SANDBOX_UNAVAILABLE" in result.err, not whole)

    def test_the_doctor_says_what_its_probe_saw(self):
        found = {d["dialect"]: d for d in self.paddock("--json", "doctor").json["confinement"]}
        self.assertEqual((found["bubblewrap"]["enforcement"], found["landlock"]["enforcement"]), ("full", "partial"))
        self.assertTrue(found["landlock"]["not_covered"])
        found = {d["dialect"]: d for d in self.paddock("--json", "doctor", env=self.without_bubblewrap()).json["confinement"]}
        self.assertEqual((found["bubblewrap"]["enforcement"], found["landlock"]["enforcement"]), ("none", "partial"))
        self.assertIn("none (no bwrap", self.paddock("doctor", env=self.without_any()).out.decode())


class Sessions(Base):
    """Who decides: sessions, their modes, and what is asked for one call."""

    def setUp(self):
        super().setUp()
        self.paddock("sandbox", "create", "s", "--backend", "directory")
        self.write = ("--", "sh", "-c", "echo ran >> '%s'" % self.target)

    def exec_(self, *options, code=0, env=None, words=None):
        return self.paddock("sandbox", "exec", "s", *options, *(words or self.write), code=code, env=env)

    def mode(self, *words, code=0, **kw):
        return self.paddock("--json", "sandbox", "mode", "s", *words, code=code, **kw).json

    def log(self, *types):
        import sqlite3  # the log of what belongs to no run
        store = next((self.dir / "state").glob("*/store.db"))
        with sqlite3.connect("file:%s?mode=ro" % store, uri=True) as db:
            rows = db.execute("SELECT type, body FROM event ORDER BY seq").fetchall()
        return [(kind, json.loads(body)) for kind, body in rows if kind in types or kind.startswith("escalation.")]

    def approver(self, script):
        path = self.dir / "approver"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return dict(self.env, PADDOCK_APPROVER=str(path))

    def ran(self):
        return self.target.read_text().count("ran")

    def test_a_session_keeps_its_mode_and_a_resume_replays_it(self):
        self.assertEqual(self.mode()["mode"], "danger-full-access")
        self.mode("read-only")
        self.assertEqual(self.mode()["mode"], "read-only")
        self.assertNotEqual(self.exec_(code=None).code, 0)
        self.mode("danger-full-access")
        self.exec_()
        self.assertEqual(self.ran(), 1)
        self.assertEqual([(k, b.get("mode")) for k, b in self.log("session.started", "sandbox.mode")],
                         [("session.started", "danger-full-access"), ("sandbox.mode", "read-only"), ("sandbox.mode", "danger-full-access")])

    def test_a_new_session_is_pinned_to_its_default_and_sessions_are_apart(self):
        self.assertNotEqual(self.exec_("--session", "a", code=None).code, 0)
        self.assertEqual(self.log("session.started")[0][1]["mode"], "workspace-write")
        self.mode("read-only", "--session", "b")
        self.assertEqual((self.mode("--session", "a")["mode"], self.mode("--session", "b")["mode"]), ("workspace-write", "read-only"))
        self.exec_()
        self.assertEqual(self.ran(), 1)
        self.mode("x", code=2)
        self.mode("--session", "../a", code=2)

    def test_a_mode_for_one_call_narrows_only(self):
        self.mode("workspace-write")
        self.exec_("--mode", "read-only", words=("--", "true"))
        result = self.exec_("--mode", "danger-full-access", code=125)
        self.assertIn(b"wider", result.err)
        self.assertEqual(self.ran(), 0)

    def test_an_approval_is_for_one_call(self):
        self.mode("read-only")
        env = self.approver("cat > '%s'; echo allowed-once" % (self.dir / "request"))
        self.exec_("--sandbox-permissions", "danger-full-access", "--justification", "a \x1b reason", env=env)
        self.assertEqual(self.ran(), 1)
        self.assertNotEqual(self.exec_(code=None).code, 0)
        self.assertEqual(self.ran(), 1)
        request = json.loads((self.dir / "request").read_text())
        self.assertEqual((request["mode"], request["sandbox_permissions"], request["justification"], request["argv"][0]),
                         ("read-only", "danger-full-access", "a \x1b reason", "sh"))
        self.assertEqual([(k, b.get("decision")) for k, b in self.log()],
                         [("escalation.asked", None), ("escalation.decided", "allowed-once")])

    def test_whatever_is_not_allowed_does_not_run_and_says_why(self):
        self.mode("read-only")
        texts = set()
        for script, decision in (("echo rejected", "rejected"), ("echo cancelled", "cancelled"), ("echo yes", "unavailable"),
                                 ("exit 3", "unavailable"), ("head -c 100000 /dev/zero", "unavailable")):
            with self.subTest(script):
                result = self.exec_("--sandbox-permissions", "danger-full-access", "--justification", "j", code=125, env=self.approver(script))
                self.assertEqual(self.log()[-1][1]["decision"], decision)
                texts.add(result.err)
        self.exec_("--sandbox-permissions", "danger-full-access", "--justification", "j", code=125,
                   env=dict(self.env, PADDOCK_APPROVER="relative/approver"))
        self.assertEqual(len(texts), 3)
        self.assertEqual(self.ran(), 0)
        kinds = [k for k, _ in self.log()]
        self.assertEqual(kinds, ["escalation.asked", "escalation.decided"] * 6)

    def test_never_rejects_without_asking(self):
        self.mode("read-only", "--approval", "never")
        asked = self.dir / "asked"
        result = self.exec_("--sandbox-permissions", "workspace-write", "--justification", "j", code=125,
                            env=self.approver(": > '%s'; echo allowed-once" % asked))
        self.assertIn(b"never", result.err)
        self.assertFalse(asked.exists())
        self.assertEqual(self.log()[-1][1]["decision"], "rejected")

    def test_a_request_that_is_wrong_asks_nobody(self):
        self.mode("workspace-write")
        asked = self.dir / "asked"
        env = self.approver(": > '%s'; echo allowed-once" % asked)
        for words in (("--sandbox-permissions", "danger-full-access"), ("--justification", "j"),
                      ("--sandbox-permissions", "workspace-write", "--justification", "j"),
                      ("--sandbox-permissions", "read-only", "--justification", "j"),
                      ("--sandbox-permissions", "more", "--justification", "j")):
            with self.subTest(words):
                self.exec_(*words, code=125, env=env)
        self.assertFalse(asked.exists())
        self.assertEqual((self.log(), self.ran()), ([], 0))

    def test_a_cancellation_reaches_who_was_asked(self):
        self.mode("read-only")
        for number in (signal.SIGINT, signal.SIGTERM):
            fifo = self.dir / ("fifo%d" % number)
            told = self.dir / ("told%d" % number)
            os.mkfifo(fifo)
            env = self.approver("trap 'echo told > \"%s\"; exit' TERM; echo up > '%s'; sleep 60 & wait" % (told, fifo))
            process = self.start("sandbox", "exec", "s", "--sandbox-permissions", "danger-full-access", "--justification", "j", *self.write, env=env)
            fifo.read_text()
            process.send_signal(number)
            self.assertEqual(process.wait(60), 125)
            self.assertTrue(told.exists())
            self.assertEqual(self.log()[-1][1]["decision"], "cancelled")
        self.assertEqual(self.ran(), 0)

    def test_the_terminal_is_asked_where_there_is_one(self):
        self.mode("read-only")
        for answer, decision in ((b"y\n", "allowed-once"), (b"n\n", "rejected"), (b"\n", "rejected"), (b"\x04", "cancelled")):
            with self.subTest(decision):
                pid, fd = pty.fork()
                if pid == 0:
                    os.chdir(self.repo.path)
                    os.execvpe(t.PADDOCK, self.argv("sandbox", "exec", "s", "--sandbox-permissions", "danger-full-access",
                                                    "--justification", "be\x1b[2Jcause", *self.write), self.env)
                seen = b""
                while b"[y/N]" not in seen:
                    seen += os.read(fd, 4096)
                self.assertIn(b"be\\x1b[2Jcause", seen)
                os.write(fd, answer)
                try:
                    while os.read(fd, 4096):
                        pass
                except OSError:
                    pass  # the other side of it has gone
                os.waitpid(pid, 0)
                os.close(fd)
                self.assertEqual(self.log()[-1][1]["decision"], decision)
        self.assertEqual(self.ran(), 1)
        # Without one, nobody can be asked.
        process = self.start("sandbox", "exec", "s", "--sandbox-permissions", "danger-full-access", "--justification", "j", *self.write,
                             start_new_session=True)
        self.assertEqual(process.wait(60), 125)
        self.assertEqual(self.log()[-1][1]["decision"], "unavailable")

    def test_a_preset_sets_all_three_and_needs_what_it_asks_for(self):
        doc = self.mode("--preset", "unattended")
        self.assertEqual((doc["mode"], doc["approval"], doc["preset"]), ("workspace-write", "never", "unattended"))
        kinds = [k for k, _ in self.log("sandbox.mode", "sandbox.approval", "sandbox.preset")]
        self.assertEqual(kinds, ["sandbox.mode", "sandbox.approval", "sandbox.preset"])
        self.assertIsNone(self.mode("--approval", "ask")["preset"])
        self.mode("--preset", "x", code=2)
        self.mode("read-only", "--preset", "work", code=2)
        doc = self.mode("--preset", "look", code=4, env=self.without_any())
        self.assertIn("SANDBOX_UNAVAILABLE", doc["error"]["message"])
        self.assertEqual(self.mode()["mode"], "workspace-write")

    def test_a_live_terminal_blocks_a_change_of_mode(self):
        self.mode("read-only", "--session", "a")
        locks = next((self.dir / "state").glob("*/locks"))
        with open(locks / "terminal.s@a", "a+") as held:
            fcntl.fcntl(held, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0))  # F_OFD_SETLK, as a terminal holds it
            self.mode("workspace-write", "--session", "a", code=5)
            self.mode("--preset", "work", "--session", "a", code=5)
            self.mode("workspace-write", "--session", "b")
        self.assertEqual(self.mode("workspace-write", "--session", "a")["mode"], "workspace-write")

    def test_a_shell_is_a_call_of_its_session_and_keeps_its_mode(self):
        self.mode("read-only", "--session", "a")
        fifo = self.outside / "up"
        os.mkfifo(fifo)
        shell = subprocess.Popen(self.argv("sandbox", "shell", "s", "--session", "a", "--", "sh", "-c",
                                           "echo no > '%s'; echo no > made; cat '%s'; read line" % (self.target, fifo)),
                                 cwd=self.repo.path, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(self.end, shell)
        fifo.write_text("ready")  # the shell has opened it: it lives
        self.mode("workspace-write", "--session", "a", code=5)
        shell.communicate(b"\n", timeout=60)
        self.assertEqual(self.target.read_text(), "kept\n")
        self.exec_(words=("--", "test", "!", "-e", "made"))
        self.mode("workspace-write", "--session", "a")


if __name__ == "__main__":
    t.main()
