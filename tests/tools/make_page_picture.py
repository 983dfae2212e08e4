#!/usr/bin/env python3
"""README's picture of the page, after a short chat with the bundled model:

    tests/tools/make_page_picture.py [--weft build/release/bin/weft]

writes docs/page.png. It needs chromium-headless-shell, chromium or google-chrome."""

import argparse
import os
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "tests/integration"))

from headless_browser import Browser, Page, find_browser  # noqa: E402
from page_driver import TalkPage  # noqa: E402
from weft_server import WeftServer  # noqa: E402

MOST_BYTES = 150_000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", default=os.path.join(ROOT, "build/release/bin/weft"), help="the binary")
    arguments = parser.parse_args()
    program = find_browser()
    if program is None:
        sys.exit("there is no chromium-headless-shell, chromium or google-chrome")
    picture = os.path.join(ROOT, "docs/page.png")
    model = os.path.join(ROOT, "model/demo/weft-demo.gguf")
    with WeftServer(arguments.weft, ["--model", model]) as server, Browser(program) as browser:
        page = TalkPage(unittest.TestCase(), browser, f"http://127.0.0.1:{server.port}/", 1200, 720, False)
        page.set("seed", "7")
        page.say("Tell me a tale about a fox.")
        page.press("New conversation")
        page.say("Tell me a tale about a hen and a miller.")
        page.say("Who are you?")
        Page.screenshot(page, picture)
    if os.path.getsize(picture) > MOST_BYTES:
        sys.exit(f"docs/page.png has {os.path.getsize(picture)} bytes, more than {MOST_BYTES}")


if __name__ == "__main__":
    main()
