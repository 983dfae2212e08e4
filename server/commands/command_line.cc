#include "server/commands/command_line.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <new>

#include <fmt/core.h>

namespace weft {

void AddComputeFlags(CLI::App& app, std::optional<Arithmetic>& arithmetic, int32_t& thread_count) {
  const std::map<std::string, std::optional<Arithmetic>> names = {
      {"auto", std::nullopt},
      {"int8", Arithmetic::kInt8},
      {"bf16", Arithmetic::kBF16},
      {"bf16pair", Arithmetic::kBF16Pair},
      {"f32", Arithmetic::kF32}};
  app.add_option_function<std::string>(
         "--compute",
         [&arithmetic, names](const std::string& name) { arithmetic = names.at(name); },
         "The arithmetic: auto is int8, and for weights that are not quantised bf16 with AMX and "
         "bf16pair without")
      ->check(CLI::IsMember({"auto", "int8", "bf16", "bf16pair", "f32"}))
      ->default_str("auto");
  app.add_option("--threads", thread_count, "Compute threads (what this process may use)")
      ->check(CLI::Range(1, 4096));
}

void AddWeightsFlag(CLI::App& app, WeightsChoice& weights) {
  const std::map<std::string, WeightsChoice> names = {{"auto", {}},
                                                      {"file", {.keeps_file = true}},
                                                      {"bf16", {.type = DataType::kBF16}},
                                                      {"q8_0", {.type = DataType::kQ8_0}},
                                                      {"q6_k", {.type = DataType::kQ6_K}},
                                                      {"q5_k", {.type = DataType::kQ5_K}},
                                                      {"q4_k", {.type = DataType::kQ4_K}},
                                                      {"q4_0", {.type = DataType::kQ4_0}}};
  app.add_option_function<std::string>(
         "--weights", [&weights, names](const std::string& name) { weights = names.at(name); },
         "What matrices are held in: auto as the file has them, but FP8, nf4 and fp4 in BF16, "
         "which is faster, and F16, too, where the processor multiplies BF16 itself and no "
         "--compute is given; file all as the file has them; bf16 all of these in BF16; or a type "
         "as which those are quantised while they are loaded that it has in F32, F16, BF16, FP8, "
         "nf4 or fp4")
      ->check(CLI::IsMember({"auto", "file", "bf16", "q8_0", "q6_k", "q5_k", "q4_k", "q4_0"}))
      ->default_str("auto");
}

void AddKvTypeFlag(CLI::App& app, std::optional<KvType>& kv_type) {
  app.add_option_function<std::string>(
         "--kv-type",
         [&kv_type](const std::string& name) {
           kv_type.reset();
           if (name == "bf16") kv_type = KvType::kBF16;
           if (name == "q8") kv_type = KvType::kQ8;
         },
         "What the KV cache holds; q8 takes half of bf16. auto is q8 in decoders whose weights are "
         "multiplied in int8 (not beside an encoder, of latent attention or on AMX), and bf16 "
         "elsewhere (float32 under --compute f32)")
      ->check(CLI::IsMember({"auto", "bf16", "q8"}))
      ->default_str("auto");
}

void AddModelFlags(CLI::App& app, ModelOptions& options) {
  app.add_option(
      "--model", options.path,
      "GGUF file, Hugging Face directory or hf:ORG/REPO[:QUANTISATION] (the bundled model)");
  AddModelSettings(app, options);
}

void AddModelSettings(CLI::App& app, ModelOptions& options) {
  constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();
  AddComputeFlags(app, options.arithmetic, options.thread_count);
  AddWeightsFlag(app, options.weights);
  AddKvTypeFlag(app, options.kv_type);
  app.add_option("--packed-cache", options.packed_cache,
                 "Directory that keeps weights as they are packed, so that the next start of the "
                 "same model maps them (none)")
      ->type_name("DIRECTORY");
  app.add_option("--context", options.context, "Positions a sequence may have (the model's)")
      ->check(CLI::Range(1, kMaxInt32));
  app.add_option("--memory", options.memory_bytes,
                 "Limit for the whole process, as 8GiB or 512MiB (what this process may use)")
      ->type_name("SIZE")
      ->transform(SizeInBytes());
}

void AddLogFlag(CLI::App& app, LogLevel& level) {
  app.add_option_function<std::string>(
         "--log-level", [&level](const std::string& name) { level = *ParseLogLevel(name); },
         "How much is said on stderr")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}))
      ->default_str(std::string(NameOf(level)));
}

SizeInBytes::SizeInBytes() : CLI::AsSizeValue(/*kb_is_1000=*/false) {
  description("");
  func_ = [convert = func_](std::string& text) {
    const std::string given = text;
    try {
      const bool begins_well = !given.empty() && given.front() >= '0' && given.front() <= '9';
      if (begins_well && convert(text).empty()) return std::string();
    } catch (const CLI::ValidationError&) {
      // No better than what is said of all the others.
    }
    return "expected a size, as 8GiB or 512MiB, not '" + given + "'";
  };
}

Result<std::string> ReadText(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& input = path == "-" ? std::cin : file;
  std::string text;
  std::array<char, 65536> buffer{};
  // Not by the buffer's iterators: what they meet in a directory they throw, and read() keeps.
  while (input.read(buffer.data(), buffer.size()) || input.gcount() > 0) {
    text.append(buffer.data(), static_cast<size_t>(input.gcount()));
  }
  if (input.eof()) return text;
  return Fail(ErrorCode::kNotFound, "{}: cannot read it: {}", path, std::strerror(errno));
}

std::optional<int> ParseOrExit(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}: {}\n", app.get_name(), error.what());
    return kUsageError;
  }
}

int RunCommand(std::string_view name, const std::function<int()>& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    PrintError(fmt::format("weft {}: the operating system refused it more memory", name));
  } catch (const std::exception& exception) {
    PrintError(fmt::format("weft {}: {}", name, exception.what()));
  }
  return 1;
}

int FailCommand(const CLI::App& app, const Error& error) {
  fmt::print(stderr, "{}: {}\n", app.get_name(), error.message);
  return 1;
}

}  // namespace weft
