#!/usr/bin/env python3
"""Sandboxes by name: every verb with both backends, and every refusal."""

import os
import pathlib
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

FIELDS = {"id": str, "backend": str, "base": dict, "branch": str, "path": str, "status": str, "dirty": bool, "changes": list}


class Sandboxes(t.Case):
    def create(self, name, *args, code=0):
        result = self.paddock("--json", "sandbox", "create", name, *args, code=code)
        return result.json

    def path(self, name):
        return pathlib.Path(self.status(name)["path"])

    def status(self, name):
        return self.paddock("--json", "sandbox", "status", name).json

    def each(self):
        for backend in t.BACKENDS:
            with self.subTest(backend):
                yield backend, "s-" + backend

    def test_create_list_status_and_discard(self):
        before = self.repo.snapshot()
        for backend, name in self.each():
            made = self.create(name, "--backend", backend)
            for key, kind in FIELDS.items():
                self.assertIsInstance(made[key], kind, key)
            self.assertEqual(made["branch"], "sandbox/" + name)
            self.assertEqual(made["base"]["commit"], self.repo.git("rev-parse", "HEAD").strip())
            self.assertTrue(os.path.isfile(os.path.join(made["path"], "f")))
            self.assertFalse(made["path"].startswith(str(self.repo.path)))
            status = self.status(name)
            self.assertEqual((status["dirty"], status["changes"], status["backend"]), (False, [], backend))
            self.assertEqual(self.run_argv(["git", "branch", "--show-current"], cwd=made["path"]).out.decode().strip(), "sandbox/" + name)
            in_repo = self.repo.git("branch", "--list", "sandbox/*").strip() != ""
            self.assertEqual(in_repo, backend == "git-worktree")
            self.assertEqual(name in self.repo.git("worktree", "list"), backend == "git-worktree")
            items = self.paddock("--json", "sandbox", "list").json
            self.assertEqual(items["schema_version"], 1)
            self.assertEqual([i["id"] for i in items["items"]], [name])
            self.assertEqual(self.repo.git("status", "--porcelain"), "")
            self.paddock("sandbox", "discard", name)
            self.assertFalse(os.path.exists(made["path"]))
            self.assertEqual(self.repo.snapshot(), before)
        self.assertEqual(self.paddock("--json", "sandbox", "list").json["items"], [])

    def test_the_default_is_a_worktree_with_its_branch(self):
        self.assertEqual(self.create("plain")["backend"], "git-worktree")
        self.assertIn("sandbox/plain", self.repo.git("branch", "--list", "sandbox/*"))

    def test_dirt_is_told_path_by_path(self):
        self.repo.write("gone", "x\n")
        self.repo.commit()
        for backend, name in self.each():
            path = pathlib.Path(self.create(name, "--backend", backend)["path"])
            (path / "f").write_text("two\n")
            (path / "gone").unlink()
            (path / "a b\nc").write_text("x")
            (path / "é").write_text("x")
            pathlib.Path(os.fsdecode(os.fsencode(path) + b"/bad\xff")).write_text("x")
            status = self.status(name)
            self.assertEqual((status["dirty"], status["status"]), (True, "dirty"))
            changes = {(c["status"], c["path"]) for c in status["changes"]}
            self.assertLessEqual({("M", "f"), ("D", "gone"), ("?", "a b\nc"), ("?", "é")}, changes)
            odd, = [c for c in status["changes"] if "path_base64" in c]
            self.assertEqual(odd["path_base64"], "YmFk/w==")

    def test_ignored_files_are_counted_and_those_it_lacks_named(self):
        self.repo.write(".gitignore", "*.log\nnode_modules/\n")
        self.repo.commit("ignore")
        self.repo.write("node_modules/a/b", "x")
        self.repo.write("one.log", "x")
        for i in range(25):
            self.repo.write("more/%02d.log" % i, "x")
        self.paddock("sandbox", "create", "a", "--include", "one.log")
        self.paddock("sandbox", "exec", "a", "--", "sh", "-c", "echo > two.log")
        doc = self.paddock("--json", "sandbox", "status", "a").json
        self.assertEqual((doc["dirty"], doc["ignored_files"]), (False, 2), doc)
        self.assertEqual(doc["omitted"]["count"], 2, doc)
        self.assertEqual([p["path"] for p in doc["omitted"]["paths"]], ["more/", "node_modules/"])
        self.assertIn(b"node_modules/", self.paddock("sandbox", "status", "a").out)

    def test_discard_refuses_what_would_be_lost(self):
        for backend, name in self.each():
            path = pathlib.Path(self.create(name, "--backend", backend)["path"])
            (path / "new").write_text("x\n")
            self.paddock("sandbox", "discard", name, code=5)
            self.assertTrue((path / "new").exists())
            self.run_argv(["git", "add", "new"], cwd=path)
            self.assertEqual(self.run_argv(["git", "commit", "-qm", "work"], cwd=path).code, 0)
            self.assertEqual(self.status(name)["status"] != "lost", True)
            self.paddock("sandbox", "discard", name, code=5)
            self.assertTrue((path / "new").exists())
            self.paddock("sandbox", "discard", name, "--force")
            self.assertFalse(path.exists())
            self.assertEqual(self.repo.git("branch", "--list", "sandbox/*"), "")

    def test_commits_that_something_else_holds_may_go(self):
        path = self.create("held")["path"]
        self.run_argv(["git", "commit", "-q", "--allow-empty", "-m", "work"], cwd=path)
        self.paddock("sandbox", "discard", "held", code=5)
        self.repo.git("branch", "keeper", "sandbox/held")
        self.paddock("sandbox", "discard", "held")
        self.repo.git("rev-parse", "--verify", "keeper")

    def test_keep_branch_leaves_the_branch(self):
        path = self.create("kept")["path"]
        self.run_argv(["git", "commit", "-q", "--allow-empty", "-m", "work"], cwd=path)
        self.paddock("sandbox", "discard", "kept", "--keep-branch")
        self.assertIn("work", self.repo.git("log", "--format=%s", "sandbox/kept"))
        self.assertFalse(os.path.exists(path))

    def test_a_vanished_working_copy_needs_force(self):
        for backend, name in self.each():
            path = pathlib.Path(self.create(name, "--backend", backend)["path"])
            shutil.rmtree(path)
            self.assertEqual(self.status(name)["status"], "lost")
            self.paddock("sandbox", "discard", name, code=5)
            self.paddock("sandbox", "discard", name, "--force")
            self.assertEqual(len(self.repo.git("worktree", "list").splitlines()), 1)
            self.assertEqual(self.repo.git("branch", "--list", "sandbox/*"), "")

    def test_names_are_checked_and_used_once(self):
        for name in ("../x", "a/b", ".", "..", "-x", ".hidden", "a b", ""):
            self.assertNotEqual(self.paddock("sandbox", "create", "--", name, code=None).code, 0, name)
        self.create("once")
        self.paddock("sandbox", "create", "once", code=5)
        self.paddock("sandbox", "discard", "once")
        self.paddock("sandbox", "create", "once", code=5)
        self.assertEqual(self.paddock("--json", "sandbox", "list").json["items"], [])

    def test_a_refused_creation_leaves_nothing(self):
        before = self.repo.snapshot()
        for args in (("--backend", "nope"), ("--base", "no-such"), ("--seed", "what")):
            self.assertNotEqual(self.paddock("sandbox", "create", "x", *args, code=None).code, 0)
        self.repo.git("branch", "sandbox/taken")
        self.paddock("sandbox", "create", "taken", code=None)
        self.assertEqual(self.repo.git("rev-parse", "sandbox/taken"), self.repo.git("rev-parse", "HEAD"))
        self.repo.git("branch", "-D", "sandbox/taken")
        self.assertEqual(self.repo.snapshot(), before)
        self.assertEqual(self.paddock("--json", "sandbox", "list").json["items"], [])
        self.assertEqual(list((self.dir / "state").glob("*/sandboxes/*")), [])

    def test_an_unknown_name_lists_the_known(self):
        self.create("here")
        for verb in ("status", "diff", "pull", "discard"):
            self.assertIn(b"here", self.paddock("sandbox", verb, "nowhere", code=2).err)

    def test_base_and_seed(self):
        self.repo.write("f", "newer\n")
        self.repo.commit()
        self.repo.write("wip", "w\n")
        for backend, name in self.each():
            path = pathlib.Path(self.create(name, "--backend", backend, "--base", "HEAD~1")["path"])
            self.assertEqual((path / "f").read_text(), "one\n")
            path = pathlib.Path(self.create(name + "-wip", "--backend", backend, "--seed", "worktree")["path"])
            self.assertEqual((path / "wip").read_text(), "w\n")
            self.assertFalse(self.status(name + "-wip")["dirty"])
            self.paddock("sandbox", "discard", name + "-wip")

    def test_two_names_that_look_alike(self):
        self.create("fix-the.thing")
        self.create("fix-the-thing")

    def test_sixteen_at_once(self):
        processes = [self.start("sandbox", "create", "p%d" % i, "--backend", t.BACKENDS[i % 2]) for i in range(16)]
        for process in processes:
            out, err = process.communicate()
            self.assertEqual(process.returncode, 0, (out, err))
        self.assertEqual(len(self.paddock("--json", "sandbox", "list").json["items"]), 16)
        processes = [self.start("sandbox", "discard", "p%d" % i) for i in range(16)]
        for process in processes:
            out, err = process.communicate()
            self.assertEqual(process.returncode, 0, (out, err))
        self.assertEqual(len(self.repo.git("worktree", "list").splitlines()), 1)
        self.assertEqual(self.repo.git("for-each-ref", "refs/heads/sandbox", "refs/paddock"), "")


