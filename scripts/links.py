#!/usr/bin/env python3
"""Checks the links and paths in the documents, and the documents that comments name: each must exist, with its heading."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = [
    file for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "packaging/**/*.md") for file in ROOT.glob(pattern)
]
ROOMS = {room.name: room for pattern in ("Sources/*/*", "Tests/*/*", "Sources/System/C/*") for room in ROOT.glob(pattern)}
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([\w.+-]+(?:/[\w.+-]+)+/?)`")
COMMENT = re.compile(r"(?<![\w/.])docs/[\w/-]+\.md(?:#[\w-]+)?")


def anchors(file):
    """Returns the anchors that GitHub gives to the headings of a document."""
    found = set()
    for heading in re.findall(r"^#+ +(.+)$", FENCE.sub("", file.read_text()), re.MULTILINE):
        text = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).strip().replace(" ", "-")
        number = 0
        while text + (f"-{number}" if number else "") in found:
            number += 1
        found.add(text + (f"-{number}" if number else ""))
    return found


def fault(target, base):
    """Returns what is wrong with a link; None if nothing is."""
    path, _, anchor = target.partition("#")
    file = (base / path).resolve() if path else base
    if not file.exists():
        return "does not exist"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return "has no such heading"
    return None


def is_missing(path):
    """Whether a path in the repository, or one that begins with a room's name, leads nowhere."""
    first, _, rest = path.rstrip("/").partition("/")
    if first in ("Sources", "Tests", "docs", "scripts", "examples", "packaging", ".ci"):
        base = ROOT / first
    elif first in ROOMS:
        base = ROOMS[first]
    else:
        return False
    return not (base / rest).exists() and not list((base / rest).parent.glob((base / rest).name + ".swift"))


def main():
    faults = []
    for file in DOCUMENTS:
        text = FENCE.sub("", file.read_text())
        name = file.relative_to(ROOT)
        for target in LINK.findall(text):
            if re.match(r"[a-z]+:", target):
                continue
            wrong = fault(target, file if target.startswith("#") else file.parent)
            if wrong:
                faults.append(f"{name}: {target} {wrong}")
        faults += [f"{name}: `{path}` does not exist" for path in CODE.findall(text) if is_missing(path)]
    for folder in ("Sources", "Tests", "scripts", "packaging", "examples"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix not in (".swift", ".h", ".py", ".sh", ".js", ".toml", ".service"):
                continue
            for target in set(COMMENT.findall(file.read_text())):
                wrong = fault(target, ROOT)
                if wrong:
                    faults.append(f"{file.relative_to(ROOT)}: {target} {wrong}")
    for line in faults:
        print(line, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
