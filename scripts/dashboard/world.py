"""A receiver and an agent of their own, in a temporary directory."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import free_port, until

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("OUTBOX_PROGRAMS") or ROOT / ".build/debug")

# `with` statements end the programs then.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


class World:
    """Starts both programs; `settings` are lines of agent.toml by section. Use it in a `with` statement."""

    def __init__(self, settings=None, tokens=None):
        self.directory = tempfile.TemporaryDirectory(prefix="outbox-page.", ignore_cleanup_errors=True)
        self.root = Path(self.directory.name)
        self.box = self.root / "Outbox"
        self.box.mkdir()
        self.settings = {
            "upload": [], "control": [f'dashboard = "127.0.0.1:{free_port()}"'], **(settings or {})}
        self.tokens = tokens
        self.receiver = self.agent = self.url = None
        # Settings of the caller's own agent and proxy would disturb this one.
        self.environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith("OUTBOX_") and not name.lower().endswith("_proxy")}
        try:
            self.start_receiver()
            self.start_agent()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            sys.stderr.write((self.root / "agent.log").read_text(errors="replace")[-2000:])
        self.close()

    def close(self):
        self.stop_agent()
        self.stop_receiver()
        self.directory.cleanup()

    def start(self, log, program, *arguments):
        with open(self.root / log, "ab") as file:
            return subprocess.Popen(
                [PROGRAMS / program, *arguments], stdout=file, stderr=file, stdin=subprocess.DEVNULL,
                env=self.environment, cwd=self.root)

    def start_receiver(self):
        log = self.root / "receiver.log"
        listen = self.url.rpartition("/")[2] if self.url else "127.0.0.1:0"
        arguments = ["--root", self.root / "server", "--listen", listen]
        if self.tokens:
            (self.root / "tokens").write_text(self.tokens)
            arguments += ["--token-file", self.root / "tokens"]
        log.unlink(missing_ok=True)
        self.receiver = self.start("receiver.log", "outbox-receiver", *arguments)
        line = "outbox-receiver listening on "
        until("the receiver listens", lambda: line in log.read_text())
        self.url = next(text for text in log.read_text().splitlines() if line in text).partition(line)[2].split()[0]

    def stop_receiver(self):
        self.receiver = stop(self.receiver)

    def start_agent(self):
        lines = [f'outbox = "{self.box}"', 'state = "state"', 'avatars = "avatars"']
        for section, values in {"remote": [f'url = "{self.url}"'], **self.settings}.items():
            lines += [f"[{section}]", *values]
        (self.root / "agent.toml").write_text("\n".join(lines) + "\n")
        self.agent = self.start("agent.log", "outbox", "run", "--config", self.root / "agent.toml")
        file = self.root / "state/dashboard-url"
        self.address = until("the dashboard listens", lambda: file.exists() and file.read_text().strip())
        until("the agent has looked through the outbox", lambda: self.ask("GET", "/v1/health")["scanned"])

    def stop_agent(self):
        self.agent = stop(self.agent)

    def ask(self, method, path):
        connection = Socket(self.root / "state/control.sock")
        try:
            connection.request(method, path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def outbox(self, *arguments, text=None):
        """Runs a command of `outbox`, and returns its output."""
        command = [PROGRAMS / "outbox", *arguments, "--config", self.root / "agent.toml"]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, env=self.environment, cwd=self.root, timeout=60,
            check=True).stdout

    def drop(self, path, content):
        """Puts a file into the outbox, whole."""
        place = self.box / path
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f".{place.name}.part")
        part.write_bytes(content)
        part.rename(place)
        return place

    def state(self, path):
        files = self.ask("GET", "/v1/files")["files"]
        return next((file["state"] for file in files if file["path"] == path), None)


class Socket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def stop(process):
    if process and process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
