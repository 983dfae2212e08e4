// What values in a schema come to, and how errors show them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace weft {

struct JsonExtent {
  int64_t values = 0;     // the value itself, those in it and their names
  size_t text_bytes = 0;  // of strings and names
  int depth = 0;          // 0: holds no values
};

// Needs no stack, however deep the value is.
JsonExtent ExtentOf(const nlohmann::ordered_json& value);

// "5", "'abc'", "an array", for errors.
std::string Described(const nlohmann::ordered_json& value);

// A number without a fraction, 0 or more (2 and 2.0); what 64 bits cannot hold is the largest that
// they can. nullopt: anything else.
std::optional<int64_t> CountIn(const nlohmann::ordered_json& value);

}  // namespace weft
