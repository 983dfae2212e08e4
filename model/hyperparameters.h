// The hyperparameters of a checkpoint, read the same way from GGUF metadata and from config.json.
// Every key that is read is marked, so that a key that changes the computation and that nobody has
// read is an error that names it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/formats/gguf.h"

namespace weft {

// What a file may claim. Far above every model there is, and low enough that no product of two of
// them comes near 2^63.
struct ConfigLimits {
  static constexpr int64_t kLayers = 4096;
  static constexpr int64_t kWidth = int64_t{1} << 24;  // hidden and feed-forward sizes
  static constexpr int64_t kHeads = 65536;
  static constexpr int64_t kHeadDim = 65536;
  static constexpr int64_t kVocabulary = int64_t{1} << 28;
  static constexpr int64_t kPositions = int64_t{1} << 26;  // context lengths and windows
  static constexpr int64_t kExperts = 65536;
};

// One value of either format. Lists have elements of one kind; what fits nowhere is words for it.
struct OtherValue {
  std::string description;  // "an object"
  bool operator==(const OtherValue&) const = default;
};
using ConfigValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<bool>,
                 std::vector<int64_t>, std::vector<double>, std::vector<std::string>, OtherValue>;
inline constexpr std::string_view kObjectValue = "an object";
// Keys of objects in objects are joined by a dot, in config.json as in GGUF. monostate: null.
using ConfigValues = std::map<std::string, ConfigValue, std::less<>>;

enum class FileFormat { kGguf, kSafetensors };

// A field's key in GGUF, after "{architecture}.", and in config.json; empty where a format has
// none.
struct Field {
  std::string_view gguf;
  std::string_view hf;
};

struct Range {
  int64_t minimum;
  int64_t maximum;
};

// The first error stays, so that a family can read field after field; Finish() returns it.
class Hyperparameters {
 public:
  // `tensors` outlives the object. `path` is for messages.
  static Hyperparameters FromGguf(const GgufMetadata& metadata, std::string_view architecture,
                                  const TensorMap& tensors);
  Hyperparameters(FileFormat format, std::string path, std::string prefix, ConfigValues values,
                  const TensorMap& tensors);

  FileFormat format() const { return format_; }
  bool is_gguf() const { return format_ == FileFormat::kGguf; }
  const std::string& path() const { return path_; }
  const TensorMap& tensors() const { return tensors_; }

  // What a config.json means that does not have these keys: the defaults of transformers' class.
  void SetHfDefaults(std::initializer_list<std::pair<std::string_view, ConfigValue>> defaults);

  // The checkpoint has a head for sequence classification, of which the family is to tell.
  void set_has_classifier() { has_classifier_ = true; }
  bool has_classifier() const { return has_classifier_; }
  // The checkpoint has no head at all.
  void set_is_headless() { is_headless_ = true; }
  bool is_headless() const { return is_headless_; }

  // Whether there is a value, null not being one. Does not count as reading it.
  bool Has(Field field) const;
  bool IsList(Field field) const;
  bool IsNumber(Field field);
  // Whether the field is there, and 0. Both mark it as read.
  bool IsZero(Field field);

  // Required where there is no fallback.
  int64_t Int(Field field, Range range, std::optional<int64_t> fallback = {});
  // One value for all layers, or one each.
  std::vector<int64_t> IntPerLayer(Field field, Range range, int64_t layer_count,
                                   std::optional<int64_t> fallback = {});
  double Positive(Field field, std::optional<double> fallback = {});  // finite, above 0
  bool Bool(Field field, bool fallback);
  std::string String(Field field, std::string_view fallback);
  // Empty where there is none.
  std::vector<std::string> Strings(Field field);
  std::vector<int64_t> Ints(Field field);
  std::vector<bool> Bools(Field field);
  std::vector<double> Doubles(Field field);  // integers, too

  // A field that changes the computation, and of which Weft computes this value alone. Absent is as
  // good.
  void RefuseUnless(Field field, const ConfigValue& expected);
  // An object of config.json, whose own keys are read one by one. Absent is as good.
  void ExpectObject(Field field);
  // Read, and without effect.
  void Ignore(Field field) { (void)Find(field); }

  void Reject(ErrorCode code, Field field, std::string_view what);
  void RejectTensor(std::string_view name, std::string_view what);
  // The error so far: for what must hold before one can go on.
  Result<void> CheckSoFar() const;
  // The error, or that there is a key that changes the computation and has not been read.
  Result<void> Finish();

 private:
  std::string_view KeyOf(Field field) const { return is_gguf() ? field.gguf : field.hf; }
  // Marks the key as read. nullptr: absent, or null.
  const ConfigValue* Find(Field field);
  template <typename T>
  std::vector<T> List(Field field, std::string_view expected);
  template <typename T>
  T Absent(Field field, std::optional<T> fallback, T otherwise);
  void RejectValue(Field field, const ConfigValue& value, std::string_view expected);

  FileFormat format_;
  std::string path_;
  std::string prefix_;  // "llama."; empty for config.json
  ConfigValues values_;
  std::set<std::string, std::less<>> read_;
  std::optional<Error> error_;
  bool has_classifier_ = false;
  bool is_headless_ = false;
  const TensorMap& tensors_;
};

}  // namespace weft
