#!/usr/bin/env python3
"""Clicks through the dashboard in a headless Chromium, over real uploads by the built programs.

    test.py [NAME …]      all tests, or those whose names contain NAME

Needs chromium and chromedriver; exit status 3 without them. OUTBOX_PROGRAMS names the directory of the programs
(.build/debug). The check for accessibility needs axe-core, which pip fetches once; without it that check is skipped.
"""

import functools
import os
import sys
import unittest

sys.dont_write_bytecode = True  # in the repository
import scenes  # noqa: E402
from browser import AXE, Browser, axe, missing, until  # noqa: E402
from world import ROOT, World  # noqa: E402

TAB, ENTER, ESCAPE, DOWN, END = "\ue004", "\ue007", "\ue00c", "\ue015", "\ue010"


picture = functools.cache(scenes.png)


def large(number, megabytes=6):
    """A file that is a picture by its first bytes, and takes a while to send."""
    return picture(number) + os.urandom(megabytes << 20)


class PageTest(unittest.TestCase):
    settings = {}
    tokens = None

    def setUp(self):
        self.world = self.enterContext(World(self.settings, self.tokens))
        self.page = self.enterContext(Browser(1200, 900))
        self.page.open(self.world.address)
        self.expect("#headline", "Ready")

    def tearDown(self):
        # The page asks for a thumbnail until it is drawn, and browsers report each 404.
        self.allow("/v1/thumbnails/")

    def allow(self, *parts):
        """Checks that the console has shown nothing but lines with one of these texts."""
        self.assertEqual([line for line in self.page.complaints() if not any(part in line for part in parts)], [], "the console")

    def expect(self, selector, text, patience=60):
        """Waits until elements show a text."""
        def shown():
            seen = self.page.text(selector)
            assert text in seen, f"{selector} shows {seen!r}"
            return True
        until(f"{selector} shows {text!r}", shown, patience)

    def row(self, name):
        """A selector for the row of a file."""
        script = """for (const row of document.querySelectorAll(".row"))
            if (row.querySelector(".name").textContent === arguments[0]) return row.dataset.id"""
        return f'.row[data-id="{until(f"there is a row for {name}", lambda: self.page.run(script, name))}"]'

    def act(self, name, action):
        self.page.click(f"{self.row(name)} [data-action={action}]")


    def drop(self, names):
        """Drops small files onto the page, as a browser tells of it; GIFs are pictures."""
        self.page.run("""const data = new DataTransfer();
            const gif = Uint8Array.from(atob("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"), (letter) => letter.charCodeAt(0));
            for (const name of arguments[0]) data.items.add(new File([name.endsWith(".gif") ? gif : "text", name], name));
            for (const type of ["dragenter", "dragover", "drop"])
                document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));""", names)

    def report(self, code, message):
        """Lets the agent's health have a problem."""
        self.page.run("""const [code, message] = arguments, real = fetch;
            window.fetch = async (path, options) => {
                const reply = await real(path, options);
                return path === "/v1/health" ? Response.json({ ...await reply.json(), attention: [{ code, message, since: new Date() }] }) : reply;
            }""", code, message)


