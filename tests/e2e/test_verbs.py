#!/usr/bin/env python3
"""The verbs of the protocol on the command line, with both backends that are made by name."""

import base64
import fcntl
import hashlib
import json
import os
import pathlib
import pty
import struct
import subprocess
import sys
import termios

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t


class Verbs(t.Case):
    def setUp(self):
        super().setUp()
        self.repo.write("src/a.c", "int main(void)\n{\n}\n")
        self.repo.write(".gitignore", "*.o\n")
        self.repo.commit()

    name = "s"

    def sandbox(self, backend="directory"):
        self.name = "s-" + backend
        made = self.paddock("--json", "sandbox", "create", self.name, "--backend", backend).json
        return pathlib.Path(made["path"])

    def verb(self, name, *words, code=0, data=None):
        return self.paddock("sandbox", name, self.name, *words, code=code, data=data)

    def document(self, name, *words, data=None):
        doc = self.paddock("--json", "sandbox", name, self.name, *words, data=data).json
        self.assertEqual(doc["schema_version"], 1)
        return doc

    def test_a_file_goes_in_and_comes_out_byte_for_byte(self):
        for backend in t.BACKENDS:
            with self.subTest(backend):
                path = self.sandbox(backend)
                data = os.urandom(700000).replace(b"\0", b"\1")
                first = self.document("write", "blob", data=data)
                self.assertEqual((first["existed_before"], first["bytes_written"], first["digest"]),
                                 (False, len(data), hashlib.sha256(data).hexdigest()))
                self.assertEqual((path / "blob").read_bytes(), data)
                self.assertEqual(self.verb("read", "blob").out, data)
                self.assertEqual(self.verb("read", "blob", "--offset", "10", "--length", "5").out, data[10:15])
                again = self.document("write", "blob", "--mode", "755", data=b"one\ntwo\n")
                self.assertTrue(again["existed_before"])
                self.assertEqual((path / "blob").stat().st_mode & 0o777, 0o755)
                self.assertEqual(self.verb("read", "blob", "--line", "2", "--lines", "1").out, b"two\n")
                self.assertEqual(self.document("read", "blob")["data"], "one\ntwo\n")
                self.assertEqual(self.document("remove", "blob"),
                                 {"schema_version": 1, "existed_before": True, "type": "file"})
                self.assertFalse((path / "blob").exists())
                self.paddock("sandbox", "discard", self.name, "--force")

    def test_looking_around(self):
        path = self.sandbox()
        (path / "src/x.o").write_text("object main\n")
        (path / b"odd\xff".decode(errors="surrogateescape")).write_text("main\n")
        self.assertEqual(self.verb("glob", "src/*").out, b"src/a.c\n")
        self.assertEqual(self.verb("glob", "src/*", "--ignored").out, b"src/a.c\nsrc/x.o\n")
        self.assertEqual(self.verb("grep", "main", "--path", "src").out, b"src/a.c:1:int main(void)\n")
        self.assertEqual(self.verb("grep", "MAIN", "-i", "src/**").out, b"src/a.c:1:int main(void)\n")
        found = self.document("grep", "main", "--context", "1")["items"]
        self.assertEqual([(i["path"], i["line"], i["column"]) for i in found][1], ("src/a.c", 1, 5))
        self.assertEqual(base64.b64decode(found[0]["path_base64"]), b"odd\xff")
        self.assertEqual(found[1]["after"], [{"text": "{"}])
        limited = self.verb("glob", "**", "--limit", "1")
        self.assertIn(b"there is more", limited.err)
        items = self.document("stat", "src", "src/a.c", "nope")["items"]
        self.assertEqual([i and i["type"] for i in items], ["directory", "file", None])
        self.assertTrue(self.verb("stat", "nope").out.startswith(b"- nope"))

    def test_a_fingerprint_tells_a_change(self):
        path = self.sandbox()
        before = self.verb("fingerprint").out
        self.assertEqual(self.verb("fingerprint").out, before)
        (path / "new").write_text("x")
        self.assertNotEqual(self.verb("fingerprint").out, before)
        self.assertEqual(self.document("fingerprint")["fingerprint"], self.verb("fingerprint").out.decode().strip())

    def test_params_go_in_as_json(self):
        path = self.sandbox()
        params = {"path": "p", "data_base64": base64.b64encode(b"\xff\0").decode()}
        self.verb("write", "--params", "-", data=json.dumps(params).encode())
        self.assertEqual((path / "p").read_bytes(), b"\xff\0")
        self.verb("write", "--params", "-", data=b"[]", code=2)
        self.verb("write", "--params", "-", data=b"{", code=2)

    def test_what_cannot_be_done_says_why(self):
        self.sandbox()
        self.verb("read", "nope", code=2)
        self.verb("read", "../../x", code=2)
        self.verb("remove", "src", code=2)
        self.verb("grep", "(", code=2)
        self.verb("read", code=2)
        error = json.loads(self.paddock("--json", "sandbox", "read", "none", "f", code=2).out)
        self.assertEqual(error["error"]["code"], "not_found")
        self.verb("remove", "src", "--recursive")
        self.assertEqual(self.verb("glob", "src/**").out, b"")

    def test_a_shell_is_a_terminal_and_passes_its_end_on(self):
        path = self.sandbox()
        result = self.verb("shell", data=b"tty >seen; pwd >>seen; exit 7\n", code=7)
        seen = (path / "seen").read_text().split()
        self.assertTrue(seen[0].startswith("/dev/pts/"), str(result))
        self.assertEqual(os.path.realpath(seen[1]), os.path.realpath(path))

    def test_a_shell_has_the_size_of_our_terminal(self):
        self.sandbox()
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 17, 61, 0, 0))
        shell = subprocess.run(self.argv("sandbox", "shell", self.name, "--", "stty", "size"), cwd=self.repo.path, env=self.env,
                               stdin=theirs, stdout=subprocess.PIPE, check=True, timeout=120)
        self.assertIn(b"17 61", shell.stdout)
        os.close(ours)
        os.close(theirs)


if __name__ == "__main__":
    t.main()
