// What encoders have behind their hidden states.
#include <string>
#include <utility>
#include <vector>

#include "model/families/decoder.h"

namespace weft {
namespace {

// config.json has them by their numbers, or two if it has none.
std::vector<std::string> ReadLabels(Hyperparameters& h) {
  constexpr size_t kMostLabels = 65536;
  std::vector<std::string> labels;
  for (std::string key = "id2label.0"; h.Has({"", key}) && labels.size() < kMostLabels;
       key = "id2label." + std::to_string(labels.size())) {
    labels.push_back(h.String({"", key}, ""));
  }
  if (labels.empty()) labels = {"LABEL_0", "LABEL_1"};
  return labels;
}

}  // namespace

void AddClassifier(Hyperparameters& h, Pooling pooling,
                   std::initializer_list<ClassifierLayer> layers, ModelDescription& description) {
  if (!h.has_classifier()) return;
  ModelSpec& spec = description.spec;
  ClassifierSpec& classifier = spec.classifier.emplace();
  classifier.pooling = pooling;
  classifier.labels = ReadLabels(h);
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

}  // namespace weft
