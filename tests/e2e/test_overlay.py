#!/usr/bin/env python3
# timeout: 500
"""The overlay backend, which takes root: what runs leave, what it takes on disk, who may have it."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

ROOT = os.geteuid() == 0


class Overlay(t.Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.unmount_rest)
        if not ROOT:
            self.skipTest("overlays take root")

    def mounts(self):
        return [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()
                if line.split()[1].startswith(str(self.dir) + "/")]

    def unmount_rest(self):
        """What a failed test left mounted, else its directory cannot go."""
        for mount in self.mounts():
            subprocess.run(["umount", "-l", mount], check=False)

    def left(self):
        return [p.name for p in (self.dir / "state").glob("*/sandboxes/*")]

    def usage(self, *paths):
        done = subprocess.run(["du", "-skx", "--total", *map(str, paths)], stdout=subprocess.PIPE, check=True)
        return int(done.stdout.split()[-2])

    def test_best_of_n_leaves_nothing(self):
        for backend in ("overlay", "auto"):
            with self.subTest(backend):
                before = self.repo.snapshot()
                doc = self.mission("--backend", backend, "--cmd", "echo $PADDOCK_CANDIDATE > f; rm -rf d; mkdir d; echo x > d/y",
                                   "--check", "grep -q 2 f", "-n", "3")
                self.assertEqual([c["verdict"] for c in doc["candidates"]], ["fail", "pass", "fail"])
                self.assertEqual(self.repo.snapshot(), before)
                self.assertEqual((self.mounts(), self.left()), ([], []))

    def test_git_works_in_it(self):
        command = ("set -e; test -z \"$(git status --porcelain)\"; echo two > f; test -n \"$(git status --porcelain)\"; "
                   "git stash -q; grep one f; git stash pop -q; grep two f; "
                   "git -c user.name=n -c user.email=e@x commit -qam two; git log --oneline | wc -l | grep 2; git fsck")
        doc = self.mission("--backend", "overlay", "--cmd", command, "--check", "grep two f")
        self.assertEqual(doc["candidates"][0]["mission"]["exit_code"], 0)
        self.assertEqual(doc["verdict"], "pass")

    def test_many_live_at_once_and_take_little(self):
        for i in range(5000):
            (self.repo.path / ("d%d" % (i % 50))).mkdir(exist_ok=True)
            self.repo.write("d%d/%d" % (i % 50, i), "%d\n" % i * 50)
        self.repo.commit("large")
        self.paddock("sandbox", "create", "--backend", "overlay", "s0")
        state = self.dir / "state"
        one = self.usage(state)
        for i in range(1, 200):
            self.paddock("sandbox", "create", "--backend", "overlay", "s%d" % i)
            if i == 99:
                self.assertLessEqual(self.usage(state), one * 1.2 + 100 * 160)  # a git directory of its own each
        self.assertEqual(len(self.mounts()), 200)
        for mount in self.mounts()[::33]:
            self.assertEqual(len(list(pathlib.Path(mount).glob("d*/*"))), 5000)
        for i in range(200):
            self.paddock("sandbox", "discard", "s%d" % i)
        self.assertEqual((self.mounts(), self.left()), ([], []))

    def test_a_killed_run_is_swept(self):
        signs = t.Signs(self, self.dir / "signs")
        run = self.start("mission", "run", "--backend", "overlay", "--cmd", "echo > '%s'; sleep 99" % signs.path, "--check", "true",
                         "-n", "2", start_new_session=True)
        signs.wait()
        self.assertNotEqual(self.mounts(), [])
        processes = t.children(run.pid)
        run.send_signal(signal.SIGKILL)
        run.wait()
        t.ended(processes)
        self.paddock("gc")
        self.assertEqual((self.mounts(), self.left()), ([], []))

    def test_an_ordinary_user_is_told(self):
        if not shutil.which("setpriv"):
            self.skipTest("no setpriv")
        ids = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        subprocess.run(["chown", "-R", "65534:65534", self.dir], check=True)
        for above in self.dir.parents:
            if above.name.startswith(("pdk-test.", "tmp")) and len(above.parts) > 2:
                above.chmod(above.stat().st_mode | 0o011)  # private to this test's process
        env = dict(self.env, HOME=str(self.dir))
        run = ["--json", "mission", "run", "--cmd", "echo x > f", "--check", "true", "--backend"]
        try:
            if subprocess.run(ids + ["ls", str(self.repo.path), shutil.which(t.PADDOCK) or t.PADDOCK], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
                self.skipTest("that user cannot reach the test's directory")
        except OSError as error:
            self.skipTest(str(error))
        result = self.run_argv(ids + self.argv(*run, "overlay"), env=env)
        self.assertEqual(result.code, 4, str(result))
        self.assertIn(b"overlay", result.err + result.out)
        self.assertEqual(list((self.dir / "state").glob("*/runs/*")), [])
        result = self.run_argv(ids + self.argv(*run, "auto"), env=env)
        self.assertEqual(result.code, 0, str(result))
        self.assertIn(b'"backend": "directory"', self.run_argv(ids + self.argv("--json", "show", result.json["run"]), env=env).out + result.out)


if __name__ == "__main__":
    t.main()
