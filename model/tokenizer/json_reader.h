// Typed access to a parsed JSON file whose shape nobody has checked yet. Only for .cc files: it
// brings nlohmann's header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json_limits.h"
#include "base/result.h"

namespace weft {

// A value and where it stands ("models/x/tokenizer.json: model.merges"), for errors.
class JsonView {
 public:
  JsonView(const nlohmann::json& value, std::string where)
      : value_(&value), where_(std::move(where)) {}

  const nlohmann::json& value() const { return *value_; }
  const std::string& where() const { return where_; }
  bool is_null() const { return value_->is_null(); }

  // The member `key`; a null view if it is absent or this is no object.
  JsonView operator[](std::string_view key) const;
  JsonView Element(size_t index) const;  // of an array; index < value().size()

  Result<std::string_view> String() const;
  Result<std::string_view> StringOr(std::string_view otherwise) const;  // null: `otherwise`
  Result<bool> BoolOr(bool otherwise) const;
  Result<int64_t> Int() const;
  Result<void> ExpectArray() const;
  Result<void> ExpectObject() const;

 private:
  tl::unexpected<Error> Wrong(std::string_view expected) const;

  const nlohmann::json* value_;
  std::string where_;
};

// Parses `text`, which keeps to these limits or is refused before anything is made of it; errors
// name `path` and the position.
Result<nlohmann::json> ParseJson(std::string_view text, const std::string& path,
                                 const JsonLimits& limits);

}  // namespace weft
