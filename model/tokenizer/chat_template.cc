#include "model/tokenizer/chat_template.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/json_limits.h"
#include "base/regular_file.h"
#include "model/tokenizer/jinja/interpreter.h"
#include "model/tokenizer/jinja/json_values.h"
#include "model/tokenizer/jinja/parser.h"

namespace weft {
namespace {

// The file's text; empty if there is none.
Result<std::string> ReadTemplateFile(const std::string& path, size_t max_bytes) {
  WEFT_ASSIGN_OR_RETURN(std::optional<std::string> text, ReadFileIfPresent(path, max_bytes));
  return std::move(text).value_or("");
}

std::tm LocalTime() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm result{};
  localtime_r(&now, &result);
  return result;
}

}  // namespace

ChatTemplate::ChatTemplate(std::shared_ptr<const jinja::Template> parsed)
    : template_(std::move(parsed)) {}

Result<ChatTemplate> ChatTemplate::Parse(std::string_view source) {
  auto parsed = jinja::ParseTemplate(source);
  if (!parsed) {
    return Fail(parsed.error().code, "chat template, {}", parsed.error().message);
  }
  return ChatTemplate(std::make_shared<const jinja::Template>(*std::move(parsed)));
}

Result<std::string> ChatTemplate::Render(const nlohmann::ordered_json& variables,
                                         const Options& options) const {
  jinja::RenderLimits limits = options.limits;
  if (options.steps_left != nullptr) limits.steps = std::min(limits.steps, *options.steps_left);
  jinja::Runtime runtime(limits, options.now ? *options.now : LocalTime());
  WEFT_ASSIGN_OR_RETURN(const jinja::Value values, jinja::FromJson(runtime, variables));
  if (!values.is(jinja::Kind::kDict)) {
    return Fail(ErrorCode::kInternal, "chat template: the variables are not a JSON object");
  }
  jinja::Interpreter interpreter(*template_, values, &runtime);
  auto text = interpreter.Run();
  if (options.steps_left != nullptr) {
    *options.steps_left -= limits.steps - runtime.budget().steps_left();
  }
  if (text || text.error().code == ErrorCode::kInvalidArgument) return text;
  return Fail(text.error().code, "chat template, line {}: {}", interpreter.line(),
              text.error().message);
}

Result<ChatTemplateSources> ReadHfChatTemplates(const std::string& directory) {
  ChatTemplateSources sources;
  WEFT_ASSIGN_OR_RETURN(sources.standard, ReadTemplateFile(directory + "/chat_template.jinja",
                                                           jinja::kMaxSourceBytes));
  if (!sources.standard.empty()) {
    WEFT_ASSIGN_OR_RETURN(sources.tool_use,
                          ReadTemplateFile(directory + "/additional_chat_templates/tool_use.jinja",
                                           jinja::kMaxSourceBytes));
    return sources;
  }
  const std::string path = directory + "/tokenizer_config.json";
  WEFT_ASSIGN_OR_RETURN(const std::string config, ReadTemplateFile(path, kConfigJson.max_bytes));
  if (config.empty()) return sources;
  WEFT_RETURN_IF_ERROR(CheckJsonLimits(config, kConfigJson, path));
  const auto json = nlohmann::json::parse(config, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Fail(ErrorCode::kCorrupt, "{}: not a JSON object", path);
  const auto found = json.find("chat_template");
  if (found == json.end() || found->is_null()) return sources;
  if (found->is_string()) {
    sources.standard = found->get<std::string>();
    return sources;
  }
  if (found->is_array()) {
    for (const auto& named : *found) {
      if (!named.is_object()) continue;
      const auto name = named.value("name", nlohmann::json());
      const auto text = named.value("template", nlohmann::json());
      if (!text.is_string()) continue;
      if (name == "default") sources.standard = text.get<std::string>();
      if (name == "tool_use") sources.tool_use = text.get<std::string>();
    }
    if (!sources.standard.empty()) return sources;
  }
  return Fail(ErrorCode::kInvalidArgument,
              "{}: chat_template is neither a string nor a list with one named \"default\"", path);
}

Result<std::string> ReadHfChatTemplate(const std::string& directory) {
  WEFT_ASSIGN_OR_RETURN(ChatTemplateSources sources, ReadHfChatTemplates(directory));
  return std::move(sources.standard);
}

}  // namespace weft
