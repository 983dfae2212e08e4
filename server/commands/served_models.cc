#include "server/commands/served_models.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "base/log.h"
#include "model/ranking_files.h"
#include "server/api/conversation/chat_format.h"
#include "server/api/conversation/chat_ml.h"
#include "server/api/conversation/chat_template_file.h"
#include "server/api/conversation/reply_stream.h"
#include "server/api/structured/structured_output.h"
#include "server/metrics/engine_metrics.h"
#include "server/version.h"

namespace weft {
namespace {

// "weft-demo" for "models/weft-demo.gguf", "tiny-llama" for "models/tiny-llama/". A snapshot of the
// Hub's cache is called after its repository, models--ORG--REPO/snapshots/COMMIT.
std::string NameOfPath(const std::string& path) {
  const auto normal = std::filesystem::path(path).lexically_normal();
  if (normal.extension() == ".gguf") return normal.stem().string();
  const auto& last = normal.has_filename() ? normal : normal.parent_path();
  const std::string repository = last.parent_path().parent_path().filename();
  if (last.parent_path().filename() == "snapshots" && repository.starts_with("models--")) {
    return repository.substr(repository.rfind("--") + 2);
  }
  return last.filename().string();
}

bool HoldsConversations(const ModelSpec& spec) { return spec.generates() && !spec.encoder; }

// What an encoder-decoder is to do with prompts.
Result<SourceTask> TaskOf(const Checkpoint& checkpoint, const ModelSetting& setting) {
  const bool is_rank_task = setting.value == kRankTask;
  if (checkpoint.spec.encoder != nullptr) {
    const bool is_others = is_rank_task && !setting.is_named;
    return FindSourceTask(checkpoint.spec.target, *checkpoint.tokenizer,
                          is_others ? "" : setting.value);
  }
  if (!setting.is_named || is_rank_task) return SourceTask();
  return Fail(ErrorCode::kInvalidArgument, "--task {}: {}", setting.value, kNoTasks);
}

// How the model ranks, by its files or because the task says so.
Result<std::optional<Ranking>> RankingOf(const Checkpoint& checkpoint,
                                         const ModelSetting& setting) {
  auto ranking = RankingFor(checkpoint, setting.value);
  // A task that is of no model in particular is that of others.
  if (!ranking && !setting.is_named) return std::optional<Ranking>();
  return ranking;
}

bool FitsTask(const Checkpoint& checkpoint, const std::string& task) {
  if (checkpoint.spec.encoder != nullptr) return task != kRankTask;
  return task == kRankTask && RankingFor(checkpoint, task).value_or(std::nullopt).has_value();
}

// The template is taken all the same: there may be conversations that it can render.
void WarnOfFault(const ChatFormat& format) {
  const std::string& fault = format.traits().fault;
  if (fault.empty()) return;
  Log(LogLevel::kWarning,
      "the chat template cannot render a plain chat, one message of the user: {}; "
      "--chat-template FILE gives the model another",
      fault);
}

// nullptr, with a word on the log, if the model's template cannot be used. One that the user names
// must be usable.
Result<std::shared_ptr<const ChatFormat>> LoadChatFormat(uint64_t render_bytes,
                                                         const ModelSetting& named,
                                                         const std::string& named_template,
                                                         const Checkpoint& checkpoint) {
  const Tokenizer& tokenizer = *checkpoint.tokenizer;
  jinja::RenderLimits limits;
  limits.memory_bytes = render_bytes;
  ChatTemplateSources sources;
  if (!named.value.empty()) {
    sources.standard = named_template;
    auto format = ChatFormat::Create(sources, tokenizer, limits);
    if (format) WarnOfFault(**format);
    if (format) return *std::move(format);
    return Fail(format.error().code, "--chat-template {}: {}", named.value, format.error().message);
  }
  if (std::filesystem::is_directory(checkpoint.path)) {
    WEFT_ASSIGN_OR_RETURN(sources, ReadHfChatTemplates(checkpoint.path));
  } else {
    sources.standard = checkpoint.chat_template;
  }
  if (sources.standard.empty() && sources.tool_use.empty()) {
    Log(LogLevel::kWarning,
        "the model brings no chat template: chats are written as ChatML, which it may never have "
        "seen; --chat-template FILE gives it another");
    sources = ChatMlSources(tokenizer);
  }
  auto format = ChatFormat::Create(sources, tokenizer, limits);
  if (format) WarnOfFault(**format);
  if (format) return *std::move(format);
  Log(LogLevel::kWarning, "no /v1/chat/completions: the model's chat template: {}",
      format.error().message);
  return std::shared_ptr<const ChatFormat>();
}

// Of all that decides what tokens come, as far as the server is concerned.
std::string FingerprintOf(const ModelOptions& options, const std::string& name,
                          const LoadedModel& model) {
  const Checkpoint& checkpoint = model.checkpoint();
  const std::string text =
      fmt::format("{} {} {} {} {} {} {} {}", Version(), name, checkpoint.spec.architecture,
                  checkpoint.file_bytes, NameOf(model.kernels().arithmetic),
                  options.weights.type ? TraitsOf(*options.weights.type).name : "", model.has_f16(),
                  NameOf(model.kernels().kv_type));
  return fmt::format("fp_{:010x}", HashOf(text) >> 24);
}

ModelFacts FactsOf(const LoadedModel& model) {
  const Checkpoint& checkpoint = model.checkpoint();
  ModelFacts facts;
  facts.path = checkpoint.path;
  facts.architecture = checkpoint.spec.architecture;
  facts.file_format = checkpoint.format.starts_with("GGUF") ? "gguf" : checkpoint.format;
  facts.weight_type = TraitsOf(model.totals().main_type).name;
  facts.parameter_count = model.totals().parameter_count;
  facts.file_bytes = checkpoint.file_bytes;
  facts.layer_count = checkpoint.spec.layer_count();
  return facts;
}

// What the options say of one model.
struct OwnSettings {
  ModelSetting task;
  ModelSetting template_path;
  std::string chat_template;
};

Result<ServedModel> ServeOne(const ServeOptions& options, const OwnSettings& settings,
                             const std::string& name, LoadedModel& model,
                             std::shared_ptr<MatcherPool> constraints) {
  const Checkpoint& checkpoint = model.checkpoint();
  const ModelSpec& spec = checkpoint.spec;
  ServedModel served;
  served.id = name;
  served.fingerprint = FingerprintOf(options.model, name, model);
  served.created = static_cast<int64_t>(std::time(nullptr));
  served.tokenizer = checkpoint.tokenizer;
  served.structured =
      std::make_shared<StructuredOutput>(checkpoint.tokenizer, std::move(constraints));
  served.engine = &model.engine();
  served.target = spec.target;
  WEFT_ASSIGN_OR_RETURN(served.task, TaskOf(checkpoint, settings.task));
  served.embedding_size = spec.embedding_size();
  WEFT_ASSIGN_OR_RETURN(served.ranking, RankingOf(checkpoint, settings.task));
  served.classifier = spec.classifier;
  served.prompts = checkpoint.prompts;
  served.makes_sparse = spec.makes(PooledOutput::kSparse);
  served.facts = FactsOf(model);
  served.pooling = options.pooling.value_or(spec.pooling);
  const ModelSetting& named = settings.template_path;
  if (HoldsConversations(spec)) {
    WEFT_ASSIGN_OR_RETURN(served.chat, LoadChatFormat(options.server.max_render_bytes, named,
                                                      settings.chat_template, checkpoint));
  } else if (named.is_named) {
    return Fail(ErrorCode::kInvalidArgument,
                "--chat-template {}: the model '{}' holds no conversations", named.value, name);
  }
  return served;
}

// Where values that are of no model in particular find none that they fit.
Result<void> CheckUsed(std::string_view option, std::span<const ModelSetting> settings,
                       std::string_view reason,
                       std::span<const std::unique_ptr<LoadedModel>> models, auto fits) {
  bool is_used = false;
  std::string value;
  for (size_t i = 0; i < settings.size(); ++i) {
    if (settings[i].value.empty() || settings[i].is_named) continue;
    value = settings[i].value;
    is_used |= fits(models[i]->checkpoint(), value);
  }
  if (is_used || value.empty()) return {};
  return Fail(ErrorCode::kInvalidArgument, "{} {}: {}", option, value, reason);
}

}  // namespace

Result<std::vector<std::string>> NamesOfModels(std::span<const std::string> paths,
                                               std::span<const std::string> given) {
  std::vector<std::string> names;
  for (size_t i = 0; i < paths.size(); ++i) {
    const bool is_given = i < given.size() && !given[i].empty();
    const std::string name = is_given ? given[i] : NameOfPath(paths[i]);
    const auto same = std::ranges::find(names, name);
    if (same != names.end()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{} and {} would both be called '{}'; name the models by --served-model-name, "
                  "in the order of --model",
                  paths[static_cast<size_t>(same - names.begin())], paths[i], name);
    }
    names.push_back(name);
  }
  return names;
}

