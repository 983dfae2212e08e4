// config.json of a Hugging Face directory, and what else is JSON beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/hyperparameters.h"
#include "model/spec.h"

namespace weft {

// The text of a config.json. Objects in it are flattened: {"rope_parameters": {"factor": 2}} has
// the key "rope_parameters.factor", and "rope_parameters" is OtherValue. `path` is for messages.
Result<ConfigValues> ReadConfigJson(std::string_view json_text, const std::string& path);

// The text of the 1_Pooling/config.json that sentence-transformers keeps beside config.json.
// nullopt: it names no mode. `path` is for messages.
Result<std::optional<Pooling>> ReadHfPooling(std::string_view json_text, const std::string& path);

// An entry of sentence-transformers' modules.json.
struct HfModule {
  std::string path;  // a folder beside it, or empty: the directory itself
  std::string type;  // the name of a Python class
};

// The text of a modules.json: at most 64 entries, whose paths are plain names.
Result<std::vector<HfModule>> ReadHfModules(std::string_view json_text, const std::string& path);

}  // namespace weft
