#!/usr/bin/env python3
"""docs/MODELS.md says of every class that Weft serves that it does, and README.md has every name of a GGUF file's family."""

import re
import unittest

import source_tree


class ModelsPageTest(unittest.TestCase):
    def setUp(self):
        table = (source_tree.ROOT / "model/families/families.cc").read_text()
        self.families = re.findall(r'\{"([^"]*)",\s+"([^"]*)",\s+"[^"]*",\s+Describe', table)

    def test_every_served_class_is_listed(self):
        page = (source_tree.ROOT / "docs/MODELS.md").read_text()
        served = page[: page.index("## Refused")]
        self.assertGreater(len(self.families), 40)
        for hf_class in filter(None, (hf_class for _, hf_class in self.families)):
            self.assertIn(f"| `{hf_class}`", served)

    def test_every_gguf_name_is_in_the_readme(self):
        readme = (source_tree.ROOT / "README.md").read_text()
        for gguf, hf_class in self.families:
            if gguf:
                self.assertIn(f"`{gguf}`", readme, f"of {hf_class or gguf}")


if __name__ == "__main__":
    unittest.main()
