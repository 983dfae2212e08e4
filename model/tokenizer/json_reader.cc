#include "model/tokenizer/json_reader.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/quoted.h"

namespace weft {
JsonView JsonView::operator[](std::string_view key) const {
  static const nlohmann::json kNull;
  const bool is_name = std::all_of(key.begin(), key.end(),
                                   [](char c) { return c == '_' || IsAsciiAlphanumeric(c); });
  std::string where = fmt::format("{}{}{}", where_, where_.ends_with(": ") ? "" : ".",
                                  is_name ? std::string(key) : Quoted(key));
  if (!value_->is_object()) return {kNull, std::move(where)};
  const auto member = value_->find(key);
  return {member == value_->end() ? kNull : *member, std::move(where)};
}

JsonView JsonView::Element(size_t index) const {
  return {(*value_)[index], fmt::format("{}[{}]", where_, index)};
}

tl::unexpected<Error> JsonView::Wrong(std::string_view expected) const {
  return Fail(ErrorCode::kCorrupt, "{} is {}, {} expected", where_,
              is_null() ? "missing" : value_->type_name(), expected);
}

Result<std::string_view> JsonView::String() const {
  const auto* text = value_->get_ptr<const std::string*>();
  if (text == nullptr) return Wrong("a string");
  return std::string_view(*text);
}

Result<std::string_view> JsonView::StringOr(std::string_view otherwise) const {
  if (is_null()) return otherwise;
  return String();
}

Result<bool> JsonView::BoolOr(bool otherwise) const {
  if (is_null()) return otherwise;
  if (!value_->is_boolean()) return Wrong("a boolean");
  return value_->get<bool>();
}

Result<int64_t> JsonView::Int() const {
  if (!value_->is_number_integer()) return Wrong("an integer");
  if (value_->is_number_unsigned() && value_->get<uint64_t>() > INT64_MAX) {
    return Wrong("an integer below 2^63");
  }
  return value_->get<int64_t>();
}

Result<void> JsonView::ExpectArray() const {
  if (!value_->is_array()) return Wrong("an array");
  return {};
}

Result<void> JsonView::ExpectObject() const {
  if (!value_->is_object()) return Wrong("an object");
  return {};
}

Result<nlohmann::json> ParseJson(std::string_view text, const std::string& path,
                                 const JsonLimits& limits) {
  WEFT_RETURN_IF_ERROR(CheckJsonLimits(text, limits, path));
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return Fail(ErrorCode::kCorrupt, "{}: {}", path, error.what());
  }
}

}  // namespace weft
