#include "tests/bench/schema_replay/replay_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace weft {
namespace {

using nlohmann::ordered_json;
using std::filesystem::path;

constexpr std::array<std::pair<std::string_view, SchemaDraft>, 5> kFolders = {{
    {"draft4", SchemaDraft::k4},
    {"draft6", SchemaDraft::k6},
    {"draft7", SchemaDraft::k7},
    {"draft2019-09", SchemaDraft::k2019_09},
    {"draft2020-12", SchemaDraft::k2020_12},
}};

SchemaDraft DraftOfFolder(const path& file) {
  for (const path& part : file) {
    for (const auto& [name, draft] : kFolders) {
      if (part == name) return draft;
    }
  }
  return SchemaDraft::k2020_12;
}

// Where the suite holds that a keyword is an annotation that is enforced here; "" elsewhere.
std::string_view WhyLeftOut(const path& file) {
  const bool is_required = std::ranges::any_of(
      kFolders, [&](const auto& folder) { return file.parent_path().filename() == folder.first; });
  if (is_required && file.filename() == "format.json") return "formats are asserted here";
  if (!is_required && file.filename() == "content.json")
    return "contents of strings are not asserted here";
  return "";
}

ReplaySchema SchemaIn(const ordered_json& object, std::string name, SchemaDraft draft) {
  ReplaySchema schema{std::move(name), object.at("schema"), draft, {}};
  for (const ordered_json& test : object.at("tests")) {
    schema.instances.push_back(
        {test.value("description", ""), test.at("data"), test.at("valid").get<bool>()});
  }
  return schema;
}

void LoadFile(const path& file, ReplayFiles& files) {
  if (const std::string_view why = WhyLeftOut(file); !why.empty()) {
    files.left_out.push_back(fmt::format("{}: {}", file.string(), why));
    return;
  }
  std::ifstream stream(file);
  const auto content = ordered_json::parse(stream, nullptr, /*allow_exceptions=*/false);
  const SchemaDraft draft = DraftOfFolder(file);
  if (content.is_array()) {
    for (const ordered_json& group : content) {
      files.schemas.push_back(SchemaIn(
          group, fmt::format("{}: {}", file.string(), group.value("description", "")), draft));
    }
  } else if (content.is_object() && content.contains("schema") && content.contains("tests")) {
    files.schemas.push_back(SchemaIn(content, file.string(), draft));
  } else {
    files.left_out.push_back(fmt::format("{}: is no file of tests", file.string()));
  }
}

}  // namespace

ReplayFiles LoadReplayFiles(const std::string& root) {
  std::vector<path> paths;
  if (std::filesystem::is_directory(root)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".json") paths.push_back(entry.path());
    }
  } else {
    paths.push_back(root);
  }
  std::ranges::sort(paths);
  ReplayFiles files;
  for (const path& file : paths) LoadFile(file, files);
  return files;
}

}  // namespace weft
