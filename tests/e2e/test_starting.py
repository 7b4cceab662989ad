#!/usr/bin/env python3
"""What somebody new meets first: a mission file to begin with, and what Tab completes."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t


class Starting(t.Case):
    def complete(self, *words):
        """What bash would offer for the last of words."""
        script = self.file("completion.bash", self.paddock("completion", "bash").out.decode())
        ask = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _paddock; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", ask, "ask", str(script), "paddock", *words], capture_output=True, text=True, check=True)
        return done.stdout.split()

    def test_the_first_mission_runs_as_it_stands(self):
        self.paddock("init")
        self.paddock("mission", "validate", "paddock.yaml")
        doc = self.paddock("--json", "mission", "run", "paddock.yaml").json
        self.assertEqual((doc["verdict"], len(doc["candidates"])), ("pass", 3))

    def test_init_writes_over_nothing(self):
        self.repo.write("paddock.yaml", "mine\n")
        done = self.paddock("init", code=5)
        self.assertIn(b"there already", done.err)
        self.assertEqual(self.repo.read("paddock.yaml"), "mine\n")
        self.assertEqual(self.paddock("--json", "init", "other.yaml").json["schema_version"], 1)
        self.assertTrue((self.repo.path / "other.yaml").exists())

    def test_commands_and_groups_are_completed(self):
        self.assertIn("mission", self.complete("mi"))
        self.assertIn("promote", self.complete("pro"))
        self.assertEqual(self.complete("mission", "ca"), ["cancel"])
        self.assertEqual(self.complete("-C", "somewhere", "mission", "ca"), ["cancel"])

    def test_options_are_those_of_the_command(self):
        self.assertIn("--candidates", self.complete("mission", "run", "--"))
        self.assertNotIn("--candidates", self.complete("promote", "--"))
        self.assertIn("--as", self.complete("promote", "RUN", "--a"))
        self.assertIn("--json", self.complete("runs", "--j"))
        self.assertEqual(self.complete("sandbox", "exec", "NAME", "--", "--"), [])

    def test_every_shell_is_served_or_refused(self):
        self.assertIn(b"bashcompinit", self.paddock("completion", "zsh").out)
        fish = self.paddock("completion", "fish").out.decode()
        for line in fish.splitlines():
            self.assertRegex(line, r"^complete -c paddock( ([^' ]+|'([^'\\]|\\.)*'))*$")
        self.assertIn(b"bash, zsh and fish", self.paddock("completion", "csh", code=2).err)


if __name__ == "__main__":
    t.main()
