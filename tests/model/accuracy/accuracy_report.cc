// Prints the table of docs/ACCURACY.md: how far each definition of the arithmetic is from float32,
// on the same weights, a row a model and weight type.
//   cmake --build --preset release --target accuracy_report
//   build/release/bin/accuracy_report TEXT [DIRECTORY [MODEL.gguf ...]]
// The models are those given, as they are, or the bundled one, stories260K (optional data) and the
// parity fixtures, requantised.
// With a directory, that keeps what another engine needs to be compared on the same files:
//   MODEL-TYPE.gguf  the model
//   MODEL.tokens     int32: the windows' length, then their tokens; each window starts afresh
// and where the other engine has left its logits beside them, a column shows them too:
//   MODEL-TYPE.logits  float32: a row of the vocabulary's size for each token
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "model/inspect.h"
#include "tests/data_paths.h"
#include "tests/model/accuracy/accuracy.h"
#include "tests/model/accuracy/quantize.h"
#include "tests/model/accuracy/report_files.h"
#include "tests/model/parity_fixture.h"
#include "tests/read_file.h"
#include "tests/temporary_directory.h"

namespace weft {
namespace {

constexpr size_t kWindowLength = 256;
constexpr size_t kTokens = 32768;
constexpr size_t kTokensOfGiven = 8192;  // of large vocabularies; all logits are kept
constexpr double kShareThatMustFit = 0.5;

struct Definition {
  const char* name;
  Arithmetic arithmetic;
  KvType kv_type;
  bool quantised_only;
};
constexpr Definition kDefinitions[] = {
    {"bf16", Arithmetic::kBF16, KvType::kBF16, false},
    {"bf16, KV in q8", Arithmetic::kBF16, KvType::kQ8, false},
    {"int8", Arithmetic::kInt8, KvType::kBF16, true},
    {"int8, KV in q8", Arithmetic::kInt8, KvType::kQ8, true},
};
constexpr DataType kTypes[] = {DataType::kF16,  DataType::kBF16, DataType::kQ8_0, DataType::kQ4_0,
                               DataType::kQ4_1, DataType::kQ5_0, DataType::kQ5_1, DataType::kQ4_K,
                               DataType::kQ5_K, DataType::kQ6_K, DataType::kMXFP4};

struct Subject {
  std::string name;
  std::string path;
};

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects = {
      {"weft-demo", SourcePath("model/demo/weft-demo.gguf")},
  };
  const std::string stories = SharedDataPath("models/stories260K.gguf");
  if (std::filesystem::exists(stories)) subjects.push_back({"stories260K", stories});
  for (const std::string fixture : kParityFixtures) {
    subjects.push_back({fixture, ParityPath(fixture, "model.gguf")});
  }
  return subjects;
}

Windows WindowsOf(const Subject& subject, const std::string& text, size_t token_count) {
  Result<Checkpoint> checkpoint = LoadCheckpoint(subject.path);
  if (!checkpoint) throw std::runtime_error(checkpoint.error().message);
  const auto context = static_cast<size_t>(checkpoint->spec.context_length);
  const size_t length = std::min(kWindowLength, context);
  return CutIntoWindows(*checkpoint->tokenizer, text, length, token_count / length);
}

std::string Cell(const Divergence& divergence) {
  return fmt::format(" {:.1e} ± {:.0e}, {:.2g}, {:.2f}% |", divergence.mean_kl,
                     divergence.standard_error, divergence.worst_kl, 100 * divergence.same_top);
}

std::string OtherEngineCell(const std::string& path, const Logits& reference) {
  const std::optional<Logits> logits = ReadLogits(path, reference);
  return logits ? Cell(DivergenceFrom(reference, *logits)) : " |";
}

// One row, of the model at `path`; `stem` is where another engine keeps its logits of it.
void PrintRow(const std::string& name, const std::string& path, DataType type,
              const Windows& windows, const std::string& stem) {
  const int64_t blocks = static_cast<int64_t>(windows.at(0).size() + 31) / 32;
  const auto logits = [&](Arithmetic arithmetic, KvType kv_type) {
    return LogitsOf(path,
                    {.arithmetic = arithmetic,
                     .isa = ChooseIsa().value(),
                     .kv_type = kv_type,
                     .thread_count = 2,
                     .block_count = blocks},
                    windows);
  };
  const Logits reference = logits(Arithmetic::kF32, KvType::kF32);
  std::string row = fmt::format("| {} | {} |", name, TraitsOf(type).name);
  for (const Definition& definition : kDefinitions) {
    const bool applies = IsQuantized(type) || !definition.quantised_only;
    row += applies
               ? Cell(DivergenceFrom(reference, logits(definition.arithmetic, definition.kv_type)))
               : " |";
  }
  fmt::print("{}{}\n", row, OtherEngineCell(stem + ".logits", reference));
  std::fflush(stdout);
}

void PrintHeader() {
  std::string header = "| model | weights |";
  std::string rule = "|---|---|";
  for (const Definition& definition : kDefinitions) {
    header += fmt::format(" {} |", definition.name);
    rule += "---|";
  }
  fmt::print("{} another engine |\n{}---|\n", header, rule);
}

// Their tokens, which are kept for another engine.
Windows KeptWindows(const Subject& subject, const std::string& text, size_t token_count,
                    const std::string& directory) {
  Windows windows = WindowsOf(subject, text, token_count);
  WriteTokens(windows, fmt::format("{}/{}.tokens", directory, subject.name));
  return windows;
}

void PrintGiven(const std::string& path, const std::string& text, const std::string& directory) {
  const Subject subject = {std::filesystem::path(path).stem(), path};
  const Windows windows = KeptWindows(subject, text, kTokensOfGiven, directory);
  Result<Checkpoint> checkpoint = LoadCheckpoint(path);
  if (!checkpoint) throw std::runtime_error(checkpoint.error().message);
  PrintRow(subject.name, path, TotalsOf(checkpoint->tensors).main_type, windows,
           fmt::format("{}/{}", directory, subject.name));
}

void PrintRequantised(const std::string& text, const std::string& directory) {
  for (const Subject& subject : Subjects()) {
    const Windows windows = KeptWindows(subject, text, kTokens, directory);
    const std::string source = ReadFile(subject.path);
    for (const DataType type : kTypes) {
      if (ShareThatFits(std::as_bytes(std::span(source)), type) < kShareThatMustFit) continue;
      const std::string stem =
          fmt::format("{}/{}-{}", directory, subject.name, TraitsOf(type).name);
      std::ofstream(stem + ".gguf", std::ios::binary)
          << AsText(RequantizeGguf(std::as_bytes(std::span(source)), type));
      PrintRow(subject.name, stem + ".gguf", type, windows, stem);
    }
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: {} TEXT [DIRECTORY [MODEL.gguf ...]]\n", argv[0]);
    return 2;
  }
  try {
    const weft::TemporaryDirectory temporary;
    const std::string text = weft::ReadFile(argv[1]);
    const std::string directory = argc > 2 ? argv[2] : temporary.path();
    weft::PrintHeader();
    if (argc <= 3) weft::PrintRequantised(text, directory);
    for (int i = 3; i < argc; ++i) weft::PrintGiven(argv[i], text, directory);
  } catch (const std::exception& error) {
    fmt::print(stderr, "accuracy_report: {}\n", error.what());
    return 1;
  }
}
