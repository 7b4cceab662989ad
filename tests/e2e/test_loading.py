#!/usr/bin/env python3
"""What a start of the program loads: only what the command uses, so that small commands are quick."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

ARCHIVES = os.environ.get("PADDOCK_AGENT_STATIC") == "1"  # instrumented builds link everything dynamically
MISSION = "schema: paddock/v1\nkind: mission\nid: m\nmission: {run: 'true'}\nverify:\n  checks:\n    - {name: again, run: 'true'}\n"


class Loading(t.Case):
    def loaded(self, *args, code=0):
        """The shared libraries that the program itself opened, as the dynamic linker tells."""
        log = self.dir / "linker"
        log.mkdir(exist_ok=True)
        process = subprocess.Popen(self.argv(*args), cwd=self.repo.path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=dict(self.env, LD_DEBUG="files", LD_DEBUG_OUTPUT=str(log / "l")))
        _, errors = process.communicate()
        self.assertEqual(process.returncode, code, errors.decode())
        lines = (log / ("l.%d" % process.pid)).read_text().splitlines()
        found = {line.split("file=")[1].split()[0] for line in lines if "generating link map" in line}
        self.assertTrue(any(name.startswith("libc.") for name in found), found)  # it does tell
        return found

    def has(self, libraries, stem):
        return any(name.split("/")[-1].startswith(stem) for name in libraries)

    def test_commands_that_touch_no_repository_load_neither_git_nor_a_database(self):
        mission = self.file("m.yaml", MISSION)
        for args in (["--version"], ["--help"], ["mission", "--help"], ["mission", "validate", mission]):
            with self.subTest(args=args):
                libraries = self.loaded(*args)
                self.assertFalse(self.has(libraries, "libgit2"), libraries)
                if ARCHIVES:
                    for stem in ("libsqlite3", "libyaml", "libuv", "libpcre2", "libjansson", "libcurl", "libssl"):
                        self.assertFalse(self.has(libraries, stem), libraries)

    def test_asking_what_ran_loads_no_git_and_running_does(self):
        self.assertFalse(self.has(self.loaded("runs"), "libgit2"))
        self.assertTrue(self.has(self.loaded("mission", "run", "--cmd", "echo two > f", "--check", "true"), "libgit2"))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "hiding a library takes root")
    def test_a_library_that_cannot_be_loaded_is_told(self):
        loaded = self.loaded("mission", "run", "--cmd", "echo two > f", "--check", "true")
        name = next(n for n in loaded if n.startswith("libgit2"))
        known = subprocess.run(["ldconfig", "-p"], stdout=subprocess.PIPE, check=True).stdout.decode()
        path = next(line.split(" => ")[1] for line in known.splitlines() if line.split()[0:1] == [name])
        nothing = self.file("nothing", "")
        script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        result = self.run_argv(["unshare", "-m", "sh", "-c", script, "sh", str(nothing), os.path.realpath(path),
                                *self.argv("mission", "run", "--cmd", "true", "--check", "true")])
        self.assertEqual(result.code, 4, str(result))
        self.assertIn(b"libgit2", result.err)


if __name__ == "__main__":
    unittest.main()
