#include "model/tokenizer/chat_template.h"

#include <string_view>

#include <nlohmann/json.hpp>

#include "base/mapped_file.h"

namespace weft {
namespace {

std::string_view TextOf(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

Result<std::string> ReadHfChatTemplate(const std::string& directory) {
  if (const auto file = MappedFile::Open(directory + "/chat_template.jinja")) {
    return std::string(TextOf(*file));
  }
  const std::string path = directory + "/tokenizer_config.json";
  const auto file = MappedFile::Open(path);
  if (!file) return std::string();
  const auto json = nlohmann::json::parse(TextOf(*file), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Fail(ErrorCode::kCorrupt, "{}: not a JSON object", path);
  const auto found = json.find("chat_template");
  if (found == json.end() || found->is_null()) return std::string();
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array()) {
    for (const auto& named : *found) {
      if (!named.is_object() || named.value("name", nlohmann::json()) != "default") continue;
      const auto text = named.value("template", nlohmann::json());
      if (text.is_string()) return text.get<std::string>();
    }
  }
  return Fail(ErrorCode::kInvalidArgument,
              "{}: chat_template is neither a string nor a list with one named \"default\"", path);
}

}  // namespace weft
