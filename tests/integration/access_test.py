"""Keys, TLS and Unix sockets as users meet them: curl and the official OpenAI client against a weft process with a certificate of
an authority made here, files that change under SIGHUP, and starts that must fail:
`access_test.py --weft BINARY --model MODEL --venv DIRECTORY`."""

import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import unittest

from client_packages import skip
from harness import main, options
from weft_server import ProcessLog, await_match, await_port

ALICE = "sk-alice-0123456789abcdef"
BOB = "sk-bob-0123456789abcdef"


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Authority:
    """A certificate authority of the test's own, in a directory."""

    def __init__(self, directory):
        self.directory = directory
        self.path = self.file("ca.pem")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=Test CA",
                "-keyout", self.file("ca.key"), "-out", self.path)

    def file(self, name):
        return os.path.join(self.directory, name)

    def issue(self, serial):
        """Writes cert.pem, the chain, and key.pem for localhost."""
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
                "-keyout", self.file("key.pem"), "-out", self.file("request.pem"))
        with open(self.file("extensions"), "w", encoding="utf-8") as file:
            file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", self.file("request.pem"), "-CA", self.path, "-CAkey", self.file("ca.key"), "-days", "2",
                "-set_serial", str(serial), "-extfile", self.file("extensions"), "-out", self.file("leaf.pem"))
        with open(self.file("cert.pem"), "w", encoding="utf-8") as chain:
            for part in (self.file("leaf.pem"), self.path):
                with open(part, encoding="utf-8") as file:
                    chain.write(file.read())

    def write_keys(self, text):
        with open(self.file("keys"), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)


