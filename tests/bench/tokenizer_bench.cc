// Bytes a second that one core encodes with the vocabularies of real models (../shared/data):
// English prose, and a megabyte each of what makes careless tokenizers quadratic.
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include <benchmark/benchmark.h>

#include "model/formats/gguf.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/data_paths.h"

namespace weft {
namespace {

constexpr size_t kAdversarialBytes = 1 << 20;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string Repeat(std::string_view part) {
  std::string text;
  while (text.size() < kAdversarialBytes) text += part;
  return text;
}

std::map<std::string, std::string> MakeTexts() {
  std::mt19937 random(1);
  std::string bytes;
  std::string letters;
  for (size_t i = 0; i < kAdversarialBytes; ++i) {
    bytes.push_back(static_cast<char>(random()));
    letters.push_back(static_cast<char>('a' + random() % 26));
  }
  return {
      {"english", ReadFile(SharedDataPath("text/wikitext-2-test.txt"))},
      {"one_letter", Repeat("a")},
      {"spaces", Repeat(" ")},
      {"spaces_and_a_word", Repeat(" ") + "a"},
      {"newlines", Repeat("\n")},
      {"emoji", Repeat("\xF0\x9F\xA6\x99")},
      {"chinese", Repeat("\xE4\xB8\xAD\xE6\x96\x87")},
      {"combining_marks", Repeat("\xCC\x81\xCC\xA3")},
      {"digits", Repeat("7")},
      {"apostrophes", Repeat("'")},
      {"angle_brackets", Repeat("<|")},
      {"random_letters", letters},
      {"random_bytes", bytes},
  };
}

void EncodeText(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  size_t id_count = 0;
  for (auto _ : state) {
    id_count = tokenizer.Encode(text, {}).value().size();
    benchmark::DoNotOptimize(id_count);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.counters["ids"] = static_cast<double>(id_count);
}

void EncodeShortPrompt(benchmark::State& state, const Tokenizer& tokenizer) {
  const std::string text = "What is the capital of France, and how many people live there today?";
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.Encode(text, {}).value().size());
}

// Real vocabularies where the data is there, and the small ones of the tests for their patterns.
std::map<std::string, Result<std::shared_ptr<const Tokenizer>>> LoadTokenizers() {
  std::map<std::string, Result<std::shared_ptr<const Tokenizer>>> tokenizers;
  for (const std::string name : {"gpt-2", "llama-spm", "deepseek-coder", "falcon"}) {
    const Result<GgufFile> file =
        GgufFile::Open(SharedDataPath("tokenizers/ggml-vocab-") + name + ".gguf");
    if (!file) continue;
    tokenizers.emplace(name, Tokenizer::FromGguf(file->metadata, 100000));
  }
  for (const std::string name :
       {"llama3", "qwen2", "gpt4o", "deepseek_v3", "starcoder", "llama2"}) {
    tokenizers.emplace(
        "small_" + name,
        Tokenizer::FromDirectory(SourcePath("tests/model/tokenizer/fixtures/") + name, 100000));
  }
  return tokenizers;
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::map<std::string, std::string> texts = MakeTexts();
  const auto tokenizers = LoadTokenizers();
  for (const auto& [name, tokenizer] : tokenizers) {
    if (!tokenizer) {
      fprintf(stderr, "%s\n", tokenizer.error().message.c_str());
      return 1;
    }
    for (const auto& [text_name, text] : texts) {
      benchmark::RegisterBenchmark((name + "/" + text_name).c_str(), EncodeText,
                                   std::cref(**tokenizer), std::cref(text))
          ->Unit(benchmark::kMillisecond);
    }
    benchmark::RegisterBenchmark((name + "/short_prompt").c_str(), EncodeShortPrompt,
                                 std::cref(**tokenizer))
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::Main(argc, argv); }
