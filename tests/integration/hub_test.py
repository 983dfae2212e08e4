"""Models by name, against a small Hub of our own (small_hub.py) and with huggingface_hub: `hub_test.py --weft BINARY --parity
DIRECTORY --venv DIRECTORY`."""

import json
import os
import pathlib
import pty
import random
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from harness import main, options
from small_hub import COMMIT, SmallHub, blob_id
from weft_server import WeftServer

BIG = random.Random(1).randbytes(400_000)
OTHER = random.Random(2).randbytes(30_000)


def repositories():
    parity = pathlib.Path(options.parity)
    tiny = {path.name: path.read_bytes() for path in (parity / "qwen2/hf").iterdir()}
    return {
        "test/gguf": {
            "README.md": b"# a model",
            "config.json": b"{}",
            "tiny-Q4_0_4_4.gguf": OTHER,
            "tiny-Q4_K_M.gguf": (parity / "qwen2/model.gguf").read_bytes(),
            "tiny-Q8_0.gguf": BIG,
            "split/tiny-F16-00001-of-00002.gguf": OTHER[:1000],
            "split/tiny-F16-00002-of-00002.gguf": OTHER[1000:],
            "mmproj-F16.gguf": OTHER[:10],
        },
        "test/tiny": tiny | {"README.md": b"# a model", "pytorch_model.bin": OTHER, "onnx/config.json": b"{}"},
    }


