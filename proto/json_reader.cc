#include "proto/json_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
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

// Adds a member to an object and takes its name; nullptr, and the name is left, if it has one.
json* AddMember(json& object, std::string& name) {
  const auto [entry, inserted] =
      object.get_ref<json::object_t&>().try_emplace(std::move(name), nullptr);
  return inserted ? &entry->second : nullptr;
}

// The same of an object that keeps the order, which is searched for names that it has twice when it
// is whole: nlohmann's own looks at every member for each that it adds.
ordered_json* AddMember(ordered_json& object, std::string& name) {
  ordered_json::object_t::Container& members = object.get_ref<ordered_json::object_t&>();
  if (members.size() == members.capacity()) {
    // A vector would copy the values, with all that is in them: their names are const.
    ordered_json::object_t::Container grown;
    grown.reserve(std::max<size_t>(4, 2 * members.size()));
    for (auto& [each, value] : members) grown.emplace_back(each, std::move(value));
    members = std::move(grown);
  }
  return &members.emplace_back(std::move(name), nullptr).second;
}

// One of the names that an object has twice. `names` is room for them all.
std::optional<std::string_view> FindDuplicate(const json&, std::vector<std::string_view>&) {
  return std::nullopt;  // AddMember has refused it
}

// Names are sorted, not hashed: how long that takes is nothing that names could be chosen for.
std::optional<std::string_view> FindDuplicate(const ordered_json& object,
                                              std::vector<std::string_view>& names) {
  names.clear();
  for (const auto& member : object.get_ref<const ordered_json::object_t&>())
    names.emplace_back(member.first);
  std::ranges::sort(names);
  const auto found = std::ranges::adjacent_find(names);
  return found == names.end() ? std::nullopt : std::optional(*found);
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
  // nlohmann's null value may throw, by its signature.
  explicit DocumentBuilder(JsonCount& count) noexcept(false) : count_(count) {}

  bool null() override { return Place(nullptr); }
  bool boolean(bool value) override { return Place(value); }
  bool number_integer(int64_t value) override { return PlaceNumber(value); }
  bool number_unsigned(uint64_t value) override { return PlaceNumber(value); }
  bool number_float(double value, const std::string&) override { return PlaceNumber(value); }
  bool string(std::string& value) override { return Place(std::move(value)); }
  bool binary(typename Json::binary_t&) override { return false; }  // no such thing in JSON text
  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_array() override { return Close(); }

  bool end_object() override {
    const std::optional<std::string_view> name = FindDuplicate(*open_.back(), names_);
    return name ? RefuseDuplicate(*name) : Close();
  }

  bool key(std::string& name) override {
    member_ = AddMember(*open_.back(), name);
    return member_ != nullptr || RefuseDuplicate(name);
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
  // In an array it takes little more than itself; as a member, all that a member takes.
  bool PlaceNumber(Json value) {
    constexpr bool kCounts = std::is_same_v<Json, ordered_json>;
    constexpr int64_t kNumbersAValue = 8;
    const bool is_element = !open_.empty() && open_.back()->is_array();
    if (!is_element) return Place(std::move(value));
    if (kCounts && ++count_.numbers % kNumbersAValue == 0 && !Count()) return false;
    return PlaceUncounted(std::move(value));
  }
  bool PlaceUncounted(Json value) {
    Put(std::move(value));
    return true;
  }

  bool RefuseDuplicate(std::string_view name) {
    error_ = JsonError(
        "duplicate_key",
        fmt::format("the key '{}' appears twice in one object; send it once", name.substr(0, 100)));
    error_->param = PathOf(name);
    return false;
  }

  bool Count() {
    if (++count_.values <= kMaxJsonValues) return true;
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
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  JsonCount& count_;
  Json root_;
  std::vector<Json*> open_;              // containers, outermost first
  std::vector<std::string_view> names_;  // see FindDuplicate
  Json* member_ = nullptr;               // the value of the key just read
  std::optional<ApiError> error_;
};

template <typename Json>
ApiResult<Json> Parse(std::string_view text, JsonCount& count) {
  // The parser would take it for the end of the text.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return tl::unexpected(JsonError(
        "invalid_json",
        fmt::format("the request body is not valid JSON: a NUL character at byte {}", nul + 1)));
  }
  DocumentBuilder<Json> builder(count);
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

ApiResult<json> ParseJson(std::string_view text) {
  JsonCount count;
  return Parse<json>(text, count);
}

ApiResult<ordered_json> ParseOrderedJson(std::string_view text) {
  JsonCount count;
  return ParseOrderedJson(text, count);
}

ApiResult<ordered_json> ParseOrderedJson(std::string_view text, JsonCount& count) {
  return Parse<ordered_json>(text, count);
}

ApiResult<json> ParseBody(std::string_view text) { return RequireObject(ParseJson(text)); }

ApiResult<ordered_json> ParseOrderedBody(std::string_view text) {
  return RequireObject(ParseOrderedJson(text));
}

std::string DescribeJson(const json& value) { return Describe(value); }
std::string DescribeJson(const ordered_json& value) { return Describe(value); }

}  // namespace weft
