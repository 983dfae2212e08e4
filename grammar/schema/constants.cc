#include "grammar/schema/constants.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/check.h"
#include "grammar/regex/decimal.h"

namespace weft {

// Makes constants from the inside out. The JSON library reads no number beyond a double.
class Constants::Reader {
 public:
  Reader(Constants& constants, std::string_view text) : constants_(constants), text_(text) {}

  std::optional<ConstantId> Read() {
    bool goes_on = ReadValue();
    while (goes_on && !result_) {
      if (!Take(',')) {
        goes_on = Take(open_.back().kind == ValueKind::kArray ? ']' : '}') && Close();
      } else {
        goes_on = (open_.back().kind == ValueKind::kArray || ReadName()) && ReadValue();
      }
    }
    SkipSpace();
    return goes_on && text_.empty() ? result_ : std::nullopt;
  }

 private:
  // A value; of one with parts all up to the first that has none.
  bool ReadValue() {
    for (;;) {
      if (Take('[')) {
        open_.push_back({.kind = ValueKind::kArray});
        if (Take(']')) return Close();
      } else if (Take('{')) {
        open_.push_back({.kind = ValueKind::kObject});
        if (Take('}')) return Close();
        if (!ReadName()) return false;
      } else {
        return ReadPlainValue();
      }
    }
  }

  bool ReadPlainValue() {
    if (text_.starts_with('"')) {
      std::optional<std::string> text = ReadString();
      return text && Add({.kind = ValueKind::kString, .text = *std::move(text)});
    }
    const size_t size = std::min(text_.find_first_of(" \t\r\n,]}"), text_.size());
    const std::string_view token = text_.substr(0, size);
    text_.remove_prefix(size);
    if (token == "null") return Add({.kind = ValueKind::kNull});
    if (token == "false") return Add({.kind = ValueKind::kFalse});
    if (token == "true") return Add({.kind = ValueKind::kTrue});
    const Result<Decimal> number = ParseDecimal(token);
    if (!number) return false;
    return Add({.kind = ValueKind::kNumber,
                .text = fmt::format("{}{}e{}", number->negative ? "-" : "",
                                    number->IsZero() ? "0" : number->digits, number->exponent)});
  }

  // With the colon.
  bool ReadName() {
    SkipSpace();
    const std::optional<std::string> name = ReadString();
    if (!name) return false;
    open_.back().members.emplace_back(constants_.NameOf(*name), ConstantId{});
    return Take(':');
  }

  std::optional<std::string> ReadString() {
    size_t end = 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return std::nullopt;
    const auto read = nlohmann::json::parse(text_.substr(0, end + 1), nullptr, false);
    text_.remove_prefix(end + 1);
    return read.is_string() ? std::optional(read.get<std::string>()) : std::nullopt;
  }

  bool Close() {
    Constant closed = std::move(open_.back());
    open_.pop_back();
    std::ranges::sort(closed.members, {}, [](const auto& member) { return member.first; });
    const auto is_same = [](const auto& a, const auto& b) { return a.first == b.first; };
    return std::ranges::adjacent_find(closed.members, is_same) == closed.members.end() &&
           Add(std::move(closed));
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

  void SkipSpace() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size()));
  }

  bool Take(char byte) {
    SkipSpace();
    if (!text_.starts_with(byte)) return false;
    text_.remove_prefix(1);
    return true;
  }

  Constants& constants_;
  std::string_view text_;
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
  return Reader(*this, json).Read();
}

}  // namespace weft
