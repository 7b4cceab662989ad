#!/usr/bin/env python3
"""How many requests operations cost: an agent behind a counter, so that a loop on our side fails a test."""

import collections
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t

AGENT = os.environ.get("PADDOCK_AGENT", "paddock-agent")


class RoundTrips(t.Case):
    def setUp(self):
        super().setUp()
        self.log = self.dir / "frames"
        counter = self.file("agent", '#!/bin/sh\ntee -a "%s" | exec "%s" "$@"\n' % (self.log, AGENT))
        counter.chmod(0o755)
        self.env["PADDOCK_AGENT"] = str(counter)
        for i in range(300):
            self.repo.write("many/%d" % i, "line %d\n" % i)
        self.repo.commit()

    def requests(self):
        """What was asked since the last look, by method; the first frame of each conversation apart."""
        frames = [json.loads(line) for line in self.log.read_bytes().splitlines()] if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        counts = collections.Counter(f["method"] for f in frames if "id" in f)
        self.assertGreater(counts.pop("initialize", 0), 0)
        return dict(counts)

    def test_a_verb_is_one_round_trip(self):
        self.paddock("sandbox", "create", "s", "--backend", "directory")
        self.log.unlink(missing_ok=True)
        for words, expected in ((("write", "s", "f", "--input", str(self.repo.path / "f")), {"write": 1}),
                                (("grep", "s", "line"), {"grep": 1}), (("glob", "s", "**"), {"glob": 1}),
                                (("stat", "s", *("many/%d" % i for i in range(60))), {"stat_many": 1}),
                                (("remove", "s", "many", "--recursive"), {"remove": 1}),
                                (("fingerprint", "s"), {"fingerprint": 1}), (("read", "s", "f"), {"read": 1}),
                                (("exec", "s", "--", "true"), {"exec": 1})):
            with self.subTest(words[0]):
                self.paddock("sandbox", *words)
                self.assertEqual(self.requests(), expected)

    def test_the_life_of_a_candidate_does_not_cost_more_with_more_files(self):
        for command in ("true", "for i in $(seq 300); do echo more >>many/$i; done"):
            with self.subTest(command):
                self.paddock("mission", "run", "--cmd", command, "--check", "true", "--backend", "directory", "--allow-empty")
                counts = self.requests()
                self.assertEqual(counts.pop("exec"), 2)
                self.assertLessEqual(sum(counts.values()), 6, counts)


if __name__ == "__main__":
    t.main()
