// Prints the table of docs/ACCURACY.md about --weights: how far a model whose matrices are
// quantised while it is loaded is from the same model in float32.
//   cmake --build --preset release --target weights_report
//   build/release/bin/weights_report TEXT TOKENS DIRECTORY [MODEL.gguf ...]
// without models: the bundled one and stories260K (optional data). The directory keeps
//   NAME-plain.gguf      the model with its matrices in float32
//   NAME.tokens          int32: the windows' length, then their tokens; each window starts afresh
// and where another engine's quantiser has left what it made of that, of these types or of those
// that Weft only reads, two columns show it too, and a third what that engine itself computes with
// it:
//   NAME-TYPE-other.gguf
//   NAME-TYPE-other.logits  float32: a row of the vocabulary's size for each token
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "model/formats/quantize.h"
#include "tests/data_paths.h"
#include "tests/model/accuracy/accuracy.h"
#include "tests/model/accuracy/quantize.h"
#include "tests/model/accuracy/report_files.h"
#include "tests/read_file.h"

namespace weft {
namespace {

constexpr size_t kWindowLength = 256;
constexpr DataType kTypes[] = {DataType::kQ8_0, DataType::kQ6_K, DataType::kQ5_K, DataType::kQ4_K,
                               DataType::kQ4_0};

std::string Cell(const Divergence& divergence) {
  return fmt::format(" {:.1e} ± {:.0e}, {:.2f}% |", divergence.mean_kl, divergence.standard_error,
                     100 * divergence.same_top);
}

// float32 arithmetic, which shows the quantiser alone, and int8, in which such weights are served.
std::string Cells(const std::string& path, std::optional<DataType> type, const Windows& windows,
                  const Logits& reference) {
  std::string cells;
  for (const Arithmetic arithmetic : {Arithmetic::kF32, Arithmetic::kInt8}) {
    Checkpoint checkpoint = LoadOrThrow(path);
    if (type) {
      QuantizeMatrices(checkpoint.tensors, *type, checkpoint.spec.head.linear.weights);
    }
    const RunOptions options = {.arithmetic = arithmetic,
                                .isa = ChooseIsa().value(),
                                .thread_count = 2,
                                .block_count = kWindowLength / 32};
    cells += Cell(DivergenceFrom(reference, LogitsOf(std::move(checkpoint), options, windows)));
  }
  return cells;
}

// Of what another engine's quantiser made, and what that engine computes with it.
std::string OtherCells(const std::string& stem, const Windows& windows, const Logits& reference) {
  const std::string path = stem + ".gguf";
  if (!std::filesystem::exists(path)) return " | | |";
  const std::optional<Logits> logits = ReadLogits(stem + ".logits", reference);
  return Cells(path, std::nullopt, windows, reference) +
         (logits ? Cell(DivergenceFrom(reference, *logits)) : " |");
}

void PrintRows(const std::string& source_path, const std::string& text, size_t token_count,
               const std::string& directory) {
  const std::string name = std::filesystem::path(source_path).stem();
  const std::string plain = fmt::format("{}/{}-plain.gguf", directory, name);
  const std::string source = ReadFile(source_path);
  std::ofstream(plain, std::ios::binary)
      << AsText(RequantizeGguf(std::as_bytes(std::span(source)), DataType::kF32));
  const Windows windows = CutIntoWindows(*LoadOrThrow(plain).tokenizer, text, kWindowLength,
                                         token_count / kWindowLength);
  const Logits reference = LogitsOf(plain,
                                    {.arithmetic = Arithmetic::kF32,
                                     .isa = ChooseIsa().value(),
                                     .thread_count = 2,
                                     .block_count = kWindowLength / 32},
                                    windows);
  WriteTokens(windows, fmt::format("{}/{}.tokens", directory, name));
  for (const DataType type : kTypes) {
    Checkpoint checkpoint = LoadOrThrow(plain);
    QuantizeMatrices(checkpoint.tensors, type, checkpoint.spec.head.linear.weights);
    fmt::print("| {} | {} ({}) |{}{}\n", name, TraitsOf(type).name,
               DescribeConversion(checkpoint.tensors), Cells(plain, type, windows, reference),
               OtherCells(fmt::format("{}/{}-{}-other", directory, name, TraitsOf(type).name),
                          windows, reference));
    std::fflush(stdout);
  }
  for (int i = 0; i < kWeightTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    const std::string stem = fmt::format("{}/{}-{}-other", directory, name, TraitsOf(type).name);
    if (std::ranges::count(kTypes, type) > 0 || !std::filesystem::exists(stem + ".gguf")) continue;
    fmt::print("| {} | {} | | |{}\n", name, TraitsOf(type).name,
               OtherCells(stem, windows, reference));
    std::fflush(stdout);
  }
}

void Print(const std::string& text, size_t token_count, const std::string& directory,
           std::vector<std::string> models) {
  if (models.empty()) {
    models.push_back(SourcePath("model/demo/weft-demo.gguf"));
    const std::string stories = SharedDataPath("models/stories260K.gguf");
    if (std::filesystem::exists(stories)) models.push_back(stories);
  }
  fmt::print(
      "| model | --weights | f32 | int8 | other, f32 | other, int8 | other engine |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const std::string& model : models) PrintRows(model, text, token_count, directory);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: {} TEXT TOKENS DIRECTORY [MODEL.gguf ...]\n", argv[0]);
    return 2;
  }
  try {
    weft::Print(weft::ReadFile(argv[1]), std::stoul(argv[2]), argv[3], {argv + 4, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "weights_report: {}\n", error.what());
    return 1;
  }
}
