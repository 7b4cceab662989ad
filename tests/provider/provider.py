#!/usr/bin/env python3
"""A provider of docs/protocol.md, written from that document alone with nothing but the standard library.

provider.py --root DIR [--break KIND]: with a KIND it does one thing wrong, for the conformance kit to find.
"""

import base64
import ctypes
import fnmatch
import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time

FRAME_MAX = 1 << 20
READ_MAX = 512 << 10
NAMES = ["bad_frame", "bad_params", "unknown_method", "not_built", "busy", "not_found", "outside", "too_large",
         "not_a_file", "denied", "canceled", "io"]
VERBS = ["descriptor", "read", "read_many", "write", "remove", "stat_many", "glob", "grep", "fingerprint", "exec", "spawn",
         "proc_read", "proc_stdin", "proc_stop", "push_tree", "pull_tree"]


class Refused(Exception):
    """An error answer."""


def put_bytes(out, key, data):
    try:
        out[key] = data.decode()
    except UnicodeDecodeError:
        out[key] = data.decode(errors="replace")
        if BREAK != "text":
            out[key + "_base64"] = base64.b64encode(data).decode()
    return out


def take_bytes(params, key):
    if key + "_base64" in params:
        return base64.b64decode(params[key + "_base64"], validate=True)
    value = params.get(key)
    if not isinstance(value, str):
        raise Refused("bad_params")
    return value.encode()


def take_word(item, key):
    return take_bytes({key: item} if isinstance(item, str) else item if isinstance(item, dict) else {}, key)


def amount(params, key, default, least=0, most=1 << 60):
    value = params.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Refused("bad_params")
    return value


