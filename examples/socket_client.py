#!/usr/bin/env python3
"""Talks to a running agent over its Unix socket.

    socket_client.py list                 lists all posts (sources) with their files
    socket_client.py submit DIRECTORY     submits a draft or later changes, and follows the post to its final state
    socket_client.py follow               prints every event, over restarts of the agent, until Ctrl-C

The socket is $OUTBOX_SOCKET, else ~/.local/state/outbox/control.sock. docs/http.md describes the interface.
"""

import http.client
import json
import os
import socket
import sys
import time
import urllib.parse

SOCKET = os.environ.get("OUTBOX_SOCKET") or os.path.expanduser("~/.local/state/outbox/control.sock")
FINAL = {"done", "failed", "cancelled", "rejected"}


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Refused(Exception):
    """The agent refused the request."""


class Agent:
    def __init__(self, path=SOCKET):
        self.path = path

    def ask(self, method, target):
        connection = Connection(self.path, timeout=30)
        try:
            connection.request(method, target)
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status >= 400:
            raise Refused(answer["error"]["message"])
        return answer

    def sources(self):
        return self.ask("GET", "/v1/sources")["sources"]

    def source(self, identifier):
        return self.ask("GET", f"/v1/sources/{urllib.parse.quote(identifier, safe='')}")

    def act(self, identifier, action):
        """Performs submit, pause, resume, cancel, retry or first on a post."""
        return self.ask("POST", f"/v1/sources/{urllib.parse.quote(identifier, safe='')}/{action}")

    def events(self):
        """Yields (type, data) for ever. The first is ("open", None), which also follows each reconnection.

        After a reconnection the agent sends the outcomes since, or `reset` if it no longer has them all. Read the lists
        again for all else.
        """
        last = None
        was_open = False
        while True:
            connection = Connection(self.path, timeout=60)  # the agent sends a keep-alive every 15 s
            try:
                connection.request("GET", "/v1/events", headers={"Last-Event-ID": last} if last else {})
                response = connection.getresponse()
                if response.status != 200:
                    raise Refused(f"/v1/events: {response.status}")
                was_open = True
                yield "open", None
                for kind, identifier, data in self._parsed(response):
                    last = identifier or last
                    yield kind, data
            except (OSError, http.client.HTTPException):
                if not was_open:
                    raise
                # The agent stopped; it may come back.
            finally:
                connection.close()
            time.sleep(1)

    @staticmethod
    def _parsed(lines):
        kind, identifier, data = "message", None, []
        for line in lines:
            name, _, value = line.decode("utf-8").rstrip("\r\n").partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                kind = value
            elif name == "id":
                identifier = value
            elif name == "data":
                data.append(value)
            elif not name and not value:
                if data:
                    yield kind, identifier, json.loads("\n".join(data))
                kind, identifier, data = "message", None, []


def line(entry):
    text = f"{entry['state']:<10} {int(100 * entry['progress']):3d} %  {entry['path']}"
    if entry.get("url"):
        text += f"  {entry['url']}"
    if entry.get("error"):
        text += f"  {entry['error']['message']} ({entry['error']['code']})"
    return text


def show(text):
    print(text.encode("utf-8", "backslashreplace").decode("utf-8"), flush=True)


def list_sources(agent):
    for source in agent.sources():
        show(f"{line(source)}  “{source['title']}”, revision {source['revision']}")
        for file in source["files"]:
            show(f"    {line(file)}")
        for name in source["skipped"]:
            show(f"    left out    {name}")
        for name in source["pending_changes"]:
            show(f"    not sent yet  {name}")
    return 0


def submit(agent, directory):
    """Submits a post and follows it. Opens the stream before the first request, so that no change is missed."""
    identifier = None
    for kind, data in agent.events():
        if kind in ("open", "reset"):
            if identifier is None:
                identifier = next((s["id"] for s in agent.sources() if s["path"] == directory), None)
                if identifier is None:
                    raise Refused(f"there is no source {directory} (as a path from the outbox)")
                agent.act(identifier, "submit")
            data = agent.source(identifier)
        elif kind != "source" or data["id"] != identifier:
            continue
        show(line(data))
        if data["state"] in FINAL:
            return 0 if data["state"] == "done" else 1
    return 1


def follow(agent):
    for kind, data in agent.events():
        if kind in ("source", "state", "progress"):
            show(f"{kind:<8} {line(data)}")
        else:
            show(f"{kind:<8} {json.dumps(data, ensure_ascii=False)}")
    return 0


def main(arguments):
    agent = Agent()
    match arguments:
        case ["list"]:
            return list_sources(agent)
        case ["submit", directory]:
            return submit(agent, directory.strip("/"))
        case ["follow"]:
            return follow(agent)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Refused as refusal:
        sys.exit(f"outbox: {refusal}")
    except OSError as error:
        sys.exit(f"{SOCKET}: {error}; does the agent run?")
    except KeyboardInterrupt:
        sys.exit(130)