class HubCase(unittest.TestCase):
    def setUp(self):
        self.hub = self.enterContext(SmallHub(repositories()))
        self.home = self.enterContext(tempfile.TemporaryDirectory())
        self.cache = os.path.join(self.home, "hub")
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.home, "HF_HOME": self.home, "HF_ENDPOINT": self.hub.endpoint}

    def start(self, *arguments, **variables):
        return subprocess.Popen([options.weft, *arguments], env=self.environment | variables, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def weft(self, *arguments, **variables):
        """(exit status, stdout, stderr)"""
        process = self.start(*arguments, **variables)
        out, err = process.communicate(timeout=100)
        return process.returncode, out, err

    def pull(self, name, *arguments, **variables):
        """The path that stdout has, alone, and stderr."""
        status, out, err = self.weft("pull", name, *arguments, **variables)
        self.assertEqual(status, 0, err)
        self.assertEqual(out.count("\n"), 1, out)
        return out.strip(), err

    def refused(self, name, *arguments, **variables):
        """The one line that says why, behind those that said what was tried."""
        status, out, err = self.weft("pull", name, *arguments, **variables)
        self.assertEqual((status, out), (1, ""), err)
        return err.strip().splitlines()[-1]

    def blobs(self, repository="test--gguf"):
        folder = os.path.join(self.cache, f"models--{repository}", "blobs")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def snapshot(self, repository="test--gguf"):
        return os.path.join(self.cache, f"models--{repository}", "snapshots", COMMIT)

    def big_id(self):
        return blob_id("x.gguf", BIG)


class Pull(HubCase):
    def test_the_quantisation_that_serves_best(self):
        path, err = self.pull("test/gguf")
        self.assertEqual(path, self.snapshot() + "/tiny-Q4_K_M.gguf")
        self.assertRegex(err, r"^Q4_K_M \(.*\) of 4 quantisations: the fastest one whose accuracy holds, and it fits in ")
        self.assertEqual(os.listdir(self.snapshot()), ["tiny-Q4_K_M.gguf"])
        self.assertTrue(all(request.headers["User-Agent"].startswith("weft/") for request in self.hub.asked))

    def test_a_file_and_its_set(self):
        path, _ = self.pull("hf:test/gguf:f16@main")
        self.assertEqual(path, self.snapshot() + "/split/tiny-F16-00001-of-00002.gguf")
        self.assertEqual(sorted(os.listdir(os.path.dirname(path))),
                         ["tiny-F16-00001-of-00002.gguf", "tiny-F16-00002-of-00002.gguf"])
        path, _ = self.pull("test/gguf:tiny-Q8_0.gguf")
        self.assertEqual(pathlib.Path(path).read_bytes(), BIG)
        sent = self.hub.large_bytes()
        self.assertEqual(self.pull("test/gguf:tiny-Q8_0.gguf")[0], path)
        self.assertEqual(self.hub.large_bytes(), sent)

    def test_a_directory_of_safetensors(self):
        path, _ = self.pull("test/tiny")
        self.assertEqual(path, self.snapshot("test--tiny"))
        self.assertEqual(sorted(os.listdir(path)),
                         ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"])
        status, text, err = self.weft("generate", "--model", "hf:test/tiny", "-p", "a", "-n", "2", "--ignore-eos", HF_HUB_OFFLINE="1")
        self.assertEqual(status, 0, err)

    def test_what_is_not_there(self):
        self.assertIn("there is no 'Q5_K_M'; there are F16 (", self.refused("test/gguf:Q5_K_M"))
        self.assertIn("types of weights that Weft does not load", self.refused("test/gguf:Q4_0_4_4"))
        self.pull("test/gguf:Q4_0_4_4", "--force")
        self.assertIn("no such model, or it is private and no token is set", self.refused("test/none"))
        self.assertIn("there is no revision 'v9'", self.refused("test/gguf@v9"))
        self.assertIn("room for weights", self.refused("test/gguf", "--memory", "1MiB"))
        self.assertIn("expected ORGANISATION/REPOSITORY", self.refused("gguf"))

    def test_a_token_goes_to_the_hub_alone(self):
        self.hub.tokens["test/gguf"] = "hf_secret"
        self.assertIn("agree to their terms", self.refused("test/gguf"))
        self.assertIn("the token that is set has no access", self.refused("test/gguf", HF_TOKEN="hf_wrong"))
        self.hub.asked.clear()
        self.pull("test/gguf", HF_TOKEN="hf_secret")
        self.assertEqual({request.headers.get("Authorization") for request in self.hub.asked if request.server == "hub"},
                         {"Bearer hf_secret"})
        self.assertGreater(self.hub.large_bytes(), 0)
        self.assertEqual({request.headers.get("Authorization") for request in self.hub.asked if request.server == "store"}, {None})

    def test_a_renamed_repository_is_followed(self):
        self.assertEqual(self.pull("old/name:Q8_0", HF_TOKEN="hf_secret")[0], self.snapshot("old--name") + "/tiny-Q8_0.gguf")

    def test_later_is_tried_again(self):
        self.hub.faults = [("/revision/", 429), ("/tree/", 503), ("signature", 500)]
        path, err = self.pull("test/gguf:Q8_0")
        self.assertEqual(err.count("trying again in 1 s"), 3, err)
        self.assertEqual(pathlib.Path(path).read_bytes(), BIG)

    def test_a_connection_that_ends_is_gone_on_with(self):
        self.hub.faults = [("signature", {"cut": 100_000}), ("signature", {"cut": 50_000})]
        path, _ = self.pull("test/gguf:Q8_0")
        self.assertEqual(pathlib.Path(path).read_bytes(), BIG)
        self.assertEqual(self.hub.ranges(), [None, "bytes=100000-", "bytes=150000-"])
        self.assertEqual(self.hub.large_bytes(), len(BIG))

    def test_a_server_without_ranges(self):
        self.hub.faults = [("signature", {"cut": 100_000}), ("signature", {"ignore_range": True})]
        self.assertEqual(pathlib.Path(self.pull("test/gguf:Q8_0")[0]).read_bytes(), BIG)
        self.assertEqual(self.hub.large_bytes(), len(BIG) + 100_000)

    def test_what_a_killed_one_left_is_used(self):
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.hub.faults = [("signature", {"hold": hold})]
        process = self.start("pull", "test/gguf:Q8_0")
        unfinished = os.path.join(self.cache, "models--test--gguf", "blobs", self.big_id() + ".incomplete")
        deadline = time.monotonic() + 60
        while not os.path.exists(unfinished) or os.path.getsize(unfinished) < len(BIG) // 2:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.assertFalse(os.path.exists(self.snapshot() + "/tiny-Q8_0.gguf"))
        self.assertEqual(pathlib.Path(self.pull("test/gguf:Q8_0")[0]).read_bytes(), BIG)
        self.assertEqual(self.hub.ranges(), [None, f"bytes={len(BIG) // 2}-"])
        self.assertEqual(self.hub.asked[-1].sent, len(BIG) - len(BIG) // 2)
        self.assertEqual(self.blobs(), [self.big_id()])

    def test_an_interrupt_says_how_to_go_on(self):
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.hub.faults = [("signature", {"hold": hold})]
        process = self.start("pull", "test/gguf:Q8_0")
        while not self.blobs():
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (130, ""))
        self.assertIn("the same command goes on where it stopped", err)

    def test_two_at_once_fetch_it_once(self):
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.hub.faults = [("signature", {"hold": hold})]
        first = self.start("pull", "test/gguf:Q8_0")
        while not self.blobs():
            time.sleep(0.02)
        second = self.start("pull", "test/gguf:Q8_0")
        self.assertIn("another process is fetching it; waiting", second.stderr.readline())
        hold.set()
        outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
        self.assertEqual(outputs, [self.snapshot() + "/tiny-Q8_0.gguf\n"] * 2)
        self.assertEqual(self.hub.large_bytes(), len(BIG))


    def test_a_bar_on_a_terminal(self):
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.hub.faults = [("signature", {"hold": hold})]
        terminal, its_end = pty.openpty()
        process = subprocess.Popen([options.weft, "pull", "test/gguf:Q8_0"], env=self.environment, stdout=subprocess.PIPE,
                                   stderr=its_end)
        os.close(its_end)
        while not self.blobs():
            time.sleep(0.02)
        time.sleep(0.5)
        hold.set()
        self.assertEqual(process.communicate(timeout=30)[0].decode(), self.snapshot() + "/tiny-Q8_0.gguf\n")
        drawn = os.read(terminal, 65536).decode()
        os.close(terminal)
        self.assertRegex(drawn, r"\r\x1b\[K\[#+ +\] tiny-Q8_0.gguf: 0\.. MiB of 0\.4 MiB \(\d+%\), .*/s, 0 s left")
        self.assertTrue(drawn.endswith("\r\x1b[K"), drawn)

    def test_through_a_proxy(self):
        variables = {"HF_ENDPOINT": "http://hub.invalid", "http_proxy": self.hub.endpoint, "no_proxy": "localhost"}
        self.assertEqual(pathlib.Path(self.pull("test/gguf:Q8_0", **variables)[0]).read_bytes(), BIG)
        self.assertTrue(self.hub.asked[0].path.startswith("http://hub.invalid/api/models/"))


class Hostile(HubCase):
    def test_wrong_content_is_deleted(self):
        self.hub.faults = [("signature", {"instead": OTHER + BIG[len(OTHER):]})]
        error = self.refused("test/gguf:Q8_0")
        self.assertIn(f"tiny-Q8_0.gguf: what the Hub sent is not what it listed (SHA-256 {self.big_id()}); it has been deleted", error)
        self.assertEqual(self.blobs(), [])
        self.hub.faults = [("resolve.*/config.json", {"instead": b"x" * len(self.hub.repositories["test/tiny"]["config.json"])})]
        self.assertIn("config.json: what the Hub sent is not what it listed (git's id", self.refused("test/tiny"))

    def test_a_wrong_beginning_is_fetched_anew(self):
        self.pull("test/gguf:Q4_K_M")
        blobs = os.path.join(self.cache, "models--test--gguf", "blobs")
        for old in (b"x" * 1000, BIG + b"x"):
            with self.subTest(size=len(old)):
                pathlib.Path(blobs, self.big_id() + ".incomplete").write_bytes(old)
                self.assertEqual(pathlib.Path(self.pull("test/gguf:Q8_0")[0]).read_bytes(), BIG)
                self.assertEqual(self.weft("rm", "test/gguf:Q8_0")[0], 0)

    def test_more_than_was_listed(self):
        self.hub.faults = [("signature", {"instead": BIG + b"x"})]
        self.assertIn("more than the 400000 bytes that the Hub listed", self.refused("test/gguf:Q8_0"))

    def test_more_than_the_disk_has(self):
        self.hub.listed["tiny-Q8_0.gguf"] = {"type": "file", "path": "tiny-Q8_0.gguf", "oid": "0" * 40, "size": 130,
                                             "lfs": {"oid": self.big_id(), "size": 1 << 43, "pointerSize": 130}}
        self.assertIn(f"8192.00 GiB are to come, and {self.cache} has", self.refused("test/gguf:Q8_0", "--force"))
        self.assertEqual(self.hub.large_bytes(), 0)

    def test_answers_without_an_end(self):
        for body, message in ((b" " * (65 << 20), "the answer has more than 67108864 bytes"), (b"[" * 1000, "deep"),
                              (b"{}", "expected a commit")):
            with self.subTest(message=message):
                self.hub.faults = [("/revision/", {"instead": body})]
                self.assertIn(message, self.refused("test/gguf"))

    def test_a_refusal_that_trickles(self):
        self.hub.faults = [("/revision/", {"trickle": 404})]
        self.assertIn("has no such model", self.refused("test/gguf"))
        self.hub.faults = [("/revision/", {"trickle": 503})]
        _, err = self.pull("test/gguf:Q8_0")
        self.assertIn("trying again", err)

    def test_paths_that_lead_out(self):
        for path in ("../../../outside.gguf", "/tmp/outside.gguf", "a\\b.gguf", "a/./b.gguf", "a//b.gguf"):
            with self.subTest(path=path):
                self.hub.listed["tiny-Q8_0.gguf"] = {"type": "file", "path": path, "oid": "0" * 40, "size": 7}
                self.assertIn("the path", self.refused("test/gguf:Q8_0"))
        self.assertFalse(os.path.exists(self.cache))

    def test_redirects(self):
        self.hub.faults = [("/revision/", {"redirect": f"{self.hub.endpoint}/api/models/test/gguf/revision/main"})] * 11
        self.assertIn("more than 10 redirects", self.refused("test/gguf"))
        for url in ("file:///etc/passwd", "ftp://localhost/x", "http://u:p@localhost/x"):
            with self.subTest(url=url):
                self.hub.faults = [("/revision/", {"redirect": url})]
                self.assertIn(url.split(":")[0], self.refused("test/gguf").lower())

    def test_tls(self):
        key = os.path.join(self.home, "key.pem")
        certificate = os.path.join(self.home, "certificate.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=hub", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        with SmallHub(repositories(), tls) as hub:
            self.assertRegex(self.refused("test/gguf:Q8_0", HF_ENDPOINT=hub.endpoint), "(?i)certificate")
            known = {"HF_ENDPOINT": hub.endpoint, "SSL_CERT_FILE": certificate}
            self.assertIn("redirects from https to 'http://localhost", self.refused("test/gguf:Q8_0", **known))
            self.assertEqual(hub.large_bytes(), 0)
            hub.store_url = hub.endpoint + "/none"
            self.assertIn("no such model", self.refused("test/gguf:Q8_0", **known))


class Offline(HubCase):
    NOWHERE = "http://127.0.0.1:9"

    def test_the_cache_has_the_word(self):
        self.assertIn("HF_HUB_OFFLINE forbids to ask the Hub", self.refused("test/gguf", HF_HUB_OFFLINE="1"))
        path, _ = self.pull("test/gguf:Q8_0")
        self.hub.asked.clear()
        for name in ("test/gguf", "test/gguf:Q8_0", f"test/gguf:Q8_0@{COMMIT}"):
            self.assertEqual(self.pull(name, HF_HUB_OFFLINE="1")[0], path)
        self.assertEqual(self.hub.asked, [])
        # Nothing changes what a commit is.
        self.assertEqual(self.pull(f"test/gguf:Q8_0@{COMMIT}")[0], path)
        self.assertEqual(self.hub.asked, [])
        out, err = self.pull("test/gguf:Q8_0", HF_ENDPOINT=self.NOWHERE)
        self.assertEqual(out, path)
        self.assertIn("using what the cache has", err)

    def test_a_server_is_called_after_its_model(self):
        for name, served in (("hf:test/gguf", "tiny-Q4_K_M"), ("hf:test/tiny", "tiny")):
            self.pull(name)
            variables = self.environment | {"HF_HUB_OFFLINE": "1"}
            os.environ.update(variables)
            self.addCleanup(lambda: [os.environ.pop(key) for key in ("HF_HUB_OFFLINE", "HF_HOME", "HF_ENDPOINT") if key in os.environ])
            with WeftServer(options.weft, ["--model", name]) as server:
                status, models = server.request("GET", "/v1/models")
                self.assertEqual((status, models["data"][0]["id"]), (200, served))


class Cache(HubCase):
    def test_models_and_rm(self):
        self.assertIn("there are none", self.weft("models")[2])
        self.pull("test/gguf:Q8_0")
        self.pull("test/gguf:F16")
        self.pull("test/tiny")
        models = json.loads(self.weft("models", "--json")[1])
        self.assertEqual([(model["name"], model["kind"], model["fits"]) for model in models],
                         [("hf:test/gguf:F16", "GGUF F16", True), ("hf:test/gguf:Q8_0", "GGUF Q8_0", True),
                          ("hf:test/tiny", "safetensors", True)])
        self.assertEqual({model["commit"] for model in models}, {COMMIT})
        self.assertEqual(models[1]["bytes"], len(BIG))
        lines = self.weft("models", "--memory", "1MiB")[1].splitlines()
        self.assertRegex(lines[2], r"^hf:test/gguf:Q8_0 +0\.4 MiB +GGUF Q8_0 +01234567  no$")
        self.assertIn("0.4 MiB freed", self.weft("rm", "test/gguf:Q8_0")[2])
        self.assertEqual(self.weft("rm", "test/gguf:Q8_0")[0], 1)
        self.assertEqual(self.weft("rm", "hf:test/gguf")[0], 0)
        self.assertFalse(os.path.exists(os.path.join(self.cache, "models--test--gguf")))
        self.assertEqual([model["name"] for model in json.loads(self.weft("models", "--json")[1])], ["hf:test/tiny"])
        self.assertIn("the cache has nothing of it", self.weft("rm", "test/gguf")[2])


class HuggingfaceHub(HubCase):
    """The Python package, which reads its environment when it is imported."""

    def python(self, code, **variables):
        done = subprocess.run([sys.executable, "-c", "import huggingface_hub as h\n" + code], env=self.environment | variables,
                              capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_finds_what_weft_fetched(self):
        directory, _ = self.pull("test/tiny")
        file, _ = self.pull("test/gguf:Q8_0")
        offline = {"HF_HUB_OFFLINE": "1"}
        self.assertEqual(self.python("print(h.snapshot_download('test/tiny'))", **offline), directory)
        self.assertEqual(self.python("print(h.hf_hub_download('test/gguf', 'tiny-Q8_0.gguf'))", **offline), file)
        self.hub.asked.clear()
        self.assertEqual(self.python("print(h.hf_hub_download('test/gguf', 'tiny-Q8_0.gguf'))"), file)
        self.assertEqual(self.hub.large_bytes(), 0)
        self.assertEqual(self.python("i = h.scan_cache_dir(); print(len(i.repos), len(i.warnings), i.size_on_disk)"),
                         f"2 0 {sum(len(content) for name, content in self.hub.repositories['test/tiny'].items() if os.path.exists(os.path.join(directory, name))) + len(BIG)}")

    def test_weft_finds_what_it_fetched(self):
        directory = self.python("print(h.snapshot_download('test/tiny'))")
        file = self.python("print(h.hf_hub_download('test/gguf', 'tiny-Q8_0.gguf'))")
        self.assertEqual(self.pull("test/tiny", HF_HUB_OFFLINE="1")[0], directory)
        self.assertEqual(self.pull("test/gguf", HF_HUB_OFFLINE="1")[0], file)
        self.hub.asked.clear()
        self.assertEqual(self.pull("test/tiny")[0], directory)
        self.assertEqual(self.pull("test/gguf:Q8_0")[0], file)
        self.assertEqual(self.hub.large_bytes(), 0)
        self.assertEqual(self.weft("rm", "test/gguf:Q8_0")[0], 0)
        self.assertFalse(os.path.exists(file))

    def test_their_locks_are_the_same(self):
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.hub.faults = [("signature", {"hold": hold})]
        code = "import huggingface_hub as h; print(h.hf_hub_download('test/gguf', 'tiny-Q8_0.gguf'))"
        python = subprocess.Popen([sys.executable, "-c", code], env=self.environment, stdout=subprocess.PIPE, text=True)
        while not self.blobs():
            self.assertIsNone(python.poll())
            time.sleep(0.02)
        weft = self.start("pull", "test/gguf:Q8_0")
        self.assertIn("another process is fetching it; waiting", weft.stderr.readline())
        hold.set()
        self.assertEqual(weft.communicate(timeout=60)[0], python.communicate(timeout=60)[0])
        self.assertEqual(self.hub.large_bytes(), len(BIG))


if __name__ == "__main__":
    main("parity", "venv")