Result<std::vector<ModelSetting>> SettingsOfModels(std::string_view option,
                                                   std::span<const std::string> values,
                                                   std::span<const std::string> names) {
  std::vector<ModelSetting> settings(names.size());
  std::optional<std::string> for_all;
  for (const std::string& value : values) {
    // Not by the first '=': names may have one.
    const auto named = std::ranges::find_if(names, [&](const std::string& name) {
      return value.starts_with(name) && value.substr(name.size()).starts_with('=');
    });
    const bool is_named = named != names.end();
    if (is_named) {
      ModelSetting& setting = settings[static_cast<size_t>(named - names.begin())];
      if (!setting.is_named) {
        setting = {.value = value.substr(named->size() + 1), .is_named = true};
        continue;
      }
    } else if (!for_all) {
      for_all = value;
      continue;
    }
    return Fail(ErrorCode::kInvalidArgument, "{} is there twice for {}; NAME=VALUE says for which",
                option, is_named ? "the model '" + *named + "'" : "all models");
  }
  for (ModelSetting& setting : settings) {
    if (!setting.is_named) setting.value = for_all.value_or("");
    // A model that is alone is meant.
    if (settings.size() == 1) setting.is_named = !setting.value.empty();
  }
  return settings;
}

Result<ServedSettings> ReadServedSettings(const ServeOptions& options,
                                          std::span<const std::string> names) {
  ServedSettings settings;
  WEFT_ASSIGN_OR_RETURN(settings.tasks, SettingsOfModels("--task", options.tasks, names));
  WEFT_ASSIGN_OR_RETURN(settings.template_paths,
                        SettingsOfModels("--chat-template", options.chat_templates, names));
  for (const ModelSetting& path : settings.template_paths) {
    WEFT_ASSIGN_OR_RETURN(std::optional<std::string> text, ReadChatTemplateFile(path.value));
    settings.templates.push_back(std::move(text).value_or(""));
  }
  return settings;
}

