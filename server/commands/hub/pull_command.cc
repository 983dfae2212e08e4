#include "server/commands/hub/pull_command.h"

#include <csignal>
#include <string>
#include <string_view>
#include <unistd.h>

#include <fmt/core.h>

#include "server/commands/command_line.h"
#include "server/hub/hub_name.h"
#include "server/hub/pull.h"
#include "server/models/model_path.h"

namespace weft {
namespace {

// What has come is on disk already.
void OnInterrupt(int) {
  constexpr std::string_view kMessage =
      "\nweft pull: interrupted; the same command goes on where it stopped\n";
  static_cast<void>(!write(STDERR_FILENO, kMessage.data(), kMessage.size()));
  _exit(128 + SIGINT);
}

Result<std::string> Pull(const std::string& text, uint64_t memory_bytes, bool is_forced) {
  WEFT_ASSIGN_OR_RETURN(const HubName name, ParseHubName(text));
  PullOptions options;
  WEFT_ASSIGN_OR_RETURN(options.settings, ReadHubSettings());
  options.user_agent = HubUserAgent();
  options.room = RoomForModels(memory_bytes);
  options.room.is_forced = is_forced;
  options.has_bar = isatty(STDERR_FILENO) != 0;
  options.say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  std::signal(SIGINT, OnInterrupt);
  return PullModel(name, options);
}

}  // namespace

int PullCommand(int argc, const char* const* argv) {
  std::string name;
  uint64_t memory_bytes = 0;
  bool is_forced = false;
  CLI::App app("Fetches a model from the Hugging Face Hub; stdout gets its path alone.",
               "weft pull");
  app.add_option("MODEL", name,
                 "ORG/REPO[:QUANTISATION or FILE][@REVISION], as Qwen/Qwen3-0.6B-GGUF:Q8_0; of "
                 "several quantisations the one that serves best in this memory, unless one is "
                 "named")
      ->required();
  app.add_option("--memory", memory_bytes,
                 "The memory to choose for, as 8GiB or 512MiB (what this process may use)")
      ->type_name("SIZE")
      ->transform(SizeInBytes());
  app.add_flag("--force", is_forced, "Even if it does not fit, or Weft does not load its types");
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  const Result<std::string> path = Pull(name, memory_bytes, is_forced);
  if (!path) return FailCommand(app, path.error());
  fmt::print("{}\n", *path);
  return 0;
}

}  // namespace weft
