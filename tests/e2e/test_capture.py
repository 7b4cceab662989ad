#!/usr/bin/env python3
"""What a candidate made comes home byte for byte, and nothing that it planted runs outside of its sandbox."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

EVERY_KIND = r"""
set -e
printf 'changed\n' > f
mkdir -p new/deep; echo n > new/deep/n
printf '\000\377\376latin\351' > binary
printf 'x' > 'a b'; printf 'x' > ' lead'; printf 'x' > '-dash'; printf 'x' > 'q"uote'; printf 'x' > 'back\slash'
printf 'x' > 'n
l'; printf 'x' > "$(printf 'inv\377alid')"; printf 'x' > 'é'
ln -s f link; ln -s /nowhere/at/all dangling
chmod +x mode
rm gone
git mv renamed moved
rm typed; mkdir typed; echo t > typed/t
: > empty
rm was-link; echo plain > was-link
echo staged > staged-only; git add staged-only; rm staged-only; git checkout-index staged-only
"""


class Captured(t.Case):
    def setUp(self):
        super().setUp()
        for name in ("mode", "gone", "renamed", "typed", "kept"):
            self.repo.write(name, name + "\n" * 40)
        (self.repo.path / "was-link").symlink_to("kept")
        self.repo.commit()

    def script(self, text):
        return "sh " + str(self.file("mission.sh", text))

    def expected(self, script):
        """The tree that git itself makes of the same edits in a copy."""
        copy = t.Repo(self.dir / "expected")
        self.repo.git("clone", "-q", self.repo.path, copy.path)
        done = self.run_argv(["sh", str(self.file("expected.sh", script))], cwd=copy.path)
        self.assertEqual(done.code, 0, str(done))
        tree = copy.tree()
        self.remove_tree(copy.path)
        return tree

    @staticmethod
    def remove_tree(path):
        import shutil
        shutil.rmtree(path)

    def promoted(self, script, expected, *args):
        for backend in t.BACKENDS:
            with self.subTest(backend):
                index = self.repo.index_bytes()
                doc = self.mission("--backend", backend, "--cmd", self.script(script), "--check", "true", "--promote", *args)
                self.assertEqual(doc["candidates"][0]["tree"], expected)
                self.assertEqual(self.repo.tree(), expected)
                self.assertEqual(self.repo.index_bytes(), index)
                self.assertEqual(self.repo.git("diff", "--cached"), "")
                self.repo.git("clean", "-qfdx")
                self.repo.git("checkout", "-qf", "--", ".")
        return doc

    def test_every_kind_of_change(self):
        self.promoted(EVERY_KIND, self.expected(EVERY_KIND))

    def test_what_the_mission_committed(self):
        script = EVERY_KIND + "git add -A; git commit -qm one; echo more >> f; git commit -qam two; git checkout -qb other; git branch -m other2\n"
        doc = self.promoted(script, self.expected(script))
        self.assertTrue(doc["candidates"][0]["changed"])

    def test_a_rebased_and_detached_mission(self):
        script = "echo two > f; git commit -qam x; git checkout -q --detach HEAD~1; echo three > kept\n"
        self.promoted(script, self.expected(script))

    def test_an_emptied_index_hides_nothing(self):
        script = "echo two > f; git rm -rq --cached .\n"
        self.promoted(script, self.expected("echo two > f\n"))
        self.mission("--cmd", self.script(script + "git config core.ignoreCase true\n"), "--check", "true")

    def test_flags_of_the_index_hide_nothing(self):
        script = "git update-index --assume-unchanged f; git update-index --skip-worktree kept; echo two > f; echo two > kept\n"
        self.promoted(script, self.expected("echo two > f; echo two > kept\n"))

    def test_ignore_rules_are_the_repositorys_alone(self):
        self.repo.write(".gitignore", "*.ign\n")
        self.repo.commit()
        excludes = self.file("excludes", "*.tmp\n")
        self.repo.git("config", "--global", "core.excludesFile", excludes)
        self.addCleanup(self.repo.git, "config", "--global", "--unset", "core.excludesFile")
        self.repo.git("config", "status.showUntrackedFiles", "no")
        doc = self.mission("--cmd", "echo a > new.tmp; echo a > x.ign", "--check", "test -e new.tmp && ! test -e x.ign")
        self.assertEqual(doc["candidates"][0]["files_changed"], 1)

    def test_nested_repositories_are_flattened_with_a_warning(self):
        for commit in ("", "git add -A; git commit -qm x;"):
            doc = self.mission("--run-id", "n" + commit[:3], "--cmd", "mkdir app; cd app; git init -q; echo a > a; " + commit, "--check", "test -f app/a && ! test -e app/.git")
            self.assertEqual(doc["candidates"][0]["files_changed"], 1)
            self.assertIn("app", " ".join(doc["candidates"][0]["warnings"]))

    def test_special_files_are_told_and_not_opened(self):
        doc = self.mission("--cmd", "mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; echo two > f", "--check", "grep two f")
        c = doc["candidates"][0]
        self.assertEqual(c["files_changed"], 1)
        self.assertIn("pipe", " ".join(c["warnings"]))
        self.assertIn("sock", " ".join(c["warnings"]))

    def test_what_cannot_be_read_is_told_and_not_fatal(self):
        doc = self.mission("--cmd", "echo two > f; echo s > secret; chmod 0 secret", "--check", "grep two f", code=None)
        self.assertNotEqual(doc["candidates"][0]["verdict"], "fail")
        self.assertTrue(doc["candidates"][0]["changed"])

    def test_many_files_are_captured(self):
        doc = self.mission("--cmd", "mkdir d; cd d; seq 20000 | xargs touch", "--check", "true")
        self.assertEqual(doc["candidates"][0]["files_changed"], 20000)

    def test_numbers_are_those_of_git(self):
        self.mission("--run-id", "r", "--cmd", self.script(EVERY_KIND), "--check", "true")
        doc = self.paddock("--json", "show", "r").json["candidates"][0]
        self.paddock("promote", "r")
        self.repo.git("add", "-A")
        lines = [x for x in self.repo.git("diff", "--cached", "--numstat", "--no-renames", "-z").split("\0") if x]
        self.assertEqual(doc["files_changed"], len(lines))
        numbers = [x.split("\t")[:2] for x in lines]
        self.assertEqual(doc["lines_added"], sum(int(a) for a, _ in numbers if a != "-"))
        self.assertEqual(doc["lines_deleted"], sum(int(d) for _, d in numbers if d != "-"))


class Untrusted(t.Case):
    """Things that a mission plants for whoever runs git afterwards."""

    def setUp(self):
        super().setUp()
        self.pwned = self.dir / "pwned"
        self.touch = "touch %s" % self.pwned

    def planted(self, command, backends=t.BACKENDS, promote=True):
        for backend in backends:
            with self.subTest(backend):
                index, stash, refs = self.repo.index_bytes(), self.repo.git("stash", "list"), self.repo.git("for-each-ref")
                doc = self.mission("--backend", backend, "--cmd", command + "; echo two > f", "--check", "true", "--keep", "none",
                                   *(["--promote"] if promote else []), code=None)
                self.assertFalse(self.pwned.exists(), "something of the mission ran on the host")
                self.assertEqual((self.repo.index_bytes(), self.repo.git("stash", "list"), self.repo.git("for-each-ref")), (index, stash, refs))
                self.assertNotEqual(doc["candidates"][0]["verdict"], None)
                self.repo.git("checkout", "-q", "--", ".")
                self.repo.git("config", "--unset-all", "core.fsmonitor", check=False)
        return doc

    def test_fsmonitor(self):
        doc = self.planted("git config core.fsmonitor '%s; false'" % self.touch, backends=("directory",))
        self.assertEqual(doc["verdict"], "pass")

    def test_filters(self):
        doc = self.planted("echo '* filter=x diff=x' > .gitattributes; git config filter.x.clean '%s'; git config filter.x.smudge '%s'; "
                           "git config filter.x.process '%s'; git config diff.x.textconv '%s'; git config diff.external '%s'"
                           % ((self.touch,) * 5), backends=("directory",))
        self.assertEqual(doc["verdict"], "pass")

    def test_hooks(self):
        command = ("h=$(git rev-parse --git-path hooks); mkdir -p $h; for n in post-checkout post-index-change reference-transaction; do "
                   "printf '#!/bin/sh\\n%s\\n' > $h/$n; chmod +x $h/$n; done; git config core.hooksPath $h" % self.touch)
        self.planted(command, backends=("directory",))

    def test_a_git_file_that_leads_elsewhere(self):
        user = self.repo.path / ".git"
        evil = self.dir / "evil.git"
        self.repo.git("clone", "-q", "--bare", self.repo.path, evil)
        self.repo.git("-C", evil, "config", "core.fsmonitor", self.touch)
        self.repo.git("-C", evil, "config", "core.bare", "false")
        for target in (user, evil, "/nowhere", "../.."):
            for plant in ("rm -rf .git; echo 'gitdir: %s' > .git", "rm -rf .git; ln -s '%s' .git", "rm -rf .git; mkdir .git; ln -s '%s' .git/x; cp -r '%s'/. .git 2>/dev/null || :"):
                with self.subTest((str(target), plant)):
                    self.planted(plant.replace("%s", str(target)), promote=False)

    def test_no_git_at_all(self):
        doc = self.planted("rm -rf .git")
        self.assertEqual(doc["verdict"], "pass")

    def test_a_fifo_for_a_git_file(self):
        self.planted("rm -rf .git; mkfifo .git")

    def test_attributes_of_the_user_are_no_danger_either(self):
        self.repo.write(".gitattributes", "*.c filter=x\n")
        self.repo.write("a.c", "int x;\n")
        self.repo.commit()
        self.repo.git("config", "filter.x.clean", "false")
        self.planted("echo 'int y;' > a.c")

    def test_links_are_never_followed(self):
        outside = self.dir / "outside"
        outside.mkdir()
        (outside / "keep").write_text("keep\n")
        for backend in t.BACKENDS:
            self.mission("--backend", backend, "--cmd", "ln -s '%s' nm; ln -s '%s' up; echo two > f" % (outside, self.repo.path), "--check", "true")
        self.assertEqual((outside / "keep").read_text(), "keep\n")
        self.assertEqual(self.repo.read("f"), "one\n")

    def test_promoting_never_writes_through_a_link(self):
        outside = self.dir / "outside"
        outside.mkdir()
        self.mission("--run-id", "r", "--cmd", "mkdir d; echo new > d/x", "--check", "true")
        (self.repo.path / "d").symlink_to(outside)
        self.paddock("promote", "r", code=5)
        self.assertEqual(list(outside.iterdir()), [])

    def test_a_sandbox_that_cannot_be_listed_is_removed_all_the_same(self):
        self.mission("--cmd", "mkdir -p a/b; echo > a/b/c; chmod 0 a/b a; echo two > f", "--check", "true", code=None)
        left = [p for p in (self.dir / "state").glob("*/sandboxes/*")]
        self.assertEqual(left, [])


if __name__ == "__main__":
    t.main()
