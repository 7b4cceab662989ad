#!/usr/bin/env python3
# timeout: 500
"""The overlay backend: what runs leave, what it takes on disk, who may have it and how."""

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
            self.skipTest("an ordinary user is one of the subjects")

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

    def ordinary(self):
        """The argv that runs a program as an ordinary user, to whom the test's directory belongs from here on."""
        if not shutil.which("setpriv"):
            self.skipTest("no setpriv")
        ids = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        subprocess.run(["chown", "-R", "65534:65534", self.dir], check=True)
        for above in self.dir.parents:
            if above.name.startswith(("pdk-test.", "tmp")) and len(above.parts) > 2:
                above.chmod(above.stat().st_mode | 0o011)  # private to this test's process
        try:
            if subprocess.run(ids + ["ls", str(self.repo.path), shutil.which(t.PADDOCK) or t.PADDOCK], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
                self.skipTest("that user cannot reach the test's directory")
        except OSError as error:
            self.skipTest(str(error))
        self.env = dict(self.env, HOME=str(self.dir), GIT_AUTHOR_NAME="n", GIT_AUTHOR_EMAIL="e@x", GIT_COMMITTER_NAME="n",
                        GIT_COMMITTER_EMAIL="e@x")
        return ids

    def as_user(self, *args, code=0):
        result = self.run_argv(self.ids + self.argv(*args), env=self.env)
        self.assertEqual(result.code, code, str(result))
        return result

    def test_an_ordinary_user_has_it(self):
        self.ids = self.ordinary()
        run = ["--json", "mission", "run", "--check", "grep -q 2 f && ! test -e g", "-n", "3", "--backend"]
        for backend in ("overlay", "auto"):
            with self.subTest(backend):
                command = "set -e; echo $PADDOCK_CANDIDATE > f; mkdir d; echo x > d/y; test \"$(id -u)\" = 65534; git add f; git status --porcelain | grep '^M  f'"
                doc = self.as_user(*run, backend, "--cmd", command).json
                self.assertEqual([c["verdict"] for c in doc["candidates"]], ["fail", "pass", "fail"])
                for candidate in doc["candidates"]:
                    self.assertEqual((candidate["backend"], candidate["execution"]["mounted"]), ("overlay", "user-namespace"))
                    self.assertEqual((candidate["mission"]["exit_code"], candidate["files_changed"]), (0, 2))
                self.assertEqual((self.mounts(), self.left()), ([], []))
        self.assertIn(b"mounted: user-namespace", self.as_user("doctor").out)

    def test_a_named_one_of_an_ordinary_user(self):
        self.ids = self.ordinary()
        self.as_user("sandbox", "create", "--backend", "overlay", "s")
        self.as_user("sandbox", "exec", "s", "--", "sh", "-c", "echo two > f; echo new > g")
        self.assertEqual(self.as_user("sandbox", "exec", "s", "--", "cat", "f", "g").out, b"two\nnew\n")
        self.assertIn(b"+two", self.as_user("sandbox", "diff", "s").out)
        self.as_user("sandbox", "discard", "--force", "s")
        self.assertEqual((self.mounts(), self.left()), ([], []))

    def test_where_no_way_is_open(self):
        """Neither the privilege to mount nor a user namespace."""
        self.ids = ["unshare", "--user", "--map-root-user", "sh", "-c",
                    "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -all \"$@\"", "sh"]
        if self.run_argv(self.ids + ["true"]).code:
            self.skipTest("user namespaces cannot be forbidden here")
        run = ["--json", "mission", "run", "--cmd", "echo x > f", "--check", "true", "--backend"]
        result = self.as_user(*run, "overlay", code=4)
        self.assertIn(b"user namespaces are refused here", result.err + result.out)
        self.assertEqual(list((self.dir / "state").glob("*/runs/*")), [])
        doc = self.as_user(*run, "auto").json
        self.assertEqual(doc["candidates"][0]["backend"], "directory")
        self.assertNotIn("mounted", doc["candidates"][0]["execution"])


if __name__ == "__main__":
    t.main()
