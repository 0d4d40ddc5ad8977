#!/usr/bin/env python3
"""Starts real servers on loopback, runs a command that tries them, and ends them all.

    run.py [--only NAME,…] -- COMMAND…

The command finds the directory of the servers in OUTBOX_TEST_SERVERS:

    servers.json    a list of what is running: name, protocol, version, settings of agent.toml, environment
    control.sock    HTTP, see `perform`: GET /N/contents?size=…&md5=…, POST /N/kill and so on (N: place in the list)

A server that can't be had is skipped, with its name and the reason, also at the end. Exit status: that of the command;
3 if no server could be had; 1 if a server was installed but does not start.
"""

import argparse
import ctypes
import http.server
import json
import os
import shutil
import signal
import socketserver
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse
from pathlib import Path

sys.dont_write_bytecode = True  # in the repository
import providers  # noqa: E402

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # man 2 prctl


def tools_directory():
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("OUTBOX_SERVERS_DIR") or Path(cache) / "outbox-servers") / "tools"


def install(server, tools):
    """Installs the packages of a server, once. Throws `Unavailable`."""
    wanted = " ".join(server.requirements)
    mark = tools / f"installed-{server.name}"
    if mark.exists() and mark.read_text() == wanted:
        return
    print(f"{server.name}: pip installs {wanted} into {tools}", flush=True)
    try:
        if not (tools / "bin/pip").exists():
            subprocess.run([sys.executable, "-m", "venv", tools], check=True, capture_output=True, text=True)
        subprocess.run(
            [tools / "bin/pip", "install", "--quiet", "--retries", "2", *server.requirements], check=True,
            capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        raise providers.Unavailable(f"pip could not install {wanted} in 300 s")
    except (OSError, subprocess.CalledProcessError) as error:
        reason = (getattr(error, "stderr", "") or getattr(error, "stdout", "") or str(error)).strip()
        raise providers.Unavailable(f"pip could not install {wanted}: {reason[-400:]}")
    mark.write_text(wanted)


class Servers:
    """All processes, with their output in files."""

    def __init__(self, work):
        self.work = work
        self.processes = []

    def spawn(self, name, command, directory, environment):
        log = self.work / f"{name}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                command, cwd=directory, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True, preexec_fn=die_with_parent)
        self.processes.append(process)
        return process

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

        # Agents of a command that was ended in the middle, which became children of this program.
        for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)

    def show_logs(self):
        for log in sorted(self.work.glob("*.log")):
            lines = log.read_text(errors="replace").splitlines()[-15:]
            print(f"--- {log.name}", *(line[:300] for line in lines), sep="\n", file=sys.stderr)


def die_with_parent():
    """Ends a server when this program is killed. Holds because the main thread starts all servers."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def control(interfaces):
    """Returns the handler of the control socket."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def address_string(self):
            return "socket"

        def log_message(self, *_):
            pass

        def do_GET(self):
            self.answer("GET")

        def do_POST(self):
            self.answer("POST")

        def answer(self, method):
            try:
                target = urllib.parse.urlsplit(self.path)
                _, number, word = target.path.split("/")
                query = dict(urllib.parse.parse_qsl(target.query))
                status, result = 200, perform(method, interfaces[int(number)], word, query)
            except Exception:
                status, result = 500, traceback.format_exc()
            body = json.dumps(result).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

    return Handler


def perform(method, interface, word, query):
    match method, word:
        case "GET", "contents":
            return interface.contents(int(query["size"]), query["md5"])
        case "GET", "open":
            return interface.is_open(query["id"])
        case "GET", "keys":
            return interface.keys(query["prefix"])
        case "GET", "object":
            return interface.object(query["key"])
        case "POST", "kill":
            interface.server.kill()
            return {}
        case "POST", "restart":
            interface.server.restart()
            return {}
    raise ValueError(f"{method} {word}")


def start(chosen, tools, servers):
    """Returns the interfaces of all servers that are to be had, and the skipped servers."""
    interfaces, skipped = [], []
    for kind in chosen:
        server = kind(servers.work, tools, servers.spawn)
        try:
            server.prepare()
        except providers.Unavailable as reason:
            skipped.append(f"{kind.name}: {reason}")
            continue
        begun = time.monotonic()
        server.start()
        for interface in server.interfaces():
            print(f"{interface.name} {server.version()}: {interface.settings['remote.url']}", flush=True)
        print(f"{kind.name} started in {time.monotonic() - begun:.1f} s", flush=True)
        interfaces += server.interfaces()
    return interfaces, skipped


def attend(interfaces, work, command):
    """Runs the command, and answers its requests meanwhile. Returns its exit status."""
    (work / "servers.json").write_text(json.dumps([interface.describe() for interface in interfaces], indent=1))
    with socketserver.UnixStreamServer(str(work / "control.sock"), control(interfaces)) as listener:
        listener.timeout = 0.1
        process = subprocess.Popen(
            command, env={**os.environ, "OUTBOX_TEST_SERVERS": str(work)}, preexec_fn=die_with_parent)
        try:
            while process.poll() is None:
                listener.handle_request()
        finally:
            if process.poll() is None:
                process.kill()
        return process.wait()


def main():
    known = {kind.name: kind for kind in providers.SERVERS}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(known), help=f"some of {','.join(known)}")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.only.split(",") if name not in known]
    if unknown:
        parser.error(f"unknown server {unknown[0]}; known: {', '.join(known)}")
    chosen = [known[name] for name in arguments.only.split(",")]

    tools, skipped = tools_directory(), []
    tools.parent.mkdir(parents=True, exist_ok=True)
    if Path(sys.prefix) != tools:
        for kind in list(chosen):
            try:
                install(kind, tools)
            except providers.Unavailable as reason:
                skipped.append(f"{kind.name}: {reason}")
                chosen.remove(kind)
        if chosen:
            # botocore, which reads contents back, is importable only there.
            names = ",".join(kind.name for kind in chosen)
            os.environ["OUTBOX_SERVERS_SKIPPED"] = "\n".join(skipped)
            os.execv(
                tools / "bin/python", [tools / "bin/python", __file__, "--only", names, "--", *arguments.command])
        return report(skipped, 3)

    skipped = [line for line in os.environ.pop("OUTBOX_SERVERS_SKIPPED", "").split("\n") if line]
    work = Path(tempfile.mkdtemp(prefix="outbox-servers-"))
    servers = Servers(work)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    status = 1
    try:
        interfaces, missing = start(chosen, tools, servers)
        skipped += missing
        status = attend(interfaces, work, arguments.command) if interfaces else 3
    except KeyboardInterrupt:
        pass
    except Exception:
        traceback.print_exc()
    finally:
        if status not in (0, 3):
            servers.show_logs()
        servers.end()
        shutil.rmtree(work, ignore_errors=True)
    return report(skipped, status)


def report(skipped, status):
    for line in skipped:
        print(f"SKIPPED {line}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
