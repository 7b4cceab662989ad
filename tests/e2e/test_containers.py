#!/usr/bin/env python3
# timeout: 900
"""Commands in containers, by a real engine that tests/engine/up starts: what holds, what is left, what breaks."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

ENGINE = pathlib.Path(__file__).resolve().parents[1] / "engine"
SKIPPED = 77  # what tests/engine/up ends with where there can be none


class Engine:
    """An engine of the tests' own, with two images: `box:1` (a static busybox) and `empty:1` (nothing at all)."""

    name = None

    def __init__(self):
        if os.environ.get("PDK_SANITIZED") == "1":
            raise unittest.SkipTest("an agent with a sanitizer is not static: it runs in no image of these tests")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="eng."))
        self.vars = {}
        self.up()
        self.env = dict(os.environ, **self.vars)
        self.import_images()

    def call(self, *args, data=None, check=True):
        return subprocess.run([self.name, *args], env=self.env, input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=check, timeout=120).stdout.decode()

    def import_images(self):
        with tempfile.TemporaryDirectory() as root:
            binaries = pathlib.Path(root) / "bin"
            binaries.mkdir()
            box = shutil.copy(shutil.which("busybox"), binaries)
            for name in subprocess.run([box, "--list"], stdout=subprocess.PIPE, check=True).stdout.decode().split():
                if name != "busybox":
                    (binaries / name).symlink_to("busybox")
            tar = subprocess.run(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE, check=True).stdout
        self.call("import", "-", "box:1", data=tar)
        empty = subprocess.run(["tar", "-c", "--files-from", "/dev/null"], stdout=subprocess.PIPE, check=True).stdout
        self.call("import", "-", "empty:1", data=empty)

    def containers(self):
        return self.call("ps", "--all", "--format", "{{.Names}}").split()


