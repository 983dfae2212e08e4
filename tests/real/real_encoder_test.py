"""A real sentence encoder: similarities of pairs against sentence-transformers', and each arithmetic's vectors against float32's:
`real_encoder_test.py --weft BINARY --shared DIRECTORY`. make_similarities.py made what is compared with."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import model_packages  # noqa: E402
import real_encoder  # noqa: E402
import real_model  # noqa: E402, F401  for the path of the modules below
from client_packages import skip  # noqa: E402
from harness import main, options  # noqa: E402

ARITHMETICS = {  # options of `weft embed`; the least cosine that a sentence's vector may have with float32's
    "bf16": ([], 0.9999),
    "int8": (["--weights", "q8_0"], 0.998),
    "int8, cache in 8 bits": (["--weights", "q8_0", "--kv-type", "q8"], 0.998),
}
LEAST_SPEARMAN = 0.999

models = ""  # the directory of the model files
sentences = []


def install():
    global models, sentences
    sentences = real_encoder.read_sentences(options.shared)
    if sentences is None:
        skip("a real encoder: the shared WikiText file is not beside the clone")
    models, reason = model_packages.find()
    if models is None:
        skip(f"a real encoder: {reason}")


class RealEncoder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reference = real_encoder.read_reference()
        cls.float32 = real_encoder.embed(options.weft, models, sentences, ["--compute", "f32"])

    def test_float32_is_sentence_transformers(self):
        self.assertEqual(real_encoder.digest(sentences), self.reference["sentences_sha256"], "not the reference's sentences")
        differences = [abs(ours - theirs) for ours, theirs
                       in zip(real_encoder.similarities(self.float32), self.reference["similarities"], strict=True)]
        self.assertLess(max(differences), 1e-5)

    def test_other_arithmetics_rank_alike(self):
        for name, (arguments, least_cosine) in ARITHMETICS.items():
            with self.subTest(name):
                vectors = real_encoder.embed(options.weft, models, sentences, arguments)
                cosines = [real_encoder.cosine(ours, exact) for ours, exact in zip(vectors, self.float32, strict=True)]
                spearman = real_encoder.spearman(real_encoder.similarities(vectors), self.reference["similarities"])
                print(f"measured: {real_encoder.DIRECTORY} {name}: Spearman {spearman:.5f}, cosine to float32 "
                      f"{sum(cosines) / len(cosines):.6f} in the mean, {min(cosines):.6f} at least", flush=True)
                self.assertGreaterEqual(spearman, LEAST_SPEARMAN)
                self.assertGreaterEqual(min(cosines), least_cosine)


if __name__ == "__main__":
    main("shared", prepare=install)
