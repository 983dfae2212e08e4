#include "grammar/schema/constants.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/check.h"
#include "grammar/regex/decimal.h"

namespace weft {

// Makes constants from the inside out.
class Constants::Reader : public nlohmann::json_sax<nlohmann::ordered_json> {
 public:
  explicit Reader(Constants& constants) : constants_(constants) {}

  std::optional<ConstantId> result() const { return result_; }

  bool null() override { return Add({.kind = ValueKind::kNull}); }
  bool boolean(bool value) override {
    return Add({.kind = value ? ValueKind::kTrue : ValueKind::kFalse});
  }
  bool number_integer(number_integer_t value) override { return AddNumber(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return AddNumber(std::to_string(value));
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    return AddNumber(text);
  }
  bool string(string_t& text) override { return Add({.kind = ValueKind::kString, .text = text}); }
  bool binary(binary_t& /*bytes*/) override { return false; }
  bool start_object(size_t /*count*/) override {
    open_.push_back({.kind = ValueKind::kObject});
    return true;
  }
  bool key(string_t& name) override {
    open_.back().members.emplace_back(constants_.NameOf(name), ConstantId{});
    return true;
  }
  bool end_object() override {
    std::ranges::sort(open_.back().members, {}, [](const auto& member) { return member.first; });
    const auto is_same = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (std::ranges::adjacent_find(open_.back().members, is_same) != open_.back().members.end()) {
      return false;
    }
    return Close();
  }
  bool start_array(size_t /*count*/) override {
    open_.push_back({.kind = ValueKind::kArray});
    return true;
  }
  bool end_array() override { return Close(); }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  bool AddNumber(const std::string& text) {
    const Result<Decimal> number = ParseDecimal(text);
    if (!number) return false;
    const std::string digits = number->IsZero() ? "0" : number->digits;
    return Add({.kind = ValueKind::kNumber,
                .text = fmt::format("{}{}e{}", number->negative ? "-" : "", digits,
                                    number->IsZero() ? 0 : number->exponent)});
  }
  bool Close() {
    Constant closed = std::move(open_.back());
    open_.pop_back();
    return Add(std::move(closed));
  }
  bool Add(Constant constant) {
    const ConstantId id = constants_.Intern(std::move(constant));
    if (open_.empty()) {
      result_ = id;
    } else if (open_.back().kind == ValueKind::kArray) {
      open_.back().items.push_back(id);
    } else {
      open_.back().members.back().second = id;
    }
    return true;
  }

  Constants& constants_;
  std::vector<Constant> open_;
  std::optional<ConstantId> result_;
};

NameId Constants::NameOf(std::string_view utf8) {
  const auto [entry, is_new] =
      name_ids_.emplace(std::string(utf8), static_cast<NameId>(names_.size()));
  if (is_new) names_.emplace_back(utf8);
  return entry->second;
}

ConstantId Constants::Intern(Constant constant) {
  std::string key = fmt::format("{} {}", static_cast<int>(constant.kind), constant.text);
  for (const ConstantId item : constant.items) key += fmt::format(",{}", static_cast<int>(item));
  for (const auto& [name, value] : constant.members) {
    key += fmt::format(",{}:{}", static_cast<int>(name), static_cast<int>(value));
  }
  const auto [entry, is_new] =
      ids_.emplace(std::move(key), static_cast<ConstantId>(constants_.size()));
  if (is_new) constants_.push_back(std::move(constant));
  return entry->second;
}

ConstantId Constants::Of(const nlohmann::ordered_json& value) {
  const std::optional<ConstantId> constant = Parse(value.dump());
  WEFT_CHECK(constant.has_value());
  return *constant;
}

std::optional<ConstantId> Constants::Parse(std::string_view json) {
  Reader reader(*this);
  if (!nlohmann::ordered_json::sax_parse(json, &reader)) return std::nullopt;
  return reader.result();
}

}  // namespace weft
