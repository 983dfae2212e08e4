// Prints docs/PARITY.md: how far Weft's logits are from transformers', measured on the fixtures.
//   cmake --build --preset release --target parity_report && build/release/bin/parity_report >
//   docs/PARITY.md
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string>

#include "tests/model/encoder_fixture.h"

namespace weft {
namespace {

struct Errors {
  double largest = 0;  // relative, of a whole prompt with its continuation
  int agreeing = 0;    // positions with the reference's likeliest token
  int positions = 0;
};

Errors Measure(const std::string& fixture, const std::string& file, Arithmetic arithmetic) {
  Errors errors;
  RunnableModel model(ParityPath(fixture, file), {.arithmetic = arithmetic});
  for (const ParityCase& parity : ReadParityCases(fixture)) {
    for (const size_t chunk_size : {1000, 1, 7}) {
      const auto logits = model.RunSequence(parity.tokens(), chunk_size);
      errors.largest = std::max(errors.largest, RelativeError(logits, parity.logits));
      for (size_t row = 0; row < logits.size(); ++row) {
        errors.agreeing += Argmax(logits[row]) == Argmax(parity.logits[row]) ? 1 : 0;
        ++errors.positions;
      }
    }
  }
  return errors;
}

std::string Cell(const std::string& fixture, const std::string& file, Arithmetic arithmetic) {
  const Errors errors = Measure(fixture, file, arithmetic);
  return fmt::format("{:.1e}, {}/{}", errors.largest, errors.agreeing, errors.positions);
}

std::string EncoderCell(const std::string& fixture, const std::string& file,
                        Arithmetic arithmetic) {
  RunnableModel model(ParityPath(fixture, file), {.arithmetic = arithmetic});
  double largest = 0;
  for (const Text& text : ReadTexts(fixture)) {
    largest = std::max(largest, RelativeError(Encode(model, {text}).front(), text.hidden));
  }
  return fmt::format("{:.1e}", largest);
}

std::string LabelCell(const std::string& fixture, const std::string& file, Arithmetic arithmetic) {
  RunnableModel model(ParityPath(fixture, file), {.arithmetic = arithmetic});
  const Rows logits = LabelLogits(model, ReadTexts(fixture));
  return fmt::format("{:.1e}", RelativeError(logits, ReadExpected(fixture, "logits")));
}

std::string SparseCell(const std::string& fixture, const std::string& file, Arithmetic arithmetic) {
  RunnableModel model(ParityPath(fixture, file), {.arithmetic = arithmetic});
  const Rows weights = SparseWeights(model, ReadTexts(fixture));
  return fmt::format("{:.1e}", RelativeError(weights, ReadExpected(fixture, "weights")));
}

// An empty name: the fixture has no such file.
void PrintRow(
    const std::string& fixture, const std::array<std::string, 2>& files,
    const std::function<std::string(const std::string&, const std::string&, Arithmetic)>& cell) {
  std::string row = "| " + fixture + " |";
  for (const Arithmetic arithmetic : {Arithmetic::kF32, Arithmetic::kBF16}) {
    for (const std::string& file : files) {
      row += file.empty() ? " - |" : " " + cell(fixture, file, arithmetic) + " |";
    }
  }
  fmt::print("{}\n", row);
}

void Print() {
  fmt::print(
      "# Parity with transformers\n\n"
      "Each fixture is a tiny random checkpoint with the logits that Hugging Face transformers\n"
      "computes for it in float32 (`tests/tools/make_parity_fixtures.py`). Weft reads it as GGUF "
      "and\n"
      "as a Hugging Face directory.\n"
      "A cell gives the relative error (L2 of the difference over L2 of the logits; the largest\n"
      "over prompts, and over prefill, token by token and chunks of seven) and at how many\n"
      "positions the likeliest token is the reference's. The tests allow 1e-4 (`f32`) and 2e-2\n"
      "(`bf16`) and no other token.\n\n"
      "| fixture | f32, GGUF | f32, safetensors | bf16, GGUF | bf16, safetensors |\n"
      "|---|---|---|---|---|\n");
  for (const std::string fixture : kParityFixtures) PrintRow(fixture, {"model.gguf", "hf"}, Cell);
  for (const std::string fixture : kParityFixturesWithoutGguf) PrintRow(fixture, {"", "hf"}, Cell);
  fmt::print(
      "\nOf encoders the hidden states of all positions are compared, the largest error over three "
      "texts.\n"
      "Where transformers has no class (Jina's BERT, Nomic's mixture) the reference is a "
      "definition "
      "in\n"
      "`tests/tools/parity_definitions.py`, and llama.cpp's converter made the GGUF.\n\n"
      "| fixture | f32, GGUF | f32, safetensors | bf16, GGUF | bf16, safetensors |\n"
      "|---|---|---|---|---|\n");
  for (const std::string fixture : kEncoderFixtures) {
    PrintRow(fixture, {"model.gguf", "hf"}, EncoderCell);
  }
  for (const std::string fixture : kEncoderFixturesWithoutGguf) {
    PrintRow(fixture, {"", "hf"}, EncoderCell);
  }
  fmt::print(
      "\nOf classifiers and rankers the logits of labels are compared, over three texts; of heads "
      "for masked tokens the weights\n"
      "of tokens, log(1 + the largest logit).\n\n"
      "| fixture | f32, GGUF | f32, safetensors | bf16, GGUF | bf16, safetensors |\n"
      "|---|---|---|---|---|\n");
  for (const std::string fixture : kClassifierFixtures) PrintRow(fixture, {"", "hf"}, LabelCell);
  PrintRow("qwen3_reranker", {"model.gguf", ""}, LabelCell);
  PrintRow("roberta_ranker", {"model.gguf", "hf"}, LabelCell);
  for (const std::string fixture : kMaskedFixtures) PrintRow(fixture, {"", "hf"}, SparseCell);
  fmt::print(
      "\nWhat each fixture is there for is said in `tests/model/parity_fixture.h` and "
      "`encoder_fixture.h`. A dash: llama.cpp\n"
      "has no files of that family, or none that tell what it computes. This page is written by\n"
      "`build/release/bin/parity_report > docs/PARITY.md` (target `parity_report`).\n");
}

}  // namespace
}  // namespace weft

int main() { weft::Print(); }
