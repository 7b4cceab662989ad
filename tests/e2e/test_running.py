#!/usr/bin/env python3
# timeout: 400
"""The life of a run: concurrency, environment, timeouts, output, signals, what is left afterwards."""

import json
import os
import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import paddock_test as t


def mission_text(mission, *blocks):
    return "schema: paddock/v1\nkind: mission\nid: m\nmission: %s\n%s" % (mission, "".join(b + "\n" for b in blocks))


class Running(t.Case):
    def sandboxes_on_disk(self):
        return [p.name for p in (self.dir / "state").glob("*/sandboxes/*")]

    # ---- order and concurrency

    def test_results_come_in_declaration_order_and_the_bound_holds(self):
        live, peak = self.dir / "live", self.dir / "peak"
        live.mkdir()
        command = ("mkdir '%s'/$$; ls '%s' | wc -l >> '%s'; echo $PADDOCK_CANDIDATE > f; rmdir '%s'/$$" % (live, live, peak, live))
        doc = self.mission("--cmd", command, "--check", "true", "-n", "12", "-j", "3")
        self.assertEqual([c["index"] for c in doc["candidates"]], list(range(1, 13)))
        self.assertEqual(doc["max_concurrent"], 3)
        self.assertLessEqual(doc["peak_concurrent"], 3)
        self.assertLessEqual(max(map(int, peak.read_text().split())), 3)

    def test_executions_overlap_where_they_may(self):
        meet = self.dir / "meet"
        meet.mkdir()
        command = ": > '%s'/$PADDOCK_CANDIDATE; until [ -e '%s/1' -a -e '%s/2' ]; do :; done; echo > f" % (meet, meet, meet)
        doc = self.mission("--cmd", command, "--check", "true", "-n", "2", "-j", "2", "--timeout", "60s")
        self.assertEqual(doc["peak_concurrent"], 2)
        self.assertEqual(doc["verdict"], "pass")

    def test_one_at_a_time_keeps_the_order(self):
        log = self.dir / "log"
        doc = self.mission("--cmd", "echo $PADDOCK_CANDIDATE >> '%s'; echo > f" % log, "--check", "true", "-n", "4", "-j", "1")
        self.assertEqual(log.read_text().split(), ["1", "2", "3", "4"])
        self.assertEqual(doc["peak_concurrent"], 1)

    def test_one_failure_disturbs_no_other(self):
        doc = self.mission("--cmd", "[ $PADDOCK_CANDIDATE != 2 ] || kill -9 $$; echo two > f", "--check", "grep two f", "-n", "4", "-j", "2")
        self.assertEqual([c["mission"]["signal"] for c in doc["candidates"]], [None, 9, None, None])
        self.assertEqual([c["verdict"] for c in doc["candidates"] if c["index"] != 2], ["pass"] * 3)

    # ---- environment

    def environment(self, *args, env=None, text=None):
        out = self.dir / "env"
        command = "env -0 > '%s'; echo > f" % out
        if text:
            args = (self.file("m.yaml", text % json.dumps(command)),) + args
        else:
            args = ("--cmd", command) + args
        self.mission("--check", "true", *args, env=dict(self.env, **(env or {})))
        return dict(line.split("=", 1) for line in out.read_text().split("\0") if line)

    def test_only_the_allowed_environment_crosses(self):
        env = self.environment("--run-id", "mine", env={"FOO_TOKEN": "secret", "PADDOCK_RUN": "stale", "PADDOCK_OLD": "x",
                               "GIT_DIR": str(self.repo.path / ".git"), "OLDPWD": "/", "LANG": "C.UTF-8"})
        self.assertEqual(env["PADDOCK_RUN"], "mine")
        self.assertEqual((env["PADDOCK_CANDIDATE"], env["PADDOCK_ATTEMPT"], env["PADDOCK_STAGE"]), ("1", "mine.c1.a1", "mission"))
        for name in ("FOO_TOKEN", "PADDOCK_OLD", "PADDOCK_STATE", "GIT_DIR", "OLDPWD"):
            self.assertNotIn(name, env)
        self.assertEqual(env["LANG"], "C.UTF-8")
        self.assertEqual(env["PWD"], env["PADDOCK_SANDBOX"])
        self.assertFalse(env["PADDOCK_SANDBOX"].startswith(str(self.repo.path)))

    def test_env_and_pass_env_bring_what_they_name(self):
        env = self.environment(text=mission_text("{run: %s}", "sandbox: {env: {CI: '1'}, pass_env: [FOO_TOKEN, NOT_THERE]}"),
                               env={"FOO_TOKEN": "wanted"})
        self.assertEqual((env["CI"], env["FOO_TOKEN"]), ("1", "wanted"))
        self.assertNotIn("NOT_THERE", env)

    def test_the_objective_is_a_file_and_templates_are_filled(self):
        text = mission_text("{run: 'cp \"$PADDOCK_OBJECTIVE_FILE\" f; echo {{candidate}} {{run}} {{matrix.agent}} $PADDOCK_MATRIX_AGENT >> f'}",
                            "objective: |\n  Make it so.", "matrix: {agent: [ann, bob]}")
        doc = self.mission("--run-id", "r1", "--check", "true", self.file("m.yaml", text))
        self.assertEqual([c["matrix"] for c in doc["candidates"]], [{"agent": "ann"}, {"agent": "bob"}])
        patch = self.paddock("diff", "r1/c2").out.decode()
        self.assertIn("+Make it so.", patch)
        self.assertIn("+2 r1 bob bob", patch)

    def test_an_unknown_template_is_an_error(self):
        result = self.paddock("mission", "run", self.file("m.yaml", mission_text("{run: 'echo {{wat}}'}")), code=2)
        self.assertIn(b"wat", result.err)

    def test_a_matrix_multiplies_candidates(self):
        text = mission_text("{run: 'echo {{matrix.a}}{{matrix.b}}{{candidate}} > f'}", "matrix: {a: [x, y], b: [1, 2]}", "candidates: 2")
        doc = self.mission("--check", "true", self.file("m.yaml", text))
        self.assertEqual(len(doc["candidates"]), 8)
        self.assertEqual([c["matrix"] for c in doc["candidates"]][0], {"a": "x", "b": "1"})
        self.assertEqual(len({c["tree"] for c in doc["candidates"]}), 8)

    def test_stdin_is_closed(self):
        doc = self.mission("--cmd", "cat; echo ok > f", "--check", "cat; grep -q ok f")
        self.assertEqual(doc["verdict"], "pass")

    # ---- timeouts and processes

    def test_nothing_outlives_a_timeout(self):
        for backend in t.BACKENDS:
            with self.subTest(backend):
                pids = self.dir / ("pids-" + backend)
                command = ("(setsid sh -c 'echo $$ >> \"%s\"; exec sleep 99' &); sh -c 'trap \"\" INT TERM; exec sleep 99' & echo x > f; sleep 99" % pids)
                started = time.monotonic()
                doc = self.mission("--backend", backend, "--keep", "all", "--cmd", command, "--timeout", "1s", code=3)
                self.assertLess(time.monotonic() - started, 30)
                c = doc["candidates"][0]
                self.assertTrue(c["mission"]["timed_out"])
                self.assertEqual(c["leaked_processes"], 0)
                self.assertEqual(self.processes_in(c["sandbox"]), [])

    def processes_in(self, path):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink("/proc/%s/cwd" % pid).startswith(path):
                    found.append(pid)
            except OSError:
                continue
        return found

    def test_a_grandchild_in_a_session_of_its_own_never_writes_late(self):
        doc = self.mission("--keep", "all", "--timeout", "1s", "--cmd",
                           "(setsid sh -c 'sleep 3; echo late > f' &) ; sleep 99", code=3)
        c = doc["candidates"][0]
        self.assertEqual(c["leaked_processes"], 0)
        self.assertEqual(self.processes_in(c["sandbox"]), [])
        self.assertEqual(pathlib.Path(c["sandbox"], "tree", "f").read_text(), "one\n")

    def test_a_background_process_ends_with_its_command(self):
        doc = self.mission("--keep", "all", "--cmd", "sleep 99 & setsid sleep 99 & echo two > f", "--check", "grep two f")
        c = doc["candidates"][0]
        self.assertEqual((doc["verdict"], c["leaked_processes"]), ("pass", 0))
        self.assertEqual(self.processes_in(c["sandbox"]), [])

    def test_output_is_kept_by_head_and_tail(self):
        doc = self.mission("--run-id", "r", "--cmd", "echo first; yes | head -c 60000000; echo last; echo x > f",
                           "--check", "true")
        c = doc["candidates"][0]
        self.assertGreater(c["mission"]["stdout_dropped"], 0)
        self.assertEqual(c["mission"]["stdout_bytes"], 60000000 + len("first\nlast\n"))
        logs = list((self.dir / "state").glob("*/logs/**/*"))
        files = [p for p in logs if p.is_file()]
        self.assertTrue(files)
        self.assertEqual({oct(p.stat().st_mode & 0o777) for p in files}, {"0o600"})
        self.assertLess(sum(p.stat().st_size for p in files), 20 << 20)
        text = self.paddock("logs", "r/c1", "mission").out
        self.assertIn(b"first\n", text[:200])
        self.assertIn(b"\nlast\n", text[-200:])

    def test_endless_output_costs_neither_disk_nor_memory(self):
        highest, agents = 0, set()
        process = self.start("--json", "mission", "run", "--cmd", "yes", "--timeout", "2s")
        pidfd = os.pidfd_open(process.pid)
        self.addCleanup(os.close, pidfd)
        while not t.readable(pidfd, 0.02):
            for pid in self.agents_below(process.pid):
                agents.add(pid)
                highest = max(highest, self.high_water(pid))
        out, err = process.communicate()
        self.assertEqual(process.returncode, 3, err)
        self.assertTrue(agents)
        if os.environ.get("PDK_SANITIZED") != "1":
            self.assertLess(highest, 8192, "KiB of an agent")
        size = sum(p.stat().st_size for p in (self.dir / "state").glob("*/logs/**/*") if p.is_file())
        self.assertLess(size, 20 << 20)
        self.assertGreater(json.loads(out)["candidates"][0]["mission"]["stdout_dropped"], 0)

    @staticmethod
    def high_water(pid):
        try:
            return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/%d/status" % pid).read_text()).group(1))
        except (OSError, AttributeError):
            return 0

    @staticmethod
    def agents_below(parent):
        """Processes of the agent's program among all descendants."""
        children, found, todo = {}, [], [parent]
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                stat = pathlib.Path("/proc/%s/stat" % pid).read_text()
            except OSError:
                continue
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(pid))
        while todo:
            for pid in children.get(todo.pop(), []):
                todo.append(pid)
                try:
                    if os.path.basename(os.readlink("/proc/%d/exe" % pid)) == "paddock-agent":
                        found.append(pid)
                except OSError:
                    continue
        return found

    # ---- retries, setup, keep

    def test_a_failing_command_is_not_tried_again(self):
        log = self.dir / "log"
        text = mission_text("{run: 'echo x >> \"%s\"; echo > f; exit 1', retries: 3}" % log)
        doc = self.mission("--check", "false", self.file("m.yaml", text), code=1)
        self.assertEqual(len(log.read_text().split()), 1)
        self.assertEqual(doc["candidates"][0]["attempts"], 1)

    def test_an_infrastructure_ending_is_tried_again_in_a_new_sandbox(self):
        log = self.dir / "log"
        command = 'echo "$PADDOCK_SANDBOX" >> "%s"; [ "${PADDOCK_ATTEMPT##*.}" = a2 ] || rm -rf "$PADDOCK_SANDBOX"; echo two > f' % log
        text = mission_text("{run: %s, retries: 2}" % json.dumps(command))
        doc = self.mission("--check", "grep -q two f", self.file("m.yaml", text))
        self.assertEqual((doc["verdict"], doc["candidates"][0]["attempts"]), ("pass", 2))
        self.assertEqual(len(set(self.lines("log"))), 2)

    def test_what_setup_writes_is_baseline(self):
        for backend in t.BACKENDS:
            doc = self.mission("--backend", backend, "--setup", "echo s > setup-made", "--cmd", "test -e setup-made && echo two > f", "--check", "grep two f")
            self.assertEqual(doc["candidates"][0]["files_changed"], 1)

    def test_a_setup_that_fails_is_an_abstain(self):
        doc = self.mission("--setup", "exit 4", "--cmd", "echo two > f", "--check", "true", code=3)
        self.assertEqual(doc["candidates"][0]["reason"], "setup_failed")

    def test_keep_leaves_whom_it_names(self):
        wanted = {"all": {"c1", "c2", "c3"}, "winner": {"c2"}, "failed": {"c1", "c3"}, "none": set()}
        for backend in t.BACKENDS:
            for keep, names in wanted.items():
                with self.subTest((backend, keep)):
                    run = "%s-%s" % (backend, keep)
                    doc = self.mission("--backend", backend, "--keep", keep, "--run-id", run, "--cmd", "echo $PADDOCK_CANDIDATE > f",
                                       "--check", "grep 2 f", "-n", "3", "-j", "3")
                    left = {c["id"] for c in doc["candidates"] if pathlib.Path(c["sandbox"]).exists()}
                    self.assertEqual(left, names)
                    self.assertEqual(len([n for n in self.sandboxes_on_disk() if n.startswith(run + ".")]), len(names))

    def test_keep_of_the_file_holds(self):
        doc = self.mission("--check", "true", self.file("m.yaml", mission_text("{run: 'echo two > f'}", "keep: all")))
        self.assertTrue(pathlib.Path(doc["candidates"][0]["sandbox"]).exists())

    def test_a_run_id_is_used_once(self):
        self.mission("--run-id", "mine", "--cmd", "echo > f", "--check", "true")
        self.paddock("mission", "run", "--run-id", "mine", "--cmd", "echo > f", code=5)

    # ---- signals

    def interrupted(self, signals, command="sleep 99", n=2):
        ready = t.Signs(self, self.dir / "ready")
        process = self.start("mission", "run", "--run-id", "cut", "-n", str(n), "-j", str(n), "--check", "true", "--cmd",
                             "echo two > f; echo > '%s'; %s" % (ready.path, command))
        ready.wait(n)
        for signum in signals:
            process.send_signal(signum)
        process.communicate(timeout=60)
        return process.returncode

    def check_ended(self, n=2):
        doc = self.paddock("--json", "show", "cut").json
        self.assertEqual((doc["state"], doc["verdict"], doc["canceled"]), ("ended", "abstain", True))
        self.assertEqual([c["reason"] for c in doc["candidates"]], ["canceled"] * n)
        self.assertEqual([c["state"] for c in doc["candidates"]], ["released"] * n)
        self.assertEqual(self.sandboxes_on_disk(), [])
        return doc

    def test_an_interrupt_records_everything(self):
        before = self.repo.snapshot()
        self.assertEqual(self.interrupted([signal.SIGINT]), 130)
        doc = self.check_ended()
        self.assertEqual([c["leaked_processes"] for c in doc["candidates"]], [0, 0])
        self.assertTrue(all(c["changed"] for c in doc["candidates"]), "captured on every ending")
        self.assertEqual(self.repo.snapshot(), before)

    def test_a_termination_is_no_success(self):
        self.assertEqual(self.interrupted([signal.SIGTERM]), 143)
        self.check_ended()

    def test_a_second_interrupt_ends_at_once(self):
        signs = t.Signs(self, self.dir / "signs")
        process = self.start("mission", "run", "--run-id", "cut", "-n", "2", "-j", "2", "--events", "--cmd",
                             "trap \"echo > '%s'\" INT; trap '' TERM; echo two > f; echo > '%s'; while :; do sleep 1; done"
                             % (signs.path, signs.path))
        signs.wait(2)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        signs.wait(2)  # it was taken: two signals of one kind at once are one
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertLess(time.monotonic() - started, 30)
        self.assertEqual(self.processes_in(str(self.dir / "state")), [])

    def test_cancel_from_elsewhere_is_an_interrupt(self):
        ready = t.Signs(self, self.dir / "ready")
        process = self.start("mission", "run", "--run-id", "cut", "-n", "2", "-j", "1", "--check", "true",
                             "--cmd", "echo two > f; echo > '%s'; sleep 99" % ready.path)
        ready.wait()
        doc = self.paddock("--json", "mission", "cancel", "cu").json
        self.assertEqual((doc["run"], doc["canceled"]), ("cut", True))
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.check_ended()
        again = self.paddock("mission", "cancel", "cut", code=5)
        self.assertIn(b"has ended already", again.err)

    def test_cancel_signals_nobody_elses_process(self):
        """A run cut off by a kill has no driver; its number may be anybody's by now."""
        ready = t.Signs(self, self.dir / "ready")
        process = self.start("mission", "run", "--run-id", "cut", "--cmd", "echo > '%s'; sleep 99" % ready.path)
        ready.wait()
        process.kill()
        process.communicate(timeout=60)
        done = self.paddock("mission", "cancel", "cut", code=2)
        self.assertIn(b"no process that drives it", done.err)

    # ---- listings

    def test_two_runs_at_once_keep_both(self):
        processes = [self.start("mission", "run", "--run-id", "p%d" % i, "--cmd", "echo %d > f" % i, "--check", "true", "-n", "2") for i in range(4)]
        for process in processes:
            out, err = process.communicate()
            self.assertEqual(process.returncode, 0, (out, err))
        items = self.paddock("--json", "runs").json["items"]
        self.assertEqual(sorted(i["run"] for i in items), ["p0", "p1", "p2", "p3"])
        self.assertEqual({i["verdict"] for i in items}, {"pass"})

    def test_events_are_json_lines_in_order(self):
        result = self.paddock("mission", "run", "--events", "--run-id", "e", "--cmd", "echo two > f", "--check", "true")
        live = [json.loads(line) for line in result.out.splitlines()]
        stored = [json.loads(line) for line in self.paddock("events", "e").out.splitlines()]
        self.assertEqual([e["type"] for e in live], [e["type"] for e in stored])
        self.assertEqual([e["seq"] for e in stored], sorted(e["seq"] for e in stored))
        self.assertEqual((stored[0]["type"], stored[-1]["type"]), ("run.planned", "run.ended"))


if __name__ == "__main__":
    t.main()
