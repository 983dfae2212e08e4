#include "server/commands/hub/rm_command.h"

#include <string>

#include <fmt/core.h>

#include "base/format_bytes.h"
#include "server/commands/command_line.h"
#include "server/hub/cached_models.h"
#include "server/hub/hub_cache.h"
#include "server/models/model_path.h"

namespace weft {
namespace {

Result<void> Remove(const std::string& text) {
  WEFT_ASSIGN_OR_RETURN(const HubName name, ParseHubName(text));
  WEFT_ASSIGN_OR_RETURN(const HubSettings settings, ReadHubSettings());
  WEFT_ASSIGN_OR_RETURN(const RemovedModel removed,
                        RemoveModel(HubCache(settings.cache_path), name));
  fmt::print(stderr, "{}: removed, {} freed\n", ToString(name), FormatBytes(removed.freed_bytes));
  return {};
}

}  // namespace

int RmCommand(int argc, const char* const* argv) {
  std::string name;
  CLI::App app("Removes a model from the Hub's cache, without asking.", "weft rm");
  app.add_option("MODEL", name,
                 "ORG/REPO: all of it; ORG/REPO@REVISION: one revision; "
                 "ORG/REPO:QUANTISATION or FILE: one file, in all revisions")
      ->required();
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  const Result<void> removed = Remove(name);
  return removed ? 0 : FailCommand(app, removed.error());
}

}  // namespace weft