def lines(data):
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def descendants():
    """Living processes below this one."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="latin-1") as f:
                    fields = f.read().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] not in "ZX":
                parents[int(name)] = int(fields[1])
    found, more = set(), True
    while more:
        new = {pid for pid, parent in parents.items() if parent in found | {os.getpid()}} - found
        found |= new
        more = bool(new)
    return found


class Provider:
    def __init__(self, root):
        self.root = os.path.realpath(os.fsencode(root))
        self.lock = threading.Lock()
        self.ready = False
        self.heartbeat, self.lease = 5.0, 0.0
        self.said = self.heard = time.monotonic()
        self.running, self.canceled = None, False
        self.ending = False

    # ---- frames

    def say(self, frame):
        with self.lock:
            self.said = time.monotonic()
            sys.stdout.buffer.write(json.dumps(dict(frame, jsonrpc="2.0")).encode() + b"\n")
            sys.stdout.buffer.flush()

    def answer(self, call, result):
        self.say({"id": call, "result": result})
        if BREAK == "twice":
            self.say({"id": call, "result": result})

    def refuse(self, call, name):
        self.say({"id": call, "error": {"code": -32000 - NAMES.index(name), "message": name, "data": {"code": name}}})

    def watch(self):
        while True:
            time.sleep(0.02)
            now = time.monotonic()
            if self.ready and now - self.said >= self.heartbeat and BREAK != "silent":
                self.say({"method": "ping"})
            if self.lease and now - self.heard > self.lease and BREAK != "lease":
                self.end()

    def end(self):
        self.ending = True
        self.sweep()
        os._exit(0)

    def sweep(self):
        swept = 0
        while True:
            left = descendants()
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            swept = max(swept, len(left))
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return swept

    def serve(self):
        pending, dropping = b"", False
        while True:
            data = os.read(0, 65536)
            self.heard = time.monotonic()
            if not data:
                if BREAK == "stays":
                    time.sleep(10000)
                self.end()
            *whole, rest = (pending + data).split(b"\n")
            for line in whole:
                if not dropping:
                    self.take(line)
                dropping = False
            pending = b"" if dropping else rest
            if len(pending) > FRAME_MAX:
                self.refuse(None, "bad_frame")
                pending, dropping = b"", True

    @staticmethod
    def parse(line):
        def pairs(items):
            if len(dict(items)) < len(items):
                raise ValueError("a key twice")
            return dict(items)
        frame = json.loads(line.decode(), object_pairs_hook=pairs)
        if not isinstance(frame, dict) or frame.get("jsonrpc") != "2.0" or not isinstance(frame.get("method"), str):
            raise ValueError("no frame")
        call = frame.get("id", 1)
        if not isinstance(call, int) or isinstance(call, bool) or call < 1:
            raise ValueError("no id")
        return frame

    def take(self, line):
        line = line.removesuffix(b"\r")
        if not line:
            return
        try:
            frame = self.parse(line)
        except ValueError:
            if BREAK == "dies":
                os._exit(1)
            self.refuse(None, "bad_frame")
            return
        params = frame.get("params") or {}
        if "id" in frame:
            self.request(frame["id"], frame["method"], params)
        elif frame["method"] == "shutdown":
            self.end()
        elif frame["method"] == "cancel" and params.get("call") == self.running and BREAK != "cancel":
            self.canceled = True

    def request(self, call, method, params):
        try:
            if method == "initialize":
                self.answer(call, self.initialize(params))
            elif not self.ready and BREAK != "order":
                raise Refused("bad_frame")
            elif method not in VERBS:
                raise Refused("unknown_method")
            elif not hasattr(self, "do_" + method):
                raise Refused("not_built")
            else:
                result = getattr(self, "do_" + method)(params, call)
                if result is not None:
                    self.answer(call, result)
        except Refused as why:
            self.refuse(call, str(why))
        except FileNotFoundError:
            self.refuse(call, "not_found")
        except PermissionError:
            self.refuse(call, "denied")
        except (OSError, ValueError):
            self.refuse(call, "io")

    def initialize(self, params):
        if self.ready:
            raise Refused("bad_frame")
        if params.get("protocol") != 1 and BREAK != "version":
            raise Refused("bad_params")
        self.lease = amount(params, "lease_ms", 0) / 1000
        self.heartbeat = amount(params, "heartbeat_ms", 5000, 1) / 1000
        self.ready = True
        return self.do_descriptor(params, 0)

    # ---- verbs about files

    def do_descriptor(self, _params, _call):
        verbs = [v for v in VERBS if hasattr(self, "do_" + v)]
        return put_bytes({"agent": "provider.py", "protocol": 1, "verbs": verbs, "containment": "subreaper",
                          "location": "local", "pid": os.getpid(), "boot_id": ""}, "root", self.root)

    def path(self, name):
        """Where a name leads, links followed up to the last part."""
        if not name or b"\0" in name:
            raise Refused("bad_params")
        joined = os.path.join(self.root, name)
        parent, last = os.path.split(joined.rstrip(b"/") or b"/")
        whole = os.path.realpath(joined) if last in (b".", b"..", b"") else os.path.join(os.path.realpath(parent), last)
        if BREAK != "outside" and whole != self.root and not whole.startswith(self.root + b"/"):
            raise Refused("outside")
        return whole

    def window(self, name, params):
        offset, length = amount(params, "offset", 0), amount(params, "length", READ_MAX)
        first, count = amount(params, "line_from", 0), amount(params, "line_count", 0)
        path = self.path(name)
        real = os.path.realpath(path)
        if BREAK != "outside" and real != self.root and not real.startswith(self.root + b"/"):
            raise Refused("outside")
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise Refused("not_a_file")
        with open(path, "rb") as f:
            data = f.read()
        if first:
            parts = data.splitlines(keepends=True)
            offset = sum(map(len, parts[:first - 1]))
            length = sum(map(len, parts[first - 1:first - 1 + count if count else None]))
        part = data[offset:offset + min(length or READ_MAX, READ_MAX // 4)]
        return put_bytes({"offset": offset, "length": len(part), "size": len(data), "eof": offset + len(part) >= len(data)},
                         "data", part)

    def do_read(self, params, _call):
        return self.window(take_bytes(params, "path"), params)

    def do_read_many(self, params, _call):
        if not isinstance(params.get("paths"), list) or len(params["paths"]) > 4096:
            raise Refused("bad_params")
        items = []
        for item in params["paths"]:
            try:
                items.append(self.window(take_word(item, "path"), item if isinstance(item, dict) else {}))
            except Refused as why:
                items.append({"error": str(why)})
            except FileNotFoundError:
                items.append({"error": "not_found"})
        return {"items": items}

    def do_write(self, params, _call):
        path, data = self.path(take_bytes(params, "path")), take_bytes(params, "data")
        before, mode = None, 0o644
        if os.path.lexists(path):
            status = os.lstat(path)
            if not stat.S_ISREG(status.st_mode):
                raise Refused("not_a_file")
            mode = stat.S_IMODE(status.st_mode)
            with open(path, "rb") as f:
                before = f.read()
        scratch = path + b".new"
        with open(scratch, "wb") as f:
            f.write(data)
        os.chmod(scratch, amount(params, "mode", mode))
        os.rename(scratch, path)
        digest = hashlib.sha256(data + (b"?" if BREAK == "digest" else b"")).hexdigest()
        return {"existed_before": before is not None, "bytes_written": len(data),
                "line_delta": lines(data) - lines(before or b""), "digest": digest}

    def do_remove(self, params, _call):
        name = take_bytes(params, "path")
        if os.path.basename(name) in (b"", b".", b".."):
            raise Refused("bad_params")
        path = self.path(name)
        if not os.path.lexists(path):
            return {"existed_before": False}
        kind = self.kind(os.lstat(path).st_mode)
        if kind == "directory":
            if os.listdir(path) and not params.get("recursive"):
                raise Refused("not_a_file")
            subprocess.run([b"rm", b"-rf", b"--", path], check=True, stdin=subprocess.DEVNULL)
        else:
            os.unlink(path)
        return {"existed_before": True, "type": kind}

    @staticmethod
    def kind(mode):
        for test, name in ((stat.S_ISREG, "file"), (stat.S_ISDIR, "directory"), (stat.S_ISLNK, "symlink")):
            if test(mode):
                return name
        return "other"

    def do_stat_many(self, params, _call):
        if not isinstance(params.get("paths"), list) or len(params["paths"]) > 4096:
            raise Refused("bad_params")
        items = []
        for item in params["paths"]:
            try:
                s = os.lstat(self.path(take_word(item, "path")))
                items.append({"type": self.kind(s.st_mode), "mode": stat.S_IMODE(s.st_mode), "size": s.st_size,
                              "mtime_ns": s.st_mtime_ns})
            except (FileNotFoundError, NotADirectoryError):
                items.append(None)
            except Refused as why:
                items.append({"error": str(why)})
        return {"items": items}

    def walk(self):
        for top, folders, names in os.walk(self.root):
            folders[:] = sorted(f for f in folders if f != b".git")
            for name in names:
                path = os.path.join(top, name)
                yield os.path.relpath(path, self.root), path

    def do_glob(self, params, _call):
        patterns, limit = params.get("patterns"), amount(params, "limit", 10000, 1, 100000)
        if not isinstance(patterns, list) or not patterns:
            raise Refused("bad_params")
        found = sorted(name for name, _ in self.walk()
                       if any(fnmatch.fnmatchcase(os.fsdecode(name), p) for p in patterns))
        paths = [put_bytes({}, "path", name) for name in found[:limit]]
        return {"paths": [p["path"] if len(p) == 1 else p for p in paths],
                "truncated": len(found) > limit and BREAK != "truncated"}

    def do_grep(self, params, _call):
        limit, context = amount(params, "limit", 1000, 1, 20000), amount(params, "context", 0, 0, 20)
        try:
            pattern = re.compile(take_bytes(params, "pattern"))
        except re.error:
            raise Refused("bad_params") from None
        items, files = [], 0
        for name, path in sorted(self.walk()):
            globs = params.get("paths")
            if not os.path.isfile(path) or globs and not any(fnmatch.fnmatchcase(os.fsdecode(name), g) for g in globs):
                continue
            with open(path, "rb") as f:
                text = f.read().split(b"\n")
            files += 1
            for i, line in enumerate(text):
                match = pattern.search(line)
                if match:
                    item = put_bytes(put_bytes({"line": i + 1, "column": match.start() + 1}, "path", name), "text", line)
                    if context:
                        item["before"] = [put_bytes({}, "text", x) for x in text[max(0, i - context):i]]
                        item["after"] = [put_bytes({}, "text", x) for x in text[i + 1:i + 1 + context]]
                    items.append(item)
        more = {"truncated": True, "truncated_by": "limit"} if len(items) > limit else {"truncated": False}
        return dict(more, items=items[:limit], files=files, binary=0, too_large=0, failed=0)

    def do_fingerprint(self, _params, _call):
        digest, entries = hashlib.sha256(), 0
        for name, path in sorted(self.walk()):
            s = os.lstat(path)
            digest.update(repr((name, s.st_mode, s.st_size, s.st_mtime_ns, s.st_ino)).encode())
            entries += 1
        return {"fingerprint": digest.hexdigest(), "entries": entries}

    # ---- commands

    def do_exec(self, params, call):
        argv, env, nonce = params.get("argv"), params.get("env"), params.get("nonce")
        if not isinstance(argv, list) or not argv or not isinstance(env, list) or not isinstance(nonce, str) or \
                not 1 <= len(nonce.encode()) <= 64:
            raise Refused("bad_params")
        if self.running:
            raise Refused("busy")
        self.running, self.canceled = call, False
        threading.Thread(target=self.run, args=(params, call), daemon=True).start()

    def run(self, params, call):
        result = {"nonce": params["nonce"], "start": "started", "start_errno": 0, "exit_code": -1, "signal": 0,
                  "timed_out": False, "canceled": False, "oom": False, "root_gone": False, "stragglers": 0, "leaked": 0,
                  "duration_ms": 0, "cpu_ms": 0, "max_rss_kb": 0, "out_bytes": 0, "err_bytes": 0, "out_dropped": 0,
                  "err_dropped": 0, "spool_failed": False}
        if BREAK == "nonce":
            result["nonce"] = "another"
        env = dict(word.split("=", 1) for word in params["env"])
        if BREAK == "env":
            env = dict(os.environ, **env)
        late = []
        try:
            cwd = self.path(take_bytes(params, "cwd")) if "cwd" in params else self.root
            if not os.path.isdir(cwd):
                result["start"] = "no_cwd"
            else:
                child = subprocess.Popen(params["argv"], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, start_new_session=True)
                self.follow(child, params, call, result, late)
        except Refused:
            result["start"] = "no_cwd"
        except OSError as why:
            result["start"], result["start_errno"] = "no_command", why.errno
        self.running = None
        self.answer(call, result)
        for frame in late:
            self.say(frame)

    def forward(self, pipe, stream, params, call, result, late):
        while data := os.read(pipe.fileno(), 32768):
            result[stream[3:] + "_bytes"] += len(data)
            if params.get("stream", "none") != "none":
                frame = {"method": "exec.output", "params": put_bytes({"call": call, "stream": stream}, "data", data)}
                if BREAK == "late":
                    late.append(frame)
                else:
                    self.say(frame)

    def follow(self, child, params, call, result, late):
        readers = [threading.Thread(target=self.forward, args=(pipe, stream, params, call, result, late), daemon=True)
                   for pipe, stream in ((child.stdout, "stdout"), (child.stderr, "stderr"))]
        for reader in readers:
            reader.start()
        limit = params.get("timeout_ms", 0)
        deadline = time.monotonic() + limit / 1000 if limit else None
        while (code := child.poll()) is None:
            result["canceled"] = self.canceled
            result["timed_out"] = bool(deadline and time.monotonic() > deadline)
            if self.canceled or result["timed_out"]:
                child.kill()
                child.wait()
            time.sleep(0.01)
        if BREAK != "leaves":
            result["stragglers"] = self.sweep()
        for reader in readers:
            reader.join()
        for pipe in (child.stdout, child.stderr):
            pipe.close()
        result["exit_code"], result["signal"] = (code, 0) if code >= 0 else (-1, -code)
        if BREAK == "lies":
            result["exit_code"], result["signal"] = 0, 0


def main():
    words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come back to us
    provider = Provider(words["--root"])
    if words.get("--break") == "frame":
        print("starting up", flush=True)
    threading.Thread(target=provider.watch, daemon=True).start()
    provider.serve()


BREAK = dict(zip(sys.argv[1::2], sys.argv[2::2])).get("--break")
main()
