"""Chromium without a screen, steered through its DevTools protocol over a pipe: no driver, no package beside the browser."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find_browser():
    """Its path, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    """`with Browser(path) as browser:` runs it with a profile of its own; leaving the block ends it."""

    def __init__(self, program, timeout_s=60):
        self.timeout_s = timeout_s
        self.profile = tempfile.TemporaryDirectory(prefix="weft-browser-")
        to_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()

        def attach():  # the browser reads commands from 3 and writes answers to 4
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"],
            preexec_fn=attach, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.last_id = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.writer)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.reader)
        self.profile.cleanup()

    def _receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.reader], [], [], max(deadline - time.monotonic(), 0))
            piece = os.read(self.reader, 1 << 16) if ready else b""
            if not piece:
                raise AssertionError("the browser " + ("ended" if ready else f"said nothing for {self.timeout_s} s"))
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        """The result of a command; events that come meanwhile are kept."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writer, data):]
        deadline = time.monotonic() + self.timeout_s
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method, session):
        deadline = time.monotonic() + self.timeout_s
        while not any(event.get("method") == method and event.get("sessionId") == session for event in self.events):
            self.events.append(self._receive(deadline))

    def open(self, url, width, height=900, dark=False):
        return Page(self, url, width, height, dark)


class Page:
    """A loaded page. `complaints`: what its console and the browser said; `requests`: the URLs that it asked for. `context`: the id of
    what it shares its storage with."""

    def __init__(self, browser, url, width, height, dark, context=None):
        self.browser = browser
        place = {"browserContextId": context} if context else {}
        target = browser.call("Target.createTarget", url="about:blank", **place)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)
        browser.wait_for("Page.loadEventFired", self.session)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def _events(self, *methods):
        return [event["params"] for event in self.browser.events
                if event.get("sessionId") == self.session and event.get("method") in methods]

    @property
    def complaints(self):
        return [json.dumps(event)[:500]
                for event in self._events("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")]

    @property
    def requests(self):
        return [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]

    def evaluate(self, script):
        """What a JavaScript expression comes to, through JSON."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{script[:200]}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def screenshot(self, path):
        """The whole page as PNG."""
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture))
