#!/usr/bin/env python3
"""README.md tells the truth: its console blocks print what they show, its files are valid, its lists of commands complete.

Standard output is compared, with object ids, times and paths made alike. Every command must end with 0.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PADDOCK = os.environ["PADDOCK"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
failures = []


def fail(text):
    failures.append(text)
    print("FAILED:", text)


def blocks():
    """(kind, text) of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", README, re.M | re.S)


def steps(block):
    """(command, what it should print) of a console block."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def alike(text):
    """What differs from one time to the next, made the same."""
    text = re.sub(r"\b[0-9a-f]{12,40}\b", "ID", text)
    text = re.sub(r"\b\d+(\.\d+)?(ms|s)\b", "TIME", text)
    text = re.sub(r"/\S*/(sandboxes/\S+)", r"PATH/\1", text)
    text = re.sub(r"peak: \d+ of \d+", "peak: N of N", text)
    return re.sub(r" +", " ", text)


def environment(home):
    env = dict(os.environ)
    env["PATH"] = f"{pathlib.Path(PADDOCK).parent}:{env['PATH']}"
    env["PADDOCK_STATE"] = str(pathlib.Path(home) / "state")
    return env


def run_step(command, cwd, env):
    """Runs one command as a shell at cwd would; returns its stdout and where the shell is afterwards."""
    place = pathlib.Path(env["PADDOCK_STATE"] + ".cwd")
    script = f'{command}\nstatus=$?\npwd >"{place}"\nexit $status\n'
    done = subprocess.run(["bash", "-c", script], cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        fail(f"'{command}' ends with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout, place.read_text(encoding="utf-8").strip()


def run_blocks(home):
    cwd = home
    env = environment(home)
    for kind, text in blocks():
        if kind == "yaml":
            named = re.search(r"^kind: (\w+)$", text, re.M).group(1)
            path = pathlib.Path(cwd) / f"{named}.yaml"
            path.write_text(text, encoding="utf-8")
            run_step(f"paddock {named} validate {path.name}", cwd, env)
            if named == "mission":
                path.unlink()
        for command, expected in steps(text) if kind == "console" else ():
            printed, cwd = run_step(command, cwd, env)
            if differs(printed, expected):
                fail(f"'{command}' prints\n{printed}README.md says\n{expected}")


def differs(printed, expected):
    return alike(printed).rstrip() != alike(expected).rstrip()


def check_make_targets():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z-]+)\s+#|`make ([a-z-]+)`", README):
        name = target[0] or target[1]
        if not re.search(rf"^{name}\b[^=]*:", makefile, re.M):
            fail(f"README.md names 'make {name}', the Makefile does not")


def check_links():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not (ROOT / target).exists():
            fail(f"README.md links to {target}, which is not there")


def help_rows():
    """(group or None, name, built) of each command in `paddock --help`."""
    text = subprocess.run([PADDOCK, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    groups = {"mission", "fleet", "sandbox", "provider"}
    for line in re.search(r"^commands:\n(.*?)^$", text, re.M | re.S).group(1).splitlines():
        words = line.split()
        group = words[0] if words[0] in groups else None
        yield group, words[1] if group else words[0], not line.endswith("(not built yet)")


def mentions(section, group, name):
    """`paddock mission run …`, or in a row that names the group before: `paddock sandbox create` `list`."""
    if f"`paddock {group + ' ' if group else ''}{name}" in section or (not group and f"`{name}`" in section):
        return True
    lines = [line for line in re.split(r"[\n;]", section.replace("\n  ", " ")) if group and group in line]
    return any(re.search(rf"[` ]{name}`", line) for line in lines)


def check_commands():
    built = re.search(r"^## Commands$(.*?)^## ", README, re.M | re.S).group(1)
    unbuilt = re.search(r"^## Not built yet$(.*?)^## ", README, re.M | re.S).group(1)
    rows = list(help_rows())
    if len(rows) < 30:
        fail(f"--help lists {len(rows)} commands only")
    for group, name, is_built in rows:
        title = f"{group} {name}" if group else name
        if not mentions(built if is_built else unbuilt, group, name):
            fail(f"README.md does not list '{title}' as {'built' if is_built else 'not built'}")
        if group is None and mentions(unbuilt if is_built else built, group, name):
            fail(f"README.md lists '{title}' on the wrong side")


def main():
    with tempfile.TemporaryDirectory() as home:
        run_blocks(home)
    check_make_targets()
    check_links()
    check_commands()
    return 1 if failures else 0


sys.exit(main())