class Docker(Engine):
    name = "docker"

    def up(self):
        done = subprocess.run([ENGINE / "up", self.dir], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode == SKIPPED:
            raise unittest.SkipTest(done.stdout.decode(errors="replace").strip())
        if done.returncode:
            raise RuntimeError(done.stdout.decode(errors="replace"))
        self.vars["DOCKER_HOST"] = "unix://%s/run/docker.sock" % self.dir

    def down(self):
        subprocess.run([ENGINE / "down", self.dir], check=True)

    def pid(self):
        return int((self.dir / "run" / "dockerd.pid").read_text())

    def signal(self, number):
        os.kill(self.pid(), number)

    def kill_and_restart(self):
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        subprocess.run(["tail", "--pid=%d" % pid, "-f", "/dev/null"], check=True)
        self.up()


class Podman(Engine):
    """Without a daemon: settings that work in a container or a virtual machine without systemd, and storage of its own."""

    name = "podman"

    def up(self):
        for program in ("podman", "runc", "conmon"):
            if not shutil.which(program):
                raise unittest.SkipTest("%s is not installed (podman)" % program)
        if os.geteuid() != 0:
            raise unittest.SkipTest("its storage here takes root")
        self.vars = {"CONTAINERS_CONF": str(self.dir / "containers.conf"), "CONTAINERS_STORAGE_CONF": str(self.dir / "storage.conf")}
        (self.dir / "containers.conf").write_text(
            '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\ntmp_dir = "%s/tmp"\n'
            '[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=30000:30000"]\n' % self.dir)
        (self.dir / "storage.conf").write_text(
            '[storage]\ndriver = "overlay"\ngraphroot = "%s/data"\nrunroot = "%s/run"\n' % (self.dir, self.dir))

    def down(self):
        self.call("rm", "--all", "--force")
        self.call("rmi", "--all", "--force")
        mounts = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
        for mount in sorted((m for m in mounts if m.startswith(str(self.dir) + "/")), reverse=True):
            subprocess.run(["umount", "-l", mount], check=False)
        shutil.rmtree(self.dir)


engines = {}


class Common:
    """What holds with every engine."""

    claim = None
    engine_class = None

    @classmethod
    def setUpClass(cls):
        cls.engine = engines[cls.engine_class] = cls.engine_class()

    def setUp(self):
        super().setUp()
        self.env.update(self.engine.vars)
        self.addCleanup(lambda: self.assertEqual(self.engine.containers(), []))

    def plan(self, command, check="true", image="box:1", candidates=1, **container):
        container = dict({"engine": self.engine.name, "image": image}, **container)
        plan = {"schema": "paddock/v1", "kind": "mission", "id": "m", "candidates": candidates,
                "sandbox": {"backend": "container", "container": container}, "mission": {"run": command},
                "verify": {"checks": [{"name": "check", "run": check}]}}
        return self.file("m.yaml", json.dumps(plan))

    def seen(self, doc, name="f"):
        """What a candidate wrote to a file of its tree."""
        return self.paddock("diff", doc["run"] + "/c1").out.decode()

    def left(self):
        return [p.name for p in (self.dir / "state").glob("*/sandboxes/*")]

    def hanging(self, *args, **container):
        """A mission under way in a container; it waits for good."""
        process = self.start("mission", "run", "--run-id", "hang", "--events", *args, self.plan("echo up; sleep 1000", **container))
        self.until(process.stdout, b'"stage":"mission"')
        self.until(self.start("logs", "-f", "hang/c1", "mission").stdout, b"up")
        return process

    def until(self, stream, sign):
        """Reads lines up to one with the sign in it."""
        for line in stream:
            if sign in line.replace(b" ", b""):
                return
        self.fail("it ended without %r" % sign)

    # ---- what it is

    def test_a_run_is_recorded_as_what_it_was(self):
        before = self.repo.snapshot()
        doc = self.mission(self.plan("cat /proc/self/status /proc/net/dev > f; id -u >> f", "grep -q ^CapEff f", candidates=2))
        self.assertEqual((doc["verdict"], doc["winner"]), ("pass", "c1"))
        execution = doc["candidates"][0]["execution"]
        self.assertEqual((execution["where"], execution["engine"], execution["network"]), ("container", self.engine.name, "none"))
        self.assertRegex(execution["image_id"], "^(sha256:)?[0-9a-f]{64}$")
        self.assertIn("Linux container isolation on this host", execution["claim"])
        text = self.seen(doc)
        self.assertIn("+CapEff:\t0000000000000000", text)
        self.assertIn("+NoNewPrivs:\t1", text)
        self.assertNotIn("eth0", text)
        self.assertEqual(self.repo.snapshot(), before)
        self.assertEqual(self.left(), [])

    def test_files_come_out_as_the_callers(self):
        doc = self.mission(self.plan("mkdir d; echo x > d/y; chmod 755 d/y"))
        self.paddock("promote", doc["run"])
        self.assertEqual((self.repo.path / "d/y").stat().st_uid, os.geteuid())

    def test_no_credential_and_no_engine_inside(self):
        doc = self.mission(self.plan("env > f; ls -d /run/docker.sock /var/run/docker.sock >> f 2>&1; find '%s' -maxdepth 2 >> f" % self.repo.path),
                           env=dict(self.env, API_TOKEN="planted"))
        text = self.seen(doc)
        self.assertNotIn("planted", text)
        self.assertNotIn("DOCKER_HOST", text)
        self.assertEqual(text.count("No such file"), 2)
        self.assertEqual([line for line in text.splitlines() if str(self.repo.path) in line],
                         ["+%s%s" % (self.repo.path, rest) for rest in ("", "/.git", "/.git/objects")])
        self.assertIn("+PATH=/usr/local/sbin", text)

    def test_git_works_on_the_copy_from_outside_again(self):
        doc = self.mission(self.plan("echo two > f; mkdir n; echo x > n/y"), "--promote")
        self.assertEqual(self.repo.tree(), doc["candidates"][0]["tree"])

    def test_an_empty_image_will_do(self):
        shutil.copy(shutil.which("busybox"), self.repo.path / "busybox")
        self.repo.commit("a tool")
        doc = self.mission(self.plan(["./busybox", "touch", "made"], ["./busybox", "test", "-e", "made"], image="empty:1"))
        self.assertEqual(doc["verdict"], "pass", doc)

    def test_a_user_of_the_image_or_a_number(self):
        doc = self.mission(self.plan("id -u > /tmp/x; cp /tmp/x f", "grep 1234 f", user="1234:1234"))
        self.assertEqual(doc["candidates"][0]["mission"]["exit_code"], 0)

    def test_forty_at_once(self):
        doc = self.mission("-j", "40", self.plan("echo $PADDOCK_CANDIDATE > f", candidates=40))
        self.assertEqual([c["verdict"] for c in doc["candidates"]], ["pass"] * 40, doc)

    # ---- limits

    def test_limits_are_those_asked_for(self):
        look = ("for f in memory.max memory/memory.limit_in_bytes pids.max pids/pids.max; do "
                "cat /sys/fs/cgroup/$f >> f 2>/dev/null; done; true")
        doc = self.mission(self.plan(look, memory="64MiB", pids=40, cpus=0.5))
        self.assertIn("+%d" % (64 << 20), self.seen(doc))
        self.assertIn("+40", self.seen(doc))

    def test_out_of_memory_is_told_as_that(self):
        doc = self.mission(self.plan("x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done", memory="32MiB"), code=None)
        self.assertEqual(doc["candidates"][0]["mission"]["signal"], signal.SIGKILL)
        events = [json.loads(line) for line in self.paddock("events", doc["run"]).out.splitlines()]
        ended, = (e["body"] for e in events if e["type"] == "command.ended")
        self.assertTrue(ended["oom"], ended)

    def test_daemons_and_forks_end_with_the_mission(self):
        doc = self.mission(self.plan("(setsid sleep 1000 &) ; i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i+1)); done", pids=32), code=None)
        self.assertEqual(doc["candidates"][0]["leaked_processes"], 0)

    # ---- what is not there

    def test_a_missing_image_is_told_before_anything_is_made(self):
        for image in ("no/such:image", "box:1; touch pwned", "$(touch pwned)", "-v/:/host"):
            done = self.paddock("mission", "run", self.plan("true", image=image), code=4)
            self.assertIn(b"%s pull" % self.engine.name.encode(), done.err)
        self.assertEqual(self.left(), [])
        self.assertEqual(self.paddock("--json", "runs").json["items"], [])
        self.assertFalse((self.repo.path / "pwned").exists())

    def test_a_named_sandbox_is_not_made_on_the_host_instead(self):
        self.assertIn(b"not built yet", self.paddock("sandbox", "create", "--backend", "container", "a", code=2).err)
        self.assertEqual(self.left(), [])

    # ---- what breaks

    def test_a_killed_paddock_leaves_containers_that_one_gc_removes(self):
        process = self.hanging()
        process.kill()
        process.communicate()
        self.paddock("gc")
        self.assertEqual((self.engine.containers(), self.left()), ([], []))

    def test_an_interrupt_leaves_none(self):
        process = self.hanging()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual((self.engine.containers(), self.left()), ([], []))


class InDocker(Common, t.Case):
    engine_class = Docker

    def test_no_engine_is_told_before_anything_is_made(self):
        plan = json.loads(self.plan("true").read_text())
        del plan["sandbox"]["container"]["engine"]
        self.assertIn(b"PADDOCK_ENGINE", self.paddock("mission", "run", self.file("n.yaml", json.dumps(plan)), code=4).err)
        dead = dict(self.env, DOCKER_HOST="unix:///nonexistent/socket")
        self.paddock("mission", "run", self.plan("true"), code=4, env=dead)
        (self.dir / "bin").mkdir()
        (self.dir / "bin/git").symlink_to(shutil.which("git"))
        neither = dict(self.env, PATH=str(self.dir / "bin"))
        self.assertIn(b"no container engine works", self.paddock("mission", "run", self.plan("true", engine="auto"), code=4, env=neither).err)
        self.assertEqual(self.left(), [])

    def test_doctor_tells_what_it_saw(self):
        items = {i["name"]: i for i in self.paddock("--json", "doctor").json["items"]}
        self.assertIn("kernel", items["engine docker"]["detail"])
        items = {i["name"]: i for i in self.paddock("--json", "doctor", env=dict(self.env, DOCKER_HOST="unix:///none")).json["items"]}
        self.assertIn("none:", items["engine docker"]["detail"])

    def test_a_stopped_daemon_hangs_nothing(self):
        process = self.hanging(delete_timeout="2s")
        self.engine.signal(signal.SIGSTOP)
        try:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)
        finally:
            self.engine.signal(signal.SIGCONT)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.paddock("--json", "show", "hang").json["verdict"], "abstain")
        self.paddock("gc")

    def test_a_daemon_that_dies_is_an_abstain(self):
        process = self.hanging()
        self.engine.kill_and_restart()
        out, _ = process.communicate(timeout=180)
        doc = self.paddock("--json", "show", "hang").json
        self.assertEqual((process.returncode, doc["verdict"]), (3, "abstain"), (doc, out))
        self.paddock("gc")


class InPodman(Common, t.Case):
    engine_class = Podman


def end_engines():
    for engine in engines.values():
        engine.down()


if __name__ == "__main__":
    unittest.addModuleCleanup(end_engines)
    t.main()
