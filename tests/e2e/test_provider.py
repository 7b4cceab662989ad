#!/usr/bin/env python3
"""The conformance kit: our agent passes, so does a provider written from the document, and broken ones fail for their reason."""
# timeout: 600

import os
import pathlib
import re
import sys
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

PROVIDER = pathlib.Path(__file__).parent.parent / "provider" / "provider.py"
AGENT = os.environ.get("PADDOCK_AGENT", "paddock-agent")

# What is wrong with it, the case that must find that, and what it must say. Every other case of that group passes.
BROKEN = {
    "version": ("initialize comes first", "initialize was not refused, as 'bad_params'"),
    "order": ("initialize comes first", "descriptor was not refused, as 'bad_frame'"),
    "dies": ("what is no frame is refused", "it ended instead of"),
    "twice": ("one request has one answer", "answered twice"),
    "frame": ("the descriptor says", "it sent what is no frame"),
    "silent": ("a heartbeat comes", "no sign of ping"),
    "lease": ("without a word for its lease", "it does not end"),
    "stays": ("the end of its input is its end", "it does not end"),
    "digest": ("write: the receipt", "'digest' is"),
    "text": ("any bytes come through", "'data' holds other bytes"),
    "outside": ("read: refusals", "not 'outside'|not refused, as 'outside'"),
    "truncated": ("glob:", "'truncated' is not true"),
    "nonce": ("exec: the nonce", "another nonce"),
    "lies": ("exec: how a command ended", "'exit_code' is 0, not 3"),
    "env": ("the environment is the one", "'exit_code' is 1, not 0"),
    "late": ("all output comes before", "stdout is not what was written"),
    "cancel": ("exec: a cancel ends it", "no sign of an answer"),
    "leaves": ("nothing outlives", "is not counted|still lives"),
}


class Providers(t.Case):
    def check(self, *argv, words=(), code=0):
        root = self.dir / "root"
        root.mkdir(exist_ok=True)
        return self.paddock("--json", "provider", "check", *words, "--", *argv, "--root", root, code=code, timeout=500).json

    def test_our_agent_conforms(self):
        junit = self.dir / "junit.xml"
        doc = self.check(AGENT, words=("--junit", junit))
        self.assertEqual((doc["schema_version"], doc["conforms"], doc["failed"], doc["skipped"]), (1, True, 0, 0), doc)
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual(int(suite.get("tests")), len(doc["items"]))
        self.assertEqual(len(suite.findall("testcase")), doc["passed"])
        self.assertEqual(list((self.dir / "root").iterdir()), [])

    def test_a_provider_written_from_the_document_conforms(self):
        doc = self.check(sys.executable, PROVIDER)
        self.assertEqual((doc["conforms"], doc["failed"]), (True, 0), doc)
        self.assertTrue(all(i["name"].startswith("spawn:") for i in doc["items"] if i["status"] == "skip"), doc)

    def test_broken_ones_fail_for_their_reason(self):
        for kind, (case, why) in BROKEN.items():
            with self.subTest(kind):
                words = ("--only", case, "--timeout", "3s" if why.startswith(("no sign", "it does not")) else "60s")
                doc = self.check(sys.executable, PROVIDER, "--break", kind, words=words, code=1)
                self.assertEqual((doc["conforms"], doc["failed"], len(doc["items"])), (False, 1, 1), doc)
                self.assertTrue(re.search(why, doc["items"][0]["why"]), doc)

    def test_what_is_no_provider_fails_every_case(self):
        doc = self.check("true", code=1)
        self.assertEqual(doc["passed"], 0)
        doc = self.check("/no/such/provider", words=("--only", "descriptor"), code=1)
        self.assertIn("cannot start", doc["items"][0]["why"])
        self.paddock("provider", "check", code=2)
        self.paddock("provider", "check", "--only", "no such case", "--", "true", code=2)


if __name__ == "__main__":
    t.main()
