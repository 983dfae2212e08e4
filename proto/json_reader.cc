#include "proto/json_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ApiError JsonError(std::string code, std::string message) {
  ApiError error;
  error.code = std::move(code);
  error.message = std::move(message);
  return error;
}

// The part of nlohmann's message that names the reason, without the text it quotes: that may be
// megabytes, or not UTF-8.
std::string ReasonOf(std::string_view what) {
  constexpr std::string_view kLastRead = "; last read";
  constexpr std::string_view kColumnEnd = ": ";
  if (what.find("out_of_range.406") != std::string_view::npos)
    return "number out of the range of a double";
  what = what.substr(0, what.find(kLastRead));
  if (const size_t dash = what.rfind(" - "); dash != std::string_view::npos) {
    what.remove_prefix(dash + 3);
  } else if (const size_t colon = what.rfind(kColumnEnd); colon != std::string_view::npos) {
    what.remove_prefix(colon + kColumnEnd.size());
  }
  return std::string(what.substr(0, 160));
}

// Adds a member to an object; nullptr if it has one of this name.
json* AddMember(json& object, const std::string& name, std::unordered_set<std::string>&) {
  const auto [entry, inserted] = object.get_ref<json::object_t&>().emplace(name, nullptr);
  return inserted ? &entry->second : nullptr;
}

// nlohmann's ordered object looks at every member for each that it adds, which a hostile body could
// make arbitrarily slow: here a large object's names are in a set.
ordered_json* AddMember(ordered_json& object, const std::string& name,
                        std::unordered_set<std::string>& names) {
  constexpr size_t kMaxSearched = 16;
  ordered_json::object_t::Container& members = object.get_ref<ordered_json::object_t&>();
  if (members.size() == kMaxSearched) {
    for (const auto& member : members) names.insert(member.first);
  }
  if (members.size() < kMaxSearched) {
    for (const auto& member : members) {
      if (member.first == name) return nullptr;
    }
  } else if (!names.insert(name).second) {
    return nullptr;
  }
  return &members.emplace_back(name, nullptr).second;
}

// What an object calls one of its members.
template <typename Json>
std::string_view NameOf(const Json& object, const Json& member) {
  const auto& members = object.template get_ref<const typename Json::object_t&>();
  const auto found =
      std::ranges::find(members, &member, [](const auto& each) { return &each.second; });
  return found == members.end() ? std::string_view() : std::string_view(found->first);
}

// Builds the document from the parser's events, which lets it stop at the first offence.
template <typename Json>
class DocumentBuilder : public nlohmann::json_sax<Json> {
 public:
  DocumentBuilder() noexcept(false) {}  // as nlohmann's null value may throw, by its signature

  bool null() override { return Place(nullptr); }
  bool boolean(bool value) override { return Place(value); }
  bool number_integer(int64_t value) override { return PlaceNumber(value); }
  bool number_unsigned(uint64_t value) override { return PlaceNumber(value); }
  bool number_float(double value, const std::string&) override { return PlaceNumber(value); }
  bool string(std::string& value) override { return Place(std::move(value)); }
  bool binary(typename Json::binary_t&) override { return false; }  // no such thing in JSON text
  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(std::string& name) override {
    member_ = AddMember(*open_.back(), name, names_.back());
    if (member_ == nullptr) {
      error_ = JsonError("duplicate_key", fmt::format("the key '{}' appears twice in one object; "
                                                      "send it once",
                                                      name.substr(0, 100)));
      error_->param = PathOf(name);
      return false;
    }
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& exception) override {
    error_ =
        JsonError("invalid_json", fmt::format("the request body is not valid JSON: {} at byte {}",
                                              ReasonOf(exception.what()), position));
    return false;
  }

  ApiResult<Json> Take(bool parsed) {
    if (error_) return tl::unexpected(*std::move(error_));
    if (!parsed) return tl::unexpected(JsonError("invalid_json", "the request body is not JSON"));
    return std::move(root_);
  }

 private:
  // Puts a value where the document has come to; returns where it is now. The address stays good
  // while the value is open: its container gets no further member before it closes.
  Json* Put(Json&& value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& container = *open_.back();
    if (container.is_array()) {
      auto& elements = container.template get_ref<typename Json::array_t&>();
      elements.push_back(std::move(value));
      return &elements.back();
    }
    *member_ = std::move(value);
    return member_;
  }

