"""What the end-to-end scripts share: a private repository, the program, and waiting for signs instead of sleeping."""

import hashlib
import json
import os
import pathlib
import select
import signal
import stat
import subprocess
import tempfile
import unittest

PADDOCK = os.environ.get("PADDOCK", "paddock")
BACKENDS = ("directory", "git-worktree")
SECOND = 30 if os.environ.get("PDK_SANITIZED") == "1" else 10  # generous: a busy machine is no failure


class Result:
    """How a program ended, and what it said."""

    def __init__(self, argv, code, out, err):
        self.argv, self.code, self.out, self.err = argv, code, out, err

    @property
    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return "%r: exit %d\n--- stdout\n%s\n--- stderr\n%s" % (
            self.argv, self.code, self.out.decode(errors="replace"), self.err.decode(errors="replace"))


def readable(fd, seconds):
    """Whether a descriptor has something to tell (a pidfd: the end of its process) within that time."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def wait_readable(fd, what, seconds):
    if not readable(fd, seconds):
        raise AssertionError("never came: " + what)


class Signs:
    """A fifo by which commands and a test tell each other, a byte or a line each: `echo > PATH`, and `head -c 1 PATH`."""

    def __init__(self, case, path):
        self.path = pathlib.Path(path)
        os.mkfifo(self.path, 0o666)
        self.fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)  # both ends, so that nobody ever finds none
        case.addCleanup(os.close, self.fd)

    def wait(self, count=1, seconds=60):
        """Waits for so many lines, and returns what they say."""
        text = b""
        while text.count(b"\n") < count:
            wait_readable(self.fd, "%d lines in %s" % (count, self.path), seconds)
            text += os.read(self.fd, 1)
        return text.decode().splitlines()

    def give(self, count=1):
        os.write(self.fd, b"\n" * count)


def children(pid):
    """The processes below one, as descriptors that tell their end."""
    found = []
    for task in pathlib.Path("/proc/%d/task" % pid).iterdir():
        for child in (task / "children").read_text().split():
            try:
                found.append(os.pidfd_open(int(child)))
            except ProcessLookupError:
                continue
            found += children(int(child))
    return found


def ended(processes, seconds=60):
    """Waits for the end of all of them."""
    for fd in processes:
        wait_readable(fd, "the end of a process", seconds)
        os.close(fd)


def alive(pid):
    """Whether a process runs; a zombie does not."""
    try:
        text = pathlib.Path("/proc/%d/stat" % pid).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


class Repo:
    """A small repository and the commands that are run in it."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def git(self, *args, check=True, env=None, cwd=None, data=None):
        done = subprocess.run(["git", *map(os.fspath, args)], cwd=cwd or self.path, env=env, input=data,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if check and done.returncode:
            raise AssertionError("git %r: %s" % (args, done.stderr.decode(errors="replace")))
        return done.stdout.decode(errors="surrogateescape")

    def write(self, name, text="", mode=None):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if mode is not None:
            path.chmod(mode)
        return path

    def read(self, name):
        return (self.path / name).read_text()

    def commit(self, message="more"):
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD").strip()

    def index_bytes(self):
        path = self.git("rev-parse", "--git-path", "index").strip()
        path = self.path / path
        return path.read_bytes() if path.exists() else b""

    def snapshot(self):
        """All of a repository that a run has to leave as it was."""
        common = self.path / self.git("rev-parse", "--git-common-dir").strip()
        hooks = sorted(p.name for p in (common / "hooks").glob("*")) if (common / "hooks").exists() else []
        head = pathlib.Path(self.path / self.git("rev-parse", "--git-dir").strip()) / "HEAD"
        return {
            "refs": self.git("for-each-ref"),
            "config": (common / "config").read_bytes(),
            "index": self.index_bytes(),
            "stash": self.git("stash", "list"),
            "worktrees": self.git("worktree", "list", "--porcelain"),
            "head": head.read_bytes(),
            "hooks": hooks,
        }

    def files(self):
        """Every path of the working tree with its mode and content."""
        found = {}
        for top, dirs, names in os.walk(os.fsencode(self.path)):
            dirs[:] = [d for d in dirs if d != b".git"]
            for name in names:
                path = os.path.join(top, name)
                if name == b".git":
                    continue
                status = os.lstat(path)
                if stat.S_ISLNK(status.st_mode):
                    content = os.readlink(path)
                elif stat.S_ISREG(status.st_mode):
                    content = hashlib.sha256(pathlib.Path(os.fsdecode(path)).read_bytes()).hexdigest()
                else:
                    content = "special"
                found[os.path.relpath(path, os.fsencode(self.path))] = (stat.S_IMODE(status.st_mode), content)
        return found

    def tree(self):
        """The object id that git itself gives the working tree, found through an index of its own."""
        with tempfile.TemporaryDirectory() as scratch:
            env = dict(os.environ, GIT_INDEX_FILE=os.path.join(scratch, "index"))
            self.git("add", "-A", env=env)
            return self.git("write-tree", env=env).strip()


class Case(unittest.TestCase):
    """A test with a directory, a state directory and a repository of its own."""

    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="e2e.")
        self.addCleanup(self.remove, scratch)
        self.dir = pathlib.Path(scratch.name).resolve()
        self.env = dict(os.environ, PADDOCK_STATE=str(self.dir / "state"))
        self.repo = self.make_repo("repo")

    @staticmethod
    def remove(scratch):
        subprocess.run(["chmod", "-R", "u+rwX", scratch.name], stderr=subprocess.DEVNULL, check=False)
        scratch.cleanup()

    def make_repo(self, name, commit=True):
        path = self.dir / name
        path.mkdir(parents=True)
        repo = Repo(path)
        repo.git("init", "-q")
        if commit:
            repo.write("f", "one\n")
            repo.commit("first")
        return repo

    def argv(self, *args):
        return [PADDOCK, *map(os.fspath, args)]

    def run_argv(self, argv, cwd=None, env=None, data=None, timeout=200):
        done = subprocess.run(argv, cwd=cwd or self.repo.path, env=env or self.env, input=data,
                              stdin=subprocess.DEVNULL if data is None else None, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=timeout)
        return Result(argv, done.returncode, done.stdout, done.stderr)

    def paddock(self, *args, code=0, **kw):
        result = self.run_argv(self.argv(*args), **kw)
        if code is not None:
            self.assertEqual(result.code, code, str(result))
        return result

    def start(self, *args, **kw):
        """The program, left running; it is ended with the test."""
        process = subprocess.Popen(self.argv(*args), cwd=kw.pop("cwd", self.repo.path), env=kw.pop("env", self.env),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()

    def mission(self, *args, code=0, **kw):
        """`mission run --json`: the document of the run."""
        result = self.paddock("--json", "mission", "run", *args, code=code, **kw)
        try:
            return result.json
        except ValueError:
            raise AssertionError(str(result)) from None

    def file(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path

    def lines(self, name):
        """The lines that commands left in a file outside every sandbox."""
        path = self.dir / name
        return path.read_text().splitlines() if path.exists() else []


def main():
    unittest.main(verbosity=2)
