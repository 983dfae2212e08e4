#!/usr/bin/env python3
"""Who may include whom: the rooms of docs/ARCHITECTURE.md, checked on every #include."""

import re
import sys
import unittest

import source_tree

ROOMS = {
    "base": {"base"},
    "model": {"base", "model"},
    "engine": {"base", "model", "engine"},
    "proto": {"base", "proto"},
    "grammar": {"base", "grammar"},
    "server": {"base", "model", "engine", "proto", "grammar", "server"},
    "loadtest": {"base", "proto", "loadtest"},
}
WIRES_EVERY_ROOM = {"server/main.cc"}

# (what, pattern of the included path, where it is allowed: prefixes of the including file)
LIBRARIES = [
    ("sockets", r"boost/(asio|beast)|sys/socket\.h|netinet/|arpa/inet\.h|netdb\.h", ["server/", "loadtest/"]),
    # model: files that are JSON themselves (config.json, tokenizer.json, the safetensors header)
    ("JSON", r"nlohmann/", ["proto/", "grammar/schema/", "server/", "loadtest/", "model/formats/", "model/tokenizer/"]),
    ("the client of HTTP", r"curl/", ["server/hub/", "server/commands/chat/"]),
    ("lines that are typed", r"histedit\.h", ["server/commands/chat/"]),
    ("metrics", r"prometheus/", ["server/"]),
    ("the database", r"sqlite3\.h", ["server/batches/"]),
    ("TLS", r"openssl/ssl", ["server/", "loadtest/"]),
    ("command lines", r"CLI/", ["server/", "loadtest/"]),
    ("BLAS", r"(openblas/)?cblas\.h", ["model/"]),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def violations(path, text, exists):
    """The includes of the file `path` that break a rule, one line each.

    `exists` tells whether a path relative to the project's root is one of its files.
    """
    room = path.split("/")[0]
    if room not in ROOMS:
        return
    for kind, included in INCLUDE.findall(text):
        if kind == '"':
            other = included.split("/")[0]
            if other not in ROOMS or not exists(included):
                yield f'{path}: "{included}" is not "room/..." of a file in the project'
            elif other not in ROOMS[room] and path not in WIRES_EVERY_ROOM:
                yield f'{path}: {room} must not know {other} ("{included}")'
            continue
        if included.split("/")[0] in ROOMS:
            yield f"{path}: <{included}> is the project's own: write it in quotes"
        for what, pattern, allowed in LIBRARIES:
            if re.match(pattern, included) and not path.startswith(tuple(allowed)):
                yield f"{path}: {what} (<{included}>) belong in {', '.join(allowed)}"


class IncludeDirections(unittest.TestCase):
    def broken(self, path, include):
        return list(violations(path, f"#pragma once\n#include {include}\n", lambda _: True))

    def test_rules_catch_what_they_forbid(self):
        for path, include in [
                ("base/log.h", '"model/tensor.h"'),
                ("model/tensor.h", '"engine/request.h"'),
                ("engine/engine.cc", '"proto/json.h"'),
                ("engine/engine.cc", "<nlohmann/json.hpp>"),
                ("engine/engine.cc", "<boost/asio/ip/tcp.hpp>"),
                ("model/transformer.cc", "<nlohmann/json.hpp>"),
                ("proto/completion.cc", '"engine/request.h"'),
                ("loadtest/client.cc", '"server/http/session.h"'),
                ("server/http/session.cc", '"loadtest/client.h"'),
                ("server/http/session.cc", '"session.h"'),
        ]:
            self.assertTrue(self.broken(path, include), f"{path} may include {include}")

    def test_rules_allow_what_they_should(self):
        for path, include in [
                ("server/main.cc", '"loadtest/command.h"'),
                ("server/http/session.cc", '"engine/engine.h"'),
                ("loadtest/client.cc", '"proto/sse.h"'),
                ("model/formats/safetensors.cc", "<nlohmann/json.hpp>"),
                ("engine/engine.cc", "<vector>"),
        ]:
            self.assertEqual(self.broken(path, include), [])

    def test_project_keeps_them(self):
        files = source_tree.cpp_files()
        self.assertGreater(len(files), 20, "the project's files were not found")
        known = {str(path) for path in source_tree.project_files()}
        found = [line for path in files
                 for line in violations(str(path), source_tree.read(path), known.__contains__)]
        self.assertEqual(found, [], "\n" + "\n".join(found))


if __name__ == "__main__":
    sys.exit(unittest.main())
