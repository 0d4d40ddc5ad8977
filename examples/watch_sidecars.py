#!/usr/bin/env python3
"""Prints a line whenever a file below an outbox changes its state.

    watch_sidecars.py OUTBOX [SECONDS BETWEEN LOOKS]

The agent replaces sidecars atomically, so this program never reads half of one.
"""

import json
import os
import sys
import time

SUFFIX = ".outbox.json"
FINAL = {"done", "failed", "cancelled", "rejected"}


def sidecars(outbox):
    for folder, _, names in os.walk(outbox):
        for name in names:
            if name.endswith(SUFFIX):
                yield os.path.join(folder, name)


def read(path):
    """Returns the sidecar's content, or None if the file is gone or is no sidecar."""
    try:
        with open(path, encoding="utf-8") as file:
            entry = json.load(file)
    except (OSError, ValueError):
        return None
    return entry if isinstance(entry, dict) and entry.get("version") == 1 and "state" in entry else None


def line(entry):
    text = f"{entry['state']:<10} {entry['path']}"
    if entry["state"] == "uploading":
        text += f"  {100 * entry['progress']:.0f} %"
    # A post has its own URL, a file that of its content.
    url = entry["url"] if "revision" in entry else entry["remote"]["url"]
    if entry["state"] == "done" and url:
        text += f"  {url}"
    if entry.get("error"):
        text += f"  {entry['error']['message']} ({entry['error']['code']})"
    return text


def main():
    if len(sys.argv) not in (2, 3) or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    pause = float(sys.argv[2]) if len(sys.argv) == 3 else 0.5
    shown = {}
    while True:
        for path in sidecars(sys.argv[1]):
            entry = read(path)
            if entry is None:
                continue
            text = line(entry)
            if shown.get(path) != text:
                shown[path] = text
                mark = "*" if entry["state"] in FINAL else " "
                print(f"{mark} {text}".encode("utf-8", "backslashreplace").decode("utf-8"), flush=True)
        time.sleep(pause)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
