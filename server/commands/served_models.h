// The models of `weft serve`: what they are called, which settings are whose, and what the server
// is told of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/commands/serve_options.h"
#include "server/models/loaded_model.h"
#include "server/models/served_model.h"

namespace weft {

class MatcherPool;

// What requests call each of the models: what `given` says, one a path, otherwise the file's name
// without ".gguf", or the directory's. An error if two would have one name.
Result<std::vector<std::string>> NamesOfModels(std::span<const std::string> paths,
                                               std::span<const std::string> given);

// What an option says of a model.
struct ModelSetting {
  std::string value;      // empty: nothing
  bool is_named = false;  // it is of this model alone: an error where it does not fit
};

// An option's values, each "VALUE", of all models that it fits, or "NAME=VALUE", of one, which
// comes first; in the order of `names`. `option`: as "--task". An error if a model gets two.
Result<std::vector<ModelSetting>> SettingsOfModels(std::string_view option,
                                                   std::span<const std::string> values,
                                                   std::span<const std::string> names);

// Chat templates and tasks, read before a model is loaded.
struct ServedSettings {
  std::vector<ModelSetting> tasks;
  std::vector<ModelSetting> template_paths;
  std::vector<std::string> templates;  // what is in those files; empty: there is none
};
Result<ServedSettings> ReadServedSettings(const ServeOptions& options,
                                          std::span<const std::string> names);

// What the server needs to know of each model, in their order. Says on the log what is wrong with
// chat templates. Errors: a template or a task
// that cannot be used, or fits none of the models. The models outlive the result.
Result<std::vector<ServedModel>> ServeModels(const ServeOptions& options,
                                             const ServedSettings& settings,
                                             std::span<const std::string> names,
                                             std::span<const std::unique_ptr<LoadedModel>> models,
                                             const std::shared_ptr<MatcherPool>& constraints);

// The same for one that is loaded on request, whose task and template are its own.
Result<ServedModel> ServeRequested(const ServeOptions& options, const std::string& name,
                                   LoadedModel& model, std::shared_ptr<MatcherPool> constraints);

}  // namespace weft
