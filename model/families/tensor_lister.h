// Names of tensors in either format, turned into entries of a model's list of parameters.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/families/decoder.h"

namespace weft {

// A base of what lists a model's parameters. `prefix_` stands before all names.
class TensorLister {
 protected:
  // Lists behind what is in `list`. `names` outlives the object.
  TensorLister(const Hyperparameters& h, const DecoderTensors& names, bool is_encoder,
               ParameterList list)
      : gguf_(h.is_gguf()), names_(names), is_encoder_(is_encoder), list_(std::move(list)) {}

  // The tensor that may have a projection among others, and which of its rows are the projection's;
  // and whether it shares a loop with the one before it.
  struct Placing {
    TensorName fused = {};
    RowOrder rows = {};
    int64_t fused_rows = 0;
    bool continues_loop = false;
  };

  std::vector<TensorSource> Sources(std::vector<TensorSource> gguf, std::vector<TensorSource> hf) {
    std::vector<TensorSource>& sources = gguf_ ? gguf : hf;
    for (TensorSource& source : sources) {
      source.name = prefix_ + source.name;
    }
    AddOtherBase(sources);
    return std::move(sources);
  }
  std::vector<TensorSource> Source(TensorName name, std::string_view what, RowOrder rows = {},
                                   int64_t tensor_rows = 0) {
    std::string tensor = prefix_ + std::string(NameIn(name)) + std::string(what);
    std::vector<TensorSource> sources = {{tensor, rows, tensor_rows}};
    AddOtherBase(sources);
    if (!gguf_ && !names_.hf_base.empty() && tensor.starts_with(names_.hf_base)) {
      sources.push_back({tensor.substr(names_.hf_base.size()), rows, tensor_rows});
    }
    return sources;
  }
  // The same names with what else they may begin with.
  void AddOtherBase(std::vector<TensorSource>& sources) const {
    if (gguf_ || names_.hf_other_base.empty()) return;
    const size_t count = sources.size();
    for (size_t i = 0; i < count; ++i) {
      if (!sources[i].name.starts_with(names_.hf_base)) continue;
      TensorSource other = sources[i];
      other.name.replace(0, names_.hf_base.size(), names_.hf_other_base);
      sources.push_back(std::move(other));
    }
  }
  std::string_view NameIn(TensorName name) const { return gguf_ ? name.gguf : name.hf; }

  // A projection's rows in the tensor of several, or its own tensor, whichever the checkpoint has.
  std::vector<TensorSource> Source(TensorName name, std::string_view what, const Placing& placing) {
    std::vector<TensorSource> sources;
    if (!NameIn(placing.fused).empty()) {
      sources = Source(placing.fused, what, placing.rows, placing.fused_rows);
    }
    for (TensorSource& source : Source(name, what)) sources.push_back(std::move(source));
    return sources;
  }

  LinearSpec Linear(TensorName name, int64_t rows, int64_t columns, bool has_bias,
                    const Placing& placing) {
    LinearSpec linear;
    std::vector<TensorSource> weights = Source(name, ".weight", placing);
    for (TensorSource& source : weights) source.is_transposed = !gguf_ && names_.hf_transposed;
    linear.weights = Matrix(std::move(weights), rows, columns, placing.continues_loop);
    if (has_bias) linear.bias = Table(Source(name, ".bias", placing), rows);
    return linear;
  }
  void ListNorm(TensorName name, int64_t size, NormSpec& norm) {
    if (!norm || NameIn(name).empty()) return;
    norm.weight = Table(NormSource(name, ".weight", ".gamma"), size);
    list_.tables.back().plus = NormPlus();
    if (norm.kind == NormKind::kLayer && names_.norm_bias) {
      norm.bias = Table(NormSource(name, ".bias", ".beta"), size);
    }
  }
  // The first encoders were published in TensorFlow's words. And llama.cpp's converter writes the
  // second norm of Falcon-H1 without ".weight".
  std::vector<TensorSource> NormSource(TensorName name, std::string_view what,
                                       std::string_view old_word) {
    std::vector<TensorSource> sources = Source(name, what);
    if (gguf_ && what == ".weight") sources.push_back(Source(name, "").front());
    if (gguf_ || !is_encoder_) return sources;
    for (TensorSource& source : Source(name, old_word)) sources.push_back(std::move(source));
    return sources;
  }
  float NormPlus() const { return !gguf_ && names_.hf_norms_less_one ? 1.0F : 0.0F; }
  MatrixId Matrix(std::vector<TensorSource> sources, int64_t rows, int64_t columns,
                  bool continues_loop = false) {
    list_.matrices.push_back({.sources = std::move(sources),
                              .rows = rows,
                              .columns = columns,
                              .continues_loop = continues_loop});
    return static_cast<MatrixId>(list_.matrices.size() - 1);
  }
  StackId Stack(std::vector<TensorSource> sources, int64_t count, int64_t rows, int64_t columns) {
    list_.stacks.push_back(
        {.sources = std::move(sources), .rows = rows, .columns = columns, .count = count});
    return static_cast<StackId>(list_.stacks.size() - 1);
  }
  TableId Table(std::vector<TensorSource> sources, int64_t rows, int64_t columns = 0) {
    list_.tables.push_back({.sources = std::move(sources), .rows = rows, .columns = columns});
    return static_cast<TableId>(list_.tables.size() - 1);
  }
  TableId Values(std::function<std::vector<float>()> values, int64_t count) {
    list_.tables.push_back({.sources = {}, .rows = count, .values = std::move(values)});
    return static_cast<TableId>(list_.tables.size() - 1);
  }
  TableId Values(const std::vector<float>& values) {
    return Values([values] { return values; }, std::ssize(values));
  }

  const bool gguf_;
  const DecoderTensors& names_;
  const bool is_encoder_;
  ParameterList list_;
  std::string prefix_;  // of the layer's tensors
};

}  // namespace weft
