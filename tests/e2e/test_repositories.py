#!/usr/bin/env python3
# timeout: 600
"""Repositories as people have them: many candidates at once, odd shapes, hooks, seeds, and nothing changed in them."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t


class Repositories(t.Case):
    def both(self, *args, code=0, repo=None, **kw):
        """The same mission with each backend, in a repository that it leaves as it was."""
        repo = repo or self.repo
        docs = {}
        for backend in t.BACKENDS:
            before, files = repo.snapshot(), repo.files()
            with self.subTest(backend):
                docs[backend] = self.mission("--backend", backend, *args, code=code, **dict({"cwd": repo.path}, **kw))
                self.assertEqual(repo.snapshot(), before)
                self.assertEqual(repo.files(), files)
        return docs

    # ---- creation

    def test_forty_at_once_ten_times_never_fail_to_be_made(self):
        upstream = self.make_repo("upstream")
        self.repo = t.Repo(self.dir / "clone")
        upstream.git("clone", "-q", upstream.path, self.repo.path)
        self.repo.write("f", "stashed\n")
        self.repo.git("stash")
        for backend in t.BACKENDS:
            before = self.repo.snapshot()
            for _ in range(10):
                doc = self.mission("--backend", backend, "--cmd", "true", "-n", "40", "-j", "40", code=3)
                self.assertEqual([c["reason"] for c in doc["candidates"] if c["reason"] == "materialize_failed"], [])
                self.assertEqual([c["mission"]["exit_code"] for c in doc["candidates"]], [0] * 40)
                self.assertLessEqual(doc["peak_concurrent"], 40)
            self.assertEqual(self.repo.snapshot(), before)
            self.assertEqual(len(self.repo.git("worktree", "list").splitlines()), 1)

    def test_runs_at_once_share_the_registry_in_peace(self):
        before = self.repo.snapshot()
        processes = [self.start("mission", "run", "--backend", "git-worktree", "--cmd", "echo two > f", "--check", "true", "-n", "4", "-j", "4")
                     for _ in range(6)]
        for process in processes:
            out, err = process.communicate()
            self.assertEqual(process.returncode, 0, (out, err))
        self.assertEqual(self.repo.snapshot(), before)

    def test_the_base_is_pinned_at_the_start(self):
        old = self.repo.git("rev-parse", "HEAD").strip()
        command = "git -C '%s' -c user.name=x -c user.email=x@y commit -q --allow-empty -m later; git rev-parse HEAD >> '%s'; echo two > f" % (
            self.repo.path, self.dir / "heads")
        doc = self.mission("--cmd", command, "--check", "true", "-n", "3", "-j", "1")
        self.assertEqual(doc["base"]["commit"], old)
        self.assertEqual(set(self.lines("heads")), {old})

    def test_base_names_any_revision(self):
        self.repo.write("f", "newer\n")
        self.repo.commit()
        self.repo.git("branch", "elsewhere", "HEAD~1")
        for base in ("HEAD~1", "elsewhere", self.repo.git("rev-parse", "HEAD~1").strip()[:12]):
            docs = self.both("--base", base, "--cmd", "grep -q one f && echo two > f", "--check", "grep two f")
            self.assertEqual({d["base"]["commit"] for d in docs.values()}, {self.repo.git("rev-parse", "HEAD~1").strip()})

    def test_candidates_of_a_directory_see_no_other_refs(self):
        self.repo.git("branch", "secret-branch")
        self.repo.git("remote", "add", "origin", "https://token@example.org/x")
        self.mission("--cmd", "git for-each-ref > refs; git remote -v > remotes; git stash list > stash; echo > f", "--run-id", "r", "--check",
                     "! grep -q secret refs && ! test -s remotes && ! test -s stash")

    def test_commits_work_with_the_users_identity(self):
        home = self.dir / "home"
        home.mkdir()
        self.repo.git("config", "user.name", "Local Name")
        self.repo.git("config", "user.email", "local@example.org")
        env = dict(self.env, HOME=str(home))
        self.both("--cmd", "echo two > f; git commit -qam mine; git log -1 --format=%an > who", "--check", "grep -q two f && grep -q 'Local Name' who", env=env)

    # ---- shapes

    def test_no_commit_yet(self):
        repo = self.make_repo("unborn", commit=False)
        repo.write("a", "a\n")
        doc = self.mission("--seed", "worktree", "--cmd", "echo two >> a; echo b > b", "--check", "grep two a", "--promote", cwd=repo.path)
        self.assertEqual(doc["verdict"], "pass")
        self.assertIsNone(doc["base"]["commit"])
        self.assertEqual((repo.read("a"), repo.read("b")), ("a\ntwo\n", "b\n"))
        result = self.paddock("sandbox", "create", "x", cwd=repo.path, code=None)
        self.assertNotEqual(result.code, 0)
        self.assertEqual(self.paddock("--json", "sandbox", "list", cwd=repo.path).json["items"], [])

    def test_a_detached_head(self):
        self.repo.git("checkout", "-q", "--detach")
        self.both("--cmd", "echo two > f", "--check", "true")

    def test_a_bisect_in_progress(self):
        self.repo.git("bisect", "start")
        self.both("--cmd", "echo two > f", "--check", "true")

    def test_a_subdirectory_promotes_at_the_top(self):
        self.repo.write("sub/deep/g", "g\n")
        self.repo.commit()
        self.mission("--cmd", "echo two > f; echo h > sub/deep/g", "--check", "true", "--promote", cwd=self.repo.path / "sub" / "deep")
        self.assertEqual((self.repo.read("f"), self.repo.read("sub/deep/g")), ("two\n", "h\n"))

    def test_a_linked_worktree(self):
        self.repo.git("worktree", "add", "-q", self.dir / "linked")
        linked = t.Repo(self.dir / "linked")
        self.both("--cmd", "echo two > f", "--check", "true", repo=linked)
        self.mission("--cmd", "echo two > f", "--check", "true", "--promote", cwd=linked.path)
        self.assertEqual((linked.read("f"), self.repo.read("f")), ("two\n", "one\n"))

    def test_a_branch_that_is_checked_out_elsewhere(self):
        self.repo.git("worktree", "add", "-q", "-b", "taken", self.dir / "w")
        self.both("--base", "taken", "--cmd", "echo two > f", "--check", "true")

    def test_a_sparse_checkout(self):
        self.repo.write("in/a", "a\n")
        self.repo.write("out/b", "b\n")
        self.repo.commit()
        self.repo.git("sparse-checkout", "set", "in")
        self.assertFalse((self.repo.path / "out/b").exists())
        docs = self.both("--cmd", "echo two > in/a", "--check", "grep two in/a")
        self.assertEqual({d["candidates"][0]["files_changed"] for d in docs.values()}, {1})
        self.mission("--seed", "worktree", "--cmd", "echo two > in/a", "--check", "true", "--promote")
        self.assertEqual(self.repo.git("status", "--porcelain"), " M in/a\n")

    def test_worktree_config(self):
        self.repo.git("config", "extensions.worktreeConfig", "true")
        self.repo.git("config", "--worktree", "core.bigFileThreshold", "1m")
        self.both("--cmd", "echo two > f", "--check", "true")

    def test_a_submodule_is_left_alone(self):
        other = self.make_repo("other")
        self.repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", other.path, "sub")
        self.repo.commit("with a submodule")
        docs = self.both("--cmd", "echo two > f", "--check", "true")
        self.assertEqual({d["candidates"][0]["files_changed"] for d in docs.values()}, {1})
        self.both("--seed", "worktree", "--cmd", "echo two > f", "--check", "true")

    def test_filters_without_their_program(self):
        self.repo.git("config", "filter.lfs.smudge", "no-such-git-lfs smudge %f")
        self.repo.git("config", "filter.lfs.clean", "no-such-git-lfs clean %f")
        self.repo.write(".gitattributes", "*.bin -text\n")
        self.repo.write("a.bin", "version https://git-lfs.github.com/spec/v1\n")
        self.repo.commit()
        self.repo.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
        self.repo.git("add", ".gitattributes")
        self.repo.git("commit", "-qm", "attributes")
        docs = self.both("--cmd", "grep -q git-lfs a.bin && echo two > f", "--check", "true")
        self.assertEqual({d["candidates"][0]["files_changed"] for d in docs.values()}, {1})

    def test_names_with_spaces_and_newlines(self):
        repo = self.make_repo("a b c \"d\" #é")
        self.both("--cmd", "echo two > f; echo > 'x\ny'", "--check", "test -e 'x\ny'", repo=repo)
        self.mission("--cmd", "echo two > f; echo > 'x\ny'", "--check", "true", "--promote", cwd=repo.path)
        self.assertTrue((repo.path / "x\ny").exists())

    def test_a_repository_with_a_newline_in_its_path_is_refused_by_name(self):
        repo = self.make_repo("a\nb")
        result = self.paddock("mission", "run", "--cmd", "echo two > f", cwd=repo.path, code=4)
        self.assertIn(b"a\nb", result.err.replace(b"\\n", b"\n"))

    def test_end_of_line_settings_are_kept(self):
        self.repo.git("config", "core.autocrlf", "true")
        docs = self.both("--cmd", "printf 'new\\r\\n' > g", "--check", "true")
        self.assertEqual({d["candidates"][0]["files_changed"] for d in docs.values()}, {1})

    # ---- hooks and inherited variables

    def hook(self, name, text):
        path = self.repo.path / ".git/hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def test_hooks_do_not_run(self):
        for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-commit"):
            self.hook(name, "echo %s >> '%s'\n%s" % (name, self.dir / "hooked", "sleep 99\n" if name == "post-checkout" else ""))
        self.both("--cmd", "echo two > f", "--check", "true")
        self.mission("--cmd", "echo two > f", "--check", "true", "--promote=branch")
        for backend in t.BACKENDS:
            self.paddock("sandbox", "create", "s-" + backend, "--backend", backend)
            self.paddock("sandbox", "discard", "s-" + backend)
        self.assertEqual(self.lines("hooked"), [])

    def test_inherited_git_variables_redirect_nothing(self):
        other = self.make_repo("other")
        before = other.snapshot()
        env = dict(self.env, GIT_DIR=str(other.path / ".git"), GIT_WORK_TREE=str(other.path), GIT_INDEX_FILE=str(other.path / ".git/index"),
                   GIT_OBJECT_DIRECTORY=str(other.path / ".git/objects"))
        mine = self.repo.git("rev-parse", "HEAD").strip()
        docs = self.both("--cmd", "git add -A; echo two > f; git add f", "--check", "true", env=env)
        self.assertEqual({d["base"]["commit"] for d in docs.values()}, {mine})
        self.assertEqual(other.snapshot(), before)

    def test_from_inside_a_hook(self):
        out = self.dir / "doc.json"
        self.hook("pre-commit", "cd '%s' && exec '%s' --json mission run --cmd 'echo two > f' --check 'grep two f' > '%s'\n" % (self.repo.path, t.PADDOCK, out))
        self.repo.write("g", "g\n")
        self.repo.git("add", "g")
        self.repo.git("commit", "-qm", "hooked", env=self.env)
        self.assertIn('"verdict": "pass"', out.read_text())
        self.assertEqual(self.repo.git("status", "--porcelain"), "")
        self.assertEqual(self.repo.git("show", "--stat", "--format=", "HEAD").count("|"), 1)

    # ---- seeds

    def dirty(self):
        """A working tree with one change of every kind."""
        for name in ("staged", "unstaged", "both", "deleted", "removed", "mode", "binary", "typed"):
            self.repo.write(name, name + "\n")
        self.repo.write(".gitignore", "*.ign\n")
        self.repo.commit("files")
        self.repo.write("staged", "changed\n")
        self.repo.write("both", "first\n")
        self.repo.git("add", "staged", "both")
        self.repo.write("both", "second\n")
        self.repo.write("unstaged", "changed\n")
        (self.repo.path / "deleted").unlink()
        self.repo.git("rm", "-q", "removed")
        (self.repo.path / "mode").chmod(0o755)
        self.repo.write("binary", bytes(range(256)))
        (self.repo.path / "typed").unlink()
        (self.repo.path / "typed").symlink_to("staged")
        self.repo.write("untracked", "u\n", 0o600)
        self.repo.write("ignored.ign", "i\n")

    def test_the_seed_is_the_working_tree_and_never_in_the_diff(self):
        self.dirty()
        tree = self.repo.tree()
        docs = self.both("--seed", "worktree", "--keep", "none", "--cmd",
                         "git add -A; git write-tree >> '%s'; git reset -q; echo mine > g" % (self.dir / "trees"), "--check", "true")
        for doc in docs.values():
            self.assertEqual(doc["seed_tree"], tree)
            self.assertEqual(doc["candidates"][0]["files_changed"], 1)
        self.assertEqual(self.lines("trees"), [tree, tree])

    def test_promoting_over_a_seed_adds_only_the_candidates_work(self):
        self.dirty()
        index, stash = self.repo.index_bytes(), self.repo.git("stash", "list")
        self.mission("--seed", "worktree", "--run-id", "r", "--cmd", "echo more >> unstaged; echo g > g; rm untracked", "--check", "true", "--promote")
        self.assertEqual(self.repo.read("unstaged"), "changed\nmore\n")
        self.assertEqual(self.repo.read("both"), "second\n")
        self.assertFalse((self.repo.path / "untracked").exists())
        self.assertEqual((self.repo.index_bytes(), self.repo.git("stash", "list")), (index, stash))
        patch = self.paddock("diff", "r/c1").out
        self.assertNotIn(b"second", patch)

    def test_without_a_seed_the_users_work_is_a_note(self):
        self.dirty()
        result = self.paddock("mission", "run", "--cmd", "! test -e untracked && echo two > f", "--check", "grep two f")
        self.assertIn(b"uncommitted", result.err)

    def test_include_brings_ignored_files_that_are_no_result(self):
        self.repo.write(".gitignore", ".env*\nbig/\n")
        self.repo.commit()
        self.repo.write(".env.test", "x=1\n", 0o600)
        self.repo.write(".env.other", "x=2\n")
        text = ("schema: paddock/v1\nkind: mission\nid: m\nmission: {run: 'grep -q x=1 .env.test && ! test -e .env.other && echo two > f'}\n"
                "sandbox: {include: [.env.test]}\nverify: {checks: [{name: a, run: grep -q two f && grep -q x=1 .env.test}]}\n")
        docs = self.both(self.file("m.yaml", text))
        self.assertEqual({d["candidates"][0]["files_changed"] for d in docs.values()}, {1})

    def test_read_only_files_and_modes_are_carried(self):
        self.repo.write("locked", "x\n", 0o444)
        self.repo.write("run.sh", "#!/bin/sh\n", 0o755)
        docs = self.both("--seed", "worktree", "--cmd", "test -x run.sh && cat locked > g", "--check", "test -s g")
        self.assertEqual({d["candidates"][0]["files_changed"] for d in docs.values()}, {1})


class State(t.Case):
    def test_a_state_directory_inside_the_repository_stays_out_of_it(self):
        inside = self.repo.path / ".paddock"
        self.mission("--state", inside, "--keep", "all", "--cmd", "echo two > f", "--check", "true")
        self.assertEqual(self.repo.git("status", "--porcelain", "--untracked-files=all"), "")
        self.mission("--state", inside, "--seed", "worktree", "--cmd", "test ! -e .paddock && echo two > f", "--check", "grep two f")

    def test_the_default_state_is_the_users(self):
        env = dict(self.env, XDG_STATE_HOME=str(self.dir / "xdg"))
        del env["PADDOCK_STATE"]
        self.mission("--cmd", "echo two > f", "--check", "true", env=env)
        self.assertEqual(len(list((self.dir / "xdg/paddock").glob("repo-*"))), 1)

    def test_results_outlive_every_sandbox_and_rewritten_history(self):
        self.mission("--run-id", "r", "--cmd", "echo two > f", "--check", "true", "--keep", "none")
        self.repo.write("f", "other\n")
        self.repo.git("commit", "-qa", "--amend", "-m", "rewritten")
        self.repo.git("reflog", "expire", "--expire=now", "--all")
        self.repo.git("gc", "-q", "--prune=now")
        patch = self.paddock("diff", "r/c1").out
        self.assertIn(b"+two", patch)
        self.paddock("promote", "r", "--as", "patch", "--output", self.dir / "p")
        self.repo.write("f", "one\n")
        self.repo.git("apply", self.dir / "p")
        self.assertEqual(self.repo.read("f"), "two\n")

    def test_a_broken_store_stops_everything(self):
        self.mission("--cmd", "echo two > f", "--check", "true")
        store, = (self.dir / "state").glob("*/store.db")
        for path in store.parent.glob("store.db*"):
            path.unlink()
        store.write_bytes(b"this is no database" * 100)
        for words in (("runs",), ("sandbox", "list"), ("mission", "run", "--cmd", "echo > '%s'" % (self.dir / "ran"))):
            self.assertNotEqual(self.paddock(*words, code=None).code, 0)
        self.assertFalse((self.dir / "ran").exists())


if __name__ == "__main__":
    t.main()
