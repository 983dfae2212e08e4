#include "proto/json_reader.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace weft {
namespace {

using nlohmann::json;

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

// Builds the document from the parser's events, which lets it stop at the first offence.
class DocumentBuilder : public nlohmann::json_sax<json> {
 public:
  DocumentBuilder() noexcept(false) {}  // as nlohmann's null value may throw, by its signature

  bool null() override { return Place(nullptr); }
  bool boolean(bool value) override { return Place(value); }
  bool number_integer(int64_t value) override { return Place(value); }
  bool number_unsigned(uint64_t value) override { return Place(value); }
  bool number_float(double value, const std::string&) override { return Place(value); }
  bool string(std::string& value) override { return Place(std::move(value)); }
  bool binary(json::binary_t&) override { return false; }  // no such thing in JSON text
  bool start_object(size_t) override { return Open(json::object()); }
  bool start_array(size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(std::string& name) override {
    const auto [entry, inserted] = open_.back()->get_ref<json::object_t&>().emplace(name, nullptr);
    if (!inserted) {
      error_ = JsonError("duplicate_key", fmt::format("the key '{}' appears twice in one object; "
                                                      "send it once",
                                                      name.substr(0, 100)));
      error_->param = name.substr(0, 100);
      return false;
    }
    member_ = &entry->second;
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& exception) override {
    error_ =
        JsonError("invalid_json", fmt::format("the request body is not valid JSON: {} at byte {}",
                                              ReasonOf(exception.what()), position));
    return false;
  }

  ApiResult<json> Take(bool parsed) {
    if (error_) return tl::unexpected(*std::move(error_));
    if (!parsed) return tl::unexpected(JsonError("invalid_json", "the request body is not JSON"));
    return std::move(root_);
  }

 private:
  // Puts a value where the document has come to; returns where it is now. The address stays good
  // while the value is open: its container gets no further member before it closes.
  json* Put(json&& value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& container = *open_.back();
    if (container.is_array()) {
      auto& elements = container.get_ref<json::array_t&>();
      elements.push_back(std::move(value));
      return &elements.back();
    }
    *member_ = std::move(value);
    return member_;
  }

  bool Place(json value) {
    Put(std::move(value));
    return true;
  }

  bool Open(json container) {
    if (open_.size() >= kMaxJsonDepth) {
      error_ =
          JsonError("json_too_deep",
                    fmt::format("the request body nests deeper than {} levels", kMaxJsonDepth));
      return false;
    }
    open_.push_back(Put(std::move(container)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  json root_;
  std::vector<json*> open_;  // containers, outermost first
  json* member_ = nullptr;   // the value of the key just read
  std::optional<ApiError> error_;
};

}  // namespace

ApiResult<json> ParseJson(std::string_view text) {
  // The parser would take it for the end of the text.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return tl::unexpected(JsonError(
        "invalid_json",
        fmt::format("the request body is not valid JSON: a NUL character at byte {}", nul + 1)));
  }
  DocumentBuilder builder;
  const bool parsed = json::sax_parse(text.begin(), text.end(), &builder);
  return builder.Take(parsed);
}

std::string DescribeJson(const json& value) {
  constexpr size_t kMaxQuoted = 40;
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      if (text.size() > kMaxQuoted) return fmt::format("a string of {} bytes", text.size());
      return fmt::format("the string {}", value.dump());
    }
    case json::value_t::array:
      return value.empty() ? "an empty array" : "an array";
    case json::value_t::object:
      return "an object";
    default:
      return fmt::format("the number {}", value.dump());
  }
}

}  // namespace weft
