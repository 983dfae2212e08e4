// The getters of GgufMetadata: a key is absent, has the right type, or is an error that says what
// it is.
#include "base/quoted.h"
#include "model/formats/gguf.h"

namespace weft {
namespace {

std::string Describe(const GgufValue& value) {
  struct Visitor {
    std::string operator()(bool v) const { return fmt::format("the bool {}", v); }
    std::string operator()(int64_t v) const { return fmt::format("the integer {}", v); }
    std::string operator()(uint64_t v) const { return fmt::format("the integer {}", v); }
    std::string operator()(double v) const { return fmt::format("the number {}", v); }
    std::string operator()(std::string_view v) const { return "the string " + Quoted(v); }
    std::string operator()(const std::vector<bool>& v) const { return Array(v.size(), "bools"); }
    std::string operator()(const std::vector<int64_t>& v) const {
      return Array(v.size(), "integers");
    }
    std::string operator()(const std::vector<uint64_t>& v) const {
      return Array(v.size(), "integers, some above 2^63-1");
    }
    std::string operator()(const std::vector<double>& v) const { return Array(v.size(), "floats"); }
    std::string operator()(const std::vector<std::string_view>& v) const {
      return Array(v.size(), "strings");
    }
    static std::string Array(size_t count, std::string_view what) {
      return fmt::format("an array of {} {}", count, what);
    }
  };
  return std::visit(Visitor{}, value);
}

tl::unexpected<Error> WrongType(const GgufMetadata& metadata, std::string_view key,
                                const GgufValue& value, std::string_view expected) {
  return Fail(ErrorCode::kInvalidArgument, "{}: metadata key {} is {}, expected {}",
              metadata.path(), Quoted(key), Describe(value), expected);
}

template <typename T>
Result<std::optional<T>> GetScalar(const GgufMetadata& metadata, std::string_view key,
                                   std::string_view expected) {
  const auto found = metadata.values().find(key);
  if (found == metadata.values().end()) return std::nullopt;
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  return WrongType(metadata, key, found->second, expected);
}

template <typename T>
Result<const std::vector<T>*> GetArray(const GgufMetadata& metadata, std::string_view key,
                                       std::string_view expected) {
  const auto found = metadata.values().find(key);
  if (found == metadata.values().end()) return nullptr;
  if (const auto* values = std::get_if<std::vector<T>>(&found->second)) return values;
  return WrongType(metadata, key, found->second, expected);
}

}  // namespace

Result<std::optional<int64_t>> GgufMetadata::GetInt(std::string_view key) const {
  return GetScalar<int64_t>(*this, key, "an integer below 2^63");
}

Result<std::optional<double>> GgufMetadata::GetDouble(std::string_view key) const {
  const auto found = values_.find(key);
  if (found != values_.end()) {
    if (const auto* value = std::get_if<int64_t>(&found->second)) {
      return static_cast<double>(*value);
    }
    if (const auto* value = std::get_if<uint64_t>(&found->second)) {
      return static_cast<double>(*value);
    }
  }
  return GetScalar<double>(*this, key, "a number");
}

Result<std::optional<bool>> GgufMetadata::GetBool(std::string_view key) const {
  return GetScalar<bool>(*this, key, "a bool");
}

Result<std::optional<std::string_view>> GgufMetadata::GetString(std::string_view key) const {
  return GetScalar<std::string_view>(*this, key, "a string");
}

Result<const std::vector<std::string_view>*> GgufMetadata::GetStrings(std::string_view key) const {
  return GetArray<std::string_view>(*this, key, "an array of strings");
}

Result<const std::vector<int64_t>*> GgufMetadata::GetInts(std::string_view key) const {
  return GetArray<int64_t>(*this, key, "an array of integers below 2^63");
}

Result<const std::vector<double>*> GgufMetadata::GetDoubles(std::string_view key) const {
  return GetArray<double>(*this, key, "an array of floats");
}

}  // namespace weft
