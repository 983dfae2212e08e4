#include "server/commands/hub/models_command.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/format_bytes.h"
#include "proto/json_dump.h"
#include "server/commands/command_line.h"
#include "server/hub/cached_models.h"
#include "server/hub/hub_cache.h"
#include "server/models/model_path.h"

namespace weft {
namespace {

void PrintJson(const std::vector<CachedModel>& models) {
  auto list = nlohmann::json::array();
  for (const CachedModel& model : models) {
    list.push_back({{"name", model.name},
                    {"kind", model.kind},
                    {"bytes", model.bytes},
                    {"commit", model.commit},
                    {"path", model.path},
                    {"fits", model.fits}});
  }
  fmt::print("{}\n", DumpJson(list));
}

void PrintTable(const std::vector<CachedModel>& models, const HubCache& cache) {
  if (models.empty()) {
    fmt::print(stderr, "weft models: there are none at {}; weft pull fetches them\n", cache.path());
    return;
  }
  size_t width = 4;
  for (const CachedModel& model : models) width = std::max(width, model.name.size());
  fmt::print("{:<{}}  {:>10}  {:<16}  {:<8}  {}\n", "NAME", width, "SIZE", "KIND", "COMMIT",
             "FITS");
  for (const CachedModel& model : models) {
    fmt::print("{:<{}}  {:>10}  {:<16}  {:<8}  {}\n", model.name, width, FormatBytes(model.bytes),
               model.kind, model.commit.substr(0, 8), model.fits ? "yes" : "no");
  }
}

}  // namespace

int ModelsCommand(int argc, const char* const* argv) {
  uint64_t memory_bytes = 0;
  bool is_json = false;
  CLI::App app("Lists the models that the Hub's cache has, by the names that --model takes.",
               "weft models");
  app.add_option("--memory", memory_bytes,
                 "The memory that they are to fit, as 8GiB or 512MiB (what this process may use)")
      ->type_name("SIZE")
      ->transform(SizeInBytes());
  app.add_flag("--json", is_json, "An array of objects");
  if (const auto status = ParseOrExit(app, argc, argv)) return *status;
  const Result<HubSettings> settings = ReadHubSettings();
  if (!settings) return FailCommand(app, settings.error());
  const HubCache cache(settings->cache_path);
  const std::vector<CachedModel> models = ListCachedModels(cache, RoomForModels(memory_bytes));
  if (is_json) {
    PrintJson(models);
  } else {
    PrintTable(models, cache);
  }
  return 0;
}

}  // namespace weft
