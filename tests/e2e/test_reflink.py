#!/usr/bin/env python3
# timeout: 300
"""Copies share their blocks where the file system can: shown by the extents that the kernel reports as shared."""

import array
import fcntl
import os
import pathlib
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

FS_IOC_FIEMAP, SYNC, SHARED, EXTENTS = 0xC020660B, 1, 0x2000, 32
MAKERS = {"xfs": ["mkfs.xfs", "-q", "-m", "reflink=1"], "btrfs": ["mkfs.btrfs", "-q"]}


def extents(path):
    """(physical place, whether it is shared) of each extent of a file."""
    room = array.array("B", struct.pack("=QQLLLL", 0, 2**64 - 1, SYNC, 0, EXTENTS, 0) + bytes(56 * EXTENTS))
    with open(path, "rb") as file:
        fcntl.ioctl(file, FS_IOC_FIEMAP, room)
    found = []
    for i in range(struct.unpack_from("=L", room, 20)[0]):
        _, physical, _, flags = struct.unpack_from("=QQQ16xL", room, 32 + 56 * i)
        found.append((physical, bool(flags & SHARED)))
    return found


class Reflink(t.Case):
    def mount(self, kind):
        if os.geteuid() != 0:
            self.skipTest("only root can mount")
        if not shutil.which(MAKERS[kind][0]):
            self.skipTest("no " + MAKERS[kind][0])
        image, at = self.dir / (kind + ".img"), self.dir / kind
        with open(image, "wb") as file:
            file.truncate(512 << 20)
        subprocess.run(MAKERS[kind] + [image], check=True, stdout=subprocess.DEVNULL)
        at.mkdir()
        done = subprocess.run(["mount", "-o", "loop", image, at], stderr=subprocess.PIPE)
        if done.returncode:
            self.skipTest("%s cannot be mounted: %s" % (kind, done.stderr.decode().strip()))
        self.addCleanup(subprocess.run, ["umount", "-l", at], check=True)
        return at

    def check(self, kind):
        at = self.mount(kind)
        self.repo = t.Repo(at / "repo")
        self.repo.path.mkdir()
        self.repo.git("init", "-q")
        self.repo.write("large", os.urandom(1 << 20))
        self.repo.write(".gitignore", "built\n")
        self.repo.commit("first")
        self.repo.write("built", os.urandom(1 << 20))
        self.env = dict(self.env, PADDOCK_STATE=str(at / "state"))
        self.mission("--backend", "directory", "--cmd", "echo > new", "--check", "true", "-n", "2", "--set", "keep=all", "--set", "sandbox.include=[built]")
        template = next((at / "state").glob("*/templates/*/tree/large"))
        copies = list((at / "state").glob("*/sandboxes/*/tree"))
        self.assertGreaterEqual(len(copies), 2)
        for copy in copies:
            for file, source in ((copy / "large", template), (copy / "built", self.repo.path / "built")):
                if file.exists():
                    self.assertEqual(file.read_bytes(), source.read_bytes())
                    self.assertEqual(extents(file), extents(source), file)
                    self.assertTrue(extents(file) and all(shared for _, shared in extents(file)), file)
        self.assertTrue(any((copy / "built").exists() for copy in copies))
        (copies[0] / "large").write_bytes(b"other")  # what is written in one is its own
        self.assertNotEqual(template.read_bytes(), b"other")

    def test_xfs(self):
        self.check("xfs")

    def test_btrfs(self):
        self.check("btrfs")


if __name__ == "__main__":
    t.main()
