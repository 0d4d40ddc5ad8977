#!/usr/bin/env python3
"""Makes the pictures of docs/dashboard.md from the real page, with the built programs: docs/dashboard/*.png.

Needs chromium and chromedriver. OUTBOX_PROGRAMS names the directory of the programs (.build/debug).
"""

import os
import sys
import time

sys.dont_write_bytecode = True  # in the repository
import scenes  # noqa: E402
from browser import Browser, missing, until  # noqa: E402
from world import ROOT, World  # noqa: E402

PLACE = ROOT / "docs/dashboard"
MOST_BYTES = 200_000


def take(page, name):
    time.sleep(0.7)  # until pictures are decoded and bars have moved
    file = PLACE / f"{name}.png"
    page.screenshot(file)
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB")
    if file.stat().st_size > MOST_BYTES:
        sys.exit(f"{file} is over {MOST_BYTES} bytes")


def expect(page, selector, text):
    until(f"{selector} shows {text}", lambda: text in page.text(selector), 60)


def thumbnails(page, number):
    until("thumbnails", lambda: page.run(
        "return [...document.querySelectorAll('.thumb img')].filter((it) => it.naturalWidth).length") >= number, 60)


def drop_trip(world, number=6):
    for index in range(number):
        world.drop(f"trip/IMG_{2040 + index}.png", scenes.png(index))


def sending():
    with World({"upload": ['bandwidth_limit = "900KiB"', "files_in_flight = 3"]}) as world:
        with Browser(1200, 860) as page:
            page.open(world.address)
            drop_trip(world)
            expect(page, "[data-filter=done]", "6")
            for index in range(4):
                world.drop(f"studio/DSC_0{411 + index}.png", scenes.png(10 + index) + os.urandom((9 + 3 * index) << 20))
            world.drop("studio/notes.txt", b"Tide at 6")
            expect(page, "#subline", "left")
            expect(page, "#list", "Queued")
            until("some progress", lambda: page.run(
                "return [...document.querySelectorAll('.row .bar')].filter((it) => it.checkVisibility() && it.ariaValueNow > 0).length") >= 3, 60)
            thumbnails(page, 9)
            take(page, "sending")


def uploaded():
    with World() as world, Browser(1200, 860, dark=True) as page:
        page.open(world.address)
        drop_trip(world, 9)
        expect(page, "#headline", "Everything is uploaded")
        expect(page, "[data-filter=done]", "9")
        thumbnails(page, 9)
        take(page, "uploaded")


def trouble():
    with World({"upload": ['file_timeout = "5s"']}) as world, Browser(1200, 860) as page:
        page.open(world.address)
        drop_trip(world, 3)
        expect(page, "[data-filter=done]", "3")
        world.stop_receiver()
        world.drop("trip/IMG_2050.png", scenes.png(7))
        expect(page, "#needs", "1 file failed")
        for index in range(2):
            world.drop(f"trip/IMG_{2051 + index}.png", scenes.png(8 + index))
        expect(page, "#list", "Waiting")
        thumbnails(page, 6)
        take(page, "trouble")


def posts():
    with World() as world, Browser(1200, 860) as page:
        page.open(world.address)
        for index, (name, title) in enumerate((("sea", "A day at the sea"), ("harbour", "Harbour at night"))):
            world.drop(f"{name}/source.toml", f'title = "{title}"\ndraft = {"true" if index else "false"}\n'.encode())
            for number in range(4 - index):
                world.drop(f"{name}/IMG_{number + 1}.png", scenes.png(4 + 7 * index + number))
        page.click("nav a[href='#posts']")
        expect(page, "#posts", "open the post")
        expect(page, "#posts", "Submit")
        expect(page, "#subline", "3 files in drafts")
        page.run("document.querySelectorAll('.post details')[1].open = true")
        thumbnails(page, 2)
        take(page, "posts")


def signed_out():
    with World(tokens="secret ann\n") as world, Browser(360, 740, dark=True, scale=2) as page:
        page.open(world.address)
        drop_trip(world, 3)
        expect(page, "#headline", "3 files wait")
        expect(page, "#needs", "outbox login")
        take(page, "signed-out")


def main():
    if missing():
        sys.exit(f"{' and '.join(missing())} not installed (apt-get install chromium chromium-driver)")
    PLACE.mkdir(exist_ok=True)
    wanted = sys.argv[1:]
    for state in (sending, uploaded, trouble, posts, signed_out):
        if not wanted or state.__name__ in wanted:
            state()


if __name__ == "__main__":
    main()
