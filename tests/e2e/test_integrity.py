#!/usr/bin/env python3
"""What a mission plants in the user's repository never runs by us, is found, and is never promoted."""

import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

ALL = (*t.BACKENDS, "overlay")


def refused(doc):
    return [(c["verdict"], c["reason"]) for c in doc["candidates"]]


class Planted(t.Case):
    """Configuration, filters and hooks in a repository that is shared, or found by its absolute path."""

    def setUp(self):
        super().setUp()
        self.pwned = self.dir / "pwned"
        self.touch = "touch %s; cat" % self.pwned
        self.config = (self.repo.path / ".git" / "config").read_bytes()

    def clean(self):
        self.assertFalse(self.pwned.exists(), "something of the mission ran on the host")

    def heal(self):
        (self.repo.path / ".git" / "config").write_bytes(self.config)
        shutil.rmtree(self.repo.path / ".git" / "hooks", ignore_errors=True)
        self.clean()
        self.repo.git("reset", "-q", "--hard")
        self.repo.git("clean", "-qfd")

    def attack(self, command):
        """The whole life of a run on every backend: nothing of it runs, whatever it is judged."""
        for backend in ALL:
            with self.subTest(backend):
                doc = self.mission("--backend", backend, "--cmd", command + "; echo two > f", "--check", "true", "-n", "2", "-j", "1",
                                   "--promote", "--keep", "none", code=None)
                self.paddock("promote", doc["run"], code=None)
                self.paddock("promote", "%s/c1" % doc["run"], "--dry-run", code=None)
                self.paddock("gc", code=None)
                self.mission("--backend", backend, "--seed", "worktree", "--cmd", "echo three > f", "--check", "true", "--promote", code=None)
                self.paddock("doctor", code=None)
                if backend == "git-worktree":
                    self.assertEqual(refused(doc), [("abstain", "wrote_outside")] * 2, doc)
                self.heal()

    def test_fsmonitor(self):
        self.attack("git config core.fsmonitor '%s'" % self.touch)

    def test_filters(self):
        self.attack("echo '* filter=x diff=x' > .gitattributes; " + "; ".join(
            "git config %s '%s'" % (key, self.touch) for key in ("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv",
                                                                "diff.x.command", "diff.external", "merge.x.driver", "core.pager")))

    def test_hooks(self):
        self.attack("h=$(git rev-parse --git-common-dir)/hooks; mkdir -p $h; for n in post-checkout post-index-change reference-transaction "
                    "pre-commit; do printf '#!/bin/sh\\n%s\\n' > $h/$n; chmod +x $h/$n; done; git config core.hooksPath $h" % self.touch)

    def test_an_include(self):
        bad = self.file("bad.config", "[core]\n\tfsmonitor = %s\n" % self.touch)
        self.attack("git config include.path %s" % bad)

    def test_a_git_file_that_leads_to_planted_configuration(self):
        evil = self.dir / "evil.git"
        self.repo.git("clone", "-q", "--bare", self.repo.path, evil)
        for key in ("core.fsmonitor", "filter.x.clean"):
            self.repo.git("-C", evil, "config", key, self.touch)
        for backend in ALL:
            with self.subTest(backend):
                self.mission("--backend", backend, "--cmd", "rm -rf .git; echo 'gitdir: %s' > .git; echo '* filter=x' > .gitattributes; echo two > f" % evil,
                             "--check", "true", "--promote", code=None)
                self.heal()

    def test_named_sandboxes(self):
        plant = ("git config core.fsmonitor '%s'; git config filter.x.clean '%s'; git config filter.x.smudge '%s'; "
                 "echo '* filter=x' > .gitattributes; h=$(git rev-parse --git-common-dir)/hooks; mkdir -p $h; "
                 "printf '#!/bin/sh\\n%s\\n' > $h/reference-transaction; chmod +x $h/*; echo two > f"
                 % (self.touch, self.touch, self.touch, self.touch))
        for backend in ALL:
            with self.subTest(backend):
                name = "s-" + backend
                self.paddock("sandbox", "create", name, "--backend", backend)
                self.paddock("sandbox", "exec", name, "--", "sh", "-c", plant)
                for words in (("list",), ("status", name), ("diff", name), ("pull", name), ("discard", name), ("discard", "--force", name), ("list",)):
                    self.paddock("sandbox", *words, code=None)
                self.paddock("gc", code=None)
                self.heal()

    def test_the_users_own_filters_still_run(self):
        home = self.dir / "home"
        home.mkdir()
        (home / ".gitconfig").write_text("[user]\n\tname = a\n\temail = a@b\n[filter \"up\"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n")
        self.env["HOME"] = str(home)
        self.repo.write(".gitattributes", "*.t filter=up\n")
        self.repo.write("x.t", "one\n")
        for words in (("add", "-A"), ("commit", "-qm", "filtered")):
            self.repo.git(*words, env=self.env)
        self.mission("--cmd", "grep -q ONE x.t && echo TWO > x.t", "--check", "true", "--promote")
        self.assertEqual(self.repo.read("x.t"), "two\n")


