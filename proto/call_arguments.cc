#include "proto/call_arguments.h"

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "proto/json_reader.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

// Counts values, and stops where there are too many, they nest too deep or the text is no JSON.
class ValueCounter : public nlohmann::json_sax<ordered_json> {
 public:
  explicit ValueCounter(int64_t count) : count_(count) {}

  bool null() override { return Count(); }
  bool boolean(bool) override { return Count(); }
  bool number_integer(int64_t) override { return Count(); }
  bool number_unsigned(uint64_t) override { return Count(); }
  bool number_float(double, const std::string&) override { return Count(); }
  bool string(std::string&) override { return Count(); }
  bool binary(ordered_json::binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(); }
  bool start_array(size_t) override { return Open(); }
  bool key(std::string&) override { return true; }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  int64_t count() const { return count_; }
  bool is_too_deep() const { return depth_ > kMaxJsonDepth; }

 private:
  bool Count() { return ++count_ <= kMaxJsonValues; }
  bool Open() { return ++depth_ <= kMaxJsonDepth && Count(); }
  bool Close() {
    --depth_;
    return true;
  }

  int64_t count_;
  int depth_ = 0;
};

tl::unexpected<ApiError> Refuse(std::string code, std::string path, std::string message) {
  ApiError error;
  error.code = std::move(code);
  error.param = std::move(path);
  error.message = std::move(message);
  return tl::unexpected(std::move(error));
}

}  // namespace

ApiResult<void> CheckCallArguments(const ordered_json& messages, std::string_view path) {
  int64_t count = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const auto calls = messages[i].find("tool_calls");
    if (calls == messages[i].end()) continue;
    for (size_t j = 0; j < calls->size(); ++j) {
      const ordered_json& function = (*calls)[j]["function"];
      const auto arguments = function.find("arguments");
      if (arguments == function.end() || !arguments->is_string()) continue;
      ValueCounter counter(count);
      const auto& text = arguments->get_ref<const std::string&>();
      ordered_json::sax_parse(text.begin(), text.end(), &counter);
      count = counter.count();
      const auto name = [&] {
        return fmt::format("{}[{}].tool_calls[{}].function.arguments", path, i, j);
      };
      if (counter.is_too_deep()) {
        return Refuse("json_too_deep", name(),
                      fmt::format("'{}' nests deeper than {} levels", name(), kMaxJsonDepth));
      }
      if (count > kMaxJsonValues) {
        return Refuse(
            "too_many_values", name(),
            fmt::format("up to '{}' the arguments of calls have more than {} JSON values; "
                        "send fewer",
                        name(), kMaxJsonValues));
      }
    }
  }
  return {};
}

}  // namespace weft
