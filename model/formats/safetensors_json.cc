#include "model/formats/safetensors_json.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "base/quoted.h"

namespace weft {
namespace {

// Events of nlohmann's parser, which is not recursive and reports broken JSON as an event too. The
// handlers below refuse every event that they do not expect, and can skip a value.
class StrictHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  const std::string& error() const { return error_; }

  bool null() final { return OtherScalar("null"); }
  bool boolean(bool value) final { return OtherScalar(value ? "true" : "false"); }
  bool number_integer(int64_t value) final { return OtherScalar(std::to_string(value)); }
  bool number_float(double, const std::string& text) final { return OtherScalar(text); }
  bool binary(binary_t&) final { return OtherScalar("binary"); }
  bool number_unsigned(uint64_t value) final { return skipping() ? Skipped() : OnUnsigned(value); }
  bool string(std::string& value) final { return skipping() ? Skipped() : OnString(value); }
  bool key(std::string& name) final { return skipping() || OnKey(name); }
  bool start_object(size_t) final { return skipping() ? Descend() : OnStartObject(); }
  bool end_object() final { return skipping() ? Ascend() : OnEndObject(); }
  bool start_array(size_t) final { return skipping() ? Descend() : OnStartArray(); }
  bool end_array() final { return skipping() ? Ascend() : OnEndArray(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) final {
    return Refuse(fmt::format("not valid JSON at its byte {}", position));
  }

 protected:
  virtual bool OnUnsigned(uint64_t value) { return Unexpected(std::to_string(value)); }
  virtual bool OnString(const std::string& value) { return Unexpected(Quoted(value)); }
  virtual bool OnKey(const std::string& name) = 0;
  virtual bool OnStartObject() { return Unexpected("an object"); }
  virtual bool OnEndObject() = 0;
  virtual bool OnStartArray() { return Unexpected("an array"); }
  virtual bool OnEndArray() { return Unexpected("the end of an array"); }
  // What is expected now, and where: "tensor 'x': expected a string for 'dtype'".
  virtual std::string Expectation() const = 0;

  bool Refuse(std::string message) {
    if (error_.empty()) error_ = std::move(message);
    return false;
  }
  bool Unexpected(std::string_view found) {
    return Refuse(fmt::format("{}, found {}", Expectation(), found));
  }
  void SkipNextValue() { skip_depth_ = 0; }

 private:
  static constexpr int kMaxSkippedDepth = 32;

  bool skipping() const { return skip_depth_ >= 0; }
  bool OtherScalar(std::string_view text) {
    return skipping() ? Skipped() : Unexpected(text.substr(0, 40));
  }
  bool Skipped() {
    if (skip_depth_ == 0) skip_depth_ = -1;
    return true;
  }
  bool Descend() {
    if (++skip_depth_ <= kMaxSkippedDepth) return true;
    return Refuse(fmt::format("nested more than {} deep", kMaxSkippedDepth));
  }
  bool Ascend() {
    --skip_depth_;
    return Skipped();
  }

  std::string error_;
  int skip_depth_ = -1;  // -1: not skipping; otherwise, how deep inside the skipped value
};

// The largest models have some hundred thousand; a hostile file, one for every ten bytes.
constexpr size_t kMaxTensors = 1 << 20;

class HeaderHandler : public StrictHandler {
 public:
  std::vector<SafetensorsEntry>& entries() { return entries_; }

 private:
  enum class State { kBegin, kTop, kTensor, kFields, kDtype, kShape, kDims, kOffsets, kBounds };

  bool OnKey(const std::string& name) override {
    if (state_ == State::kTop) {
      if (name == "__metadata__") return SkipNextValue(), true;
      if (entries_.size() == kMaxTensors) {
        return Refuse(fmt::format("header: more than {} tensors", kMaxTensors));
      }
      entries_.emplace_back().name = name;
      dtype_.reset();
      shape_.reset();
      offsets_.reset();
      return Become(State::kTensor);
    }
    const bool again = (name == "dtype" && dtype_) || (name == "shape" && shape_) ||
                       (name == "data_offsets" && offsets_);
    if (again) {
      return Refuse(fmt::format("{}: field '{}' is there twice, expected once", Tensor(), name));
    }
    if (name == "dtype") return Become(State::kDtype);
    if (name == "shape") return Become(State::kShape);
    if (name == "data_offsets") return Become(State::kOffsets);
    return Unexpected(Quoted(name));
  }

  bool OnString(const std::string& value) override {
    if (state_ != State::kDtype) return Unexpected(Quoted(value));
    dtype_ = value;
    return Become(State::kFields);
  }

  bool OnUnsigned(uint64_t value) override {
    if (state_ == State::kDims && shape_->size() < 8) return shape_->push_back(value), true;
    if (state_ == State::kBounds && offsets_->size() < 2) return offsets_->push_back(value), true;
    return Unexpected(std::to_string(value));
  }

  bool OnStartArray() override {
    if (state_ == State::kShape) return shape_.emplace(), Become(State::kDims);
    if (state_ == State::kOffsets) return offsets_.emplace(), Become(State::kBounds);
    return Unexpected("an array");
  }
  bool OnEndArray() override {
    if (state_ == State::kBounds && offsets_->size() != 2) return Unexpected("fewer");
    return Become(State::kFields);
  }