Result<std::vector<ServedModel>> ServeModels(const ServeOptions& options,
                                             const ServedSettings& settings,
                                             std::span<const std::string> names,
                                             std::span<const std::unique_ptr<LoadedModel>> models,
                                             const std::shared_ptr<MatcherPool>& constraints) {
  WEFT_RETURN_IF_ERROR(
      CheckUsed("--task", settings.tasks, "no model here has this task", models, FitsTask));
  WEFT_RETURN_IF_ERROR(CheckUsed("--chat-template", settings.template_paths,
                                 "no model here holds conversations", models,
                                 [](const Checkpoint& checkpoint, const std::string&) {
                                   return HoldsConversations(checkpoint.spec);
                                 }));
  std::vector<ServedModel> served;
  for (size_t i = 0; i < models.size(); ++i) {
    const OwnSettings own = {.task = settings.tasks[i],
                             .template_path = settings.template_paths[i],
                             .chat_template = settings.templates[i]};
    WEFT_ASSIGN_OR_RETURN(ServedModel model,
                          ServeOne(options, own, names[i], *models[i], constraints));
    served.push_back(std::move(model));
  }
  if (served.empty()) return served;
  served.front().takes_any_name = options.any_model_name;
  const std::vector<std::string>& given = options.served_model_names;
  if (served.size() == 1 && given.size() > 1) {
    served.front().aliases.assign(given.begin() + 1, given.end());
  }
  return served;
}

Result<ServedModel> ServeRequested(const ServeOptions& options, const std::string& name,
                                   LoadedModel& model, std::shared_ptr<MatcherPool> constraints) {
  return ServeOne(options, {}, name, model, std::move(constraints));
}

}  // namespace weft
