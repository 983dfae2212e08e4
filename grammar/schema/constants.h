// JSON values by what they mean: equal values are one, however they are spelled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace weft {

enum class NameId : int32_t {};
enum class ConstantId : int32_t {};

// What kinds of values there are, of which a schema may say different things.
enum class ValueKind : uint8_t { kNull, kFalse, kTrue, kNumber, kString, kObject, kArray };

struct Constant {
  ValueKind kind = ValueKind::kNull;
  std::string text = {};  // of a string what it says; of a number its one spelling here, 12e-1
  std::vector<ConstantId> items = {};
  std::vector<std::pair<NameId, ConstantId>> members = {};  // by name, ascending
};

class Constants {
 public:
  NameId NameOf(std::string_view utf8);
  // Valid until the next name is made.
  const std::string& name(NameId id) const { return names_[static_cast<size_t>(id)]; }

  // Of a value that was parsed, so that its text is UTF-8 and no name is there twice.
  ConstantId Of(const nlohmann::ordered_json& value);
  // nullopt: the text is no JSON value, has a name twice, or a number with an exponent beyond all
  // use.
  std::optional<ConstantId> Parse(std::string_view json);
  // Valid until the next constant is made.
  const Constant& operator[](ConstantId id) const { return constants_[static_cast<size_t>(id)]; }

 private:
  class Reader;

  ConstantId Intern(Constant constant);

  std::unordered_map<std::string, NameId> name_ids_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, ConstantId> ids_;  // by all that they are
  std::vector<Constant> constants_;
};

}  // namespace weft
