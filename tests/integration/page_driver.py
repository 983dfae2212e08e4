"""The page at / as somebody uses it: buttons are pressed by what stands on them."""

import base64
import json
import os
import time

from headless_browser import Page

PATIENCE_S = 60


class TalkPage(Page):
    """Waits, when opened and after each step, until the page is ready for the next."""

    def __init__(self, test, browser, url, width, height, dark, context=None):
        self.test, self.url = test, url
        super().__init__(browser, url, width, height, dark, context)
        self.until("!document.getElementById('send').disabled")

    def until(self, script):
        """Waits until a JavaScript expression holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.evaluate(f"Boolean({script})"):
            if time.monotonic() > deadline:
                self.test.fail(f"never: {script}\n{self.complaints}\n{self.evaluate('document.body.innerText')[:2000]}")
            time.sleep(0.05)

    def reload(self):
        self.evaluate("window.isOld = true")
        self.call("Page.reload")
        self.until("window.isOld === undefined && document.getElementById('send')?.disabled === false")

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent.trim())")

    def text(self, selector):
        return self.texts(selector)[-1]

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def press(self, label, index=-1):
        """The last of the buttons that can be seen with this label, or the one of an index."""
        pressed = self.evaluate(
            f"(() => {{ const found = [...document.querySelectorAll('button')].filter((b) => b.textContent === {json.dumps(label)}"
            f" && b.checkVisibility()).at({index}); found?.click(); return Boolean(found); }})()")
        self.test.assertTrue(pressed, f"there is no button {label!r}")

    def fill(self, identifier, value):
        member = "checked" if isinstance(value, bool) else "value"
        self.evaluate(f"(() => {{ const field = document.getElementById({json.dumps(identifier)}); field.{member} = {json.dumps(value)};"
                      "for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {bubbles: true})); })()")

    def set(self, name, value):
        self.fill("set-" + name, value)

    def say(self, text, wait=True):
        """Sends a message and waits for the end of its answer."""
        self.fill("message", text)
        self.press(self.text("#send"))
        if wait:
            self.until("document.getElementById('send').textContent === 'Send' && document.querySelector('.assistant .bar')"
                       " && !document.querySelector('[aria-busy]')")

    def answer(self):
        return self.text(".assistant .text")

    def node(self):
        """The last message as it is kept."""
        conversation = json.loads(self.export())["conversations"][0]
        return next(node for node in conversation["nodes"] if node["id"] == conversation["leaf"])

    def module(self, name, expression):
        """A JavaScript expression in which `m` is one of the page's modules."""
        return self.evaluate(f"import('/page/{name}').then((m) => {expression})")

    def show(self, view):
        self.evaluate(f"location.hash = '{view}'; 0")
        self.until(f"!document.getElementById('{view}').hidden")

    def choose(self, identifier, name, content):
        """A file for a field of files."""
        data = base64.b64encode(content if isinstance(content, bytes) else content.encode()).decode()
        self.evaluate(f"""(async () => {{
          const bytes = Uint8Array.from(atob({json.dumps(data)}), (c) => c.charCodeAt(0));
          const field = document.getElementById({json.dumps(identifier)}), transfer = new DataTransfer();
          transfer.items.add(new File([bytes], {json.dumps(name)}));
          field.files = transfer.files;
          field.dispatchEvent(new Event('change'));
          while (field.value) await new Promise((resolve) => setTimeout(resolve, 5));
        }})()""")

    def export(self):
        """The text of the file that Export gives."""
        return self.evaluate("""(async () => {
          const make = URL.createObjectURL;
          let file;
          URL.createObjectURL = (blob) => { file = blob; return make(blob); };
          HTMLAnchorElement.prototype.click = () => {};
          document.getElementById('export').click();
          URL.createObjectURL = make;
          delete HTMLAnchorElement.prototype.click;
          return await file.text();
        })()""")

    def answer_next(self, path, status, body, headers):
        """What the page's next request for `path` gets, instead of the server's answer; `asked` is then what it said."""
        self.evaluate(f"""(() => {{
          const real = window.fetch;
          window.fetch = (where, request) => {{
            if (where !== {json.dumps(path)}) return real(where, request);
            window.fetch = real;
            window.asked = {{method: request.method, body: request.body}};
            return Promise.resolve(new Response({json.dumps(body)}, {{status: {status}, headers: {json.dumps(headers)}}}));
          }};
        }})()""")

    def screenshot(self, name):
        """Where pictures are wanted."""
        if "WEFT_SCREENSHOTS" in os.environ:
            super().screenshot(os.path.join(os.environ["WEFT_SCREENSHOTS"], name + ".png"))
