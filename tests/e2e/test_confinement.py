#!/usr/bin/env python3
"""Modes: what commands of missions and of named sandboxes may write, what is recorded of it, and that nothing runs without it."""

import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

MISSION = "schema: paddock/v1\nkind: mission\nid: m\nmission: {run: %s}\nsandbox: {%s}\nverify: {checks: [{name: c, run: %s}]}\n"
DIALECTS = ("bubblewrap", "landlock")


class Confinement(t.Case):
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

    def test_the_doctor_says_what_its_probe_saw(self):
        found = {d["dialect"]: d for d in self.paddock("--json", "doctor").json["confinement"]}
        self.assertEqual((found["bubblewrap"]["enforcement"], found["landlock"]["enforcement"]), ("full", "partial"))
        self.assertTrue(found["landlock"]["not_covered"])
        found = {d["dialect"]: d for d in self.paddock("--json", "doctor", env=self.without_bubblewrap()).json["confinement"]}
        self.assertEqual((found["bubblewrap"]["enforcement"], found["landlock"]["enforcement"]), ("none", "partial"))
        self.assertIn("none (no bwrap", self.paddock("doctor", env=self.without_any()).out.decode())


if __name__ == "__main__":
    t.main()
