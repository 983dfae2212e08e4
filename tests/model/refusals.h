// What a fixture is refused with after one change.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "model/families/families.h"
#include "model/formats/config_json.h"
#include "model/formats/gguf.h"
#include "tests/model/model_fixture.h"

namespace weft {

// Of its config.json, with these members changed.
inline std::string HfError(const std::string& fixture, const nlohmann::json& changes) {
  std::ifstream stream(ParityPath(fixture, "hf/config.json"));
  auto config = nlohmann::json::parse(stream);
  config.merge_patch(changes);
  auto values = ReadConfigJson(config.dump(), "config.json");
  if (!values) return values.error().message;
  const auto read = DescribeHf(std::move(*values), "config.json");
  return read ? "no error" : read.error().message;
}

// Of its GGUF file, if this key has this value, or, without one, is not there.
inline std::string GgufError(const std::string& fixture, const std::string& key,
                             std::optional<GgufValue> value) {
  GgufFile file = GgufFile::Open(ParityPath(fixture, "model.gguf")).value();
  auto values = file.metadata.values();
  values.erase(key);
  if (value) values.emplace(key, *std::move(value));
  file.metadata = GgufMetadata("model.gguf", std::move(values));
  const auto read = DescribeGguf(file);
  return read ? "no error" : read.error().message;
}

}  // namespace weft
