#!/usr/bin/env python3
"""Who wins among several that pass, by what, and when the rest is not waited for."""

import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t


def mission_file(run, checks, more=""):
    return "schema: paddock/v1\nkind: mission\nid: m\nmission:\n  run: |\n    %s\n%sverify:\n  checks:\n%s" % (
        run.replace("\n", "\n    "), more, "".join("    - %s\n" % check for check in checks))


class Base(t.Case):
    def run_with(self, run, checks, more, code=0, args=()):
        return self.mission(self.file("m.yaml", mission_file(run, checks, more)), *args, code=code)


class Score(Base):
    def test_the_best_score_wins_by_its_goal(self):
        check = "{name: a, run: 'echo score=$(cat f)', score: {stdout: 'score=([0-9.]+)', goal: %s}}"
        for goal, winner, by in (("max", "c3", "score"), ("min", "c1", "score")):
            doc = self.run_with("echo $((PADDOCK_CANDIDATE * 2)) > f", [check % goal], "candidates: 3\nselect: [verdict, score, index]\n")
            self.assertEqual((doc["winner"], doc["decided_by"]), (winner, by))
            self.assertEqual([c["score"] for c in doc["candidates"]], [2, 4, 6])

    def test_scores_are_weighted(self):
        checks = ["{name: a, run: 'cat f', score: {stdout: '^a=(.*)', weight: 10}}",
                  "{name: b, run: 'cat f', score: {stdout: '^b=(?<n>.*)', goal: min}}"]
        doc = self.run_with("echo a=$PADDOCK_CANDIDATE > f; echo b=$((PADDOCK_CANDIDATE * 100)) >> f", checks,
                            "candidates: 2\nselect: [score]\n")
        self.assertEqual([c["score"] for c in doc["candidates"]], [-90, -180])
        self.assertEqual(doc["winner"], "c1")

    def test_no_number_is_no_pass(self):
        for text in ("score=", "score=high", "score=nan", "score=1e999", ""):
            doc = self.run_with("echo x > f", ["{name: a, run: 'echo \"%s\"', score: {stdout: 'score=(.*)'}}" % text], "", 3)
            self.assertEqual((doc["candidates"][0]["reason"], doc["candidates"][0]["score"]), ("score_missing", None), text)


class Votes(Base):
    RUN = "case $PADDOCK_CANDIDATE in 1) echo rare;; 2) echo '  often';; 3) echo often;; esac > f"

    def test_most_of_them_are_right_together(self):
        doc = self.run_with(self.RUN, ["{name: a, run: 'true'}"], "candidates: 3\nselect: [votes, index]\n")
        self.assertEqual((doc["winner"], doc["decided_by"], doc["ranking"]), ("c2", "index", [2, 3, 1]))
        doc = self.run_with(self.RUN, ["{name: a, run: 'true'}"], "candidates: 3\nselect: ['votes:tree', index]\n")
        self.assertEqual(doc["winner"], "c1")

    def test_what_the_checks_print_may_vote(self):
        doc = self.run_with(self.RUN, ["{name: a, run: 'wc -w f; cat f | tr -d \" \"'}"], "candidates: 3\nselect: ['votes:output', index]\n")
        self.assertEqual(doc["winner"], "c2")

    def test_those_that_failed_have_no_vote(self):
        doc = self.run_with("echo $((PADDOCK_CANDIDATE > 2)) > f; test $PADDOCK_CANDIDATE -ne 2 || echo 2 > f", ["{name: a, run: '! grep -q 1 f'}"],
                            "candidates: 4\nselect: [votes, index]\n")
        self.assertEqual(doc["winner"], "c1")