class Patches(t.Case):
    def test_pull_is_a_patch_that_git_applies(self):
        self.repo.write("gone", "x\n")
        self.repo.write("mode", "x\n")
        self.repo.write("bin", bytes(range(256)))
        self.repo.commit()
        tree = self.repo.git("rev-parse", "HEAD^{tree}").strip()
        for backend in t.BACKENDS:
            path = t.Repo(self.paddock("--json", "sandbox", "create", backend, "--backend", backend).json["path"])
            path.write("f", "two\nno newline")
            path.write("new/deep", "d\n")
            path.write("bin", bytes(reversed(range(256))))
            (path.path / "mode").chmod(0o755)
            (path.path / "gone").unlink()
            (path.path / "link").symlink_to("f")
            path.git("commit", "-qam", "part of it")
            patch = self.dir / (backend + ".patch")
            self.paddock("sandbox", "pull", backend, "-o", patch)
            self.assertEqual(self.paddock("sandbox", "pull", backend).out, patch.read_bytes())
            self.assertEqual(self.paddock("sandbox", "diff", backend).out, patch.read_bytes())
            self.repo.git("apply", "--check", patch)
            self.repo.git("apply", patch)
            self.assertEqual(self.repo.tree(), path.tree())
            self.assertNotEqual(self.repo.tree(), tree)
            self.repo.git("apply", "-R", patch)
            self.assertEqual(self.repo.tree(), tree)

    def test_diff_stat_names_paths(self):
        path = t.Repo(self.paddock("--json", "sandbox", "create", "s").json["path"])
        path.write("f", "two\n")
        self.assertIn(b"f", self.paddock("sandbox", "diff", "s", "--stat").out)

    def test_pull_into_a_directory_that_is_not_there_is_an_error(self):
        self.paddock("sandbox", "create", "s")
        self.assertNotEqual(self.paddock("sandbox", "pull", "s", "-o", self.dir / "no/such/file", code=None).code, 0)