class SecureServer:
    """weft serve with keys, TLS and a Unix socket."""

    def __init__(self, authority):
        self.authority = authority
        self.socket = authority.file("socket")
        self.log = ProcessLog()
        self.process = subprocess.Popen(
            [options.weft, "serve", "--model", options.model, "--served-model-name", "tested", "--port", "0",
             "--api-key-file", authority.file("keys"), "--tls-cert", authority.file("cert.pem"), "--tls-key", authority.file("key.pem"),
             "--unix-socket", self.socket], stdout=self.log.file, stderr=subprocess.STDOUT)
        self.port = await_port(self.process, self.log)

    def wait_for(self, text, count=1):
        await_match(self.process, self.log, rf"(?s)({re.escape(text)}.*?){{{count}}}")

    def stop(self):
        """It must end as it should, and have told no key."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        output = self.log.text()
        self.log.close()
        if code != 0 or ALICE in output or BOB in output:
            raise AssertionError(f"ended with {code}, or told a key:\n{output}")

    def curl(self, path, *arguments, scheme="https", body=None):
        """(status, parsed body)"""
        command = ["curl", "-sS", "--cacert", self.authority.path, "-w", "\n%{http_code}", *arguments]
        if body is not None:
            command += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        result = subprocess.run([*command, f"{scheme}://localhost:{self.port}{path}"], check=True, capture_output=True, text=True,
                                timeout=120)
        text, _, status = result.stdout.rpartition("\n")
        return int(status), json.loads(text) if text.startswith("{") else text

    def serial(self):
        context = ssl.create_default_context(cafile=self.authority.path)
        import socket
        with socket.create_connection(("localhost", self.port)) as raw, context.wrap_socket(raw, server_hostname="localhost") as tls:
            return int(tls.getpeercert()["serialNumber"], 16)


class Access(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.authority.issue(1)
        cls.authority.write_keys(f"alice:{ALICE}\nbob:{BOB}\n")
        cls.server = SecureServer(cls.authority)
        cls.addClassCleanup(cls.server.stop)

    def client(self, key=ALICE):
        import httpx
        import openai

        context = ssl.create_default_context(cafile=self.authority.path)
        return openai.OpenAI(base_url=f"https://localhost:{self.server.port}/v1", api_key=key, max_retries=0,
                             http_client=httpx.Client(verify=context))

    def test_curl(self):
        server = self.server
        self.assertEqual(server.curl("/health"), (200, {"status": "ok"}))
        status, refusal = server.curl("/v1/models")
        self.assertEqual((status, refusal["error"]["code"]), (401, "invalid_api_key"))
        for header in (f"Authorization: Bearer {ALICE}", f"x-api-key: {BOB}"):
            self.assertEqual(server.curl("/v1/models", "-H", header)[0], 200)
        status, text = server.curl("/v1/completions", "-N", "-H", f"x-api-key: {ALICE}",
                                   body={"prompt": "Once", "max_tokens": 8, "stream": True})
        self.assertEqual(status, 200)
        self.assertTrue(text.rstrip().endswith("data: [DONE]"))
        status, refusal = server.curl("/health", scheme="http")
        self.assertEqual((status, refusal["error"]["code"]), (400, "tls_required"))

    def test_curl_on_the_unix_socket(self):
        status, _ = self.server.curl("/v1/models", "--unix-socket", self.server.socket, scheme="http")
        self.assertEqual(status, 401)
        status, models = self.server.curl("/v1/models", "--unix-socket", self.server.socket, "-H", f"x-api-key: {BOB}", scheme="http")
        self.assertEqual((status, models["data"][0]["id"]), (200, "tested"))

    def test_openai_client(self):
        import openai

        with self.client() as client:
            answer = client.chat.completions.create(model="tested", messages=[{"role": "user", "content": "Hello"}], max_tokens=8)
            self.assertEqual(answer.usage.completion_tokens, 8)
            stream = client.chat.completions.create(model="tested", messages=[{"role": "user", "content": "Hello"}], max_tokens=8,
                                                    temperature=0, stream=True)
            self.assertTrue(any(chunk.choices[0].delta.content for chunk in stream))
        with self.client("sk-not-a-key-0123456789") as client, self.assertRaises(openai.AuthenticationError) as wrong:
            client.models.list()
        self.assertEqual(wrong.exception.code, "invalid_api_key")

    def test_embeddings(self):
        with self.client() as client:
            texts = ["a fox in the wood", "the king's three daughters"]
            by_default = client.embeddings.create(model="tested", input=texts)  # the client asks for base64
            as_floats = client.embeddings.create(model="tested", input=texts, encoding_format="float")
            for one, other in zip(by_default.data, as_floats.data):
                self.assertEqual(len(one.embedding), len(other.embedding))
                self.assertAlmostEqual(sum(x * x for x in one.embedding), 1, places=5)
                for a, b in zip(one.embedding, other.embedding):
                    self.assertAlmostEqual(a, b, places=7)
            self.assertNotEqual(by_default.data[0].embedding, by_default.data[1].embedding)
            alone = client.embeddings.create(model="tested", input=texts[1])
            self.assertEqual(alone.data[0].embedding, by_default.data[1].embedding)
            self.assertEqual(len(client.embeddings.create(model="tested", input="a", dimensions=7).data[0].embedding), 7)

    def test_reload(self):
        server = self.server
        self.assertEqual(server.serial(), 1)
        self.authority.issue(2)
        self.authority.write_keys("carol:sk-carol-0123456789abcdef\n")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("TLS: the certificate", 2)
        self.assertEqual(server.serial(), 2)
        self.assertEqual(server.curl("/v1/models", "-H", f"x-api-key: {ALICE}")[0], 401)
        self.assertEqual(server.curl("/v1/models", "-H", "x-api-key: sk-carol-0123456789abcdef")[0], 200)
        # What is broken changes nothing.
        self.authority.write_keys("carol\n")
        with open(self.authority.file("cert.pem"), "w", encoding="utf-8") as file:
            file.write("nothing\n")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("the certificate stays as it was")
        self.assertIn("keys:1: expected name:key, found no colon", server.log.text())
        self.assertEqual(server.serial(), 2)
        self.assertEqual(server.curl("/v1/models", "-H", "x-api-key: sk-carol-0123456789abcdef")[0], 200)
        self.authority.issue(1)
        self.authority.write_keys(f"alice:{ALICE}\nbob:{BOB}\n")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("TLS: the certificate", 3)


class Starts(unittest.TestCase):
    """What is wrong with the files is one line, before the model is loaded."""

    def refusal(self, *arguments):
        result = subprocess.run([options.weft, "serve", "--model", options.model, "--port", "0", *arguments], capture_output=True,
                                text=True, timeout=60, check=False)
        self.assertNotEqual(result.returncode, 0)
        lines = [line for line in result.stderr.splitlines() if line.startswith("weft serve: ")]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertNotIn("kernels", result.stderr)
        return lines[0]

    def test_refusals(self):
        with tempfile.TemporaryDirectory() as directory:
            authority = Authority(directory)
            authority.issue(1)
            certificate, key = authority.file("cert.pem"), authority.file("key.pem")
            self.assertIn("does not belong to", self.refusal("--tls-cert", certificate, "--tls-key", authority.file("ca.key")))
            self.assertIn("no certificate in it", self.refusal("--tls-cert", key, "--tls-key", key))
            self.assertIn("No such file", self.refusal("--tls-cert", certificate, "--tls-key", directory + "/absent"))
            self.assertIn("--tls-key", self.refusal("--tls-cert", certificate))
            authority.write_keys("alice:short\n")
            self.assertIn("keys:1: the key of 'alice' has 5 characters", self.refusal("--api-key-file", authority.file("keys")))


def find_tools():
    for tool in ("openssl", "curl"):
        if shutil.which(tool) is None:
            skip(f"there is no {tool} here")


if __name__ == "__main__":
    main("model", "venv", prepare=find_tools)