class Stop(Base):
    def test_the_first_that_passes_ends_the_rest(self):
        mark = self.dir / "mark"
        run = "echo $PADDOCK_CANDIDATE > f; test $PADDOCK_CANDIDATE = 2 || { echo x >> %s; sleep 999; }" % mark
        doc = self.run_with(run, ["{name: a, run: 'while ! test -e %s; do :; done'}" % mark],
                            "candidates: 4\nmax_concurrent: 2\nstop: {on: first-pass}\n")
        self.assertEqual([(c["verdict"], c["reason"]) for c in doc["candidates"]],
                         [("abstain", "censored"), ("pass", None), ("abstain", "censored"), ("abstain", "censored")])
        self.assertEqual((doc["verdict"], doc["winner"], doc["canceled"]), ("pass", "c2", False))
        s = doc["statistics"]
        self.assertEqual((s["censored"], s["pass_at"], s["wilson"]), (3, [], None))
        self.assertEqual(self.paddock("verdict", "--replay", "-", data=self.paddock("events", doc["run"]).out).json["verdict"], "pass")

    def test_it_is_confirmed_before_it_ends_the_rest(self):
        mark = self.dir / "mark"
        check = "{name: a, run: 'test $(cat f) != 1 || { test ! -e %s || exit 1; touch %s; }'}" % (mark, mark)
        text = mission_file("echo $PADDOCK_CANDIDATE > f", [check], "candidates: 3\nmax_concurrent: 1\nstop: {on: first-pass}\n")
        doc = self.mission(self.file("m.yaml", text.replace("verify:\n", "verify:\n  confirm: 1\n")))
        self.assertEqual([c["reason"] for c in doc["candidates"]], ["flaky", None, "censored"])

    def test_so_many_that_agree_are_enough(self):
        doc = self.run_with("echo $((PADDOCK_CANDIDATE / 2)) > f", ["{name: a, run: 'true'}"],
                            "candidates: 6\nmax_concurrent: 1\nstop: {agree: 2}\n")
        self.assertEqual([c["verdict"] for c in doc["candidates"]], ["pass"] * 3 + ["abstain"] * 3)

    def test_what_may_be_spent_is_spent(self):
        text = mission_file("echo $PADDOCK_CANDIDATE > f; echo cost=2.5", ["{name: a, run: 'false'}"],
                            "candidates: 6\nmax_concurrent: 1\nstop: {budget: 5}\n").replace("mission:\n", "mission:\n  cost: 'cost=(.*)'\n")
        doc = self.mission(self.file("m.yaml", text), code=None)
        self.assertEqual([c["reason"] for c in doc["candidates"]], ["check_failed"] * 2 + ["censored"] * 4)
        self.assertEqual([c["cost"] for c in doc["candidates"]], [2.5] * 2 + [None] * 4)

    def test_the_cheaper_one_wins(self):
        text = mission_file("echo $PADDOCK_CANDIDATE > f; echo cost=$((9 - PADDOCK_CANDIDATE))", ["{name: a, run: 'true'}"],
                            "candidates: 3\nselect: [cost]\n").replace("mission:\n", "mission:\n  cost: 'cost=(.*)'\n")
        doc = self.mission(self.file("m.yaml", text))
        self.assertEqual((doc["winner"], doc["decided_by"]), ("c3", "cost"))


class Judge(Base):
    def judge(self, command, n=3):
        self.repo.write("judge.sh", command)
        self.repo.commit()
        return self.run_with("echo $((PADDOCK_CANDIDATE * 3 % 7)) > f", ["{name: a, run: 'true'}"],
                             "candidates: %d\nselect: [verdict, {judge: {run: [sh, judge.sh]}}, index]\n" % n)

    def test_the_one_that_the_judge_prefers_wins(self):
        doc = self.judge('n() { sed -n "s/^+\\([0-9]\\)$/\\1/p" $1; }\n'
                         'if test $(n $PADDOCK_DIFF_A) -gt $(n $PADDOCK_DIFF_B); then echo A; else echo B; fi\n')
        self.assertEqual((doc["winner"], doc["decided_by"]), ("c2", "judge"))
        self.assertEqual((len(doc["judge"]["pairs"]), doc["judge"]["position_bias"]), (3, 0))

    def test_one_that_always_says_the_same_place_decides_nothing(self):
        doc = self.judge("echo A")
        self.assertEqual((doc["winner"], doc["decided_by"], doc["judge"]["position_bias"]), ("c1", "index", 3))

    def test_no_answer_is_a_tie(self):
        doc = self.judge("exit 1", n=2)
        self.assertEqual((doc["winner"], doc["judge"]["pairs"][0]["answers"]), ("c1", ["none", "none"]))


if __name__ == "__main__":
    t.main()
