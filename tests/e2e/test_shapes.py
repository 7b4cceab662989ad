#!/usr/bin/env python3
# timeout: 500
"""Repositories of unusual shape: with submodules, Git LFS, sparse checkouts, or objects that were never fetched."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

BACKENDS = t.BACKENDS + ("overlay",)  # the last one: a test is skipped where this host has none


class Shapes(t.Case):
    def run_one(self, backend, command, *more, check="true", code=0):
        """The one candidate of a run; a backend that this host has not is skipped."""
        result = self.paddock("--json", "mission", "run", "--backend", backend, "--cmd", command, "--check", check, *more, code=None)
        if result.code == 4 and backend == "overlay":
            self.skipTest(result.err.decode())
        self.assertEqual(result.code, code, str(result))
        return result.json["candidates"][0]

    def listing(self, tree):
        """Mode and path of everything in a candidate's tree."""
        vault = next((self.dir / "state").glob("*/vault.git"))
        return [(line.split()[0], line.split("\t")[1]) for line in self.repo.git("--git-dir", vault, "ls-tree", "-r", tree).splitlines()]


class Submodules(Shapes):
    """A repository with lib, which has deep in it; their origins are gone, so that nothing can be fetched."""

    def setUp(self):
        super().setUp()
        origins = [self.make_repo("origin-deep"), self.make_repo("origin-lib")]
        allow = ("-c", "protocol.file.allow=always")
        origins[0].write("d", "deep\n")
        origins[0].commit()
        origins[1].write("src/l", "lib\n")
        origins[1].git(*allow, "submodule", "--quiet", "add", origins[0].path, "deep")
        origins[1].commit()
        self.repo.git(*allow, "submodule", "--quiet", "add", "--name", "some name", origins[1].path, "lib")
        self.repo.git(*allow, "submodule", "--quiet", "update", "--init", "--recursive")
        self.repo.commit("with lib")
        for origin in origins:
            origin.path.rename(str(origin.path) + ".gone")

    def test_the_top_ones_are_filled_and_git_works_in_them(self):
        command = ("set -e; grep -x lib lib/src/l; test -z \"$(ls lib/deep)\"; test -z \"$(git status --porcelain)\"; "
                   "test -z \"$(git -C lib status --porcelain)\"; git -C lib log --oneline | wc -l | grep -x 2; echo two > f")
        for backend in BACKENDS:
            before = self.repo.snapshot()
            candidate = self.run_one(backend, command, check="grep -x lib lib/src/l && grep two f")
            self.assertEqual((candidate["mission"]["exit_code"], candidate["verdict"], candidate["warnings"]), (0, "pass", []), backend)
            self.assertEqual(candidate["files_changed"], 1)
            self.assertIn(("160000", "lib"), self.listing(candidate["tree"]))
            self.assertNotIn("lib/src/l", str(self.listing(candidate["tree"])))
            self.assertEqual(self.repo.snapshot(), before)
            self.assertEqual(self.repo.git("-C", "lib", "status", "--porcelain"), "")

    def test_recursive_and_none(self):
        tests = {"recursive": "grep deep lib/deep/d && test -z \"$(git -C lib/deep status --porcelain)\"", "auto": "test -f lib/src/l && ! test -e lib/deep/d",
                 "none": "test -d lib && ! test -e lib/src"}
        for mode, test in tests.items():
            with self.subTest(mode):
                candidate = self.run_one("directory", test + " && echo two > f", "--set", "sandbox.submodules=" + mode, check=test)
                self.assertEqual((candidate["mission"]["exit_code"], candidate["verdict"], candidate["warnings"]), (0, "pass", []))

    def test_changes_in_one_are_told_and_stay_out(self):
        for backend in BACKENDS:
            for command in ("echo two > lib/src/l", "rm lib/src/l", "echo new > lib/new",
                            "cd lib && echo two > src/l && git -c user.name=n -c user.email=e@x commit -qam two"):
                candidate = self.run_one(backend, command, code=3)
                self.assertEqual(candidate["files_changed"], 0, str(candidate))
                self.assertEqual(len(candidate["warnings"]), 1, str(candidate))
                self.assertIn("lib is a submodule", candidate["warnings"][0])

    def test_one_that_was_removed_is_removed(self):
        for backend in BACKENDS:
            candidate = self.run_one(backend, "git rm -q --cached lib && rm -rf lib .gitmodules")
            self.assertEqual(self.listing(candidate["tree"]), [("100644", "f")])

    def test_a_missing_one_is_named(self):
        self.repo.git("submodule", "--quiet", "deinit", "-f", "lib")
        modules = self.repo.path / ".git" / "modules"
        modules.rename(self.dir / "aside")
        for backend in BACKENDS:
            candidate = self.run_one(backend, "ls -A lib > out; echo $(wc -c < out) > out", check="grep -x 0 out")
            self.assertEqual(set(candidate["warnings"]), {"submodule lib is not below .git/modules: it was left empty (git submodule update --init)"})
            self.assertIn(("160000", "lib"), self.listing(candidate["tree"]))

    def test_a_missing_commit_is_named(self):
        self.repo.git("update-index", "--cacheinfo", "160000,%040d,lib" % 7)
        self.repo.git("commit", "-qm", "elsewhere")
        candidate = self.run_one("directory", "echo two > f")
        self.assertIn("lacks its commit %040d" % 7, candidate["warnings"][0])

    def test_a_named_one_with_changes_is_dirty(self):
        self.paddock("sandbox", "create", "--backend", "directory", "s")
        self.paddock("sandbox", "exec", "s", "--", "sh", "-c", "echo two > lib/src/l")
        refused = self.paddock("sandbox", "discard", "s", code=None)
        self.assertNotEqual(refused.code, 0, str(refused))
        self.assertIn(b"lib", self.paddock("sandbox", "status", "s").out)


if __name__ == "__main__":
    t.main()
