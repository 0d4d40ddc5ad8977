#!/usr/bin/env python3
"""Makes one post of several files and follows it, by files alone.

    album.py OUTBOX NAME TITLE FILE...

Exit code: 0 posted (prints the URL), 1 the post failed, 2 wrong usage.
"""

import json
import os
import shutil
import sys
import time

FINAL = {"done", "failed", "cancelled", "rejected"}


class Album:
    """A directory of an outbox that becomes one post."""

    def __init__(self, outbox, name, title, cover=None):
        self.directory = os.path.join(outbox, name)
        self.title = title
        self.cover = cover
        os.mkdir(self.directory)
        # Start with a draft: the agent sends nothing before all files are added.
        self._describe(draft=True)

    def add(self, file):
        """Copies a file in, under a name that the agent ignores until the copy is complete."""
        name = os.path.basename(file)
        part = os.path.join(self.directory, f".{name}.part")
        shutil.copy2(file, part)
        os.rename(part, os.path.join(self.directory, name))

    def submit(self):
        self._describe(draft=False)

    def entry(self):
        """Returns the sidecar's content, or None before the first sidecar. The agent replaces sidecars atomically."""
        try:
            with open(os.path.join(self.directory, "source.outbox.json"), encoding="utf-8") as file:
                entry = json.load(file)
        except (OSError, ValueError):
            return None
        return entry if isinstance(entry, dict) and entry.get("version") == 1 else None

    def follow(self, pause=0.5):
        """Yields each changed entry, the final one last."""
        last = None
        while last is None or last["state"] not in FINAL:
            entry = self.entry()
            # Before the agent has read the new source.toml, the sidecar still reports a draft.
            if entry is not None and entry != last:
                last = entry
                yield entry
            else:
                time.sleep(pause)

    def _describe(self, draft):
        # A JSON string without DEL is also a TOML string.
        lines = [f"title = {json.dumps(self.title.replace(chr(127), ''), ensure_ascii=False)}"]
        if self.cover:
            lines.append(f"cover = {json.dumps(self.cover, ensure_ascii=False)}")
        lines.append(f"draft = {'true' if draft else 'false'}")
        part = os.path.join(self.directory, ".source.toml.part")
        with open(part, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        os.rename(part, os.path.join(self.directory, "source.toml"))


def reason(entry):
    error = entry.get("error")
    return f": {error['message']} ({error['code']})" if error else ""


def tell(entry, shown):
    """Prints the lines that changed since the last call: one for the post, and one for each file."""
    lines = {"": f"{entry['state']:<10} {int(100 * entry['progress']):3d} %  {entry['title']}{reason(entry)}"}
    if entry["next_attempt_at"]:
        lines[""] += f", again at {entry['next_attempt_at']}"
    for file in entry["files"]:
        lines[file["path"]] = f"  {file['state']:<10} {int(100 * file['progress']):3d} %  {file['name']}{reason(file)}"
    for key, line in lines.items():
        if shown.get(key) != line:
            shown[key] = line
            print(line.encode("utf-8", "backslashreplace").decode("utf-8"), file=sys.stderr, flush=True)


def main():
    if len(sys.argv) < 5 or not os.path.isdir(sys.argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    outbox, name, title, *files = sys.argv[1:]
    try:
        album = Album(outbox, name, title, cover=os.path.basename(files[0]))
        for file in files:
            album.add(file)
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    album.submit()
    shown = {}
    entry = None
    for entry in album.follow():
        tell(entry, shown)
    for left_out in entry["skipped"]:
        print(f"left out: {left_out}", file=sys.stderr)
    if entry["pending_changes"]:
        # Files added or changed after the agent took the post; `outbox submit` makes them its next revision.
        print(f"not in it yet: {', '.join(entry['pending_changes'])}", file=sys.stderr)
    if entry["state"] != "done":
        return 1
    print(entry["url"] or "")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
