#!/usr/bin/env python3
# timeout: 900
"""Best-of-N on real projects: sources as Debian ships them, put into a repository with some history."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

# Package, where its source lies in it (a tree or an archive), and what of an archive is taken.
PROJECTS = {"small": ("libxcrypt-source", "usr/src/libxcrypt", None),
            "large": ("newlib-source", "usr/src/newlib/newlib-*.tar.xz", "newlib/libc")}
SKIPPED = 77


def fetch(package, pattern, part, into):
    """The package's source below into/; raises OSError where it cannot be had."""
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="fetch."))
    scratch.chmod(0o755)
    try:
        done = subprocess.run(["apt-get", "download", package], cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        archives = list(scratch.glob("*.deb"))
        if done.returncode or len(archives) != 1:
            raise OSError(done.stdout.decode(errors="replace").strip() or "nothing was downloaded")
        subprocess.run(["dpkg-deb", "-x", archives[0], scratch / "x"], check=True)
        found, = (scratch / "x").glob(pattern)
        if found.is_dir():
            shutil.copytree(found, into, symlinks=True)
        else:
            into.mkdir()
            subprocess.run(["tar", "-xf", found, "-C", into, "--strip-components=3", "--wildcards", "*/" + part], check=True)
    finally:
        shutil.rmtree(scratch)


def texts(repo):
    return [p for p in repo.git("ls-files", "-z").split("\0") if p.endswith((".c", ".h"))]


def add_history(path):
    """A third of the project at a time, and then edits all over it."""
    repo = t.Repo(path)
    repo.git("init", "-q")
    repo.git("config", "gc.auto", "0")
    tops = sorted(p.name for p in path.iterdir() if p.name != ".git")
    for i in range(3):
        repo.git("add", "-f", "--", *tops[i::3])
        repo.git("commit", "-qm", "part %d" % (i + 1))
    for name in texts(repo)[::7]:
        with open(path / name, "ab") as file:
            file.write(b"edited\n")
    repo.git("commit", "-qam", "edits")


class Project:
    name = None

    def setUp(self):
        super().setUp()
        self.repo = t.Repo(self.dir / "project")
        subprocess.run(["cp", "-a", SOURCES / self.name, self.repo.path], check=True)

    def test_best_of_three_is_promoted_as_git_would_have_it(self):
        files = texts(self.repo)
        paths = self.file("paths", "\n".join(files[::5]) + "\n")
        command = ("head -n $((12 / PADDOCK_CANDIDATE)) '%s' | while read -r p; do echo \"/* $PADDOCK_CANDIDATE */\" >> \"$p\"; done; "
                   "rm '%s'; mkdir new && printf '\\000\\001' > new/bin && ln -s bin new/link; chmod +x '%s'" % (paths, files[1], files[2]))
        for backend in t.BACKENDS:
            with self.subTest(backend):
                before = self.repo.snapshot()
                doc = self.mission("--backend", backend, "--cmd", command, "--check", "test -e new/link -a -x '%s' -a ! -e '%s'" % (files[2], files[1]),
                                   "-n", "3", "-j", "2")
                self.assertEqual(doc["winner"], "c3", "the smallest change")
                self.assertEqual(self.repo.snapshot(), before)
                self.paddock("promote", doc["run"])
                self.assertEqual(self.repo.tree(), doc["candidates"][2]["tree"])
                self.assertEqual(self.repo.snapshot(), before)
                self.assertEqual(len(self.repo.git("diff", "--name-only", "HEAD").split()) + 2, doc["candidates"][2]["files_changed"])
                self.repo.git("clean", "-qfd")
                self.repo.git("checkout", "-q", "--", ".")

    def test_an_untouched_checkout_is_the_base(self):
        tree = self.repo.git("rev-parse", "HEAD^{tree}").strip()
        for backend in t.BACKENDS:
            doc = self.mission("--backend", backend, "--cmd", "test -z \"$(git status --porcelain)\"", "--check", "true", code=3)
            c = doc["candidates"][0]
            self.assertEqual((c["tree"], c["changed"], c["mission"]["exit_code"]), (tree, False, 0))

    def test_an_older_base_and_a_dirty_tree(self):
        old = self.repo.git("rev-parse", "HEAD~1^{tree}").strip()
        doc = self.mission("--base", "HEAD~1", "--cmd", "git write-tree > '%s'; echo x > x" % (self.dir / "tree"), "--check", "true")
        self.assertEqual(((self.dir / "tree").read_text().strip(), doc["base"]["tree"]), (old, old))
        for path in texts(self.repo)[::3]:
            (self.repo.path / path).unlink()
        seed = self.repo.tree()
        doc = self.mission("--seed", "worktree", "--cmd", "echo x > x", "--check", "true")
        self.assertEqual((doc["seed_tree"], doc["candidates"][0]["files_changed"]), (seed, 1))


class Small(Project, t.Case):
    name = "small"


class Large(Project, t.Case):
    name = "large"

    def test_it_is_large(self):
        self.assertGreater(len(self.repo.git("ls-files").splitlines()), 2000)


if __name__ == "__main__":
    SOURCES = pathlib.Path(tempfile.mkdtemp(prefix="sources."))
    try:
        for key, (package, pattern, part) in PROJECTS.items():
            fetch(package, pattern, part, SOURCES / key)
            add_history(SOURCES / key)
    except (OSError, ValueError, subprocess.SubprocessError) as why:
        print("SKIPPED: no project sources from the distribution: %s" % why)
        sys.exit(SKIPPED)
    t.main()