class Found(t.Case):
    """What was changed is named, offered back, and the candidate is not promoted."""

    def leaks(self, run):
        return self.events(run, "leak.found")

    def events(self, run, kind):
        out = self.paddock("events", run, "--json").out.decode().splitlines()
        return [e for e in map(t.json.loads, out) if e["type"] == kind]

    def blamed(self, command, what, path, backend, code=3):
        doc = self.mission("--backend", backend, "--cmd", command + "; echo two > f", "--check", "true", "--promote", code=code)
        self.assertEqual(refused(doc), [("abstain", "wrote_outside")])
        self.assertIn((what, path), [(e["body"]["what"], e["body"]["path"]) for e in self.leaks(doc["run"])])
        self.assertTrue(any(path in w for w in doc["candidates"][0]["warnings"]), doc)
        self.assertNotEqual(self.repo.read("f"), "two\n")
        self.paddock("promote", doc["run"] + "/c1", code=5)
        return doc

    def test_a_moved_branch_is_offered_back(self):
        self.repo.write("g", "g\n")
        head = self.repo.commit()
        for backend, command in (("git-worktree", "git update-ref refs/heads/main HEAD~1"),
                                 ("directory", "git -C '%s' update-ref refs/heads/main HEAD~1" % self.repo.path)):
            with self.subTest(backend):
                self.repo.git("branch", "-M", "main")
                doc = self.blamed(command, "ref", "refs/heads/main", backend)
                (leak,) = [e["body"] for e in self.leaks(doc["run"]) if e["body"]["what"] == "ref"]
                self.run_argv(["sh", "-c", leak["restore"]])
                self.assertEqual(self.repo.git("rev-parse", "HEAD").strip(), head)

    def test_a_moved_reference_is_not_taken_back_over_a_later_move(self):
        self.repo.git("tag", "keep")
        doc = self.blamed("git update-ref refs/tags/keep $(git commit-tree HEAD^{tree} -m x)", "ref", "refs/tags/keep", "git-worktree")
        later = self.repo.git("commit-tree", "HEAD^{tree}", "-m", "later").strip()
        self.repo.git("update-ref", "refs/tags/keep", later)
        self.assertNotEqual(self.run_argv(["sh", "-c", self.leaks(doc["run"])[0]["body"]["restore"]]).code, 0)
        self.assertEqual(self.repo.git("rev-parse", "keep").strip(), later)

    def test_the_stash(self):
        self.repo.write("f", "work\n")
        self.repo.git("stash", "-q")
        self.blamed("git stash drop -q", "ref", "refs/stash", "git-worktree")

    def test_stash_of_an_absolute_path(self):
        self.repo.write("f", "work\n")
        self.blamed("git -C '%s' stash -q" % self.repo.path, "ref", "refs/stash", "directory")

    def test_hooks_and_configuration(self):
        self.blamed("mkdir -p \"$(git rev-parse --git-common-dir)/hooks\"; echo x > \"$(git rev-parse --git-common-dir)/hooks/pre-push\"",
                    "hook", "hooks/pre-push", "git-worktree")
        self.blamed("git config user.name evil", "config", "config", "git-worktree")
        doc = self.mission("--cmd", "echo '[broken' >> '%s/.git/config'; echo two > f" % self.repo.path, "--check", "true", "--promote", code=None)
        self.assertEqual(refused(doc), [("abstain", "wrote_outside")])

    def test_a_check_is_no_way_round(self):
        doc = self.mission("--backend", "git-worktree", "--cmd", "echo two > f", "--check", "git config core.fsmonitor x", "--promote", code=3)
        self.assertEqual(refused(doc), [("abstain", "wrote_outside")])

    def test_a_file_written_by_its_absolute_path(self):
        for backend in ALL:
            with self.subTest(backend):
                doc = self.mission("--backend", backend, "--cmd", "echo two > f; echo two > '%s/f'" % self.repo.path, "--check", "true", "--promote", code=3)
                self.assertEqual(refused(doc), [("abstain", "wrote_outside")])
                self.assertEqual([(e["body"]["what"], e["body"]["path"]) for e in self.leaks(doc["run"])], [("file", "f")])
                self.repo.git("checkout", "-q", "--", "f")

    def test_a_new_branch_is_told_and_does_no_harm(self):
        doc = self.mission("--backend", "git-worktree", "--cmd", "git checkout -qb theirs; echo two > f; git commit -qam x", "--check", "true", "--promote")
        (leak,) = self.leaks(doc["run"])
        self.run_argv(["sh", "-c", leak["body"]["restore"]])
        self.assertEqual(self.repo.git("for-each-ref", "refs/heads/theirs"), "")
        self.assertEqual(self.repo.read("f"), "two\n")

    def test_only_who_may_have_done_it_is_blamed(self):
        doc = self.mission("--backend", "git-worktree", "--cmd", "echo $PADDOCK_CANDIDATE > f; [ $PADDOCK_CANDIDATE != 2 ] || git tag x", "--check", "true",
                           "-n", "3", "-j", "1")
        self.assertEqual(refused(doc), [("pass", None), ("abstain", "wrote_outside"), ("pass", None)])

    def test_who_works_on_meanwhile_is_not_in_the_way(self):
        go, there = t.Signs(self, self.dir / "go"), t.Signs(self, self.dir / "there")
        run = self.start("--json", "mission", "run", "--run-id", "r", "--check", "true",
                         "--cmd", "echo > '%s'; head -c 1 '%s'; echo two > f" % (there.path, go.path))
        there.wait()
        self.repo.write("mine", "m\n")
        self.repo.commit("meanwhile")
        self.repo.git("checkout", "-qb", "side")
        self.repo.git("tag", "v1")
        self.repo.git("config", "branch.side.remote", "origin")
        go.give()
        out, _ = run.communicate(timeout=100)
        self.assertEqual(t.json.loads(out)["verdict"], "pass")
        self.paddock("promote", "r")
        self.assertEqual(self.repo.read("f"), "two\n")


if __name__ == "__main__":
    t.main()
