#!/usr/bin/env python3
"""Small habits that are cheaper to keep than to restore."""

import re
import unittest

import source_tree

LONGEST_FILE_LINES = 500
TABLES = {"tests/tools/jinja_cases.py"}  # of cases, which may be as many as there are
LARGEST_FILE_BYTES = 9 << 20  # the bundled model is the largest
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
# A part of a JSON value that is gone before the loop begins.
DANGLING_LOOP = re.compile(r"for \([^;{]*\bparse\([^;{]*\)\s*(\[|\.at\()")
MERGE_MARK = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)


class Hygiene(unittest.TestCase):
    def assert_none(self, found, what):
        self.assertEqual(found, [], what + ":\n" + "\n".join(found))

    def test_headers_are_included_once(self):
        headers = [path for path in source_tree.cpp_files() if path.suffix == ".h"]
        self.assertTrue(headers)
        self.assert_none([str(path) for path in headers
                          if not re.search(r"^#pragma once$", source_tree.read(path), re.MULTILINE)],
                         "headers without #pragma once")

    def test_nothing_is_left_unfinished(self):
        found = [f"{path}:{number}: {line.strip()}"
                 for path in source_tree.code_files()
                 for number, line in enumerate(source_tree.read(path).splitlines(), 1)
                 if UNFINISHED.search(line) or MERGE_MARK.search(line)]
        self.assert_none(found, "marks of unfinished work")

    def test_no_loop_over_a_part_of_a_temporary(self):
        found = [str(path) for path in source_tree.cpp_files() if DANGLING_LOOP.search(source_tree.read(path))]
        self.assert_none(found, "loops over a part of what json::parse returns, which does not live as long")

    def test_no_large_files(self):
        found = [str(path) for path in source_tree.project_files()
                 if (source_tree.ROOT / path).stat().st_size > LARGEST_FILE_BYTES]
        self.assert_none(found, f"files over {LARGEST_FILE_BYTES} bytes")

    def test_no_flag_changes_the_bits(self):
        found = [str(path) for path in source_tree.code_files()
                 if path.name == "CMakeLists.txt" or path.suffix == ".cmake"
                 if re.search(r"fast-math|-Ofast|-march=native", source_tree.read(path))]
        self.assert_none(found, "builds with flags that change the bits of a result")

    def test_no_long_files(self):
        lines = {str(path): source_tree.read(path).count("\n") for path in source_tree.code_files()}
        found = [f"{path}: {count} lines: one subject, or two?" for path, count in lines.items()
                 if count > LONGEST_FILE_LINES and path not in TABLES]
        self.assert_none(found, f"files of more than {LONGEST_FILE_LINES} lines")


if __name__ == "__main__":
    unittest.main()
