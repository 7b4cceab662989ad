#!/usr/bin/env python3
"""What comes out as JSON, and what the program says about files that are wrong."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

TEXT, NUMBER, FLAG, LIST, OBJECT, NONE = str, int, bool, list, dict, type(None)

RUN = {"schema_version": NUMBER, "run": TEXT, "kind": TEXT, "id": TEXT, "base": OBJECT, "verdict": TEXT, "reason": (TEXT, NONE),
       "winner": (TEXT, NONE), "max_concurrent": NUMBER, "peak_concurrent": NUMBER, "duration_ms": NUMBER, "candidates": LIST,
       "promotion": (OBJECT, NONE)}
CANDIDATE = {"id": TEXT, "index": NUMBER, "state": TEXT, "verdict": TEXT, "reason": (TEXT, NONE), "attempts": NUMBER, "tree": TEXT,
             "changed": FLAG, "files_changed": NUMBER, "lines_added": NUMBER, "lines_deleted": NUMBER, "score": (NUMBER, float, NONE),
             "duration_ms": NUMBER, "backend": TEXT, "execution": OBJECT, "mission": OBJECT, "checks": LIST,
             "leaked_processes": NUMBER, "warnings": LIST}
MISSION = {"exit_code": NUMBER, "signal": (NUMBER, NONE), "timed_out": FLAG}
CHECK = {"name": TEXT, "verdict": TEXT, "reason": (TEXT, NONE), "severity": TEXT, "exit_code": NUMBER, "duration_ms": NUMBER,
         "score": (NUMBER, float, NONE)}
ERROR = {"code": TEXT, "message": TEXT, "hint": (TEXT, NONE), "where": (TEXT, NONE)}
TOP = "schema: paddock/v1\nkind: mission\nid: m\n"


class Documents(t.Case):
    def shaped(self, doc, shape):
        for key, kind in shape.items():
            self.assertIn(key, doc)
            self.assertIsInstance(doc[key], kind, key)
            self.assertEqual(isinstance(doc[key], bool), kind is FLAG, key)

    def test_a_run(self):
        doc = self.mission("--run-id", "r", "--cmd", "echo two > f", "--check", "true", "-n", "2")
        self.assertEqual(self.paddock("--json", "show", "r").json, doc)
        self.shaped(doc, RUN)
        self.assertEqual((doc["schema_version"], doc["kind"], set(doc["base"])), (1, "mission", {"commit", "tree"}))
        for c in doc["candidates"]:
            self.shaped(c, CANDIDATE)
            self.shaped(c["mission"], MISSION)
            self.shaped(c["checks"][0], CHECK)
            self.shaped(c["execution"], {"where": TEXT, "enforcement": TEXT, "claim": TEXT})

    def test_ids_may_be_shortened(self):
        self.mission("--run-id", "longname", "--cmd", "echo two > f", "--check", "true")
        self.assertEqual(self.paddock("--json", "show", "long").json["run"], "longname")
        self.mission("--run-id", "longother", "--cmd", "echo two > f", "--check", "true")
        self.paddock("--json", "show", "long", code=2)

    def test_listings(self):
        self.mission("--cmd", "echo two > f", "--check", "true")
        for words in (("runs",), ("sandbox", "list")):
            doc = self.paddock("--json", *words).json
            self.assertEqual(doc["schema_version"], 1)
            self.assertIsInstance(doc["items"], list)

    def test_errors(self):
        (self.dir / "plain").mkdir()
        bad = self.file("bad.yaml", TOP + "mission: {run: 'true'}\nverfy: {}\n")
        for words, cwd, code in ((("show", "nope"), None, 2), (("runs",), self.dir / "plain", 4), (("mission", "run", bad), None, 2),
                                 (("nonsense",), None, 2), (("mission", "run", self.dir / "none.yaml"), None, None),
                                 (("sandbox", "status", "x"), None, 2), (("undo",), None, 2)):
            with self.subTest(words):
                result = self.paddock("--json", *words, cwd=cwd, code=None)
                self.assertEqual(result.code, code if code is not None else result.code, str(result))
                self.assertNotEqual(result.code, 0)
                doc = result.json
                self.assertEqual(doc["schema_version"], 1)
                self.shaped(doc["error"], ERROR)
        self.assertTrue(self.paddock("--json", "mission", "validate", bad, code=2).json["error"]["where"].endswith("bad.yaml:5:1"))

    def test_results_are_on_stdout_and_talk_is_not(self):
        result = self.paddock("--json", "mission", "run", "--cmd", "echo noise; echo two > f", "--check", "true")
        json.loads(result.out)
        self.assertIn(b"c1", result.err)
        result = self.paddock("-q", "--json", "mission", "run", "--cmd", "echo two > f", "--check", "true")
        self.assertEqual(result.err, b"")

    def test_flags_come_anywhere_and_minus_C_goes_there(self):
        self.paddock("mission", "run", "--check", "true", "--cmd", "echo two > f", "--json", "-C", self.repo.path, cwd=self.dir)

    def test_a_schema_is_json(self):
        schema = self.paddock("schema", "mission").json
        self.assertIn("draft-07", schema["$schema"])


class Files(t.Case):
    def wrong(self, text, *wanted, name="m.yaml"):
        path = self.dir / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        result = self.paddock("mission", "validate", path, code=2)
        said = result.err.decode(errors="replace")
        for part in wanted:
            self.assertIn(part, said)
        return said

    def test_all_errors_come_at_once_and_in_order(self):
        said = self.wrong(TOP + "mission: {run: 'true', timeout: 30}\nverfy: {}\ncandidates: none\n", "m.yaml:4:", "m.yaml:5:1", "m.yaml:6:13", "verify", "^")
        self.assertEqual(sorted((said.index("m.yaml:4:"), said.index("m.yaml:5:"), said.index("m.yaml:6:"))),
                         [said.index("m.yaml:4:"), said.index("m.yaml:5:"), said.index("m.yaml:6:")])

    def test_a_bare_number_is_no_duration(self):
        self.wrong(TOP + "mission: {run: 'true', timeout: 30}\n", "30s")

    def test_tabs(self):
        self.wrong(TOP + "mission:\n\t'run': 'true'\n", "m.yaml:5:1", "tab")

    def test_duplicate_keys_name_both_places(self):
        self.wrong(TOP + "mission: {run: 'true'}\nmission: {run: 'false'}\n", "m.yaml:5:1", "4:1")

    def test_more_than_one_document(self):
        self.wrong(TOP + "mission: {run: 'true'}\n---\nx: 1\n", "document")

    def test_old_booleans(self):
        self.wrong(TOP + "mission: {run: 'true'}\nallow_empty: yes\n", "m.yaml:5:14", "true")

    def test_text_stays_as_it_is_written(self):
        path = self.file("m.yaml", TOP + "mission: {run: 'echo $A $B > f'}\nsandbox: {env: {A: 3.10, B: 012}}\nverify: {checks: [{name: a, run: 'grep -qx \"3.10 012\" f'}]}\n")
        self.mission(path)
        path = self.file("m.yaml", TOP + "mission: {run: 'echo {{matrix.a}} > f'}\nmatrix: {a: [no, 1_000]}\n")
        doc = self.mission(path, code=3)
        self.assertEqual([c["matrix"]["a"] for c in doc["candidates"]], ["no", "1_000"])

    def test_bombs_and_depths_are_refused_quickly(self):
        bomb = "x-a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join("x-%s: &%s [%s]\n" % (chr(98 + i), chr(98 + i), ",".join(["*" + chr(97 + i)] * 10)) for i in range(9))
        self.wrong(bomb + TOP + "mission: {run: 'true'}\n", "m.yaml:")
        self.wrong("x-deep: " + "[" * 10000, "m.yaml:")

    def test_encodings(self):
        good = (TOP + "mission: {run: 'true'}\n")
        for text in (b"\xef\xbb\xbf" + good.encode(), good.replace("\n", "\r\n").encode()):
            (self.dir / "ok.yaml").write_bytes(text)
            self.paddock("mission", "validate", self.dir / "ok.yaml")
        self.wrong(good.encode("utf-16"), "UTF-16")
        self.wrong(good.encode() + b"x-a: a\0b\n", "m.yaml:")
        self.wrong(good + "x-a: !!python/object 1\n", "tag")

    def test_too_large(self):
        self.wrong("# " + "x" * (1 << 20) + "\n" + TOP, "m.yaml")

    def test_other_versions_and_kinds(self):
        self.wrong("schema: paddock/v9\nkind: mission\nid: m\nmission: {run: 'true'}\n", "m.yaml:1:9")
        self.wrong("schema: paddock/v1\nkind: misson\nid: m\nmission: {run: 'true'}\n", "mission")

    def test_bad_ids_and_patterns(self):
        for name in ("../x", "a/b", ".", "-x"):
            self.wrong("schema: paddock/v1\nkind: mission\nid: '%s'\nmission: {run: 'true'}\n" % name, "m.yaml:3:5")
        self.wrong(TOP + "mission: {run: 'true'}\nverify: {checks: [{name: a, run: 'true', expect: {stdout: '('}}]}\n", "m.yaml:5:")

    def test_keys_of_ones_own_and_a_file_on_stdin(self):
        text = TOP + "x-mine: [1, {a: b}]\nmission: {run: 'echo two > f'}\n"
        self.mission("-", "--check", "true", data=text.encode())

    def test_set_overrides_and_show_prints_the_plan(self):
        path = self.file("m.yaml", TOP + "mission: {run: 'true'}\nverify: {checks: [{name: a, run: 'true'}]}\n")
        plan = self.paddock("mission", "show", path, "--set", "verify.checks.0.timeout=5m", "--set", "candidates=3").out.decode()
        self.assertIn("candidates: 3", plan)
        self.assertIn("5m", plan)
        self.paddock("mission", "show", path, "--set", "nothing.like=1", code=2)


if __name__ == "__main__":
    t.main()
