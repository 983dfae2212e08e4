// What encoders have behind their hidden states.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/families/decoder.h"

namespace weft {
namespace {

constexpr size_t kMostLabels = 65536;

// A list, or in older files as many as the last layer has rows.
std::vector<std::string> ReadGgufLabels(Hyperparameters& h) {
  std::vector<std::string> labels = h.Strings({"classifier.output_labels", ""});
  const auto found = h.tensors().find("cls.output.weight");
  if (!labels.empty() || found == h.tensors().end()) return labels;
  const auto rows = static_cast<size_t>(found->second.rank < 2 ? 1 : found->second.dims[0]);
  while (labels.size() < std::min(rows, kMostLabels)) {
    labels.push_back("LABEL_" + std::to_string(labels.size()));
  }
  return labels;
}

// config.json has them by their numbers, or two if it has none.
std::vector<std::string> ReadLabels(Hyperparameters& h) {
  if (h.is_gguf()) return ReadGgufLabels(h);
  std::vector<std::string> labels;
  for (std::string key = "id2label.0"; h.Has({"", key}) && labels.size() < kMostLabels;
       key = "id2label." + std::to_string(labels.size())) {
    labels.push_back(h.String({"", key}, ""));
  }
  if (labels.empty()) labels = {"LABEL_0", "LABEL_1"};
  return labels;
}

// As transformers' text classification pipeline has it.
LabelActivation ReadLabelActivation(Hyperparameters& h, size_t label_count) {
  const std::string problem = h.String({"", "problem_type"}, "");
  if (problem == "regression") return LabelActivation::kNone;
  const bool by_itself = label_count == 1 || problem == "multi_label_classification";
  return by_itself ? LabelActivation::kLogistic : LabelActivation::kSoftmax;
}

}  // namespace

void AddClassifier(Hyperparameters& h, Pooling pooling,
                   std::initializer_list<ClassifierLayer> layers, ModelDescription& description) {
  if (!h.has_classifier()) return;
  ModelSpec& spec = description.spec;
  ClassifierSpec& classifier = spec.classifier.emplace();
  classifier.pooling = pooling;
  classifier.labels = ReadLabels(h);
  classifier.activation = ReadLabelActivation(h, classifier.labels.size());
  const auto table = [&](std::string_view name, std::string_view what, int64_t rows,
                         int64_t columns) {
    std::vector<Parameter>& tables = description.parameters.tables;
    tables.push_back({.sources = {{.name = std::string(name) + std::string(what)}},
                      .rows = rows,
                      .columns = columns});
    return static_cast<TableId>(tables.size() - 1);
  };
  for (const ClassifierLayer& named : layers) {
    const bool is_last = classifier.layers.size() + 1 == layers.size();
    PooledLayerSpec layer{.input_size = spec.hidden_size,
                          .output_size = is_last ? std::ssize(classifier.labels) : spec.hidden_size,
                          .activation = named.activation};
    layer.weight = table(named.name, ".weight", layer.output_size, layer.input_size);
    if (named.has_bias) layer.bias = table(named.name, ".bias", layer.output_size, 0);
    if (!named.norm.empty()) {
      layer.norm = spec.head.norm;
      layer.norm.weight = table(named.norm, ".weight", layer.output_size, 0);
      layer.norm.bias = TableId::kNone;
    }
    classifier.layers.push_back(layer);
  }
}

void AddMaskedHead(const SparseSpec& sparse, ModelDescription& description) {
  WEFT_CHECK(description.masked_head);
  const MaskedHead& names = *description.masked_head;
  ModelSpec& spec = description.spec;
  ParameterList& list = description.parameters;
  const auto matrix = [&](std::string_view name, int64_t rows) {
    list.matrices.push_back({.sources = {{.name = std::string(name) + ".weight"}},
                             .rows = rows,
                             .columns = spec.hidden_size});
    return static_cast<MatrixId>(list.matrices.size() - 1);
  };
  const auto table = [&](std::vector<TensorSource> sources, int64_t rows) {
    list.tables.push_back({.sources = std::move(sources), .rows = rows});
    return static_cast<TableId>(list.tables.size() - 1);
  };
  const std::string dense(names.dense);
  const std::string norm(names.norm);
  HeadSpec& head = spec.head;
  head.projection.weights = matrix(dense, spec.hidden_size);
  if (names.has_dense_bias) {
    head.projection.bias = table({{.name = dense + ".bias"}}, spec.hidden_size);
  }
  head.activation = names.activation;
  head.projection_norm = names.norm_spec;
  head.projection_norm.weight =
      table({{.name = norm + ".weight"}, {.name = norm + ".gamma"}}, spec.hidden_size);
  head.projection_norm.bias = TableId::kNone;
  if (names.has_norm_bias) {
    head.projection_norm.bias =
        table({{.name = norm + ".bias"}, {.name = norm + ".beta"}}, spec.hidden_size);
  }
  head.linear.weights =
      names.is_tied ? spec.embedding.tokens : matrix(names.decoder, spec.vocab_size);
  if (names.has_decoder_bias) {
    const std::string bias = std::string(names.decoder) + ".bias";
    head.linear.bias =
        names.bias.empty()
            ? table({{.name = bias}}, spec.vocab_size)
            : table({{.name = std::string(names.bias)}, {.name = bias}}, spec.vocab_size);
  }
  spec.sparse = sparse;
}

}  // namespace weft
