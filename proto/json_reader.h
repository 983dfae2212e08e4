// Strict JSON for hostile input: bounded nesting, no duplicate keys, valid UTF-8, no lone
// surrogates, no numbers beyond a double. Include from .cc files only: nlohmann's header is heavy.
#pragma once

#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/api_error.h"

namespace weft {

inline constexpr int kMaxJsonDepth = 64;  // schemas of tools are what nests deepest
// A value takes some twenty times the memory of its two bytes, and a template may print each.
inline constexpr int64_t kMaxJsonValues = 1 << 17;

// What texts have brought so far that share one limit.
struct JsonCount {
  int64_t values = 0;
  int64_t numbers = 0;  // that are elements of arrays
};

// Errors: status 400; code "invalid_json" (with the byte's position), "json_too_deep",
// "too_many_values" or "duplicate_key". Numbers in arrays do not count: prompts may be lists of
// token ids.
ApiResult<nlohmann::json> ParseJson(std::string_view text);
// The same, members of objects in the order of the text: what templates print. Eight numbers in
// arrays count as one.
ApiResult<nlohmann::ordered_json> ParseOrderedJson(std::string_view text);
// The same for one of several texts, of which `count` are those before; what does not parse counts
// up to where it no longer does.
ApiResult<nlohmann::ordered_json> ParseOrderedJson(std::string_view text, JsonCount& count);

// The same for a request's body, which must be an object ("invalid_value" otherwise).
ApiResult<nlohmann::json> ParseBody(std::string_view text);
ApiResult<nlohmann::ordered_json> ParseOrderedBody(std::string_view text);

// "the string \"abc\"", "the number -3", "an array": for messages; at most some 60 bytes.
std::string DescribeJson(const nlohmann::json& value);
std::string DescribeJson(const nlohmann::ordered_json& value);

}  // namespace weft