  bool OnStartObject() override {
    if (state_ == State::kBegin) return Become(State::kTop);
    if (state_ == State::kTensor) return Become(State::kFields);
    return Unexpected("an object");
  }
  bool OnEndObject() override {
    if (state_ == State::kTop) return true;
    if (!dtype_ || !shape_ || !offsets_) return Unexpected("not all of them");
    SafetensorsEntry& entry = entries_.back();
    entry.dtype = *std::move(dtype_);
    entry.shape = *std::move(shape_);
    entry.begin = (*offsets_)[0];
    entry.end = (*offsets_)[1];
    return Become(State::kTop);
  }

  std::string Tensor() const { return "tensor " + Quoted(entries_.back().name); }
  std::string Expectation() const override {
    switch (state_) {
      case State::kBegin:
        return "header: expected an object";
      case State::kTop:
        return "header: expected a tensor's name";
      case State::kTensor:
        return Tensor() + ": expected an object";
      case State::kFields:
        return Tensor() + ": expected the fields 'dtype', 'shape' and 'data_offsets'";
      case State::kDtype:
        return Tensor() + ": expected a string for 'dtype'";
      case State::kShape:
        return Tensor() + ": expected an array for 'shape'";
      case State::kDims:
        return Tensor() + ": expected at most eight dimensions in 'shape', each from 0 to 2^64-1";
      case State::kOffsets:
        return Tensor() + ": expected an array for 'data_offsets'";
      case State::kBounds:
        return Tensor() + ": expected two numbers from 0 to 2^64-1 in 'data_offsets'";
    }
    return {};
  }
  bool Become(State state) {
    state_ = state;
    return true;
  }

  State state_ = State::kBegin;
  std::vector<SafetensorsEntry> entries_;
  // The fields of the last entry that were seen.
  std::optional<std::string> dtype_;
  std::optional<std::vector<uint64_t>> shape_;
  std::optional<std::vector<uint64_t>> offsets_;
};

class IndexHandler : public StrictHandler {
 public:
  std::map<std::string, std::string>& weight_map() { return weight_map_; }
  bool complete() const { return has_weight_map_; }

 private:
  enum class State { kBegin, kTop, kWeightMap, kTensors, kFile };

  bool OnKey(const std::string& name) override {
    if (state_ == State::kTensors) {
      const auto [entry, is_new] = weight_map_.emplace(name, std::string());
      tensor_ = entry;
      if (!is_new) {
        return Refuse(
            fmt::format("'weight_map': tensor {} is there twice, expected once", Quoted(name)));
      }
      if (weight_map_.size() > kMaxTensors) {
        return Refuse(fmt::format("'weight_map': more than {} tensors", kMaxTensors));
      }
      return Become(State::kFile);
    }
    if (name != "weight_map") return SkipNextValue(), true;
    if (has_weight_map_) return Refuse("'weight_map' is there twice, expected once");
    has_weight_map_ = true;
    return Become(State::kWeightMap);
  }
  bool OnString(const std::string& value) override {
    if (state_ != State::kFile) return Unexpected(Quoted(value));
    tensor_->second = value;
    return Become(State::kTensors);
  }
  bool OnStartObject() override {
    if (state_ == State::kBegin) return Become(State::kTop);
    if (state_ == State::kWeightMap) return Become(State::kTensors);
    return Unexpected("an object");
  }
  bool OnEndObject() override { return Become(State::kTop); }
  std::string Expectation() const override {
    if (state_ == State::kBegin) return "expected an object";
    if (state_ == State::kWeightMap) return "'weight_map': expected an object";
    return fmt::format("'weight_map': tensor {}: expected a file's name", Quoted(tensor_->first));
  }
  bool Become(State state) {
    state_ = state;
    return true;
  }

  State state_ = State::kBegin;
  bool has_weight_map_ = false;
  std::map<std::string, std::string> weight_map_;
  std::map<std::string, std::string>::iterator tensor_;
};

Result<void> ParseStrictly(std::string_view json, const std::string& path, StrictHandler& handler) {
  // The handlers throw nothing and nlohmann reports errors to them; std::bad_alloc aside, which is
  // nobody's input.
  if (nlohmann::json::sax_parse(json.begin(), json.end(), &handler)) return {};
  return Fail(ErrorCode::kCorrupt, "{}: {}", path, handler.error());
}

}  // namespace

Result<std::vector<SafetensorsEntry>> ParseSafetensorsHeader(std::string_view json,
                                                             const std::string& path) {
  HeaderHandler handler;
  WEFT_RETURN_IF_ERROR(ParseStrictly(json, path, handler));
  return std::move(handler.entries());
}

Result<std::map<std::string, std::string>> ParseSafetensorsIndex(std::string_view json,
                                                                 const std::string& path) {
  IndexHandler handler;
  WEFT_RETURN_IF_ERROR(ParseStrictly(json, path, handler));
  if (!handler.complete()) {
    return Fail(ErrorCode::kCorrupt, "{}: 'weight_map' is absent, expected an object", path);
  }
  return std::move(handler.weight_map());
}

}  // namespace weft
