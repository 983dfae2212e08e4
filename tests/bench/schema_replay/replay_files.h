// The schemas and instances of MaskBench (guidance-ai/jsonschemabench, maskbench/data: an object a
// file) and of JSON-Schema-Test-Suite (an array a file, in a folder named after the draft).
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "grammar/schema/schema_reader.h"

namespace weft {

struct ReplayInstance {
  std::string name;
  nlohmann::ordered_json value;
  bool is_valid = false;
};

struct ReplaySchema {
  std::string name;  // the file, and in the suite the description behind it
  nlohmann::ordered_json schema;
  SchemaDraft draft = SchemaDraft::k2020_12;  // where the schema names none
  std::vector<ReplayInstance> instances;
};

struct ReplayFiles {
  std::vector<ReplaySchema> schemas;
  std::vector<std::string> left_out;  // files, and why
};

// Of `path`, a file or a folder, in the order of names.
ReplayFiles LoadReplayFiles(const std::string& path);

}  // namespace weft