class Exec(t.Case):
    def setUp(self):
        super().setUp()
        for backend in t.BACKENDS:
            self.paddock("sandbox", "create", backend, "--backend", backend)

    def exec(self, *argv, code=0, sandbox="directory", options=(), **kw):
        return self.paddock("sandbox", "exec", sandbox, *options, "--", *argv, code=code, **kw)

    def test_output_and_exit_code_pass_through(self):
        for backend in t.BACKENDS:
            for code in (0, 1, 7, 124, 255):
                result = self.exec("sh", "-c", "echo out; echo err >&2; exit %d" % code, code=code, sandbox=backend)
                self.assertEqual((result.out, result.err), (b"out\n", b"err\n"))

    def test_it_runs_in_the_sandbox(self):
        for backend in t.BACKENDS:
            path = self.paddock("--json", "sandbox", "status", backend).json["path"]
            self.assertEqual(self.exec("pwd", sandbox=backend).out.decode().strip(), path)
            self.exec("sh", "-c", "echo two > f", sandbox=backend)
            self.assertEqual(pathlib.Path(path, "f").read_text(), "two\n")
        self.assertEqual(self.repo.read("f"), "one\n")

    def test_arguments_are_not_a_shells(self):
        self.assertEqual(self.exec("printf", "%s|", "a b", "$HOME", "*", "--json", "").out, b"a b|$HOME|*|--json||")

    def test_codes_of_ours(self):
        self.exec("no-such-command-anywhere", code=127)
        self.exec("/etc", code=126)
        self.exec("/etc/passwd", code=126)
        self.exec("true", sandbox="nowhere", code=125)
        shutil.rmtree(self.paddock("--json", "sandbox", "status", "directory").json["path"])
        self.exec("true", code=125)

    def test_a_signal_is_128_and_more(self):
        self.exec("sh", "-c", "kill -TERM $$", code=128 + signal.SIGTERM)
        self.exec("sh", "-c", "kill -KILL $$", code=128 + signal.SIGKILL)

    def test_a_timeout_is_124(self):
        self.exec("sleep", "99", options=("--timeout", "200ms"), code=124)

    def test_stdin_is_closed_and_the_environment_is_small(self):
        env = dict(self.env, FOO_TOKEN="x")
        self.exec("cat")
        self.assertNotIn(b"FOO_TOKEN", self.exec("env", env=env).out)

    def test_much_output_arrives_whole(self):
        self.assertEqual(self.exec("sh", "-c", "seq 300000").out, "".join("%d\n" % i for i in range(1, 300001)).encode())

    def test_nothing_outlives_it(self):
        mark = self.dir / "pid"
        self.exec("sh", "-c", "setsid sh -c 'echo $$ > \"$1.new\"; mv \"$1.new\" \"$1\"; exec sleep 99' x '%s' & until [ -e '%s' ]; do :; done" % (mark, mark))
        path = self.paddock("--json", "sandbox", "status", "directory").json["path"]
        left = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                left += [pid] if os.readlink("/proc/%s/cwd" % pid) == path else []
            except OSError:
                continue
        self.assertEqual(left, [])

    def test_an_interrupt_reaches_the_command(self):
        ready = t.Signs(self, self.dir / "ready")
        process = self.start("sandbox", "exec", "directory", "--", "sh", "-c",
                             "trap 'exit 9' INT; echo > '%s'; while :; do sleep 0.1; done" % ready.path)
        ready.wait()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertIn(process.returncode, (9, 130))

    def test_no_command_is_a_usage_error(self):
        self.paddock("sandbox", "exec", "directory", code=2)


class Tampered(t.Case):
    def test_a_working_copy_that_became_a_link_is_not_followed(self):
        outside = self.dir / "outside"
        outside.mkdir()
        (outside / "keep").write_text("x")
        for backend in t.BACKENDS:
            path = pathlib.Path(self.paddock("--json", "sandbox", "create", backend, "--backend", backend).json["path"])
            shutil.rmtree(path)
            path.symlink_to(outside)
            self.assertNotEqual(self.paddock("sandbox", "exec", backend, "--", "true", code=None).code, 0)
            self.paddock("sandbox", "discard", backend, "--force", code=None)
            self.assertEqual((outside / "keep").read_text(), "x")
            self.assertTrue(outside.exists())


if __name__ == "__main__":
    t.main()