class Uploads(PageTest):
    def test_file_arrives_and_becomes_done(self):
        self.world.drop("trip/beach.png", picture(1))
        self.expect(self.row("beach.png"), "Done")
        self.expect(self.row("beach.png"), "trip")
        self.expect("#headline", "Everything is uploaded")
        until("the row has a thumbnail", lambda: self.page.run(
            "return document.querySelector('.row img')?.naturalWidth === 150"))

    def test_names_are_text(self):
        name = "<img src=x onerror=alert(1)> & \u202e.png"
        self.world.drop(name, picture(2))
        self.expect(f"{self.row(name)} .name", "<img src=x onerror=alert(1)> &")
        self.page.click(f"{self.row(name)} .name")
        self.expect("#details-name", "<img src=x")
        self.page.press(ESCAPE)

    def test_filter_and_search(self):
        for number in range(4):
            self.world.drop(f"trip/beach-{number}.png", picture(number))
        self.world.drop("notes.txt", b"no picture")
        self.expect("[data-filter=all]", "5")
        self.page.click("[data-filter=dropped]")
        self.expect("#list", "notes.txt")
        until("the others go", lambda: "beach" not in self.page.text("#list"))
        self.expect("#list", "Rejected")
        self.page.type("#search", "BEACH-2")
        self.expect("#empty", "No file has “BEACH-2”")
        self.page.click("[data-filter=all]")
        self.expect("#list-note", "1 file with “BEACH-2” in the path")
        until("the others go", lambda: "beach-1" not in self.page.text("#list"))

    def test_long_lists_have_few_rows(self):
        for number in range(450):
            (self.world.box / f"{number:03}.gif").write_bytes(b"GIF89a" + number.to_bytes(2, "big") * 20)
        self.expect("[data-filter=done]", "450", patience=120)
        self.page.click("[data-filter=done]")
        self.expect("#list-note", "450 files")
        row = "return document.querySelectorAll('.row').length"
        self.assertLess(self.page.run(row), 40)
        def last():
            self.page.run("scrollTo(0, document.documentElement.scrollHeight)")
            return self.page.run("return [...document.querySelectorAll('.row')].some((row) => row.ariaPosInSet === '450')")
        until("the last row comes", last)
        self.assertLess(self.page.run(row), 40)
        names = self.page.run("return [...document.querySelectorAll('.row .name')].map((name) => name.textContent)")
        self.assertEqual(len(set(names)), len(names))

    def test_files_are_added(self):
        file = self.world.root / "cliff.png"
        file.write_bytes(large(3, 2))
        text = self.world.root / "letter.txt"
        text.write_text("no picture")
        self.page.run("document.getElementById('file-input').hidden = false")
        self.page.type("#file-input", f"{file}\n{text}")
        self.expect(self.row("cliff.png"), "Done")
        self.assertEqual((self.world.box / "cliff.png").read_bytes(), file.read_bytes())
        self.expect("#adding", "Neither a picture nor a video")
        self.assertFalse((self.world.box / "letter.txt").exists())
        self.drop(["dropped.gif"])
        self.expect(self.row("dropped.gif"), "Done")
        self.allow("/v1/drop", "/v1/thumbnails/")  # the refused file

    def test_many_refused_files(self):
        self.drop([f"letter-{number}.txt" for number in range(60)])
        self.expect("#adding-note", "60 not added")
        self.expect("#adding-note", "20 are shown")
        self.assertEqual(self.page.run("return document.querySelectorAll('#adding li').length"), 20)
        self.page.click("#adding li [data-action=dismiss]")
        self.expect("#adding-note", "59 not added")
        self.assertTrue(self.page.run("return document.activeElement.matches('#adding li:first-child button')"))
        self.page.click("#dismiss-all")
        until("the rows go", lambda: not self.page.text("#adding-section"))
        self.assertEqual(self.page.run("return document.activeElement.id"), "add-files")
        self.allow("/v1/drop")

    def test_directory_with_an_unreadable_file(self):
        # Only a person can drop a real directory.
        self.page.run("""const file = (path, give) => ({ isFile: true, fullPath: path, file: give });
            const entries = [
                file("/trip/bad.gif", (give, fail) => fail(new DOMException("no permission", "NotReadableError"))),
                file("/trip/good.gif", (give) => give(new File([atob("R0lGODlhAQABAAAAACw=")], "good.gif")))];
            const trip = { isDirectory: true, fullPath: "/trip", createReader: () => ({ readEntries: (give) => give(entries.splice(0, 1)) }) };
            const event = new Event("drop", { bubbles: true, cancelable: true });
            event.dataTransfer = { types: ["Files"], items: [{ webkitGetAsEntry: () => trip }], files: [] };
            document.body.dispatchEvent(event);""")
        self.expect(self.row("good.gif"), "Done")
        self.expect("#adding", "trip/bad.gif")
        self.expect("#adding", "The browser cannot read it: no permission")

    def test_adding_is_cancelled(self):
        self.page.command("Network.enable")
        self.page.command("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=200_000)
        file = self.world.root / "film.png"
        file.write_bytes(large(4, 20))
        asks = """const event = new Event("beforeunload", { cancelable: true });
            dispatchEvent(event);
            return event.defaultPrevented"""
        self.assertFalse(self.page.run(asks))
        self.page.run("document.getElementById('file-input').hidden = false")
        self.page.type("#file-input", str(file))
        self.expect("#adding", "% of 21.0 MB")
        self.assertTrue(self.page.run(asks), "leaving the page asks")
        self.page.click("#adding [data-action=cancel]")
        until("the row goes", lambda: not self.page.text("#adding-section"))
        until("nothing stays in the outbox", lambda: not list(self.world.box.rglob("*.part")) and not (self.world.box / "film.png").exists())
        self.assertFalse(self.page.run(asks))

    def test_post_is_submitted(self):
        self.world.drop("sea/source.toml", b'title = "A day at the sea"\ndraft = true\n')
        self.world.drop("sea/beach.png", picture(4))
        self.page.click("nav a[href='#posts']")
        self.expect("#posts", "A day at the sea")
        self.expect("#posts", "Draft")
        self.page.click("#posts [data-action=submit]")
        self.expect("#posts", "1 of 1 file done")
        self.expect("#posts", "open the post")

    def test_other_parts(self):
        self.world.drop("portrait/me.png", picture(5))
        self.page.click("nav a[href='#pictures']")
        self.expect("#portrait-state", "The server has it")
        until("the profile picture shows, not its placeholder", lambda: self.page.run("""
            const picture = document.getElementById("portrait");
            return !picture.hidden && fetch(picture.src).then((reply) => reply.ok && !reply.headers.has("X-Outbox-Placeholder"))"""))
        self.page.click("nav a[href='#activity']")
        self.expect("#part-activity", "Throughput")
        self.page.click("nav a[href='#settings']")
        self.expect("#settings", str(self.world.box))
        self.assertNotIn("token\"", self.page.text("#settings"))

    def test_history_knows_files_that_are_gone(self):
        self.world.drop("beach.png", picture(11))
        self.world.drop("forest.png", picture(12))
        self.page.click("nav a[href='#activity']")
        self.expect("#sums", "2 files")
        (self.world.box / "beach.png").unlink()
        self.page.type("#history-search", "BEACH")
        until("one is found", lambda: self.page.run("return document.querySelectorAll('#history li').length === 1"))
        self.expect("#history", "beach.png")
        self.expect("#history", "Done")
        self.page.type("#history-search", "nowhere")
        self.expect("#history", "No file with this name.")

    def test_end_and_restart_of_the_agent(self):
        self.world.stop_agent()
        self.expect("#headline", "The agent does not answer")
        self.expect("#needs", "open the new address that “outbox dashboard” prints")
        until("the list is dim", lambda: self.page.run("return getComputedStyle(document.getElementById('main')).opacity === '0.5'"))
        self.world.start_agent()
        self.expect("#headline", "This page’s address has expired")
        self.expect("#needs", "outbox dashboard")
        self.page.open(self.world.address)
        self.expect("#headline", "Ready")
        self.allow("/v1/", "Failed to load")  # while no agent ran

    def test_many_tabs(self):
        # Browsers open six connections to a host.
        for _ in range(8):
            tab = self.page.ask("POST", "/window/new", type="tab")["handle"]
            self.page.ask("POST", "/window", handle=tab)
            self.page.open(self.page_address())
            self.expect("#headline", "Ready")
        self.page.ask("POST", "/window", handle=self.page.ask("GET", "/window/handles")[0])
        self.world.drop("beach.png", picture(6))
        self.expect(self.row("beach.png"), "Done")

    def test_select_all_means_every_file_of_the_filter(self):
        for number in range(230):
            self.world.drop(f"note-{number}.txt", b"no picture")
        self.expect("[data-filter=dropped]", "230")
        self.page.click("[data-filter=dropped]")
        self.expect("#list-note", "230 files")
        self.page.click("#select-all")
        self.expect("#list-note", "200 of 230 selected")
        self.page.click("#selection [data-action=everything]")
        self.expect("#list-note", "230 selected")
        self.page.click("#selection [data-action=retry]")
        self.expect("#question", "Retry 230 files?")
        self.page.click("#question [value=yes]")
        self.expect("#notice", "230 files tried again.")

    def test_faults_of_the_page_are_shown(self):
        self.page.run("document.getElementById('activity-rows').remove()")
        self.page.click("nav a[href='#activity']")
        self.expect("#notice", "This page has a fault (")
        self.allow("TypeError")

    def page_address(self):
        return self.world.address.rpartition("/open/")[0] + "/"

    def test_obstacles_are_the_headline(self):
        self.world.stop_receiver()
        self.world.drop("beach.png", picture(7))
        self.expect("#headline", "The server can’t be reached since ")
        self.expect("#needs .muted", "connect")
        self.report("ledger", "the ledger cannot be written: Input/output error; free space on the file system of the state directory")
        self.expect("#headline", "The disk is full since ")
        self.report("server", "no \u202e entry")
        self.expect("#needs .muted", "No \\u{202e} entry.")

    def test_skip_link_stays_in_its_part(self):
        self.page.click("nav a[href='#activity']")
        self.page.run("document.querySelector('.skip').focus()")
        self.page.press(ENTER)
        self.assertEqual(self.page.run("return document.activeElement.id"), "main")
        self.expect("#part-activity", "The last hour")

    def test_menu_closes_behind_the_focus(self):
        self.page.run("document.querySelector('#all-menu summary').focus()")
        self.page.press(ENTER)
        self.expect("#all-menu", "Cancel all uploads")
        self.page.press(TAB, TAB)
        self.expect("#all-menu", "Cancel all uploads")
        self.page.press(TAB)
        until("the menu closes", lambda: not self.page.run("return document.getElementById('all-menu').open"))


class SlowUploads(PageTest):
    settings = {"upload": ['bandwidth_limit = "100KiB"', "files_in_flight = 1"]}

    def test_pause_resume_cancel_retry(self):
        self.world.drop("film.png", large(10))
        self.expect(self.row("film.png"), "Uploading")
        self.expect("#headline", "1 file on its way")
        until("the speed shows", lambda: "/s" in self.page.text("#subline"))
        self.act("film.png", "pause")
        self.expect(self.row("film.png"), "Paused")
        self.assertEqual(self.world.state("film.png"), "paused")
        self.act("film.png", "resume")
        self.expect(self.row("film.png"), "Uploading")
        self.act("film.png", "cancel")
        self.expect("#question", "Cancel the upload of film.png?")
        self.page.click("#question [value=no]")
        self.assertEqual(self.world.state("film.png"), "uploading")
        self.act("film.png", "cancel")
        self.page.click("#question [value=yes]")
        self.expect(self.row("film.png"), "Cancelled")
        self.assertEqual(self.world.state("film.png"), "cancelled")
        self.act("film.png", "retry")
        self.expect(self.row("film.png"), "Uploading")

    def test_everything_and_a_selection(self):
        for number in range(3):
            self.world.drop(f"film-{number}.png", large(20 + number))
        self.expect("#headline", "3 files on their way")
        self.page.click("#pause-all")
        self.expect("#headline", "Everything is paused")
        self.expect("#pause-all", "Resume all")
        self.page.click("#pause-all")
        self.expect("#headline", "3 files on their way")
        for number in (1, 2):
            self.page.click(f"{self.row(f'film-{number}.png')} input")
        self.expect("#list-note", "2 selected")
        self.page.click("#selection [data-action=pause]")
        for number in (1, 2):
            self.expect(self.row(f"film-{number}.png"), "Paused")
        self.expect("#notice", "2 files paused")
        self.page.click("#all-menu summary")
        self.page.click("[data-all=cancel]")
        self.expect("#question", "Cancel all uploads?")
        self.page.click("#question [value=yes]")
        self.expect("[data-filter=dropped]", "3")

    def test_files_that_left_the_list_are_not_selected(self):
        for number in range(3):
            self.world.drop(f"film-{number}.png", large(80 + number, 2))
        self.expect("#headline", "3 files on their way")
        self.page.click("[data-filter=moving]")
        self.expect("#list-note", "3 files")
        self.page.click("#select-all")
        self.expect("#list-note", "3 selected")
        self.world.outbox("cancel", self.world.box / "film-1.png")
        self.expect("#list-note", "2 selected")
        # Likewise, the focus does not stay behind.
        cancel = f"{self.row('film-0.png')} [data-action=cancel]"
        self.page.run("document.querySelector(arguments[0]).focus()", cancel)
        self.page.press(ENTER)
        self.page.click("#question [value=yes]")
        until("the row goes", lambda: "film-0" not in self.page.text("#list"))
        self.assertEqual(self.page.run("return document.activeElement.querySelector('.name')?.textContent"), "film-2.png")

    def test_filters_count_what_is_found(self):
        for number in range(2):
            self.world.drop(f"film-{number}.png", large(90 + number, 2))
        self.world.drop("beach.png", large(92, 2))
        self.expect("#headline", "3 files on their way")
        self.page.type("#search", "film")
        self.expect("#list-note", "2 files with “film” in the path")
        self.page.click("#pause-all")
        self.expect("[data-filter=paused]", "2")
        self.expect("[data-filter=all]", "2")

    def test_details_stay_while_the_file_moves(self):
        self.world.drop("film.png", large(95))
        self.expect(self.row("film.png"), "Uploading")
        self.page.click(f"{self.row('film.png')} .name")
        selected = "return getSelection().toString()"
        self.page.run("getSelection().selectAllChildren(document.querySelector('[data-fact=\"Key (MD5)\"] dd'))")
        key, progress = self.page.run(selected), self.page.text("[data-fact=Progress] dd")
        self.assertRegex(key, "^[0-9a-f]{32}$")
        until("progress shows", lambda: self.page.text("[data-fact=Progress] dd") != progress)
        self.assertEqual(self.page.run(selected), key)
        self.page.click("#details-actions [data-action=pause]")
        self.expect("#details [role=status]", "film.png paused.")
        self.page.press(ESCAPE)
        until("the notice is back on the page", lambda: self.page.run("return document.getElementById('notice').parentElement === document.body"))

    def test_first(self):
        self.world.ask("POST", "/v1/pause")
        for number in range(3):
            self.world.drop(f"film-{number}.png", large(30 + number, 2))
        self.expect("#list", "film-2.png")
        until("all are hashed", lambda: all(self.world.state(f"film-{number}.png") == "paused" for number in range(3)))
        self.expect("#pause-all", "Resume all")
        self.page.click("#pause-all")
        self.expect("#list", "Uploading")
        sending = [number for number in range(3) if self.world.state(f"film-{number}.png") == "uploading"]
        other = next(number for number in (2, 1, 0) if number not in sending)
        self.act(f"film-{other}.png", "first")
        self.expect(self.row(f"film-{other}.png"), "Uploading", patience=120)

    def test_keyboard(self):
        self.world.ask("POST", "/v1/pause")
        for number in range(3):
            self.world.drop(f"film-{number}.png", large(40 + number, 1))
        for number in range(3):
            self.expect(self.row(f"film-{number}.png"), "Paused")
        focus = "return document.activeElement.closest('.row')?.querySelector('.name').textContent ?? document.activeElement.id"
        seen = []
        def reached():
            self.page.press(TAB)
            seen.append(self.page.run(focus))
            return str(seen[-1]).startswith("film")
        until("Tab reaches the list", reached)
        first = seen[-1]
        self.page.press(DOWN)
        self.assertNotEqual(self.page.run(focus), first)
        self.page.press(END)
        last = self.page.run(focus)
        self.page.press(" ")
        self.expect("#list-note", "1 selected")
        self.page.press(ENTER)
        self.expect("#details-name", last)
        self.page.press(ESCAPE)
        until("the dialog closes", lambda: not self.page.run("return document.getElementById('details').open"))
        self.assertEqual(self.page.run(focus), last)


class Troubles(PageTest):
    tokens = "secret ann\n"

    def test_signing_in(self):
        self.world.drop("beach.png", picture(50))
        self.expect(self.row("beach.png"), "Signed out")
        self.expect("#needs", "outbox login")
        self.expect("#headline", "1 file waits")
        self.world.outbox("login", text="secret\n")
        self.expect("#headline", "Everything is uploaded")
        until("nothing needs a person", lambda: not self.page.text("#needs-section"))


class Refusals(PageTest):
    settings = {"upload": ['file_timeout = "2s"', 'retry_interval = "1s"'], "intake": ['max_file_size = "2MiB"']}

    def test_sizes_are_readable(self):
        self.world.drop("film.png", large(61, 4))
        self.expect(self.row("film.png"), "4.2 MB are more than intake.max_file_size allows (2.1 MB).")

    def test_failed_file_is_retried(self):
        self.world.stop_receiver()
        self.world.drop("beach.png", picture(60))
        self.expect("#needs", "1 file failed")
        self.expect("#needs", "beach.png: ")
        self.page.click("#needs [data-action=show-failed]")
        self.expect("#list", "beach.png")
        self.world.start_receiver()
        self.page.click("#needs [data-action=retry-failed]")
        self.expect("#headline", "Everything is uploaded")


class Accessibility(PageTest):
    settings = {"upload": ['bandwidth_limit = "100KiB"']}

    def test_axe_finds_nothing(self):
        script = axe()
        if not script:
            self.skipTest(f"pip could not fetch {AXE}")
        self.world.drop("notes.txt", b"no picture")
        for number in range(2):
            self.world.drop(f"film-{number}.png", large(70 + number))
        self.world.drop("sea/source.toml", b"draft = true\n")
        self.world.drop("sea/beach.png", picture(73))
        self.expect(self.row("film-0.png"), "Uploading")
        self.drop(["letter.txt", "note.txt"])
        self.expect("#adding-note", "2 not added")
        self.report("server", "upload.do: Failed to connect to 127.0.0.1 port 8080")
        self.expect("#needs", "The server can’t be reached")
        for dark in (False, True):
            self.page.command("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
            for width in (360, 1600):
                self.page.resize(width, 900)
                for part in ("files", "posts", "pictures", "activity", "settings"):
                    self.page.run("location.hash = arguments[0]", part)
                    self.check(script, f"{part}, {width} px, {'dark' if dark else 'light'}")
                    wide = self.page.run("return document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, f"{part} is wider than the window")
                self.page.run("location.hash = 'files'")
                self.page.click(f"{self.row('film-0.png')} .name")
                self.check(script, "details")
                self.page.press(ESCAPE)
                self.page.click("#select-all")
                self.expect("#selection", "Clear")
                self.check(script, "the selection")
                self.page.click("#selection [data-action=cancel]")
                self.expect("#question", "Cancel")
                self.check(script, "the question")
                self.page.press(ESCAPE)
                self.page.click("#selection [data-action=clear]")
        self.allow("/v1/drop", "/v1/thumbnails/")  # the refused files

    def check(self, script, what):
        tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
        found = self.page.run(script + "; return axe.run({ runOnly: arguments[0] }).then((it) => it.violations)", tags)
        self.assertEqual([(it["id"], it["nodes"][0]["target"]) for it in found], [], what)


class Door(unittest.TestCase):
    def test_weight(self):
        page = ROOT / "Sources/Agent/Dashboard/Page"
        self.assertLess(sum(file.stat().st_size for file in page.iterdir()), 110_000)

    def test_page_is_closed_without_the_secret(self):
        with World() as world, Browser() as page:
            page.open(world.address.rpartition("/open/")[0] + "/")
            self.assertIn("secret URL", page.text("body"))
            page.resize(360, 700)
            self.assertEqual(page.run("return document.documentElement.scrollWidth"), 360)
            self.assertEqual(page.run("return document.querySelector('meta[name=color-scheme]').content"), "light dark")
            page.open(world.address)
            until("the page opens", lambda: page.text("#headline") == "Ready")


def main():
    absent = missing()
    if absent:
        print(f"SKIPPED the tests of the dashboard: {' and '.join(absent)} not installed (apt-get install chromium chromium-driver)")
        sys.exit(3)
    arguments = [sys.argv[0]] + [word for name in sys.argv[1:] for word in ("-k", name)]
    unittest.main(argv=arguments, verbosity=2)


if __name__ == "__main__":
    main()
