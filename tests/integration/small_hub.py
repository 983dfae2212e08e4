"""A small Hugging Face Hub: what `weft pull` and huggingface_hub ask of the real one, on two ports, as the real one has its large
files on another host. It fails as it is told, and keeps what it was asked."""

import contextlib
import hashlib
import http.server
import json
import re
import threading
import time
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = (".gguf", ".safetensors", ".bin")
PAGE = 3  # files of a page of a tree


def blob_id(path, content):
    """The name of a content: of large files their SHA-256, of others git's."""
    if path.endswith(LARGE):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class SmallHub:
    """`repositories`: {"org/name": {path: content}}. A context manager.

    `tokens`: {"org/name": token} of those that are gated. `listed`: {path: entry} put into trees in the place of what is there.
    `faults`: [(pattern of a path, fault)], each for one request: an integer status, {"cut": n} (the connection ends after n bytes),
    {"hold": event} (half of it, then waits), {"instead": content}, {"redirect": url}, {"ignore_range": True}.
    `asked`: a Request each."""

    def __init__(self, repositories, tls=None):
        self.repositories = repositories
        self.tokens = {}
        self.listed = {}
        self.faults = []
        self.asked = []
        self.lock = threading.Lock()
        self.tls = tls
        self.hub = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler(HubHandler))
        self.store = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler(StoreHandler))
        if tls:
            self.hub.socket = tls.wrap_socket(self.hub.socket, server_side=True)
        self.endpoint = f"http{'s' if tls else ''}://127.0.0.1:{self.hub.server_port}"
        self.store_url = f"http://localhost:{self.store.server_port}"

    def handler(self, kind):
        return type(kind.__name__, (kind,), {"small": self})

    def __enter__(self):
        for server in (self.hub, self.store):
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        for server in (self.hub, self.store):
            server.shutdown()
            server.server_close()

    def fault(self, path):
        with self.lock:
            for i, (pattern, fault) in enumerate(self.faults):
                if re.search(pattern, path):
                    del self.faults[i]
                    return fault
        return None

    def contents(self):
        return {blob_id(path, content): content for files in self.repositories.values() for path, content in files.items()}

    def large_bytes(self):
        """Bytes of large files that were sent."""
        return sum(request.sent for request in self.asked if request.server == "store")

    def ranges(self):
        return [request.headers.get("Range") for request in self.asked if request.server == "store"]


class Request:
    def __init__(self, server, method, path, headers):
        self.server, self.method, self.path, self.headers = server, method, path, headers
        self.sent = 0  # bytes of the body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    small = None
    server_name = ""

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.request_seen = Request(self.server_name, self.command, self.path, dict(self.headers))
        self.small.asked.append(self.request_seen)
        fault = self.small.fault(self.path)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if isinstance(fault, int):
                self.answer(fault, {"Retry-After": "1"} if fault == 429 else {})
            elif fault and "trickle" in fault:
                self.trickle(fault["trickle"])
            elif fault and "redirect" in fault:
                self.answer(302, {"Location": fault["redirect"]})
            else:
                self.answer_file_or_api(fault or {})

    def trickle(self, status):
        """An answer whose body comes byte by byte, and has no end as long as somebody reads it."""
        self.send_response(status)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.close_connection = True
        while True:
            self.send(b"x")
            time.sleep(0.01)

    def answer(self, status, headers=(), body=b"", fault=None):
        fault = fault or {}
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if "cut" in fault:
            self.send(body[:fault["cut"]])
            self.close_connection = True
            self.connection.close()
            return
        if "hold" in fault:
            self.send(body[:len(body) // 2])
            fault["hold"].wait(60)
            body = body[len(body) // 2:]
        self.send(body)

    def send(self, body):
        self.wfile.write(body)
        self.wfile.flush()
        self.request_seen.sent += len(body)


class StoreHandler(Handler):
    """Large files, by their SHA-256."""

    server_name = "store"

    def answer_file_or_api(self, fault):
        content = self.small.contents().get(self.path.split("/")[-1].split("?")[0])
        if content is None:
            self.answer(404)
            return
        content = fault.get("instead", content)
        begin = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if begin is None or fault.get("ignore_range"):
            self.answer(200, {}, content, fault)
        elif int(begin[1]) >= len(content):
            self.answer(416)
        else:
            first = int(begin[1])
            self.answer(206, {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"}, content[first:], fault)


class HubHandler(Handler):
    server_name = "hub"

    def answer_file_or_api(self, fault):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        parts = urllib.parse.unquote(url.path).strip("/").split("/")
        is_api = parts[:2] == ["api", "models"]
        name = "/".join(parts[2:4] if is_api else parts[:2])
        if name == "old/name":  # renamed
            self.answer(307, {"Location": self.path.replace("old/name", "test/gguf")})
            return
        files = self.small.repositories.get(name)
        if files is None:
            self.answer(401, {"X-Error-Code": "RepoNotFound"})
            return
        token = self.small.tokens.get(name)
        if token and self.headers.get("Authorization") != f"Bearer {token}":
            self.answer(403 if "Authorization" in self.headers else 401, {"X-Error-Code": "GatedRepo"})
            return
        rest = parts[4:] if is_api else parts[2:]
        if is_api and "instead" in fault:
            self.answer(200, {}, fault["instead"])
        elif len(rest) > 1 and rest[1] not in ("main", COMMIT):
            self.answer(404, {"X-Error-Code": "RevisionNotFound"})
        elif is_api and rest[:1] == ["tree"]:
            self.answer_tree(name, files, int(query.get("cursor", ["0"])[0]))
        elif is_api:
            self.answer_json({"id": name, "sha": COMMIT, "private": False, "siblings": [{"rfilename": path} for path in files]})
        else:
            self.answer_resolved(files, "/".join(rest[2:]), fault)

    def answer_json(self, value, headers=()):
        self.answer(200, {"Content-Type": "application/json", **dict(headers)}, json.dumps(value).encode())

    def answer_tree(self, name, files, cursor):
        entries = []
        for path, content in files.items():
            entry = {"type": "file", "path": path, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
            if path.endswith(LARGE):
                entry["lfs"] = {"oid": blob_id(path, content), "size": len(content), "pointerSize": 130}
            else:
                entry["oid"] = blob_id(path, content)
            entries.append(self.small.listed.get(path, entry))
        more = f"{self.small.endpoint}/api/models/{name}/tree/{COMMIT}?recursive=true&cursor={cursor + PAGE}"
        self.answer_json(entries[cursor:cursor + PAGE], {"Link": f'<{more}>; rel="next"'} if cursor + PAGE < len(entries) else {})

    def answer_resolved(self, files, path, fault):
        if path not in files:
            self.answer(404, {"X-Error-Code": "EntryNotFound"})
            return
        content = files[path]
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{blob_id(path, content)}"'}
        if path.endswith(LARGE):
            headers |= {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(len(content)),
                        "Location": f"{self.small.store_url}/{blob_id(path, content)}?signature=x"}
            self.answer(302, headers)
        else:
            self.answer(200, headers, fault.get("instead", content), fault)