  bool Place(Json value) { return Count() && PlaceUncounted(std::move(value)); }
  bool PlaceNumber(Json value) {
    constexpr bool kCounts = std::is_same_v<Json, ordered_json>;
    constexpr int64_t kNumbersAValue = 8;
    if (kCounts && ++number_count_ % kNumbersAValue == 0 && !Count()) return false;
    return PlaceUncounted(std::move(value));
  }
  bool PlaceUncounted(Json value) {
    Put(std::move(value));
    return true;
  }

  bool Count() {
    if (++value_count_ <= kMaxJsonValues) return true;
    error_ = JsonError(
        "too_many_values",
        fmt::format("the request body has more than {} JSON values; send fewer", kMaxJsonValues));
    if (!open_.empty()) error_->param = PathOfNext();
    return false;
  }

  // Where the document has come to, and a member there: "x[3].name". Looks for names from the end,
  // where what is open stands.
  std::string PathOf(std::string_view member) const {
    constexpr size_t kMaxPath = 300;
    std::string path;
    for (size_t i = 0; i < open_.size() && path.size() < kMaxPath; ++i) {
      const Json* child = i + 1 < open_.size() ? open_[i + 1] : nullptr;
      if (open_[i]->is_array()) {
        path += fmt::format("[{}]", open_[i]->size() - (child == nullptr ? 0 : 1));
        continue;
      }
      const std::string name(child == nullptr ? member : NameOf(*open_[i], *child));
      if (!path.empty() && !name.empty()) path += '.';
      path += name.substr(0, 100);
    }
    return path;
  }

  // Where the next value would stand.
  std::string PathOfNext() const {
    const Json& parent = *open_.back();
    return PathOf(parent.is_object() ? NameOf(parent, *member_) : std::string_view());
  }

  bool Open(Json container) {
    if (!Count()) return false;
    if (open_.size() >= kMaxJsonDepth) {
      error_ =
          JsonError("json_too_deep",
                    fmt::format("the request body nests deeper than {} levels", kMaxJsonDepth));
      error_->param = PathOfNext();
      return false;
    }
    open_.push_back(Put(std::move(container)));
    names_.emplace_back();
    return true;
  }

  bool Close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;                             // containers, outermost first
  std::vector<std::unordered_set<std::string>> names_;  // see AddMember; one a container
  int64_t value_count_ = 0;
  int64_t number_count_ = 0;
  Json* member_ = nullptr;  // the value of the key just read
  std::optional<ApiError> error_;
};

template <typename Json>
ApiResult<Json> Parse(std::string_view text) {
  // The parser would take it for the end of the text.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return tl::unexpected(JsonError(
        "invalid_json",
        fmt::format("the request body is not valid JSON: a NUL character at byte {}", nul + 1)));
  }
  DocumentBuilder<Json> builder;
  const bool parsed = Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.Take(parsed);
}

template <typename Json>
std::string Describe(const Json& value) {
  constexpr size_t kMaxQuoted = 40;
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::boolean:
      return value.template get<bool>() ? "true" : "false";
    case Json::value_t::string: {
      const auto& text = value.template get_ref<const std::string&>();
      if (text.size() > kMaxQuoted) return fmt::format("a string of {} bytes", text.size());
      return fmt::format("the string {}", value.dump());
    }
    case Json::value_t::array:
      return value.empty() ? "an empty array" : "an array";
    case Json::value_t::object:
      return "an object";
    default:
      return fmt::format("the number {}", value.dump());
  }
}

template <typename Json>
ApiResult<Json> RequireObject(ApiResult<Json> body) {
  if (!body || body->is_object()) return body;
  return tl::unexpected(InvalidField(
      "", fmt::format("the request body must be a JSON object, not {}", Describe(*body))));
}

}  // namespace

ApiResult<json> ParseJson(std::string_view text) { return Parse<json>(text); }

ApiResult<ordered_json> ParseOrderedJson(std::string_view text) {
  return Parse<ordered_json>(text);
}

ApiResult<json> ParseBody(std::string_view text) { return RequireObject(ParseJson(text)); }

ApiResult<ordered_json> ParseOrderedBody(std::string_view text) {
  return RequireObject(ParseOrderedJson(text));
}

std::string DescribeJson(const json& value) { return Describe(value); }
std::string DescribeJson(const ordered_json& value) { return Describe(value); }

}  // namespace weft
