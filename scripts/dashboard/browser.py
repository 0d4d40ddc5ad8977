"""A headless Chromium, driven over the W3C WebDriver protocol (https://www.w3.org/TR/webdriver2/)."""

import base64
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

AXE = "axe-playwright-python==0.1.8"  # carries axe-core 4.12.1 as axe_playwright_python/axe.min.js
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element in JSON, section 12.1


class WebDriverError(Exception):
    pass


def missing():
    """Returns the names of the programs that are not installed."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return [name for name, path in (("chromium", browser), ("chromedriver", driver)) if not path]


class Browser:
    """One window. Use it in a `with` statement."""

    def __init__(self, width=1200, height=900, dark=False, scale=1):
        self.profile = tempfile.TemporaryDirectory(prefix="outbox-browser.", ignore_cleanup_errors=True)
        self.port = free_port()
        self.driver = subprocess.Popen(
            [shutil.which("chromedriver"), f"--port={self.port}", "--silent"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = None
        try:
            until("chromedriver answers", lambda: self.call("GET", "/status")["ready"])
            self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"args": [
                    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                    "--no-proxy-server", "--hide-scrollbars", f"--user-data-dir={self.profile.name}"]},
                "goog:loggingPrefs": {"browser": "ALL"}}}})["sessionId"]
            self.resize(width, height, scale)
            self.command("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.session:
            try:
                self.call("DELETE", f"/session/{self.session}")
            except (OSError, WebDriverError):
                pass
        self.driver.terminate()
        self.driver.wait()
        self.profile.cleanup()

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            text = None if method == "GET" else json.dumps(body or {})
            connection.request(method, path, text, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        except (OSError, http.client.HTTPException) as error:
            raise WebDriverError(str(error)) from error
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise WebDriverError(f"{value['error']}: {value['message'].splitlines()[0]}")
        return value

    def ask(self, method, path, **body):
        return self.call(method, f"/session/{self.session}{path}", body)

    def command(self, name, **parameters):
        """Sends a command of the DevTools protocol."""
        return self.ask("POST", "/goog/cdp/execute", cmd=name, params=parameters)

    def resize(self, width, height, scale=1):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def open(self, url):
        self.ask("POST", "/url", url=url)

    def run(self, script, *arguments):
        """Runs JavaScript in the page; `return` in it gives the value, a promise is awaited."""
        return self.ask("POST", "/execute/sync", script=script, args=list(arguments))

    def find(self, selector):
        return self.ask("POST", "/element", using="css selector", value=selector)[ELEMENT]

    def click(self, selector):
        """Clicks an element as soon as it can be clicked: the page may be about to show or replace it."""
        until(f"{selector} can be clicked", lambda: self.ask("POST", f"/element/{self.find(selector)}/click") or True)

    def type(self, selector, text):
        """Types into a field; a path into a field for files chooses the file."""
        self.ask("POST", f"/element/{self.find(selector)}/value", text=text)

    def press(self, *keys):
        """Presses keys one after the other, where the focus is; `\\ue004` is Tab (section 17.4.2)."""
        presses = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", actions=[{"type": "key", "id": "keyboard", "actions": presses}])

    def text(self, selector):
        """The text of all elements that a selector names, as far as they can be seen."""
        return self.run("""return [...document.querySelectorAll(arguments[0])].filter((it) => it.checkVisibility())
            .map((it) => it.innerText).join("\\n")""", selector)

    def complaints(self):
        """What the console has shown since the last call: errors, and violations of the security policy."""
        entries = self.ask("POST", "/se/log", type="browser")
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("GET", "/screenshot")))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(what, condition, patience=60):
    """Waits until a condition holds, and returns its value."""
    deadline = time.monotonic() + patience
    trouble = None
    while time.monotonic() < deadline:
        try:
            value = condition()
            if value:
                return value
            trouble = None
        except (AssertionError, KeyError, LookupError, OSError, WebDriverError) as error:
            trouble = error
        time.sleep(0.05)
    raise AssertionError(f"waited {patience} s in vain: {what}" + (f" ({trouble})" if trouble else ""))


def axe():
    """axe-core, which pip fetches into a cache the first time; None if it cannot."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "outbox-dashboard"
    try:
        if not list(cache.glob("*.whl")):
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", cache, AXE], check=True,
                capture_output=True, timeout=120)
        with zipfile.ZipFile(next(cache.glob("*.whl"))) as archive:
            return archive.read("axe_playwright_python/axe.min.js").decode()
    except (OSError, subprocess.SubprocessError, StopIteration, zipfile.BadZipFile):
        return None
