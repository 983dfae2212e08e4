// What the subcommands' command lines have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "server/models/loaded_model.h"

namespace weft {

inline constexpr int kUsageError = 2;  // exit status

// --compute, --threads
void AddComputeFlags(CLI::App& app, std::optional<Arithmetic>& arithmetic, int32_t& thread_count);
// --weights
void AddWeightsFlag(CLI::App& app, WeightsChoice& weights);
// --kv-type
void AddKvTypeFlag(CLI::App& app, std::optional<KvType>& kv_type);
// --context, --memory and those
void AddModelSettings(CLI::App& app, ModelOptions& options);
// --model and those
void AddModelFlags(CLI::App& app, ModelOptions& options);
// --log-level
void AddLogFlag(CLI::App& app, LogLevel& level);

// Bytes, as 8GiB or 512MiB: for an option's transform(). Refuses what is negative, which CLI11's
// own takes for an enormous number.
class SizeInBytes : public CLI::AsSizeValue {
 public:
  SizeInBytes();
};

// The whole of a file, or of standard input if `path` is "-".
Result<std::string> ReadText(const std::string& path);

// Parses; nullopt: go on. Otherwise the exit status, --help or the one-line error already printed.
std::optional<int> ParseOrExit(CLI::App& app, int argc, const char* const* argv);

// The exit status of `run`; where it throws, that of a failure, the reason printed on stderr.
int RunCommand(std::string_view name, const std::function<int()>& run);

// Prints "weft COMMAND: message" on stderr and returns the exit status of a failure.
int FailCommand(const CLI::App& app, const Error& error);

}  // namespace weft
