"""The page at /, in a browser (Debian's chromium-headless-shell, or any Chromium or Chrome; skipped without one): with the bundled model,
and with one that says what a script says, hostile things among it. `page_test.py --weft BINARY --scripted SCRIPTED_SERVER --model MODEL
--modules DIRECTORY --venv DIRECTORY`. axe-core (npm) looks for what would keep people out, where it can be had. WEFT_SCREENSHOTS=DIRECTORY
keeps pictures."""

import json
import os
import tempfile
import unittest

from client_packages import SKIPPED, skip
from harness import main, options
from headless_browser import Browser, find_browser
from node_packages import install
from page_driver import TalkPage
from weft_server import WeftServer

USER_KEY, OPERATOR_KEY = "sk-alice-0123456789", "sk-watch-0123456789"
HOSTILE_NAME = '<img src=x onerror="window.hacked=1">'
LONG_STORY = "Once upon a time. " * 5000
HOSTILE_MARKDOWN = """# Look <script>window.hacked = 1</script>

<img src="https://evil.example/a.png" onerror="window.hacked = 1"><iframe src="https://evil.example/"></iframe>
<style>body { background: url(https://evil.example/b.png) }</style><svg onload="window.hacked = 1"></svg>

![a picture](https://evil.example/c.png "title") ![b](data:image/png;base64,AAAA)

[one](javascript:window.hacked=1) [two](https://good.example/path) [three](/metrics) [four](data:text/html,x)
<a href="javascript:window.hacked=1" onclick="window.hacked=1" target="_top">five</a> <form action="https://evil.example/"><input name=a></form>

```html
<b onclick="window.hacked=1">code</b>
```

| a | b |
|---|---|
| <math><mtext><img src=x onerror=window.hacked=1></mtext></math> | 2 |
"""
# What DOMPurify alone is given, should marked let it through.
HOSTILE_HTML = ['<img src="https://evil.example/x" onerror="window.hacked=1">', "<svg><script>window.hacked=1</script></svg>",
                '<a href="java\tscript:window.hacked=1">x</a>', '<p style="background:url(https://evil.example/y)" id="key">x</p>',
                '<math><mi//xlink:href="data:x,<script>window.hacked=1</script>">', "<form><input name=attributes><input></form>",
                '<template><img src=x onerror="window.hacked=1"></template>', '<a href="/metrics" ping="https://evil.example/">x</a>']
TOOLS = [{"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"],
          "additionalProperties": False}
AXE = "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations.map(({id, nodes}) => [id, ...nodes.map((n) => n.html)]))"


class PageCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(Browser(find_browser()))

    def setUp(self):
        self.context = self.browser.call("Target.createBrowserContext")["browserContextId"]  # what it stores is its own
        self.addCleanup(lambda: self.browser.call("Target.disposeBrowserContext", browserContextId=self.context))

    def open(self, server, width=1280, height=900, dark=False):
        return TalkPage(self, self.browser, f"http://127.0.0.1:{server.port}/", width, height, dark, self.context)

    def script(self, *scenes):
        """The server of a model that says the turns of the first of the scenes, (needs, turns), that fits."""
        path = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "script.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump([{"needs": needs, "turns": turns} for needs, turns in (*scenes, ((), ["Very well."]))], file)
        return self.enterContext(WeftServer(
            options.scripted, ["--model", options.model, "--served-model-name", "demo", "--context", "131072"], command=path))

    def assert_unharmed(self, page):
        """Nothing ran, nothing was asked of anybody but the server, and the browser had nothing to forbid."""
        self.assertEqual(page.evaluate("window.hacked ?? 0"), 0)
        self.assertEqual([url for url in page.requests if not url.startswith((page.url, "data:", "blob:"))], [])
        self.assertEqual(page.complaints, [])


