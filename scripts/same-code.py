#!/usr/bin/env python3
"""Checks that a change of Swift sources changes only comments.

usage: scripts/same-code.py [REVISION]

Compares each changed Swift file with its version in REVISION (default: HEAD), both without comments and blank lines. Prints
files with different code, and then exits with 1.
"""

import subprocess
import sys


def code(text):
    """Returns the text without comments, trailing spaces and blank lines."""
    out, at, quote = [], 0, None
    while at < len(text):
        if quote:
            opening, closing = quote
            if text.startswith("\\" + "#" * (len(closing) - len(closing.rstrip("#"))), at):
                # An escape, or the start of an interpolation: neither ends the string.
                out.append(text[at : at + 2])
                at += 2
            elif text.startswith(closing, at):
                out.append(closing)
                at, quote = at + len(closing), None
            else:
                out.append(text[at])
                at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            depth, at = 1, at + 2
            while depth and at < len(text):
                if text.startswith("/*", at):
                    depth, at = depth + 1, at + 2
                elif text.startswith("*/", at):
                    depth, at = depth - 1, at + 2
                else:
                    at += 1
        else:
            hashes = 0
            while text.startswith("#", at + hashes):
                hashes += 1
            quotes = '"""' if text.startswith('"""', at + hashes) else '"' if text.startswith('"', at + hashes) else ""
            if quotes:
                opening = "#" * hashes + quotes
                out.append(opening)
                at, quote = at + len(opening), (opening, quotes + "#" * hashes)
            else:
                out.append(text[at])
                at += 1
    return "\n".join(line.rstrip() for line in "".join(out).split("\n") if line.strip())


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def main():
    revision = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    if revision in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    root = git("rev-parse", "--show-toplevel").strip()
    changed = git("diff", "--name-only", "--no-renames", revision, "--", "*.swift").split("\n")
    others = []
    for name in filter(None, changed):
        try:
            before = git("show", f"{revision}:{name}")
            with open(f"{root}/{name}", encoding="utf-8") as file:
                after = file.read()
        except (subprocess.CalledProcessError, FileNotFoundError):
            others.append(name)
            continue
        if code(before) != code(after):
            others.append(name)
    for name in others:
        print(f"code differs: {name}")
    print(f"{len(list(filter(None, changed)))} Swift files changed, {len(others)} of them in more than comments")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
