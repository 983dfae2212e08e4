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

// What a generation_config.json says of an encoder-decoder's texts, in place of what the target
// has: decoder_start_token_id, forced_bos_token_id, bad_words_ids. Ids are checked against the
// vocabulary.
Result<void> ReadHfTarget(std::string_view json_text, const std::string& path, int64_t vocab_size,
                          TargetSpec& target);

// The prefixes in config.json's task_specific_params.
Result<void> ReadHfTasks(std::string_view json_text, const std::string& path, TargetSpec& target);

}  // namespace weft