class WithTheBundledModel(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.enterClassContext(WeftServer(options.weft, ["--model", options.model, "--served-model-name", "demo"]))

    def test_an_answer(self):
        page = self.open(self.server)
        page.say("Tell me a tale about a fox.")
        self.assertTrue(page.answer())
        self.assertIn("tokens/s", page.text(".assistant .stats"))
        self.assertEqual(page.text("#status"), "The answer is complete.")
        self.assert_unharmed(page)

    def test_settings_and_token_probabilities(self):
        page = self.open(self.server)
        page.set("max_tokens", "12")
        page.set("temperature", "0")
        page.set("logprobs", True)
        page.say("Tell me a tale about a fox.")
        self.assertIn("12 tokens", page.text(".assistant .stats"))
        self.assertIn("Cut off", page.text(".assistant .note"))
        page.press("Tokens")
        self.assertEqual(page.count(".token"), 12)
        page.evaluate("document.querySelectorAll('.token')[3].dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))")
        self.assertEqual((page.count(".token-details .chosen"), page.count(".token-details li") in (5, 6)), (1, True))
        self.assertRegex(page.text(".token-details"), r"\d+\.\d %")
        page.set("temperature", "warm")
        page.say("And?", wait=False)
        self.assertEqual(page.text("#talk-error"), "temperature: warm is no number")
        self.assert_unharmed(page)

    def test_a_schema_is_kept_and_judged(self):
        page = self.open(self.server)
        page.set("schema", json.dumps(SCHEMA))
        page.set("use_schema", True)
        page.say("Who are you?")
        self.assertEqual(set(json.loads(page.node()["content"])), {"name", "age"})
        self.assertIn("Fits the schema.", page.text(".verdict.good"))
        judged = page.module("schema.js", f"m.judge({json.dumps(json.dumps(SCHEMA))}, '{{\"name\": 1, \"b\": 2}}').faults")
        self.assertEqual(judged, ["/name is not of type string", "the value lacks age", "/b may not be there"])
        self.assert_unharmed(page)

    def test_watch_draws_and_goes_on(self):
        page = self.open(self.server)
        page.say("Tell me a tale about a fox.")
        page.show("watch")
        page.until("document.querySelectorAll('.plot canvas').length === 7")
        begun = page.evaluate("document.getElementById('watch-sums').textContent")
        self.server.complete(prompt="Once", max_tokens=50)
        page.until(f"document.getElementById('watch-sums').textContent !== {json.dumps(begun)}")
        self.assertRegex(page.text("#watch-sums"), r"[1-9][\d,]* requests, 0 of them refused, [1-9][\d,]* tokens of prompts, [1-9][\d,]* generated")
        self.assertIn("--max-stall", page.text("#charts"))
        self.assertEqual(page.text("#watch-scope"), "The whole server.")
        page.screenshot("watch")
        page.show("talk")
        self.assert_unharmed(page)

    def test_models_are_listed_with_their_plan(self):
        page = self.open(self.server)
        page.show("models")
        page.until("document.querySelectorAll('.card').length === 1")
        text = page.text("#model-cards")
        for part in ("demo", "Context", "Weights", "KV cache", "Workspaces", "MiB"):
            self.assertIn(part, text)
        page.screenshot("models")
        self.assert_unharmed(page)

    def test_models_are_loaded_and_unloaded(self):
        page = self.open(self.server)
        cards = [{"id": "big", "object": "model", "status": {"value": "unloaded"},
                  "weft": {"size_bytes": 3 << 30, "kind": "decoder", "fits": False, "memory": None, "last_used": None}},
                 {"id": HOSTILE_NAME, "object": "model", "status": {"value": "loaded"},
                  "weft": {"memory": {"weight_bytes": 5 << 20}, "last_used": 1700000000, "expires_at": 1700000300}}]
        page.answer_next("models", 200, json.dumps({"object": "list", "data": cards}), {})
        page.show("models")
        page.until("document.querySelectorAll('.card').length === 2")
        first, second = page.texts(".card")
        for part in ("big", "unloaded", "decoder", "3.0 GiB", "no: it needs more memory", "Load"):
            self.assertIn(part, first)
        for part in (HOSTILE_NAME, "loaded", "5.0 MiB", "Last used", "Leaves, if idle", "Unload"):
            self.assertIn(part, second)
        refusal = json.dumps({"error": {"message": "it needs 4 GiB", "type": "server_error", "param": None, "code": "overloaded"}})
        page.answer_next("models/load", 503, refusal, {})
        page.press("Load")
        page.until("document.getElementById('models-error').textContent === 'it needs 4 GiB'")
        self.assertEqual(page.evaluate("asked"), {"method": "POST", "body": '{"model":"big"}'})
        page.until("document.querySelectorAll('.card').length === 1")  # what the server says itself
        self.assert_unharmed(page)

    def test_it_fits_phones_and_both_schemes(self):
        backgrounds = set()
        for width in (1280, 800, 360):
            for dark in (False, True):
                page = self.open(self.server, width, 740, dark)
                page.say("Tell me a tale about a fox.")
                backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
                for view in ("watch", "models", "talk"):
                    with self.subTest(view=view, width=width, dark=dark):
                        page.show(view)
                        if view == "watch":
                            page.until("document.querySelectorAll('.plot canvas').length === 7")
                        self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                        page.screenshot(f"{view}-{width}-{'dark' if dark else 'light'}")
                self.assert_unharmed(page)
        self.assertEqual(len(backgrounds), 2, "dark is not light")
        page = self.open(self.server)
        page.press("Theme: auto")
        page.press("Theme: light")
        self.assertIn(page.evaluate("getComputedStyle(document.body).backgroundColor"), backgrounds)
        self.assertEqual(page.evaluate("getComputedStyle(document.documentElement).colorScheme"), "dark")

    def test_nobody_is_kept_out(self):
        axe = os.path.join(options.modules, "node_modules/axe-core/axe.min.js")
        if not os.path.exists(axe):
            self.skipTest("looking for barriers on the page: npm's axe-core could not be installed")
        with open(axe, encoding="utf-8") as file:
            source = file.read()
        for dark in (False, True):
            page = self.open(self.server, dark=dark)
            page.set("logprobs", True)
            page.say("Tell me a tale about a fox.")
            page.press("Tokens")
            page.evaluate(f"{source}; 0")
            for view in ("talk", "watch", "models"):
                page.show(view)
                page.until({"watch": "document.querySelector('canvas')", "models": "document.querySelector('.card dd')"}.get(view, "true"))
                with self.subTest(view=view, dark=dark):
                    self.assertEqual(page.evaluate(AXE), [])
            page.press("Key")
            with self.subTest(view="key", dark=dark):
                self.assertEqual(page.evaluate(AXE), [])

    def test_refusals_and_a_dead_server(self):
        page = self.open(self.server)
        body = json.dumps({"error": {"message": "the queue is full", "type": "rate_limit_error", "param": None, "code": "queue_full"}})
        page.answer_next("v1/chat/completions", 429, body, {"Retry-After": "7"})
        page.say("Hello.")
        self.assertIn("the queue is full (try again in 7 s)", page.text(".assistant .error"))
        page.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        page.press("Regenerate")
        page.until("document.querySelector('.assistant .error')?.textContent.startsWith('The server cannot be reached')")
        page.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        page.press("Regenerate")
        page.until("document.querySelector('.assistant .stats')")
        self.assertEqual(page.text(".branches"), "\u20393 / 3\u203a")


class WithAScript(PageCase):
    def test_a_stream_can_be_stopped(self):
        server = self.script((("story",), [LONG_STORY]))
        page = self.open(server)
        page.say("A story", wait=False)
        page.until("document.querySelector('.assistant .text')?.textContent.length > 100")
        self.assertEqual(page.text("#send"), "Stop")
        page.press("Stop")
        page.until("document.querySelector('.assistant .note')?.textContent === 'Stopped.'")
        self.assertLess(len(page.answer()), len(LONG_STORY) - 100)
        server.await_gone_client()
        page.say("Go on", wait=False)  # the conversation goes on behind it
        page.until("document.querySelectorAll('.message').length === 4 && document.querySelector('.message:last-child .text').textContent")
        page.press("Stop")

    def test_a_stream_that_is_left(self):
        page = self.open(self.script((("story",), ["Once.", LONG_STORY])))
        page.evaluate("window.confirm = () => true")
        page.say("A story")
        for leave, left in (("document.getElementById('new').click()", ["A story"]),
                            ("document.querySelector('[aria-label=\"Delete A story\"]').click()", [])):
            page.say("More", wait=False)
            page.until("document.querySelector('.message:last-child .text').textContent.length > 100")
            page.evaluate(leave)
            page.until("document.getElementById('send').textContent === 'Send' && !document.querySelector('.message')")
            self.assertEqual(page.texts("#conversations .open"), left)
            page.evaluate("document.querySelector('#conversations .open')?.click()")
        page.reload()
        self.assertEqual(page.texts("#conversations .open"), [])

    def test_an_answer_may_be_begun_anew_while_another_comes(self):
        page = self.open(self.script((("story",), ["Once.", LONG_STORY])))
        page.say("A story")
        page.say("More", wait=False)
        page.until("document.querySelector('.message:last-child .text').textContent.length > 100")
        page.press("Regenerate", 0)
        page.until("document.querySelectorAll('.message').length === 2 && !document.querySelector('[aria-busy]')")
        self.assertEqual(page.texts(".text"), ["A story", "Once."])
        self.assertEqual(page.text(".branches"), "\u20392 / 2\u203a")

    def test_branches_are_kept(self):
        server = self.script((("first",), ["One.", "Two."]), (("other",), ["Three."]))
        page = self.open(server)
        page.say("first")
        page.say("more")
        self.assertEqual(page.texts(".text"), ["first", "One.", "more", "Two."])
        page.press("Regenerate", 1)
        page.until("document.querySelectorAll('.branches').length === 1 && !document.querySelector('[aria-busy]')")
        self.assertEqual(page.texts(".branches"), ["\u20392 / 2\u203a"])
        page.press("Edit", 0)
        self.assertEqual(page.evaluate("document.getElementById('message').value"), "first")
        page.say("other")
        self.assertEqual(page.texts(".text"), ["other", "Three."])
        self.assertEqual(page.texts(".branches"), ["\u20392 / 2\u203a"])
        page.reload()
        self.assertEqual(page.texts(".text"), ["other", "Three."])
        page.press("\u2039")
        self.assertEqual(page.texts(".text"), ["first", "One.", "more", "Two."])
        page.press("New conversation")
        self.assertEqual(page.texts(".text"), [])
        page.say("Hello")
        self.assertEqual(page.texts("#conversations .open"), ["Hello", "first"])
        page.fill("search", "three")
        self.assertEqual(page.texts("#conversations .open"), ["first"])
        page.fill("search", "nowhere")
        self.assertEqual(page.texts("#conversations .open"), [])
        page.fill("search", "")
        page.evaluate("window.confirm = () => true")
        page.evaluate("document.querySelector('[aria-label=\"Delete Hello\"]').click()")
        page.until("document.querySelectorAll('#conversations .open').length === 1")
        page.reload()
        self.assertEqual(page.texts("#conversations .open"), ["first"])

    def test_reasoning_is_folded(self):
        page = self.open(self.script((("think",), ["<think>\nLet me see.\n</think>\nForty-two."])))
        page.say("think")
        self.assertEqual(page.answer(), "Forty-two.")
        self.assertFalse(page.evaluate("document.querySelector('.assistant .reasoning').open"))
        self.assertIn("Let me see.", page.evaluate("document.querySelector('.assistant .reasoning pre').textContent"))

    def test_tool_calls_are_shown_and_answered(self):
        call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
        answered = ("sky", "<tool_response>\nrain\n</tool_response>")
        page = self.open(self.script((answered, [call, "It rains in Oslo."]), (("sky",), [call])))
        page.set("tools", json.dumps(TOOLS))
        page.set("use_tools", True)
        page.say("How is the sky?")
        self.assertIn("weather", page.text(".call p"))
        self.assertEqual(json.loads(page.text(".call pre")), {"city": "Oslo"})
        page.evaluate("document.querySelector('.results textarea').value = 'rain'")
        page.press("Send results")
        page.until("document.querySelectorAll('.message').length === 4 && !document.querySelector('[aria-busy]')")
        self.assertEqual(page.texts(".text")[2:], ["rain", "It rains in Oslo."])

    def test_text_files_go_along(self):
        page = self.open(self.script((("File notes.txt", "milk and ``` bread"), ["I read it."])))
        page.choose("attach-files", "notes.txt", "milk and ``` bread")
        page.choose("attach-files", "picture.png", b"\x89PNG\xff\x00")
        self.assertIn("picture.png cannot be attached: it is no text", page.text("#talk-error"))
        self.assertEqual(page.texts("#attachments li"), ["notes.txt\u00d7"])
        page.say("What is in it?")
        self.assertEqual(page.answer(), "I read it.")

    def test_hostile_answers_do_nothing(self):
        page = self.open(self.script((("say",), [HOSTILE_MARKDOWN])))
        page.say("say")
        page.until("document.querySelector('.assistant table')")
        self.assertEqual(page.count(".assistant :is(img, script, iframe, style, svg, form, input, math, object)"), 0)
        links = page.evaluate("[...document.querySelectorAll('.assistant a')].map((a) => [a.getAttribute('href'), a.rel, a.target])")
        outside = ["noopener noreferrer", "_blank"]
        self.assertEqual(links, [["https://evil.example/c.png", *outside], ["https://good.example/path", *outside]])
        self.assertIn("two (good.example)", page.text(".assistant .text"))
        self.assertIn("<script>window.hacked = 1</script>", page.text(".assistant .text"))
        attributes = page.evaluate("[...new Set([...document.querySelectorAll('.assistant .text *')].flatMap((e) => e.getAttributeNames()))].sort()")
        self.assertEqual(attributes, ["aria-label", "class", "href", "rel", "role", "tabindex", "target", "type"])
        self.assert_unharmed(page)
        # Chromium speaks of handlers already where DOMPurify only reads them.
        for html in HOSTILE_HTML:
            with self.subTest(html=html):
                left = page.module("markdown.js", f"(() => {{ const d = document.createElement('div'); d.append(m.cleaned({json.dumps(html)}));"
                                                  "document.body.append(d); const h = d.innerHTML; d.remove(); return h; })()")
                for word in ("hacked", "evil", "style", "id=", "/metrics", "<form", "<img"):
                    self.assertNotIn(word, left)
        self.assertEqual(page.evaluate("window.hacked ?? 0"), 0)
        self.assertNotIn("evil", "".join(page.requests))

    def test_exports_come_back_and_hostile_imports_do_not(self):
        page = self.open(self.script((("first",), ["One."])))
        page.say("first")
        text = page.export()
        exported = json.loads(text)
        page.choose("import-files", "again.json", text)
        page.until("document.querySelectorAll('#conversations .open').length === 2")
        again = json.loads(page.export())["conversations"]
        self.assertEqual([each["nodes"] for each in again], [exported["conversations"][0]["nodes"]] * 2)
        first = exported["conversations"][0]
        nodes = first["nodes"]
        changed = {"format": {"format": "x"}, "version": {"version": 2}, "conversations": {"conversations": {}}}
        bad = {name: {**exported, **change} for name, change in changed.items()}
        for name, change in {
                "leaf": {"leaf": "0" * 16}, "id": {"id": "../x"}, "title": {"title": {"toString": 1}}, "extra": {"extra": 1},
                "settings.temperature": {"settings": {"temperature": 1}}, "settings.__proto__": {"settings": {"__proto__": {}}},
                "nodes[0].parent": {"nodes": [{**nodes[0], "parent": nodes[1]["id"]}, nodes[1]]},
                "nodes[1].id": {"nodes": [nodes[0], {**nodes[1], "id": nodes[0]["id"]}]},
                "nodes[0].role": {"nodes": [{**nodes[0], "role": "system"}]},
                "nodes[0].content": {"nodes": [{**nodes[0], "content": ["<img>"]}]},
                "nodes[0].created": {"nodes": [{**nodes[0], "created": "now"}]}}.items():
            bad["conversations[0]." + name] = {**exported, "conversations": [{**first, **change}]}
        for place, value in bad.items():
            with self.subTest(place=place):
                page.choose("import-files", "<b>bad</b>.json", json.dumps(value))
                page.until(f"document.getElementById('talk-error').textContent.includes({json.dumps(f'the file.{place} is not ')})")
        for text in ("[]", "null", "nonsense", '"x"'):
            page.choose("import-files", "bad.json", text)
            page.until("document.getElementById('talk-error').textContent.startsWith('bad.json cannot be imported: the file is not ')")
        self.assertEqual(page.count("#conversations .open"), 2)
        hostile = {**first, "id": "f" * 16, "title": HOSTILE_NAME, "nodes": [
            nodes[0], {**nodes[1], "content": HOSTILE_MARKDOWN, "model": HOSTILE_NAME, "reasoning": HOSTILE_NAME, "error": HOSTILE_NAME,
                       "calls": [{"id": "1", "name": HOSTILE_NAME, "arguments": HOSTILE_NAME}]}]}
        page.choose("import-files", "hostile.json", json.dumps({**exported, "conversations": [hostile]}))
        page.until("document.querySelectorAll('#conversations .open').length === 3")
        page.press(HOSTILE_NAME)
        page.until("document.querySelector('.assistant .error')")
        self.assertEqual(page.text(".assistant .error"), HOSTILE_NAME)
        self.assertEqual(page.count("img, script:not([src]), iframe"), 0)
        self.assert_unharmed(page)


class WithKeys(PageCase):
    def setUp(self):
        super().setUp()
        folder = self.enterContext(tempfile.TemporaryDirectory())
        arguments = []
        for name, line in (("api", f"alice:{USER_KEY}"), ("metrics", f"watcher:{OPERATOR_KEY}")):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(line + "\n")
            os.chmod(path, 0o600)
            arguments += [f"--{name}-key-file", path]
        self.server = self.enterContext(WeftServer(
            options.weft, ["--model", options.model, "--served-model-name", HOSTILE_NAME, *arguments]))

    def type_keys(self, page, user, operator=""):
        page.until("document.getElementById('key-dialog').open")
        page.fill("key-user", user)
        page.fill("key-operator", operator)
        page.press("Use")

    def test_a_key_is_asked_for_and_stays_in_the_tab(self):
        page = self.open(self.server)
        page.until("document.getElementById('key-dialog').open")
        self.assertIn("needs an API key", page.text("#key-why"))
        self.type_keys(page, "wrong")
        page.until("document.getElementById('key-why').textContent.includes('not one of this server')")
        self.type_keys(page, USER_KEY)
        page.until("document.querySelectorAll('#set-model option').length === 2")
        self.assertEqual(page.texts("#set-model option")[1], HOSTILE_NAME)
        page.say("Tell me a tale about a fox.")
        self.assertTrue(page.answer())
        self.assertEqual(page.text(".assistant .model"), HOSTILE_NAME)
        page.reload()
        page.say("And then?")
        kept = page.evaluate("JSON.stringify([localStorage, document.cookie, location.href])")
        for text in (*page.requests, kept, page.export(), self.server.output()):
            self.assertNotIn(USER_KEY, text)
        self.assertEqual(page.evaluate("window.hacked ?? 0"), 0)
        other = self.open(self.server)  # another tab has none
        other.until("document.getElementById('key-dialog').open")

    def test_a_key_watches_itself_and_the_operator_all(self):
        page = self.open(self.server)
        self.type_keys(page, USER_KEY)
        page.say("Tell me a tale about a fox.")
        page.show("watch")
        page.until("document.querySelectorAll('.plot canvas').length === 2")
        self.assertIn("sent with this key", page.text("#watch-scope"))
        page.until("/[1-9]\\d* requests/.test(document.getElementById('watch-sums').textContent)")
        page.press("Key: set")
        self.type_keys(page, USER_KEY, OPERATOR_KEY)
        page.until("document.querySelectorAll('.plot canvas').length === 7")
        self.assertEqual(page.text("#watch-scope"), "The whole server.")
        page.show("models")
        page.until("document.querySelector('.card dd')")
        self.assertEqual(page.text(".card h3"), HOSTILE_NAME)
        self.assertIn("KV cache", page.text(".card"))
        self.assertEqual(page.count("img"), 0)


def prepare():
    if find_browser() is None:
        skip("the page at /: no chromium-headless-shell, chromium or google-chrome")
    try:
        install("page", os.path.abspath(options.modules))
    except SystemExit as ended:  # only one of the tests needs it, and says so
        assert ended.code == SKIPPED


if __name__ == "__main__":
    main("scripted", "model", "modules", "venv", packages_required=False, prepare=prepare)
