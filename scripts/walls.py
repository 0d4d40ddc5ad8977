#!/usr/bin/env python3
"""Checks the walls between the folders of Sources: Core imports nothing, System only Core, and the edges (Disk, Network,
Pictures) neither the agent nor one another. EXCEPTIONS lists what crosses a wall, and why."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "Sources"
MAY_IMPORT = {
    "Core": set(),
    "System": {"Core", "System"},
    "Disk": {"Core", "System", "Disk"},
    "Network": {"Core", "System", "Network"},
    "Pictures": {"Core", "System", "Pictures"},
    "Agent": {"Core", "System", "Disk", "Network", "Pictures", "Agent"},
    "Programs": {"Core", "System", "Disk", "Network", "Pictures", "Agent", "Programs"},
}
EXCEPTIONS = {
    ("Avatars", "Transport"): "the cache downloads pictures, also in programs without the agent",
    ("Avatars", "URLs"): "the cache compares and checks addresses",
    ("Intake", "MediaTools"): "a file is measured while it is hashed, so that its size goes with the registration",
    ("Portrait", "Intake"): "a profile picture is taken with the rules and the holding area of other files",
    ("Portrait", "Remotes"): "the portrait sends itself, beside the uploads",
}
IMPORT = re.compile(r"^(?:@\w+ )*(?:(?:public|package|internal|private) )?import (\w+)", re.MULTILINE)


def rooms():
    """Returns the folder of each room."""
    found = {}
    for folder in MAY_IMPORT:
        for room in (ROOT / folder).iterdir():
            found[room.name] = folder
    del found["C"]
    return found


def crossings(folders):
    """Returns the rooms that cross a wall, by (room, imported module), with a file that does."""
    found = collections.OrderedDict()
    for room, folder in folders.items():
        for file in sorted((ROOT / folder / room).rglob("*.swift")):
            for module in IMPORT.findall(file.read_text()):
                home = folders.get(module)
                if folder == "Core" or home is not None and home not in MAY_IMPORT[folder]:
                    found.setdefault((room, module), file.relative_to(ROOT.parent))
    return found


def main():
    found = crossings(rooms())
    failed = False
    for crossing in found.keys() - EXCEPTIONS.keys():
        print(f"{found[crossing]}: {crossing[0]} must not import {crossing[1]}: see scripts/walls.py", file=sys.stderr)
        failed = True
    for room, module in EXCEPTIONS.keys() - found.keys():
        print(f"scripts/walls.py: {room} does not import {module} any more", file=sys.stderr)
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
