#include "server/commands/request_flags.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/quoted.h"
#include "proto/chat/chat_request.h"
#include "proto/json_dump.h"
#include "proto/json_reader.h"
#include "proto/template_fields.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

// What is left out of requests, rather than the requests refused.
void AddDropFlag(CLI::App& app, const std::string& name, bool& drops, const std::string& help) {
  app.add_option_function<std::string>(
         name, [&drops](const std::string& choice) { drops = choice == "drop"; }, help)
      ->check(CLI::IsMember({"drop", "refuse"}))
      ->default_str(drops ? "drop" : "refuse");
}

// {"temperature":0.6} of "temperature=0.6"; what is no JSON is a string.
Result<ordered_json> DefaultsOf(const std::vector<std::string>& settings) {
  ordered_json defaults = ordered_json::object();
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    if (equals == std::string::npos || !IsSamplingField(name)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--default {}: expected NAME=VALUE with the name of a sampling field of "
                  "docs/API.md",
                  Quoted(setting));
    }
    if (defaults.contains(name)) {
      return Fail(ErrorCode::kInvalidArgument, "--default: '{}' is there twice", name);
    }
    const std::string value = setting.substr(equals + 1);
    ApiResult<ordered_json> parsed = ParseOrderedJson(value);
    defaults[name] = parsed ? *std::move(parsed) : ordered_json(value);
  }
  return defaults;
}

// What the flags say to the template: reasoning is a variable of it.
Result<ordered_json> TemplateVariablesOf(const RequestFlags& flags) {
  ChatRequest request;
  if (!flags.template_variables.empty()) {
    ApiResult<ordered_json> variables = ParseOrderedJson(flags.template_variables);
    ApiResult<void> read;
    if (variables) {
      ordered_json fields = {{"chat_template_kwargs", *std::move(variables)}};
      read = ReadTemplateVariables(fields, request);
    } else {
      read = tl::unexpected(variables.error());
    }
    if (!read) {
      return Fail(ErrorCode::kInvalidArgument, "--chat-template-kwargs: {}", read.error().message);
    }
  }
  if (flags.reasoning == "auto") return std::move(request.template_variables);
  if (request.template_variables.contains("enable_thinking")) {
    return Fail(ErrorCode::kInvalidArgument,
                "--reasoning {} and --chat-template-kwargs both set 'enable_thinking'; give one of "
                "them",
                flags.reasoning);
  }
  request.template_variables["enable_thinking"] = flags.reasoning == "on";
  return std::move(request.template_variables);
}

}  // namespace

void AddRequestFlags(CLI::App& app, RequestFlags& flags) {
  AddDropFlag(app, "--hosted-tools", flags.rules.drops_hosted_tools,
              "Tools that servers of OpenAI or Anthropic run, as web search: drop (the answer's "
              "header weft-dropped-tools names them) or refuse");
  AddDropFlag(app, "--images", flags.rules.drops_images,
              "Images in conversations: refuse, or drop: \"[image left out]\" in their place");
  app.add_flag("--clamp-max-tokens", flags.rules.clamps_max_tokens,
               "Of requests that ask for more tokens than the context has room for, generate what "
               "there is room for (they get 400)");
  app.add_option(
         "--default", flags.defaults,
         "NAME=VALUE of a sampling field, as temperature=0.6, for requests that do not say; "
         "can be given again")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--chat-template-kwargs", flags.template_variables,
                 "JSON object of variables for chat templates, for requests that do not say");
  app.add_option("--reasoning", flags.reasoning,
                 "Whether templates are told to let models think, where requests do not say: on, "
                 "off, or auto: as the template has it")
      ->check(CLI::IsMember({"on", "off", "auto"}))
      ->capture_default_str();
}

Result<RequestRules> RulesOf(const RequestFlags& flags) {
  RequestRules rules = flags.rules;
  WEFT_ASSIGN_OR_RETURN(const ordered_json defaults, DefaultsOf(flags.defaults));
  const ApiResult<void> read = ReadSamplingFields(nlohmann::json(defaults), rules.sampling);
  if (!read) return Fail(ErrorCode::kInvalidArgument, "--default: {}", read.error().message);
  rules.sampling_fields = DumpJson(defaults);
  WEFT_ASSIGN_OR_RETURN(const ordered_json variables, TemplateVariablesOf(flags));
  rules.template_variables = DumpJson(variables);
  return rules;
}

}  // namespace weft
