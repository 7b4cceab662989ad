#!/usr/bin/env python3
# timeout: 500
"""Repositories of unusual shape: with submodules, Git LFS, sparse checkouts, or objects that were never fetched."""

import hashlib
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


class Lfs(Shapes):
    """Files whose content is in .git/lfs, and pointers to it in the tree."""

    def setUp(self):
        super().setUp()
        self.repo.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
        self.content = os.urandom(100000)
        self.sizes = {}
        for name, content in (("a.bin", self.content), ("d/b.bin", b"small\0")):
            self.repo.write(name, self.pointer(content))
            self.put(content)
        self.repo.write("plain", self.pointer(self.content))  # no attribute: text as any other
        self.repo.commit("lfs")

    @staticmethod
    def pointer(content):
        return "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n" % (hashlib.sha256(content).hexdigest(), len(content))

    def place(self, content):
        name = hashlib.sha256(content).hexdigest()
        return self.repo.path / ".git" / "lfs" / "objects" / name[:2] / name[2:4] / name

    def put(self, content):
        self.place(content).parent.mkdir(parents=True, exist_ok=True)
        self.place(content).write_bytes(content)

    def blob(self, tree, path):
        vault = next((self.dir / "state").glob("*/vault.git"))
        return self.repo.git("--git-dir", vault, "show", "%s:%s" % (tree, path))

    def test_content_is_there_and_pointers_stay_in_the_tree(self):
        command = "set -e; test $(stat -c %s a.bin) = 100000; test $(stat -c %s d/b.bin) = 6; grep -q git-lfs plain; test -z \"$(git status --porcelain)\"; touch a.bin; echo two > f"
        for backend in BACKENDS:
            candidate = self.run_one(backend, command, "-n", "2", check="test $(stat -c %s a.bin) = 100000 && grep two f")
            self.assertEqual((candidate["mission"]["exit_code"], candidate["verdict"], candidate["warnings"]), (0, "pass", []), backend)
            self.assertEqual(candidate["files_changed"], 1, backend)
            self.assertEqual(self.blob(candidate["tree"], "a.bin"), self.pointer(self.content))

    def test_a_changed_one_is_a_pointer_to_what_was_kept(self):
        """The check's sandbox, a fresh one, has the new content, though the user's store has not."""
        for backend in BACKENDS:
            new = b"new\0" + backend.encode() * 50000
            script = self.file("new", "")
            script.write_bytes(new)
            candidate = self.run_one(backend, "cp '%s' a.bin; cp '%s' new.bin; rm d/b.bin" % (script, script), check="cmp a.bin '%s' && cmp new.bin '%s' && ! test -e d/b.bin" % (script, script))
            self.assertEqual((candidate["verdict"], candidate["files_changed"]), ("pass", 3), str(candidate))
            for path in ("a.bin", "new.bin"):
                self.assertEqual(self.blob(candidate["tree"], path), self.pointer(new))
            self.assertFalse(self.place(new).exists())

    def test_without_content_pointers_stay_and_are_told(self):
        self.place(self.content).unlink()
        for backend in BACKENDS:
            candidate = self.run_one(backend, "cp a.bin copy; echo two > f", "-n", "2", check="grep git-lfs a.bin")
            self.assertEqual(candidate["verdict"], "pass")
            self.assertEqual(set(candidate["warnings"]), {"1 Git LFS file stayed a pointer, as .git/lfs lacks the content: a.bin"}, backend)
            self.assertEqual(self.blob(candidate["tree"], "a.bin"), self.pointer(self.content))
        self.put(self.content)
        for backend in BACKENDS:  # a template that was made meanwhile is not believed
            candidate = self.run_one(backend, "echo two > f", "-n", "2", check="test $(stat -c %s a.bin) = 100000")
            self.assertEqual((candidate["verdict"], candidate["warnings"]), ("pass", []), backend)

    def test_what_is_landed_comes_with_its_content(self):
        """As far as the user's git has a filter for it; one is made up here, as simple as can be."""
        new = b"new\0" * 1000
        config = self.dir / "home" / ".gitconfig"
        config.parent.mkdir()
        smudge = self.file("smudge", "#!/bin/sh\ncat >'%s/pointer'; oid=$(sed -n 's/^oid sha256://p' '%s/pointer'); cat .git/lfs/objects/*/*/$oid\n" % (self.dir, self.dir))
        clean = self.file("clean", "#!/bin/sh\ncat >'%s/content'; printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%%s\\nsize %%d\\n' "
                          "$(sha256sum <'%s/content' | cut -d' ' -f1) $(stat -c %%s '%s/content')\n" % (self.dir, self.dir, self.dir))
        for script in (smudge, clean):
            script.chmod(0o755)
        config.write_text("[user]\nname = n\nemail = e@x\n[filter \"lfs\"]\nclean = '%s'\nsmudge = '%s'\nrequired = true\n" % (clean, smudge))
        self.env = dict(self.env, HOME=str(config.parent))
        self.repo.git("rm", "-q", "--cached", "a.bin", "d/b.bin", env=self.env)
        self.repo.git("reset", "-q", "--hard", env=self.env)
        self.assertEqual((self.repo.path / "a.bin").read_bytes(), self.content)
        source = self.file("new", "")
        source.write_bytes(new)
        result = self.paddock("--json", "mission", "run", "--cmd", "cp '%s' a.bin" % source, "--check", "cmp a.bin '%s'" % source)
        self.paddock("promote", result.json["run"])
        self.assertEqual((self.repo.path / "a.bin").read_bytes(), new)
        self.assertEqual(self.place(new).read_bytes(), new)
        self.assertEqual(self.repo.git("status", "--porcelain", env=self.env), " M a.bin\n")


class Partial(Shapes):
    """A clone that left blobs with its origin, which is there: nothing may be fetched all the same."""

    def setUp(self):
        super().setUp()
        self.repo.write("d/far", "never fetched\n")
        self.repo.commit()
        self.blob = self.repo.git("rev-parse", "HEAD:d/far").strip()
        self.repo.git("config", "uploadpack.allowFilter", "true")
        self.repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
        clone = t.Repo(self.dir / "clone")
        self.repo.git("-c", "protocol.file.allow=always", "clone", "-q", "--no-checkout", "--filter=blob:none", "file://%s" % self.repo.path, clone.path)
        self.repo = clone

    def objects(self):
        return sorted(p.name for p in (self.repo.path / ".git" / "objects").rglob("pack-*"))

    def test_a_missing_object_is_named_and_not_fetched(self):
        before = self.objects()
        for backend in BACKENDS:
            for n in ("1", "2"):
                candidate = self.run_one(backend, "echo two > f", "-n", n, code=3)
                self.assertEqual((candidate["verdict"], candidate["reason"]), ("abstain", "materialize_failed"), str(candidate))
                self.assertRegex(candidate["detail"], r"\b[0-9a-f]{40}\b")
                self.assertRegex(candidate["detail"], "d/far|'f'")
                self.assertEqual(self.objects(), before)

    def test_what_is_there_will_do(self):
        self.repo.git("checkout", "-q", "HEAD")  # fetches what HEAD needs
        before = self.objects()
        for backend in BACKENDS:
            candidate = self.run_one(backend, "echo two > f", "-n", "2", check="grep never d/far")
            self.assertEqual(candidate["verdict"], "pass", str(candidate))
            self.assertEqual(self.objects(), before)


if __name__ == "__main__":
    t.main()
