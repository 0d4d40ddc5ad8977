#!/usr/bin/env python3
"""Checks that a change of Swift sources changes only comments.

usage: scripts/same-code.py [REVISION]

Compares each changed Swift file with its version in REVISION (default: HEAD), both without comments and blank lines. Prints
files with different code, and then exits with 1.
"""

import re
import subprocess
import sys


def code(text):
    """Returns the text without comments, trailing spaces and blank lines."""
    out, at = [], 0
    # What encloses the position: the closing delimiter of a string, or the open parentheses of an interpolation.
    nest = []

    def take(count):
        nonlocal at
        out.append(text[at : at + count])
        at += count

    while at < len(text):
        if nest and isinstance(nest[-1], str):
            closing = nest[-1]
            escape = "\\" + "#" * closing.count("#")
            if text.startswith(escape + "(", at):
                nest.append(1)
                take(len(escape) + 1)
            elif text.startswith(escape, at):
                take(len(escape) + 1)
            elif text.startswith(closing, at):
                nest.pop()
                take(len(closing))
            else:
                take(1)
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
        elif opening := re.compile('#*"').match(text, at):
            hashes = "#" * (len(opening.group()) - 1)
            line = text[opening.end() :].partition("\n")[0]
            # #"""# is a raw string of one quote: its delimiter ends on the same line.
            if line.startswith('""') and not (hashes and '"' + hashes in line[1:]):
                nest.append('"""' + hashes)
                take(len(hashes) + 3)
            else:
                nest.append('"' + hashes)
                take(len(hashes) + 1)
        else:
            if nest:
                nest[-1] += {"(": 1, ")": -1}.get(text[at], 0)
                if not nest[-1]:
                    nest.pop()
            take(1)
    return "\n".join(line.rstrip() for line in "".join(out).split("\n") if line.strip())


def check():
    """Checks `code` itself."""
    for text, expected in [
        ("a // b\n\n/* c /* d */ */ e\n", "a\n e"),
        ('"// a" // b', '"// a"'),
        ('"\\"// a" // b', '"\\"// a"'),
        ('"""\n// a " b\n""" // c', '"""\n// a " b\n"""'),
        ('#"\\"# // a', '#"\\"#'),
        ('#"a" // b"# // c', '#"a" // b"#'),
        ('#"\\#"# // a"# // b', '#"\\#"# // a"#'),
        ('#"""# // a', '#"""#'),
        ('#"""a"# // b', '#"""a"#'),
        ('#"""\na " // b\n"""# // c', '#"""\na " // b\n"""#'),
        ('##"""#"## // a', '##"""#"##'),
        ('"\\(f("// a")) // b" // c', '"\\(f("// a")) // b"'),
        ('"\\(a /* b */)" // c', '"\\(a )"'),
        ("#if A // b", "#if A"),
    ]:
        if code(text) != expected:
            raise SystemExit(f"same-code.py misreads {text!r} as {code(text)!r}")


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def main():
    revision = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    if revision in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    check()
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
