#!/usr/bin/env python3
"""What lies in third_party/ is what its pages say: unchanged files of the versions that are named."""

import hashlib
import re
import unittest

import source_tree

FOLDER = source_tree.ROOT / "third_party"


class ThirdParty(unittest.TestCase):
    def test_files_are_what_their_pages_say(self):
        listed = dict(line.split("\t")[:2] for line in (FOLDER / "npm.tsv").read_text().splitlines())
        self.assertEqual(sorted(listed), sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))
        for name, version in listed.items():
            with self.subTest(name=name):
                page = (FOLDER / name / "README.md").read_text()
                self.assertTrue(page.startswith(f"npm package {name} {version}, "), page)
                digests = {file: digest for digest, file in re.findall(r"^    ([0-9a-f]{64})  (\S+)$", page, re.MULTILINE)}
                files = {path.name for path in (FOLDER / name).iterdir()} - {"README.md", "LICENSE"}
                self.assertEqual(set(digests), files)
                self.assertTrue((FOLDER / name / "LICENSE").is_file())
                for file, digest in digests.items():
                    self.assertEqual(hashlib.sha256((FOLDER / name / file).read_bytes()).hexdigest(), digest, file)


if __name__ == "__main__":
    unittest.main()
