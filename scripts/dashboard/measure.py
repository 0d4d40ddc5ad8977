#!/usr/bin/env python3
"""Measures the page with many files: first paint, script of an event, script of scrolling, rows in the document.

    measure.py [FILES] [URL]      100,000 files of an agent of its own, or the dashboard with this secret URL
"""

import os
import sys
import time

sys.dont_write_bytecode = True  # in the repository
from browser import Browser, missing, until  # noqa: E402
from world import World  # noqa: E402

# Takes the time of each event's listener and of each frame's script.
CLOCK = """
    window.times = { event: [], frame: [] };
    const timed = (kind, run) => function (...given) {
        const begin = performance.now();
        try { return run.apply(this, given); } finally { times[kind].push(performance.now() - begin); }
    };
    const listen = EventSource.prototype.addEventListener;
    EventSource.prototype.addEventListener = function (name, run) { listen.call(this, name, timed("event", run)); };
    const frame = window.requestAnimationFrame;
    window.requestAnimationFrame = (run) => frame.call(window, timed("frame", run));
"""


def measure(address, files):
    with Browser(1200, 900) as page:
        page.command("Page.addScriptToEvaluateOnNewDocument", source=CLOCK)
        page.open(address)
        until("the files are counted", lambda: f"{files:,}" in page.text("[data-filter=all]"), 120)
        painted = []
        for _ in range(9):
            page.open(page.run("return location.origin") + "/")
            until("the list is there", lambda: page.text(".row"))
            painted.append(until("the first paint", lambda: page.run(
                "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime")))
        report("first paint", painted)
        until("the filters are there", lambda: page.text("[data-filter=all]"))
        page.click("[data-filter=all]")
        until("a page of the list is there", lambda: page.run("return document.querySelectorAll('.row').length > 10"))
        page.run("times.event.length = times.frame.length = 0")
        time.sleep(10)
        times = page.run("return times")
        report("script of an event", times["event"])
        report("script of a frame, with all events since the last one", times["frame"])
        page.run("times.frame.length = 0")
        for _ in range(60):
            page.run("scrollBy(0, 4000)")
            time.sleep(0.05)
        report("script of a frame while scrolling", page.run("return times.frame"))
        rows = page.run("const rows = document.querySelectorAll('.row'); return [rows.length, [...rows].at(-1).ariaPosInSet]")
        print(f"rows in the document: {rows[0]}, at row {rows[1]}")
        heap = page.run("return performance.memory.usedJSHeapSize")
        print(f"memory of the page's script: {heap / 1e6:.1f} MB")


def report(what, times):
    if not times:
        print(f"{what}: none")
        return
    times = sorted(times)
    print(f"{what}: median {times[len(times) // 2]:.1f} ms, 99 % {times[int(0.99 * (len(times) - 1))]:.1f} ms, longest {times[-1]:.1f} ms ({len(times)})")


def main():
    if missing():
        sys.exit(f"{' and '.join(missing())} not installed (apt-get install chromium chromium-driver)")
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    if len(sys.argv) > 2:
        measure(sys.argv[2], files)
        return
    # Empty files are listed as rejected, and need no upload. Ten slow uploads make events.
    settings = {"sidecars": ["rejected = false"], "upload": ['bandwidth_limit = "1MiB"', "files_in_flight = 10"]}
    with World(settings) as world:
        for number in range(files - 10):
            place = world.box / f"{number // 1000:03}" / f"{number:06}.jpg"
            place.parent.mkdir(exist_ok=True)
            place.touch()

        def listed():
            return sum(world.ask("GET", "/v1/files?limit=0")["counts"].values())

        until("the agent lists the empty files", lambda: listed() >= files - 10, 1800)
        for number in range(10):
            world.drop(f"film-{number}.gif", b"GIF89a" + os.urandom(20 << 20))
        until("the agent lists all files", lambda: listed() >= files)
        measure(world.address, files)


if __name__ == "__main__":
    main()
